"""Names of links and joints, and words that USD keeps of a URDF."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

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
    """Every URDF link is found in the USD by its name, and there is no other body."""
    stated = dict.fromkeys(link.name for link in expected.links)
    # A surplus Xform without a body may hold shapes or sensors.
    found = {
        link.name
        for link in actual.links
        if link.name in stated or link.mass or link.body == link.name
    }
    renamed = dict(actual.renamed)
    names = dict.fromkeys((*stated, *sorted(found)))
    return Compared(tuple(_named("link", n, n in stated, n in found, renamed) for n in names))


def joints(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Every URDF joint is found in the USD by its name, and there is no other joint. A fixed joint
    may also be expressed by one body for both links.
    """
    stated = {joint.name: joint for joint in expected.joints}
    found = {joint.name: joint for joint in actual.joints}
    times = Counter(joint.name for joint in actual.joints)
    links = {link.name for link in expected.links}
    renamed = dict(actual.renamed)
    differences = []
    for name in dict.fromkeys((*stated, *sorted(found))):
        joint, surplus = stated.get(name), found.get(name)
        if joint and not surplus and _welded_otherwise(joint, actual):
            continue
        if surplus and not joint:
            # A joint that fixes the root to the world is covered by the check of the base.
            fixed = surplus.type is JointType.FIXED and surplus.child == expected.root
            if _welded_otherwise(surplus, expected) or (fixed and surplus.parent not in links):
                continue
        if times[name] > 1:
            message = f"joint {name} exists {times[name]} times"
            differences.append(equality(f"joint {name}", False, message, 1, times[name]))
        else:
            differences.append(_named("joint", name, bool(joint), bool(surplus), renamed))
    return Compared(tuple(differences))


def _named(
    kind: str, name: str, expected: bool, actual: bool, renamed: Mapping[str, str]
) -> Difference:
    subject = f"{kind} {name}"
    if expected and subject in renamed:
        called = renamed[subject]
        message = f"{subject} is renamed to {called!r}; matched by position in the tree"
        return equality(subject, False, message, name, called)
    how = "is not in the URDF" if actual else "is missing"
    sides = ("present" if side else "absent" for side in (expected, actual))
    return equality(subject, expected == actual, f"{subject} {how}", *sides)


def _welded_otherwise(joint: JointObservation, side: Observation) -> bool:
    """Whether one body carries both links of a fixed joint, or the world does."""
    body = {link.name: link.body for link in side.links}
    if joint.type is not JointType.FIXED or not body.keys() >= {joint.parent, joint.child}:
        return False
    carrier = body[joint.parent]
    # None is the world, or unknown if the engine states no body of any link.
    known = carrier is not None or any(body.values()) or side.base is Base.STATIC
    return known and carrier == body[joint.child]


# float32 keeps 6e-8.
_SAME = 1e-6
_Key = tuple[str, str, bool]


def words(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """What no schema of USD has and a USD keeps under urdf: is what the URDF says: safety
    controllers, calibrations, limits of acceleration, and attributes and elements that are no part
    of URDF, such as transmissions.
    """
    stated = _by_owner(expected.words, expected)
    found = _by_owner(actual.words, expected)
    lost = {subject for subject, _ in actual.renamed}
    # A USD need not keep them, nor those of shapes that it leaves out: kinds of words that it has
    # nowhere are not compared, and of shapes only those that it has.
    kept = {_kind(name) for _, name, _ in found.keys() & stated.keys()}
    kept |= {_kind(name) for _, name, _ in found if "<" in name}
    differences = []
    for key in dict.fromkeys((*stated, *(key for key in found if "<" in key[1]))):
        subject, name, of_shape = key
        sides = stated.get(key, []), found.get(key, [])
        if _kind(name) not in kept or subject in lost or (of_shape and not sides[1]):
            continue
        same = _are_equal(*sides, part=of_shape)
        texts = [", ".join(map(str, values)) or "nothing" for values in sides]
        message = f"{subject}: {name} is {texts[1]}, not {texts[0]}"
        values = (
            side[0] if len(side) == 1 else text for side, text in zip(sides, texts, strict=True)
        )
        differences.append(equality(subject, same, message, *values, item=f"{subject} {name}"))
    note = "the URDF has no such words, or the USD keeps none of them"
    return Compared(tuple(differences), note=None if differences else note)


def _by_owner(words: Sequence[Word], expected: Observation) -> dict[_Key, list[float | str]]:
    """Group values by owner and name, and by whether the owner is a shape."""
    joint_of = {f"link {one.child}": f"joint {one.name}" for one in expected.joints}
    owners = {"robot", *joint_of.values(), *(f"link {link.name}" for link in expected.links)}
    found: dict[_Key, list[float | str]] = {}
    for word in words:
        subject = next((one for one in word.owners if one in owners), None)
        if subject is None:
            continue
        name, of_shape = word.name, subject != word.owners[0]
        if name.startswith(("joint:", "joint/")) and subject in joint_of:
            subject, name = joint_of[subject], name[len("joint:") :]
        found.setdefault((subject, name, of_shape), []).append(word.value)
    return found


def _kind(name: str) -> str:
    """Return the kind of word: element, one of a controller or limit, or attribute."""
    if "<" in name:
        return "element"
    tag = name.partition(":")[0]
    return tag if tag in {"calibration", "limit", "safety_controller"} else ""


def _are_equal(
    expected: Sequence[float | str], actual: Sequence[float | str], *, part: bool
) -> bool:
    """Whether both have the same values, in any order; or the second some of them."""
    rest = [*expected]
    for value in actual:
        same = next((one for one in rest if _is_same(one, value)), None)
        if same is None:
            return False
        rest.remove(same)
    return part or not rest


def _is_same(one: float | str, other: float | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)
