"""Mass, centre of mass and inertia of links that fixed joints weld, taken together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from conformance.comparison import Compared, Difference
from conformance.comparisons.joint_motion import joints_at_fault
from conformance.comparisons.mass_values import (
    center_difference,
    inertia_difference,
    mass_difference,
)
from conformance.groups import departing, lump, masses_of, weld_depths
from conformance.tolerance import is_pointlike, lump_center_bound, lump_inertia_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.comparison import Comparison, Yardstick
    from conformance.groups import Lump
    from conformance.observation import Observation

_NO_GROUP = "no links with mass are welded"


def masses(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare masses of rigid groups of several links, relative to their own."""
    ours, theirs = masses_of(expected), masses_of(actual)
    differences = []
    for group in _welded(yardstick):
        here, there = (
            sum(stated.mass for name in group if (stated := side.get(name)))
            for side in (ours, theirs)
        )
        differences.append(
            mass_difference(
                "group",
                group[0],
                here,
                there,
                yardstick=yardstick,
                traces=departing(group, ours, theirs, yardstick.tolerance, ("mass",)),
            )
        )
    return Compared(tuple(differences), note=None if differences else _NO_GROUP)


def centers(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare centres of mass of rigid groups, in the frame of their head [m]."""
    aspects = "mass", "center"
    blame = _blame(expected, actual, yardstick)
    differences = []
    for group, ours, theirs in _lumps(expected, actual, yardstick):
        if theirs is None:
            differences.append(_unstated(group[0], actual.witness))
            continue
        differences.append(
            center_difference(
                "group",
                group[0],
                ours.center,
                theirs.center,
                bound=lump_center_bound(ours.parts),
                tolerance=yardstick.tolerance.position,
                traces=blame(group, aspects),
            )
        )
    return Compared(tuple(differences), note=None if differences else _NO_GROUP)


def inertias(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare inertias of rigid groups, relative to their largest moment."""
    aspects = "mass", "center", "inertia"
    blame = _blame(expected, actual, yardstick)
    differences = []
    for group, ours, theirs in _lumps(expected, actual, yardstick):
        if theirs is None:
            differences.append(_unstated(group[0], actual.witness))
            continue
        differences.append(
            inertia_difference(
                "group",
                group[0],
                ours.tensor,
                theirs.tensor,
                mass=ours.mass,
                bound=lump_inertia_bound(ours.parts, ours.center, ours.tensor),
                yardstick=yardstick,
                pointlike=sum(
                    part.mass
                    for part in ours.parts
                    if is_pointlike(part.tensor, part.mass, yardstick.size)
                ),
                traces=blame(group, aspects),
            )
        )
    return Compared(tuple(differences), note=None if differences else _NO_GROUP)


def _welded(yardstick: Yardstick) -> Iterator[tuple[str, ...]]:
    return (group for group in yardstick.groups if len(group) > 1)


def _lumps(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Iterator[tuple[tuple[str, ...], Lump, Lump | None]]:
    """Take the mass of each group together, each side with its own frames.

    The second side is None where it does not state what is needed. A group that has no
    mass on a side has neither centre nor inertia there; its mass is compared.
    """
    joints = tuple(yardstick.joint_to.values())
    for group in _welded(yardstick):
        depths = weld_depths(group, joints)
        ours, theirs = (
            lump(masses_of(side), depths, side.frames) if side.frames else None
            for side in (expected, actual)
        )
        if ours and ours.mass > 0 and (theirs is None or theirs.mass > 0):
            yield group, ours, theirs


def _blame(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]:
    """Return what names the links and welds that make a group depart."""
    ours, theirs = masses_of(expected), masses_of(actual)
    faults = frozenset(joints_at_fault(expected, actual, yardstick))

    def blame(group: tuple[str, ...], aspects: tuple[str, ...]) -> tuple[str, ...]:
        links = departing(group, ours, theirs, yardstick.tolerance, aspects)
        welds = [yardstick.joint_to[child].name for child in group[1:]]
        return links + tuple(name for name in welds if name in faults)

    return blame


def _unstated(head: str, witness: str) -> Difference:
    return Difference(
        item=head,
        subject=f"group {head}",
        amount=math.nan,
        actual="not stated",
        message=f"group {head}: {witness} does not state mass and place of all links",
    )
