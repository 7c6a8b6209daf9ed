"""Plan of the passive rollout, and the distance of two rollout states.

A robot moves for at most 1 s with a fixed root, under gravity, damping, friction and mimic
couplings. A floating robot would only fall. Contacts and joint limits are off: impacts amplify
every difference, and limits are compared by checks of their own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    TRANSLATIONS,
    JointObservation,
    JointType,
    Observation,
    Rollout,
    RolloutPlan,
    RolloutState,
)
from urdf_usd.conformance.tolerance.bounds import largest
from urdf_usd.conformance.tolerance.motion_scale import MotionScale

# The first configuration that is neither zero nor at limits.
_START = 3
# A joint is fixed if the allowed invented inertia exceeds a tenth of the inertia that it has
# while all others move freely, or if that inertia is rounding.
_INVENTED = 10.0
_SINGULAR = 1e-9
# Limit of steps times squared degrees of freedom, which is the cost of a step: robots with more
# than 300 are simulated for less than 1 s.
_WORK = 1e8


def plan_rollout(spec: Observation, scale: MotionScale | None) -> RolloutPlan | None:
    """Plan the passive rollout of a robot; None if no joint can move.

    Args:
        spec: The reference observation.
        scale: Scale of its equations of motion.
    """
    dynamics = spec.dynamics
    if dynamics is None or scale is None or len(dynamics.inertia) <= _START:
        return None
    joints = {joint.name: joint for joint in spec.joints}
    freedoms, names = _freedoms(dynamics.joints, joints)
    inertia = freedoms.T @ dynamics.inertia[_START] @ freedoms
    invented = freedoms.T @ np.diag(np.diagonal(scale.inertia_invented)) @ freedoms
    floor = _SINGULAR * np.diagonal(inertia) + _INVENTED * np.diagonal(invented)
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
    plan = RolloutPlan(_START, tuple(name for name in joints if name in held))
    most = _WORK / len(dynamics.joints) ** 2
    short = tuple(steps for steps in plan.steps if steps <= most)
    return structs.replace(plan, steps=short or plan.steps[:1])


def _freedoms(
    names: Sequence[str], joints: Mapping[str, JointObservation]
) -> tuple[NDArray[np.float64], list[str]]:
    """Return (n, m) independent velocities of joints, and the joint of each.

    The root is fixed, and a planar joint has two of its three displacements.
    """
    columns, owners, start = [np.zeros((len(names), 0))], [], 0
    for name, width in Counter(names).items():
        own = np.eye(len(names), width, -start)
        start += width
        if name not in joints:
            continue
        if joints[name].type is JointType.PLANAR:
            _, _, rows = np.linalg.svd(np.array([joints[name].axis or (0.0, 0.0, 1.0)]))
            own = np.hstack([own[:, :3] @ rows[1:].T, own[:, 3:]])
        columns.append(own)
        owners += [name] * own.shape[1]
    return np.hstack(columns), owners


def rollout_spread(
    rollout: Rollout | None, joints: Mapping[str, JointObservation]
) -> dict[str, tuple[float, ...]]:
    """Return the largest distance of perturbed rollouts, per joint and state.

    It ends at the first state that one of them does not reach.
    """
    if rollout is None or not rollout.perturbed:
        return {}
    together = list(zip(rollout.states, *rollout.perturbed, strict=False))
    return {
        name: tuple(
            max(distance(own, other, (index, index), joints[name].type) for other in others)
            for own, *others in together
        )
        for index, name in enumerate(rollout.joints)
    }


def distance(
    first: RolloutState, second: RolloutState, at: tuple[int, int], joint_type: JointType
) -> float:
    """Return the distance of two states of a joint: the larger of both kinds.

    Translations in metres, rotations in radians, and both per second; inf if a value is not
    finite. ``at`` is the index of the joint in each state.
    """
    count = TRANSLATIONS.get(joint_type, 0)
    p, q = first.positions[at[0]], second.positions[at[1]]
    u, v = first.velocities[at[0]], second.velocities[at[1]]
    angle = math.dist(p[count:], q[count:])
    if joint_type in {JointType.FLOATING, JointType.SPHERICAL}:
        # Quaternions of either sign; |p - q| = 2 sin(angle / 4).
        chord = min(angle, math.dist(p[count:], [-value for value in q[count:]]))
        angle = 4 * math.asin(min(chord / 2, 1.0))
    speeds = math.dist(u[:count], v[:count]), math.dist(u[count:], v[count:])
    return largest((math.dist(p[:count], q[:count]), angle, *speeds))
