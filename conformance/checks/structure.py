"""Links and joints by name, joint types, couplings, articulation roots, base, words of a URDF."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from urdf_usd.conformance.checks.check import (
    CheckGroup,
    Compared,
    Comparison,
    Incomparable,
    equality,
    flags,
    stated,
)
from urdf_usd.conformance.checks.limits import shared_joints, stored_limit, unit_hint
from urdf_usd.conformance.checks.unexpected_settings import (
    setting_difference,
    settings_of,
    unexpected_check,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Base,
    HeadCoupling,
    JointObservation,
    JointType,
    Observation,
    Quantity,
    SettingKind,
    Word,
    head_coupling,
)
from urdf_usd.conformance.tolerance.bounds import ROUNDINGS, scalar_bound
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups
from urdf_usd.reports.quantities import value_text
from urdf_usd.reports.records.record import Difference, Range, Value

_Differences: TypeAlias = Iterator[Difference]

# Words that differ by less are equal: float32 keeps 6e-8.
_SAME = 1e-6

STRUCTURE = CheckGroup()


@STRUCTURE.check("structure.links", "links", Quantity.LINKS)
def _links(expected: Observation, actual: Observation, _: ToleranceModel) -> _Differences:
    """Every URDF link is found in the USD by its name, and there is no other body."""
    links = dict.fromkeys(link.name for link in expected.links)
    # A surplus Xform without a body may hold shapes or sensors.
    found = {
        link.name
        for link in actual.links
        if link.name in links or link.mass or link.body == link.name
    }
    renamed = dict(actual.renamed)
    for name in dict.fromkeys((*links, *sorted(found))):
        yield _named("link", name, name in links, name in found, renamed)


@STRUCTURE.check("structure.joints", "joints", Quantity.JOINTS)
def _joints(expected: Observation, actual: Observation, _: ToleranceModel) -> _Differences:
    """Every URDF joint is found in the USD by its name, and there is no other joint. A fixed joint
    may also be expressed by one body for both links.
    """
    joints = {joint.name: joint for joint in expected.joints}
    found = {joint.name: joint for joint in actual.joints}
    times = Counter(joint.name for joint in actual.joints)
    links = {link.name for link in expected.links}
    renamed = dict(actual.renamed)
    for name in dict.fromkeys((*joints, *sorted(found))):
        joint, surplus = joints.get(name), found.get(name)
        if joint and not surplus and _welded_otherwise(joint, actual):
            continue
        if surplus and not joint:
            # A joint that fixes the root to the world is covered by the check of the base.
            fixed = surplus.type is JointType.FIXED and surplus.child == expected.root
            if _welded_otherwise(surplus, expected) or (fixed and surplus.parent not in links):
                continue
        if times[name] > 1:
            count = f"{times[name]} times"
            yield equality(f"joint {name}", False, f"joint {name} exists {count}", "once", count)
        else:
            yield _named("joint", name, bool(joint), bool(surplus), renamed)


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


@STRUCTURE.check("structure.types", "joint types", Quantity.JOINT_TYPES)
def _types(expected: Observation, actual: Observation, _: ToleranceModel) -> _Differences:
    """Joints of the same name have the same type. A continuous joint equals a revolute one
    without limits.
    """
    for joint, found in shared_joints(expected, actual):
        yield _equality(joint.name, "type", _motion(joint), _motion(found))


def _motion(joint: JointObservation) -> str:
    limits = (joint.lower, -math.inf), (joint.upper, math.inf)
    unlimited = all(one is None or stored_limit(one) == none for one, none in limits)
    if joint.type is JointType.REVOLUTE and unlimited:
        return JointType.CONTINUOUS.value
    return joint.type.value


def _equality(joint: str, what: str, expected: str, actual: str) -> Difference:
    message = f"joint {joint}: {what}: {actual} instead of {expected}"
    return equality(f"joint {joint}", expected == actual, message, expected, actual)


@STRUCTURE.check("structure.parents", "parents and children", Quantity.JOINTS)
def _parents(expected: Observation, actual: Observation, _: ToleranceModel) -> _Differences:
    """Joints of the same name connect the same parent and child."""
    # A frame counts as the body that carries it.
    body = {link.name: link.body for link in actual.links}
    for joint, found in shared_joints(expected, actual):
        links, others = (f"{one.parent} -> {one.child}" for one in (joint, found))
        same = all(
            one == other or (one in body and other in body and body[one] == body[other])
            for one, other in ((joint.parent, found.parent), (joint.child, found.child))
        )
        yield _equality(joint.name, "links", links, links if same else others)


@STRUCTURE.check(
    "structure.mimic", "mimic couplings", Quantity.MIMIC, note="no joint mimics another"
)
def _mimic(expected: Observation, actual: Observation, _: ToleranceModel) -> _Differences:
    """Followers, leaders, multipliers and offsets are equal to float32 precision. Without its
    coupling a follower moves freely.
    """
    # A chain of couplings and a coupling to its head are the same motion.
    heads, found_heads = (
        {name: head_coupling(name, mimics.get) for name in mimics}
        for mimics in ({joint.name: joint.mimic for joint in x.joints} for x in (expected, actual))
    )
    precision = max(expected.precision, actual.precision)
    for joint, found in shared_joints(expected, actual):
        # A coupling needs exactly one coordinate; others have no effect.
        single = COORDINATES[joint.type] == 1 or COORDINATES[found.type] == 1
        if single and (joint.mimic or found.mimic):
            problem = _mimic_problem(heads[joint.name], found_heads[joint.name], precision)
            text, *values = problem or ("same coupling",)
            subject = f"joint {joint.name}"
            yield equality(subject, problem is None, f"{subject}: {text}", *values)


def _mimic_problem(
    expected: HeadCoupling | None, actual: HeadCoupling | None, precision: float
) -> tuple[str, Value, Value] | None:
    """Describe the difference of two couplings, with both values; None if there is none.

    Engines may compute couplings from positions of joints up to 1 rad or 1 m, in which case
    offsets have the rounding of these.
    """
    if actual is None:
        leader = expected.leader if expected else "nothing"
        return f"mimic of {leader} is missing", leader, "no mimic"
    if expected is None:
        return f"mimics {actual.leader}, but not in the URDF", "no mimic", actual.leader
    if expected.leader != actual.leader:
        message = f"mimics {actual.leader} instead of {expected.leader}"
        return message, expected.leader, actual.leader
    # Every coupling of a chain is rounded once.
    steps = max(expected.steps, actual.steps)
    rounding = ROUNDINGS * precision * (expected.terms + abs(expected.multiplier))
    for name, value, found, terms in (
        ("multiplier", expected.multiplier, actual.multiplier, expected.multiplier),
        ("offset", expected.offset, actual.offset, expected.terms),
    ):
        if not abs(value - found) <= steps * scalar_bound(terms) + rounding:
            texts = value_text(stated(found)), value_text(stated(value))
            message = f"mimic {name} is {texts[0]}, not {texts[1]}{unit_hint(value, found)}"
            return message, stated(value), stated(found)
    return None


@STRUCTURE.check("structure.articulation", "articulation roots", Quantity.JOINTS, usd_alone=True)
def _articulation(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """A robot with moving joints has exactly one articulation root, and all its joints belong to
    it. Without one, solvers simulate separate bodies; with two, they reject the robot or simulate
    two. Its root is the first body of the robot, or holds the joint that fixes it, and no
    simulator disables it.
    """
    count = actual.articulation_roots
    if count is None:
        return Incomparable(f"{actual.engine} states no articulations")
    least, most = _root_counts(expected, actual)
    required = least if least == most else Range(low=least, high=most)
    message = f"{count} articulation roots instead of {value_text(required)}"
    robot = equality("robot", least <= count <= most, message, required, count, item="robot")
    # Without a root all joints are outside: one finding suffices. A joint that only the USD has
    # may be the one that fixes the base.
    shared = [joint.name for joint, _ in shared_joints(expected, actual)]
    joints = flags(
        "joint",
        dict.fromkeys((*shared, *actual.unarticulated)) if count else (),
        actual.unarticulated,
        "joint {} belongs to no articulation",
        ("in the articulation", "outside"),
    )
    disabled = map(setting_difference, settings_of(SettingKind.ARTICULATION, actual))
    return Compared((robot, *joints, *_misplaced_starts(expected, actual), *disabled))


def _root_counts(expected: Observation, actual: Observation) -> tuple[int, int]:
    """Return the least and largest number of articulation roots.

    Floating joints divide a robot into mechanisms. One with a moving joint is an articulation;
    one with fixed joints alone may be one. Only the world connects what a fixed root carries that
    is no body: one articulation or several.
    """
    linked = [joint for joint in expected.joints if joint.type is not JointType.FLOATING]
    parent = {joint.child: joint.parent for joint in linked}
    driven = {_head(joint.child, parent) for joint in linked if COORDINATES[joint.type]}
    jointed = {_head(joint.child, parent) for joint in linked}
    carried = {link.name for link in actual.links if link.body is not None}
    ties = 0
    if actual.base is Base.FIXED and expected.root not in carried:
        children = [joint.child for joint in expected.joints if joint.parent == expected.root]
        ties = sum(child in carried for child in children)
    return len(driven), max(len(jointed), ties)


def _head(link: str, parent: Mapping[str, str]) -> str:
    """Return the first link of a mechanism; in a loop, the last one visited."""
    seen = {link}
    while (above := parent.get(link, link)) not in seen:
        seen.add(above)
        link = above
    return link


def _misplaced_starts(expected: Observation, actual: Observation) -> tuple[Difference, ...]:
    """Check that articulations that start at a body start at the first one.

    Simulators take that body as the base, which floats, whatever a joint fixes to the world
    elsewhere. Bodies that fixed joints connect with the first one pass.
    """
    linked = [joint for joint in expected.joints if joint.type is not JointType.FLOATING]
    parent = {joint.child: joint.parent for joint in linked}
    links = [link.name for link in expected.links]
    carried = {link.name for link in actual.links if link.body is not None}
    groups = rigid_groups(links, expected.joints)

    def is_first(link: str) -> bool:
        group = next(group for group in groups if link in group)
        above = {parent[name] for name in group if name in parent and parent[name] not in group}
        # A root without a body is the world: what it carries comes first.
        return not above & carried

    starts = [name for name in actual.articulation_starts if name in links]
    return flags(
        "link",
        starts,
        [name for name in starts if not is_first(name)],
        "the articulation starts at link {}, as if it were a floating base",
        ("the first body", "another body"),
    )


@STRUCTURE.check("structure.world", "joints to the world", Quantity.JOINTS, usd_alone=True)
def _world(_: Observation, actual: Observation, __: ToleranceModel) -> Comparison:
    """No moving joint of an articulation has the world, or a prim without rigid body, on one side:
    solvers in reduced coordinates fix the body on the other side, and the robot loses a degree of
    freedom.
    """
    if actual.articulation_roots is None:
        return Incomparable(f"{actual.engine} states no articulations")
    if not actual.articulation_roots:
        return Compared((), note="there is no articulation")
    moving = (
        joint.name
        for joint in actual.joints
        if COORDINATES[joint.type]
        and joint.type is not JointType.FLOATING
        and joint.name not in actual.unarticulated
    )
    joints = dict.fromkeys((*moving, *actual.at_world))
    message = (
        "joint {} moves, but connects a body to the world: simulators fix that body and drop the "
        "joint"
    )
    differences = flags("joint", joints, actual.at_world, message, ("two bodies", "one body"))
    return Compared(differences, note=None if joints else "no joint of an articulation moves")


@STRUCTURE.check(
    "structure.bodies",
    "dynamic rigid bodies",
    Quantity.LINKS,
    note="no link has a rigid body",
    usd_alone=True,
)
def _bodies(expected: Observation, actual: Observation, _: ToleranceModel) -> Iterable[Difference]:
    """No rigid body of a link is kinematic or disabled: forces do not move such a body."""
    # A USD without any dynamic body is static, which is covered by the check of the base.
    links = {link.name for link in expected.links}
    own = [link.name for link in actual.links if link.name in links and link.body == link.name]
    message = "link {}: rigid body is kinematic or disabled"
    return flags("link", own, actual.nondynamic, message, ("dynamic", "not dynamic"))


STRUCTURE.checks += [
    unexpected_check(
        "structure.scene",
        "gravity and surroundings",
        SettingKind.SCENE,
        "Physics scenes have the gravity of the Earth, down along the up axis; all bodies are "
        "simulated by the same scene; and the USD has no body, collider or visual besides those "
        "of the robot.",
    ),
    unexpected_check(
        "structure.initial",
        "initial state",
        SettingKind.INITIAL_STATE,
        "Bodies and joints start at rest, awake, and at the zero configuration.",
    ),
    unexpected_check(
        "structure.animation",
        "values over time",
        SettingKind.ANIMATION,
        "No value of the USD changes over time: all time samples of an attribute equal its "
        "default value. Consumers read one or the other.",
    ),
    unexpected_check(
        "structure.values",
        "usable values",
        SettingKind.VALUES,
        "No number of the USD that has an effect is NaN or infinite, and quaternions are unit "
        "quaternions: consumers differ in what they compute from others.",
    ),
]


@STRUCTURE.check(
    "structure.words",
    "words without a schema",
    Quantity.LINKS,
    note="the URDF has no such words, or the USD keeps none of them",
    usd_alone=True,
)
def words(expected: Observation, actual: Observation, _: ToleranceModel) -> _Differences:
    """What no schema of USD has and a USD keeps under urdf: is what the URDF says: safety
    controllers, calibrations, limits of acceleration, and attributes and elements that are no part
    of URDF, such as transmissions.
    """
    known, found = _by_owner(expected.words, expected), _by_owner(actual.words, expected)
    lost = {subject for subject, _ in actual.renamed}
    # A USD need not keep them, nor those of shapes that it leaves out: kinds of words that it has
    # nowhere are not compared, and of shapes only those that it has.
    kept = {_kind(name) for _, name, _ in found.keys() & known.keys()}
    kept |= {_kind(name) for _, name, _ in found if "<" in name}
    for key in dict.fromkeys((*known, *(key for key in found if "<" in key[1]))):
        subject, name, of_shape = key
        sides = known.get(key, []), found.get(key, [])
        if _kind(name) not in kept or subject in lost or (of_shape and not sides[1]):
            continue
        same = _are_equal(*sides, part=of_shape)
        texts = [", ".join(map(str, values)) or "nothing" for values in sides]
        message = f"{subject}: {name} is {texts[1]}, not {texts[0]}"
        values = (
            side[0] if len(side) == 1 else text for side, text in zip(sides, texts, strict=True)
        )
        yield equality(subject, same, message, *values, item=f"{subject} {name}")


def _by_owner(
    words: Sequence[Word], expected: Observation
) -> dict[tuple[str, str, bool], list[float | str]]:
    """Group values by owner and name, and by whether the owner is a shape."""
    joint_of = {f"link {one.child}": f"joint {one.name}" for one in expected.joints}
    owners = {"robot", *joint_of.values(), *(f"link {link.name}" for link in expected.links)}
    found: dict[tuple[str, str, bool], list[float | str]] = {}
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

    def same(one: float | str, other: float | str) -> bool:
        if isinstance(one, str) or isinstance(other, str):
            return one == other
        return math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)

    rest = [*expected]
    for value in actual:
        equal = next((one for one in rest if same(one, value)), None)
        if equal is None:
            return False
        rest.remove(equal)
    return part or not rest


@STRUCTURE.check("structure.base", "base", Quantity.BASE)
def _base(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """The root is fixed or floating as the URDF states or the user requested: a fixed quadruped
    cannot walk, a floating arm falls.
    """
    moves = any(COORDINATES[joint.type] for joint in expected.joints)
    is_static = not moves and not any(link.mass and link.mass.mass for link in expected.links)
    required = expected.base
    if required is None:
        if actual.base is not Base.STATIC or is_static:
            return Compared((), note="the URDF does not define the base")
        required = Base.FLOATING
    if actual.base is None:
        return Incomparable(f"{actual.engine} states no base")
    # Without mass and moving joints all three are the same.
    same = required is actual.base or (is_static and actual.base is Base.STATIC)
    message = f"the base is {actual.base.value}, not {required.value}"
    sides = required.value, actual.base.value
    return Compared((equality(f"link {expected.root}", same, message, *sides, item="robot"),))
