"""Links and joints by name, joint types, couplings, articulation roots, base, words of a URDF."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from urdf_usd.conformance.checks import check
from urdf_usd.conformance.checks.dynamics import stored_limit, unit_hint
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.tolerance import ROUNDINGS, rigid_groups, scalar_bound
from urdf_usd.reports.records.record import Difference, Range, Value
from urdf_usd.reports.text import value_text

# Words that differ by less are equal: float32 keeps 6e-8.
_SAME = 1e-6


@check.check("structure.links", "links", obs.Quantity.LINKS)
def _links(sides: check.Sides) -> check.Differences:
    """Every URDF link is found in the USD by its name, and there is no other body."""
    links = dict.fromkeys(link.name for link in sides.expected.links)
    # A surplus Xform without a body may hold shapes or sensors.
    found = {
        link.name
        for link in sides.actual.links
        if link.name in links or link.mass or link.body == link.name
    }
    for name in dict.fromkeys((*links, *sorted(found))):
        yield _named("link", name, name in links, name in found, sides.actual)


@check.check("structure.joints", "joints", obs.Quantity.JOINTS, reads="physics:jointEnabled")
def _joints(sides: check.Sides) -> check.Differences:
    """Every URDF joint is found by its name, and no other; one body may have welded links."""
    expected, actual = sides.expected, sides.actual
    joints = {joint.name: joint for joint in expected.joints}
    found = {joint.name: joint for joint in actual.joints}
    times = Counter(joint.name for joint in actual.joints)
    links = {link.name for link in expected.links}
    for name in dict.fromkeys((*joints, *sorted(found))):
        joint, surplus = joints.get(name), found.get(name)
        if joint and not surplus and _welded_otherwise(joint, actual):
            continue
        if surplus and not joint:
            # A joint that fixes the root to the world is covered by the check of the base.
            fixed = surplus.type is obs.JointType.FIXED and surplus.child == expected.root
            if _welded_otherwise(surplus, expected) or (fixed and surplus.parent not in links):
                continue
        if times[name] > 1:
            count = f"{times[name]} times"
            subject = f"joint {name}"
            yield check.equality(subject, False, f"{subject} exists {count}", "once", count)
        else:
            yield _named("joint", name, bool(joint), bool(surplus), actual)


def _named(
    kind: str, name: str, expected: bool, found: bool, actual: obs.Observation
) -> Difference:
    subject = f"{kind} {name}"
    if expected and (called := dict(actual.renamed).get(subject)) is not None:
        message = f"{subject} is renamed to {called!r}; matched by position in the tree"
        return check.equality(subject, False, message, name, called)
    how = "is not in the URDF" if found else "is missing"
    values = ("present" if side else "absent" for side in (expected, found))
    return check.equality(subject, expected == found, f"{subject} {how}", *values)


def _welded_otherwise(joint: obs.JointObservation, side: obs.Observation) -> bool:
    """Whether one body carries both links of a fixed joint, or the world does."""
    body = {link.name: link.body for link in side.links}
    if joint.type is not obs.JointType.FIXED or not body.keys() >= {joint.parent, joint.child}:
        return False
    carrier = body[joint.parent]
    # None is the world, or unknown if the engine states no body of any link.
    known = carrier is not None or any(body.values()) or side.base is obs.Base.STATIC
    return known and carrier == body[joint.child]


@check.check(
    "structure.types",
    "joint types",
    obs.Quantity.JOINT_TYPES,
    reads="limit:*:physics:high limit:*:physics:low",
)
def _types(sides: check.Sides) -> check.Differences:
    """Joints have the same type; a continuous joint equals a revolute one without limits."""
    for joint, found in sides.joints:
        yield _equality(joint.name, "type", _motion(joint), _motion(found))


def _motion(joint: obs.JointObservation) -> str:
    limits = (joint.lower, -math.inf), (joint.upper, math.inf)
    unlimited = all(one is None or stored_limit(one) == none for one, none in limits)
    if joint.type is obs.JointType.REVOLUTE and unlimited:
        return obs.JointType.CONTINUOUS.value
    return joint.type.value


def _equality(joint: str, what: str, expected: str, actual: str) -> Difference:
    message = f"joint {joint}: {what}: {actual} instead of {expected}"
    return check.equality(f"joint {joint}", expected == actual, message, expected, actual)


@check.check(
    "structure.parents",
    "parents and children",
    obs.Quantity.JOINTS,
    reads="physics:body0 physics:body1",
)
def _parents(sides: check.Sides) -> check.Differences:
    """Joints of the same name connect the same parent and child."""
    # A frame counts as the body that carries it.
    body = {link.name: link.body for link in sides.actual.links}
    for joint, found in sides.joints:
        links, others = (f"{one.parent} -> {one.child}" for one in (joint, found))
        same = all(
            one == other or (one in body and other in body and body[one] == body[other])
            for one, other in ((joint.parent, found.parent), (joint.child, found.child))
        )
        yield _equality(joint.name, "links", links, links if same else others)


@check.check(
    "structure.mimic",
    "mimic couplings",
    obs.Quantity.MIMIC,
    reads="newton:mimicCoef0 newton:mimicCoef1 newton:mimicEnabled newton:mimicJoint mjc:coef0 "
    "mjc:coef1 mjc:target physxMimicJoint:*:gearing physxMimicJoint:*:offset "
    "physxMimicJoint:*:referenceJoint physxMimicJoint:*:referenceJointAxis",
)
def _mimic(sides: check.Sides) -> check.Differences:
    """Followers, leaders, multipliers and offsets are equal to float32 precision."""
    # A chain of couplings and a coupling to its head are the same motion.
    both = sides.expected, sides.actual
    mimics = ({joint.name: joint.mimic for joint in side.joints} for side in both)
    heads, found_heads = ({name: obs.head_coupling(name, of.get) for name in of} for of in mimics)
    precision = max(side.precision for side in both)
    for joint, found in sides.joints:
        # A coupling needs exactly one coordinate; others of a URDF, or of a weld, have no effect.
        single = obs.COORDINATES[joint.type] == 1 or obs.COORDINATES[found.type] == 1
        moves = obs.COORDINATES[found.type] > 0
        if (single and joint.mimic) or (moves and found.mimic):
            problem = _mimic_problem(heads[joint.name], found_heads[joint.name], precision)
            text, *values = problem or ("same coupling",)
            subject = f"joint {joint.name}"
            yield check.equality(subject, problem is None, f"{subject}: {text}", *values)


def _mimic_problem(
    expected: obs.HeadCoupling | None, actual: obs.HeadCoupling | None, precision: float
) -> tuple[str, Value, Value] | None:
    """Describe the difference of two couplings, with both values; None if there is none."""
    # Engines may compute offsets from positions of up to 1 rad or 1 m, with their rounding.
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
            values = check.stated(value), check.stated(found)
            texts = [value_text(one) for one in values]
            message = f"mimic {name} is {texts[1]}, not {texts[0]}{unit_hint(value, found)}"
            return message, *values
    return None


@check.check(
    "structure.articulation",
    "articulation roots",
    obs.Quantity.JOINTS,
    usd_alone=True,
    reads="physics:excludeFromArticulation isaac:physics:robotJoints isaac:physics:robotLinks "
    "isaac:namespace isaac:nameOverride isaac:NameOverride",
)
def _articulation(sides: check.Sides) -> check.Comparison:
    """All joints belong to one articulation root, at the first body or the joint that fixes it."""
    expected, actual = sides.expected, sides.actual
    count = actual.articulation_roots
    if count is None:
        return check.not_stated(actual, "articulations")
    # The parent of each link by its joint, unless that is a floating one: these divide a robot into
    # mechanisms, each of which has a first link.
    joints, links = expected.joints, [link.name for link in expected.links]
    parent = {one.child: one.parent for one in joints if one.type is not obs.JointType.FLOATING}
    heads = {}
    for link in parent:
        seen, head = {link}, link
        while (above := parent.get(head, head)) not in seen:
            seen.add(above)
            head = above
        heads[link] = head
    # A mechanism with a moving joint is an articulation; one with fixed joints alone may be one.
    # Only the world connects what a fixed root carries that is no body: one or several.
    moving = {joint.child for joint in joints if obs.COORDINATES[joint.type]}
    carried = {link.name for link in actual.links if link.body is not None}
    ties = 0
    if actual.base is obs.Base.FIXED and expected.root not in carried:
        ties = sum(one.child in carried for one in joints if one.parent == expected.root)
    least = len({head for link, head in heads.items() if link in moving})
    most = max(len({*heads.values()}), ties)
    required = least if least == most else Range(low=least, high=most)
    message = f"{count} articulation roots instead of {value_text(required)}"
    robot = check.equality("robot", least <= count <= most, message, required, count, item="robot")
    # Without a root all joints are outside: one finding suffices. A joint that only the USD has
    # may be the one that fixes the base.
    shared = [joint.name for joint, _ in sides.joints]
    outside = check.flags(
        "joint",
        dict.fromkeys((*shared, *actual.unarticulated)) if count else (),
        actual.unarticulated,
        "joint {} belongs to no articulation",
        ("in the articulation", "outside"),
    )
    # Simulators take the body at which an articulation starts as the base, which floats, whatever
    # a joint fixes to the world elsewhere. Bodies that fixed joints connect with the first one
    # pass. A root without a body is the world: what it carries comes first.
    first: set[str] = set()
    for group in rigid_groups(links, joints):
        if not ({parent[name] for name in group if name in parent} - {*group}) & carried:
            first |= {*group}
    starts = [name for name in actual.articulation_starts if name in links]
    misplaced = check.flags(
        "link",
        starts,
        {*starts} - first,
        "the articulation starts at link {}, as if it were a floating base",
        ("the first body", "another body"),
    )
    settings = check.settings_of(obs.SettingKind.ARTICULATION, actual)
    disabled = map(check.setting_difference, settings)
    return check.Compared((robot, *outside, *misplaced, *disabled))


@check.check("structure.world", "joints to the world", obs.Quantity.JOINTS, usd_alone=True)
def _world(sides: check.Sides) -> check.Comparison:
    """No moving joint of an articulation has the world on one side: solvers fix the other body."""
    actual = sides.actual
    if actual.articulation_roots is None:
        return check.not_stated(actual, "articulations")
    if not actual.articulation_roots:
        return check.Compared()
    moving = (
        joint.name
        for joint in actual.joints
        if obs.COORDINATES[joint.type]
        and joint.type is not obs.JointType.FLOATING
        and joint.name not in actual.unarticulated
    )
    joints = dict.fromkeys((*moving, *actual.at_world))
    message = (
        "joint {} moves, but connects a body to the world: simulators fix that body and drop the "
        "joint"
    )
    differences = check.flags("joint", joints, actual.at_world, message, ("two bodies", "one body"))
    return check.Compared(differences)


@check.check(
    "structure.bodies",
    "dynamic rigid bodies",
    obs.Quantity.LINKS,
    usd_alone=True,
    reads="physics:kinematicEnabled physics:rigidBodyEnabled",
)
def _bodies(sides: check.Sides) -> check.Differences:
    """No rigid body of a link is kinematic or disabled: forces do not move such a body."""
    # A USD without any dynamic body is static, which is covered by the check of the base.
    links, actual = {link.name for link in sides.expected.links}, sides.actual
    own = [link.name for link in actual.links if link.name in links and link.body == link.name]
    message = "link {}: rigid body is kinematic or disabled"
    return check.flags("link", own, actual.nondynamic, message, ("dynamic", "not dynamic"))


check.unexpected(
    obs.SettingKind.SCENE,
    "structure.scene",
    "gravity and surroundings",
    "Gravity is that of the Earth, along the up axis; only the robot is simulated.",
    "physics:gravityDirection physics:gravityMagnitude physics:simulationOwner",
)
check.unexpected(
    obs.SettingKind.INITIAL_STATE,
    "structure.initial",
    "initial state",
    "Bodies and joints start at rest, awake, and at the zero configuration.",
)
check.unexpected(
    obs.SettingKind.ANIMATION,
    "structure.animation",
    "values over time",
    "No value changes over time: all time samples of an attribute equal its default value.",
)
check.unexpected(
    obs.SettingKind.VALUES,
    "structure.values",
    "usable values",
    "No number that has an effect is NaN or infinite, and quaternions are unit quaternions.",
)


@check.check("structure.words", "words without a schema", obs.Quantity.LINKS, usd_alone=True)
def _words(sides: check.Sides) -> Iterator[Difference]:
    """What a USD keeps under urdf: of words without a schema is what the URDF says."""
    both = sides.expected, sides.actual
    known, found = (_by_owner(side.words, sides.expected) for side in both)
    lost = {subject for subject, _ in sides.actual.renamed}
    # A USD need not keep them, nor those of shapes that it leaves out: kinds of words that it has
    # nowhere are not compared, and of shapes only those that it has.
    kept = {_kind(name) for _, name, _ in found.keys() & known.keys()}
    kept |= {_kind(name) for _, name, _ in found if "<" in name}
    for key in dict.fromkeys((*known, *(key for key in found if "<" in key[1]))):
        subject, name, of_shape = key
        words = known.get(key, []), found.get(key, [])
        if _kind(name) not in kept or subject in lost or (of_shape and not words[1]):
            continue
        texts = [", ".join(map(str, values)) or "nothing" for values in words]
        message = f"{subject}: {name} is {texts[1]}, not {texts[0]}"
        pairs = zip(words, texts, strict=True)
        values = (side[0] if len(side) == 1 else text for side, text in pairs)
        same = _are_equal(*words, part=of_shape)
        yield check.equality(subject, same, message, *values, item=f"{subject} {name}")


def _by_owner(
    words: Sequence[obs.Word], expected: obs.Observation
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


@check.check("structure.base", "base", obs.Quantity.BASE)
def _base(sides: check.Sides) -> check.Comparison:
    """The root is fixed or floating as the URDF states or the user requested."""
    expected, actual = sides.expected, sides.actual
    moves = any(obs.COORDINATES[joint.type] for joint in expected.joints)
    is_static = not moves and not any(link.mass and link.mass.mass for link in expected.links)
    required = expected.base
    if required is None:
        if actual.base is not obs.Base.STATIC or is_static:
            return check.Compared()
        required = obs.Base.FLOATING
    if actual.base is None:
        return check.not_stated(actual, "base")
    # Without mass and moving joints all three are the same.
    same = required is actual.base or (is_static and actual.base is obs.Base.STATIC)
    message = f"the base is {actual.base.value}, not {required.value}"
    values = required.value, actual.base.value
    base = check.equality(f"link {expected.root}", same, message, *values, item="robot")
    return check.Compared((base,))
