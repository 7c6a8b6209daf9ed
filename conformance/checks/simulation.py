"""Settings that a simulation settings file requests, compared by value.

These checks are made only if there is a simulation settings file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from msgspec import structs

from urdf_usd.conformance.checks import check
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance import scalar_bound
from urdf_usd.reports.records.record import Difference

_WORLD = ""
_FRICTIONS = ("physics:staticFriction", "physics:dynamicFriction", "physics:restitution")
_SELF_COLLISION = ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")
# Attributes of joints whose values are compared where they are requested.
_ATTRIBUTES = {
    "drives": (obs.SettingKind.DRIVE, ("drive:*:physics:stiffness", "drive:*:physics:damping")),
    "armatures": (
        obs.SettingKind.JOINT,
        ("newton:armature", "mjc:armature", "physxJoint:armature", "physxJointAxis:*:armature"),
    ),
    "limit_stiffnesses": (obs.SettingKind.JOINT, ("newton:limitStiffness",)),
    "limit_dampings": (obs.SettingKind.JOINT, ("newton:limitDamping",)),
    "positions": (obs.SettingKind.INITIAL_STATE, ("state:*:physics:position", "newton:*:position")),
}


def without_requested(
    observation: obs.Observation, requested: obs.SimulationObservation
) -> obs.Observation:
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
    rest = []
    for one in observation.unexpected:
        if one.kind is obs.SettingKind.MATERIAL and one.subject in with_material:
            is_requested = one.attribute in _FRICTIONS
        elif one.kind is obs.SettingKind.FILTER and one.attribute in _SELF_COLLISION:
            is_requested = requested.self_collision is not None
        elif one.attribute == "physics:filteredPairs" and one.partner:
            ends = one.subject.removeprefix("link "), one.partner.removeprefix("link ")
            is_requested = frozenset(ends) in pairs
        else:
            is_requested = (one.kind, one.subject, one.attribute) in explained
        if not is_requested:
            rest.append(one)
    return structs.replace(observation, unexpected=tuple(rest))


def _settings(sides: check.Sides) -> tuple[obs.SimulationObservation, obs.SimulationObservation]:
    none = obs.SimulationObservation()
    return sides.expected.simulation or none, sides.actual.simulation or none


def _check(
    id: str, title: str, what: str, unit: str = "1", field: str = ""
) -> Callable[[check.Comparer], check.Comparer]:
    def define(function: check.Comparer) -> check.Comparer:
        clause = " ".join((function.__doc__ or "").split())

        @check.check(id, title, obs.Quantity.SIMULATION, unit, clause=clause)
        def compare(sides: check.Sides) -> check.Comparison | check.Differences:
            if field and any(getattr(side, field) is None for side in _settings(sides)):
                return check.not_stated(sides.actual, "drives" if field == "drives" else what)
            return function(sides)

        return function

    return define


def _number(
    subject: str,
    what: str,
    expected: float,
    actual: float | None,
    sides: check.Sides,
    least: float = 0.0,
) -> Difference:
    """Compare a number, relative to the expected one, but at least to ``least``."""
    name = what.replace("_", " ")
    values = check.stated(expected), check.stated(actual, "another for each simulator")
    amount = math.inf if actual is None else check.relative_difference(expected, actual, least)
    amounts, item = (amount, scalar_bound(1.0), sides.tolerance.force), f"{subject} {name}"
    return check.difference(subject, check.is_not(name, values), values, "", amounts, item=item)


def _presence(subject: str, same: bool, expected: str, actual: str) -> Difference:
    message = f"{subject}: {actual}, not {expected}"
    return check.equality(subject, same, message, expected, actual, item=subject)


def _of_bodies(pair: Iterable[str], body: Mapping[str, str]) -> frozenset[str]:
    return frozenset(body.get(name, name) for name in pair)


@_check("simulation.gains", "gains of drives", "drive with gains", field="drives")
def _gains(sides: check.Sides) -> check.Differences:
    """Stiffness and damping of every drive, relative; gains are forces, not accelerations."""
    requested, found = _settings(sides)
    drives = {drive.joint: drive for drive in found.drives or ()}
    for drive in requested.drives or ():
        subject, other = f"joint {drive.joint}", drives.get(drive.joint)
        for name in ("stiffness", "damping"):
            value = getattr(other, name, None)
            yield _number(subject, name, getattr(drive, name), value, sides)
        same = other is None or other.acceleration == drive.acceleration
        message = f"{subject}: the drive scales its gains with inertia"
        item = f"{drive.joint} type"
        yield check.equality(subject, same, message, "force", "acceleration", item=item)


@_check("simulation.targets", "targets of drives", "drive with gains", field="drives")
def _targets(sides: check.Sides) -> check.Differences:
    """Position or velocity that every drive follows, relative to at least 1 rad or 1 m."""
    requested, found = _settings(sides)
    drives = {drive.joint: drive for drive in found.drives or ()}
    for drive in requested.drives or ():
        other = drives.get(drive.joint)
        # A drive without stiffness follows no position.
        for name in ("target_position", "target_velocity")[not drive.stiffness :]:
            value, actual = getattr(drive, name), getattr(other, name, None)
            if value is not None and (other is None or actual is not None):
                yield _number(f"joint {drive.joint}", name, value, actual, sides, least=1.0)


@_check("simulation.armature", "armature", "armature", field="armatures")
def _armatures(sides: check.Sides) -> check.Differences:
    """Inertia of the motor of every joint, relative."""
    requested, found = _settings(sides)
    values = dict(found.armatures or ())
    for joint, value in requested.armatures or ():
        yield _number(f"joint {joint}", "armature", value, values.get(joint, 0.0), sides)


@_check("simulation.limits", "springs at limits", "springs at limits, or they are hard")
def _limit_springs(sides: check.Sides) -> check.Differences:
    """Stiffness and damping of the springs at the limits of joints, relative."""
    requested, found = _settings(sides)
    for what, field in (("stiffness", "limit_stiffnesses"), ("damping", "limit_dampings")):
        values = getattr(found, field)
        for joint, value in getattr(requested, field) or () if values is not None else ():
            yield _number(f"joint {joint}", f"limit {what}", value, dict(values).get(joint), sides)


@_check("simulation.positions", "initial positions", "initial position", field="positions")
def _positions(sides: check.Sides) -> check.Differences:
    """Initial position of every joint that does not start at zero, relative to at least 1."""
    requested, found = _settings(sides)
    values = dict(found.positions or ())
    for joint, value in requested.positions or ():
        actual = values.get(joint, 0.0)
        yield _number(f"joint {joint}", "initial position", value, actual, sides, least=1.0)


@_check("simulation.filters", "requested collision filters", "filtered pairs", "", "filtered_pairs")
def _filters(sides: check.Sides) -> check.Differences:
    """Pairs of links that the simulation settings file filters do not collide."""
    requested, found = _settings(sides)
    # A link without a body is part of the world; without colliders it has no contacts to filter.
    body = {link.name: link.body or _WORLD for link in sides.actual.links}
    shapes = (*sides.expected.shapes, *sides.actual.shapes)
    colliders = (shape.link for shape in shapes if shape.role is Role.COLLISION)
    colliding = {body.get(link, link) for link in colliders} - {_WORLD}
    filtered = {_of_bodies(pair, body) for pair in found.filtered_pairs or ()}
    for pair in requested.filtered_pairs or ():
        ends = _of_bodies(pair, body)
        if len(ends) > 1 and ends <= colliding:
            subject = f"links {pair[0]} and {pair[1]}"
            yield _presence(subject, ends in filtered, "no contacts", "contacts")


@_check("simulation.contacts", "self-collision and contact materials", "contacts")
def _contacts(sides: check.Sides) -> check.Differences:
    """Self-collision, and friction and restitution of every collider of a link."""
    requested, found = _settings(sides)
    if found.contact_materials is None:
        return
    if requested.self_collision is not None:
        words = {True: "on", False: "off", None: "absent"}
        texts = [f"self-collision {words[side.self_collision]}" for side in (requested, found)]
        yield _presence("robot", texts[0] == texts[1], texts[0], texts[1])
    # Materials of the colliders of each link; the nearest prim that is a link counts.
    names = {link.name for link in sides.expected.links}
    of_collider: dict[str, obs.ContactMaterialObservation] = {}
    materials: dict[str, list[obs.ContactMaterialObservation]] = {}
    for one in found.contact_materials:
        if one.link in names and of_collider.setdefault(one.source, one) is one:
            materials.setdefault(one.link, []).append(one)
    # Lost colliders are a difference of shapes, and may be requested.
    bare = {link.name for link in sides.actual.links} - materials.keys()
    for material in requested.contact_materials or ():
        for field in ("static", "dynamic", "restitution") if material.link not in bare else ():
            # NaN if the colliders of a link differ.
            values = {getattr(one, field) for one in materials.get(material.link, ())}
            value = math.nan if len(values) > 1 else next(iter(values), None)
            title = field if field == "restitution" else f"{field} friction"
            subject, requests = f"link {material.link}", getattr(material, field)
            yield _number(subject, title, requests, value, sides)
    # Links without a requested material in bodies of links with one; those in other bodies are
    # unexpected settings. Some are those that simulators use without a contact material.
    body = {link.name: link.body or link.name for link in sides.actual.links}
    named = {one.link for one in requested.contact_materials or ()}
    bodies = {body.get(name, name) for name in named}
    for link, colliders in materials.items():
        if link not in named and body.get(link, link) in bodies:
            usual = all(
                one.static is None
                or (one.static == one.dynamic in obs.USUAL_FRICTIONS and one.restitution == 0)
                for one in colliders
            )
            yield _presence(f"link {link}", usual, "no contact material", "a contact material")
