"""Settings in the URDF and in an SRDF, and what settings lead to, in SI units.

Elements of a URDF count only if a description file asks for them: ``<ros2_control>`` is
that of https://control.ros.org, ``<transmission>`` that of ROS 1, ``<gazebo>`` that of
https://classic.gazebosim.org/tutorials?tut=ros_urdf. Of an SRDF
(http://wiki.ros.org/srdf), disabled pairs and named poses are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.robot.model import Link, Robot, XmlElement
from urdf_usd.converter.simulation.description import Control
from urdf_usd.converter.urdf.xml import Element, parse_markup

# Of several command interfaces, the first of these counts.
_INTERFACES: tuple[Control, ...] = ("position", "velocity", "effort")
_SELF_COLLIDE = ("selfCollide", "self_collide")
_CONTACTS = ("kp", "kd")


class JointDrive(Struct, frozen=True):
    """A drive with gains.

    The force is ``stiffness * (target_position - position) + damping *
    (target_velocity - velocity)``, within the effort limit of the URDF.

    Attributes:
        joint: Name of a revolute, continuous or prismatic joint.
        stiffness: [N m/rad or N/m].
        damping: [N m s/rad or N s/m].
        target_position: [rad or m].
        target_velocity: [rad/s or m/s].
    """

    joint: str
    stiffness: float
    damping: float
    target_position: float = 0.0
    target_velocity: float = 0.0


class ContactMaterial(Struct, frozen=True):
    """Contact material of the colliders of a link.

    Attributes:
        link: Name of the link.
        static: Coefficient of static friction.
        dynamic: Coefficient of dynamic friction.
        restitution: Coefficient of restitution.
    """

    link: str
    static: float
    dynamic: float
    restitution: float = 0.0


class Simulation(Struct, frozen=True):
    """All settings of a robot that do not come from its URDF alone.

    Attributes:
        drives: In the order of the robot's joints.
        armatures: Joints, and inertia of their motors [kg m^2 or kg].
        limit_stiffnesses: Joints, and stiffness of the springs at their limits [N m/rad
            or N/m].
        limit_dampings: Joints, and damping of these springs [N m s/rad or N s/m].
        positions: Joints, and initial positions other than zero [rad or m].
        filtered_pairs: Links that do not collide, each pair and all pairs sorted.
        filter_overlaps: Whether bodies whose colliders overlap at the zero
            configuration do not collide either.
        self_collision: Whether links of the robot collide; None if simulators decide.
        contact_materials: One per link at most, in the order of the links.
    """

    drives: tuple[JointDrive, ...] = ()
    armatures: tuple[tuple[str, float], ...] = ()
    limit_stiffnesses: tuple[tuple[str, float], ...] = ()
    limit_dampings: tuple[tuple[str, float], ...] = ()
    positions: tuple[tuple[str, float], ...] = ()
    filtered_pairs: tuple[tuple[str, str], ...] = ()
    filter_overlaps: bool = False
    self_collision: bool | None = None
    contact_materials: tuple[ContactMaterial, ...] = ()


class Actuation(Struct, frozen=True):
    """What ``<ros2_control>`` or ``<transmission>`` state of joints.

    Attributes:
        controls: Control mode by joint, where an element states it.
        actuated: Names of joints with an actuator; all others are passive.
        positions: Initial positions by joint [rad or m].
    """

    controls: Mapping[str, Control]
    actuated: frozenset[str]
    positions: Mapping[str, float]


def read_ros2_control(robot: Robot, notes: list[Diagnostic]) -> Actuation | None:
    """Return what ``<ros2_control>`` states; None without such an element."""
    systems = list(_elements(robot, "ros2_control"))
    if not systems:
        return None
    controls: dict[str, Control] = {}
    positions: dict[str, float] = {}
    for joint in (one for system in systems for one in _children(system, "joint")):
        name = _attribute(joint, "name")
        interfaces = {_attribute(one, "name") for one in _children(joint, "command_interface")}
        mode = next((one for one in _INTERFACES if one in interfaces), None)
        if mode is not None:
            controls.setdefault(name, mode)
        for param in _position_params(joint):
            what = f"initial_value of {name!r}"
            value = _number(param.text, what, robot.location, notes)
            if value is not None:
                positions[name] = value
    return Actuation(controls, frozenset(controls), positions)


def _position_params(joint: XmlElement) -> Iterator[XmlElement]:
    """Yield the elements with the initial value of a position."""
    for state in _children(joint, "state_interface"):
        if _attribute(state, "name") == "position":
            for param in _children(state, "param"):
                if _attribute(param, "name") == "initial_value":
                    yield param


def read_transmissions(robot: Robot) -> Actuation | None:
    """Return what ``<transmission>`` states; None without such an element."""
    found = list(_elements(robot, "transmission"))
    names = (_attribute(joint, "name") for one in found for joint in _children(one, "joint"))
    return Actuation({}, frozenset(names), {}) if found else None


def read_frictions(robot: Robot, notes: list[Diagnostic]) -> tuple[ContactMaterial, ...]:
    """Return the friction that ``<gazebo>`` states of links with colliders."""
    frictions = []
    for link in robot.links:
        values: dict[str, float] = {}
        for name in ("mu1", "mu2", *_CONTACTS):
            for element in _gazebo(link):
                for child in _children(element, name):
                    value = _number(
                        child.text, f"<{name}> of link {link.name!r}", link.location, notes
                    )
                    if value is not None and value >= 0:
                        values[name] = value
        if lost := [name for name in _CONTACTS if name in values]:
            message = (
                f"<{'>, <'.join(lost)}> of link {link.name!r} are not written: "
                "UsdPhysics has no stiffness and damping of contacts"
            )
            notes.append(Diagnostic("description-lost", message, link.location))
        pyramid = [values[name] for name in ("mu1", "mu2") if name in values]
        if not (pyramid and link.collisions):
            continue
        if len(set(pyramid)) > 1:
            message = (
                f"<mu2> of link {link.name!r} is not written: UsdPhysics has one "
                "friction for all directions"
            )
            notes.append(Diagnostic("description-lost", message, link.location))
        frictions.append(ContactMaterial(link.name, pyramid[0], pyramid[0]))
    return tuple(frictions)


def read_self_collision(robot: Robot) -> bool | None:
    """Return whether links collide with each other, if ``<gazebo>`` states it.

    One link that does is enough: simulators have one flag for a robot.
    """
    stated = [
        child.text.strip().lower() in {"true", "1"}
        for element in (
            *_elements(robot, "gazebo"),
            *(element for link in robot.links for element in _gazebo(link)),
        )
        for name in _SELF_COLLIDE
        for child in _children(element, name)
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


def _elements(robot: Robot, tag: str) -> Iterator[XmlElement]:
    return (one.content for one in robot.custom.elements if one.content.tag == tag)


def _gazebo(link: Link) -> Iterator[XmlElement]:
    return (one.content for one in link.custom.elements if one.content.tag == "gazebo")


def _children(element: XmlElement, tag: str) -> Iterator[XmlElement]:
    return (child for child in element.children if child.tag == tag)


def _attribute(element: XmlElement, name: str) -> str:
    return dict(element.attributes).get(name, "")


class GroupState(Struct, frozen=True):
    """A named pose.

    Attributes:
        group: Name of the group of joints.
        name: Name of the pose.
        positions: Position by joint [rad or m].
        location: Of its element.
    """

    group: str
    name: str
    positions: Mapping[str, float]
    location: Location


class Srdf(Struct, frozen=True):
    """What an SRDF states.

    Attributes:
        disabled: Pairs of links that do not collide, and their elements.
        muted: Links that collide with no other, and their elements.
        enabled: Pairs that collide in spite of that.
        states: Named poses.
    """

    disabled: tuple[tuple[str, str, Location], ...]
    muted: tuple[tuple[str, Location], ...]
    enabled: tuple[tuple[str, str, Location], ...]
    states: tuple[GroupState, ...]


def parse_srdf(data: bytes, file: str, notes: list[Diagnostic]) -> Srdf:
    """Read an SRDF.

    Args:
        data: Its content.
        file: Its path, for locations.
        notes: Receives diagnostics.

    Raises:
        SourceError: It is no SRDF, or a position is no number.
    """
    root = parse_markup(data, file, notes)
    if root.tag != "robot":
        message = f"the root element is <{root.tag}>, not <robot> as in an SRDF"
        raise SourceError((Diagnostic("srdf-invalid", message, root.location),))
    return Srdf(
        disabled=tuple(_pairs(root, "disable_collisions")),
        muted=tuple(
            (child.get("link") or "", child.location)
            for child in root.children
            if child.tag == "disable_default_collisions"
        ),
        enabled=tuple(_pairs(root, "enable_collisions")),
        states=tuple(_state(one) for one in root.children if one.tag == "group_state"),
    )


def _pairs(root: Element, tag: str) -> Iterator[tuple[str, str, Location]]:
    for child in root.children:
        if child.tag == tag:
            one, other = (child.get(name) or "" for name in ("link1", "link2"))
            yield one, other, child.location


def _state(element: Element) -> GroupState:
    positions = {}
    for child in element.children:
        # Joints with several axes have several numbers.
        values = (child.get("value") or "").split()
        if child.tag != "joint" or len(values) != 1:
            continue
        try:
            positions[child.get("name") or ""] = float(values[0])
        except ValueError:
            message = f"{values[0]!r} is no position"
            raise SourceError((Diagnostic("srdf-invalid", message, child.location),)) from None
    return GroupState(
        element.get("group") or "",
        element.get("name") or "",
        positions,
        element.location,
    )


def disabled_pairs(
    srdf: Srdf, links: Mapping[str, object], notes: list[Diagnostic]
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a robot's links that do not collide, each sorted.

    Args:
        srdf: The SRDF.
        links: The robot's links by name; others are reported once each.
        notes: Receives diagnostics.
    """
    named = [
        *((name, place) for *pair, place in srdf.disabled for name in pair),
        *((name, place) for *pair, place in srdf.enabled for name in pair),
        *srdf.muted,
    ]
    missing: dict[str, Location] = {}
    for name, place in named:
        if name not in links:
            missing.setdefault(name, place)
    for name, place in missing.items():
        message = f"the robot has no link {name!r}; its collision pairs are left out"
        notes.append(Diagnostic("description-unmatched", message, place))
    pairs = {_sorted(one, other) for one, other, _ in srdf.disabled}
    pairs |= {_sorted(name, other) for name, _ in srdf.muted for other in links}
    pairs -= {_sorted(one, other) for one, other, _ in srdf.enabled}
    known = (pair for pair in pairs if pair[0] != pair[1] and links.keys() >= set(pair))
    return tuple(sorted(known))


def _sorted(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
