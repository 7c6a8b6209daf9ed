"""Known deviations of engines from their file, each with its condition and a minimal URDF.

A known deviation of an engine is no evidence against the USD. Any other difference of an engine
is unexplained, and counts. A condition concerns one link or joint, as the reference (expected) and
the engine (actual) report it; the first deviation of an engine whose condition holds explains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from urdf_usd.conformance.checks.kinematics import (
    is_displaced_along_axis,
    is_unturned,
    travel_factor,
)
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    MassProperties,
    Observation,
    Vec6,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.conformance.tolerance.model import rigid_groups, tensor_of

UNEXPLAINED = "unexplained"
_LIMITS = ("limits.lower", "limits.upper", "structure.types")
_EFFORT, _VELOCITY = ("limits.effort",), ("limits.velocity",)
_MASS = ("mass.link.", "mass.group.", "mass.total")
_INERTIA = ("mass.link.inertia", "mass.group.inertia")
_FRAMES = ("kinematics.position", "kinematics.rotation")
_EQUATIONS = ("dynamics.inertia_matrix", "dynamics.bias")
_MOTION = (*_EQUATIONS, "dynamics.rollout")
_MIMIC = ("structure.mimic",)
_COUPLINGS = (*_MIMIC, "dynamics.rollout")
_SHAPES = ("collision.", "visual.")
_TITLES = {"mujoco": "MuJoCo", "physx": "PhysX", "pybullet": "PyBullet"}

_SLIDES, _PLANAR = JointType.PRISMATIC, JointType.PLANAR
_UNLIMITED = (-math.inf, math.inf)
# Moments that are zero in single precision, relative to the largest, and absolute [kg m^2].
_THIN, _TINY = 1e-6, 1e-10
# Newton reads larger limits as none [rad or m].
_FAR = 1e8
# Thin rods and plates are at the boundary of possible inertia, on either side of it by rounding.
_EDGE = 1e-6
# PyBullet's upper limit where the file has none [rad or m].
_ASSUMED_UPPER = -1.0
# Tolerance of equal masses and moments, relative, and of positions [m].
_SAME = 1e-5
# Rounding of a factor.
_ROUNDING = 1e-6


class DeviationCase(Struct, frozen=True, eq=False):
    """A link or joint in which an engine differs from the reference."""

    check: str  # identifier of the check with the difference
    part: str  # name of the link or joint
    # by the reference; for a further USD engine, by the engine that is judged
    expected: Observation
    actual: Observation  # by the engine that differs

    @property
    def joint(self) -> JointObservation | None:
        """The expected joint of this name."""
        return next((joint for joint in self.expected.joints if joint.name == self.part), None)

    @property
    def joints(self) -> tuple[JointObservation, JointObservation] | None:
        """The joint of this name on both sides."""
        found = next((joint for joint in self.actual.joints if joint.name == self.part), None)
        return (self.joint, found) if self.joint and found else None

    @property
    def masses(self) -> tuple[MassProperties | None, MassProperties | None] | None:
        """The mass of the link of this name on both sides; None if a side lacks the link."""
        pair = [
            link.mass
            for side in (self.expected, self.actual)
            for link in side.links
            if link.name == self.part
        ]
        return (pair[0], pair[1]) if len(pair) == 2 else None

    def shapes(self, side: Observation) -> list[ShapeObservation]:
        """The shapes of the link that the check is about."""
        role = self.check.partition(".")[0]
        return [shape for shape in side.shapes if shape.link == self.part and shape.role == role]


Condition: TypeAlias = Callable[[DeviationCase], bool]


class Deviation(Struct, frozen=True):
    """One known deviation of an engine."""

    id: str  # stable identifier
    engine: str
    cause: str  # what it does, in one sentence
    checks: tuple[str, ...]  # prefixes of the identifiers of the affected checks
    applies: Condition
    file: str  # stem of a minimal file that shows it, in ``tests/data/deviations``
    predicts: tuple[str, ...] = ()  # prefixes of checks in which it determines the actual value
    # whether the condition applies to the compared value, not to the links and joints that cause
    # its difference
    whole: bool = False


DEVIATIONS: list[Deviation] = []


def explain(case: DeviationCase, *, whole: bool = False) -> Deviation | None:
    """Find the deviation that explains a difference in a part, or in a whole value."""
    return next(
        (
            deviation
            for deviation in DEVIATIONS
            if deviation.engine == case.actual.engine
            and deviation.whole is whole
            and case.check.startswith(deviation.checks)
            and deviation.applies(case)
        ),
        None,
    )


def _known(
    engines: str,
    name: str,
    checks: tuple[str, ...],
    file: str,
    does: str = "",
    *,
    predicts: tuple[str, ...] = (),
    whole: bool = False,
) -> Callable[[Condition], Condition]:
    """Add one deviation per engine. What they do is the docstring of the condition, or ``does``."""

    def add(applies: Condition) -> Condition:
        text = does or " ".join((applies.__doc__ or "").split()).rstrip(".")
        for engine in engines.split():
            title = engine.partition("-")[0]
            cause = f"{_TITLES.get(title, title.title())} {text[0].lower()}{text[1:]}."
            identifier = f"{engine}-{name}"
            DEVIATIONS.append(
                Deviation(identifier, engine, cause, checks, applies, file, predicts, whole)
            )
        return applies

    return add


def _of_joints(test: Callable[[JointObservation, JointObservation], bool]) -> Condition:
    """Make a condition on the joint of both sides; false if a side lacks it."""

    @wraps(test)
    def applies(case: DeviationCase) -> bool:
        return case.joints is not None and test(*case.joints)

    return applies


def _of_masses(test: Callable[[MassProperties | None, MassProperties | None], bool]) -> Condition:
    """Make a condition on the mass of the link of both sides; false if a side lacks the link."""

    @wraps(test)
    def applies(case: DeviationCase) -> bool:
        return case.masses is not None and test(*case.masses)

    return applies


def _limits(joint: JointObservation) -> tuple[float, float]:
    return (
        -math.inf if joint.lower is None else joint.lower,
        math.inf if joint.upper is None else joint.upper,
    )


def _of_limits(predict: Callable[[float, float], tuple[float, float] | None]) -> Condition:
    """Make a condition from what an engine reads instead of two limits; None if it reads them."""

    @wraps(predict)
    def applies(expected: JointObservation, actual: JointObservation) -> bool:
        return predict(*_limits(expected)) == _limits(actual)

    return _of_joints(applies)


@_known("mujoco", "empty-range", _LIMITS, "zero-range", predicts=_LIMITS)
@_of_limits
def _equal_limits(lower: float, upper: float) -> tuple[float, float] | None:
    """Reads equal limits as no limits."""
    apart = abs(upper - lower)
    equal = math.isfinite(apart) and apart <= scalar_bound(lower) + scalar_bound(upper)
    return _UNLIMITED if equal else None


@_known("mujoco", "one-sided-range", _LIMITS, "upper-bound-alone")
@_of_limits
def _one_sided(lower: float, upper: float) -> tuple[float, float] | None:
    """Reads a <limit> that gives only one bound as no limits."""
    return _UNLIMITED if (lower == 0.0) is not (upper == 0.0) else None


@_known("drake newton", "one-sided-range", _LIMITS, "upper-bound-alone")
@_of_joints
def _open_sided(expected: JointObservation, actual: JointObservation) -> bool:
    """Reads a missing bound of a <limit> as unlimited, not as zero."""
    pairs = zip(_limits(expected), _limits(actual), strict=True)
    return all(one == other or (one == 0 and math.isinf(other)) for one, other in pairs)


@_known("pybullet", "no-bounds", _LIMITS, "absent-bounds")
@_of_limits
def _no_bounds(lower: float, upper: float) -> tuple[float, float] | None:
    """Reads a <limit> without bounds as no limits."""
    return _UNLIMITED if lower == upper == 0.0 else None


@_known("pybullet", "lower-bound-alone", _LIMITS, "lower-bound-alone")
@_of_limits
def _upper_by_default(lower: float, upper: float) -> tuple[float, float] | None:
    """Reads a missing upper limit as -1 rad or m, and as no limits below the lower one."""
    if upper != 0.0:
        return None
    return _UNLIMITED if lower > _ASSUMED_UPPER else (lower, _ASSUMED_UPPER)


_AS_NONE = "treats a lower limit above the upper one as no limits"
_CRASHES = "crashes on a lower limit above the upper one, so both are left out"


@_known("drake", "reversed-range", _LIMITS, "reversed-limits", _CRASHES)
@_known("pybullet", "reversed-range", _LIMITS, "reversed-limits", _AS_NONE)
@_known("mujoco", "reversed-range", _LIMITS, "reversed-limits")
@_of_limits
def _reversed(lower: float, upper: float) -> tuple[float, float] | None:
    """Reads a lower limit above the upper one as no limits."""
    return _UNLIMITED if lower > upper else None


@_known("drake newton pybullet", "continuous-range", _LIMITS, "continuous-with-bounds")
@_of_joints
def _bounded_continuous(expected: JointObservation, actual: JointObservation) -> bool:
    """Reports the bounds of a continuous joint, which has none."""
    return expected.type is JointType.CONTINUOUS and _limits(actual) != _UNLIMITED


@_known("physx", "reversed-range", _LIMITS, "reversed-limits")
@_of_limits
def _locked(lower: float, upper: float) -> tuple[float, float] | None:
    """Locks a joint at zero if its lower limit is above the upper one."""
    return (0.0, 0.0) if lower > upper else None


@_known("newton newton-usd", "far-range", _LIMITS, "far-limits")
@_of_joints
def _far_limits(expected: JointObservation, actual: JointObservation) -> bool:
    """Uses 1e10 for no limit, and treats larger values likewise."""
    pairs = zip(_limits(expected), _limits(actual), strict=True)
    return all(one == other or (abs(one) > _FAR and math.isinf(other)) for one, other in pairs)


@_known("mujoco", "zero-effort", _EFFORT, "zero-effort", predicts=_EFFORT)
@_of_joints
def _zero_effort(expected: JointObservation, actual: JointObservation) -> bool:
    """Reads an effort limit of zero as no limit."""
    return expected.effort == 0.0 and actual.effort is None


@_known("mujoco", "negative-effort", _EFFORT, "negative-effort", predicts=_EFFORT)
@_of_joints
def _negative_effort(expected: JointObservation, actual: JointObservation) -> bool:
    """Reads the magnitude of a negative effort limit."""
    return expected.effort is not None and expected.effort < 0 and actual.effort == -expected.effort


@_known("pybullet", "absent-effort", _EFFORT, "absent-effort", predicts=_EFFORT)
@_of_joints
def _absent_effort(expected: JointObservation, actual: JointObservation) -> bool:
    """Reads an absent effort limit as zero."""
    return expected.effort is None and actual.effort == 0.0


@_known("pybullet", "absent-velocity", _VELOCITY, "absent-effort", predicts=_VELOCITY)
@_of_joints
def _absent_velocity(expected: JointObservation, actual: JointObservation) -> bool:
    """Reads an absent velocity limit as zero."""
    return expected.velocity is None and actual.velocity == 0.0


_UNWRITTEN = "reads speeds from schemas to which zero is not written"


@_known("physx", "zero-velocity", _VELOCITY, "zero-velocity", _UNWRITTEN)
@_known("newton-usd", "zero-velocity", _VELOCITY, "zero-velocity")
@_of_joints
def _zero_velocity(expected: JointObservation, actual: JointObservation) -> bool:
    """Reads speeds from newton:velocityLimit, which cannot be zero."""
    return expected.velocity == 0.0 and actual.velocity is None


@_known("drake drake-mjcf", "no-friction", ("dynamics.friction",), "joint-friction")
@_of_joints
def _no_friction(expected: JointObservation, actual: JointObservation) -> bool:
    """Does not read joint friction."""
    return expected.friction is not None and actual.friction is None


def _is_a_kilogram(expected: MassProperties | None, actual: MassProperties | None) -> bool:
    """Whether a massless link has 1 kg in the engine, rounded by Drake."""
    massless = expected is None or not expected.mass
    return massless and actual is not None and math.isclose(actual.mass, 1.0)


def _is_massless_inertia(mass: MassProperties | None) -> bool:
    return mass is not None and not mass.mass and any(mass.inertia or ())


@_known("pybullet", "no-inertial", _MASS, "massless-moving-link", predicts=_MASS)
def _no_inertial(case: DeviationCase) -> bool:
    """Assumes 1 kg for a link without <inertial>."""
    assumed = case.part in case.actual.defaulted
    return assumed and case.masses is not None and _is_a_kilogram(*case.masses)


@_known("drake", "massless-inertia", _MASS, "massless-inertia")
@_of_masses
def _massless_kilogram(expected: MassProperties | None, actual: MassProperties | None) -> bool:
    """Assumes 1 kg for a link that has inertia but no mass."""
    return _is_massless_inertia(expected) and _is_a_kilogram(expected, actual)


@_known(
    "mujoco",
    "massless-inertia",
    _MOTION,
    "massless-inertia-welded",
    predicts=_EQUATIONS,
    whole=True,
)
def _counted_massless_inertia(case: DeviationCase) -> bool:
    """Includes the inertia of a link without mass."""
    # It replaces an inertia that it rejects, and then reports no mass.
    read = {link.name for link in case.actual.links if link.mass is not None}
    return any(
        link.name in read and _is_massless_inertia(link.mass) for link in case.expected.links
    )


@_known("pinocchio", "massless-inertia", _INERTIA, "massless-inertia")
def _welded_to_massless_inertia(case: DeviationCase) -> bool:
    """Includes the inertia of a fixed link without mass."""
    masses = {link.name: link.mass for link in case.expected.links}
    part = case.joint.child if case.joint else case.part
    return any(
        part in group and any(_is_massless_inertia(masses[name]) for name in group)
        for group in rigid_groups(list(masses), case.expected.joints)
    )


def _moments(inertia: Vec6) -> tuple[float, float, float]:
    a, b, c = np.linalg.eigvalsh(tensor_of(inertia)).tolist()
    return a, b, c


def _is_impossible(expected: MassProperties | None, actual: MassProperties | None) -> bool:
    """Whether a tensor is physically impossible, and the engine has any."""
    if not expected or not actual or expected.inertia is None:
        return False
    a, b, c = _moments(expected.inertia)
    return a < 0 or a + b < c * (1 + _EDGE)


@_known("pybullet", "impossible-inertia", _INERTIA, "implausible-inertia")
@_of_masses
def _zeroed(expected: MassProperties | None, actual: MassProperties | None) -> bool:
    """Replaces physically impossible inertia by zero."""
    zero = actual is not None and actual.inertia is not None and not any(actual.inertia)
    return zero and _is_impossible(expected, actual)


_WATER = "replaces physically impossible inertia by that of a solid sphere of water"
_known("drake", "impossible-inertia", _INERTIA, "implausible-inertia", _WATER)(
    _of_masses(_is_impossible)
)


# Differences of motion are traced to the link.
@_known("physx", "negative-inertia", (*_INERTIA, *_MOTION), "negative-inertia")
@_of_masses
def _magnitude(expected: MassProperties | None, actual: MassProperties | None) -> bool:
    """Takes the magnitude of negative principal moments of inertia."""
    if not expected or not actual or not expected.inertia or actual.inertia is None:
        return False
    moments, axes = np.linalg.eigh(tensor_of(expected.inertia))
    error = np.abs(tensor_of(actual.inertia) - axes @ np.diag(np.abs(moments)) @ axes.T).max()
    return bool(moments[0] < 0 and error <= _SAME * np.abs(moments).max())


@_known("newton newton-usd", "thin-inertia", (*_INERTIA, *_EQUATIONS), "thin-inertia")
@_of_masses
def _thin(expected: MassProperties | None, actual: MassProperties | None) -> bool:
    """Adds 1e-6 kg m^2 to all moments if one is nearly zero."""
    if not expected or not actual or expected.inertia is None:
        return False
    smallest, _, largest = _moments(expected.inertia)
    return abs(smallest) <= max(_THIN * largest, _TINY)


_ENLARGES = "enlarges physically impossible inertia until it is possible"
_known(
    "newton newton-usd",
    "impossible-inertia",
    (*_INERTIA, *_EQUATIONS),
    "implausible-inertia",
    _ENLARGES,
)(_of_masses(_is_impossible))


@_known("pybullet", "long-axis", _FRAMES, "axis-length")
def _longer_axis(case: DeviationCase) -> bool:
    """Multiplies the travel of a prismatic joint by the length of its axis."""
    if case.joints is None or case.joints[0].type is not _SLIDES:
        return False
    sides = case.joints[0], case.expected, case.actual
    factor = travel_factor(*sides)
    if factor is not None and abs(factor - 1) > _ROUNDING:
        return True
    return case.joints[0].mimic is not None and is_displaced_along_axis(*sides)


def _is_type(joint_type: JointType) -> Condition:
    return lambda case: case.joint is not None and case.joint.type is joint_type


@_known("pinocchio", "planar-axis", _FRAMES, "planar-joint")
def _tilted_plane(case: DeviationCase) -> bool:
    """Moves planar joints in the x, y plane of their frame, whatever the axis."""
    return _is_type(_PLANAR)(case) and case.joint is not None and case.joint.axis != (0, 0, 1)


_known("newton", "planar-turn", _FRAMES, "planar-joint", "gives a planar joint no rotation")(
    _is_type(_PLANAR)
)


@_known(
    "drake mujoco newton pybullet", "quaternion", (*_FRAMES, *_MOTION, "mass."), "quaternion-origin"
)
def _unturned(case: DeviationCase) -> bool:
    """Ignores quat_xyzw of URDF 1.1."""
    if case.part not in case.expected.quaternions:
        return False
    if case.joint is not None:
        return is_unturned(case.joint, case.expected, case.actual)
    expected, actual = case.masses or (None, None)
    if not expected or not actual:
        return False
    # Everything but the rotation is equal.
    close = math.isclose(expected.mass, actual.mass, rel_tol=_SAME)
    close &= math.dist(expected.center, actual.center) <= _SAME
    if expected.inertia is None or actual.inertia is None:
        return close
    moments, others = _moments(expected.inertia), _moments(actual.inertia)
    apart = max(abs(one - other) for one, other in zip(moments, others, strict=True))
    return close and apart <= _SAME * max(map(abs, moments))


_WELDS = "reads floating joints as fixed"
_known("pybullet", "floating-welded", ("structure.types",), "floating-joint", _WELDS)(
    _is_type(JointType.FLOATING)
)
_DROPS = "drops floating joints, leaving the child free in the world"
_known("drake", "floating-lost", ("structure.joints",), "floating-joint", _DROPS)(
    _is_type(JointType.FLOATING)
)


@_known("mujoco", "mimic-loop", _COUPLINGS, "mimic-loop")
def _coupled_in_a_loop(case: DeviationCase) -> bool:
    """Keeps mimic couplings that form a loop."""
    leader_of = {joint.name: joint.mimic.leader for joint in case.actual.joints if joint.mimic}

    def ends_in_a_loop(name: str) -> bool:
        seen: set[str] = set()
        while name in leader_of and name not in seen:
            seen.add(name)
            name = leader_of[name]
        return name in seen

    # In a rollout a loop affects every joint.
    everywhere = case.check == "dynamics.rollout"
    return any(map(ends_in_a_loop, leader_of if everywhere else (case.part,)))


def _are_unlike(follower: JointObservation, leader: JointObservation) -> bool:
    return (follower.type is _SLIDES) is not (leader.type is _SLIDES)


@_known("newton-usd", "unlike-mimic", _MIMIC, "unlike-mimic")
def _unlike_mimic(case: DeviationCase) -> bool:
    """Drops couplings between prismatic and revolute joints."""
    joint_of = {joint.name: joint for joint in case.expected.joints}
    if case.joint is None or case.joint.mimic is None:
        return False
    leader = joint_of.get(case.joint.mimic.leader)
    return leader is None or _are_unlike(case.joint, leader)


def _lost_coupling(test: Callable[[JointObservation, JointObservation], bool]) -> Condition:
    """Make a condition on a coupling that the engine lacks; it affects every joint of a rollout."""

    @wraps(test)
    def applies(case: DeviationCase) -> bool:
        coupled = {joint.name for joint in case.actual.joints if joint.mimic}
        joint_of = {joint.name: joint for joint in case.expected.joints}
        return any(
            joint.mimic is not None
            and joint.name not in coupled
            and joint.mimic.leader in joint_of
            and test(joint, joint_of[joint.mimic.leader])
            for joint in case.expected.joints
            if case.check == "dynamics.rollout" or joint.name == case.part
        )

    return applies


_BY_PHYSX = "couples prismatic with revolute joints by PhysxMimicJointAPI alone"
_known("physx", "unlike-mimic", _COUPLINGS, "unlike-mimic", _BY_PHYSX)(_lost_coupling(_are_unlike))


@_known("physx", "unlimited-mimic", _COUPLINGS, "unlimited-mimic")
@_lost_coupling
def _without_limits(follower: JointObservation, leader: JointObservation) -> bool:
    """Refuses couplings of revolute joints without limits."""
    turning = (joint for joint in (follower, leader) if joint.type is not _SLIDES)
    return any(math.inf in map(abs, _limits(joint)) for joint in turning)


@_known("pybullet", "malformed-text", ("",), "partial-vector")
def _ambiguous(case: DeviationCase) -> bool:
    """Reads ambiguous text differently."""
    return case.part in case.expected.repaired


@_known("mujoco", "obj-objects", _SHAPES, "obj-objects")
def _in_pieces(case: DeviationCase) -> bool:
    """Makes one convex hull of all groups of an OBJ file, and reads the faces of the first
    alone.
    """
    return any(shape.pieces > 1 for shape in case.shapes(case.expected))


@_known("mujoco", "obj-polygons", _SHAPES, "obj-polygons")
def _of_polygons(case: DeviationCase) -> bool:
    """Triangulates polygons of an OBJ file differently."""
    return any(shape.corners > 3 for shape in case.shapes(case.expected))


@_known("mujoco", "repeated-shape", _SHAPES, "repeated-shape")
def _other_kind(case: DeviationCase) -> bool:
    """Takes of several shapes in one <geometry> a box before a cylinder, sphere, capsule and
    mesh, not the first.
    """
    expected, actual = (
        sorted(shape.kind for shape in case.shapes(side)) for side in (case.expected, case.actual)
    )
    return _ambiguous(case) and expected != actual


@_known("pybullet", "shown-colliders", ("visual.",), "colliders-alone")
def _colliders_alone(case: DeviationCase) -> bool:
    """Uses the colliders of a link without visuals as visuals."""
    roles = {shape.role for shape in case.expected.shapes if shape.link == case.part}
    return roles == {Role.COLLISION}


@_known("drake-mjcf newton-mjcf", "stacked-joints", _FRAMES, "stacked-joints")
def _stacked(case: DeviationCase) -> bool:
    """Places several joints of one MJCF body wrongly."""
    made_up = {*case.expected.made_up}
    ends = (case.joint.parent, case.joint.child) if case.joint else ()
    chained = {link.name for link in case.expected.links if link.mass is None}
    return any(link in chained and f"link {link}" in made_up for link in ends)


@_known("pinocchio-mjcf", "slide-range", _LIMITS, "slide-range")
@_of_joints
def _slide_in_degrees(expected: JointObservation, actual: JointObservation) -> bool:
    """Reads the range of a slide as degrees, where angles are in degrees."""
    ranges = zip(_limits(expected), _limits(actual), strict=True)
    return expected.type is _SLIDES and all(
        math.isclose(math.radians(one), other, rel_tol=_SAME, abs_tol=_SAME)
        for one, other in ranges
    )


@_known("newton-mjcf", "main-class", ("dynamics.damping", "dynamics.friction"), "main-class")
@_of_joints
def _without_main_class(expected: JointObservation, actual: JointObservation) -> bool:
    """Ignores the defaults of an MJCF whose class is called main, as MuJoCo names it."""
    pairs = (expected.damping, actual.damping), (expected.friction, actual.friction)
    return all(not other or math.isclose(one or 0.0, other, rel_tol=_SAME) for one, other in pairs)
