"""The expected values of the cases in MJCF are those of MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import mujoco
import numpy as np
import pytest
from msgspec import UNSET
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.mujoco_models import collected_warnings
from urdf_usd.conformance.expectations import compare_case, configurations_of
from urdf_usd.corpus import RobotSource, resolve_corpora
from urdf_usd.reports.records.suite_case import BodyValues, Expected, read_case

Array: TypeAlias = NDArray[np.float64]
CASES = {
    one.id.rpartition("--")[2]: one
    for one in resolve_corpora(["suite:mjcf"])
    if isinstance(one, RobotSource)
}


def _expected(robot: RobotSource) -> Expected:
    assert robot.case is not None
    return read_case(robot.case.text).expected


def _numbers(value: object) -> Array:
    return np.array(value, np.float64).ravel()


def test_chapter_has_at_least_40_cases() -> None:
    assert len(CASES) >= 40
    assert {path.stem for path in Path(CASES["ball"].path).parent.iterdir()} == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_mujoco(name: str) -> None:
    expected = _expected(CASES[name])
    # MuJoCo would write them to a file.
    with collected_warnings():
        model = mujoco.MjModel.from_xml_path(str(CASES[name].path))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    if expected.total_mass is not UNSET:
        assert model.body_mass.sum() == pytest.approx(expected.total_mass)
    for group in expected.bodies:
        mass, center, inertia = _lumped(model, data, group)
        assert mass == pytest.approx(group.mass)
        assert center == pytest.approx(_numbers(group.com), abs=1e-10)
        assert inertia[np.triu_indices(3)] == pytest.approx(_numbers(group.inertia), abs=1e-10)
    for name_of_joint, values in expected.joints.items():
        joint = model.joint(name_of_joint)
        bounds = (-np.inf, np.inf)
        if model.jnt_limited[joint.id]:
            bounds = tuple(joint.range - model.qpos0[joint.qposadr[0]])
        for stated, found in zip((values.lower, values.upper), bounds, strict=True):
            if stated is not UNSET:
                assert found == pytest.approx(float(stated))
    for pose in expected.poses:
        data.qpos[:] = model.qpos0
        for moved, position in pose.q.items():
            start, count = model.joint(moved).qposadr[0], np.size(position)
            shift = model.qpos0[start] if count == 1 else 0.0
            data.qpos[start : start + count] = np.array(position) + shift
        mujoco.mj_kinematics(model, data)
        base = data.body("base")
        turn = base.xmat.reshape(3, 3).T
        for link, at in pose.links.items():
            body = data.body(link)
            assert turn @ (body.xpos - base.xpos) == pytest.approx(_numbers(at.position))
            rotation = Rotation.from_quat(np.roll(_numbers(at.rotation_wxyz), -1)).as_matrix()
            assert turn @ body.xmat.reshape(3, 3) == pytest.approx(rotation, abs=1e-10)


def _lumped(
    model: mujoco.MjModel, data: mujoco.MjData, group: BodyValues
) -> tuple[float, Array, Array]:
    """Return mass, centre and inertia of bodies in the frame of the first."""
    bodies = [model.body(link).id for link in group.links]
    masses = model.body_mass[bodies]
    center = masses @ data.xipos[bodies] / masses.sum()
    inertia = np.zeros((3, 3))
    for body, mass in zip(bodies, masses, strict=True):
        axes, arm = data.ximat[body].reshape(3, 3), data.xipos[body] - center
        inertia += axes @ np.diag(model.body_inertia[body]) @ axes.T
        inertia += mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    turn = data.xmat[bodies[0]].reshape(3, 3).T
    return masses.sum(), turn @ (center - data.xpos[bodies[0]]), turn @ inertia @ turn.T


@pytest.mark.parametrize("name", CASES)
def test_engine_states_the_expected_values(name: str) -> None:
    expected = _expected(CASES[name])

    actual = observe_mjcf(str(CASES[name].path), configurations_of(expected))

    compared = compare_case(expected, actual)
    assert not compared.failures
    assert compared.compared
    assert len(mjcf_joints(str(CASES[name].path))) >= len(expected.joints)
