"""Configurations cover the joint ranges; values of wrong types in an observation are found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    MimicObservation,
    Observation,
    Quantity,
    Vec3,
    head_coupling,
    require_types,
)
from urdf_usd.conformance.observation.sampling import configurations

R, P, C = JointType.REVOLUTE, JointType.PRISMATIC, JointType.CONTINUOUS
_INF = math.inf


def _joint(
    name: str,
    joint_type: JointType = R,
    lower: float | None = None,
    upper: float | None = None,
    mimic: tuple[str, float, float] | None = None,
    axis: Vec3 | None = None,
) -> JointObservation:
    coupling = MimicObservation(*mimic) if mimic else None
    return JointObservation(name, joint_type, "a", "b", lower, upper, mimic=coupling, axis=axis)


def _of(sampled: Configurations, name: str) -> NDArray[np.float64]:
    return sampled.positions[sampled.joints.index(name)]


def test_zero_and_both_limits_come_first() -> None:
    sampled = configurations([_joint("a", R, -0.5, 1.25), _joint("b", P, 0.1, 0.3)])

    assert sampled.labels[:4] == ("zero", "lower", "upper", "sample 0")
    assert sampled.count == len(sampled.labels) == 32
    assert _of(sampled, "a")[:3, 0].tolist() == [0.0, -0.5, 1.25]
    assert _of(sampled, "b")[:3, 0].tolist() == [0.0, 0.1, 0.3]
    with pytest.raises(ValueError, match="read-only"):
        _of(sampled, "a")[0, 0] = 1.0


@pytest.mark.parametrize("count", [1, 200, 300, 1200])
def test_inertia_matrices_stay_within_memory(count: int) -> None:
    sampled = configurations([_joint(f"joint{i}") for i in range(count)])
    motion = sampled.for_motion

    assert motion.count * (count + 6) ** 2 * 8 <= 16e6 or motion.count == 4
    assert motion.labels == sampled.labels[: motion.count]
    assert (motion.count == sampled.count) is (count <= 200)
    assert {len(one) for one in (*motion.positions, *motion.velocities)} == {motion.count}


def test_samples_are_deterministic_and_cover_the_range_of_every_joint() -> None:
    joints = [_joint(f"j{number}", R, 0.0, 29.0) for number in range(300)]
    sampled, again = configurations(joints, 32), configurations(joints, 32)

    for first, second in zip(sampled.positions, again.positions, strict=True):
        np.testing.assert_array_equal(first, second)
        assert sorted(np.floor(first[3:, 0])) == list(range(29))
    a, b = (_of(sampled, name)[3:, 0] for name in ("j0", "j1"))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.5


@pytest.mark.parametrize(
    ("joint", "lower", "upper"),
    [
        (_joint("a", R), -math.pi, math.pi),
        (_joint("a", C), -math.pi, math.pi),
        (_joint("a", P), -1.0, 1.0),
        (_joint("a", P, 0.25, _INF), 0.25, 2.25),
        (_joint("a", R, -_INF, 1.0), 1.0 - 2 * math.pi, 1.0),
        (_joint("a", R, -1e16, 1e16), -math.pi, math.pi),
        (_joint("a", P, -1e16, 0.5), -1.5, 0.5),
        (_joint("a", R, -40.0, 50.0), -40.0, 50.0),
        (_joint("a", R, 1.5, -0.5), -0.5, 1.5),
        (_joint("a", R, 0.7, 0.7), 0.7, 0.7),
    ],
)
def test_sampled_range_of_a_joint(joint: JointObservation, lower: float, upper: float) -> None:
    positions = _of(configurations([joint]), "a")[:, 0]

    assert positions[:3].tolist() == pytest.approx([0.0, lower, upper])
    assert positions[3:].min() >= lower - 1e-12
    assert positions[3:].max() <= upper + 1e-12


def test_followers_are_computed_through_chains() -> None:
    followers = [
        _joint("c", R, -9.0, 9.0, ("b", -2.0, 0.25)),
        _joint("b", R, -9, 9, ("a", 1.5, -0.1)),
    ]
    sampled = configurations([*followers, _joint("a", R, -0.5, 0.75)])
    a, b, c = (_of(sampled, name) for name in "abc")

    np.testing.assert_allclose(b, 1.5 * a - 0.1, atol=1e-15)
    np.testing.assert_allclose(c, -2.0 * b + 0.25, atol=1e-15)


_LOOP = _joint("b", R, -0.3, 0.3, ("a", 2.0, 0.0))
_OVERFLOW = [_joint("b", mimic=("c", 1e200, 0.0)), _joint("c", C)]


@pytest.mark.parametrize(
    ("leader", "others", "sampled"),
    [
        pytest.param(
            None, [_joint("b", R, -0.2, 0.6, ("a", -2.0, 0.1))], [-0.25, 0.15], id="narrow"
        ),
        pytest.param(None, [_joint("b", R, 5.0, 6.0, ("a", 1.0, 0.0))], [-0.5, 0.5], id="apart"),
        # Couplings without effect.
        pytest.param(("a", 2.0, 0.0), [], [-0.5, 0.5], id="of itself"),
        pytest.param(("missing", 2.0, 0.0), [], [-0.5, 0.5], id="of a missing joint"),
        pytest.param(("b", 2.0, 0.0), [_LOOP], [-0.5, 0.5], id="in a loop"),
        pytest.param(("b", 1e200, 0.0), _OVERFLOW, [-0.5, 0.5], id="with factors that overflow"),
    ],
)
def test_range_of_a_joint_with_couplings(
    leader: tuple[str, float, float] | None, others: list[JointObservation], sampled: list[float]
) -> None:
    joint = _joint("a", R, -0.5, 0.5, leader)

    ends = _of(configurations([joint, *others]), "a")[1:3, 0]
    assert ends.tolist() == pytest.approx(sampled)


@pytest.mark.parametrize("limit", [None, 0.5])
@pytest.mark.parametrize("multiplier", [1e-300, -1e-9, 1e9, -1e300])
def test_coupled_joints_stay_near_for_every_multiplier(
    multiplier: float, limit: float | None
) -> None:
    follower = _joint("b", R, limit and -limit, limit, ("a", multiplier, 0.0))
    sampled = configurations([_joint("a", C), follower])

    assert np.abs(_of(sampled, "a")).max() <= math.pi
    assert np.abs(_of(sampled, "b")).max() <= (limit or 1000.0) * (1.0 + 1e-12)
    assert np.ptp(_of(sampled, "a")) > 0.0


def test_planar_joints_stay_in_their_plane() -> None:
    axis = (0.6, 0.0, 0.8)
    positions = _of(configurations([_joint("a", JointType.PLANAR, axis=axis)]), "a")

    np.testing.assert_allclose(positions[:, :3] @ np.array(axis), 0.0, atol=1e-15)
    assert (np.ptp(positions[:, [0, 1, 3]], axis=0) > 0.5).all()


@pytest.mark.parametrize(
    ("joint_type", "start"), [(JointType.FLOATING, 3), (JointType.SPHERICAL, 0)]
)
def test_rotations_are_unit_quaternions(joint_type: JointType, start: int) -> None:
    quats = _of(configurations([_joint("a", joint_type)]), "a")[:, start:]

    np.testing.assert_allclose(np.linalg.norm(quats, axis=1), 1.0, atol=1e-15)
    assert quats[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert (np.ptp(quats[3:], axis=0) > 0.9).all()


def test_offset_bound_of_a_coupling_includes_cancelled_terms() -> None:
    cancel = {"b": MimicObservation("a", 1.0, 1e3), "c": MimicObservation("b", 1.0, -1e3)}
    head = head_coupling("c", cancel.get)

    assert head is not None
    assert (head.offset, head.terms) == (0.0, 2e3)


_ARM = Observation(
    engine="e",
    robot="arm",
    root="a",
    states=frozenset({Quantity.LINKS, Quantity.JOINTS}),
    links=(LinkObservation("a"), LinkObservation("b", MassProperties(2, (0.1, 0.2, 0.3), None))),
    joints=(_joint("j", R, -1, 2.5),),
)


def test_lists_integers_and_numpy_numbers_are_accepted() -> None:
    links: Any = [LinkObservation("a"), LinkObservation("b")]
    require_types(structs.replace(_ARM, links=links, precision=np.float32(1e-7)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": 7}, "Expected `array`, got `int` - at `observation.links`"),
        ({"notes": (3,)}, "Expected `str`, got `int` - at `observation.notes[0]`"),
        ({"up": (1.0, 2.0)}, "Expected `array` of length 3, got 2 - at `observation.up`"),
        ({"precision": True}, "Expected `float`, got `bool` - at `observation.precision`"),
        (
            {"links": (structs.replace(_ARM.links[0], name=3),)},
            "Expected `str`, got `int` - at `observation.links[0].name`",
        ),
        ({"notes": (object(),)}, "observation has a value of type object"),
    ],
)
def test_value_of_wrong_type_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as error:
        require_types(structs.replace(_ARM, **changes))
    assert str(error.value) == message
