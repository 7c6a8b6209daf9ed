"""Settings in the URDF and in an SRDF, and what settings lead to, in SI units.

Elements of a URDF count only if a settings file asks for them: ``<ros2_control>`` is
that of https://control.ros.org, ``<transmission>`` that of ROS 1, ``<gazebo>`` that of
https://classic.gazebosim.org/tutorials?tut=ros_urdf. Of an SRDF
(http://wiki.ros.org/srdf), disabled pairs and named poses are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.robot.model import Link, Robot, XmlElement
from urdf_usd.converter.simulation.settings import Control
from urdf_usd.converter.urdf.xml import parse_markup

# Of several command interfaces, the first of these counts.
_INTERFACES: tuple[Control, ...] = ("position", "velocity", "effort")
Pair = tuple[str, str]


class JointDrive(Struct, frozen=True):
    """A drive with gains.

    The force is ``stiffness * (target_position - position) + damping *
    (target_velocity - velocity)``, within the effort limit of the URDF.
    """

    joint: str
    stiffness: float  # [N m/rad or N/m]
    damping: float  # [N m s/rad or N s/m]
    target_position: float = 0.0  # [rad or m]
    target_velocity: float = 0.0  # [rad/s or m/s]


class ContactMaterial(Struct, frozen=True):
    """Contact material of the colliders of a link."""

    link: str
    static: float
    dynamic: float
    restitution: float = 0.0


class Simulation(Struct, frozen=True):
    """All settings of a robot that do not come from its URDF alone.

    Joints and links are in the order of the robot, pairs are sorted.
    """

    drives: tuple[JointDrive, ...] = ()
    armatures: tuple[tuple[str, float], ...] = ()  # [kg m^2 or kg]
    limit_stiffnesses: tuple[tuple[str, float], ...] = ()  # [N m/rad or N/m]
    limit_dampings: tuple[tuple[str, float], ...] = ()  # [N m s/rad or N s/m]
    positions: tuple[tuple[str, float], ...] = ()  # Other than zero [rad or m].
    filtered_pairs: tuple[Pair, ...] = ()
    filter_overlaps: bool = False
    self_collision: bool | None = None  # None if simulators decide.
    contact_materials: tuple[ContactMaterial, ...] = ()


class Actuation(Struct, frozen=True):
    """What ``<ros2_control>`` or ``<transmission>`` state of joints; others are passive."""

    controls: Mapping[str, Control | None]
    positions: Mapping[str, float]  # [rad or m]


def read_ros2_control(robot: Robot, notes: list[Diagnostic]) -> Actuation | None:
    """Return what ``<ros2_control>`` states; None without such an element."""
    systems = _elements(robot, "ros2_control")
    controls: dict[str, Control | None] = {}
    positions: dict[str, float] = {}
    for joint in _children(systems, "joint"):
        name = _name(joint)
        interfaces = set(map(_name, _children([joint], "command_interface")))
        for mode in (mode for mode in _INTERFACES if mode in interfaces):
            controls.setdefault(name, mode)
        states = _children([joint], "state_interface")
        params = _children((state for state in states if _name(state) == "position"), "param")
        for param in params:
            if _name(param) == "initial_value":
                what = f"initial_value of {name!r}"
                value = _number(param.text, what, robot.location, notes)
                if value is not None:
                    positions[name] = value
    return Actuation(controls, positions) if systems else None


def read_transmissions(robot: Robot, _notes: list[Diagnostic]) -> Actuation | None:
    """Return what ``<transmission>`` states; None without such an element."""
    transmissions = _elements(robot, "transmission")
    names = map(_name, _children(transmissions, "joint"))
    return Actuation(dict.fromkeys(names), {}) if transmissions else None


def read_frictions(robot: Robot, notes: list[Diagnostic]) -> dict[str, ContactMaterial]:
    """Return the friction that ``<gazebo>`` states of links with colliders."""
    frictions = {}
    for link in robot.links:
        values: dict[str, float] = {}
        for name in ("mu1", "mu2", "kp", "kd"):
            for child in _children(_elements(link, "gazebo"), name):
                what = f"<{name}> of link {link.name!r}"
                value = _number(child.text, what, link.location, notes)
                if value is not None and value >= 0:
                    values[name] = value
        lost = []
        if contacts := [f"<{name}>" for name in ("kp", "kd") if name in values]:
            lost.append((", ".join(contacts), "are", "no stiffness and damping of contacts"))
        pyramid = [values[name] for name in ("mu1", "mu2") if name in values]
        if pyramid and link.collisions:
            frictions[link.name] = ContactMaterial(link.name, pyramid[0], pyramid[0])
            if len(set(pyramid)) > 1:
                lost.append(("<mu2>", "is", "one friction for all directions"))
        for tags, verb, reason in lost:
            message = f"{tags} of link {link.name!r} {verb} not written: UsdPhysics has {reason}"
            notes.append(Diagnostic("description-lost", message, link.location))
    return frictions


def read_self_collision(robot: Robot) -> bool | None:
    """Return whether links collide with each other, if ``<gazebo>`` states it.

    One link that does is enough: simulators have one flag for a robot.
    """
    owners: tuple[Robot | Link, ...] = (robot, *robot.links)
    elements = [element for owner in owners for element in _elements(owner, "gazebo")]
    stated = [
        child.text.strip().lower() in {"true", "1"}
        for name in ("selfCollide", "self_collide")
        for child in _children(elements, name)
    ]
    return any(stated) if stated else None


def _number(
    text: str, what: str, location: Location | None, notes: list[Diagnostic]
) -> float | None:
    try:
        value = float(text.strip())
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        return value
    message = f"{what} is {text.strip()!r}, which is no number; ignored"
    notes.append(Diagnostic("description-unmatched", message, location))
    return None


def _elements(owner: Robot | Link, tag: str) -> list[XmlElement]:
    return [one.content for one in owner.custom.elements if one.content.tag == tag]


def _children(elements: Iterable[XmlElement], tag: str) -> Iterator[XmlElement]:
    return (child for element in elements for child in element.children if child.tag == tag)


def _name(element: XmlElement) -> str:
    return dict(element.attributes).get("name", "")


class GroupState(Struct, frozen=True):
    """A named pose of a group of joints."""

    group: str
    name: str
    positions: Mapping[str, float]  # [rad or m]
    location: Location


class Srdf(Struct, frozen=True):
    """What an SRDF states: names of links by tag of pairs, and named poses."""

    pairs: Mapping[str, list[tuple[tuple[str, ...], Location]]]
    states: tuple[GroupState, ...]


_PAIRS = {
    "disable_collisions": ("link1", "link2"),
    # In spite of a link that collides with no other.
    "enable_collisions": ("link1", "link2"),
    "disable_default_collisions": ("link",),
}


def parse_srdf(data: bytes, file: str, notes: list[Diagnostic]) -> Srdf:
    """Read an SRDF.

    Raises:
        SourceError: It is no SRDF, or a position is no number.
    """
    root = parse_markup(data, file, notes)
    if root.tag != "robot":
        message = f"the root element is <{root.tag}>, not <robot> as in an SRDF"
        raise SourceError((Diagnostic("srdf-invalid", message, root.location),))
    pairs: dict[str, list[tuple[tuple[str, ...], Location]]] = {tag: [] for tag in _PAIRS}
    states = []
    for element in root.children:
        if element.tag in _PAIRS:
            names = tuple(element.get(key) or "" for key in _PAIRS[element.tag])
            pairs[element.tag].append((names, element.location))
        elif element.tag == "group_state":
            positions = {}
            for joint in element.children:
                # Joints with several axes have several numbers.
                values = (joint.get("value") or "").split()
                if joint.tag == "joint" and len(values) == 1:
                    try:
                        positions[joint.get("name") or ""] = float(values[0])
                    except ValueError:
                        message = f"{values[0]!r} is no position"
                        note = Diagnostic("srdf-invalid", message, joint.location)
                        raise SourceError((note,)) from None
            group, name = element.get("group") or "", element.get("name") or ""
            states.append(GroupState(group, name, positions, element.location))
    return Srdf(pairs, tuple(states))


def disabled_pairs(srdf: Srdf, links: Iterable[str], notes: list[Diagnostic]) -> set[Pair]:
    """Return the pairs of a robot's links that do not collide, each sorted.

    Names of links that the robot does not have are reported once each.
    """
    known = set(links)
    disabled, enabled, muted = (srdf.pairs[tag] for tag in _PAIRS)
    missing: dict[str, Location] = {}
    for names, location in (*disabled, *enabled, *muted):
        for name in names:
            if name not in known:
                missing.setdefault(name, location)
    for name, location in missing.items():
        message = f"the robot has no link {name!r}; its collision pairs are left out"
        notes.append(Diagnostic("description-unmatched", message, location))
    pairs = {sorted_pair(one, other) for (one, other), _ in disabled}
    pairs |= {sorted_pair(name, other) for (name,), _ in muted for other in known}
    pairs -= {sorted_pair(one, other) for (one, other), _ in enabled}
    return {pair for pair in pairs if pair[0] != pair[1] and known.issuperset(pair)}


def sorted_pair(one: str, other: str) -> Pair:
    """Return two names in order."""
    return (one, other) if one <= other else (other, one)
