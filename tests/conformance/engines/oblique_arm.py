"""A robot with oblique axes and origins, and its expected values by formula.

The values are independent of the project and of all engines: rotations are products of
the three elementary ones and Rodrigues' formula.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.engines.protocol import Engine, Request
from urdf_usd.conformance.observation import robot as obs

URDF = """<?xml version="1.0"?>
<robot name="oblique_arm">
  <material name="steel"/>
  <link name="base">
    <visual><geometry><mesh filename="package://nowhere/base.dae"/></geometry></visual>
    <inertial>
      <origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/>
      <mass value="7.5"/>
      <inertia ixx="0.9" ixy="0.05" ixz="-0.04" iyy="0.8" iyz="0.03" izz="0.7"/>
    </inertial>
  </link>
  <link name="tip"/>
  <link name="forearm">
    <inertial>
      <origin xyz="0.02 0.03 -0.04" rpy="-0.6 0.25 2.1"/>
      <mass value="0.75"/>
      <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.015" iyz="5e-4" izz="0.012"/>
    </inertial>
  </link>
  <link name="arm">
    <inertial>
      <origin xyz="-0.05 0.15 0.25" rpy="1.1 0.7 -0.9"/>
      <mass value="2.25"/>
      <inertia ixx="0.05" ixy="0.004" ixz="0.003" iyy="0.06" iyz="-0.002" izz="0.04"/>
    </inertial>
    <collision><geometry><sphere radius="0.3"/></geometry></collision>
  </link>
  <joint name="wrist" type="fixed">
    <origin xyz="0.04 0.05 -0.06" rpy="0.9 -0.8 0.7"/>
    <parent link="forearm"/>
    <child link="tip"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <origin xyz="-0.1 0.25 0.35" rpy="-2.2 0.45 0.15"/>
    <parent link="arm"/>
    <child link="forearm"/>
    <axis xyz="-0.48 0.6 0.64"/>
    <limit lower="-0.2" upper="0.4" effort="55" velocity="0.8"/>
    <mimic joint="shoulder" multiplier="-0.2" offset="0.05"/>
  </joint>
  <joint name="shoulder" type="revolute">
    <origin xyz="0.5 -0.6 0.7" rpy="0.3 -1.2 2.5"/>
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="1 -2 3"/>
    <limit lower="-1.25" upper="0.75" effort="12" velocity="3.5"/>
    <dynamics damping="0.7" friction="0.3"/>
  </joint>
</robot>
"""
SHOULDER = np.array([0.0, -1.25, 0.6])
ELBOW = np.array([0.0, 0.3, -0.07])
LINKS = ("base", "arm", "forearm", "tip")


def rotation_rpy(roll: float, pitch: float, yaw: float) -> NDArray[np.float64]:
    """Rz(yaw) Ry(pitch) Rx(roll), as the URDF specification has it."""
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (roll, pitch, yaw))
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    product: NDArray[np.float64] = about_z @ about_y @ about_x
    return product


def rotation_about(axis: tuple[float, ...], angle: float) -> NDArray[np.float64]:
    """Rodrigues' formula; the axis need not be of unit length."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn: NDArray[np.float64] = (
        np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    )
    return turn


def expected_frames() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (3, 4, 3) and rotations (3, 4, 3, 3) of :data:`LINKS`."""
    positions, rotations = np.empty((3, 4, 3)), np.empty((3, 4, 3, 3))
    for row, (angle, travel) in enumerate(zip(SHOULDER, ELBOW, strict=True)):
        arm = np.array([0.5, -0.6, 0.7])
        arm_turn = rotation_rpy(0.3, -1.2, 2.5) @ rotation_about((1, -2, 3), angle)
        forearm_turn = arm_turn @ rotation_rpy(-2.2, 0.45, 0.15)
        forearm = (
            arm
            + arm_turn @ [-0.1, 0.25, 0.35]
            + forearm_turn @ (travel * np.array([-0.48, 0.6, 0.64]))
        )
        tip = forearm + forearm_turn @ [0.04, 0.05, -0.06]
        tip_turn = forearm_turn @ rotation_rpy(0.9, -0.8, 0.7)
        positions[row] = np.zeros(3), arm, forearm, tip
        rotations[row] = np.eye(3), arm_turn, forearm_turn, tip_turn
    return positions, rotations


def expected_inertia(rpy: tuple[float, float, float], inertia: obs.Vec6) -> obs.Vec6:
    """R I R^T: the tensor of an ``<inertial>``, along the axes of its link."""
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    turned = rotation_rpy(*rpy) @ tensor @ rotation_rpy(*rpy).T
    xx, xy, xz, yy, yz, zz = map(float, turned[np.triu_indices(3)])
    return xx, xy, xz, yy, yz, zz


ARM_INERTIA = expected_inertia((1.1, 0.7, -0.9), (0.05, 0.004, 0.003, 0.06, -0.002, 0.04))


def configurations(**positions: object) -> obs.Configurations:
    """Configurations from (K, d) or (K,) positions by joint name."""
    arrays = [np.asarray(values, dtype=np.float64) for values in positions.values()]
    columns = tuple(a.reshape(len(a), -1) for a in arrays)
    count = len(columns[0]) if columns else 1
    labels = ("zero", *(f"sample {index}" for index in range(count - 1)))
    for column in columns:
        column.flags.writeable = False
    return obs.Configurations(tuple(positions), columns, labels)


def request(folder: Path, text: str, **positions: object) -> Request:
    """A request to read ``text``, which is written into ``folder``."""
    path = folder / "robot.urdf"
    path.write_text(text)
    return Request(str(path), configurations(**positions))


def observe_arm(engine: Engine, folder: Path) -> obs.Observation:
    """Run an engine on the arm at three configurations."""
    return engine.observe(request(folder, URDF, shoulder=SHOULDER, elbow=ELBOW))


def joint_named(observation: obs.Observation, name: str) -> obs.JointObservation:
    """Return the joint of a name."""
    return next(joint for joint in observation.joints if joint.name == name)


def assert_structure(observation: obs.Observation) -> None:
    """Assert names, types and parents of the arm."""
    assert observation.robot == "oblique_arm"
    assert observation.root == "base"
    assert {link.name for link in observation.links} == set(LINKS)
    assert {
        (joint.name, joint.type, joint.parent, joint.child) for joint in observation.joints
    } == {
        ("shoulder", obs.JointType.REVOLUTE, "base", "arm"),
        ("elbow", obs.JointType.PRISMATIC, "arm", "forearm"),
        ("wrist", obs.JointType.FIXED, "forearm", "tip"),
    }


def assert_frames(observation: obs.Observation, atol: float) -> None:
    """Assert the link frames of the arm against the formulas."""
    frames = observation.frames
    assert frames is not None
    order = [frames.links.index(link) for link in LINKS]
    positions, rotations = expected_frames()

    assert frames.labels == ("zero", "sample 0", "sample 1")
    np.testing.assert_allclose(frames.positions[:, order], positions, atol=atol)
    np.testing.assert_allclose(frames.rotations[:, order], rotations, atol=atol)
    assert not frames.positions.flags.writeable
