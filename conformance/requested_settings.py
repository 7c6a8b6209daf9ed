"""The settings that a simulation settings file requests, read without the converter.

The file is read by ``tomllib``, the URDF and SRDF by ``xml.etree``, and MuJoCo computes the
inertia for natural frequencies and the distances of colliders. The settings are compared with
those of the USD by the checks of :mod:`urdf_usd.conformance.checks.simulation`.
"""

from __future__ import annotations

import glob
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
from msgspec import Struct, field, structs

from urdf_usd.conformance.engines.mujoco_distances import link_distances
from urdf_usd.conformance.engines.mujoco_models import build
from urdf_usd.conformance.engines.mujoco_motion import equations_of_motion
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Configurations,
    JointObservation,
    JointType,
    Observation,
    head_coupling,
)
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.observation.simulation import (
    ContactMaterialObservation,
    DriveObservation,
    SimulationObservation,
)
from urdf_usd.conformance.observation.solids import Solid

Node: TypeAlias = ElementTree.Element
Pair: TypeAlias = frozenset[str]

_TOUCHING = 1e-4  # distance of colliders that touch [m]
# Overlap from which a pair has to be filtered, and distance up to which it may be [m].
_DEEP = 1e-3
_GAINS = ("stiffness", "damping")
_OSCILLATION = ("natural_frequency", "damping_ratio")


class ShapeSettings(Struct, frozen=True):
    """Mass properties and colliders that are requested, in the terms of the command line."""

    inertia: str | None = None
    density: float | None = None  # of links without mass [kg/m^3]
    colliders: tuple[str, ...] = ()
    tolerance: str | None = None


def read_shape_settings(text: str) -> ShapeSettings:
    """Read mass properties and colliders from a settings file that the converter has accepted."""
    document = tomllib.loads(text)
    inertia, colliders = document.get("inertia"), document.get("colliders", {})
    rules = [f"{name}={kind}" for name, kind in colliders.get("links", {}).items()]
    if "default" in colliders:
        rules.insert(0, colliders["default"])
    density = None if inertia is None else inertia.get("density")
    tolerance = colliders.get("tolerance")
    return ShapeSettings(
        inertia=None if inertia is None else inertia.get("missing", "geometry"),
        density=None if density is None else float(density),
        colliders=tuple(rules),
        tolerance=None if tolerance is None else str(tolerance),
    )


def read_requested_settings(
    text: str,
    expected: Observation,
    attached: Mapping[str, bytes] = MappingProxyType({}),
    solids: Sequence[Solid] = (),
    urdf: str | None = None,
    repair: Callable[[bytes], Node] | None = None,
) -> SimulationObservation:
    """Return what a settings file requests of the USD of a robot.

    Args:
        text: Of the settings file, which the converter has accepted.
        expected: Observation of the URDF, with frames at the zero configuration.
        attached: Content of the files that it names, by name as written.
        solids: Colliders of the USD, if overlapping pairs are filtered.
        urdf: Path of the URDF, if elements of it count.
        repair: Returns the root element of a malformed URDF or SRDF.

    Raises:
        ValueError: It is not what the converter has accepted.
        ParseError: An XML file is malformed, and there is no repair.
        UnbuildableError: MuJoCo cannot simulate the robot.
    """
    document = tomllib.loads(text)
    repaired: list[str] = []

    def parse(name: str, data: bytes) -> Node:
        try:
            return ElementTree.fromstring(data)  # noqa: S314  accepted by the converter
        except (ElementTree.ParseError, LookupError, ValueError):
            if repair is None:
                raise
            repaired.append(name)
            return repair(data)

    sources = document.get("sources", {})
    elements = _UrdfElements()
    if any(sources.values()) and urdf is not None:
        elements = _read_urdf_elements(parse("URDF", Path(urdf).read_bytes()))
    tables = (document.get("filters", {}), document.get("pose", {}))
    srdf_files = {table["srdf"] for table in tables if "srdf" in table}
    srdfs = {name: parse(Path(name).name, attached[name]) for name in sorted(srdf_files)}

    joints = {joint.name: joint for joint in expected.joints if COORDINATES[joint.type] == 1}
    pose = _pose(document, srdfs)
    if sources.get("ros2_control"):
        pose = {glob.escape(name): value for name, value in elements.positions.items()} | pose
    positions = _positions(pose, joints)
    settings = _joint_settings(document, elements, joints)
    filtered, tolerated = _filtered(document, expected, srdfs, solids)
    self_collision = document.get("self_collision")
    if self_collision is None and sources.get("gazebo"):
        self_collision = elements.self_collision

    def numbers(key: str) -> tuple[tuple[str, float], ...]:
        return tuple((name, float(one[key])) for name, one in settings.items() if key in one)

    requested = SimulationObservation(
        drives=tuple(_drives(settings, expected, joints, positions)),
        armatures=numbers("armature"),
        limit_stiffnesses=numbers("limit_stiffness"),
        limit_dampings=numbers("limit_damping"),
        # Without a pose, followers start at zero as well.
        positions=tuple((name, value) for name, value in positions.items() if pose and value),
        filtered_pairs=filtered,
        tolerated_pairs=tolerated,
        self_collision=self_collision,
        contact_materials=tuple(_contact_materials(document, elements, expected)),
        repaired=tuple(repaired),
    )
    return structs.replace(requested, sources=tuple(_summary(requested)))


