"""Configurations at which link frames are compared: corners and samples of the ranges.

The configurations depend on the joints alone, so that they are the same for every
engine and every run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    VELOCITIES,
    Configurations,
    HeadCoupling,
    JointObservation,
    JointType,
    Vec3,
    head_coupling,
)

# A limit beyond this [rad or m] means "none", such as 1e16; a pose there would depend
# on the rounding of sines.
_FAR = 1e3
# Half the width of the sampled interval of an unlimited joint [rad or m].
_WINDOW = {JointType.PRISMATIC: 1.0}
_TURN = math.pi
_DISPLACEMENT = 1.0
_SPEED = 1.0
_CORNERS = 2
# Dimensions of the unit cube that each joint takes, by number of coordinates.
_FREEDOMS = {
    JointType.PLANAR: 3,
    JointType.FLOATING: 6,
    JointType.SPHERICAL: 3,
}
# Equations of motion of hundreds of coordinates take gigabytes at all configurations:
# the most entries of inertia matrices, unless they are those of zero, both limits and
# the start of the rollout, and then the most entries of these.
_ENTRIES = 2_000_000
_FIRST_MOTION = 4
_FIRST_ENTRIES = 25_000_000
_ROOT = 6
# Samples are the same in every run.
_SEED = 20_240_229
_URDF_DEFAULT_AXIS = (1.0, 0.0, 0.0)


def configurations(joints: Sequence[JointObservation], count: int = 32) -> Configurations:
    """Choose the configurations at which observations of a robot are compared.

    The first is zero, regardless of limits; then every leading joint at its lower
    and at its upper limit; then a Latin hypercube of samples inside the limits. A mimic
    joint follows its leader, through chains; a leader is sampled within its followers'
    limits as well, unless they exclude each other, and such that a follower without
    limits moves by 1000 rad or m at most. Without moving joints there is one
    configuration.

    Args:
        joints: All joints, fixed ones included.
        count: Number of configurations, at least four.
    """
    moving = [joint for joint in joints if COORDINATES[joint.type]]
    if not moving:
        return Configurations((), (), ("zero",))
    couplings = _couplings(moving)
    leaders = [joint for joint in moving if joint.name not in couplings]
    cube = _unit_cube(sum(_freedoms(joint) for joint in leaders), count)
    positions: dict[str, NDArray[np.float64]] = {}
    column = 0
    for joint in leaders:
        width = _freedoms(joint)
        followers = [
            (each, coupling)
            for each in moving
            if (coupling := couplings.get(each.name))
            and coupling.leader == joint.name
            and coupling.multiplier
        ]
        window = _window(joint, _shared_limits(joint, followers))
        window = _within_reach(window, [coupling for _, coupling in followers])
        inside = _coordinates(joint, window, cube[:, column : column + width])
        positions[joint.name] = np.vstack([_zero(joint.type), inside])
        column += width
    for name, coupling in couplings.items():
        leader = positions[coupling.leader]
        positions[name] = coupling.multiplier * leader + coupling.offset
    for array in positions.values():
        array.setflags(write=False)
    samples = (f"sample {index}" for index in range(len(cube) - 2))
    size = _ROOT + sum(VELOCITIES[joint.type] for joint in moving)
    first = max(1, min(_FIRST_MOTION, _FIRST_ENTRIES // size**2))
    motion_count = max(first, _ENTRIES // size**2)
    return Configurations(
        joints=tuple(joint.name for joint in moving),
        positions=tuple(positions[joint.name] for joint in moving),
        labels=("zero", "lower", "upper", *samples),
        velocities=_velocities(moving, len(cube) + 1),
        motion_count=motion_count if motion_count <= len(cube) else None,
    )


def _velocities(moving: Sequence[JointObservation], count: int) -> tuple[NDArray[np.float64], ...]:
    """Return (K, d) velocities up to 1 rad/s or m/s; zero, lower and upper are at rest.

    Forces at rest are those of gravity alone; samples add Coriolis forces.
    """
    random = np.random.default_rng(_SEED)
    velocities = []
    for joint in moving:
        values = random.uniform(-_SPEED, _SPEED, (count, VELOCITIES[joint.type]))
        values[: _CORNERS + 1] = 0.0
        values.setflags(write=False)
        velocities.append(values)
    return tuple(velocities)


def _unit_cube(dimensions: int, count: int) -> NDArray[np.float64]:
    """Return points of the unit cube: both corners, then ``count`` - 3 samples.

    Samples are a Latin hypercube: each coordinate has one in each of as many equal
    intervals, in random order. Sobol sequences do as well, but scipy.stats takes longer
    to import than all engines together.
    """
    random = np.random.default_rng(_SEED)
    number = max(count - 3, 1)
    order = random.permuted(np.tile(np.arange(number), (dimensions, 1)), axis=1)
    samples = (order.T + random.random((number, dimensions))) / number
    return np.vstack([[[0.0] * dimensions, [1.0] * dimensions], samples])


def _freedoms(joint: JointObservation) -> int:
    return _FREEDOMS.get(joint.type, 1)


def _couplings(moving: Sequence[JointObservation]) -> dict[str, HeadCoupling]:
    """Couple every follower to the joint at the head of its chain.

    A coupling without effect (unknown leader, several coordinates, a loop, a chain
    whose factors overflow) is ignored, and such a joint is sampled on its own.
    """
    single = {joint.name: joint for joint in moving if COORDINATES[joint.type] == 1}
    mimics = {
        name: joint.mimic
        for name, joint in single.items()
        if joint.mimic and joint.mimic.leader in single
    }
    heads = {name: head_coupling(name, mimics.get) for name in mimics}
    # In a loop of couplings the head follows another joint.
    return {
        name: head
        for name, head in heads.items()
        if head
        and head.leader not in mimics
        and math.isfinite(head.multiplier)
        and math.isfinite(head.offset)
    }


def _limits(joint: JointObservation) -> tuple[float, float]:
    """Return ordered limits, infinite where there is none."""
    lower = -math.inf if joint.lower is None else joint.lower
    upper = math.inf if joint.upper is None else joint.upper
    return _without_far(min(lower, upper), max(lower, upper))


def _without_far(lower: float, upper: float) -> tuple[float, float]:
    return (
        lower if abs(lower) <= _FAR else -math.inf,
        upper if abs(upper) <= _FAR else math.inf,
    )


def _shared_limits(
    leader: JointObservation,
    followers: Sequence[tuple[JointObservation, HeadCoupling]],
) -> tuple[float, float]:
    """Return the intersection of the leader's and its followers' limits.

    A follower of a tiny multiple allows its leader positions that are as good as none:
    1e200 rad, whose square overflows.
    """
    lower, upper = _limits(leader)
    for joint, coupling in followers:
        ends = ((limit - coupling.offset) / coupling.multiplier for limit in _limits(joint))
        first, last = _without_far(*sorted(ends))
        both = max(lower, first), min(upper, last)
        if both[0] <= both[1]:
            lower, upper = both
    return lower, upper


def _within_reach(
    window: tuple[float, float], couplings: Sequence[HeadCoupling]
) -> tuple[float, float]:
    """Narrow a leader's interval so that followers of large multiples stay in range."""
    reach = min((_FAR / abs(each.multiplier) for each in couplings), default=_FAR)
    lower, upper = (min(max(end, -reach), reach) for end in window)
    return lower, upper


