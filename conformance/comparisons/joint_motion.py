"""How joints move their child on two sides, and what is wrong with those that depart.

A motion is the pose of a link relative to the nearest link above it that both sides
state, over all configurations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from conformance.observation import JointType
from conformance.tolerance import ARITHMETIC, QUATERNION, RELATIVE, ROUNDINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conformance.comparison import Yardstick
    from conformance.observation import Frames, JointObservation, Observation

# Two links in a row are held by few stored numbers; a joint is only blamed for more
# than four times what rounding does to them.
_BLAME = 4.0
# Pairs of readings of one robot, about which several checks ask.
_KEPT = 32


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Poses of a link over K configurations.

    Attributes:
        position: (K, 3) origin [m].
        rotation: (K, 3, 3).
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]


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


def shared_links(ours: Frames, theirs: Frames, yardstick: Yardstick) -> tuple[str, ...]:
    """Links of the URDF that both sides place."""
    stated = set(theirs.links) & set(yardstick.bounds)
    return tuple(name for name in ours.links if name in stated)


def motion_of(frames: Frames, link: str) -> Motion:
    """Poses of one link that the frames have."""
    column = frames.links.index(link)
    return Motion(frames.positions[:, column], frames.rotations[:, column])


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
            _relative(motion_of(frames, joint.parent), motion_of(frames, joint.child))
        ).position
        for frames in (ours.frames, theirs.frames)
    )
    return _travel(here, there)


def joint_faults(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> dict[str, str]:
    """Say what is wrong with each joint whose own motion departs."""
    return dict(_joint_faults(expected, actual, yardstick))


@lru_cache(maxsize=_KEPT)
def _joint_faults(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> tuple[tuple[str, str], ...]:
    ours, theirs = expected.frames, actual.frames
    if ours is None or theirs is None:
        return ()
    precision = max(expected.precision, actual.precision)
    shared = set(shared_links(ours, theirs, yardstick))
    found = {}
    for link, joint in yardstick.joint_to.items():
        if link not in shared:
            continue
        chain = [step.parent for step in yardstick.chain(link)]
        above = next((name for name in reversed(chain) if name in shared), None)
        if above is None:
            continue
        here = _relative(motion_of(ours, above), motion_of(ours, link))
        there = _relative(motion_of(theirs, above), motion_of(theirs, link))
        slack = _slack(here, motion_of(ours, link), precision)
        if fault := _fault(joint, here, there, slack):
            found[joint.name] = fault
    return tuple(found.items())


def joints_at_fault(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> tuple[str, ...]:
    """Name the joints whose own motion, child relative to parent, departs."""
    return tuple(joint_faults(expected, actual, yardstick))


def _relative(parent: Motion, child: Motion) -> Motion:
    inverse = np.swapaxes(parent.rotation, 1, 2)
    offset = (child.position - parent.position)[:, :, None]
    return Motion((inverse @ offset)[:, :, 0], inverse @ child.rotation)


def _slack(relative: Motion, in_root: Motion, precision: float) -> tuple[float, float]:
    """What rounding may do to a joint's motion: [m], [rad].

    Both ends are stated in the root's frame, so that the difference of two large
    positions has their rounding; both may hang on one body, each with its own offset
    from there, so that the difference of two stored positions has theirs.
    """
    reach = float(np.linalg.norm(relative.position, axis=1).max())
    distance = float(np.linalg.norm(in_root.position, axis=1).max())
    return (
        _BLAME * (RELATIVE + 2 * QUATERNION) * reach
        + _BLAME * RELATIVE * distance
        + ROUNDINGS * precision * distance
        + ARITHMETIC,
        _BLAME * 2 * QUATERNION + ROUNDINGS * precision + ARITHMETIC,
    )


def _fault(
    joint: JointObservation,
    here: Motion,
    there: Motion,
    slack: tuple[float, float],
) -> str | None:
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


def _same(here: Motion, there: Motion, slack: tuple[float, float]) -> bool:
    shift = np.linalg.norm(here.position - there.position, axis=1).max()
    turn = angles(here.rotation, there.rotation).max()
    return bool(shift <= slack[0] and turn <= slack[1])


def _from_zero(motion: Motion) -> Motion:
    """Express a motion in the child's own frame at zero."""
    zero = motion.rotation[0].T
    return Motion(
        (motion.position - motion.position[0]) @ zero.T, zero @ motion.rotation
    )


def _motion_fault(
    joint: JointObservation,
    ours: Motion,
    theirs: Motion,
    slack: tuple[float, float],
) -> str:
    still = Motion(
        np.zeros_like(ours.position), np.tile(np.eye(3), (len(ours.rotation), 1, 1))
    )
    if _same(theirs, still, slack):
        return "it does not move"
    if _same(ours, still, slack):
        return "it moves although it should not"
    # One axis, one number: the inverse motion is the motion about the reversed axis.
    if joint.type is not JointType.PRISMATIC:
        backwards = Motion(-ours.position, np.swapaxes(ours.rotation, 1, 2))
    else:
        backwards = Motion(-ours.position, ours.rotation)
    if _same(theirs, backwards, slack):
        return "its axis is reversed"
    if joint.type is JointType.PRISMATIC:
        factor = _travel(ours.position, theirs.position)
        scaled = Motion(factor * ours.position, ours.rotation)
        if _same(theirs, scaled, slack):
            return f"it travels {factor:.4g} times as far"
    return "its axis or its kind of motion differs"


def _travel(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    return float(np.sum(ours * theirs) / np.sum(ours * ours)) if np.any(ours) else 1.0
