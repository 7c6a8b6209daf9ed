"""Known deviations of engines from their file, each with a minimal URDF.

A known deviation of an engine is no evidence against the USD. Each is listed with the
condition under which it occurs; any other difference is unexplained, and counts.
"""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.conformance.verdict import conditions as given
from urdf_usd.conformance.verdict.conditions import Condition, DeviationCase

_LIMITS = ("limits.lower", "limits.upper", "structure.types")
_MASS = ("mass.link.", "mass.group.", "mass.total")
_INERTIA = ("mass.link.inertia", "mass.group.inertia")
_FRAMES = ("kinematics.position", "kinematics.rotation")
_EQUATIONS = ("dynamics.inertia_matrix", "dynamics.bias")
_MOTION = (*_EQUATIONS, "dynamics.rollout")
_COUPLINGS = ("structure.mimic", "dynamics.rollout")
_SHAPES = ("collision.", "visual.")
_TITLES = {
    "mujoco": "MuJoCo",
    "newton-usd": "Newton",
    "physx": "PhysX",
    "pybullet": "PyBullet",
}
UNEXPLAINED = "unexplained"


class Deviation(Struct, frozen=True):
    """One known deviation of an engine."""

    id: str  # stable identifier
    engine: str
    cause: str  # what it does, in one sentence
    checks: tuple[str, ...]  # prefixes of the identifiers of the affected checks
    applies: Condition
    file: str  # stem of a minimal file that shows it, in ``tests/data/deviations``
    predicts: tuple[str, ...] = ()  # prefixes of checks in which it determines the stated value
    # whether the condition applies to the compared value, not to the links and joints that cause
    # its difference
    whole: bool = False


def explain(case: DeviationCase, *, whole: bool = False) -> Deviation | None:
    """Find the deviation that explains a difference in a part, or in a whole value."""
    return next(
        (
            deviation
            for deviation in DEVIATIONS
            if deviation.engine == case.stated.engine
            and deviation.whole is whole
            and case.check.startswith(deviation.checks)
            and deviation.applies(case)
        ),
        None,
    )


def _of(
    engines: str,
    name: str,
    does: str,
    checks: tuple[str, ...],
    applies: Condition,
    file: str,
    *,
    predicts: tuple[str, ...] = (),
    whole: bool = False,
) -> tuple[Deviation, ...]:
    """Return one deviation per engine of a list of names."""
    return tuple(
        Deviation(
            f"{engine}-{name}",
            engine,
            f"{_TITLES.get(engine, engine.title())} {does}.",
            checks,
            applies,
            file,
            predicts,
            whole,
        )
        for engine in engines.split()
    )


