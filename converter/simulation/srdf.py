"""SRDF: disabled collision pairs, groups of joints and named poses.

The format is that of MoveIt (http://wiki.ros.org/srdf). Elements besides these are
ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.urdf.xml import Element, parse_markup


class GroupState(Struct, frozen=True):
    """A named pose.

    Attributes:
        group: Name of the group of joints.
        name: Name of the pose.
        positions: Position by joint [rad or m].
        location: Of its element.
    """

    group: str
    name: str
    positions: Mapping[str, float]
    location: Location


class Srdf(Struct, frozen=True):
    """What an SRDF states.

    Attributes:
        disabled: Pairs of links that do not collide, and their elements.
        muted: Links that collide with no other, and their elements.
        enabled: Pairs that collide in spite of that.
        states: Named poses.
    """

    disabled: tuple[tuple[str, str, Location], ...]
    muted: tuple[tuple[str, Location], ...]
    enabled: tuple[tuple[str, str, Location], ...]
    states: tuple[GroupState, ...]


def read_srdf(data: bytes, file: str, notes: list[Diagnostic]) -> Srdf:
    """Read an SRDF.

    Args:
        data: Its content.
        file: Its path, for locations.
        notes: Receives diagnostics.

    Raises:
        SourceError: It is no SRDF, or a position is no number.
    """
    root = parse_markup(data, file, notes)
    if root.tag != "robot":
        message = f"the root element is <{root.tag}>, not <robot> as in an SRDF"
        raise SourceError((Diagnostic("srdf-invalid", message, root.location),))
    return Srdf(
        disabled=tuple(_pairs(root, "disable_collisions")),
        muted=tuple(
            (child.get("link") or "", child.location)
            for child in root.children
            if child.tag == "disable_default_collisions"
        ),
        enabled=tuple(_pairs(root, "enable_collisions")),
        states=tuple(_state(one) for one in root.children if one.tag == "group_state"),
    )


def _pairs(root: Element, tag: str) -> Iterator[tuple[str, str, Location]]:
    for child in root.children:
        if child.tag == tag:
            one, other = (child.get(name) or "" for name in ("link1", "link2"))
            yield one, other, child.location


def _state(element: Element) -> GroupState:
    positions = {}
    for child in element.children:
        # Joints with several axes have several numbers.
        values = (child.get("value") or "").split()
        if child.tag != "joint" or len(values) != 1:
            continue
        try:
            positions[child.get("name") or ""] = float(values[0])
        except ValueError:
            message = f"{values[0]!r} is no position"
            raise SourceError((Diagnostic("srdf-invalid", message, child.location),)) from None
    return GroupState(
        element.get("group") or "",
        element.get("name") or "",
        positions,
        element.location,
    )


def disabled_pairs(
    srdf: Srdf, links: Mapping[str, object], notes: list[Diagnostic]
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a robot's links that do not collide, each sorted.

    Args:
        srdf: The SRDF.
        links: The robot's links by name; others are reported once each.
        notes: Receives diagnostics.
    """
    named = [
        *((name, place) for *pair, place in srdf.disabled for name in pair),
        *((name, place) for *pair, place in srdf.enabled for name in pair),
        *srdf.muted,
    ]
    missing: dict[str, Location] = {}
    for name, place in named:
        if name not in links:
            missing.setdefault(name, place)
    for name, place in missing.items():
        message = f"the robot has no link {name!r}; its collision pairs are left out"
        notes.append(Diagnostic("description-unmatched", message, place))
    pairs = {_sorted(one, other) for one, other, _ in srdf.disabled}
    pairs |= {_sorted(name, other) for name, _ in srdf.muted for other in links}
    pairs -= {_sorted(one, other) for one, other, _ in srdf.enabled}
    known = (pair for pair in pairs if pair[0] != pair[1] and links.keys() >= set(pair))
    return tuple(sorted(known))


def _sorted(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
