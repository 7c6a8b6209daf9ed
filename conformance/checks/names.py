"""Presence and names of links and joints."""

from __future__ import annotations

import math
from collections import Counter

from urdf_usd.conformance.observation.robot import (
    Base,
    JointObservation,
    JointType,
    Observation,
)
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Description,
    Difference,
    ToleranceModel,
)


def links(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare the names of links.

    A surplus Xform without a body may hold shapes or sensors; only a surplus body is a
    difference.
    """
    ours = dict.fromkeys(link.name for link in expected.links)
    theirs = {
        link.name
        for link in actual.links
        if link.name in ours or link.mass or link.body == link.name
    }
    called = dict(actual.renamed)
    return Compared(
        tuple(
            _presence("link", name, expected=name in ours, actual=name in theirs)
            if f"link {name}" not in called
            else _lost_name("link", name, called[f"link {name}"])
            for name in dict.fromkeys(
                (*(link.name for link in expected.links), *sorted(theirs))
            )
        )
    )


def joints(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare the names of joints.

    A fixed joint may be expressed by one body instead, or by two frames without a body.
    A fixed joint between the base and the world is covered by the check of the base.
    """
    ours = {joint.name: joint for joint in expected.joints}
    theirs = {joint.name: joint for joint in actual.joints}
    times = Counter(joint.name for joint in actual.joints)
    called = dict(actual.renamed)
    differences = []
    for name in dict.fromkeys((*ours, *sorted(theirs))):
        here, there = ours.get(name), theirs.get(name)
        if (here and not there and _welded_otherwise(here, actual)) or (
            there
            and not here
            and (_welded_otherwise(there, expected) or _holds_base(there, expected))
        ):
            continue
        if times[name] > 1:
            differences.append(_repeated(name, times[name]))
            continue
        if here and f"joint {name}" in called:
            differences.append(_lost_name("joint", name, called[f"joint {name}"]))
            continue
        differences.append(
            _presence("joint", name, expected=bool(here), actual=bool(there))
        )
    return Compared(tuple(differences))


def _lost_name(kind: str, name: str, called: str) -> Difference:
    return Difference(
        item=name,
        subject=f"{kind} {name}",
        amount=math.inf,
        describe=lambda: Description(
            f"{kind} {name} is renamed to {called!r}; matched by position in the tree",
            expected=name,
            actual=called,
        ),
    )


def _repeated(name: str, times: int) -> Difference:
    return Difference(
        item=name,
        subject=f"joint {name}",
        amount=math.inf,
        describe=lambda: Description(
            f"joint {name} exists {times} times",
            expected="once",
            actual=f"{times} times",
        ),
    )


def _welded_otherwise(joint: JointObservation, observation: Observation) -> bool:
    """Whether one body carries both links of a fixed joint, or the world does."""
    body = {link.name: link.body for link in observation.links}
    if (
        joint.type is not JointType.FIXED
        or not body.keys() >= {joint.parent, joint.child}
        or body[joint.parent] != body[joint.child]
    ):
        return False
    # None is the world, or unknown if the engine states no body of any link.
    carried = body[joint.parent] is not None
    return carried or any(body.values()) or observation.base is Base.STATIC


def _holds_base(joint: JointObservation, expected: Observation) -> bool:
    """Whether a joint fixes the root to something that is no link of the robot."""
    names = {link.name for link in expected.links}
    return (
        joint.type is JointType.FIXED
        and joint.child == expected.root
        and joint.parent not in names
    )


def _presence(kind: str, name: str, *, expected: bool, actual: bool) -> Difference:
    how = "is not in the URDF" if actual else "is missing"
    return Difference(
        item=name,
        subject=f"{kind} {name}",
        amount=0.0 if expected == actual else math.inf,
        describe=lambda: Description(
            f"{kind} {name} {how}",
            expected="present" if expected else "absent",
            actual="present" if actual else "absent",
        ),
    )
