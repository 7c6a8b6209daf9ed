"""Known departures of readers from their file, each with a minimal URDF.

A reader that stands alone is not evidence against the USD. What it is known to do is
listed here, with the circumstance under which it does it; whatever else it does is
called unexplained, and counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.conformance.verdict import conditions as given

if TYPE_CHECKING:
    from urdf_usd.conformance.verdict.conditions import Condition, DeviationCase

_LIMITS = ("limits.lower", "limits.upper", "structure.types")
_MASS = ("mass.link.", "mass.group.", "mass.total")
_INERTIA = ("mass.link.inertia", "mass.group.inertia")
_FRAMES = ("kinematics.position", "kinematics.rotation")
_MOTION = ("dynamics.inertia_matrix", "dynamics.bias", "dynamics.rollout")
_SHAPES = ("collision.", "visual.")
_TITLES = {"mujoco": "MuJoCo", "newton-usd": "Newton", "pybullet": "PyBullet"}
UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that a reader is known to do.

    Attributes:
        id: Stable identifier.
        engine: The reader.
        cause: What it does, in one sentence.
        checks: Beginnings of the identifiers of the checks in which it shows.
        applies: Whether the circumstance is given.
        file: Stem of the minimal file that shows it, in ``tests/data/deviations``.
        predicts: Beginnings of those in which it leaves no choice of what is stated.
        whole: Whether it is about the value that is compared, not about the links and
            joints in which a difference of that arises.
    """

    id: str
    engine: str
    cause: str
    checks: tuple[str, ...]
    applies: Condition
    file: str
    predicts: tuple[str, ...] = ()
    whole: bool = False


def explain(case: DeviationCase, *, whole: bool = False) -> Deviation | None:
    """Find what accounts for a departure in a part, or in the value compared."""
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


def _of(  # noqa: PLR0913, PLR0917  a row of the table below
    readers: str,
    name: str,
    does: str,
    checks: tuple[str, ...],
    applies: Condition,
    file: str,
    *,
    predicts: tuple[str, ...] = (),
    whole: bool = False,
) -> tuple[Deviation, ...]:
    """What several readers do alike, one by one."""
    return tuple(
        Deviation(
            f"{reader}-{name}",
            reader,
            f"{_TITLES.get(reader, reader.title())} {does}.",
            checks,
            applies,
            file,
            predicts,
            whole,
        )
        for reader in readers.split()
    )


