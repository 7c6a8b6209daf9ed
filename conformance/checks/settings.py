"""Settings of a USD that no URDF implies, and those that a description file promises.

Settings change the simulation. What a robot description file states is compared by
value; all others fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec import structs

from urdf_usd.conformance.observation.robot import (
    Observation,
    SettingKind,
    UnimpliedSetting,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeKind
from urdf_usd.conformance.observation.simulation import (
    USUAL_FRICTIONS,
    ContactMaterialObservation,
    DriveObservation,
    SimulationObservation,
)
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Description,
    Difference,
    Incomparable,
    ToleranceModel,
    number,
    relative_difference,
)

_EVERYTHING = "robot"
_SHAPES = {Role.COLLISION: "collider", Role.VISUAL: "visual"}
_ROLES = {
    SettingKind.FILTER: (Role.COLLISION, frozenset(ShapeKind)),
    SettingKind.APPROXIMATION: (Role.COLLISION, frozenset(ShapeKind)),
    SettingKind.MATERIAL: (Role.COLLISION, frozenset(ShapeKind)),
    SettingKind.GEOMETRY: (Role.VISUAL, frozenset(ShapeKind)),
    SettingKind.SUBDIVISION: (Role.VISUAL, frozenset({ShapeKind.MESH})),
}

_WORLD = ""
_GAINS = ("stiffness", "damping")
_TARGETS = ("target_position", "target_velocity")
_ARMATURES = (
    "newton:armature",
    "mjc:armature",
    "physxJoint:armature",
    "physxJointAxis:*:armature",
)
_LIMIT_STIFFNESS = "newton:limitStiffness"
_LIMIT_DAMPING = "newton:limitDamping"
_POSITIONS = (
    "state:*:physics:position",
    "newton:*:position",
)
_SELF_COLLISION = (
    "newton:selfCollisionEnabled",
    "physxArticulation:enabledSelfCollisions",
)
_FILTERED_PAIRS = "physics:filteredPairs"
_CONTACT_MATERIAL = (
    "physics:staticFriction",
    "physics:dynamicFriction",
    "physics:restitution",
)
_COEFFICIENTS = {
    "static": "static friction",
    "dynamic": "dynamic friction",
    "restitution": "restitution",
}


def scene(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Check gravity and what is outside of the robot."""
    if actual.unimplied is None:
        return _unread(actual)
    found = settings_of(SettingKind.SCENE, actual)
    links = {link.name for link in expected.links}
    carriers: dict[tuple[Role, str], list[str]] = {}
    for shape in actual.shapes:
        carriers.setdefault((shape.role, shape.source), []).append(shape.link)
    surplus = [
        UnimpliedSetting(
            SettingKind.SCENE,
            _EVERYTHING,
            f"{_SHAPES[role]} {source} belongs to no link",
            f"no {_SHAPES[role]}",
            f"a {_SHAPES[role]}",
        )
        for (role, source), names in carriers.items()
        if links.isdisjoint(names)
    ]
    return Compared(_differences((_EVERYTHING,), (*found, *surplus)))


def of_everything(
    kind: SettingKind, _: Observation, actual: Observation, __: ToleranceModel
) -> Comparison:
    """Check the settings of any part of the robot."""
    if actual.unimplied is None:
        return _unread(actual)
    return Compared(_differences((_EVERYTHING,), settings_of(kind, actual)))


def of_joints(
    kind: SettingKind, _: Observation, actual: Observation, __: ToleranceModel
) -> Comparison:
    """Check the settings of joints."""
    if actual.unimplied is None:
        return _unread(actual)
    subjects = dict.fromkeys(f"joint {joint.name}" for joint in actual.joints)
    note = None if subjects else "there is no joint"
    return Compared(_differences(subjects, settings_of(kind, actual)), note=note)


def of_links(
    kind: SettingKind, expected: Observation, actual: Observation, _: ToleranceModel
) -> Comparison:
    """Check the settings of rigid bodies."""
    if actual.unimplied is None:
        return _unread(actual)
    named = {link.name for link in expected.links}
    subjects = [
        f"link {link.name}"
        for link in actual.links
        if link.name in named and link.body == link.name
    ]
    note = None if subjects else "no link has a rigid body"
    return Compared(_differences(subjects, settings_of(kind, actual)), note=note)


