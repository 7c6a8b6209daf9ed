"""The URDF reader compared with MuJoCo and PyBullet."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pybullet
import pybullet_data
import pytest
from numpy.typing import NDArray

from urdf_usd.converter.robot.model import Prismatic, Revolute, Robot
from urdf_usd.converter.robot.spatial import inertia_tensor, rotation_from_quat_wxyz
from urdf_usd.converter.urdf.parse import parse

_FILE = Path(__file__).parents[2] / "data/urdf/oblique.urdf"
_BULLET = Path(pybullet_data.getDataPath())


def _rotation_from_engine(quat_wxyz: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quat_wxyz))
    return matrix.reshape(3, 3)


def test_mujoco_reads_the_same_frames_axes_and_limits() -> None:
    spec = mujoco.MjSpec.from_file(str(_FILE))
    spec.compiler.fusestatic = False
    model = spec.compile()
    robot = parse(_FILE).robot

    for joint in robot.joints:
        body = model.body(joint.child)
        np.testing.assert_allclose(body.pos, joint.origin.position, atol=1e-12)
        np.testing.assert_allclose(
            _rotation_from_engine(body.quat),
            rotation_from_quat_wxyz(joint.origin.quat_wxyz),
            atol=1e-12,
        )
        read = model.joint(joint.name)
        assert not isinstance(joint.kind, Prismatic) or read.type == 2
        np.testing.assert_allclose(read.axis, joint.kind.axis, atol=1e-12)  # type: ignore[union-attr]  # all three have an axis
        if isinstance(joint.kind, Prismatic | Revolute):
            bounds = (joint.kind.range.lower, joint.kind.range.upper)
            np.testing.assert_allclose(read.range, bounds, atol=1e-12)


def test_mujoco_reads_the_same_mass_properties() -> None:
    model = mujoco.MjModel.from_xml_path(str(_FILE))
    robot = parse(_FILE).robot

    for link in robot.links:
        if link.name == "base":  # fixed to the world, including its mass
            continue
        body = model.body(link.name)
        assert link.inertial is not None
        axes = _rotation_from_engine(body.iquat)
        frame = rotation_from_quat_wxyz(link.inertial.origin.quat_wxyz)
        ours = frame @ inertia_tensor(link.inertial.inertia) @ frame.T
        np.testing.assert_allclose(body.mass, link.mass, rtol=1e-12)
        np.testing.assert_allclose(body.ipos, link.inertial.origin.position, atol=1e-12)
        np.testing.assert_allclose(axes @ np.diag(body.inertia) @ axes.T, ours, 1e-9, 1e-12)


def _bullet_differences(robot: Robot, file: Path) -> list[str]:
    """Return the joints of a robot that PyBullet reads differently."""
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(
            str(file),
            flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
            physicsClientId=client,
        )
        infos = {
            info[1].decode(): info
            for info in (
                pybullet.getJointInfo(body, index, physicsClientId=client)
                for index in range(pybullet.getNumJoints(body, client))
            )
        }
        masses = {
            info[12].decode(): pybullet.getDynamicsInfo(body, info[0], client)[0]
            for info in infos.values()
        }
    finally:
        pybullet.disconnect(client)
    different = [] if len(infos) == len(robot.joints) else ["number of joints"]
    for joint in robot.joints:
        info = infos[joint.name]
        ours = [joint.effort or 0.0, joint.velocity or 0.0]
        ours += [
            (joint.dynamics and joint.dynamics.damping) or 0.0,
            (joint.dynamics and joint.dynamics.friction) or 0.0,
        ]
        theirs = [info[10], info[11], info[6], info[7]]
        if isinstance(joint.kind, Prismatic | Revolute):
            ours += [joint.kind.range.lower, joint.kind.range.upper]
            theirs += [info[8], info[9]]
        if ours != theirs:
            different.append(f"{joint.name}: {ours}, PyBullet {theirs}")
    for link in robot.links:
        # PyBullet assumes 1 kg for a link without inertial.
        mass = link.mass if link.inertial else 1.0
        if link.name in masses and masses[link.name] != pytest.approx(mass):
            different.append(f"{link.name}: {mass}, PyBullet {masses[link.name]}")
    return different


def test_pybullet_reads_the_same_numbers() -> None:
    assert _bullet_differences(parse(_FILE).robot, _FILE) == []


@pytest.mark.parametrize(
    "name",
    [
        "kuka_iiwa/model.urdf",
        "franka_panda/panda.urdf",
        "laikago/laikago.urdf",
        "biped/biped2d_pybullet.urdf",
        "differential/diff_ring.urdf",
        "humanoid/humanoid.urdf",
    ],
)
def test_pybullet_agrees_on_its_own_robots(name: str) -> None:
    assert _bullet_differences(parse(_BULLET / name).robot, _BULLET / name) == []


_BODY = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
    'iyz="0"/></inertial>'
)
_ARM = (
    f'<robot name="r"><link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
    '<axis xyz="0 0 1"/></joint></robot>'
)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (_ARM.replace('"a"', '"a & a"'), {"xml-character"}),
        (_ARM.replace('"a"', '"a<a"'), {"xml-character"}),
        (_ARM.replace("</robot>", "<x:y/></robot>"), {"xml-prefix"}),
        (_ARM.replace("</robot>", "<!-- -- --></robot>"), {"xml-comment"}),
        (_ARM.replace("</robot>", "<!-- \xe4 --></robot>"), {"xml-encoding"}),
        (f"\n<?xml version='1.0'?>{_ARM}", {"xml-declaration"}),
        (f"{_ARM}\0", {"xml-outside"}),
        (f"{_ARM}<gazebo/>", {"xml-outside"}),
    ],
)
def test_pybullet_reads_the_same_names_in_malformed_text(
    tmp_path: Path, text: str, rules: set[str]
) -> None:
    # Where its parser continues; this reader also reports the fault.
    file = tmp_path / "robot.urdf"
    file.write_bytes(text.encode("latin-1"))

    parsed = parse(file)

    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(file), physicsClientId=client)
        base, robot = pybullet.getBodyInfo(body, client)
        joint = pybullet.getJointInfo(body, 0, client)
    finally:
        pybullet.disconnect(client)
    read = parsed.robot
    assert [link.name for link in read.links] == [base.decode(), joint[12].decode()]
    assert [one.name for one in read.joints] == [joint[1].decode()]
    assert read.name == robot.decode()
    found = {d.rule for d in parsed.diagnostics} - {"element-unknown"}
    assert found == rules
