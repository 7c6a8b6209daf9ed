"""Known departures of URDF readers from the specification, each with a minimal file.

A reader that stands alone is not evidence against the USD. What it is known to do is
listed here, with the circumstance under which it does it; whatever else it does is
called unexplained, and counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conformance.comparisons.kinematics import travel_factor
from conformance.groups import tensor_of
from conformance.observation import JointType

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.observation import (
        JointObservation,
        LinkObservation,
        Observation,
    )

_LIMITS = ("limits.lower", "limits.upper", "structure.types")
_MASS = ("mass.link.", "mass.group.", "mass.total")
_FRAMES = ("kinematics.position", "kinematics.rotation")
UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A part of a robot in which a reader departs from the specification.

    Attributes:
        check: Identifier of the check in which it shows.
        part: Name of the link or joint.
        spec: What the specification says.
        stated: What the reader says.
    """

    check: str
    part: str
    spec: Observation
    stated: Observation

    @property
    def joints(self) -> tuple[JointObservation, JointObservation] | None:
        """The joint of this name on both sides."""
        ours = [joint for joint in self.spec.joints if joint.name == self.part]
        theirs = [joint for joint in self.stated.joints if joint.name == self.part]
        return (ours[0], theirs[0]) if ours and theirs else None

    @property
    def links(self) -> tuple[LinkObservation, LinkObservation] | None:
        """The link of this name on both sides."""
        ours = [link for link in self.spec.links if link.name == self.part]
        theirs = [link for link in self.stated.links if link.name == self.part]
        return (ours[0], theirs[0]) if ours and theirs else None


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that a reader is known to do.

    Attributes:
        id: Stable identifier.
        witness: The reader.
        cause: What it does, in one sentence.
        checks: Beginnings of the identifiers of the checks in which it shows.
        applies: Whether the circumstance is given.
        file: Stem of the minimal file that shows it, in ``tests/data/deviations``.
    """

    id: str
    witness: str
    cause: str
    checks: tuple[str, ...]
    applies: Callable[[Case], bool]
    file: str


def explain(case: Case) -> Deviation | None:
    """Find the known deviation that accounts for a departure, if there is one."""
    return next(
        (
            deviation
            for deviation in DEVIATIONS
            if deviation.witness == case.stated.witness
            and case.check.startswith(deviation.checks)
            and deviation.applies(case)
        ),
        None,
    )


def _about_joints(
    test: Callable[[JointObservation, JointObservation], bool],
) -> Callable[[Case], bool]:
    def applies(case: Case) -> bool:
        joints = case.joints
        return joints is not None and test(*joints)

    return applies


def _about_links(
    test: Callable[[LinkObservation, LinkObservation], bool],
) -> Callable[[Case], bool]:
    def applies(case: Case) -> bool:
        links = case.links
        return links is not None and test(*links)

    return applies


def _unlimited(joint: JointObservation) -> bool:
    return joint.lower in (None, -math.inf) and joint.upper in (None, math.inf)


def _limits(joint: JointObservation) -> tuple[float, float]:
    return (
        -math.inf if joint.lower is None else joint.lower,
        math.inf if joint.upper is None else joint.upper,
    )


def _no_range(ours: JointObservation, theirs: JointObservation) -> bool:
    return _limits(ours) == (0.0, 0.0) and _unlimited(theirs)


def _one_sided(ours: JointObservation, theirs: JointObservation) -> bool:
    return _limits(ours).count(0.0) == 1 and _unlimited(theirs)


def _reversed(ours: JointObservation, theirs: JointObservation) -> bool:
    lower, upper = _limits(ours)
    return lower > upper and _unlimited(theirs)


def _bounded_continuous(ours: JointObservation, theirs: JointObservation) -> bool:
    return ours.type is JointType.CONTINUOUS and not _unlimited(theirs)


def _is(joint_type: JointType) -> Callable[[Case], bool]:
    return _about_joints(lambda ours, _: ours.type is joint_type)


def _absent_is_zero(field: str) -> Callable[[Case], bool]:
    return _about_joints(
        lambda ours, theirs: (
            getattr(ours, field) is None and getattr(theirs, field) == 0.0
        )
    )


def _zero_is_absent(field: str) -> Callable[[Case], bool]:
    return _about_joints(
        lambda ours, theirs: (
            getattr(ours, field) == 0.0 and getattr(theirs, field) is None
        )
    )


def _one_kilogram(case: Case) -> bool:
    return case.part in case.stated.invented


def _repaired(case: Case) -> bool:
    return case.part in case.spec.repaired


def _turned_by_quaternion(case: Case) -> bool:
    return case.part in case.spec.quaternions


def _refused_tensor(ours: LinkObservation, theirs: LinkObservation) -> bool:
    """A tensor that no body has, and zero in its place."""
    if not ours.mass or not theirs.mass:
        return False
    if ours.mass.inertia is None or theirs.mass.inertia is None:
        return False
    a, b, c = np.linalg.eigvalsh(tensor_of(ours.mass.inertia))
    return bool((a < 0 or a + b < c) and not any(theirs.mass.inertia))


def _long_axis(case: Case) -> bool:
    joints = case.joints
    if joints is None or joints[0].type is not JointType.PRISMATIC:
        return False
    factor = travel_factor(joints[0], case.spec, case.stated)
    return factor is not None and abs(factor - 1) > 1e-6  # noqa: PLR2004  rounding


DEVIATIONS = (
    Deviation(
        "mujoco-empty-range",
        "mujoco",
        "MuJoCo reads limits that are both zero as no limits.",
        _LIMITS,
        _about_joints(_no_range),
        "zero-range",
    ),
    Deviation(
        "mujoco-one-sided-range",
        "mujoco",
        "MuJoCo reads a <limit> that gives only one bound as no limits.",
        _LIMITS,
        _about_joints(_one_sided),
        "upper-bound-alone",
    ),
    Deviation(
        "mujoco-reversed-range",
        "mujoco",
        "MuJoCo reads a lower limit above the upper one as no limits.",
        _LIMITS,
        _about_joints(_reversed),
        "reversed-limits",
    ),
    Deviation(
        "mujoco-zero-effort",
        "mujoco",
        "MuJoCo reads an effort limit of zero as no limit.",
        ("limits.effort",),
        _zero_is_absent("effort"),
        "zero-effort",
    ),
    Deviation(
        "mujoco-absent-damping",
        "mujoco",
        "MuJoCo has no word for absent damping and says zero.",
        ("dynamics.damping",),
        _absent_is_zero("damping"),
        "zero-effort",
    ),
    Deviation(
        "mujoco-absent-friction",
        "mujoco",
        "MuJoCo has no word for absent friction and says zero.",
        ("dynamics.friction",),
        _absent_is_zero("friction"),
        "zero-effort",
    ),
    Deviation(
        "pybullet-no-inertial",
        "pybullet",
        "PyBullet gives a link without <inertial> one kilogram.",
        _MASS,
        _one_kilogram,
        "massless-moving-link",
    ),
    Deviation(
        "pybullet-impossible-inertia",
        "pybullet",
        "PyBullet replaces inertia that no body can have by zero.",
        ("mass.link.inertia", "mass.group."),
        _about_links(_refused_tensor),
        "implausible-inertia",
    ),
    Deviation(
        "pybullet-no-bounds",
        "pybullet",
        "PyBullet reads a <limit> without bounds as no limits.",
        _LIMITS,
        _about_joints(_no_range),
        "absent-bounds",
    ),
    Deviation(
        "pybullet-reversed-range",
        "pybullet",
        "PyBullet says no limits by a lower limit above the upper one.",
        _LIMITS,
        _about_joints(_reversed),
        "reversed-limits",
    ),
    Deviation(
        "pybullet-continuous-range",
        "pybullet",
        "PyBullet reports the bounds of a continuous joint, which has none.",
        _LIMITS,
        _about_joints(_bounded_continuous),
        "continuous-with-bounds",
    ),
    Deviation(
        "pybullet-absent-effort",
        "pybullet",
        "PyBullet reads an absent effort limit as zero.",
        ("limits.effort",),
        _absent_is_zero("effort"),
        "absent-effort",
    ),
    Deviation(
        "pybullet-absent-velocity",
        "pybullet",
        "PyBullet reads an absent velocity limit as zero.",
        ("limits.velocity",),
        _absent_is_zero("velocity"),
        "absent-effort",
    ),
    Deviation(
        "pybullet-absent-damping",
        "pybullet",
        "PyBullet has no word for absent damping and says zero.",
        ("dynamics.damping",),
        _absent_is_zero("damping"),
        "zero-effort",
    ),
    Deviation(
        "pybullet-absent-friction",
        "pybullet",
        "PyBullet has no word for absent friction and says zero.",
        ("dynamics.friction",),
        _absent_is_zero("friction"),
        "zero-effort",
    ),
    Deviation(
        "pybullet-long-axis",
        "pybullet",
        "PyBullet multiplies the travel of a prismatic joint by its axis' length.",
        _FRAMES,
        _long_axis,
        "axis-length",
    ),
    Deviation(
        "pybullet-floating-welded",
        "pybullet",
        "PyBullet welds floating joints.",
        ("structure.types",),
        _is(JointType.FLOATING),
        "floating-joint",
    ),
    Deviation(
        "pybullet-malformed-text",
        "pybullet",
        "PyBullet reads text that has no exact meaning in its own way.",
        ("",),
        _repaired,
        "unexpanded-vector",
    ),
    Deviation(
        "mujoco-quaternion",
        "mujoco",
        "MuJoCo ignores quat_xyzw, by which URDF 1.1 turns an origin.",
        (*_FRAMES, "mass."),
        _turned_by_quaternion,
        "quaternion-origin",
    ),
    Deviation(
        "pybullet-quaternion",
        "pybullet",
        "PyBullet ignores quat_xyzw, by which URDF 1.1 turns an origin.",
        (*_FRAMES, "mass."),
        _turned_by_quaternion,
        "quaternion-origin",
    ),
)
