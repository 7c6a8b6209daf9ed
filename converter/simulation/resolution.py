"""From a settings file to the settings of each joint and link of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

import numpy as np
from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, Location, SourceError
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.dynamics import degrees_of_freedom, inertia_matrices
from urdf_usd.converter.simulation.settings import Control, JointTable, SettingsFile
from urdf_usd.converter.urdf.xml import parse_markup

_ONE_AXIS_JOINT = "revolute, continuous or prismatic joint"
_MOST_NAMES = 5


def resolve(
    description: SettingsFile, robot: m.Robot, urdf: m.Robot, notes: list[Diagnostic]
) -> Simulation:
    """Return the settings that a description states for the robot that is written.

    ``urdf`` is the same as in its URDF, where joints of several axes are chains, with the mass
    that is written.

    Raises:
        ConversionError: A natural frequency is stated for a joint without inertia.
    """
    resolver = _Resolver(description, robot, notes)
    tables, pose = description.tables, description.tables.pose
    actuation = resolver.actuation(urdf)
    positions = resolver.positions(actuation)
    settings, locations = resolver.joint_settings(actuation)
    drives = resolver.drives(settings, locations, positions, urdf)
    filtered = resolver.filtered_pairs()
    frictions: dict[str, ContactMaterial] = {}
    self_collision = tables.self_collision
    if tables.sources.gazebo:
        frictions = read_frictions(robot, notes)
        if self_collision is None:
            self_collision = read_self_collision(robot)
    has_pose = (actuation and actuation.positions) or pose.joints or pose.state is not None
    ordered = [(name, settings[name]) for name in resolver.joints if name in settings]

    def numbers(key: str) -> tuple[tuple[str, float], ...]:
        values = ((name, getattr(table, key)) for name, table in ordered)
        return tuple((name, value) for name, value in values if value is not None)

    return Simulation(
        drives=drives,
        armatures=numbers("armature"),
        limit_stiffnesses=numbers("limit_stiffness"),
        limit_dampings=numbers("limit_damping"),
        positions=tuple(
            (name, positions[name]) for name in resolver.joints if has_pose and positions.get(name)
        ),
        filtered_pairs=filtered,
        filter_overlaps=tables.filters.overlap,
        self_collision=self_collision,
        contact_materials=resolver.contact_materials(frictions),
    )


class _Resolver:
    def __init__(self, description: SettingsFile, robot: m.Robot, notes: list[Diagnostic]) -> None:
        self._description, self._tables = description, description.tables
        self._robot, self._notes = robot, notes
        one_axis = (m.Revolute, m.Continuous, m.Prismatic)
        self.joints = {j.name: j for j in robot.joints if isinstance(j.kind, one_axis)}

    def _note(self, rule: str, message: str, location: Location | None) -> None:
        self._notes.append(Diagnostic(rule, message, location))

    def _matching(
        self, pattern: str, names: Iterable[str], what: str, location: Location
    ) -> tuple[str, ...]:
        """Return the names that a pattern matches; report a pattern without any."""
        known = tuple(names)
        found = tuple(name for name in known if fnmatchcase(name, pattern))
        if not found:
            listed = ", ".join(known[:_MOST_NAMES])
            more = ", ..." if len(known) > _MOST_NAMES else ""
            there_are = f"the robot has {listed}{more}" if known else "the robot has none"
            message = f"{pattern!r} matches no {what}; {there_are}"
            self._note("description-unmatched", message, location)
        return found

    def actuation(self, urdf: m.Robot) -> Actuation | None:
        """Return what the URDF states of actuators, if the description asks for it."""
        wanted, found = self._tables.sources, None
        for key, tag, read in (
            ("transmissions", "transmission", read_transmissions),
            ("ros2_control", "ros2_control", read_ros2_control),
        ):
            if getattr(wanted, key):
                own = read(urdf, self._notes)
                if own is None:
                    location = self._description.location("sources", key)
                    self._note("description-unmatched", f"the URDF has no <{tag}>", location)
                found = own or found
        return found

    def joint_settings(
        self, actuation: Actuation | None
    ) -> tuple[dict[str, JointTable], dict[str, Location]]:
        """Return the settings of each joint, and the last table that matches it.

        Each key of a later table counts; gains replace a natural frequency, and the other
        way around.
        """
        settings: dict[str, JointTable] = {}
        if actuation is not None:
            for name in self.joints:
                settings[name] = JointTable(name, actuation.controls.get(name, "none"))
        locations: dict[str, Location] = {}
        for index, table in enumerate(self._tables.joints):
            given = table.given
            cleared: tuple[str, ...] = ()
            if given.keys() & {"stiffness", "damping"}:
                cleared = "natural_frequency", "damping_ratio"
            elif "natural_frequency" in given:
                cleared = "stiffness", "damping"
            for pattern in table.patterns:
                location = self._description.location("joints", index, "match")
                for name in self._matching(pattern, self.joints, _ONE_AXIS_JOINT, location):
                    before = settings.get(name, JointTable(name))
                    settings[name] = structs.replace(before, **{**dict.fromkeys(cleared), **given})
                    locations[name] = self._description.location("joints", index)
        return settings, locations

    def filtered_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs of links that a description filters, sorted."""
        description, filters, robot = self._description, self._tables.filters, self._robot
        links = [link.name for link in robot.links]
        pairs: set[Pair] = set()
        if filters.srdf is not None:
            content = dict(description.attached)[filters.srdf]
            srdf = parse_srdf(content, description.path_of(filters.srdf), self._notes)
            pairs |= disabled_pairs(srdf, links, self._notes)
        if filters.parent_child:
            pairs |= {sorted_pair(joint.parent, joint.child) for joint in robot.joints}
        location = description.location("filters", "pairs")
        for one, other in filters.pairs:
            missing = [name for name in dict.fromkeys((one, other)) if name not in links]
            for name in missing:
                self._note("description-unmatched", f"the robot has no link {name!r}", location)
            if not missing and one != other:
                pairs.add(sorted_pair(one, other))
        return tuple(sorted(pairs))

    def contact_materials(
        self, materials: dict[str, ContactMaterial]
    ) -> tuple[ContactMaterial, ...]:
        """Return the contact materials of links, in the order of the robot.

        Friction of the file replaces that of the URDF, ``materials``.

        Raises:
            ConversionError: A link has restitution without friction, or less static than
                dynamic friction.
        """
        shaped = [link.name for link in self._robot.links if link.collisions]
        wanted: dict[str, dict[str, float]] = {}
        locations: dict[str, Location] = {}
        for index, table in enumerate(self._tables.links):
            location = self._description.location("links", index, "match")
            for pattern in table.patterns:
                for name in self._matching(pattern, shaped, "link with a collider", location):
                    wanted.setdefault(name, {}).update(table.given)
                    locations[name] = self._description.location("links", index)
        for name, values in ((name, wanted[name]) for name in shaped if wanted.get(name)):
            static = values.get("static_friction", values.get("dynamic_friction"))
            dynamic = values.get("dynamic_friction", static)
            if static is None or dynamic is None:
                if name not in materials:
                    # The schema's friction of a material is zero, that of simulators for
                    # colliders without a material is not.
                    message = (
                        f"'restitution' of link {name!r} needs a friction: a contact material "
                        "without one has none"
                    )
                    raise _refused(message, locations[name])
                static, dynamic = materials[name].static, materials[name].dynamic
            if static < dynamic:
                message = (
                    f"static friction {static:g} of link {name!r} is less than its dynamic "
                    f"friction {dynamic:g}"
                )
                raise _refused(message, locations[name])
            restitution = values.get("restitution", 0.0)
            materials[name] = ContactMaterial(name, static, dynamic, restitution)
        return tuple(materials[name] for name in shaped if name in materials)

    def positions(self, actuation: Actuation | None) -> dict[str, float]:
        """Return initial positions by joint; mimic joints follow their leaders."""
        joints, pose = self.joints, self._tables.pose
        of_urdf = actuation.positions if actuation else {}
        positions = {name: value for name, value in of_urdf.items() if name in joints}
        given: dict[str, Location] = {}
        if pose.state is not None:
            state = self._group_state(pose.state)
            for name, position in state.positions.items():
                if name in joints:
                    positions[name], given[name] = position, state.location
                else:
                    message = f"the robot has no joint {name!r} with one axis"
                    self._note("description-unmatched", message, state.location)
        for pattern, position in pose.joints.items():
            location = self._description.location("pose", "joints", pattern)
            for name in self._matching(pattern, joints, _ONE_AXIS_JOINT, location):
                positions[name], given[name] = position, location
        for name, joint in joints.items():
            if joint.mimic is None:
                continue
            # From the head of its chain.
            chain: list[m.Joint] = []
            leader: m.Joint | None = joint
            while leader and leader.mimic and leader not in chain:
                chain.append(leader)
                leader = joints.get(leader.mimic.joint)
            position = positions.get(leader.name, 0.0) if leader and not leader.mimic else 0.0
            for mimic in (follower.mimic for follower in reversed(chain) if follower.mimic):
                position = mimic.multiplier * position + mimic.offset
            own = positions.get(name, position)
            if name in given and not math.isclose(own, position, rel_tol=1e-9, abs_tol=1e-9):
                message = (
                    f"joint {name!r} starts at {position:g}, where it follows "
                    f"{joint.mimic.joint!r}, not at {own:g}"
                )
                self._note("description-coupled", message, given[name])
            positions[name] = position
        for name, position in positions.items():
            self._check_limits("the initial position", joints[name], position, given.get(name))
        return positions

    def _group_state(self, name: str) -> GroupState:
        """Return a named pose of an SRDF."""
        description = self._description
        location = description.location("pose", "state")
        file = self._tables.pose.srdf or self._tables.filters.srdf
        if file is None:
            raise _refused("'state' needs an SRDF in [pose] or [filters]", location)
        content = dict(description.attached)[file]
        states = parse_srdf(content, description.path_of(file), self._notes).states
        found = [one for one in states if name in {one.name, f"{one.group}/{one.name}"}]
        if len(found) != 1:
            known = ", ".join(f"{one.group}/{one.name}" for one in states)
            count = "several poses" if found else "no pose"
            raise _refused(f"{file} has {count} {name!r}; it has {known or 'none'}", location)
        return found[0]

    def _check_limits(
        self, what: str, joint: m.Joint, position: float, location: Location | None
    ) -> None:
        """Report a position outside the limits of a joint."""
        if not isinstance(joint.kind, (m.Revolute, m.Prismatic)):
            return
        lower, upper = joint.kind.range.lower, joint.kind.range.upper
        if lower <= upper and not lower <= position <= upper:
            message = (
                f"{what} of joint {joint.name!r} is {position:g}, outside its limits "
                f"[{lower:g}, {upper:g}]"
            )
            self._note("description-limit", message, location)

    def drives(
        self,
        settings: Mapping[str, JointTable],
        locations: Mapping[str, Location],
        positions: Mapping[str, float],
        urdf: m.Robot,
    ) -> tuple[JointDrive, ...]:
        """Return the drives with gains, in the order of the robot's joints."""
        inertias: Mapping[str, float] = {}
        if any(table.natural_frequency for table in settings.values()):
            inertias = _joint_inertias(urdf, positions)
        drives = []
        for name, joint in self.joints.items():
            table, location = settings.get(name), locations.get(name)
            if table is None or table.mode in {"effort", "none"}:
                continue
            if joint.mimic is not None:
                message = f"joint {name!r} follows {joint.mimic.joint!r}; no drive is written"
                self._note("description-coupled", message, location)
                continue
            stiffness, damping = _gains(table, joint, inertias, location)
            is_position = table.mode == "position"
            if not (stiffness if is_position else damping):
                needed = "stiffness" if is_position else "damping"
                message = (
                    f"joint {name!r} has {table.mode} control without {needed}; no drive is written"
                )
                self._note("description-gains", message, location)
                continue
            if joint.effort == 0:
                message = (
                    f"joint {name!r} has an effort limit of zero, so that its drive exerts no force"
                )
                self._note("description-limit", message, location)
            if is_position:
                target = positions.get(name, 0.0) if table.target is None else table.target
                self._check_limits("the target", joint, target, location)
                drives.append(JointDrive(name, stiffness, damping, target_position=target))
            else:
                drives.append(JointDrive(name, 0.0, damping, target_velocity=table.target or 0.0))
        return tuple(drives)


