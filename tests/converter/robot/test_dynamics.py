"""Equations of motion, compared with formulas, energies and PyBullet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tests.converter.strategies import robots
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.dynamics import (
    ROOT,
    degrees_of_freedom,
    equations_of_motion,
    link_transforms,
    rest_transforms,
    width,
)
from urdf_usd.converter.robot.spatial import inertia_tensor, rotation_from_quat_wxyz
from urdf_usd.converter.robot.topology import build_tree

Values: TypeAlias = Mapping[str, NDArray[np.float64]]

_GRAVITY = (1.5, -2.5, -9.0)
_OBLIQUE = (2 / 7, 3 / 7, 6 / 7)


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        (m.Fixed(), 0),
        (m.Continuous(_OBLIQUE), 1),
        (m.Prismatic(_OBLIQUE, m.UNLIMITED), 1),
        (m.Spherical(), 3),
        (m.Planar(_OBLIQUE), 4),
        (m.Floating(), 6),
    ],
)
def test_degrees_of_freedom_are_in_tree_order(kind: m.JointKind, columns: int) -> None:
    last = m.Joint("last", "b", "c", m.Continuous(_OBLIQUE))
    joints = (last, m.Joint("first", "a", "b", kind))
    robot = m.Robot("r", tuple(map(m.Link, "cba")), joints)

    assert width(kind) == columns
    assert degrees_of_freedom(robot) == (*[ROOT] * 6, *["first"] * columns, "last")


def _state(robot: m.Robot, seed: int) -> tuple[dict[str, NDArray[np.float64]], Values]:
    """Draw positions and velocities of all moving joints."""
    random = np.random.default_rng(seed)
    positions, velocities = {}, {}
    for joint in robot.joints:
        columns = width(joint.kind)
        if not columns:
            continue
        velocities[joint.name] = random.uniform(-1, 1, (1, columns))
        positions[joint.name] = _moved(joint.kind, None, random.uniform(-1, 1, (1, columns)))
    return positions, velocities


def _moved(
    kind: m.JointKind, start: NDArray[np.float64] | None, step: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Follow a constant velocity for a unit of time; from zero if no start is given."""
    match kind:
        case m.Spherical():
            own = np.array([[1.0, 0, 0, 0]]) if start is None else start
            return _turned(own, step)
        case m.Floating():
            own = np.array([[0.0, 0, 0, 1, 0, 0, 0]]) if start is None else start
            return np.hstack([own[:, :3] + step[:, :3], _turned(own[:, 3:], step[:, 3:])])
        case m.Planar():
            flat = np.eye(3) - np.outer(kind.axis, kind.axis)
            step = np.hstack([step[:, :3] @ flat, step[:, 3:]])
    return step if start is None else start + step


def _turned(quats: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    turned = Rotation.from_quat(quats, scalar_first=True) * Rotation.from_rotvec(vectors)
    result: NDArray[np.float64] = turned.as_quat(scalar_first=True)
    return result


def _at(robot: m.Robot, positions: Values, velocities: Values, time: float) -> Values:
    kinds = {joint.name: joint.kind for joint in robot.joints}
    return {
        name: _moved(kinds[name], start, time * velocities[name])
        for name, start in positions.items()
    }


def _energies(robot: m.Robot, positions: Values, velocities: Values) -> tuple[float, float]:
    """Kinetic energy by differences of link frames, and potential energy."""
    step = 1e-5
    before, now, after = (
        link_transforms(robot, _at(robot, positions, velocities, time))
        for time in (-step, 0.0, step)
    )
    kinetic = potential = 0.0
    for link in robot.links:
        if link.inertial is None:
            continue
        center = np.array([*link.inertial.origin.position, 1.0])
        velocity = (after[link.name][0] - before[link.name][0]) @ center / (2 * step)
        turn = before[link.name][0, :3, :3].T @ after[link.name][0, :3, :3]
        spin = Rotation.from_matrix(turn).as_rotvec() / (2 * step)
        axes = rotation_from_quat_wxyz(link.inertial.origin.quat_wxyz)
        tensor = axes @ inertia_tensor(link.inertial.inertia) @ axes.T
        kinetic += link.inertial.mass * (velocity @ velocity) / 2
        kinetic += spin @ tensor @ spin / 2
        place = (now[link.name][0] @ center)[:3]
        potential -= link.inertial.mass * float(np.dot(_GRAVITY, place))
    return kinetic, potential


@given(robots(), st.integers(0, 2**32 - 1))
def test_inertia_matrix_and_bias_forces_give_energy_and_its_change(
    robot: m.Robot, seed: int
) -> None:
    # E = u M u / 2, with M symmetric and positive semidefinite.
    positions, velocities = _state(robot, seed)
    names = [name for name in dict.fromkeys(degrees_of_freedom(robot)) if name]
    speed = np.concatenate([np.zeros(6), *(velocities[name][0] for name in names)])
    (inertia,), (bias,) = equations_of_motion(robot, positions, velocities, _GRAVITY)
    step = 1e-4

    def energy(time: float) -> float:
        at_time = _at(robot, positions, velocities, time)
        (moved,), _ = equations_of_motion(robot, at_time, {})
        return float(speed @ moved @ speed / 2) + _energies(robot, at_time, velocities)[1]

    kinetic, _ = _energies(robot, positions, velocities)
    power = (energy(step) - energy(-step)) / (2 * step)

    np.testing.assert_array_equal(inertia, inertia.T)
    scale = max(float(np.abs(inertia).max()), 1.0)
    assert np.linalg.eigvalsh(inertia).min() >= -1e-12 * scale
    assert speed @ inertia @ speed / 2 == pytest.approx(kinetic, rel=1e-6, abs=1e-7)
    scale = float(np.abs(bias) @ np.abs(speed)) + 1.0
    assert bias @ speed == pytest.approx(power, abs=1e-5 * scale)


@given(robots())
def test_link_transforms_at_zero_are_the_rest_transforms(robot: m.Robot) -> None:
    still = {
        m.Floating: [[0.0, 0, 0, 1, 0, 0, 0]],
        m.Spherical: [[1.0, 0, 0, 0]],
        m.Planar: [[0.0] * 4],
    }
    positions = {
        joint.name: np.array(still.get(type(joint.kind), [[0.0]]))
        for joint in robot.joints
        if not isinstance(joint.kind, m.Fixed)
    }

    moved = link_transforms(robot, positions)

    for name, rest in rest_transforms(build_tree(robot)).items():
        np.testing.assert_allclose(moved[name][0], rest, atol=1e-13)
