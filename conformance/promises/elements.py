"""Elements of a URDF besides the robot: actuators, initial positions, contacts."""

from __future__ import annotations

import math

from msgspec import Struct, field

from urdf_usd.conformance.promises.markup import Node

_INTERFACES = ("position", "velocity", "effort")


class UrdfElements(Struct, frozen=True):
    """What ``<ros2_control>``, ``<transmission>`` and ``<gazebo>`` state.

    Attributes:
        modes: Control mode by joint of ``<ros2_control>``; None without any.
        positions: Initial positions by joint of ``<ros2_control>``.
        transmitted: Joints of transmissions; None without any.
        frictions: Coefficient of friction by link.
        self_collision: Whether a link states ``selfCollide``; None if none states it.
    """

    modes: dict[str, str] | None = None
    positions: dict[str, float] = field(default_factory=dict)
    transmitted: frozenset[str] | None = None
    frictions: dict[str, float] = field(default_factory=dict)
    self_collision: bool | None = None


def read_urdf_elements(root: Node) -> UrdfElements:
    """Return what a URDF states; what should be a number, and is not, does not count.

    Args:
        root: Its root element.
    """
    systems = list(root.all("ros2_control"))
    joints = [joint for system in systems for joint in system.all("joint")]
    transmissions = list(root.all("transmission"))
    frictions: dict[str, float] = {}
    stated = []
    for element in root.all("gazebo"):
        stated += [
            child.text.strip().lower() in {"true", "1"}
            for child in element.all("selfCollide", "self_collide")
        ]
        # The first of both directions counts.
        for name in ("mu2", "mu1"):
            for child in element.all(name):
                value = _number(child.text)
                if value is None or value < 0:
                    continue
                if name == "mu1" or element.get("reference") not in frictions:
                    frictions[element.get("reference")] = value
    return UrdfElements(
        modes={one.get("name"): _mode(one) for one in joints} if systems else None,
        positions={
            joint.get("name"): value
            for joint in joints
            for state in joint.all("state_interface")
            if state.get("name") == "position"
            for param in state.all("param")
            if param.get("name") == "initial_value" and (value := _number(param.text)) is not None
        },
        transmitted=frozenset(
            joint.get("name") for one in transmissions for joint in one.all("joint")
        )
        if transmissions
        else None,
        frictions=frictions,
        self_collision=any(stated) if stated else None,
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _mode(joint: Node) -> str:
    stated = {one.get("name") for one in joint.all("command_interface")}
    return next((mode for mode in _INTERFACES if mode in stated), "none")
