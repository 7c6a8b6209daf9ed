"""The tolerance model of a robot: bounds and scales of all its comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct, field

from urdf_usd.conformance.observation.robot import (
    TRANSLATIONS,
    JointObservation,
    JointType,
    Observation,
    Rollout,
    RolloutState,
)
from urdf_usd.conformance.tolerance.bounds import FrameBound, Tolerance, frame_bounds, largest
from urdf_usd.conformance.tolerance.motion_scale import MotionScale, motion_scale
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups

# A robot of less has no size from which a harmless inertia follows [m].
_NANOMETRE = 1e-9


class ToleranceModel(Struct, frozen=True, eq=False):
    """Bounds and scales for all comparisons of a robot, from the reference observation."""

    tolerance: Tolerance  # engineering tolerance
    joint_to: Mapping[str, JointObservation]  # joint by child link
    groups: tuple[tuple[str, ...], ...]  # rigid groups, the first link of each first
    bounds: Mapping[str, FrameBound]  # bounds of the rounding of link poses
    total_mass: float  # [kg]
    # largest distance of a link or centre of mass from the root at zero [m]; 1 if all are within a
    # nanometre
    size: float
    # scale and bounds of the equations of motion, if they are stated
    motion: MotionScale | None = None
    # per joint, the spread of perturbed rollouts at each state
    spread: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def chain(self, link: str) -> tuple[JointObservation, ...]:
        """Joints from the root to a link."""
        path = []
        while joint := self.joint_to.get(link):
            path.append(joint)
            link = joint.parent
        return tuple(reversed(path))


def derive_tolerance_model(expected: Observation, tolerance: Tolerance) -> ToleranceModel:
    """Derive the tolerance model from the reference observation of a robot.

    Raises:
        ValueError: The observation states no frames.
    """
    frames = expected.frames
    if frames is None:
        raise ValueError(f"engine {expected.engine!r} states no frames")
    joint_to = {joint.child: joint for joint in expected.joints}
    groups = rigid_groups([link.name for link in expected.links], expected.joints)
    bounds = frame_bounds(frames, {child: joint.parent for child, joint in joint_to.items()})
    ends = []
    for link in expected.links:
        index = frames.links.index(link.name)
        center = frames.rotations[0, index] @ (link.mass.center if link.mass else (0.0, 0.0, 0.0))
        ends += [frames.positions[0, index], frames.positions[0, index] + center]
    largest = max(math.hypot(*end) for end in ends)
    size = largest if largest > _NANOMETRE else 1.0
    return ToleranceModel(
        tolerance=tolerance,
        joint_to=joint_to,
        groups=groups,
        bounds=bounds,
        total_mass=sum(link.mass.mass for link in expected.links if link.mass),
        size=size,
        motion=motion_scale(expected, groups, bounds, size),
        spread=rollout_spread(expected.rollout, {joint.name: joint for joint in expected.joints}),
    )


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
