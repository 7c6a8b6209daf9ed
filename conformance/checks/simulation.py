"""Settings that a simulation settings file requests, compared by value.

These checks are made only if there is a simulation settings file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from urdf_usd.conformance.checks.check import (
    CheckGroup,
    Compared,
    Comparison,
    Incomparable,
    difference,
    equality,
    relative_difference,
    stated,
)
from urdf_usd.conformance.observation.robot import (
    Observation,
    Quantity,
    SettingKind,
    UnexpectedSetting,
)
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.observation.simulation import (
    USUAL_FRICTIONS,
    ContactMaterialObservation,
    SimulationObservation,
)
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.reports.records.record import Difference

_WORLD = ""
_FRICTIONS = ("physics:staticFriction", "physics:dynamicFriction", "physics:restitution")
_SELF_COLLISION = (
    "newton:selfCollisionEnabled",
    "physxArticulation:enabledSelfCollisions",
)
# Attributes of joints whose values are compared where they are requested.
_ATTRIBUTES = {
    "drives": (SettingKind.DRIVE, ("drive:*:physics:stiffness", "drive:*:physics:damping")),
    "armatures": (
        SettingKind.JOINT,
        (
            "newton:armature",
            "mjc:armature",
            "physxJoint:armature",
            "physxJointAxis:*:armature",
        ),
    ),
    "limit_stiffnesses": (SettingKind.JOINT, ("newton:limitStiffness",)),
    "limit_dampings": (SettingKind.JOINT, ("newton:limitDamping",)),
    "positions": (SettingKind.INITIAL_STATE, ("state:*:physics:position", "newton:*:position")),
}

SIMULATION = CheckGroup()


def without_requested(observation: Observation, requested: SimulationObservation) -> Observation:
    """Leave out unexpected settings of a USD that a settings file requests: they are compared."""
    if observation.unexpected is None:
        return observation
    explained = {
        (kind, f"joint {setting[0] if isinstance(setting, tuple) else setting.joint}", attribute)
        for field, (kind, attributes) in _ATTRIBUTES.items()
        for setting in getattr(requested, field) or ()
        for attribute in attributes
    }
    body = {link.name: link.body or link.name for link in observation.links}
    named_pairs = (*(requested.filtered_pairs or ()), *requested.tolerated_pairs)
    pairs = {_of_bodies(pair, body) for pair in named_pairs}
    materials = requested.contact_materials or ()
    with_material = {f"link {body.get(one.link, one.link)}" for one in materials}

    def is_requested(setting: UnexpectedSetting) -> bool:
        attribute = setting.attribute
        if setting.kind is SettingKind.MATERIAL and setting.subject in with_material:
            return attribute in _FRICTIONS
        if setting.kind is SettingKind.FILTER and attribute in _SELF_COLLISION:
            return requested.self_collision is not None
        if attribute == "physics:filteredPairs" and setting.partner:
            ends = (setting.subject, setting.partner)
            return frozenset(end.removeprefix("link ") for end in ends) in pairs
        return (setting.kind, setting.subject, attribute) in explained

    rest = tuple(one for one in observation.unexpected if not is_requested(one))
    return structs.replace(observation, unexpected=rest)


def _settings(
    expected: Observation, actual: Observation
) -> tuple[SimulationObservation, SimulationObservation]:
    """Return the settings of both sides; without any if a side states none."""
    none = SimulationObservation()
    return expected.simulation or none, actual.simulation or none


def _compared(differences: Iterable[Difference], what: str) -> Compared:
    found = tuple(differences)
    return Compared(found, note=None if found else f"the description states no {what}")


def _not_stated(actual: Observation, what: str) -> Incomparable:
    return Incomparable(f"{actual.engine} states no {what}")


@SIMULATION.check("simulation.gains", "gains of drives", Quantity.SIMULATION, "1")
def _gains(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Stiffness and damping of every drive that the robot description file states, relative; gains
    are forces, not accelerations. Natural frequencies become gains with the joint-space inertia
    at the initial positions.
    """
    requested, found = _settings(expected, actual)
    if requested.drives is None or found.drives is None:
        return _not_stated(actual, "drives")
    drives = {drive.joint: drive for drive in found.drives}
    differences: list[Difference] = []
    for drive in requested.drives:
        subject, other = f"joint {drive.joint}", drives.get(drive.joint)
        differences += (
            _ratio(subject, name, getattr(drive, name), getattr(other, name, None), model)
            for name in ("stiffness", "damping")
        )
        same = other is None or other.acceleration == drive.acceleration
        message = f"{subject}: the drive scales its gains with inertia"
        item = f"{drive.joint} type"
        differences.append(equality(subject, same, message, "force", "acceleration", item=item))
    return _compared(differences, "drive with gains")


