"""Configurations and the rollout at which observations are compared.

Configurations are corners and samples of the ranges of joints. They depend on the joints alone, so
that they are the same for every engine and every run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.observation import robot as obs

Array = NDArray[np.float64]

# A limit beyond this [rad or m] means "none", such as 1e16; a pose there would depend on the
# rounding of sines.
_FAR = 1e3
# Half the width of the sampled interval of an unlimited joint [rad or m].
_HALF_WINDOW = {obs.JointType.PRISMATIC: 1.0}
_DISPLACEMENT = 1.0
_SPEED = 1.0
# Dimensions of the unit cube that a joint of several coordinates takes.
_FREEDOMS = {obs.JointType.PLANAR: 3, obs.JointType.FLOATING: 6, obs.JointType.SPHERICAL: 3}
_ZERO = {
    obs.JointType.FLOATING: (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
    obs.JointType.SPHERICAL: (1.0, 0.0, 0.0, 0.0),
}
# Equations of motion of hundreds of coordinates take gigabytes at all configurations: the most
# entries of inertia matrices, unless they are those of zero, both limits and the start of the
# rollout, and then the most entries of these.
_ENTRIES = 2_000_000
_FIRST_MOTION = 4
_FIRST_ENTRIES = 25_000_000
_ROOT_VELOCITIES = 6
# Samples are the same in every run.
_SEED = 20_240_229
_URDF_DEFAULT_AXIS = (1.0, 0.0, 0.0)
# The first configuration that is neither zero nor at limits.
_START = 3
# A joint is fixed if the allowed defaulted inertia exceeds a tenth of the inertia that it has
# while all others move freely, or if that inertia is rounding.
_DEFAULTED = 10.0
_SINGULAR = 1e-9
# Limit of steps times squared degrees of freedom, which is the cost of a step: robots with more
# than 300 are simulated for less than 1 s.
_WORK = 1e8


def configurations(joints: Sequence[obs.JointObservation], count: int = 32) -> obs.Configurations:
    """Choose the configurations at which observations of a robot are compared.

    The first is zero, regardless of limits; then every leading joint at its lower and at its
    upper limit; then a Latin hypercube of samples inside the limits. A mimic joint follows its
    leader, through chains; a leader is sampled within its followers' limits as well, unless they
    exclude each other, and such that a follower without limits moves by 1000 rad or m at most.
    Without moving joints there is one configuration.
    """
    moving = [joint for joint in joints if obs.COORDINATES[joint.type]]
    if not moving:
        return obs.Configurations((), (), ("zero",))
    couplings = _couplings(moving)
    leaders = [joint for joint in moving if joint.name not in couplings]
    widths = [_FREEDOMS.get(joint.type, 1) for joint in leaders]
    # Both corners of the unit cube, and a Latin hypercube of samples.
    random, number = np.random.default_rng(_SEED), max(count - 3, 1)
    order = random.permuted(np.tile(np.arange(number), (sum(widths), 1)), axis=1)
    samples = (order.T + random.random((number, sum(widths)))) / number
    cube = np.vstack([np.zeros(sum(widths)), np.ones(sum(widths)), samples])
    positions: dict[str, Array] = {}
    coupled = [(x, couplings[x.name]) for x in moving if x.name in couplings]
    for joint, width, end in zip(leaders, widths, np.cumsum(widths).tolist(), strict=True):
        followers = [x for x in coupled if x[1].leader == joint.name and x[1].multiplier]
        inside = _coordinates(joint, _window(joint, followers), cube[:, end - width : end])
        zero = _ZERO.get(joint.type, (0.0,) * obs.COORDINATES[joint.type])
        positions[joint.name] = np.vstack([zero, inside])
    for name, coupling in couplings.items():
        positions[name] = coupling.multiplier * positions[coupling.leader] + coupling.offset
    # Forces at rest are those of gravity alone; samples add Coriolis forces.
    random, rows = np.random.default_rng(_SEED), len(cube) + 1
    shapes = ((rows, obs.VELOCITIES[joint.type]) for joint in moving)
    velocities = [random.uniform(-_SPEED, _SPEED, shape) for shape in shapes]
    for values in velocities:
        values[:3] = 0.0
    for array in (*positions.values(), *velocities):
        array.setflags(write=False)
    size = _ROOT_VELOCITIES + sum(obs.VELOCITIES[joint.type] for joint in moving)
    first = max(1, min(_FIRST_MOTION, _FIRST_ENTRIES // size**2))
    motion_count = max(first, _ENTRIES // size**2)
    return obs.Configurations(
        joints=tuple(joint.name for joint in moving),
        positions=tuple(positions[joint.name] for joint in moving),
        labels=("zero", "lower", "upper", *(f"sample {index}" for index in range(len(cube) - 2))),
        velocities=tuple(velocities),
        motion_count=motion_count if motion_count <= len(cube) else None,
    )


def _couplings(moving: Sequence[obs.JointObservation]) -> dict[str, obs.HeadCoupling]:
    """Couple every follower to the head of its chain; couplings without effect are left out."""
    single = {joint.name: joint for joint in moving if obs.COORDINATES[joint.type] == 1}
    mimics = {
        name: joint.mimic
        for name, joint in single.items()
        if joint.mimic and joint.mimic.leader in single
    }
    heads = {name: obs.head_coupling(name, mimics.get) for name in mimics}
    # In a loop of couplings the head follows another joint.
    return {
        name: head
        for name, head in heads.items()
        if head and head.leader not in mimics and np.isfinite([head.multiplier, head.offset]).all()
    }


def _window(
    leader: obs.JointObservation, followers: Sequence[tuple[obs.JointObservation, obs.HeadCoupling]]
) -> tuple[float, float]:
    """Return a finite interval inside the limits of a leader and of its followers."""
    lower, upper = _limits(leader)
    reach = _FAR
    for joint, coupling in followers:
        ends = sorted((end - coupling.offset) / coupling.multiplier for end in _limits(joint))
        both = [max(lower, _near(ends[0], -math.inf)), min(upper, _near(ends[1], math.inf))]
        if both[0] <= both[1]:
            lower, upper = both
        # Followers of large multiples stay in range.
        reach = min(reach, _FAR / abs(coupling.multiplier))
    half = _HALF_WINDOW.get(leader.type, math.pi)
    if math.isinf(lower) and math.isinf(upper):
        lower, upper = -half, half
    elif math.isinf(lower):
        lower = upper - 2 * half
    elif math.isinf(upper):
        upper = lower + 2 * half
    return min(max(lower, -reach), reach), min(max(upper, -reach), reach)


def _limits(joint: obs.JointObservation) -> tuple[float, float]:
    ends = -math.inf if joint.lower is None else joint.lower, joint.upper
    lower, upper = sorted((ends[0], math.inf if ends[1] is None else ends[1]))
    return _near(lower, -math.inf), _near(upper, math.inf)


def _near(limit: float, none: float) -> float:
    return limit if abs(limit) <= _FAR else none


def _coordinates(joint: obs.JointObservation, window: tuple[float, float], cube: Array) -> Array:
    """Map (K, n) points of the unit cube to (K, d) coordinates of a joint."""
    signed = 2 * cube - 1
    match joint.type:
        case obs.JointType.PLANAR:
            displacement = _DISPLACEMENT * signed[:, :2] @ plane(joint.axis or _URDF_DEFAULT_AXIS)
            return np.hstack([displacement, math.pi * signed[:, 2:]])
        case obs.JointType.FLOATING:
            return np.hstack([_DISPLACEMENT * signed[:, :3], _uniform_rotations(cube[:, 3:])])
        case obs.JointType.SPHERICAL:
            return _uniform_rotations(cube)
        case _:
            # In this form 0 and 1 give exactly the limits.
            inside: Array = (1 - cube) * window[0] + cube * window[1]
            return inside


def plane(axis: obs.Vec3) -> Array:
    """Return (2, 3) orthonormal vectors normal to a unit axis."""
    normal = np.asarray(axis, dtype=np.float64)
    first = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


def _uniform_rotations(cube: Array) -> Array:
    """Map (K, 3) points to (K, 4) quaternions wxyz, uniform over rotations."""
    # Shoemake, "Uniform random rotations", Graphics Gems III, 1992.
    small, large = np.sqrt(1 - cube[:, 0]), np.sqrt(cube[:, 0])
    first, second = 2 * math.pi * cube[:, 1], 2 * math.pi * cube[:, 2]
    columns = small * np.sin(first), small * np.cos(first)
    return np.column_stack([*columns, large * np.sin(second), large * np.cos(second)])


def plan_rollout(expected: obs.Observation, defaulted: Array | None) -> obs.RolloutPlan | None:
    """Plan the passive rollout of a robot with a fixed root; None if no joint can move.

    Contacts and limits are off: impacts amplify every difference. ``defaulted`` is the (n, n) bound
    of the effect of harmless defaulted inertia on its equations of motion, if these are known.
    """
    dynamics = expected.dynamics
    if dynamics is None or defaulted is None or len(dynamics.inertia) <= _START:
        return None
    joints = {joint.name: joint for joint in expected.joints}
    # (n, m) independent velocities of joints, and the joint of each; the root is fixed.
    columns, names, start = [np.zeros((len(dynamics.joints), 0))], list[str](), 0
    for name, width in Counter(dynamics.joints).items():
        own = np.eye(len(dynamics.joints), width, -start)
        start += width
        if name not in joints:
            continue
        if joints[name].type is obs.JointType.PLANAR:
            _, _, rows = np.linalg.svd(np.array([joints[name].axis or (0.0, 0.0, 1.0)]))
            own = np.hstack([own[:, :3] @ rows[1:].T, own[:, 3:]])
        columns.append(own)
        names += [name] * own.shape[1]
    freedoms = np.hstack(columns)
    inertia = freedoms.T @ dynamics.inertia[_START] @ freedoms
    harmless = freedoms.T @ np.diag(np.diagonal(defaulted)) @ freedoms
    floor = _SINGULAR * np.diagonal(inertia) + _DEFAULTED * np.diagonal(harmless)
    # The inertia of a velocity while the others move freely is its pivot in Gaussian
    # elimination, in descending order relative to the floor: those that remain have none.
    remaining = list(range(len(names)))
    while remaining:
        pivots = np.diagonal(inertia)[remaining]
        best = remaining[int(np.argmax(pivots / np.maximum(floor[remaining], 1e-300)))]
        if inertia[best, best] <= floor[best]:
            break
        remaining.remove(best)
        inertia = inertia - np.outer(inertia[:, best], inertia[best]) / inertia[best, best]
    held = {names[index] for index in remaining}
    if held.issuperset(names):
        return None
    plan = obs.RolloutPlan(_START, tuple(name for name in joints if name in held))
    most = _WORK / len(dynamics.joints) ** 2
    short = tuple(steps for steps in plan.steps if steps <= most)
    return structs.replace(plan, steps=short or plan.steps[:1])
