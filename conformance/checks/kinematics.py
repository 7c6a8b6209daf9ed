"""Link frames over all configurations, and joint frames at the authored body poses.

An error in one joint displaces every link below it. Each link is graded, but findings
name the joints: the last one on the way from the root whose own motion, child relative
to parent, differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from msgspec import structs

from urdf_usd.conformance.checks.check import Check
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

# Ratios of units of length: powers of ten, inches and feet.
_UNITS = tuple(
    factor**sign for factor in (10.0, 100.0, 1000.0, 1.0 / 0.0254, 1.0 / 0.3048) for sign in (1, -1)
)
# Largest difference of a factor from them, and of positions from it, relative.
_SAME_SCALE = 1e-4


def up(_: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare the root link's Z axis with the up axis [rad]."""
    if actual.up is None:
        return Incomparable(f"{actual.engine} states no up axis")
    x, y, z = actual.up
    amount = math.atan2(math.hypot(x, y), z)
    return Compared(
        (
            Difference(
                item=actual.root,
                subject=f"link {actual.root}",
                amount=amount,
                bound=QUATERNION + ARITHMETIC,
                tolerance=model.tolerance.rotation,
                message=f"the robot is tilted: the Z axis of link {actual.root} is "
                f"{amount:.3g} rad from the up axis",
                expected="0 rad",
                actual=f"{amount:.3g} rad",
            ),
        )
    )


