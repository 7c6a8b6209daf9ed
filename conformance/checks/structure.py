"""Joint types, parents, mimic couplings, articulation roots and base."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from urdf_usd.conformance.checks import names
from urdf_usd.conformance.checks.check import Check, equality
from urdf_usd.conformance.checks.unexpected_settings import (
    of_everything,
    of_links,
    scene,
    setting_difference,
    settings_of,
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
    head_coupling,
)
from urdf_usd.conformance.tolerance.bounds import ROUNDINGS, scalar_bound
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Incomparable,
    ToleranceModel,
    number,
)
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups
from urdf_usd.reports.records.record import Difference

_DEGREES = math.degrees(1.0)
# Relative tolerance of a ratio to 180/pi for a message to suggest wrong units.
_UNIT_FIT = 1e-3
_NOWHERE = object()
# Engines that read USD treat a limit beyond this, in degrees or metres, as none.
_STORABLE = math.radians(1e30)


def types(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare the motions that joints allow."""
    return Compared(
        tuple(
            _equality(here.name, "type", _motion(here), _motion(there))
            for here, there in shared_joints(expected, actual)
        )
    )


def stored_limit(limit: float) -> float:
    """Return a position limit [rad or m] as USD can store it; infinite for none."""
    return limit if abs(limit) <= _STORABLE else math.copysign(math.inf, limit)


def _motion(joint: JointObservation) -> str:
    lower = -math.inf if joint.lower is None else stored_limit(joint.lower)
    upper = math.inf if joint.upper is None else stored_limit(joint.upper)
    unlimited = (lower, upper) == (-math.inf, math.inf)
    if joint.type is JointType.REVOLUTE and unlimited:
        return JointType.CONTINUOUS.value
    return joint.type.value