def of_shapes(
    kind: SettingKind, expected: Observation, actual: Observation, _: ToleranceModel
) -> Comparison:
    """Check the settings of colliders or visuals, per link."""
    if actual.unimplied is None:
        return _unread(actual)
    role, kinds = _ROLES[kind]
    named = {link.name for link in expected.links}
    subjects = dict.fromkeys(
        f"link {shape.link}"
        for shape in actual.shapes
        if shape.role is role and shape.kind in kinds and shape.link in named
    )
    note = None if subjects else f"no link has a {role} shape of this kind"
    return Compared(_differences(subjects, settings_of(kind, actual)), note=note)


def settings_of(kind: SettingKind, observation: Observation) -> tuple[UnimpliedSetting, ...]:
    """Return the settings of one kind."""
    return tuple(one for one in observation.unimplied or () if one.kind is kind)


def setting_difference(setting: UnimpliedSetting) -> Difference:
    """Return the difference of a setting, which fails."""
    return Difference(
        item=setting.subject,
        subject=setting.subject,
        amount=math.inf,
        describe=lambda: Description(
            setting.message
            if setting.subject == _EVERYTHING
            else f"{setting.subject}: {setting.message}",
            expected=setting.expected,
            actual=setting.actual,
        ),
    )


def _differences(
    subjects: Iterable[str], found: Iterable[UnimpliedSetting]
) -> tuple[Difference, ...]:
    """Return one difference per setting, and per subject without any."""
    failing = tuple(found)
    wrong = {one.subject for one in failing}
    return tuple(
        Difference(
            item=subject,
            subject=subject,
            amount=0.0,
            describe=lambda: Description("nothing that the URDF does not imply"),
        )
        for subject in subjects
        if subject not in wrong
    ) + tuple(map(setting_difference, failing))


def _unread(actual: Observation) -> Incomparable:
    return Incomparable(f"{actual.engine} does not read settings besides the URDF's")


def without_promised(observation: Observation, promise: SimulationObservation) -> Observation:
    """Leave out settings that a description file states; their values are checked.

    Args:
        observation: Of a USD.
        promise: What the file states.
    """
    if observation.unimplied is None:
        return observation

    def joints_of(values: tuple[tuple[str, float], ...] | None) -> set[str]:
        return {joint for joint, _ in values or ()}

    drives = {drive.joint for drive in promise.drives or ()}
    explained = {
        (kind, f"joint {joint}", attribute)
        for kind, joints, attributes in (
            (
                SettingKind.DRIVE,
                drives,
                tuple(f"drive:*:physics:{gain}" for gain in _GAINS),
            ),
            (SettingKind.JOINT, joints_of(promise.armatures), _ARMATURES),
            (
                SettingKind.JOINT,
                joints_of(promise.limit_stiffnesses),
                (_LIMIT_STIFFNESS,),
            ),
            (SettingKind.JOINT, joints_of(promise.limit_dampings), (_LIMIT_DAMPING,)),
            (SettingKind.INITIAL_STATE, joints_of(promise.positions), _POSITIONS),
        )
        for joint in joints
        for attribute in attributes
    }
    promised = (*(promise.filtered_pairs or ()), *promise.tolerated_pairs)
    body = {link.name: link.body or link.name for link in observation.links}
    pairs = {_of_bodies(pair, body) for pair in promised}
    with_material = {
        f"link {body.get(one.link, one.link)}" for one in promise.contact_materials or ()
    }

    def remains(setting: UnimpliedSetting) -> bool:
        if (setting.kind, setting.subject, setting.attribute) in explained:
            return False
        if setting.kind is SettingKind.MATERIAL and setting.subject in with_material:
            return setting.attribute not in _CONTACT_MATERIAL
        if setting.kind is SettingKind.FILTER:
            if setting.attribute in _SELF_COLLISION:
                return promise.self_collision is None
            if setting.attribute == _FILTERED_PAIRS and setting.partner:
                ends = (setting.subject, setting.partner)
                names = frozenset(end.removeprefix("link ") for end in ends)
                return names not in pairs
        return True

    rest = tuple(one for one in observation.unimplied if remains(one))
    return structs.replace(observation, unimplied=rest)


