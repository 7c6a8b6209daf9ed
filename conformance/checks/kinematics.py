"""Link frames over all configurations, and joint frames at the authored body poses.

An error in one joint displaces every link below it. Each link is graded, but findings name the
joints: the last one on the way from the root whose own motion, child relative to parent, differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from msgspec import structs

from urdf_usd.conformance.checks.check import CheckGroup, stated
from urdf_usd.conformance.checks.joint_motion import (
    distances,
    joint_errors,
    motions_of,
    shared_links,
    turns,
)
from urdf_usd.conformance.observation.robot import Frames, Observation, Quantity
from urdf_usd.conformance.tolerance.bounds import ARITHMETIC, QUATERNION
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Incomparable,
    ToleranceModel,
)
from urdf_usd.reports.records.record import Difference, Grade

_Aspect: TypeAlias = Literal["position", "rotation"]

_UNIT = {"position": "m", "rotation": "rad"}
# Ratios of units of length: powers of ten, inches and feet.
_LENGTHS = tuple(
    factor**sign for factor in (10.0, 100.0, 1000.0, 1.0 / 0.0254, 1.0 / 0.3048) for sign in (1, -1)
)
# Largest difference of a factor from them, and of positions from it, relative.
_SAME_SCALE = 1e-4

KINEMATICS = CheckGroup()


@KINEMATICS.check("kinematics.position", "positions of link frames", Quantity.FRAMES, "m")
def _positions(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Origin of every link frame relative to the root link, over all configurations: zero, both
    limits, and samples within the limits.
    """
    return _frames("position", expected, actual, model)


