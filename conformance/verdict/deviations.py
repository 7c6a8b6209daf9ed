"""Known deviations of engines from their file, each with its condition and a minimal URDF.

A known deviation of an engine is no evidence against the USD. Any other difference of an engine
is unexplained, and counts. A condition concerns one link or joint, as the reference (expected) and
the engine (actual) report it; the first deviation of an engine whose condition holds explains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from urdf_usd.conformance.checks import kinematics
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance import rigid_groups, scalar_bound, tensor_of

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

_SLIDES, _PLANAR = obs.JointType.PRISMATIC, obs.JointType.PLANAR
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
# Rounding of a factor, or of a force relative to the largest.
_ROUNDING = 1e-6


class DeviationCase(Struct, frozen=True, eq=False):
    """A link or joint in which an engine differs from the reference."""

    check: str  # identifier of the check with the difference
    part: str  # name of the link or joint
    # by the reference; for a further USD engine, by the engine that is judged
    expected: obs.Observation
    actual: obs.Observation  # by the engine that differs

    @property
    def joint(self) -> obs.JointObservation | None:
        return next((joint for joint in self.expected.joints if joint.name == self.part), None)

    @property
    def joints(self) -> tuple[obs.JointObservation, obs.JointObservation] | None:
        found = next((joint for joint in self.actual.joints if joint.name == self.part), None)
        return (self.joint, found) if self.joint and found else None

    @property
    def masses(self) -> tuple[obs.MassProperties | None, obs.MassProperties | None] | None:
        """The mass of the link of this name on both sides; None if a side lacks the link."""
        pair = [
            link.mass
            for side in (self.expected, self.actual)
            for link in side.links
            if link.name == self.part
        ]
        return (pair[0], pair[1]) if len(pair) == 2 else None

    def shapes(self, side: obs.Observation) -> list[ShapeObservation]:
        """The shapes of the link that the check is about."""
        role = self.check.partition(".")[0]
        return [shape for shape in side.shapes if shape.link == self.part and shape.role == role]


Condition: TypeAlias = Callable[[DeviationCase], bool]


class Deviation(Struct, frozen=True):
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
    does: str,
    file: str = "",
    *,
    predicts: tuple[str, ...] = (),
    whole: bool = False,
) -> Callable[[Condition], Condition]:
    """Add one deviation per engine; its file has the same name, if there is no other."""

    def add(applies: Condition) -> Condition:
        for engine in engines.split():
            title = engine.partition("-")[0]
            cause = f"{_TITLES.get(title, title.title())} {does}."
            row = f"{engine}-{name}", engine, cause, checks, applies, file or name, predicts, whole
            DEVIATIONS.append(Deviation(*row))
        return applies

    return add


_Joint: TypeAlias = obs.JointObservation
_Mass: TypeAlias = obs.MassProperties | None


def _joints(test: Callable[[_Joint, _Joint], bool]) -> Condition:
    return lambda case: case.joints is not None and test(*case.joints)


def _masses(test: Callable[[_Mass, _Mass], bool]) -> Condition:
    """Make a condition on the mass of the link of both sides; false if a side lacks the link."""
    return lambda case: case.masses is not None and test(*case.masses)


def _limits(joint: obs.JointObservation) -> tuple[float, float]:
    return (
        -math.inf if joint.lower is None else joint.lower,
        math.inf if joint.upper is None else joint.upper,
    )


def _reads(predict: Callable[[float, float], tuple[float, float] | None]) -> Condition:
    """Make a condition from what an engine reads instead of two limits; None if it reads them."""
    return _joints(lambda expected, actual: predict(*_limits(expected)) == _limits(actual))


def _each_limit(test: Callable[[float, float], bool]) -> Condition:
    """Make a condition on each limit of both sides; false if all are equal."""
    return _joints(
        lambda expected, actual: all(
            one == other or test(one, other)
            for one, other in zip(_limits(expected), _limits(actual), strict=True)
        )
    )


def _none_if_equal(lower: float, upper: float) -> tuple[float, float] | None:
    apart = abs(upper - lower)
    is_same = math.isfinite(apart) and apart <= scalar_bound(lower) + scalar_bound(upper)
    return _UNLIMITED if is_same else None


_EQUAL = "reads equal limits as no limits"
_known("mujoco", "empty-range", _LIMITS, _EQUAL, "zero-range", predicts=_LIMITS)(
    _reads(_none_if_equal)
)
_ONE_SIDED = "reads a <limit> that gives only one bound as no limits"
_known("mujoco", "one-sided-range", _LIMITS, _ONE_SIDED, "upper-bound-alone")(
    _reads(lambda lower, upper: _UNLIMITED if (lower == 0.0) is not (upper == 0.0) else None)
)
_OPEN = "reads a missing bound of a <limit> as unlimited, not as zero"
_known("drake newton", "one-sided-range", _LIMITS, _OPEN, "upper-bound-alone")(
    _each_limit(lambda one, other: one == 0 and math.isinf(other))
)
_known(
    "pybullet", "no-bounds", _LIMITS, "reads a <limit> without bounds as no limits", "absent-bounds"
)(_reads(lambda lower, upper: _UNLIMITED if lower == upper == 0.0 else None))


def _upper_by_default(lower: float, upper: float) -> tuple[float, float] | None:
    if upper != 0.0:
        return None
    return _UNLIMITED if lower > _ASSUMED_UPPER else (lower, _ASSUMED_UPPER)


_known(
    "pybullet",
    "lower-bound-alone",
    _LIMITS,
    "reads a missing upper limit as -1 rad or m, and as no limits below the lower one",
)(_reads(_upper_by_default))
for _engine, _does, _read in (
    ("mujoco", "reads a lower limit above the upper one as no limits", _UNLIMITED),
    ("pybullet", "treats a lower limit above the upper one as no limits", _UNLIMITED),
    ("drake", "crashes on a lower limit above the upper one, so both are left out", _UNLIMITED),
    ("physx", "locks a joint at zero if its lower limit is above the upper one", (0.0, 0.0)),
):
    _known(_engine, "reversed-range", _LIMITS, _does, "reversed-limits")(
        _reads(lambda lower, upper, read=_read: read if lower > upper else None)  # type: ignore[misc]
    )
_BOUNDS = "reports the bounds of a continuous joint, which has none"
_CONTINUOUS = "continuous-with-bounds"
_known("drake newton pybullet", "continuous-range", _LIMITS, _BOUNDS, _CONTINUOUS)(
    _joints(lambda one, two: one.type is obs.JointType.CONTINUOUS and _limits(two) != _UNLIMITED)
)
_FAR_AS_NONE = "uses 1e10 for no limit, and treats larger values likewise"
_known("newton newton-usd", "far-range", _LIMITS, _FAR_AS_NONE, "far-limits")(
    _each_limit(lambda one, other: abs(one) > _FAR and math.isinf(other))
)
_NO_LIMIT = "reads an effort limit of zero as no limit"
_known("mujoco", "zero-effort", _EFFORT, _NO_LIMIT, predicts=_EFFORT)(
    _joints(lambda expected, actual: expected.effort == 0.0 and actual.effort is None)
)
_MAGNITUDE = "reads the magnitude of a negative effort limit"
_known("mujoco", "negative-effort", _EFFORT, _MAGNITUDE, predicts=_EFFORT)(
    _joints(
        lambda one, two: one.effort is not None and one.effort < 0 and two.effort == -one.effort
    )
)
_ZERO = "reads an absent {} limit as zero"
_known("pybullet", "absent-effort", _EFFORT, _ZERO.format("effort"), predicts=_EFFORT)(
    _joints(lambda expected, actual: expected.effort is None and actual.effort == 0.0)
)
_known(
    *("pybullet", "absent-velocity", _VELOCITY, _ZERO.format("velocity"), "absent-effort"),
    predicts=_VELOCITY,
)(_joints(lambda expected, actual: expected.velocity is None and actual.velocity == 0.0))
for _engine, _does in (
    ("physx", "reads speeds from schemas to which zero is not written"),
    ("newton-usd", "reads speeds from newton:velocityLimit, which cannot be zero"),
):
    _known(_engine, "zero-velocity", _VELOCITY, _does)(
        _joints(lambda expected, actual: expected.velocity == 0.0 and actual.velocity is None)
    )
_FRICTION = ("dynamics.friction",)
_known(
    "drake drake-mjcf", "no-friction", _FRICTION, "does not read joint friction", "joint-friction"
)(_joints(lambda expected, actual: expected.friction is not None and actual.friction is None))


def _is_a_kilogram(expected: _Mass, actual: _Mass) -> bool:
    """Whether a massless link has 1 kg in the engine, rounded by Drake."""
    massless = expected is None or not expected.mass
    return massless and actual is not None and math.isclose(actual.mass, 1.0)


def _is_massless_inertia(mass: _Mass) -> bool:
    return mass is not None and not mass.mass and any(mass.inertia or ())


_ASSUMES = "assumes 1 kg for a link without <inertial>"
_known("pybullet", "no-inertial", _MASS, _ASSUMES, "massless-moving-link", predicts=_MASS)(
    lambda case: case.part in case.actual.defaulted and _masses(_is_a_kilogram)(case)
)
_known("drake", "massless-inertia", _MASS, "assumes 1 kg for a link that has inertia but no mass")(
    _masses(lambda one, two: _is_massless_inertia(one) and _is_a_kilogram(one, two))
)


@_known(
    "mujoco",
    "massless-inertia",
    _MOTION,
    "includes the inertia of a link without mass",
    "massless-inertia-welded",
    whole=True,
)
def _counted_massless_inertia(case: DeviationCase) -> bool:
    # It replaces an inertia that it rejects, and then reports no mass.
    read = {link.name for link in case.actual.links if link.mass is not None}
    tensors = [
        tensor_of(link.mass.inertia)
        for link in case.expected.links
        if link.name in read and link.mass and link.mass.inertia and _is_massless_inertia(link.mass)
    ]
    expected, actual = case.expected.dynamics, case.actual.dynamics
    if not tensors or case.check not in _EQUATIONS or expected is None or actual is None:
        return bool(tensors)
    # It adds J^T I J to the matrix and J^T (I a + w x I w) to the forces (Featherstone, Rigid Body
    # Dynamics Algorithms, 2.14). Each column of J is at most a unit vector; the angular velocity w
    # is at most the sum of the joints' velocities, and the acceleration a its square.
    most = sum(float(np.linalg.norm(tensor, 2)) for tensor in tensors) * (1 + _SAME)
    column = obs.velocity_indices(expected.joints)
    own = {key: at for key, at in obs.velocity_indices(actual.joints).items() if key in column}
    first, second = [column[key] for key in own], list(own.values())
    if case.check == _EQUATIONS[0]:
        matrices = expected.inertia[:, first][:, :, first], actual.inertia[:, second][:, :, second]
        return bool(np.abs(matrices[1] - matrices[0]).max(initial=0.0) <= most)
    apart = np.abs(actual.bias[:, second] - expected.bias[:, first])
    squares = np.abs(expected.velocities).sum(axis=1, keepdims=True) ** 2
    rounding = _ROUNDING * np.abs(expected.bias).max(initial=0.0)
    return bool((apart <= 2 * most * squares + rounding).all())


@_known(
    "pinocchio", "massless-inertia", _INERTIA, "includes the inertia of a fixed link without mass"
)
def _welded_to_massless_inertia(case: DeviationCase) -> bool:
    masses = {link.name: link.mass for link in case.expected.links}
    part = case.joint.child if case.joint else case.part
    return any(
        part in group and any(_is_massless_inertia(masses[name]) for name in group)
        for group in rigid_groups(list(masses), case.expected.joints)
    )


def _moments(inertia: obs.Vec6) -> tuple[float, float, float]:
    a, b, c = np.linalg.eigvalsh(tensor_of(inertia)).tolist()
    return a, b, c


def _is_impossible(expected: _Mass, actual: _Mass) -> bool:
    """Whether a tensor is physically impossible, and the engine has any."""
    if not expected or not actual or expected.inertia is None:
        return False
    a, b, c = _moments(expected.inertia)
    return a < 0 or a + b < c * (1 + _EDGE)


def _is_zeroed(expected: _Mass, actual: _Mass) -> bool:
    zero = actual is not None and actual.inertia is not None and not any(actual.inertia)
    return zero and _is_impossible(expected, actual)


def _is_magnitude(expected: _Mass, actual: _Mass) -> bool:
    if not expected or not actual or not expected.inertia or actual.inertia is None:
        return False
    moments, axes = np.linalg.eigh(tensor_of(expected.inertia))
    error = np.abs(tensor_of(actual.inertia) - axes @ np.diag(np.abs(moments)) @ axes.T).max()
    return bool(moments[0] < 0 and error <= _SAME * np.abs(moments).max())


def _is_thin(expected: _Mass, actual: _Mass) -> bool:
    if not expected or not actual or expected.inertia is None:
        return False
    smallest, _, largest = _moments(expected.inertia)
    return abs(smallest) <= max(_THIN * largest, _TINY)


# Differences of motion are traced to the link.
_TRACED, _SOLVED = (*_INERTIA, *_MOTION), (*_INERTIA, *_EQUATIONS)
for _engine, _name, _checks, _test, _does in (
    ("pybullet", "impossible", _INERTIA, _is_zeroed, "replaces {} by zero"),
    ("drake", "impossible", _INERTIA, _is_impossible, "replaces {} by that of a sphere of water"),
    ("physx", "negative", _TRACED, _is_magnitude, "takes the magnitude of negative moments"),
    ("newton newton-usd", "thin", _SOLVED, _is_thin, "adds 1e-6 kg m^2 to moments near zero"),
    ("newton newton-usd", "impossible", _SOLVED, _is_impossible, "enlarges {} until possible"),
):
    _file = f"{'implausible' if _name == 'impossible' else _name}-inertia"
    _text = _does.format("physically impossible inertia")
    _known(_engine, f"{_name}-inertia", _checks, _text, _file)(_masses(_test))


_LENGTH = "multiplies the travel of a prismatic joint by the length of its axis"


@_known("pybullet", "long-axis", _FRAMES, _LENGTH, "axis-length")
def _longer_axis(case: DeviationCase) -> bool:
    if case.joints is None or case.joints[0].type is not _SLIDES:
        return False
    sides = case.joints[0], case.expected, case.actual
    factor = kinematics.travel_factor(*sides)
    if factor is not None and abs(factor - 1) > _ROUNDING:
        return True
    return case.joints[0].mimic is not None and kinematics.is_displaced_along_axis(*sides)


def _is_type(joint_type: obs.JointType) -> Condition:
    return lambda case: case.joint is not None and case.joint.type is joint_type


_PLANE = "moves planar joints in the x, y plane of their frame, whatever the axis"
_known("pinocchio", "planar-axis", _FRAMES, _PLANE, "planar-joint")(
    lambda case: _is_type(_PLANAR)(case) and case.joint is not None and case.joint.axis != (0, 0, 1)
)
_known("newton", "planar-turn", _FRAMES, "gives a planar joint no rotation", "planar-joint")(
    _is_type(_PLANAR)
)
_TURNS = (*_FRAMES, *_MOTION, "mass.")


@_known(
    *("drake mujoco newton pybullet", "quaternion", _TURNS, "ignores quat_xyzw of URDF 1.1"),
    file="quaternion-origin",
)
def _unturned(case: DeviationCase) -> bool:
    if case.part not in case.expected.quaternions:
        return False
    if case.joint is not None:
        return kinematics.is_unturned(case.joint, case.expected, case.actual)
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


_FLOATING = _is_type(obs.JointType.FLOATING)
_WELDS, _DROPS = "reads floating joints as fixed", "drops floating joints, and frees the child"
_known("pybullet", "floating-welded", ("structure.types",), _WELDS, "floating-joint")(_FLOATING)
_known("drake", "floating-lost", ("structure.joints",), _DROPS, "floating-joint")(_FLOATING)


@_known("mujoco", "mimic-loop", _COUPLINGS, "keeps mimic couplings that form a loop")
def _coupled_in_a_loop(case: DeviationCase) -> bool:
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


def _are_unlike(follower: obs.JointObservation, leader: obs.JointObservation) -> bool:
    return (follower.type is _SLIDES) is not (leader.type is _SLIDES)


_UNLIKE = "drops couplings between prismatic and revolute joints"


@_known("newton-usd", "unlike-mimic", _MIMIC, _UNLIKE)
def _unlike_mimic(case: DeviationCase) -> bool:
    joint_of = {joint.name: joint for joint in case.expected.joints}
    if case.joint is None or case.joint.mimic is None:
        return False
    leader = joint_of.get(case.joint.mimic.leader)
    return leader is None or _are_unlike(case.joint, leader)


def _lost(test: Callable[[_Joint, _Joint], bool]) -> Condition:
    """Make a condition on a coupling that the engine lacks; it affects every joint of a rollout."""

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


def _lacks_limits(*joints: obs.JointObservation) -> bool:
    turning = (joint for joint in joints if joint.type is not _SLIDES)
    return any(math.inf in map(abs, _limits(joint)) for joint in turning)


def _ambiguous(case: DeviationCase) -> bool:
    return case.part in case.expected.repaired


def _is_other_kind(case: DeviationCase) -> bool:
    sides = (case.shapes(side) for side in (case.expected, case.actual))
    expected, actual = (sorted(shape.kind for shape in shapes) for shapes in sides)
    return _ambiguous(case) and expected != actual


_BY_PHYSX = "couples prismatic with revolute joints by PhysxMimicJointAPI alone"
_known("physx", "unlike-mimic", _COUPLINGS, _BY_PHYSX)(_lost(_are_unlike))
_REFUSES = "refuses couplings of revolute joints without limits"
_known("physx", "unlimited-mimic", _COUPLINGS, _REFUSES)(_lost(_lacks_limits))
_known("pybullet", "malformed-text", ("",), "reads ambiguous text differently", "partial-vector")(
    _ambiguous
)
_OBJECTS = (
    "makes one convex hull of all groups of an OBJ file, and reads the faces of the first alone"
)
_known("mujoco", "obj-objects", _SHAPES, _OBJECTS)(
    lambda case: any(shape.pieces > 1 for shape in case.shapes(case.expected))
)
_known("mujoco", "obj-polygons", _SHAPES, "triangulates polygons of an OBJ file differently")(
    lambda case: any(shape.corners > 3 for shape in case.shapes(case.expected))
)
_KINDS = (
    "takes of several shapes in one <geometry> a box before a cylinder, sphere, capsule and mesh, "
    "not the first"
)
_known("mujoco", "repeated-shape", _SHAPES, _KINDS)(_is_other_kind)
_SHOWN = "uses the colliders of a link without visuals as visuals"
_known("pybullet", "shown-colliders", ("visual.",), _SHOWN, "colliders-alone")(
    lambda case: {x.role for x in case.expected.shapes if x.link == case.part} == {Role.COLLISION}
)
_STACKED = "places several joints of one MJCF body wrongly"


@_known("drake-mjcf newton-mjcf", "stacked-joints", _FRAMES, _STACKED)
def _is_stacked(case: DeviationCase) -> bool:
    made_up = {*case.expected.made_up}
    ends = (case.joint.parent, case.joint.child) if case.joint else ()
    chained = {link.name for link in case.expected.links if link.mass is None}
    return any(link in chained and f"link {link}" in made_up for link in ends)


def _are_in_degrees(expected: obs.JointObservation, actual: obs.JointObservation) -> bool:
    pairs = zip(map(math.radians, _limits(expected)), _limits(actual), strict=True)
    are_close = all(math.isclose(*pair, rel_tol=_SAME, abs_tol=_SAME) for pair in pairs)
    return expected.type is _SLIDES and are_close


def _are_defaults(expected: obs.JointObservation, actual: obs.JointObservation) -> bool:
    pairs = (expected.damping, actual.damping), (expected.friction, actual.friction)
    return all(not other or math.isclose(one or 0.0, other, rel_tol=_SAME) for one, other in pairs)


_DEGREES = "reads the range of a slide as degrees, where angles are in degrees"
_known("pinocchio-mjcf", "slide-range", _LIMITS, _DEGREES)(_joints(_are_in_degrees))
_MAIN = "ignores the defaults of an MJCF whose class is called main, as MuJoCo names it"
_PASSIVE = ("dynamics.damping", "dynamics.friction")
_known("newton-mjcf", "main-class", _PASSIVE, _MAIN)(_joints(_are_defaults))