def _window(joint: JointObservation, limits: tuple[float, float]) -> tuple[float, float]:
    """Return a finite interval inside the limits."""
    lower, upper = limits
    half = _WINDOW.get(joint.type, _TURN)
    if math.isinf(lower) and math.isinf(upper):
        return -half, half
    if math.isinf(lower):
        return upper - 2 * half, upper
    if math.isinf(upper):
        return lower, lower + 2 * half
    return lower, upper


def _zero(joint_type: JointType) -> NDArray[np.float64]:
    """Return the (1, d) coordinates of the zero position."""
    zero = np.zeros((1, COORDINATES[joint_type]))
    if joint_type is JointType.FLOATING:
        zero[0, 3] = 1.0
    elif joint_type is JointType.SPHERICAL:
        zero[0, 0] = 1.0
    return zero


def _coordinates(
    joint: JointObservation,
    window: tuple[float, float],
    cube: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Map (K, n) points of the unit cube to (K, d) coordinates of a joint."""
    signed = 2 * cube - 1
    match joint.type:
        case JointType.PLANAR:
            plane = _plane(joint.axis or _URDF_DEFAULT_AXIS)
            displacement = _DISPLACEMENT * signed[:, :2] @ plane
            return np.hstack([displacement, _TURN * signed[:, 2:]])
        case JointType.FLOATING:
            displacement = _DISPLACEMENT * signed[:, :3]
            return np.hstack([displacement, _uniform_rotations(cube[:, 3:])])
        case JointType.SPHERICAL:
            return _uniform_rotations(cube)
        case _:
            lower, upper = window
            # In this form 0 and 1 give exactly the limits.
            inside: NDArray[np.float64] = (1 - cube) * lower + cube * upper
            return inside


def _plane(axis: Vec3) -> NDArray[np.float64]:
    """Return (2, 3) orthonormal vectors normal to a unit axis."""
    normal = np.asarray(axis, dtype=np.float64)
    aside = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, aside)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


def _uniform_rotations(cube: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map (K, 3) points to (K, 4) quaternions wxyz, uniform over rotations.

    Shoemake, "Uniform random rotations", Graphics Gems III, 1992.
    """
    small, large = np.sqrt(1 - cube[:, 0]), np.sqrt(cube[:, 0])
    first, second = 2 * math.pi * cube[:, 1], 2 * math.pi * cube[:, 2]
    return np.column_stack(
        [
            small * np.cos(first),
            small * np.sin(first),
            large * np.sin(second),
            large * np.cos(second),
        ]
    )