def _refused(message: str, location: Location | None) -> ConversionError:
    return ConversionError((Diagnostic("description-value", message, location),))


def _gains(
    table: JointTable, joint: m.Joint, inertias: Mapping[str, float], location: Location | None
) -> tuple[float, float]:
    """Return stiffness and damping of a joint.

    A joint with inertia I oscillates with natural frequency w = 2 pi f and damping
    ratio z if its stiffness is I w^2 and its damping 2 z I w.
    """
    if table.natural_frequency is None:
        return table.stiffness or 0.0, table.damping or 0.0
    inertia = inertias[joint.name] + (table.armature or 0.0)
    if inertia <= 0:
        message = (
            f"joint {joint.name!r} moves no inertia, so that a natural frequency defines no gains"
        )
        raise _refused(message, location)
    ratio = 1.0 if table.damping_ratio is None else table.damping_ratio
    rate = 2 * math.pi * table.natural_frequency
    return inertia * rate**2, 2 * ratio * inertia * rate


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
    matrix = inertia_matrices(robot, placed)[0]
    return dict(zip(degrees_of_freedom(robot), np.diag(matrix).tolist(), strict=True))


# Settings in the URDF and in an SRDF
#
# Elements of a URDF count only if a settings file asks for them: ``<ros2_control>`` is
# that of https://control.ros.org, ``<transmission>`` that of ROS 1, ``<gazebo>`` that of
# https://classic.gazebosim.org/tutorials?tut=ros_urdf. Of an SRDF
# (http://wiki.ros.org/srdf), disabled pairs and named poses are read.

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


def read_ros2_control(robot: m.Robot, notes: list[Diagnostic]) -> Actuation | None:
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


def read_transmissions(robot: m.Robot, _notes: list[Diagnostic]) -> Actuation | None:
    """Return what ``<transmission>`` states; None without such an element."""
    transmissions = _elements(robot, "transmission")
    names = map(_name, _children(transmissions, "joint"))
    return Actuation(dict.fromkeys(names), {}) if transmissions else None


def read_frictions(robot: m.Robot, notes: list[Diagnostic]) -> dict[str, ContactMaterial]:
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


def read_self_collision(robot: m.Robot) -> bool | None:
    """Return whether links collide with each other, if ``<gazebo>`` states it.

    One link that does is enough: simulators have one flag for a robot.
    """
    owners: tuple[m.Robot | m.Link, ...] = (robot, *robot.links)
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


def _elements(owner: m.Robot | m.Link, tag: str) -> list[m.XmlElement]:
    return [one.content for one in owner.custom.elements if one.content.tag == tag]


def _children(elements: Iterable[m.XmlElement], tag: str) -> Iterator[m.XmlElement]:
    return (child for element in elements for child in element.children if child.tag == tag)


def _name(element: m.XmlElement) -> str:
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