def _both(
    expected: Observation, actual: Observation
) -> tuple[SimulationObservation, SimulationObservation] | Incomparable:
    if expected.simulation is None or actual.simulation is None:
        side = expected if expected.simulation is None else actual
        return Incomparable(f"{side.engine} states no settings of a simulation")
    return expected.simulation, actual.simulation


def drives(
    what: Literal["gains", "targets"],
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare stiffness and damping of drives, or the targets that they follow."""
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    promised, found = sides
    if promised.drives is None or found.drives is None:
        return Incomparable(f"{actual.engine} states no drives")
    there = {drive.joint: drive for drive in found.drives}
    differences: list[Difference] = []
    for drive in promised.drives:
        other = there.get(drive.joint)
        for name in _GAINS if what == "gains" else _TARGETS:
            # A drive without stiffness follows no position.
            if name == "target_position" and not drive.stiffness:
                continue
            ours = getattr(drive, name)
            theirs = getattr(other, name) if other else None
            if other and (ours is None or theirs is None):
                continue
            scale = 1.0 if what == "targets" else 0.0
            differences.append(
                _difference(f"joint {drive.joint}", name, ours, theirs, model, least=scale)
            )
        if what == "gains":
            differences.append(_mode(drive, other))
    note = None if differences else "the description states no drive with gains"
    return Compared(tuple(differences), note=note)


def _mode(drive: DriveObservation, other: DriveObservation | None) -> Difference:
    same = other is None or other.acceleration == drive.acceleration
    return Difference(
        item=f"{drive.joint} type",
        subject=f"joint {drive.joint}",
        amount=0.0 if same else math.inf,
        describe=lambda: Description(
            f"joint {drive.joint}: the drive scales its gains with inertia",
            "force",
            "acceleration",
        ),
    )


def armatures(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare the armature of joints; absent means zero."""
    return _numbers("armature", lambda one: one.armatures, expected, actual, model, least=0.0)


def limit_springs(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare the springs at limits, unless limits are hard."""
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    promised, found = sides
    differences = tuple(
        _difference(f"joint {joint}", what, value, dict(there).get(joint), model, least=0.0)
        for what, ours, there in (
            ("limit stiffness", promised.limit_stiffnesses, found.limit_stiffnesses),
            ("limit damping", promised.limit_dampings, found.limit_dampings),
        )
        if there is not None
        for joint, value in ours or ()
    )
    note = "the description states no springs at limits, or they are hard"
    return Compared(differences, note=None if differences else note)


def positions(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare initial positions of joints; absent means zero."""
    return _numbers(
        "initial position",
        lambda one: one.positions,
        expected,
        actual,
        model,
        least=1.0,
    )


def _numbers(
    what: str,
    values: Callable[[SimulationObservation], tuple[tuple[str, float], ...] | None],
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
    least: float,
) -> Comparison:
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    promised, found = map(values, sides)
    if promised is None or found is None:
        return Incomparable(f"{actual.engine} states no {what}")
    there: Mapping[str, float] = dict(found)
    differences = tuple(
        _difference(f"joint {joint}", what, value, there.get(joint, 0.0), model, least=least)
        for joint, value in promised
    )
    note = None if differences else f"the description states no {what}"
    return Compared(differences, note=note)


def _difference(
    subject: str,
    what: str,
    ours: float,
    theirs: float | None,
    model: ToleranceModel,
    least: float,
) -> Difference:
    """Compare a number, relative to the first side's, but at least to ``least``."""
    amount = math.inf if theirs is None else relative_difference(ours, theirs, least)
    name = what.replace("_", " ")
    return Difference(
        item=f"{subject} {name}",
        subject=subject,
        amount=amount,
        bound=scalar_bound(1.0),
        tolerance=model.tolerance.force,
        describe=partial(_words, subject, name, ours, theirs),
    )


def _words(subject: str, what: str, ours: float, theirs: float | None) -> Description:
    expected = number(ours)
    actual = "absent" if theirs is None else number(theirs)
    if theirs is not None and math.isnan(theirs):
        actual = "another for each simulator"
    return Description(f"{subject}: {what} is {actual}, not {expected}", expected, actual)


def filters(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Check that promised pairs of links do not collide.

    Other pairs that are filtered are found by the check of collision filters.
    """
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    promised, found = sides
    if promised.filtered_pairs is None or found.filtered_pairs is None:
        return Incomparable(f"{actual.engine} states no filtered pairs")
    # A link without a body is part of the world.
    body = {link.name: link.body or _WORLD for link in actual.links}
    # Links without colliders have no contacts to filter.
    colliding = {
        body.get(shape.link, shape.link)
        for shape in (*expected.shapes, *actual.shapes)
        if shape.role is Role.COLLISION
    } - {_WORLD}
    there = {_of_bodies(pair, body) for pair in found.filtered_pairs}
    differences = tuple(
        _presence(
            f"links {pair[0]} and {pair[1]}",
            _of_bodies(pair, body) in there,
            "no contacts",
            "contacts",
        )
        for pair in promised.filtered_pairs
        if len(ends := _of_bodies(pair, body)) > 1 and ends <= colliding
    )
    note = None if differences else "the description states no filtered pairs"
    return Compared(differences, note=note)


def _of_bodies(pair: Iterable[str], body: Mapping[str, str]) -> frozenset[str]:
    return frozenset(body.get(name, name) for name in pair)


def contacts(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare self-collision, and friction and restitution of links."""
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    promised, found = sides
    differences: list[Difference] = []
    if promised.self_collision is not None and found.contact_materials is not None:
        words = {True: "on", False: "off", None: "absent"}
        differences.append(
            _presence(
                "robot",
                promised.self_collision == found.self_collision,
                f"self-collision {words[promised.self_collision]}",
                f"self-collision {words[found.self_collision]}",
            )
        )
    if found.contact_materials is not None:
        materials = _materials_by_link(expected, found.contact_materials)
        # Lost colliders are a difference of shapes, and may be requested.
        bare = {link.name for link in actual.links} - materials.keys()
        differences += (
            _difference(
                f"link {one.link}",
                title,
                getattr(one, name),
                _agreed(getattr(m, name) for m in materials.get(one.link, ())),
                model,
                least=0.0,
            )
            for one in promised.contact_materials or ()
            if one.link not in bare
            for name, title in _COEFFICIENTS.items()
        )
        differences += _surplus_materials(actual, promised, materials)
    note = None if differences else "the description states no contacts"
    return Compared(tuple(differences), note=note)


def _materials_by_link(
    expected: Observation, found: Iterable[ContactMaterialObservation]
) -> dict[str, list[ContactMaterialObservation]]:
    """Return the contact materials of the colliders of each link of the URDF."""
    names = {link.name for link in expected.links}
    of_collider: dict[str, ContactMaterialObservation] = {}
    for one in found:
        if one.link in names:
            of_collider.setdefault(one.source, one)
    by_link: dict[str, list[ContactMaterialObservation]] = {}
    for one in of_collider.values():
        by_link.setdefault(one.link, []).append(one)
    return by_link


def _surplus_materials(
    actual: Observation,
    promised: SimulationObservation,
    materials: Mapping[str, Sequence[ContactMaterialObservation]],
) -> Iterator[Difference]:
    """Yield links without a promised contact material in bodies of links with one.

    Those in other bodies are settings that nothing implies.
    """
    body = {link.name: link.body or link.name for link in actual.links}
    named = {one.link for one in promised.contact_materials or ()}
    bodies = {body.get(name, name) for name in named}
    for link, colliders in materials.items():
        if link not in named and body.get(link, link) in bodies:
            yield _presence(
                f"link {link}",
                all(map(_is_usual, colliders)),
                "no contact material",
                "a contact material",
            )


def _is_usual(one: ContactMaterialObservation) -> bool:
    """Return whether simulators use the same without a contact material."""
    return one.static is None or (
        one.static == one.dynamic in USUAL_FRICTIONS and one.restitution == 0
    )


def _agreed(values: Iterable[float | None]) -> float | None:
    """Return the value of all colliders of a link, NaN if they differ."""
    different = set(values)
    if len(different) > 1:
        return math.nan
    return different.pop() if different else None


def _presence(subject: str, same: bool, expected: str, actual: str) -> Difference:
    return Difference(
        item=subject,
        subject=subject,
        amount=0.0 if same else math.inf,
        describe=lambda: Description(f"{subject}: {actual}, not {expected}", expected, actual),
    )