def _summary(requested: SimulationObservation) -> Iterator[str]:
    """Yield what is requested, for the record."""
    materials = requested.contact_materials or ()
    names = {
        "drive": [drive.joint for drive in requested.drives or ()],
        "armature": [name for name, _ in requested.armatures or ()],
        "limit stiffness": [name for name, _ in requested.limit_stiffnesses or ()],
        "limit damping": [name for name, _ in requested.limit_dampings or ()],
        "initial position": [name for name, _ in requested.positions or ()],
        "friction": [material.link for material in materials],
        "restitution": [material.link for material in materials if material.restitution],
    }
    yield from (f"{what}: {', '.join(listed)}" for what, listed in names.items() if listed)
    if requested.filtered_pairs:
        yield f"filtered pairs: {len(requested.filtered_pairs)}"
    if requested.self_collision is not None:
        yield f"self-collision: {'on' if requested.self_collision else 'off'}"
    if requested.repaired:
        yield (
            "malformed, so that what it states rests on the converter's repair alone: "
            f"{', '.join(requested.repaired)}"
        )


class _UrdfElements(Struct, frozen=True):
    """What ``<ros2_control>``, ``<transmission>`` and ``<gazebo>`` state."""

    modes: dict[str, str] | None = None  # control mode by joint; None without ros2_control
    positions: dict[str, float] = field(default_factory=dict)  # initial positions by joint
    transmitted: frozenset[str] | None = None  # joints of transmissions; None without any
    frictions: dict[str, float] = field(default_factory=dict)  # by link
    self_collision: bool | None = None


def _read_urdf_elements(root: Node) -> _UrdfElements:
    """Return what a URDF states; texts that are no numbers do not count."""
    joints = root.findall("ros2_control/joint")
    states = [
        (joint, param)
        for joint in joints
        for param in joint.findall("state_interface[@name='position']/param")
        if param.get("name") == "initial_value"
    ]
    self_collisions = [
        (child.text or "").strip().lower() in {"true", "1"}
        for element in root.findall("gazebo")
        for child in element
        if child.tag in {"selfCollide", "self_collide"}
    ]
    frictions: dict[str, float] = {}
    for element in root.findall("gazebo"):
        link = element.get("reference", "")
        # The first of both directions counts.
        for name in ("mu2", "mu1"):
            for child in element.findall(name):
                value = _number(child.text)
                if value is not None and value >= 0 and (name == "mu1" or link not in frictions):
                    frictions[link] = value
    return _UrdfElements(
        modes={joint.get("name", ""): _mode(joint) for joint in joints}
        if root.find("ros2_control") is not None
        else None,
        positions={
            joint.get("name", ""): value
            for joint, param in states
            if (value := _number(param.text)) is not None
        },
        transmitted=frozenset(one.get("name", "") for one in root.findall("transmission/joint"))
        if root.find("transmission") is not None
        else None,
        frictions=frictions,
        self_collision=any(self_collisions) if self_collisions else None,
    )


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _mode(joint: Node) -> str:
    stated = {one.get("name") for one in joint.findall("command_interface")}
    return next((mode for mode in ("position", "velocity", "effort") if mode in stated), "none")


