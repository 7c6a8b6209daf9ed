"""From a settings file to the settings of each joint and link of a robot.

Elements of a URDF count only if a settings file asks for them: ``<ros2_control>`` is that of
https://control.ros.org, ``<transmission>`` that of ROS 1, ``<gazebo>`` that of
https://classic.gazebosim.org/tutorials?tut=ros_urdf. Of an SRDF (http://wiki.ros.org/srdf),
disabled pairs and named poses are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, Location, SourceError
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.dynamics import degrees_of_freedom, equations_of_motion
from urdf_usd.converter.simulation.settings import (
    GAINS,
    OSCILLATION,
    Control,
    JointTable,
    LinkTable,
    SettingsFile,
)
from urdf_usd.converter.urdf.xml import Element, parse_markup

_MOST_NAMES = 5
_ONE_AXIS = "revolute, continuous or prismatic joint"
# Of several command interfaces, the first of these counts.
_INTERFACES: tuple[Control, ...] = ("position", "velocity", "effort")
Pair: TypeAlias = tuple[str, str]


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


def resolve(
    description: SettingsFile, robot: m.Robot, urdf: m.Robot, notes: list[Diagnostic]
) -> Simulation:
    """Return the settings that a description states for the robot that is written.

    ``urdf`` is the same as in its URDF, where joints of several axes are chains, with the mass
    that is written.

    Raises:
        ConversionError: Values are impossible for the robot, or an SRDF cannot be read.
    """
    return _Resolver(description, robot, notes).resolve(urdf)


class _Resolver:
    def __init__(self, description: SettingsFile, robot: m.Robot, notes: list[Diagnostic]) -> None:
        self._file, self._tables = description, description.tables
        self._robot, self._notes = robot, notes
        one_axis = (m.Revolute, m.Continuous, m.Prismatic)
        self._joints = {j.name: j for j in robot.joints if isinstance(j.kind, one_axis)}

    def resolve(self, urdf: m.Robot) -> Simulation:
        tables = self._tables
        controls, stated = self._actuation(urdf)
        positions = self._positions(stated)
        settings, locations = self._merged("joints", self._joints, _ONE_AXIS, controls)
        drives = self._drives(settings, locations, positions, urdf)
        has_pose = stated or tables.pose.joints or tables.pose.state is not None
        filtered = self._filtered_pairs()
        gazebo = tables.sources.gazebo
        self_collision = tables.self_collision
        if gazebo and self_collision is None:
            self_collision = read_self_collision(self._robot)

        def numbers(key: str) -> tuple[tuple[str, float], ...]:
            known = ((name, settings.get(name, {}).get(key)) for name in self._joints)
            return tuple((name, value) for name, value in known if value is not None)

        return Simulation(
            drives=drives,
            armatures=numbers("armature"),
            limit_stiffnesses=numbers("limit_stiffness"),
            limit_dampings=numbers("limit_damping"),
            positions=tuple(
                (name, positions[name]) for name in self._joints if has_pose and positions.get(name)
            ),
            filtered_pairs=filtered,
            filter_overlaps=tables.filters.overlap,
            self_collision=self_collision,
            contact_materials=self._contact_materials(self._frictions() if gazebo else {}),
        )

    def _note(self, rule: str, message: str, location: Location | None) -> None:
        self._notes.append(Diagnostic(rule, message, location))

    def _matching(
        self, pattern: str, names: Iterable[str], what: str, location: Location
    ) -> tuple[str, ...]:
        """Return the names that a pattern matches; report a pattern without any."""
        known = tuple(names)
        found = tuple(name for name in known if fnmatchcase(name, pattern))
        if not found:
            listed = ", ".join(known[:_MOST_NAMES]) or "none"
            more = ", ..." if len(known) > _MOST_NAMES else ""
            message = f"{pattern!r} matches no {what}; the robot has {listed}{more}"
            self._note("description-unmatched", message, location)
        return found

    def _merged(
        self, key: str, names: Iterable[str], what: str, start: Mapping[str, dict[str, Any]]
    ) -> tuple[dict[str, dict[str, Any]], dict[str, Location]]:
        """Return the values of each joint or link, and the last table that matches it.

        Each key of a later table counts; gains replace a natural frequency, and the other
        way around.
        """
        merged, locations = dict(start), {}
        tables: tuple[JointTable | LinkTable, ...] = getattr(self._tables, key)
        for index, table in enumerate(tables):
            given = table.given
            cleared = GAINS if "natural_frequency" in given else ()
            if given.keys() & set(GAINS):
                cleared = OSCILLATION
            at = self._file.location(key, index, "match")
            for pattern in table.patterns:
                for name in self._matching(pattern, names, what, at):
                    before = merged.get(name, {}).items()
                    merged[name] = {k: value for k, value in before if k not in cleared} | given
                    locations[name] = self._file.location(key, index)
        return merged, locations

    def _actuation(self, urdf: m.Robot) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
        """Return control modes by joint and initial positions [rad or m] of the URDF.

        All other joints are passive where the description asks for such elements.
        """
        controls: dict[str, dict[str, Any]] = {}
        positions: dict[str, float] = {}
        for key, tag in (("transmissions", "transmission"), ("ros2_control", "ros2_control")):
            if not getattr(self._tables.sources, key):
                continue
            elements = _elements(urdf, tag)
            if not elements:
                location = self._file.location("sources", key)
                self._note("description-unmatched", f"the URDF has no <{tag}>", location)
                continue
            controls = {name: {"control": "none"} for name in self._joints}
            for joint in _children(elements, "joint"):
                name = _name(joint)
                if tag == "transmission":
                    controls[name] = {}
                    continue
                interfaces = set(map(_name, _children([joint], "command_interface")))
                for mode in reversed(_INTERFACES):
                    if mode in interfaces:
                        controls[name] = {"control": mode}
                states = _children([joint], "state_interface")
                of_position = (state for state in states if _name(state) == "position")
                params = _children(of_position, "param")
                for param in (one for one in params if _name(one) == "initial_value"):
                    value = self._number(param, f"initial_value of {name!r}", urdf.location)
                    if value is not None:
                        positions[name] = value
        return controls, positions

    def _number(self, element: m.XmlElement, what: str, location: Location | None) -> float | None:
        with suppress(ValueError):
            if math.isfinite(value := float(element.text.strip())):
                return value
        message = f"{what} is {element.text.strip()!r}, which is no number; ignored"
        self._note("description-unmatched", message, location)
        return None

    def _positions(self, stated: Mapping[str, float]) -> dict[str, float]:
        """Return initial positions by joint; mimic joints follow their leaders."""
        joints, pose = self._joints, self._tables.pose
        positions = {name: value for name, value in stated.items() if name in joints}
        given: dict[str, Location] = {}
        if pose.state is not None:
            for joint, name, position in self._group_state(pose.state):
                if name in joints:
                    positions[name], given[name] = position, joint.location
                else:
                    message = f"the robot has no joint {name!r} with one axis"
                    self._note("description-unmatched", message, joint.location)
        for pattern, position in pose.joints.items():
            location = self._file.location("pose", "joints", pattern)
            for name in self._matching(pattern, joints, _ONE_AXIS, location):
                positions[name], given[name] = position, location
        for name in (name for name, joint in joints.items() if joint.mimic is not None):
            # From the head of its chain.
            chain: list[m.Mimic] = []
            leader = joints.get(name)
            while leader and leader.mimic and leader.mimic not in chain:
                chain.append(leader.mimic)
                leader = joints.get(leader.mimic.joint)
            position = positions.get(leader.name, 0.0) if leader and not leader.mimic else 0.0
            for mimic in reversed(chain):
                position = mimic.multiplier * position + mimic.offset
            own = positions.get(name, position)
            if name in given and not math.isclose(own, position, rel_tol=1e-9, abs_tol=1e-9):
                message = (
                    f"joint {name!r} starts at {position:g}, where it follows "
                    f"{chain[0].joint!r}, not at {own:g}"
                )
                self._note("description-coupled", message, given[name])
            positions[name] = position
        for name, position in positions.items():
            self._check_limits("the initial position", joints[name], position, given.get(name))
        return positions

    def _check_limits(
        self, what: str, joint: m.Joint, position: float, location: Location | None
    ) -> None:
        """Report a position outside the limits of a joint."""
        if isinstance(joint.kind, (m.Revolute, m.Prismatic)):
            lower, upper = joint.kind.range.lower, joint.kind.range.upper
            if lower <= upper and not lower <= position <= upper:
                message = f"{what} of joint {joint.name!r} is {position:g}, outside its limits"
                self._note("description-limit", f"{message} [{lower:g}, {upper:g}]", location)

    def _drives(
        self,
        settings: Mapping[str, Mapping[str, Any]],
        locations: Mapping[str, Location],
        positions: Mapping[str, float],
        urdf: m.Robot,
    ) -> tuple[JointDrive, ...]:
        """Return the drives with gains, in the order of the robot's joints."""
        inertias: Mapping[str, float] = {}
        if any("natural_frequency" in values for values in settings.values()):
            inertias = _joint_inertias(urdf, positions)
        drives = []
        for name, joint in self._joints.items():
            values, location = settings.get(name, {}), locations.get(name)
            implied = "velocity" if values.get("damping") else "effort"
            if values.get("stiffness") or values.get("natural_frequency"):
                implied = "position"
            mode = values.get("control", implied)
            if mode in {"effort", "none"}:
                continue
            if joint.mimic is not None:
                message = f"joint {name!r} follows {joint.mimic.joint!r}; no drive is written"
                self._note("description-coupled", message, location)
                continue
            stiffness, damping = values.get("stiffness", 0.0), values.get("damping", 0.0)
            if "natural_frequency" in values:
                # A joint with inertia I oscillates with natural frequency w = 2 pi f and damping
                # ratio z if its stiffness is I w^2 and its damping 2 z I w.
                inertia = inertias[name] + values.get("armature", 0.0)
                if inertia <= 0:
                    message = f"joint {name!r} moves no inertia, so that a natural frequency"
                    raise _refused(f"{message} defines no gains", location)
                rate = 2 * math.pi * values["natural_frequency"]
                stiffness = inertia * rate**2
                damping = 2 * values.get("damping_ratio", 1.0) * inertia * rate
            is_position = mode == "position"
            if not (stiffness if is_position else damping):
                needed = "stiffness" if is_position else "damping"
                message = f"joint {name!r} has {mode} control without {needed}; no drive is written"
                self._note("description-gains", message, location)
                continue
            if joint.effort == 0:
                message = f"joint {name!r} has an effort limit of zero, so that its drive exerts"
                self._note("description-limit", f"{message} no force", location)
            if is_position:
                target = values.get("target", positions.get(name, 0.0))
                self._check_limits("the target", joint, target, location)
                drives.append(JointDrive(name, stiffness, damping, target_position=target))
            else:
                target = values.get("target", 0.0)
                drives.append(JointDrive(name, 0.0, damping, target_velocity=target))
        return tuple(drives)

    def _contact_materials(
        self, materials: dict[str, ContactMaterial]
    ) -> tuple[ContactMaterial, ...]:
        """Return the contact materials of links, in the order of the robot.

        Friction of the file replaces that of the URDF, ``materials``.
        """
        shaped = [link.name for link in self._robot.links if link.collisions]
        wanted, locations = self._merged("links", shaped, "link with a collider", {})
        for name, values in ((name, wanted[name]) for name in shaped if wanted.get(name)):
            static = values.get("static_friction", values.get("dynamic_friction"))
            dynamic = values.get("dynamic_friction", static)
            if static is None or dynamic is None:
                if name not in materials:
                    # The schema's friction of a material is zero, that of simulators for
                    # colliders without a material is not.
                    message = f"'restitution' of link {name!r} needs a friction: a contact"
                    raise _refused(f"{message} material without one has none", locations[name])
                static, dynamic = materials[name].static, materials[name].dynamic
            if static < dynamic:
                message = f"static friction {static:g} of link {name!r} is less than its dynamic"
                raise _refused(f"{message} friction {dynamic:g}", locations[name])
            restitution = values.get("restitution", 0.0)
            materials[name] = ContactMaterial(name, static, dynamic, restitution)
        return tuple(materials[name] for name in shaped if name in materials)

    def _frictions(self) -> dict[str, ContactMaterial]:
        """Return the friction that ``<gazebo>`` states of links."""
        frictions = {}
        for link in self._robot.links:
            for tag in ("mu2", "mu1"):
                for child in _children(_elements(link, "gazebo"), tag):
                    what = f"<{tag}> of link {link.name!r}"
                    value = self._number(child, what, link.location)
                    if value is not None and value >= 0:
                        frictions[link.name] = ContactMaterial(link.name, value, value)
        return frictions

    def _srdf(self, name: str) -> Element:
        """Return the root element of an SRDF.

        Raises:
            SourceError: It is no SRDF.
        """
        content = dict(self._file.attached)[name]
        root = parse_markup(content, self._file.path_of(name), self._notes)
        if root.tag != "robot":
            message = f"the root element is <{root.tag}>, not <robot> as in an SRDF"
            raise SourceError((Diagnostic("srdf-invalid", message, root.location),))
        return root

    def _group_state(self, name: str) -> Iterator[tuple[Element, str, float]]:
        """Yield the joints of a named pose of an SRDF, their names and positions [rad or m]."""
        location = self._file.location("pose", "state")
        file = self._tables.pose.srdf or self._tables.filters.srdf
        if file is None:
            raise _refused("'state' needs an SRDF in [pose] or [filters]", location)
        states = [one for one in self._srdf(file).children if one.tag == "group_state"]
        names = [(one.get("name"), f"{one.get('group')}/{one.get('name')}") for one in states]
        found = [state for state, own in zip(states, names, strict=True) if name in own]
        if len(found) != 1:
            known = ", ".join(full for _, full in names) or "none"
            count = "several poses" if found else "no pose"
            raise _refused(f"{file} has {count} {name!r}; it has {known}", location)
        for joint in found[0].children:
            # Joints with several axes have several numbers.
            values = (joint.get("value") or "").split()
            if joint.tag == "joint" and len(values) == 1:
                try:
                    yield joint, joint.get("name") or "", float(values[0])
                except ValueError:
                    note = Diagnostic(
                        "srdf-invalid", f"{values[0]!r} is no position", joint.location
                    )
                    raise SourceError((note,)) from None

    def _filtered_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs of links that a description filters, sorted."""
        filters, robot = self._tables.filters, self._robot
        links = {link.name for link in robot.links}
        named = [(pair, self._file.location("filters", "pairs")) for pair in filters.pairs]
        if filters.srdf is not None:
            elements = self._srdf(filters.srdf).children
            enabled = [
                {element.get("link1"), element.get("link2")}
                for element in elements
                if element.tag == "enable_collisions"
            ]
            for element in elements:
                if element.tag == "disable_collisions":
                    ends = element.get("link1") or "", element.get("link2") or ""
                    named.append((ends, element.location))
                elif element.tag == "disable_default_collisions":
                    # The link collides with those alone that an element enables.
                    link = element.get("link") or ""
                    named += [
                        ((link, other), element.location)
                        for other in sorted(links - {link})
                        if {link, other} not in enabled
                    ]
        pairs = [(joint.parent, joint.child) for joint in robot.joints if filters.parent_child]
        missing = dict[str, Location]()
        for pair, location in named:
            pairs += [pair] if links.issuperset(pair) and pair[0] != pair[1] else []
            for name in (name for name in pair if name not in links):
                missing.setdefault(name, location)
        for name, location in missing.items():
            message = f"the robot has no link {name!r}; its collision pairs are left out"
            self._note("description-unmatched", message, location)
        return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))


def _refused(message: str, location: Location | None) -> ConversionError:
    return ConversionError((Diagnostic("description-value", message, location),))


def _joint_inertias(robot: m.Robot, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the inertia that each joint moves while all others are held [kg m^2 or kg].

    It is the diagonal of the joint-space inertia matrix; joints with several axes are
    at zero.
    """
    at_zero = {
        m.Planar: [0.0] * 4,
        m.Floating: [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        m.Spherical: [1.0, 0.0, 0.0, 0.0],
    }
    placed = {
        joint.name: np.array([at_zero.get(type(joint.kind), [positions.get(joint.name, 0.0)])])
        for joint in robot.joints
    }
    matrix = equations_of_motion(robot, placed, {})[0][0]
    return dict(zip(degrees_of_freedom(robot), np.diag(matrix).tolist(), strict=True))


def read_self_collision(robot: m.Robot) -> bool | None:
    """Return whether ``<gazebo>`` states that any link collides with others; None if it does not.

    Simulators have one flag for a robot.
    """
    owners: tuple[m.Robot | m.Link, ...] = (robot, *robot.links)
    elements = [element for owner in owners for element in _elements(owner, "gazebo")]
    stated = [*_children(elements, "selfCollide"), *_children(elements, "self_collide")]
    return any(one.text.strip().lower() in {"true", "1"} for one in stated) if stated else None


def _elements(owner: m.Robot | m.Link, tag: str) -> list[m.XmlElement]:
    return [one.content for one in owner.custom.elements if one.content.tag == tag]


def _children(elements: Iterable[m.XmlElement], tag: str) -> Iterator[m.XmlElement]:
    return (child for element in elements for child in element.children if child.tag == tag)


def _name(element: m.XmlElement) -> str:
    return dict(element.attributes).get("name", "")
