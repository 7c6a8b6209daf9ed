"""Bounds cover the float32 rounding of random robots, and are tight enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.observation.robot import (
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
    Vec6,
)
from urdf_usd.conformance.tolerance.bounds import (
    RELATIVE,
    Tolerance,
    harmless_moment,
    inertia_bound,
    scalar_bound,
)
from urdf_usd.conformance.tolerance.comparison import derive_tolerance_model
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Grade


def _stored(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.astype(np.float32).astype(np.float64)


def _stored_rotation(rotation: Rotation) -> Rotation:
    return Rotation.from_quat(_stored(rotation.as_quat()))


def _six(tensor: NDArray[np.float64]) -> Vec6:
    xx, xy, xz, yy, yz, zz = map(float, tensor[np.triu_indices(3)])
    return xx, xy, xz, yy, yz, zz


def _readings(seed: int, depth: int, *, welded: bool) -> tuple[Observation, ...]:
    """Return observations of a random chain: in double, and as UsdPhysics stores it.

    Stored are localPos0, localRot0 and localRot1 of every joint, and mass, centre,
    moments and principal axes of every link; each is rounded once.
    """
    random = np.random.default_rng(seed)
    count = 5
    sides: list[list[tuple[NDArray[np.float64], Rotation]]] = [[], []]
    start = (np.zeros((count, 3)), Rotation.identity(count))
    sides[0].append(start)
    sides[1].append(start)
    joints, masses = [], [[_mass(random)], []]
    masses[1].append(_stored_mass(masses[0][0]))
    for index in range(depth):
        offset = random.normal(scale=0.4, size=3)
        turn, align = Rotation.random(2, rng=random)
        angles = np.zeros(count) if welded else random.uniform(-3, 3, count)
        angles[0] = 0.0
        spin = Rotation.from_rotvec(angles[:, None] * np.array([1.0, 0.0, 0.0]))
        first, second = turn * align, align
        for side, place, one, two in (
            (sides[0], offset, first, second),
            (
                sides[1],
                _stored(offset),
                _stored_rotation(first),
                _stored_rotation(second),
            ),
        ):
            position, rotation = side[-1]
            side.append((position + rotation.apply(place), rotation * one * spin * two.inv()))
        kind = JointType.FIXED if welded else JointType.REVOLUTE
        joints.append(JointObservation(f"j{index}", kind, f"l{index}", f"l{index + 1}"))
        masses[0].append(_mass(random))
        masses[1].append(_stored_mass(masses[0][-1]))
    return tuple(
        _reading(name, side, tuple(joints), mass)
        for name, side, mass in zip(("reference", "usd"), sides, masses, strict=True)
    )


def _mass(random: np.random.Generator) -> MassProperties:
    half = random.uniform(0.02, 0.3, size=3)
    mass = float(random.uniform(0.05, 8.0))
    moments = mass / 3 * (float(half @ half) - half**2)
    turn = Rotation.random(rng=random).as_matrix()
    x, y, z = random.normal(scale=0.2, size=3).tolist()
    return MassProperties(mass, (x, y, z), _six(turn @ np.diag(moments) @ turn.T))


def _stored_mass(properties: MassProperties) -> MassProperties:
    assert properties.inertia is not None
    xx, xy, xz, yy, yz, zz = properties.inertia
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    axes[:, 2] *= np.linalg.det(axes)
    turn = _stored_rotation(Rotation.from_matrix(axes)).as_matrix()
    x, y, z = _stored(np.array(properties.center)).tolist()
    return MassProperties(
        float(np.float32(properties.mass)),
        (x, y, z),
        _six(turn @ np.diag(_stored(moments)) @ turn.T),
    )


def _reading(
    name: str,
    side: list[tuple[NDArray[np.float64], Rotation]],
    joints: tuple[JointObservation, ...],
    masses: list[MassProperties],
) -> Observation:
    names = tuple(f"l{index}" for index in range(len(side)))
    frames = Frames(
        names,
        np.stack([position for position, _ in side], axis=1),
        np.stack([rotation.as_matrix() for _, rotation in side], axis=1),
    )
    return Observation(
        engine=name,
        robot="chain",
        root="l0",
        states=frozenset({Quantity.FRAMES, Quantity.MASS}),
        links=tuple(LinkObservation(link, mass) for link, mass in zip(names, masses, strict=True)),
        joints=joints,
        frames=frames,
    )


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), depth=st.integers(1, 30), welded=st.booleans())
def test_rounded_storage_is_exact(seed: int, depth: int, *, welded: bool) -> None:
    spec, usd = _readings(seed, depth, welded=welded)
    checks = judge({"reference": Observed(spec)}, Observed(usd)).checks
    nothing = {Grade.NOT_COMPARABLE, Grade.NOT_APPLICABLE}
    graded = {c.id: c for c in checks if c.grade not in nothing}

    assert {"kinematics.position", "mass.link.inertia", "mass.total"} <= graded.keys()
    for check in graded.values():
        assert check.grade is Grade.EXACT, (check.id, check.worst, check.bound)


def test_bounds_stay_below_the_engineering_tolerance_of_real_robots() -> None:
    spec, _ = _readings(7, 7, welded=False)
    bound = derive_tolerance_model(spec, Tolerance()).bounds["l7"]

    assert 1e-7 < bound.rotation < 2e-6
    assert 1e-7 < bound.position < 5e-6


def test_bound_grows_along_the_chain() -> None:
    spec, _ = _readings(3, 6, welded=False)
    bounds = derive_tolerance_model(spec, Tolerance()).bounds
    rotations = [bounds[f"l{index}"].rotation for index in range(7)]

    assert rotations[0] < 1e-11
    assert rotations == sorted(rotations)


def test_tolerance_model_requires_frames() -> None:
    spec, _ = _readings(3, 2, welded=False)
    with pytest.raises(ValueError, match="states no frames"):
        derive_tolerance_model(structs.replace(spec, frames=None), Tolerance())


@given(st.floats(1e-30, 1e30))
def test_scalar_bound_covers_rounding_in_degrees(value: float) -> None:
    stored = float(np.float32(math.degrees(value)))

    assert abs(math.radians(stored) - value) <= scalar_bound(value)
    assert scalar_bound(value) < 1.001 * RELATIVE * value


def test_bound_of_an_isotropic_inertia_is_that_of_its_moments() -> None:
    assert inertia_bound(3.0 * np.eye(3)) < 1.001 * RELATIVE
    assert inertia_bound(np.diag([1.0, 2.0, 3.0])) > 2 * RELATIVE
    assert inertia_bound(np.zeros((3, 3))) > 0


@pytest.mark.parametrize(
    ("mass", "total", "expected"),
    [(0.1, 2.0, 2.5e-8), (1e-9, 2.0, 2.5e-10), (1e-9, 1e-5, 2.5e-12)],
)
def test_harmless_inertia_of_a_point_mass_is_a_millionth(
    mass: float, total: float, expected: float
) -> None:
    assert harmless_moment(mass, 0.5, total) == pytest.approx(expected)