def parents(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare which links joints connect.

    A frame counts as the body that carries it.
    """
    body = {link.name: link.body for link in actual.links}
    differences = []
    for here, there in shared_joints(expected, actual):
        ours = f"{here.parent} -> {here.child}"
        theirs = f"{there.parent} -> {there.child}"
        same = all(
            one == other or (one in body and body[one] == body.get(other, _NOWHERE))
            for one, other in ((here.parent, there.parent), (here.child, there.child))
        )
        differences.append(_equality(here.name, "links", ours, ours if same else theirs))
    return Compared(tuple(differences))


def mimic(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare couplings of joints to the heads of their chains; numbers to float32.

    A chain of couplings and a coupling to its head are the same motion.
    """
    differences = []
    ours_of, theirs_of = _heads(expected), _heads(actual)
    for here, there in shared_joints(expected, actual):
        if here.mimic is None and there.mimic is None:
            continue
        if COORDINATES[here.type] != 1 and COORDINATES[there.type] != 1:
            # A coupling needs exactly one coordinate; others have no effect.
            continue
        ours, theirs = ours_of[here.name], theirs_of[there.name]
        reason = _mimic_problem(ours, theirs, max(expected.precision, actual.precision))
        message = f"joint {here.name}: {reason}"
        sides = _coupling(ours), _coupling(theirs)
        differences.append(equality(f"joint {here.name}", reason is None, message, *sides))
    note = None if differences else "no joint mimics another"
    return Compared(tuple(differences), note=note)


def _heads(observation: Observation) -> dict[str, HeadCoupling | None]:
    mimics = {joint.name: joint.mimic for joint in observation.joints}
    return {name: head_coupling(name, mimics.get) for name in mimics}


def _coupling(head: HeadCoupling | None) -> str:
    if head is None:
        return "no mimic"
    return f"{head.multiplier:.7g} * {head.leader} + {head.offset:.7g}"


def _mimic_problem(
    ours: HeadCoupling | None, theirs: HeadCoupling | None, precision: float
) -> str | None:
    """Describe the difference of two couplings; None if there is none.

    Engines may compute couplings from positions of joints up to 1 rad or 1 m, in which
    case offsets have the rounding of these.
    """
    if theirs is None:
        return f"mimic of {ours.leader if ours else 'nothing'} is missing"
    if ours is None:
        return f"mimics {theirs.leader}, but not in the URDF"
    if ours.leader != theirs.leader:
        return f"mimics {theirs.leader} instead of {ours.leader}"
    # Every coupling of a chain is rounded once.
    steps = max(ours.steps, theirs.steps)
    reach = abs(ours.multiplier)
    rounding = ROUNDINGS * precision * (ours.terms + reach)
    for name, here, there, terms in (
        ("multiplier", ours.multiplier, theirs.multiplier, ours.multiplier),
        ("offset", ours.offset, theirs.offset, ours.terms),
    ):
        if not abs(here - there) <= steps * scalar_bound(terms) + rounding:
            hint = unit_hint(here, there)
            return f"mimic {name} is {number(there)}, not {number(here)}{hint}"
    return None


def articulation(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare the number of articulation roots with what the joints require."""
    count = actual.articulation_roots
    if count is None:
        return Incomparable(f"{actual.engine} states no articulations")
    least, most = _root_counts(expected)
    most = max(most, _ties(expected, actual))
    required = str(least) if least == most else f"{least} to {most}"
    message = f"{count} articulation roots instead of {required}"
    robot = equality("robot", least <= count <= most, message, required, str(count), item="robot")
    # Without a root all joints are outside: one finding suffices. A joint that only the
    # USD has may be the one that fixes the base.
    names = [here.name for here, _ in shared_joints(expected, actual)]
    compared = dict.fromkeys((*names, *actual.unarticulated)) if count else ()
    joints = flag_differences(
        "joint",
        tuple(compared),
        actual.unarticulated,
        "joint {} belongs to no articulation",
        ("in the articulation", "outside"),
    )
    starts = _misplaced_starts(expected, actual)
    disabled = map(setting_difference, settings_of(SettingKind.ARTICULATION, actual))
    return Compared((robot, *joints, *starts, *disabled))


def _misplaced_starts(expected: Observation, actual: Observation) -> tuple[Difference, ...]:
    """Check that articulations that start at a body start at the first one.

    Simulators take that body as the base, which floats, whatever a joint fixes to the
    world elsewhere. Bodies that fixed joints connect with the first one pass.
    """
    linked = [j for j in expected.joints if j.type is not JointType.FLOATING]
    parent = {joint.child: joint.parent for joint in linked}
    named = {link.name for link in expected.links}
    carried = {link.name for link in actual.links if link.body is not None}
    groups = rigid_groups(tuple(link.name for link in expected.links), expected.joints)

    def is_first(link: str) -> bool:
        group = next(group for group in groups if link in group)
        above = {parent[name] for name in group if name in parent and parent[name] not in group}
        # A root without a body is the world: what it carries comes first.
        return not (above & carried)

    starts = [name for name in actual.articulation_starts if name in named]
    return flag_differences(
        "link",
        starts,
        [name for name in starts if not is_first(name)],
        "the articulation starts at link {}, as if it were a floating base",
        ("the first body", "another body"),
    )


def world(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Check that moving joints of articulations connect two bodies."""
    del expected
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
    names = tuple(dict.fromkeys((*moving, *actual.at_world)))
    return Compared(
        flag_differences(
            "joint",
            names,
            actual.at_world,
            "joint {} moves, but connects a body to the world: simulators fix that "
            "body and drop the joint",
            ("two bodies", "one body"),
        ),
        note=None if names else "no joint of an articulation moves",
    )


def bodies(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Check that the bodies of all links are dynamic.

    A USD without any dynamic body is static, which is covered by the check of the base.
    """
    named = {link.name for link in expected.links}
    own = [link.name for link in actual.links if link.name in named and link.body == link.name]
    return Compared(
        flag_differences(
            "link",
            own,
            actual.nondynamic,
            "link {}: rigid body is kinematic or disabled",
            ("dynamic", "not dynamic"),
        ),
        note=None if own else "no link has a rigid body",
    )


def flag_differences(
    kind: Literal["link", "joint"],
    names: Sequence[str],
    flagged: Sequence[str],
    message: str,
    values: tuple[str, str],
) -> tuple[Difference, ...]:
    """Return a difference per link or joint; those with a flag fail.

    Args:
        kind: Of the names.
        names: All that are compared.
        flagged: Names of those with the flag, which fail.
        message: Describes a failure; ``{}`` stands for the name.
        values: The expected value, and that of a failure.
    """
    expected, other = values
    return tuple(
        equality(
            f"{kind} {name}",
            name not in flagged,
            message.replace("{}", name),
            expected,
            other if name in flagged else expected,
        )
        for name in names
    )


def _root_counts(observation: Observation) -> tuple[int, int]:
    """Return the least and largest number of articulation roots.

    Floating joints divide a robot into mechanisms. One with a moving joint is an
    articulation; one with fixed joints alone may be one.
    """
    linked = [j for j in observation.joints if j.type is not JointType.FLOATING]
    parent = {joint.child: joint.parent for joint in linked}
    driven = {_head(joint.child, parent) for joint in linked if COORDINATES[joint.type]}
    jointed = {_head(joint.child, parent) for joint in linked}
    return len(driven), len(jointed)


def _ties(expected: Observation, actual: Observation) -> int:
    """Count the child joints of a fixed root that is no body.

    Only the world connects what they carry: one articulation or several.
    """
    carried = {link.name for link in actual.links if link.body is not None}
    if actual.base is not Base.FIXED or expected.root in carried:
        return 0
    return sum(
        joint.parent == expected.root and joint.child in carried for joint in expected.joints
    )


def _head(link: str, parent: Mapping[str, str]) -> str:
    """Return the first link of a mechanism; in a loop, the last one visited."""
    seen = {link}
    while (above := parent.get(link, link)) not in seen:
        seen.add(above)
        link = above
    return link


def base(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Compare how the root relates to the world, if both sides state it."""
    is_static = not any(COORDINATES[joint.type] for joint in expected.joints) and not any(
        link.mass and link.mass.mass for link in expected.links
    )
    required = expected.base
    if required is None:
        if actual.base is not Base.STATIC or is_static:
            return Compared((), note="the URDF does not define the base")
        required = Base.FLOATING
    if actual.base is None:
        return Incomparable(f"{actual.engine} states no base")
    # Without mass and moving joints all three are the same.
    equal = required is actual.base or (is_static and actual.base is Base.STATIC)
    message = f"the base is {actual.base.value}, not {required.value}"
    sides = required.value, actual.base.value
    return Compared((equality(f"link {expected.root}", equal, message, *sides, item="robot"),))


def shared_joints(
    expected: Observation, actual: Observation
) -> list[tuple[JointObservation, JointObservation]]:
    """Pair joints by name; the check of joints reports the others."""
    theirs = {joint.name: joint for joint in actual.joints}
    return [(joint, theirs[joint.name]) for joint in expected.joints if joint.name in theirs]


def unit_hint(expected: float, actual: float) -> str:
    """Suggest wrong units if the ratio of the numbers is 180/pi or its inverse."""
    if not expected or not actual:
        return ""
    ratio = actual / expected
    for factor, words in (
        (_DEGREES, "degrees instead of radians?"),
        (1 / _DEGREES, "radians instead of degrees?"),
    ):
        if abs(ratio / factor - 1) < _UNIT_FIT:
            return f" ({words})"
    return ""


def _equality(joint: str, what: str, expected: str, actual: str) -> Difference:
    message = f"joint {joint}: {what}: {actual} instead of {expected}"
    return equality(f"joint {joint}", expected == actual, message, expected, actual)


STRUCTURE_CHECKS = (
    Check(
        "structure.links",
        "links",
        "",
        Quantity.LINKS,
        names.links,
        "Every URDF link is found in the USD by its name, and there is no other body.",
    ),
    Check(
        "structure.joints",
        "joints",
        "",
        Quantity.JOINTS,
        names.joints,
        "Every URDF joint is found in the USD by its name, and there is no other joint. A fixed "
        "joint may also be expressed by one body for both links.",
    ),
    Check(
        "structure.types",
        "joint types",
        "",
        Quantity.JOINT_TYPES,
        types,
        "Joints of the same name have the same type. A continuous joint equals a revolute one "
        "without limits.",
    ),
    Check(
        "structure.parents",
        "parents and children",
        "",
        Quantity.JOINTS,
        parents,
        "Joints of the same name connect the same parent and child.",
    ),
    Check(
        "structure.mimic",
        "mimic couplings",
        "",
        Quantity.MIMIC,
        mimic,
        "Followers, leaders, multipliers and offsets are equal to float32 precision. Without its "
        "coupling a follower moves freely.",
    ),
    Check(
        "structure.articulation",
        "articulation roots",
        "",
        Quantity.JOINTS,
        articulation,
        "A robot with moving joints has exactly one articulation root, and all its joints belong "
        "to it. Without one, solvers simulate separate bodies; with two, they reject the robot or"
        " simulate two. Its root is the first body of the robot, or holds the joint that fixes "
        "it, and no simulator disables it.",
        usd_alone=True,
    ),
    Check(
        "structure.world",
        "joints to the world",
        "",
        Quantity.JOINTS,
        world,
        "No moving joint of an articulation has the world, or a prim without rigid body, on one "
        "side: solvers in reduced coordinates fix the body on the other side, and the robot loses"
        " a degree of freedom.",
        usd_alone=True,
    ),
    Check(
        "structure.bodies",
        "dynamic rigid bodies",
        "",
        Quantity.LINKS,
        bodies,
        "No rigid body of a link is kinematic or disabled: forces do not move such a body.",
        usd_alone=True,
    ),
    Check(
        "structure.scene",
        "gravity and surroundings",
        "",
        Quantity.LINKS,
        scene,
        "Physics scenes have the gravity of the Earth, down along the up axis; all bodies are "
        "simulated by the same scene; and the USD has no body, collider or visual besides those "
        "of the robot.",
        usd_alone=True,
    ),
    Check(
        "structure.initial",
        "initial state",
        "",
        Quantity.LINKS,
        partial(of_links, SettingKind.INITIAL_STATE),
        "Bodies and joints start at rest, awake, and at the zero configuration.",
        usd_alone=True,
    ),
    Check(
        "structure.animation",
        "values over time",
        "",
        Quantity.LINKS,
        partial(of_everything, SettingKind.ANIMATION),
        "No value of the USD changes over time: all time samples of an attribute equal its "
        "default value. Consumers read one or the other.",
        usd_alone=True,
    ),
    Check(
        "structure.values",
        "usable values",
        "",
        Quantity.LINKS,
        partial(of_everything, SettingKind.VALUES),
        "No number of the USD that has an effect is NaN or infinite, and quaternions are unit "
        "quaternions: consumers differ in what they compute from others.",
        usd_alone=True,
    ),
    Check(
        "structure.words",
        "words without a schema",
        "",
        Quantity.LINKS,
        names.words,
        "What no schema of USD has and a USD keeps under urdf: is what the URDF says: safety "
        "controllers, calibrations, limits of acceleration, and attributes and elements that are "
        "no part of URDF, such as transmissions.",
        usd_alone=True,
    ),
    Check(
        "structure.base",
        "base",
        "",
        Quantity.BASE,
        base,
        "The root is fixed or floating as the URDF states or the user requested: a fixed "
        "quadruped cannot walk, a floating arm falls.",
    ),
)