def frames(
    what: Literal["position", "rotation"],
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare positions [m] or rotations [rad] of link frames."""
    ours, theirs = expected.frames, actual.frames
    if ours is None or theirs is None:
        missing = expected if ours is None else actual
        return Incomparable(f"{missing.engine} states no frames")
    unit = "m" if what == "position" else "rad"
    labels = ours.labels or theirs.labels
    links = shared_links(ours, theirs, model)
    values = (distances if what == "position" else turns)(
        motions_of(ours, links), motions_of(theirs, links)
    )
    differences = []
    for name, column, worst in zip(
        links, values.T.tolist(), values.argmax(axis=0).tolist(), strict=True
    ):
        # NaN means that the engine has not placed the link.
        amount = column[worst]
        label = labels[worst] if labels else f"configuration {worst}"
        differences.append(
            Difference(
                item=name,
                subject=f"link {name}",
                amount=amount if math.isfinite(amount) else math.inf,
                bound=getattr(model.bounds[name], what),
                tolerance=getattr(model.tolerance, what),
                message=f"link {name} differs by {amount:.3g} {unit} at {label!r}",
                configuration=label,
            )
        )
    if all(difference.grade is Grade.EXACT for difference in differences):
        return Compared(tuple(differences))
    if what == "position" and (factor := _scale(ours, theirs, links)):
        return _scaled(tuple(differences), factor)
    faults = joint_errors(expected, actual, model)
    return _traced(tuple(differences), faults, model)


def _scale(ours: Frames, theirs: Frames, links: Sequence[str]) -> float | None:
    """Return the factor of all positions at zero, if it is one between units."""
    here, there = (
        one.positions[0, [one.links.index(link) for link in links]] for one in (ours, theirs)
    )
    length = float(np.linalg.norm(here))
    factor = float((here * there).sum()) / length**2 if length else 1.0
    rest = float(np.linalg.norm(there - factor * here))
    is_unit = any(math.isclose(factor, one, rel_tol=_SAME_SCALE) for one in _UNITS)
    return factor if is_unit and rest <= _SAME_SCALE * factor * length else None


def _scaled(differences: tuple[Difference, ...], factor: float) -> Compared:
    """Report lengths in another unit once, and no joint."""
    worst = max(differences, key=lambda difference: difference.severity)
    message = (
        f"all positions are {factor:.6g} times those of the URDF: in the USD, "
        "metersPerUnit or a scale of a prim is wrong"
    )
    one = structs.replace(worst, subject="robot", message=message)
    return Compared(differences, reported=(one,))


def _traced(
    differences: tuple[Difference, ...],
    faults: Mapping[str, str],
    model: ToleranceModel,
) -> Compared:
    """Trace every displaced link to the joints that displace it."""
    traced = []
    behind: dict[str, list[Difference]] = {}
    reported = []
    for difference in differences:
        if difference.grade is Grade.EXACT:
            traced.append(difference)
            continue
        chain = [joint.name for joint in model.chain(difference.item)]
        causes = tuple(name for name in chain if name in faults)
        moved = structs.replace(difference, traces=causes or (difference.item,))
        traced.append(moved)
        if causes:
            behind.setdefault(causes[-1], []).append(moved)
        else:
            reported.append(moved)
    for joint, links in behind.items():
        worst = max(links, key=lambda difference: difference.severity)
        more = f", and {len(links) - 1} more below it" if len(links) > 1 else ""
        message = f"joint {joint}: {faults[joint]}; {worst.message}{more}"
        reported.append(structs.replace(worst, subject=f"joint {joint}", message=message))
    return Compared(tuple(traced), reported=tuple(reported))


def _joins_bodies(observation: Observation) -> bool:
    body = {link.name: link.body for link in observation.links}
    return any(body.get(joint.parent) != body.get(joint.child) for joint in observation.joints)


def assembly(
    what: Literal["position", "rotation"],
    _: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare both frames of each joint at the authored poses [m or rad].

    A gap of a joint that the URDF does not have, which fixes the base, moves the robot.
    """
    if not actual.assembly:
        if _joins_bodies(actual):
            return Incomparable(f"{actual.engine} states no authored body poses")
        return Compared((), note="no joint connects two bodies")
    unit = "m" if what == "position" else "rad"
    joint_named = {joint.name: joint for joint in model.joint_to.values()}
    differences = []
    for gap in actual.assembly:
        joint = joint_named.get(gap.joint)
        ends = (joint.parent, joint.child) if joint else ()
        amount = getattr(gap, what)
        if joint is None and not amount:
            continue
        bounds = [getattr(one, what) for one in model.bounds.values()]
        bound = (
            sum(getattr(model.bounds[link], what) for link in ends)
            if ends
            else max(bounds, default=0.0)
        )
        differences.append(
            Difference(
                item=gap.joint,
                subject=f"joint {gap.joint}",
                amount=amount,
                bound=bound,
                tolerance=getattr(model.tolerance, what),
                message=f"joint {gap.joint}: its frames in parent and child are "
                f"{amount:.3g} {unit} apart at the authored body poses",
                expected=f"0 {unit}",
                actual=f"{amount:.3g} {unit}",
            )
        )
    return Compared(tuple(differences))


KINEMATICS_CHECKS = (
    Check(
        "kinematics.position",
        "positions of link frames",
        "m",
        Quantity.FRAMES,
        partial(frames, "position"),
        "Origin of every link frame relative to the root link, over all configurations: zero, "
        "both limits, and samples within the limits.",
    ),
    Check(
        "kinematics.rotation",
        "rotations of link frames",
        "rad",
        Quantity.FRAMES,
        partial(frames, "rotation"),
        "Orientation of every link frame relative to the root link, over all configurations.",
    ),
    Check(
        "kinematics.up",
        "up axis",
        "rad",
        Quantity.FRAMES,
        up,
        "Angle between the Z axis of the root link, at its authored pose, and the up axis of the "
        "stage: gravity acts along -Z of a URDF's root.",
        usd_alone=True,
    ),
    Check(
        "kinematics.assembly.position",
        "joint anchors match body positions",
        "m",
        Quantity.FRAMES,
        partial(assembly, "position"),
        "Distance between the two frames of a joint at the authored poses of the bodies: a solver"
        " closes the gap in its first step.",
        usd_alone=True,
    ),
    Check(
        "kinematics.assembly.rotation",
        "joint frames match body orientations",
        "rad",
        Quantity.FRAMES,
        partial(assembly, "rotation"),
        "Angle between the two frames of a joint at the authored poses of the bodies.",
        usd_alone=True,
    ),
)
