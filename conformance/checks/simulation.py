"""Settings that a robot description file requests, compared by value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec import structs

from urdf_usd.conformance.checks.check import Check, equality
from urdf_usd.conformance.observation.robot import (
    Observation,
    Quantity,
    SettingKind,
    UnimpliedSetting,
)
from urdf_usd.conformance.observation.shapes import Role
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
    Incomparable,
    ToleranceModel,
    number,
    relative_difference,
)
from urdf_usd.reports.records.record import Difference

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


def without_requested(observation: Observation, requested: SimulationObservation) -> Observation:
    """Leave out settings that a description file states; their values are checked.

    Args:
        observation: Of a USD.
        requested: What the file states.
    """
    if observation.unimplied is None:
        return observation

    def joints_of(values: tuple[tuple[str, float], ...] | None) -> set[str]:
        return {joint for joint, _ in values or ()}

    drives = {drive.joint for drive in requested.drives or ()}
    explained = {
        (kind, f"joint {joint}", attribute)
        for kind, joints, attributes in (
            (
                SettingKind.DRIVE,
                drives,
                tuple(f"drive:*:physics:{gain}" for gain in _GAINS),
            ),
            (SettingKind.JOINT, joints_of(requested.armatures), _ARMATURES),
            (
                SettingKind.JOINT,
                joints_of(requested.limit_stiffnesses),
                (_LIMIT_STIFFNESS,),
            ),
            (SettingKind.JOINT, joints_of(requested.limit_dampings), (_LIMIT_DAMPING,)),
            (SettingKind.INITIAL_STATE, joints_of(requested.positions), _POSITIONS),
        )
        for joint in joints
        for attribute in attributes
    }
    named_pairs = (*(requested.filtered_pairs or ()), *requested.tolerated_pairs)
    body = {link.name: link.body or link.name for link in observation.links}
    pairs = {_of_bodies(pair, body) for pair in named_pairs}
    with_material = {
        f"link {body.get(one.link, one.link)}" for one in requested.contact_materials or ()
    }

    def remains(setting: UnimpliedSetting) -> bool:
        if (setting.kind, setting.subject, setting.attribute) in explained:
            return False
        if setting.kind is SettingKind.MATERIAL and setting.subject in with_material:
            return setting.attribute not in _CONTACT_MATERIAL
        if setting.kind is SettingKind.FILTER:
            if setting.attribute in _SELF_COLLISION:
                return requested.self_collision is None
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
    requested, found = sides
    if requested.drives is None or found.drives is None:
        return Incomparable(f"{actual.engine} states no drives")
    there = {drive.joint: drive for drive in found.drives}
    differences: list[Difference] = []
    for drive in requested.drives:
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
    subject = f"joint {drive.joint}"
    message = f"{subject}: the drive scales its gains with inertia"
    return equality(subject, same, message, "force", "acceleration", item=f"{drive.joint} type")


def limit_springs(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare the springs at limits, unless limits are hard."""
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    requested, found = sides
    differences = tuple(
        _difference(f"joint {joint}", what, value, dict(there).get(joint), model, least=0.0)
        for what, ours, there in (
            ("limit stiffness", requested.limit_stiffnesses, found.limit_stiffnesses),
            ("limit damping", requested.limit_dampings, found.limit_dampings),
        )
        if there is not None
        for joint, value in ours or ()
    )
    note = "the description states no springs at limits, or they are hard"
    return Compared(differences, note=None if differences else note)


