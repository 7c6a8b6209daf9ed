"""Link frames over all configurations, and whether bodies stand where joints hold them.

A fault in one joint displaces every link behind it. Each link is graded, but the reader
of a report is told about the joints: the first one on the way from the root whose own
motion, child relative to parent, departs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.comparison import Compared, Difference, Incomparable
from conformance.observation import JointType
from conformance.record import Grade
from conformance.tolerance import ARITHMETIC, QUATERNION, RELATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from conformance.comparison import Comparison, Yardstick
    from conformance.observation import Frames, JointObservation, Observation

# Two links in a row are held by few stored numbers; a joint is only blamed for more
# than four times what rounding does to them.
_BLAME = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class _Motion:
    """A link relative to the nearest link above it that both sides state.

    Attributes:
        position: (K, 3) origin [m].
        rotation: (K, 3, 3).
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]


def positions(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare the origins of link frames [m]."""
    ours, theirs = expected.frames, actual.frames
    if ours is None or theirs is None:
        return _silent(expected, actual)
    return _compare(
        ours,
        theirs,
        yardstick,
        what="position",
        amounts={
            name: np.linalg.norm(
                _at(ours, name).position - _at(theirs, name).position, axis=1
            )
            for name in _shared_links(ours, theirs, yardstick)
        },
    )


def rotations(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare the orientations of link frames [rad]."""
    ours, theirs = expected.frames, actual.frames
    if ours is None or theirs is None:
        return _silent(expected, actual)
    return _compare(
        ours,
        theirs,
        yardstick,
        what="rotation",
        amounts={
            name: angles(_at(ours, name).rotation, _at(theirs, name).rotation)
            for name in _shared_links(ours, theirs, yardstick)
        },
    )


def assembly_positions(
    _: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare where bodies stand with where their joints hold them [m]."""
    return _assembly(actual, yardstick, "position")


def assembly_rotations(
    _: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare how bodies stand with how their joints hold them [rad]."""
    return _assembly(actual, yardstick, "rotation")


def angles(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (K) angles between (K, 3, 3) rotations [rad], exact for tiny ones.

    |A - B| (Frobenius) = 2 sqrt(2) sin(angle / 2); an arc cosine of the trace would
    lose everything below 1e-8.
    """
    distance = np.linalg.norm(first - second, axis=(1, 2))
    halves: NDArray[np.float64] = np.arcsin(np.minimum(distance / math.sqrt(8), 1.0))
    return 2 * halves


def joints_at_fault(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> tuple[str, ...]:
    """Name the joints whose own motion, child relative to parent, departs."""
    if expected.frames is None or actual.frames is None:
        return ()
    return tuple(_faults(expected.frames, actual.frames, yardstick))


def travel_factor(
    joint: JointObservation, ours: Observation, theirs: Observation
) -> float | None:
    """How many times as far a prismatic joint travels on the other side."""
    if ours.frames is None or theirs.frames is None:
        return None
    ends = {joint.parent, joint.child}
    if not ends <= set(ours.frames.links) & set(theirs.frames.links):
        return None
    here, there = (
        _from_zero(
            _relative(_at(frames, joint.parent), _at(frames, joint.child))
        ).position
        for frames in (ours.frames, theirs.frames)
    )
    return _travel(here, there)


def _silent(expected: Observation, actual: Observation) -> Incomparable:
    silent = expected if expected.frames is None else actual
    return Incomparable(f"{silent.witness} states no frames")


def _shared_links(
    ours: Frames, theirs: Frames, yardstick: Yardstick
) -> tuple[str, ...]:
    """Links of the URDF that both sides place."""
    stated = set(theirs.links) & set(yardstick.bounds)
    return tuple(name for name in ours.links if name in stated)


def _at(frames: Frames, link: str) -> _Motion:
    column = frames.links.index(link)
    return _Motion(frames.positions[:, column], frames.rotations[:, column])


def _compare(
    ours: Frames,
    theirs: Frames,
    yardstick: Yardstick,
    *,
    what: str,
    amounts: Mapping[str, NDArray[np.float64]],
) -> Comparison:
    unit = "m" if what == "position" else "rad"
    labels = ours.labels or theirs.labels
    differences = []
    for name, values in amounts.items():
        worst = int(np.argmax(values))
        # A reader that answers with NaN has not placed the link.
        amount = float(values[worst])
        bound = getattr(yardstick.bounds[name], what)
        label = labels[worst] if labels else f"configuration {worst}"
        differences.append(
            Difference(
                item=name,
                subject=f"link {name}",
                amount=amount if math.isfinite(amount) else math.inf,
                bound=bound,
                tolerance=getattr(yardstick.tolerance, what),
                message=f"link {name} is {amount:.3g} {unit} off at {label!r}",
                configuration=label,
            )
        )
    if all(difference.grade is Grade.EXACT for difference in differences):
        return Compared(tuple(differences))
    return _traced(tuple(differences), ours, theirs, yardstick)


def _traced(
    differences: tuple[Difference, ...],
    ours: Frames,
    theirs: Frames,
    yardstick: Yardstick,
) -> Compared:
    """Lead every displaced link back to the joints that displace it."""
    faults = _faults(ours, theirs, yardstick)
    traced = []
    behind: dict[str, list[Difference]] = {}
    told = []
    for difference in differences:
        if difference.grade is Grade.EXACT:
            traced.append(difference)
            continue
        chain = [joint.name for joint in yardstick.chain(difference.item)]
        guilty = tuple(name for name in chain if name in faults)
        moved = replace(difference, traces=guilty or (difference.item,))
        traced.append(moved)
        if guilty:
            behind.setdefault(guilty[-1], []).append(moved)
        else:
            told.append(moved)
    for joint, links in behind.items():
        worst = max(links, key=lambda difference: difference.severity)
        others = f", and {len(links) - 1} more behind it" if len(links) > 1 else ""
        told.append(
            replace(
                worst,
                subject=f"joint {joint}",
                message=f"joint {joint}: {faults[joint]}; {worst.message}{others}",
            )
        )
    return Compared(tuple(traced), told=tuple(told))


def _faults(ours: Frames, theirs: Frames, yardstick: Yardstick) -> dict[str, str]:
    """Say what is wrong with each joint whose own motion departs."""
    shared = set(_shared_links(ours, theirs, yardstick))
    faults = {}
    for link, joint in yardstick.joint_to.items():
        if link not in shared:
            continue
        chain = [step.parent for step in yardstick.chain(link)]
        above = next((name for name in reversed(chain) if name in shared), None)
        if above is None:
            continue
        here = _relative(_at(ours, above), _at(ours, link))
        there = _relative(_at(theirs, above), _at(theirs, link))
        if fault := _fault(joint, here, there):
            faults[joint.name] = fault
    return faults


def _relative(parent: _Motion, child: _Motion) -> _Motion:
    inverse = np.swapaxes(parent.rotation, 1, 2)
    offset = (child.position - parent.position)[:, :, None]
    return _Motion((inverse @ offset)[:, :, 0], inverse @ child.rotation)


def _fault(joint: JointObservation, here: _Motion, there: _Motion) -> str | None:
    reach = float(np.linalg.norm(here.position, axis=1).max())
    angle_slack = _BLAME * 2 * QUATERNION + ARITHMETIC
    slack = (
        _BLAME * (RELATIVE + 2 * QUATERNION) * reach + ARITHMETIC,
        angle_slack,
    )
    if _same(here, there, slack):
        return None
    parts = []
    shift = float(np.linalg.norm(here.position[0] - there.position[0]))
    turn = float(angles(here.rotation[:1], there.rotation[:1])[0])
    if shift > slack[0]:
        parts.append(f"its frame at zero is shifted by {shift:.3g} m")
    if turn > slack[1]:
        parts.append(f"its frame at zero is turned by {turn:.3g} rad")
    ours, theirs = _from_zero(here), _from_zero(there)
    if not _same(ours, theirs, slack):
        parts.append(_motion_fault(joint, ours, theirs, slack))
    return " and ".join(parts)


def _same(here: _Motion, there: _Motion, slack: tuple[float, float]) -> bool:
    shift = np.linalg.norm(here.position - there.position, axis=1).max()
    turn = angles(here.rotation, there.rotation).max()
    return bool(shift <= slack[0] and turn <= slack[1])


def _from_zero(motion: _Motion) -> _Motion:
    """Express a motion in the child's own frame at zero."""
    zero = motion.rotation[0].T
    return _Motion(
        (motion.position - motion.position[0]) @ zero.T, zero @ motion.rotation
    )


def _motion_fault(
    joint: JointObservation,
    ours: _Motion,
    theirs: _Motion,
    slack: tuple[float, float],
) -> str:
    still = _Motion(
        np.zeros_like(ours.position), np.tile(np.eye(3), (len(ours.rotation), 1, 1))
    )
    if _same(theirs, still, slack):
        return "it does not move"
    if _same(ours, still, slack):
        return "it moves although it should not"
    # One axis, one number: the inverse motion is the motion about the reversed axis.
    if joint.type is not JointType.PRISMATIC:
        backwards = _Motion(-ours.position, np.swapaxes(ours.rotation, 1, 2))
    else:
        backwards = _Motion(-ours.position, ours.rotation)
    if _same(theirs, backwards, slack):
        return "its axis is reversed"
    if joint.type is JointType.PRISMATIC:
        factor = _travel(ours.position, theirs.position)
        scaled = _Motion(factor * ours.position, ours.rotation)
        if _same(theirs, scaled, slack):
            return f"it travels {factor:.4g} times as far"
    return "its axis or its kind of motion differs"


def _travel(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    return float(np.sum(ours * theirs) / np.sum(ours * ours)) if np.any(ours) else 1.0


def _joins_bodies(observation: Observation) -> bool:
    body = {link.name: link.body for link in observation.links}
    return any(
        body.get(joint.parent) != body.get(joint.child) for joint in observation.joints
    )


def _assembly(actual: Observation, yardstick: Yardstick, what: str) -> Comparison:
    if not actual.assembly:
        if _joins_bodies(actual):
            return Incomparable(f"{actual.witness} does not say where bodies stand")
        return Compared((), note="no joint holds two bodies together")
    unit = "m" if what == "position" else "rad"
    joint_named = {joint.name: joint for joint in yardstick.joint_to.values()}
    differences = []
    for gap in actual.assembly:
        joint = joint_named.get(gap.joint)
        if joint is None:
            continue
        amount = getattr(gap, what)
        bound = sum(
            getattr(yardstick.bounds[link], what)
            for link in (joint.parent, joint.child)
        )
        differences.append(
            Difference(
                item=joint.name,
                subject=f"joint {joint.name}",
                amount=amount,
                bound=bound,
                tolerance=getattr(yardstick.tolerance, what),
                expected=f"0 {unit}",
                actual=f"{amount:.3g} {unit}",
                message=(
                    f"joint {joint.name}: its frames in parent and child are "
                    f"{amount:.3g} {unit} apart where the bodies stand"
                ),
            )
        )
    return Compared(tuple(differences))
