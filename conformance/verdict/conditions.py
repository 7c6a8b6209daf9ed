"""Conditions under which engines are known to deviate from the specification.

Each is a predicate on one link or joint, as the reference and an engine state it.
:mod:`urdf_usd.conformance.verdict.deviations` lists the engines and their conditions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from urdf_usd.conformance.checks.joint_motion import (
    is_displaced_along_axis,
    is_unturned,
    travel_factor,
)
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    LinkObservation,
    Observation,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups, tensor_of
from urdf_usd.conformance.verdict.massless_inertia import (
    counts_massless,
    massless_inertia,
)

_Z = (0.0, 0.0, 1.0)
_UNLIMITED = (-math.inf, math.inf)
_THIN = 1e-6
_TINY = 1e-10
_FAR = 1e8
_EDGE = 1e-6
_ASSUMED_UPPER = -1.0
# Tolerance of equal masses and moments, relative, and of positions [m].
_SAME = 1e-5
# Rounding of a factor.
_ROUNDING = 1e-6
_TRIANGLE = 3


class DeviationCase(Struct, frozen=True, eq=False):
    """A link or joint in which an engine differs from the reference."""

    check: str  # identifier of the check with the difference
    part: str  # name of the link or joint
    # the reference observation; for a further USD engine, the observation of the one that is judged
    spec: Observation
    stated: Observation  # the observation of the engine that differs

    @property
    def specified_joint(self) -> JointObservation | None:
        """The joint of this name in the specification."""
        return next((joint for joint in self.spec.joints if joint.name == self.part), None)

    @property
    def joints(self) -> tuple[JointObservation, JointObservation] | None:
        """The joint of this name on both sides."""
        ours = self.specified_joint
        theirs = next((joint for joint in self.stated.joints if joint.name == self.part), None)
        return (ours, theirs) if ours and theirs else None

    @property
    def links(self) -> tuple[LinkObservation, LinkObservation] | None:
        """The link of this name on both sides."""
        ours, theirs = (
            next((link for link in side.links if link.name == self.part), None)
            for side in (self.spec, self.stated)
        )
        return (ours, theirs) if ours and theirs else None

    def shapes(self, side: Observation) -> list[ShapeObservation]:
        """The shapes of the link that the check is about."""
        role = self.check.partition(".")[0]
        return [one for one in side.shapes if one.link == self.part and one.role == role]


Condition: TypeAlias = Callable[[DeviationCase], bool]


def about_joints(
    test: Callable[[JointObservation, JointObservation], bool],
) -> Condition:
    """Make a condition on the joint of both sides; false if a side lacks it."""

    def applies(case: DeviationCase) -> bool:
        joints = case.joints
        return joints is not None and test(*joints)

    return applies


def about_links(
    test: Callable[[LinkObservation, LinkObservation], bool],
) -> Condition:
    """Make a condition on the link of both sides; false if a side lacks it."""

    def applies(case: DeviationCase) -> bool:
        links = case.links
        return links is not None and test(*links)

    return applies


def _limits(joint: JointObservation) -> tuple[float, float]:
    return (
        -math.inf if joint.lower is None else joint.lower,
        math.inf if joint.upper is None else joint.upper,
    )


def limits_read_as(
    predict: Callable[[float, float], tuple[float, float] | None],
) -> Condition:
    """Make a condition on the limits that an engine reads.

    Args:
        predict: Returns what it reads instead of a lower and an upper limit, if anything.
    """
    return about_joints(lambda ours, theirs: predict(*_limits(ours)) == _limits(theirs))


def no_range(lower: float, upper: float) -> tuple[float, float] | None:
    """Limits that are both zero, read as none."""
    return _UNLIMITED if lower == upper == 0.0 else None


def equal_limits(lower: float, upper: float) -> tuple[float, float] | None:
    """Limits that are equal in single precision, read as none."""
    apart = abs(upper - lower)
    equal = math.isfinite(apart) and apart <= scalar_bound(lower) + scalar_bound(upper)
    return _UNLIMITED if equal else None


def one_sided(lower: float, upper: float) -> tuple[float, float] | None:
    """Limits one of which is zero, perhaps by default, read as none."""
    return _UNLIMITED if (lower == 0.0) is not (upper == 0.0) else None


def upper_by_default(lower: float, upper: float) -> tuple[float, float] | None:
    """An upper limit of zero, perhaps by default, read as -1; below the lower one as none."""
    if upper != 0.0:
        return None
    return _UNLIMITED if lower > _ASSUMED_UPPER else (lower, _ASSUMED_UPPER)


def reversed_limits(lower: float, upper: float) -> tuple[float, float] | None:
    """A lower limit above the upper one, read as no limits."""
    return _UNLIMITED if lower > upper else None


def locked_by_limits(lower: float, upper: float) -> tuple[float, float] | None:
    """A lower limit above the upper one, read as both zero."""
    return (0.0, 0.0) if lower > upper else None


def open_sided(ours: JointObservation, theirs: JointObservation) -> bool:
    """A limit that is zero, perhaps by default, read as none; the other is equal."""
    return all(
        here == there or (here == 0 and math.isinf(there))
        for here, there in zip(_limits(ours), _limits(theirs), strict=True)
    )


def far_limits(ours: JointObservation, theirs: JointObservation) -> bool:
    """A very large limit, read as none; the other is equal."""
    return all(
        here == there or (abs(here) > _FAR and math.isinf(there))
        for here, there in zip(_limits(ours), _limits(theirs), strict=True)
    )


def bounded_continuous(ours: JointObservation, theirs: JointObservation) -> bool:
    """A continuous joint with limits."""
    return ours.type is JointType.CONTINUOUS and _limits(theirs) != _UNLIMITED


def is_type(joint_type: JointType) -> Condition:
    """Make a condition on the type of the joint in the reference."""

    def applies(case: DeviationCase) -> bool:
        joint = case.specified_joint
        return joint is not None and joint.type is joint_type

    return applies


def tilted_plane(case: DeviationCase) -> bool:
    """A planar joint whose normal is not the z axis of its frame."""
    joint = case.specified_joint
    return joint is not None and joint.type is JointType.PLANAR and joint.axis != _Z


def absent_is_zero(field: str) -> Condition:
    """Make a condition for an absent number that is read as zero."""
    return about_joints(
        lambda ours, theirs: getattr(ours, field) is None and getattr(theirs, field) == 0.0
    )


def zero_is_absent(field: str) -> Condition:
    """Make a condition for a zero that is read as absent."""
    return about_joints(
        lambda ours, theirs: getattr(ours, field) == 0.0 and getattr(theirs, field) is None
    )


def negative_is_magnitude(field: str) -> Condition:
    """Make a condition for a negative number of which the magnitude is read."""

    def applies(ours: JointObservation, theirs: JointObservation) -> bool:
        stated, read = getattr(ours, field), getattr(theirs, field)
        return stated is not None and stated < 0 and read == -stated

    return about_joints(applies)


def not_read(field: str) -> Condition:
    """Make a condition for a number that the engine does not state."""
    return about_joints(
        lambda ours, theirs: getattr(ours, field) is not None and getattr(theirs, field) is None
    )


def coupled_to_another_kind(case: DeviationCase) -> bool:
    """A prismatic joint that mimics a revolute one, or the other way round."""
    joint = case.specified_joint
    if joint is None or joint.mimic is None:
        return False
    slides = {other.name: other.type is JointType.PRISMATIC for other in case.spec.joints}
    return slides.get(joint.mimic.leader) is not slides[joint.name]


def lost_coupling(
    test: Callable[[JointObservation, JointObservation], bool],
) -> Condition:
    """Make a condition on a coupling that the engine lacks.

    It affects every joint of a rollout.

    Args:
        test: Whether such couplings of a follower and its leader are lost.
    """

    def applies(case: DeviationCase) -> bool:
        everywhere = case.check == "dynamics.rollout"
        coupled = {joint.name for joint in case.stated.joints if joint.mimic}
        joint_of = {joint.name: joint for joint in case.spec.joints}
        return any(
            joint.mimic is not None
            and joint.name not in coupled
            and joint.mimic.leader in joint_of
            and test(joint, joint_of[joint.mimic.leader])
            for joint in case.spec.joints
            if everywhere or joint.name == case.part
        )

    return applies


def of_unlike_joints(follower: JointObservation, leader: JointObservation) -> bool:
    """A joint that slides and one that turns."""
    slides = JointType.PRISMATIC
    return (follower.type is slides) is not (leader.type is slides)


def without_limits(follower: JointObservation, leader: JointObservation) -> bool:
    """Joints one of which turns without position limits."""
    return any(
        joint.type is not JointType.PRISMATIC and math.inf in map(abs, _limits(joint))
        for joint in (follower, leader)
    )


def coupled_in_a_loop(case: DeviationCase) -> bool:
    """A joint whose chain of couplings, in the engine, ends in a loop.

    In a rollout any such loop affects every joint.
    """
    leader_of = {joint.name: joint.mimic.leader for joint in case.stated.joints if joint.mimic}

    def circles(name: str) -> bool:
        seen: set[str] = set()
        while name in leader_of and name not in seen:
            seen.add(name)
            name = leader_of[name]
        return name in seen

    everywhere = case.check == "dynamics.rollout"
    return any(map(circles, leader_of)) if everywhere else circles(case.part)


def invented_kilogram(case: DeviationCase) -> bool:
    """A massless link with 1 kg, which the engine makes up."""
    return case.part in case.stated.invented and about_links(a_kilogram)(case)


def a_kilogram(ours: LinkObservation, theirs: LinkObservation) -> bool:
    """A massless link with 1 kg in the engine, rounded by Drake."""
    massless = ours.mass is None or not ours.mass.mass
    stated = theirs.mass
    return massless and stated is not None and math.isclose(stated.mass, 1.0)


def massless_kilogram(ours: LinkObservation, theirs: LinkObservation) -> bool:
    """A link with inertia but no mass, and 1 kg in the engine."""
    return massless_inertia(ours) and a_kilogram(ours, theirs)


def repaired_text(case: DeviationCase) -> bool:
    """A part whose text is ambiguous."""
    return case.part in case.spec.repaired


def turned_by_quaternion(case: DeviationCase) -> bool:
    """A part whose origin is rotated by a quaternion, read without the rotation.

    Everything else is equal: the origin of a joint, and mass, centre of mass and
    principal moments of a link.
    """
    if case.part not in case.spec.quaternions:
        return False
    joint = case.specified_joint
    if joint is not None:
        return is_unturned(joint, case.spec, case.stated)
    links = case.links
    if links is None or not links[0].mass or not links[1].mass:
        return False
    here, there = links[0].mass, links[1].mass
    close = math.isclose(here.mass, there.mass, rel_tol=_SAME)
    close &= math.dist(here.center, there.center) <= _SAME
    if here.inertia is None or there.inertia is None:
        return close
    ours, theirs = (
        np.linalg.eigvalsh(tensor_of(inertia)) for inertia in (here.inertia, there.inertia)
    )
    return close and bool(np.abs(ours - theirs).max() <= _SAME * np.abs(ours).max())


def impossible_inertia(ours: LinkObservation, theirs: LinkObservation) -> bool:
    """A physically impossible tensor, and any tensor in the engine."""
    if not ours.mass or not theirs.mass or ours.mass.inertia is None:
        return False
    a, b, c = np.linalg.eigvalsh(tensor_of(ours.mass.inertia))
    # Thin rods and plates are at the boundary, on either side of it by rounding.
    return bool(a < 0 or a + b < c * (1 + _EDGE))


def zeroed_inertia(ours: LinkObservation, theirs: LinkObservation) -> bool:
    """A physically impossible tensor, and zero in the engine."""
    if theirs.mass is None or theirs.mass.inertia is None:
        return False
    return impossible_inertia(ours, theirs) and not any(theirs.mass.inertia)


def magnitude_of_inertia(ours: LinkObservation, theirs: LinkObservation) -> bool:
    """A tensor with a negative principal moment, and its magnitude in the engine."""
    if not ours.mass or not theirs.mass or not ours.mass.inertia:
        return False
    moments, axes = np.linalg.eigh(tensor_of(ours.mass.inertia))
    if moments[0] >= 0 or theirs.mass.inertia is None:
        return False
    expected = axes @ np.diag(np.abs(moments)) @ axes.T
    error = np.abs(tensor_of(theirs.mass.inertia) - expected).max()
    return bool(error <= _SAME * np.abs(moments).max())


def thin_inertia(ours: LinkObservation, theirs: LinkObservation) -> bool:
    """A link with mass and a moment that is zero in single precision.

    It is below a millionth of the largest, or below 1e-10 kg m^2.
    """
    if not ours.mass or not theirs.mass or ours.mass.inertia is None:
        return False
    smallest, _, largest = np.linalg.eigvalsh(tensor_of(ours.mass.inertia))
    return bool(abs(smallest) <= max(_THIN * largest, _TINY))


def welded_to_massless_inertia(case: DeviationCase) -> bool:
    """A part of a rigid group in which a link has inertia, but no mass."""
    stated = {link.name: link for link in case.spec.links}
    joint = case.specified_joint
    part = joint.child if joint else case.part
    return any(
        part in group and any(massless_inertia(stated[name]) for name in group)
        for group in rigid_groups(list(stated), case.spec.joints)
    )


def counted_massless_inertia(case: DeviationCase) -> bool:
    """Equations of motion that include the inertia of links without mass.

    It affects every joint of a rollout.
    """
    return counts_massless(case.spec, case.stated, case.check)


def longer_axis(case: DeviationCase) -> bool:
    """A prismatic joint whose travel differs from its position by a factor."""
    joints = case.joints
    if joints is None or joints[0].type is not JointType.PRISMATIC:
        return False
    factor = travel_factor(joints[0], case.spec, case.stated)
    if factor is not None and abs(factor - 1) > _ROUNDING:
        return True
    return joints[0].mimic is not None and is_displaced_along_axis(
        joints[0], case.spec, case.stated
    )


def shapes_in_pieces(case: DeviationCase) -> bool:
    """A link with a mesh whose file consists of several objects or groups."""
    return any(shape.pieces > 1 for shape in case.shapes(case.spec))


def shapes_of_polygons(case: DeviationCase) -> bool:
    """A link with a mesh whose file has faces of more than three corners."""
    return any(shape.corners > _TRIANGLE for shape in case.shapes(case.spec))


def other_kind_of_shape(case: DeviationCase) -> bool:
    """A link with repeated elements, and shapes of other kinds in the engine."""
    ours, theirs = (
        sorted(shape.kind for shape in case.shapes(side)) for side in (case.spec, case.stated)
    )
    return repaired_text(case) and ours != theirs


def colliders_alone(case: DeviationCase) -> bool:
    """A link that has colliders, and no visual."""
    roles = {shape.role for shape in case.spec.shapes if shape.link == case.part}
    return roles == {Role.COLLISION}