@SIMULATION.check("simulation.targets", "targets of drives", Quantity.SIMULATION, "1")
def _targets(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Position or velocity that every drive follows, relative to the larger of it and 1 rad or
    1 m.
    """
    requested, found = _settings(expected, actual)
    if requested.drives is None or found.drives is None:
        return _not_stated(actual, "drives")
    drives = {drive.joint: drive for drive in found.drives}
    differences = []
    for drive in requested.drives:
        other = drives.get(drive.joint)
        # A drive without stiffness follows no position.
        names = ("target_position", "target_velocity") if drive.stiffness else ("target_velocity",)
        for name in names:
            value, actual_value = getattr(drive, name), getattr(other, name, None)
            if value is not None and (other is None or actual_value is not None):
                subject = f"joint {drive.joint}"
                differences.append(_ratio(subject, name, value, actual_value, model, least=1.0))
    return _compared(differences, "drive with gains")


@SIMULATION.check("simulation.armature", "armature", Quantity.SIMULATION, "1")
def _armatures(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Inertia of the motor of every joint for which the robot description file states it,
    relative.
    """
    requested, found = _settings(expected, actual)
    return _numbers("armature", requested.armatures, found.armatures, 0.0, actual, model)


@SIMULATION.check("simulation.limits", "springs at limits", Quantity.SIMULATION, "1")
def _limit_springs(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Stiffness and damping of the springs that keep joints inside their limits, where the robot
    description file states them, relative. Newton has them; limits of PhysX are hard.
    """
    requested, found = _settings(expected, actual)
    differences = (
        _ratio(f"joint {joint}", what, value, dict(there).get(joint), model)
        for what, stated, there in (
            ("limit stiffness", requested.limit_stiffnesses, found.limit_stiffnesses),
            ("limit damping", requested.limit_dampings, found.limit_dampings),
        )
        if there is not None
        for joint, value in stated or ()
    )
    return _compared(differences, "springs at limits, or they are hard")


@SIMULATION.check("simulation.positions", "initial positions", Quantity.SIMULATION, "1")
def _positions(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Initial position of every joint that does not start at zero, relative to the larger of it
    and 1 rad or 1 m; mimic joints follow.
    """
    requested, found = _settings(expected, actual)
    return _numbers("initial position", requested.positions, found.positions, 1.0, actual, model)


def _numbers(
    what: str,
    requested: Sequence[tuple[str, float]] | None,
    found: Sequence[tuple[str, float]] | None,
    least: float,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare one number of each joint; absent means zero."""
    if requested is None or found is None:
        return _not_stated(actual, what)
    values = dict(found)
    differences = (
        _ratio(f"joint {joint}", what, value, values.get(joint, 0.0), model, least)
        for joint, value in requested
    )
    return _compared(differences, what)


def _ratio(
    subject: str,
    what: str,
    expected: float,
    actual: float | None,
    model: ToleranceModel,
    least: float = 0.0,
) -> Difference:
    """Compare a number, relative to the expected one, but at least to ``least``."""
    name = what.replace("_", " ")
    return difference(
        subject,
        name,
        (stated(expected), stated(actual, "another for each simulator")),
        item=f"{subject} {name}",
        amount=math.inf if actual is None else relative_difference(expected, actual, least),
        bound=scalar_bound(1.0),
        tolerance=model.tolerance.force,
    )


@SIMULATION.check("simulation.filters", "requested collision filters", Quantity.SIMULATION)
def _filters(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Pairs of links that the robot description file filters do not collide. Other filtered pairs
    fail the check of collision filters.
    """
    requested, found = _settings(expected, actual)
    if requested.filtered_pairs is None or found.filtered_pairs is None:
        return _not_stated(actual, "filtered pairs")
    # A link without a body is part of the world; without colliders it has no contacts to filter.
    body = {link.name: link.body or _WORLD for link in actual.links}
    shapes = (*expected.shapes, *actual.shapes)
    colliders = (shape.link for shape in shapes if shape.role is Role.COLLISION)
    colliding = {body.get(link, link) for link in colliders} - {_WORLD}
    filtered = {_of_bodies(pair, body) for pair in found.filtered_pairs}
    differences = (
        _presence(
            f"links {pair[0]} and {pair[1]}",
            _of_bodies(pair, body) in filtered,
            "no contacts",
            "contacts",
        )
        for pair in requested.filtered_pairs
        if len(ends := _of_bodies(pair, body)) > 1 and ends <= colliding
    )
    return _compared(differences, "filtered pairs")


def _of_bodies(pair: Iterable[str], body: Mapping[str, str]) -> frozenset[str]:
    return frozenset(body.get(name, name) for name in pair)


def _presence(subject: str, same: bool, expected: str, actual: str) -> Difference:
    message = f"{subject}: {actual}, not {expected}"
    return equality(subject, same, message, expected, actual, item=subject)


@SIMULATION.check(
    "simulation.contacts", "self-collision and contact materials", Quantity.SIMULATION, "1"
)
def _contacts(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Self-collision, and friction and restitution of every collider of a link, are those of the
    robot description file.
    """
    requested, found = _settings(expected, actual)
    if found.contact_materials is None:
        return _compared((), "contacts")
    differences: list[Difference] = []
    if requested.self_collision is not None:
        words = {True: "on", False: "off", None: "absent"}
        texts = [f"self-collision {words[side.self_collision]}" for side in (requested, found)]
        differences.append(_presence("robot", texts[0] == texts[1], texts[0], texts[1]))
    materials = _materials_by_link(expected, found.contact_materials)
    # Lost colliders are a difference of shapes, and may be requested.
    bare = {link.name for link in actual.links} - materials.keys()
    for material in requested.contact_materials or ():
        if material.link not in bare:
            colliders = materials.get(material.link, ())
            for field, title in (
                ("static", "static friction"),
                ("dynamic", "dynamic friction"),
                ("restitution", "restitution"),
            ):
                value = _agreed(getattr(one, field) for one in colliders)
                subject = f"link {material.link}"
                differences.append(_ratio(subject, title, getattr(material, field), value, model))
    differences += _surplus_materials(actual, requested, materials)
    return _compared(differences, "contacts")


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


def _agreed(values: Iterable[float | None]) -> float | None:
    """Return the value of all colliders of a link, NaN if they differ."""
    different = set(values)
    if len(different) > 1:
        return math.nan
    return different.pop() if different else None


def _surplus_materials(
    actual: Observation,
    requested: SimulationObservation,
    materials: Mapping[str, Sequence[ContactMaterialObservation]],
) -> Iterator[Difference]:
    """Yield links without a requested contact material in bodies of links with one.

    Those in other bodies are unexpected settings. Some are those that simulators use without a
    contact material.
    """
    body = {link.name: link.body or link.name for link in actual.links}
    named = {one.link for one in requested.contact_materials or ()}
    bodies = {body.get(name, name) for name in named}
    for link, colliders in materials.items():
        if link not in named and body.get(link, link) in bodies:
            usual = all(
                one.static is None
                or (one.static == one.dynamic in USUAL_FRICTIONS and one.restitution == 0)
                for one in colliders
            )
            yield _presence(f"link {link}", usual, "no contact material", "a contact material")
