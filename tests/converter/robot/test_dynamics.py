"""Equations of motion, compared with formulas, energies and PyBullet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pybullet
import pybullet_data
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
    inertia_matrices,
    link_transforms,
    width,
)
from urdf_usd.converter.robot.spatial import inertia_tensor, rotation_from_quat_wxyz
from urdf_usd.converter.urdf.parse import parse

Values: TypeAlias = Mapping[str, NDArray[np.float64]]

_GRAVITY = (1.5, -2.5, -9.0)
_OBLIQUE = (2 / 7, 3 / 7, 6 / 7)
_BODY = m.Inertial(1.0, m.Pose((0.1, 0.2, 0.3)), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))


def _pendulum() -> m.Robot:
    """Two rods that hang along -Z and swing about Y; their centres are halfway."""
    rods = ((2.0, 0.7, 0.11), (0.5, 0.4, 0.03))
    links = tuple(
        m.Link(
            f"rod {index}",
            m.Inertial(mass, m.Pose((0.0, 0.0, -length / 2)), (1.0, 0.0, 0.0, moment, 0.0, 1.0)),
        )
        for index, (mass, length, moment) in enumerate(rods)
    )
    swing = m.Continuous((0.0, 1.0, 0.0))
    return m.Robot(
        "double pendulum",
        (m.Link("wall"), *links),
        (
            m.Joint("shoulder", "wall", "rod 0", swing, m.Pose((0.2, 0.3, 0.4))),
            m.Joint("elbow", "rod 0", "rod 1", swing, m.Pose((0.0, 0.0, -0.7))),
        ),
    )


def test_equations_of_a_double_pendulum() -> None:
    m1, l1, i1, m2, l2, i2 = 2.0, 0.7, 0.11, 0.5, 0.4, 0.03
    a, b, ra, rb = 0.4, -1.1, 1.3, -0.7
    at = {"shoulder": np.array([[a]]), "elbow": np.array([[b]])}
    rates = {"shoulder": np.array([[ra]]), "elbow": np.array([[rb]])}

    (inertia,), (bias,) = equations_of_motion(_pendulum(), at, rates)
    inertia, bias = inertia[6:, 6:], bias[6:]

    c1, c2, g = l1 / 2, l2 / 2, 9.81
    outer = i2 + m2 * c2**2
    mixed = m2 * l1 * c2 * math.cos(b)
    inner = i1 + m1 * c1**2 + m2 * l1**2
    twist = m2 * l1 * c2 * math.sin(b)
    second = m2 * g * c2 * math.sin(a + b)
    expected_inertia = [[inner + outer + 2 * mixed, outer + mixed], [0.0, outer]]
    expected_inertia[1][0] = expected_inertia[0][1]
    np.testing.assert_allclose(inertia, expected_inertia, rtol=1e-13)
    first = (m1 * c1 + m2 * l1) * g * math.sin(a) + second
    expected_bias = [first - twist * rb * (2 * ra + rb), second + twist * ra**2]
    np.testing.assert_allclose(bias, expected_bias, rtol=1e-13)


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
    robot = m.Robot(
        "r",
        (m.Link("c"), m.Link("b"), m.Link("a")),
        (
            m.Joint("last", "b", "c", m.Continuous(_OBLIQUE)),
            m.Joint("first", "a", "b", kind),
        ),
    )

    assert width(kind) == columns
    assert degrees_of_freedom(robot) == (
        *[ROOT] * 6,
        *["first"] * columns,
        "last",
    )


def test_planar_joint_has_no_effect_along_its_normal() -> None:
    joint = m.Joint("slab", "a", "b", m.Planar(_OBLIQUE))
    robot = m.Robot("r", (m.Link("a", _BODY), m.Link("b", _BODY)), (joint,))
    at = {"slab": np.array([[0.3, -0.2, 0.0, 0.7]])}
    normal = np.zeros(10)
    normal[6:9] = _OBLIQUE

    (inertia,), (bias,) = equations_of_motion(robot, at, {})

    np.testing.assert_allclose(inertia @ normal, 0.0, atol=1e-15)
    assert abs(bias @ normal) < 1e-14
    assert np.linalg.matrix_rank(inertia[6:, 6:]) == 3


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


def _stacked(robot: m.Robot, velocities: Values) -> NDArray[np.float64]:
    names = [name for name in dict.fromkeys(degrees_of_freedom(robot)) if name]
    return np.concatenate([np.zeros(6), *(velocities[name][0] for name in names)])


@given(robots(), st.integers(0, 2**32 - 1))
def test_inertia_matrix_gives_the_kinetic_energy(robot: m.Robot, seed: int) -> None:
    # E = u M u / 2, with M symmetric and positive semidefinite.
    positions, velocities = _state(robot, seed)
    (inertia,) = inertia_matrices(robot, positions)
    speed = _stacked(robot, velocities)
    scale = max(float(np.abs(inertia).max()), 1.0)

    kinetic, _ = _energies(robot, positions, velocities)

    np.testing.assert_array_equal(inertia, inertia.T)
    assert np.linalg.eigvalsh(inertia).min() >= -1e-12 * scale
    assert speed @ inertia @ speed / 2 == pytest.approx(kinetic, rel=1e-6, abs=1e-7)


@given(robots(), st.integers(0, 2**32 - 1))
def test_power_of_bias_forces_is_the_change_of_energy(robot: m.Robot, seed: int) -> None:
    positions, velocities = _state(robot, seed)
    speed = _stacked(robot, velocities)
    _, (bias,) = equations_of_motion(robot, positions, velocities, _GRAVITY)
    step = 1e-4

    def energy(time: float) -> float:
        at_time = _at(robot, positions, velocities, time)
        (inertia,) = inertia_matrices(robot, at_time)
        return float(speed @ inertia @ speed / 2) + _energies(robot, at_time, velocities)[1]

    power = (energy(step) - energy(-step)) / (2 * step)
    scale = float(np.abs(bias) @ np.abs(speed)) + 1.0

    assert bias @ speed == pytest.approx(power, abs=1e-5 * scale)


@pytest.mark.parametrize("file", ["kuka_iiwa/model.urdf", "a1/a1.urdf"])
def test_equations_match_pybullet(file: str) -> None:
    path = str(Path(pybullet_data.getDataPath(), file))
    robot = parse(path).robot
    names = [name for name in degrees_of_freedom(robot) if name]
    random = np.random.default_rng(7)
    positions, velocities = random.uniform(-1, 1, (2, len(names)))
    at, rates = (
        {name: np.array([[value]]) for name, value in zip(names, values, strict=True)}
        for values in (positions, velocities)
    )

    engine = pybullet.connect(pybullet.DIRECT)
    body = pybullet.loadURDF(
        path,
        useFixedBase=True,
        flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
        physicsClientId=engine,
    )
    pybullet.setGravity(0, 0, -9.81, physicsClientId=engine)
    count = pybullet.getNumJoints(body, physicsClientId=engine)
    order = [
        info[1].decode()
        for info in (pybullet.getJointInfo(body, i, physicsClientId=engine) for i in range(count))
        if info[2] != pybullet.JOINT_FIXED
    ]
    index = [names.index(name) for name in order]
    inertia = pybullet.calculateMassMatrix(body, list(positions[index]), physicsClientId=engine)
    bias = pybullet.calculateInverseDynamics(
        body,
        list(positions[index]),
        list(velocities[index]),
        [0.0] * len(names),
        physicsClientId=engine,
    )
    pybullet.disconnect(engine)

    columns = 6 + np.array(index)
    matrices, forces = equations_of_motion(robot, at, rates)
    ours = matrices[0][np.ix_(columns, columns)]
    np.testing.assert_allclose(ours, inertia, atol=1e-6 * np.abs(ours).max())
    ours = forces[0, columns]
    np.testing.assert_allclose(ours, bias, atol=1e-6 * np.abs(ours).max())