def joint_numbers(
    what: str,
    field: Literal["armatures", "positions"],
    least: float,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare one number of each joint, relative; absent means zero.

    The difference from numbers smaller than ``least`` is relative to it.
    """
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    requested, found = (getattr(side, field) for side in sides)
    if requested is None or found is None:
        return Incomparable(f"{actual.engine} states no {what}")
    there: Mapping[str, float] = dict(found)
    differences = tuple(
        _difference(f"joint {joint}", what, value, there.get(joint, 0.0), model, least=least)
        for joint, value in requested
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
    expected, actual = number(ours), number(theirs)
    if theirs is not None and math.isnan(theirs):
        actual = "another for each simulator"
    return Difference(
        item=f"{subject} {name}",
        subject=subject,
        message=f"{subject}: {name} is {actual}, not {expected}",
        expected=expected,
        actual=actual,
        amount=amount,
        bound=scalar_bound(1.0),
        tolerance=model.tolerance.force,
    )


def filters(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Check that requested pairs of links do not collide.

    Other pairs that are filtered are found by the check of collision filters.
    """
    sides = _both(expected, actual)
    if isinstance(sides, Incomparable):
        return sides
    requested, found = sides
    if requested.filtered_pairs is None or found.filtered_pairs is None:
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
        for pair in requested.filtered_pairs
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
    requested, found = sides
    differences: list[Difference] = []
    if requested.self_collision is not None and found.contact_materials is not None:
        words = {True: "on", False: "off", None: "absent"}
        differences.append(
            _presence(
                "robot",
                requested.self_collision == found.self_collision,
                f"self-collision {words[requested.self_collision]}",
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
            for one in requested.contact_materials or ()
            if one.link not in bare
            for name, title in _COEFFICIENTS.items()
        )
        differences += _surplus_materials(actual, requested, materials)
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
    requested: SimulationObservation,
    materials: Mapping[str, Sequence[ContactMaterialObservation]],
) -> Iterator[Difference]:
    """Yield links without a requested contact material in bodies of links with one.

    Those in other bodies are settings that nothing implies.
    """
    body = {link.name: link.body or link.name for link in actual.links}
    named = {one.link for one in requested.contact_materials or ()}
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
    message = f"{subject}: {actual}, not {expected}"
    return equality(subject, same, message, expected, actual, item=subject)


SIMULATION_CHECKS = (
    Check(
        "simulation.gains",
        "gains of drives",
        "1",
        Quantity.SIMULATION,
        partial(drives, "gains"),
        "Stiffness and damping of every drive that the robot description file states, relative; "
        "gains are forces, not accelerations. Natural frequencies become gains with the "
        "joint-space inertia that MuJoCo computes.",
    ),
    Check(
        "simulation.targets",
        "targets of drives",
        "1",
        Quantity.SIMULATION,
        partial(drives, "targets"),
        "Position or velocity that every drive follows, relative to the larger of it and 1 rad or"
        " 1 m.",
    ),
    Check(
        "simulation.armature",
        "armature",
        "1",
        Quantity.SIMULATION,
        partial(joint_numbers, "armature", "armatures", 0.0),
        "Inertia of the motor of every joint for which the robot description file states it, "
        "relative.",
    ),
    Check(
        "simulation.limits",
        "springs at limits",
        "1",
        Quantity.SIMULATION,
        limit_springs,
        "Stiffness and damping of the springs that keep joints inside their limits, where the "
        "robot description file states them, relative. Newton has them; limits of PhysX are hard.",
    ),
    Check(
        "simulation.positions",
        "initial positions",
        "1",
        Quantity.SIMULATION,
        partial(joint_numbers, "initial position", "positions", 1.0),
        "Initial position of every joint that does not start at zero, relative to the larger of "
        "it and 1 rad or 1 m; mimic joints follow.",
    ),
    Check(
        "simulation.filters",
        "promised collision filters",
        "",
        Quantity.SIMULATION,
        filters,
        "Pairs of links that the robot description file filters do not collide. Other filtered "
        "pairs fail the check of collision filters.",
    ),
    Check(
        "simulation.contacts",
        "self-collision and contact materials",
        "1",
        Quantity.SIMULATION,
        contacts,
        "Self-collision, and friction and restitution of every collider of a link, are those of "
        "the robot description file.",
    ),
)
"""Made only if there is a robot description file."""
