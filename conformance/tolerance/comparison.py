"""Result types of comparisons, and the tolerance model of a robot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field, structs

from urdf_usd.conformance.observation.robot import JointObservation, Observation
from urdf_usd.conformance.tolerance.bounds import FrameBound, Tolerance, frame_bounds
from urdf_usd.conformance.tolerance.motion_scale import MotionScale, motion_scale
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups
from urdf_usd.conformance.tolerance.rollout import rollout_spread
from urdf_usd.reports.records.record import Difference

# A robot of less has no size from which a harmless inertia follows [m].
_NANOMETRE = 1e-9


class Compared(Struct, frozen=True):
    """Differences of a quantity that both sides state."""

    differences: tuple[Difference, ...]  # one per value, equal ones included
    # the differences to report, if several values have one cause; None for all of them
    reported: tuple[Difference, ...] | None = None
    note: str | None = None  # why nothing, or not everything, was compared

    @property
    def shown(self) -> tuple[Difference, ...]:
        """The differences to report."""
        return self.differences if self.reported is None else self.reported

    def each(self, change: Callable[[Difference], Difference | None]) -> Compared:
        """Change every difference; those for which there is None are left out."""
        changed, reported = (
            part and tuple(new for one in part if (new := change(one)) is not None)
            for part in (self.differences, self.reported)
        )
        return Compared(changed or (), reported, self.note)


class Incomparable(Struct, frozen=True):
    """A side does not state the quantity."""

    reason: str


Comparison: TypeAlias = Compared | Incomparable


def with_losses(comparison: Comparison) -> Comparison:
    """Let values fail that only the first side states."""

    def lost(one: Difference) -> Difference:
        is_lost = math.isnan(one.amount) and not one.unknown
        return structs.replace(one, amount=math.inf) if is_lost else one

    return comparison if isinstance(comparison, Incomparable) else comparison.each(lost)


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


def relative_difference(expected: float, actual: float, least: float = 0.0) -> float:
    """Return the difference of two numbers relative to the expected one.

    4 kg instead of 0.1 kg is 39, and 0.1 kg instead of 4 kg is 0.975. The difference from numbers
    smaller than ``least`` is relative to it. It is inf if the numbers differ and the scale is
    zero, or one is not finite.
    """
    if expected == actual:
        return 0.0
    scale = max(abs(expected), least)
    if not scale or not (math.isfinite(expected) and math.isfinite(actual)):
        return math.inf
    return abs(expected - actual) / scale
