"""Elements of a URDF besides the robot: actuators, initial state, contacts.

They are read only if a description file asks for them. ``<ros2_control>`` is that of
https://control.ros.org, ``<transmission>`` that of ROS 1, ``<gazebo>`` that of
https://classic.gazebosim.org/tutorials?tut=ros_urdf.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.robot.model import Link, Robot, XmlElement
from urdf_usd.converter.simulation.description import Control
from urdf_usd.converter.simulation.plan import ContactMaterial

# Of several command interfaces, the first of these counts.
_INTERFACES: tuple[Control, ...] = ("position", "velocity", "effort")
_SELF_COLLIDE = ("selfCollide", "self_collide")
_CONTACTS = ("kp", "kd")


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