@KINEMATICS.check("kinematics.rotation", "rotations of link frames", Quantity.FRAMES, "rad")
def _rotations(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Orientation of every link frame relative to the root link, over all configurations."""
    return _frames("rotation", expected, actual, model)


def _frames(
    aspect: _Aspect, expected: Observation, actual: Observation, model: ToleranceModel
) -> Comparison:
    if expected.frames is None or actual.frames is None:
        missing = expected if expected.frames is None else actual
        return Incomparable(f"{missing.engine} states no frames")
    labels = expected.frames.labels or actual.frames.labels
    links = shared_links(expected.frames, actual.frames, model)
    sides = motions_of(expected.frames, links), motions_of(actual.frames, links)
    amounts = distances(*sides) if aspect == "position" else turns(*sides)
    differences = []
    for name, column, worst in zip(links, amounts.T, amounts.argmax(axis=0).tolist(), strict=True):
        # NaN means that the engine has not placed the link.
        amount = float(column[worst])
        label = labels[worst] if labels else f"configuration {worst}"
        differences.append(
            Difference(
                item=name,
                subject=f"link {name}",
                amount=amount if math.isfinite(amount) else math.inf,
                bound=getattr(model.bounds[name], aspect),
                tolerance=getattr(model.tolerance, aspect),
                message=f"link {name} differs by {amount:.3g} {_UNIT[aspect]} at {label!r}",
                configuration=label,
            )
        )
    if all(difference.grade is Grade.EXACT for difference in differences):
        return Compared(tuple(differences))
    if aspect == "position" and (factor := _scale(expected.frames, actual.frames, links)):
        # Lengths in another unit are reported once, and no joint.
        message = (
            f"all positions are {factor:.6g} times those of the URDF: in the USD, "
            "metersPerUnit or a scale of a prim is wrong"
        )
        worst_one = max(differences, key=lambda difference: difference.severity)
        scaled = structs.replace(worst_one, subject="robot", message=message)
        return Compared(tuple(differences), reported=(scaled,))
    return _traced(differences, joint_errors(expected, actual, model), model)


def _scale(expected: Frames, actual: Frames, links: Sequence[str]) -> float | None:
    """Return the factor of all positions at zero, if it is one between units."""
    origins, found = (
        side.positions[0, [side.links.index(link) for link in links]] for side in (expected, actual)
    )
    length = float(np.linalg.norm(origins))
    factor = float((origins * found).sum()) / length**2 if length else 1.0
    rest = float(np.linalg.norm(found - factor * origins))
    is_unit = any(math.isclose(factor, one, rel_tol=_SAME_SCALE) for one in _LENGTHS)
    return factor if is_unit and rest <= _SAME_SCALE * factor * length else None


def _traced(
    differences: Sequence[Difference], errors: Mapping[str, str], model: ToleranceModel
) -> Compared:
    """Trace every displaced link to the joints that displace it."""
    traced, reported = [], []
    displaced_by: dict[str, list[Difference]] = {}
    for difference in differences:
        if difference.grade is not Grade.EXACT:
            chain = [joint.name for joint in model.chain(difference.item)]
            causes = tuple(name for name in chain if name in errors)
            difference = structs.replace(difference, traces=causes or (difference.item,))
            if causes:
                displaced_by.setdefault(causes[-1], []).append(difference)
            else:
                reported.append(difference)
        traced.append(difference)
    for joint, links in displaced_by.items():
        worst = max(links, key=lambda difference: difference.severity)
        more = f", and {len(links) - 1} more below it" if len(links) > 1 else ""
        message = f"joint {joint}: {errors[joint]}; {worst.message}{more}"
        reported.append(structs.replace(worst, subject=f"joint {joint}", message=message))
    return Compared(tuple(traced), reported=tuple(reported))


@KINEMATICS.check("kinematics.up", "up axis", Quantity.FRAMES, "rad", usd_alone=True)
def _up(_: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Angle between the Z axis of the root link, at its authored pose, and the up axis of the
    stage: gravity acts along -Z of a URDF's root.
    """
    if actual.up is None:
        return Incomparable(f"{actual.engine} states no up axis")
    x, y, z = actual.up
    amount = math.atan2(math.hypot(x, y), z)
    difference = Difference(
        item=actual.root,
        subject=f"link {actual.root}",
        amount=amount,
        bound=QUATERNION + ARITHMETIC,
        tolerance=model.tolerance.rotation,
        message=f"the robot is tilted: the Z axis of link {actual.root} is "
        f"{amount:.3g} rad from the up axis",
        expected=0,
        actual=stated(amount),
        unit="rad",
    )
    return Compared((difference,))


@KINEMATICS.check(
    "kinematics.assembly.position",
    "joint anchors match body positions",
    Quantity.FRAMES,
    "m",
    usd_alone=True,
)
def _anchors(_: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Distance between the two frames of a joint at the authored poses of the bodies: a solver
    closes the gap in its first step.
    """
    return _assembly("position", actual, model)


@KINEMATICS.check(
    "kinematics.assembly.rotation",
    "joint frames match body orientations",
    Quantity.FRAMES,
    "rad",
    usd_alone=True,
)
def _orientations(_: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Angle between the two frames of a joint at the authored poses of the bodies."""
    return _assembly("rotation", actual, model)


def _assembly(aspect: _Aspect, actual: Observation, model: ToleranceModel) -> Comparison:
    if not actual.assembly:
        body = {link.name: link.body for link in actual.links}
        if any(body.get(joint.parent) != body.get(joint.child) for joint in actual.joints):
            return Incomparable(f"{actual.engine} states no authored body poses")
        return Compared((), note="no joint connects two bodies")
    joint_named = {joint.name: joint for joint in model.joint_to.values()}
    bounds = {link: getattr(bound, aspect) for link, bound in model.bounds.items()}
    differences = []
    for gap in actual.assembly:
        joint, amount = joint_named.get(gap.joint), getattr(gap, aspect)
        # A gap of a joint that the URDF does not have, which fixes the base, moves the robot.
        if joint is None and not amount:
            continue
        bound = (
            bounds[joint.parent] + bounds[joint.child]
            if joint
            else max(bounds.values(), default=0.0)
        )
        differences.append(
            Difference(
                item=gap.joint,
                subject=f"joint {gap.joint}",
                amount=amount,
                bound=bound,
                tolerance=getattr(model.tolerance, aspect),
                message=f"joint {gap.joint}: its frames in parent and child are "
                f"{amount:.3g} {_UNIT[aspect]} apart "
                "at the authored body poses",
                expected=0,
                actual=stated(amount),
                unit=_UNIT[aspect],
            )
        )
    return Compared(tuple(differences))