_LIMIT_DEVIATIONS = (
    *_of(
        "mujoco",
        "empty-range",
        "reads limits that are both zero as no limits",
        _LIMITS,
        given.about_joints(given.no_range),
        "zero-range",
    ),
    *_of(
        "mujoco",
        "one-sided-range",
        "reads a <limit> that gives only one bound as no limits",
        _LIMITS,
        given.about_joints(given.one_sided),
        "upper-bound-alone",
    ),
    *_of(
        "drake newton",
        "one-sided-range",
        "reads a bound that a <limit> lacks as none, not as zero",
        _LIMITS,
        given.about_joints(given.open_sided),
        "upper-bound-alone",
    ),
    *_of(
        "pybullet",
        "no-bounds",
        "reads a <limit> without bounds as no limits",
        _LIMITS,
        given.about_joints(given.no_range),
        "absent-bounds",
    ),
    *_of(
        "mujoco",
        "reversed-range",
        "reads a lower limit above the upper one as no limits",
        _LIMITS,
        given.about_joints(given.reversed_limits),
        "reversed-limits",
    ),
    *_of(
        "pybullet",
        "reversed-range",
        "says no limits by a lower limit above the upper one",
        _LIMITS,
        given.about_joints(given.reversed_limits),
        "reversed-limits",
    ),
    *_of(
        "drake",
        "reversed-range",
        "dies of a lower limit above the upper one, and is asked without them",
        _LIMITS,
        given.about_joints(given.reversed_limits),
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
        "newton newton-usd",
        "far-range",
        "says no limit by 1e10, and means the same by more",
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
)

_DYNAMICS_DEVIATIONS = (
    *_of(
        "drake",
        "no-friction",
        "has no friction in joints",
        ("dynamics.friction",),
        given.not_read("friction"),
        "joint-friction",
    ),
)

_MASS_DEVIATIONS = (
    *_of(
        "pybullet",
        "no-inertial",
        "gives a link without <inertial> one kilogram",
        _MASS,
        given.invented_kilogram,
        "massless-moving-link",
        predicts=_MASS,
    ),
    *_of(
        "drake",
        "massless-inertia",
        "gives a link that has inertia but no mass one kilogram",
        _MASS,
        given.about_links(given.massless_kilogram),
        "massless-inertia",
    ),
    *_of(
        "mujoco",
        "massless-inertia",
        "counts the inertia of a link that has no mass",
        _MOTION,
        given.counted_massless_inertia,
        "massless-inertia-welded",
        predicts=("dynamics.inertia_matrix", "dynamics.bias"),
        whole=True,
    ),
    *_of(
        "pinocchio",
        "massless-inertia",
        "counts the inertia of a welded link that has no mass",
        _INERTIA,
        given.welded_to_massless_inertia,
        "massless-inertia",
    ),
    *_of(
        "pybullet",
        "impossible-inertia",
        "replaces inertia that no body can have by zero",
        _INERTIA,
        given.about_links(given.zeroed_inertia),
        "implausible-inertia",
    ),
    *_of(
        "drake",
        "impossible-inertia",
        "replaces inertia that no body can have by that of a ball of water",
        _INERTIA,
        given.about_links(given.impossible_inertia),
        "implausible-inertia",
    ),
    *_of(
        "newton newton-usd",
        "thin-inertia",
        "adds a millionth of a kg m^2 to all moments where one is next to zero",
        _INERTIA,
        given.about_links(given.thin_inertia),
        "thin-inertia",
    ),
    *_of(
        "newton newton-usd",
        "impossible-inertia",
        "enlarges inertia that no body can have until one can",
        _INERTIA,
        given.about_links(given.impossible_inertia),
        "implausible-inertia",
    ),
)

_FRAME_DEVIATIONS = (
    *_of(
        "pybullet",
        "long-axis",
        "multiplies the travel of a prismatic joint by its axis' length",
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
        "lets a planar joint slide, but not turn",
        _FRAMES,
        given.is_type(JointType.PLANAR),
        "planar-joint",
    ),
    *_of(
        "drake mujoco newton pybullet",
        "quaternion",
        "ignores quat_xyzw, by which URDF 1.1 turns an origin",
        (*_FRAMES, *_MOTION, "mass."),
        given.turned_by_quaternion,
        "quaternion-origin",
    ),
)

_STRUCTURE_DEVIATIONS = (
    *_of(
        "pybullet",
        "floating-welded",
        "welds floating joints",
        ("structure.types",),
        given.is_type(JointType.FLOATING),
        "floating-joint",
    ),
    *_of(
        "drake",
        "floating-lost",
        "sets the child of a floating joint free in the world, and has no such joint",
        ("structure.joints",),
        given.is_type(JointType.FLOATING),
        "floating-joint",
    ),
    *_of(
        "mujoco",
        "mimic-loop",
        "keeps mimic couplings that form a loop",
        ("structure.mimic", "dynamics.rollout"),
        given.coupled_in_a_loop,
        "mimic-loop",
    ),
    *_of(
        "newton-usd",
        "unlike-mimic",
        "has no coupling of a joint that slides with one that turns",
        ("structure.mimic",),
        given.coupled_to_another_kind,
        "unlike-mimic",
    ),
    *_of(
        "pybullet",
        "malformed-text",
        "reads text that has no exact meaning in its own way",
        ("",),
        given.repaired_text,
        "unexpanded-vector",
    ),
)

_SHAPE_DEVIATIONS = (
    *_of(
        "mujoco",
        "obj-objects",
        "reads the first object of an OBJ file, and no other",
        _SHAPES,
        given.shapes_in_pieces,
        "obj-objects",
    ),
    *_of(
        "mujoco",
        "obj-polygons",
        "cuts polygons of an OBJ file into triangles in a way of its own",
        _SHAPES,
        given.shapes_of_polygons,
        "obj-polygons",
    ),
    *_of(
        "pybullet",
        "shown-colliders",
        "shows the colliders of a link that has no visuals",
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
