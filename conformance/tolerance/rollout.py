"""The distance of two states of a rollout, and the spread of perturbed ones."""

from __future__ import annotations

import math
from collections.abc import Mapping

from urdf_usd.conformance.observation.robot import (
    TRANSLATIONS,
    JointObservation,
    JointType,
    Rollout,
    RolloutState,
)
from urdf_usd.conformance.tolerance.bounds import largest


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