_LIMIT_DEVIATIONS = (
    *_of(
        "mujoco",
        "empty-range",
        "reads equal limits as no limits",
        _LIMITS,
        given.limits_read_as(given.equal_limits),
        "zero-range",
        predicts=_LIMITS,
    ),
    *_of(
        "mujoco",
        "one-sided-range",
        "reads a <limit> that gives only one bound as no limits",
        _LIMITS,
        given.limits_read_as(given.one_sided),
        "upper-bound-alone",
    ),
    *_of(
        "drake newton",
        "one-sided-range",
        "reads a missing bound of a <limit> as unlimited, not as zero",
        _LIMITS,
        given.about_joints(given.open_sided),
        "upper-bound-alone",
    ),
    *_of(
        "pybullet",
        "no-bounds",
        "reads a <limit> without bounds as no limits",
        _LIMITS,
        given.limits_read_as(given.no_range),
        "absent-bounds",
    ),
    *_of(
        "pybullet",
        "lower-bound-alone",
        "reads a missing upper limit as -1 rad or m, and as no limits below the lower one",
        _LIMITS,
        given.limits_read_as(given.upper_by_default),
        "lower-bound-alone",
    ),
    *_of(
        "mujoco",
        "reversed-range",
        "reads a lower limit above the upper one as no limits",
        _LIMITS,
        given.limits_read_as(given.reversed_limits),
        "reversed-limits",
    ),
    *_of(
        "pybullet",
        "reversed-range",
        "treats a lower limit above the upper one as no limits",
        _LIMITS,
        given.limits_read_as(given.reversed_limits),
        "reversed-limits",
    ),
    *_of(
        "drake",
        "reversed-range",
        "crashes on a lower limit above the upper one, so both are left out",
        _LIMITS,
        given.limits_read_as(given.reversed_limits),
        "reversed-limits",
    ),
    *_of(
        "drake newton pybullet",
        "continuous-range",
        "reports the bounds of a continuous joint, which has none",
        _LIMITS,
        given.about_joints(given.bounded_continuous),
        "continuous-with-bounds",
    ),
    *_of(
        "physx",
        "reversed-range",
        "locks a joint at zero if its lower limit is above the upper one",
        _LIMITS,
        given.limits_read_as(given.locked_by_limits),
        "reversed-limits",
    ),
    *_of(
        "newton newton-usd",
        "far-range",
        "uses 1e10 for no limit, and treats larger values likewise",
        _LIMITS,
        given.about_joints(given.far_limits),
        "far-limits",
    ),
    *_of(
        "mujoco",
        "zero-effort",
        "reads an effort limit of zero as no limit",
        ("limits.effort",),
        given.zero_is_absent("effort"),
        "zero-effort",
        predicts=("limits.effort",),
    ),
    *_of(
        "mujoco",
        "negative-effort",
        "reads the magnitude of a negative effort limit",
        ("limits.effort",),
        given.negative_is_magnitude("effort"),
        "negative-effort",
        predicts=("limits.effort",),
    ),
    *_of(
        "pybullet",
        "absent-effort",
        "reads an absent effort limit as zero",
        ("limits.effort",),
        given.absent_is_zero("effort"),
        "absent-effort",
        predicts=("limits.effort",),
    ),
    *_of(
        "pybullet",
        "absent-velocity",
        "reads an absent velocity limit as zero",
        ("limits.velocity",),
        given.absent_is_zero("velocity"),
        "absent-effort",
        predicts=("limits.velocity",),
    ),
    *_of(
        "newton-usd",
        "zero-velocity",
        "reads speeds from newton:velocityLimit, which cannot be zero",
        ("limits.velocity",),
        given.zero_is_absent("velocity"),
        "zero-velocity",
    ),
    *_of(
        "physx",
        "zero-velocity",
        "reads speeds from schemas to which zero is not written",
        ("limits.velocity",),
        given.zero_is_absent("velocity"),
        "zero-velocity",
    ),
)

_DYNAMICS_DEVIATIONS = (
    *_of(
        "drake",
        "no-friction",
        "does not read joint friction",
        ("dynamics.friction",),
        given.not_read("friction"),
        "joint-friction",
    ),
)

_MASS_DEVIATIONS = (
    *_of(
        "pybullet",
        "no-inertial",
        "assumes 1 kg for a link without <inertial>",
        _MASS,
        given.invented_kilogram,
        "massless-moving-link",
        predicts=_MASS,
    ),
    *_of(
        "drake",
        "massless-inertia",
        "assumes 1 kg for a link that has inertia but no mass",
        _MASS,
        given.about_links(given.massless_kilogram),
        "massless-inertia",
    ),
    *_of(
        "mujoco",
        "massless-inertia",
        "includes the inertia of a link without mass",
        _MOTION,
        given.counted_massless_inertia,
        "massless-inertia-welded",
        predicts=_EQUATIONS,
        whole=True,
    ),
    *_of(
        "pinocchio",
        "massless-inertia",
        "includes the inertia of a fixed link without mass",
        _INERTIA,
        given.welded_to_massless_inertia,
        "massless-inertia",
    ),
    *_of(
        "pybullet",
        "impossible-inertia",
        "replaces physically impossible inertia by zero",
        _INERTIA,
        given.about_links(given.zeroed_inertia),
        "implausible-inertia",
    ),
    *_of(
        "drake",
        "impossible-inertia",
        "replaces physically impossible inertia by that of a solid sphere of water",
        _INERTIA,
        given.about_links(given.impossible_inertia),
        "implausible-inertia",
    ),
    *_of(
        "physx",
        "negative-inertia",
        "takes the magnitude of negative principal moments of inertia",
        # Differences of motion are traced to the link.
        (*_INERTIA, *_MOTION),
        given.about_links(given.magnitude_of_inertia),
        "negative-inertia",
    ),
    *_of(
        "newton newton-usd",
        "thin-inertia",
        "adds 1e-6 kg m^2 to all moments if one is nearly zero",
        (*_INERTIA, *_EQUATIONS),
        given.about_links(given.thin_inertia),
        "thin-inertia",
    ),
    *_of(
        "newton newton-usd",
        "impossible-inertia",
        "enlarges physically impossible inertia until it is possible",
        (*_INERTIA, *_EQUATIONS),
        given.about_links(given.impossible_inertia),
        "implausible-inertia",
    ),
)