def _matching(patterns: str | Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the names that one of the patterns of a shell matches; case counts."""
    listed = [patterns] if isinstance(patterns, str) else patterns
    return [name for name in names if any(fnmatchcase(name, one) for one in listed)]


def _joint_settings(
    document: Mapping[str, Any], elements: _UrdfElements, joints: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return what the URDF and the tables state of each joint; later tables count."""
    sources = document.get("sources", {})
    settings: dict[str, dict[str, Any]] = {}
    if sources.get("ros2_control") and elements.modes is not None:
        settings = {name: {"control": elements.modes.get(name, "none")} for name in joints}
    elif sources.get("transmissions") and elements.transmitted is not None:
        idle = {"control": "none"}
        settings = {name: {} if name in elements.transmitted else {**idle} for name in joints}
    for table in document.get("joints", ()):
        dropped = _OSCILLATION if any(name in table for name in _GAINS) else ()
        if not dropped and "natural_frequency" in table:
            dropped = _GAINS
        for name in _matching(table["match"], joints):
            own = settings.setdefault(name, {})
            for key in dropped:
                own.pop(key, None)
            own.update({key: value for key, value in table.items() if key != "match"})
    return settings


def _drives(
    settings: Mapping[str, Mapping[str, Any]],
    expected: Observation,
    joints: Mapping[str, JointObservation],
    positions: Mapping[str, float],
) -> Iterator[DriveObservation]:
    inertias: Mapping[str, float] = {}
    if any("natural_frequency" in given for given in settings.values()):
        inertias = _moved_inertias(expected, joints, positions)
    for name, given in settings.items():
        if joints[name].mimic is not None:
            continue
        stiffness = float(given.get("stiffness", 0.0))
        damping = float(given.get("damping", 0.0))
        if "natural_frequency" in given:
            inertia = inertias[name] + float(given.get("armature", 0.0))
            rate = 2.0 * math.pi * float(given["natural_frequency"])
            stiffness = inertia * rate * rate
            damping = 2.0 * float(given.get("damping_ratio", 1.0)) * inertia * rate
        implied = "position" if stiffness else "velocity" if damping else "effort"
        mode = given.get("control", implied)
        target = given.get("target")
        if mode == "position" and stiffness:
            position = positions[name] if target is None else float(target)
            yield DriveObservation(name, stiffness, damping, position, 0.0)
        elif mode == "velocity" and damping:
            speed = 0.0 if target is None else float(target)
            yield DriveObservation(name, 0.0, damping, 0.0, speed)


def _moved_inertias(
    expected: Observation,
    joints: Mapping[str, JointObservation],
    positions: Mapping[str, float],
) -> dict[str, float]:
    """Return the inertia that each joint moves with all others held, by MuJoCo."""
    at_zero = {
        JointType.PLANAR: [0.0] * 4,
        JointType.FLOATING: [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        JointType.SPHERICAL: [1.0, 0.0, 0.0, 0.0],
    }
    moving = [joint for joint in expected.joints if COORDINATES[joint.type]]

    def configuration(positions: Mapping[str, float]) -> Configurations:
        rows = [at_zero.get(joint.type, [positions.get(joint.name, 0.0)]) for joint in moving]
        return Configurations(
            joints=tuple(joint.name for joint in moving),
            positions=tuple(np.array([row]) for row in rows),
            labels=("pose",),
        )

    # Frames were observed with leaders at zero.
    mechanism = build(expected, configuration(_positions({}, joints)))
    dynamics = equations_of_motion(mechanism, configuration(positions))
    return dict(zip(dynamics.joints, np.diag(dynamics.inertia[0]).tolist(), strict=True))


def _contact_materials(
    document: Mapping[str, Any], elements: _UrdfElements, expected: Observation
) -> Iterator[ContactMaterialObservation]:
    """Yield the contact materials of links with colliders."""
    colliding = dict.fromkeys(one.link for one in expected.shapes if one.role is Role.COLLISION)
    stated: dict[str, dict[str, Any]] = {}
    for table in document.get("links", ()):
        for name in _matching(table["match"], colliding):
            stated.setdefault(name, {}).update(table)
    frictions = elements.frictions if document.get("sources", {}).get("gazebo") else {}
    for link in colliding:
        own = stated.get(link, {})
        coefficients = [own[key] for key in ("static_friction", "dynamic_friction") if key in own]
        if not coefficients and link in frictions:
            coefficients = [frictions[link]]
        if coefficients:
            # Both are the same if one alone is stated, as in a URDF.
            static, dynamic = float(coefficients[0]), float(coefficients[-1])
            restitution = float(own.get("restitution", 0.0))
            yield ContactMaterialObservation(link, static, dynamic, restitution)


def _filtered(
    document: Mapping[str, Any],
    expected: Observation,
    srdfs: Mapping[str, Node],
    solids: Sequence[Solid],
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the pairs that have to be filtered, and those that may be."""
    filters = document.get("filters", {})
    links = frozenset(link.name for link in expected.links)
    joined = {frozenset((joint.parent, joint.child)) for joint in expected.joints}
    pairs: set[Pair] = {frozenset(pair) for pair in filters.get("pairs", ())}
    tolerated: set[Pair] = set()
    if "srdf" in filters:
        pairs |= _srdf_pairs(srdfs[filters["srdf"]], links)
    if filters.get("parent_child"):
        pairs |= joined
    if filters.get("overlap"):
        distances, thin = link_distances(solids)
        free = {frozenset(pair): distance for pair, distance in distances.items()}
        free = {pair: distance for pair, distance in free.items() if pair not in joined}
        deep = {pair for pair, distance in free.items() if distance < -_DEEP}
        # Rigid groups are bodies in the USD, and joints connect these.
        pairs |= {pair for pair in deep if not _of_one_joint(pair, expected)}
        tolerated = {pair for pair, distance in free.items() if distance < _DEEP}
        tolerated |= {frozenset((one, other)) for one in thin for other in links}

    def listed(pairs: Iterable[Pair]) -> tuple[tuple[str, str], ...]:
        known = (sorted(pair) for pair in pairs if len(pair) > 1 and pair <= links)
        return tuple(sorted((one, other) for one, other in known))

    return listed(pairs), listed(tolerated)


def _srdf_pairs(root: Node, links: frozenset[str]) -> set[Pair]:
    """Return the pairs of links that do not collide by an SRDF."""

    def named(tag: str) -> set[Pair]:
        return {frozenset((e.get("link1", ""), e.get("link2", ""))) for e in root.findall(tag)}

    muted = {one.get("link", "") for one in root.findall("disable_default_collisions")}
    pairs = named("disable_collisions")
    pairs |= {frozenset((one, other)) for one in muted for other in links}
    return pairs - named("enable_collisions")


def touching_links(expected: Observation, solids: Sequence[Solid]) -> dict[tuple[str, str], float]:
    """Return the distances of links that touch or overlap at rest, the least first [m].

    Links of one rigid group, and those that a joint connects, are left out: simulators do not
    let them collide. So are links with thin colliders.

    Args:
        expected: Observation of the URDF.
        solids: Colliders of the USD at rest.
    """
    distances, _ = link_distances(solids)
    return {
        links: distance
        for links, distance in sorted(distances.items(), key=lambda item: item[1])
        if distance < _TOUCHING and not _of_one_joint(frozenset(links), expected)
    }


def _of_one_joint(pair: Pair, expected: Observation) -> bool:
    """Whether two links are of one rigid group, or a joint connects their groups."""
    group = {link.name: link.name for link in expected.links}
    for joint in expected.joints:
        if joint.type is JointType.FIXED:
            old, new = group[joint.child], group[joint.parent]
            group |= {name: new for name, own in group.items() if own == old}
    ends = {group[name] for name in pair}
    return len(ends) == 1 or any(
        {group[joint.parent], group[joint.child]} == ends for joint in expected.joints
    )


def _pose(document: Mapping[str, Any], srdfs: Mapping[str, Node]) -> dict[str, float]:
    """Return positions by pattern of joint names; later ones count."""
    pose = document.get("pose", {})
    stated: dict[str, float] = {}
    if "state" in pose:
        root = srdfs[pose.get("srdf") or document["filters"]["srdf"]]
        (state,) = (
            one
            for one in root.findall("group_state")
            if pose["state"] in {one.get("name"), f"{one.get('group')}/{one.get('name')}"}
        )
        values = [(joint, joint.get("value", "")) for joint in state.findall("joint")]
        stated = {
            glob.escape(joint.get("name", "")): float(value)
            for joint, value in values
            if len(value.split()) == 1
        }
    return stated | {name: float(value) for name, value in pose.get("joints", {}).items()}


def _positions(
    pose: Mapping[str, float], joints: Mapping[str, JointObservation]
) -> dict[str, float]:
    """Return the initial position of every joint; followers follow."""
    positions = dict.fromkeys(joints, 0.0)
    for pattern, value in pose.items():
        positions |= dict.fromkeys(_matching(pattern, joints), value)
    mimics = {name: joint.mimic for name, joint in joints.items()}
    return positions | {
        name: head.multiplier * positions.get(head.leader, 0.0) + head.offset
        for name in joints
        if (head := head_coupling(name, mimics.get))
    }
