"""Names of links and joints, and words that USD keeps of a URDF."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from urdf_usd.conformance.checks.check import equality
from urdf_usd.conformance.observation.robot import (
    Base,
    JointObservation,
    JointType,
    Observation,
    Word,
)
from urdf_usd.conformance.tolerance.comparison import Compared, Comparison, ToleranceModel
from urdf_usd.reports.records.record import Difference


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
            for name in dict.fromkeys((*(link.name for link in expected.links), *sorted(theirs)))
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
            message = f"joint {name} exists {times[name]} times"
            actual_count = f"{times[name]} times"
            differences.append(equality(f"joint {name}", False, message, "once", actual_count))
            continue
        if here and f"joint {name}" in called:
            differences.append(_lost_name("joint", name, called[f"joint {name}"]))
            continue
        differences.append(_presence("joint", name, expected=bool(here), actual=bool(there)))
    return Compared(tuple(differences))


def _lost_name(kind: str, name: str, called: str) -> Difference:
    message = f"{kind} {name} is renamed to {called!r}; matched by position in the tree"
    return equality(f"{kind} {name}", False, message, name, called)


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
        joint.type is JointType.FIXED and joint.child == expected.root and joint.parent not in names
    )


def _presence(kind: str, name: str, *, expected: bool, actual: bool) -> Difference:
    how = "is not in the URDF" if actual else "is missing"
    sides = ("present" if side else "absent" for side in (expected, actual))
    return equality(f"{kind} {name}", expected == actual, f"{kind} {name} {how}", *sides)


# float32 keeps 6e-8.
_SAME = 1e-6
# Below a link, what belongs to the joint of which it is the child.
_JOINT = "joint"

_Key = tuple[str, str, bool]


def words(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare numbers and texts that no schema has.

    A USD need not keep them, nor those of shapes that it leaves out: kinds of words
    that it has nowhere are not compared, and of shapes only those that it has.
    """
    ours = _by_owner(expected.words, expected)
    theirs = _by_owner(actual.words, expected)
    lost = {subject for subject, _ in actual.renamed}
    kept = {_kind(name) for subject, name, _ in theirs.keys() & ours.keys()}
    kept |= {_kind(name) for _, name, _ in theirs if "<" in name}
    differences = []
    for key in dict.fromkeys((*ours, *(key for key in theirs if "<" in key[1]))):
        subject, name, of_shape = key
        here, there = ours.get(key, []), theirs.get(key, [])
        if _kind(name) not in kept or subject in lost or (of_shape and not there):
            continue
        same = _are_equal(here, there, part=of_shape)
        texts = [", ".join(map(str, values)) or "nothing" for values in (here, there)]
        message = f"{subject}: {name} is {texts[1]}, not {texts[0]}"
        differences.append(equality(subject, same, message, *texts, item=f"{subject} {name}"))
    note = "the URDF has no such words, or the USD keeps none of them"
    return Compared(tuple(differences), note=None if differences else note)


def _by_owner(words: Sequence[Word], expected: Observation) -> dict[_Key, list[float | str]]:
    """Group values by owner and name, and by whether the owner is a shape."""
    joint_of = {f"link {one.child}": f"joint {one.name}" for one in expected.joints}
    owners = {"robot", *joint_of.values()}
    owners |= {f"link {link.name}" for link in expected.links}
    found: dict[_Key, list[float | str]] = {}
    for word in words:
        known = [one for one in word.owners if one in owners]
        if not known:
            continue
        subject, name = known[0], word.name
        of_shape = subject != word.owners[0]
        if name.startswith((f"{_JOINT}:", f"{_JOINT}/")) and subject in joint_of:
            subject, name = joint_of[subject], name[len(_JOINT) + 1 :]
        found.setdefault((subject, name, of_shape), []).append(word.value)
    return found


def _kind(name: str) -> str:
    """Return the kind of word: element, one of a controller or limit, or attribute."""
    if "<" in name:
        return "element"
    tag = name.partition(":")[0]
    return tag if tag in {"calibration", "limit", "safety_controller"} else ""


def _are_equal(here: Sequence[float | str], there: Sequence[float | str], *, part: bool) -> bool:
    """Whether both have the same values, in any order; or the second some of them."""
    rest = [*here]
    for value in there:
        same = next((one for one in rest if _is_same(one, value)), None)
        if same is None:
            return False
        rest.remove(same)
    return part or not rest


def _is_same(one: float | str, other: float | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)