_FRAME_DEVIATIONS = (
    *_of(
        "pybullet",
        "long-axis",
        "multiplies the travel of a prismatic joint by the length of its axis",
        _FRAMES,
        given.longer_axis,
        "axis-length",
    ),
    *_of(
        "pinocchio",
        "planar-axis",
        "moves planar joints in the x, y plane of their frame, whatever the axis",
        _FRAMES,
        given.tilted_plane,
        "planar-joint",
    ),
    *_of(
        "newton",
        "planar-turn",
        "gives a planar joint no rotation",
        _FRAMES,
        given.is_type(JointType.PLANAR),
        "planar-joint",
    ),
    *_of(
        "drake mujoco newton pybullet",
        "quaternion",
        "ignores quat_xyzw of URDF 1.1",
        (*_FRAMES, *_MOTION, "mass."),
        given.turned_by_quaternion,
        "quaternion-origin",
    ),
)

_STRUCTURE_DEVIATIONS = (
    *_of(
        "pybullet",
        "floating-welded",
        "reads floating joints as fixed",
        ("structure.types",),
        given.is_type(JointType.FLOATING),
        "floating-joint",
    ),
    *_of(
        "drake",
        "floating-lost",
        "drops floating joints, leaving the child free in the world",
        ("structure.joints",),
        given.is_type(JointType.FLOATING),
        "floating-joint",
    ),
    *_of(
        "mujoco",
        "mimic-loop",
        "keeps mimic couplings that form a loop",
        _COUPLINGS,
        given.coupled_in_a_loop,
        "mimic-loop",
    ),
    *_of(
        "newton-usd",
        "unlike-mimic",
        "drops couplings between prismatic and revolute joints",
        ("structure.mimic",),
        given.coupled_to_another_kind,
        "unlike-mimic",
    ),
    *_of(
        "physx",
        "unlike-mimic",
        "couples prismatic with revolute joints by PhysxMimicJointAPI alone",
        _COUPLINGS,
        given.lost_coupling(given.of_unlike_joints),
        "unlike-mimic",
    ),
    *_of(
        "physx",
        "unlimited-mimic",
        "refuses couplings of revolute joints without limits",
        _COUPLINGS,
        given.lost_coupling(given.without_limits),
        "unlimited-mimic",
    ),
    *_of(
        "pybullet",
        "malformed-text",
        "reads ambiguous text differently",
        ("",),
        given.repaired_text,
        "partial-vector",
    ),
)

_SHAPE_DEVIATIONS = (
    *_of(
        "mujoco",
        "obj-objects",
        "makes one convex hull of all groups of an OBJ file, and reads the faces of "
        "the first alone",
        _SHAPES,
        given.shapes_in_pieces,
        "obj-objects",
    ),
    *_of(
        "mujoco",
        "obj-polygons",
        "triangulates polygons of an OBJ file differently",
        _SHAPES,
        given.shapes_of_polygons,
        "obj-polygons",
    ),
    *_of(
        "mujoco",
        "repeated-shape",
        "takes of several shapes in one <geometry> a box before a cylinder, sphere, "
        "capsule and mesh, not the first",
        _SHAPES,
        given.other_kind_of_shape,
        "repeated-shape",
    ),
    *_of(
        "pybullet",
        "shown-colliders",
        "uses the colliders of a link without visuals as visuals",
        ("visual.",),
        given.colliders_alone,
        "colliders-alone",
    ),
)

DEVIATIONS = (
    *_LIMIT_DEVIATIONS,
    *_DYNAMICS_DEVIATIONS,
    *_MASS_DEVIATIONS,
    *_FRAME_DEVIATIONS,
    *_STRUCTURE_DEVIATIONS,
    *_SHAPE_DEVIATIONS,
)
