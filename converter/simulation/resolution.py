"""From a description file to the settings of each joint and link of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import numpy as np
from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, Location
from urdf_usd.converter.robot.dynamics import degrees_of_freedom, inertia_matrices
from urdf_usd.converter.robot.model import (
    Continuous,
    Floating,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
)
from urdf_usd.converter.simulation.description import Control, Description, JointTable
from urdf_usd.converter.simulation.sources import (
    Actuation,
    ContactMaterial,
    GroupState,
    JointDrive,
    Simulation,
    Srdf,
    disabled_pairs,
    parse_srdf,
    read_frictions,
    read_ros2_control,
    read_self_collision,
    read_transmissions,
)

_ONE_AXIS = (Revolute, Continuous, Prismatic)
_GAINS = frozenset({"stiffness", "damping"})
_OSCILLATION = frozenset({"natural_frequency", "damping_ratio"})
_MOST_NAMES = 5


class _Wanted(Struct, frozen=True):
    """What tables and elements of the URDF state for one joint; None is not stated.

    Attributes:
        control: As in :class:`JointTable`; likewise the numbers.
        location: Of the last table that matches the joint.
    """

    control: Control | None = None
    stiffness: float | None = None
    damping: float | None = None
    natural_frequency: float | None = None
    damping_ratio: float | None = None
    armature: float | None = None
    target: float | None = None
    limit_stiffness: float | None = None
    limit_damping: float | None = None
    location: Location | None = None

    def overridden(self, table: JointTable, location: Location) -> _Wanted:
        """Return the settings after a further table."""
        given = table.given
        # Gains replace a natural frequency, and the other way around.
        dropped: Iterable[str] = ()
        if given.keys() & _GAINS:
            dropped = _OSCILLATION
        elif "natural_frequency" in given:
            dropped = _GAINS
        cleared = dict.fromkeys(dropped)
        return structs.replace(self, location=location, **{**cleared, **given})

    @property
    def mode(self) -> Control:
        """The control mode, stated or implied by gains."""
        if self.control is not None:
            return self.control
        if self.stiffness or self.natural_frequency:
            return "position"
        return "velocity" if self.damping else "effort"


def resolve(
    description: Description, robot: Robot, urdf: Robot, notes: list[Diagnostic]
) -> Simulation:
    """Return the settings that a description states for a robot.

    Args:
        description: The file.
        robot: The robot that is written.
        urdf: The same as in its URDF, where joints of several axes are chains, with
            the mass that is written.
        notes: Receives diagnostics.

    Raises:
        ConversionError: A natural frequency is stated for a joint without inertia.
    """
    tables = description.tables
    joints = {joint.name: joint for joint in robot.joints if isinstance(joint.kind, _ONE_AXIS)}
    actuation = _actuation(description, urdf, notes)
    of_urdf = actuation.positions if actuation else {}
    positions = _initial_positions(description, joints, of_urdf, notes)
    wanted = _actuated(actuation, joints)
    for index, table in enumerate(tables.joints):
        place = description.location("joints", index)
        for pattern in table.patterns:
            matched = _matching_joints(
                pattern, joints, description.location("joints", index, "match"), notes
            )
            for name in matched:
                before = wanted.get(name, _Wanted())
                wanted[name] = before.overridden(table, place)
    drives = _drives(wanted, joints, positions, urdf, notes)
    filtered = _filtered_pairs(description, robot, notes)
    frictions: tuple[ContactMaterial, ...] = ()
    self_collision = tables.self_collision
    if tables.sources.gazebo:
        frictions = read_frictions(robot, notes)
        if self_collision is None:
            self_collision = read_self_collision(robot)

    contact_materials = _contact_materials(description, robot, frictions, notes)

    def stated(key: str) -> tuple[tuple[str, float], ...]:
        values = {name: getattr(one, key) for name, one in wanted.items()}
        return tuple((name, values[name]) for name in joints if values.get(name) is not None)

    return Simulation(
        drives=drives,
        armatures=stated("armature"),
        limit_stiffnesses=stated("limit_stiffness"),
        limit_dampings=stated("limit_damping"),
        positions=tuple(
            (name, positions[name])
            for name in joints
            if positions.get(name) and (of_urdf or _has_pose(description))
        ),
        filtered_pairs=filtered,
        filter_overlaps=tables.filters.overlap,
        self_collision=self_collision,
        contact_materials=contact_materials,
    )


def _actuation(description: Description, urdf: Robot, notes: list[Diagnostic]) -> Actuation | None:
    """Return what the URDF states of actuators, if the description asks for it."""
    sources = description.tables.sources
    found = None
    if sources.transmissions:
        found = read_transmissions(urdf)
        if found is None:
            notes.append(_without_element(description, "transmissions", "<transmission>"))
    if sources.ros2_control:
        control = read_ros2_control(urdf, notes)
        if control is None:
            notes.append(_without_element(description, "ros2_control", "<ros2_control>"))
        found = control or found
    return found


def _without_element(description: Description, key: str, element: str) -> Diagnostic:
    location = description.location("sources", key)
    message = f"the URDF has no {element}"
    return Diagnostic("description-unmatched", message, location)


def _actuated(actuation: Actuation | None, joints: Mapping[str, Joint]) -> dict[str, _Wanted]:
    """Return the control modes that a URDF states: passive without an actuator."""
    if actuation is None:
        return {}
    return {
        name: _Wanted(actuation.controls.get(name))
        if name in actuation.actuated
        else _Wanted("none")
        for name in joints
    }


def _filtered_pairs(
    description: Description, robot: Robot, notes: list[Diagnostic]
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links that a description filters, sorted."""
    filters = description.tables.filters
    links = {link.name: link for link in robot.links}
    pairs: set[tuple[str, ...]] = set()
    if filters.srdf is not None:
        srdf = _read_srdf(description, filters.srdf, notes)
        pairs |= set(disabled_pairs(srdf, links, notes))
    if filters.parent_child:
        pairs |= {tuple(sorted((one.parent, one.child))) for one in robot.joints}
    location = description.location("filters", "pairs")
    for pair in filters.pairs:
        missing = [name for name in dict.fromkeys(pair) if name not in links]
        for name in missing:
            message = f"the robot has no link {name!r}"
            notes.append(Diagnostic("description-unmatched", message, location))
        if not missing and pair[0] != pair[1]:
            pairs.add(tuple(sorted(pair)))
    return tuple((one, other) for one, other in sorted(pairs))


def _read_srdf(description: Description, name: str, notes: list[Diagnostic]) -> Srdf:
    content = dict(description.attached)[name]
    return parse_srdf(content, description.path_of(name), notes)


def _contact_materials(
    description: Description,
    robot: Robot,
    frictions: Iterable[ContactMaterial],
    notes: list[Diagnostic],
) -> tuple[ContactMaterial, ...]:
    """Return the contact materials of links, in the order of the robot.

    Args:
        description: The file.
        robot: The robot.
        frictions: Those of the URDF, which friction of the file replaces.
        notes: Receives diagnostics.

    Raises:
        ConversionError: A link has restitution without friction, or less static than
            dynamic friction.
    """
    tables = description.tables.links
    shaped = [link.name for link in robot.links if link.collisions]
    wanted: dict[str, dict[str, float]] = {}
    places: dict[str, Location] = {}
    for index, table in enumerate(tables):
        for pattern in table.patterns:
            location = description.location("links", index, "match")
            matched = _matching(pattern, shaped, "link with a collider", location, notes)
            for name in matched:
                wanted.setdefault(name, {}).update(table.given)
                places[name] = description.location("links", index)
    of_urdf = {one.link: one for one in frictions}
    return tuple(
        _contact_material(name, wanted[name], of_urdf.get(name), places[name])
        if wanted.get(name)
        else of_urdf[name]
        for name in shaped
        if wanted.get(name) or name in of_urdf
    )


def _contact_material(
    link: str,
    wanted: Mapping[str, float],
    of_urdf: ContactMaterial | None,
    location: Location,
) -> ContactMaterial:
    static = wanted.get("static_friction", wanted.get("dynamic_friction"))
    dynamic = wanted.get("dynamic_friction", static)
    if static is None or dynamic is None:
        if of_urdf is None:
            # The schema's friction of a material is zero, that of simulators for
            # colliders without a material is not.
            message = (
                f"'restitution' of link {link!r} needs a friction: a contact material "
                "without one has none"
            )
            raise ConversionError((Diagnostic("description-value", message, location),))
        static, dynamic = of_urdf.static, of_urdf.dynamic
    if static < dynamic:
        message = (
            f"static friction {static:g} of link {link!r} is less than its dynamic "
            f"friction {dynamic:g}"
        )
        raise ConversionError((Diagnostic("description-value", message, location),))
    return ContactMaterial(link, static, dynamic, wanted.get("restitution", 0.0))


def _matching_joints(
    pattern: str, names: Iterable[str], location: Location, notes: list[Diagnostic]
) -> tuple[str, ...]:
    kinds = "revolute, continuous or prismatic joint"
    return _matching(pattern, names, kinds, location, notes)


def _matching(
    pattern: str, names: Iterable[str], what: str, location: Location, notes: list[Diagnostic]
) -> tuple[str, ...]:
    """Return the names that a pattern matches; report a pattern without any."""
    known = tuple(names)
    found = tuple(name for name in known if fnmatchcase(name, pattern))
    if not found:
        listed = ", ".join(known[:_MOST_NAMES])
        more = ", ..." if len(known) > _MOST_NAMES else ""
        there_are = f"the robot has {listed}{more}" if known else "the robot has none"
        message = f"{pattern!r} matches no {what}; {there_are}"
        notes.append(Diagnostic("description-unmatched", message, location))
    return found


def _has_pose(description: Description) -> bool:
    pose = description.tables.pose
    return pose.state is not None or bool(pose.joints)


def _initial_positions(
    description: Description,
    joints: Mapping[str, Joint],
    of_urdf: Mapping[str, float],
    notes: list[Diagnostic],
) -> dict[str, float]:
    """Return initial positions by joint; mimic joints follow their leaders."""
    positions = {name: value for name, value in of_urdf.items() if name in joints}
    stated: dict[str, Location] = {}
    pose = description.tables.pose
    if pose.state is not None:
        state = _group_state(description, pose.state, notes)
        for name, position in state.positions.items():
            if name not in joints:
                message = f"the robot has no joint {name!r} with one axis"
                notes.append(Diagnostic("description-unmatched", message, state.location))
                continue
            positions[name] = position
            stated[name] = state.location
    for pattern, position in pose.joints.items():
        location = description.location("pose", "joints", pattern)
        for name in _matching_joints(pattern, joints, location, notes):
            positions[name] = position
            stated[name] = location
    for name, joint in joints.items():
        if joint.mimic is None:
            continue
        position = _followed(joint, joints, positions)
        if name in stated and not math.isclose(
            positions[name], position, rel_tol=1e-9, abs_tol=1e-9
        ):
            message = (
                f"joint {name!r} starts at {position:g}, where it follows "
                f"{joint.mimic.joint!r}, not at {positions[name]:g}"
            )
            notes.append(Diagnostic("description-coupled", message, stated[name]))
        positions[name] = position
    for name, position in positions.items():
        _within_limits("the initial position", joints[name], position, stated.get(name), notes)
    return positions


def _group_state(description: Description, name: str, notes: list[Diagnostic]) -> GroupState:
    """Return a named pose of an SRDF.

    Raises:
        ConversionError: The description names no SRDF, or it has no such pose, or
            several groups have one.
    """
    location = description.location("pose", "state")
    content = description.tables
    file = content.pose.srdf or content.filters.srdf
    if file is None:
        message = "'state' needs an SRDF in [pose] or [filters]"
        raise ConversionError((Diagnostic("description-value", message, location),))
    srdf = _read_srdf(description, file, notes)
    found = [one for one in srdf.states if name in {one.name, f"{one.group}/{one.name}"}]
    if len(found) != 1:
        known = ", ".join(f"{one.group}/{one.name}" for one in srdf.states)
        count = "several poses" if found else "no pose"
        message = f"{file} has {count} {name!r}; it has {known or 'none'}"
        raise ConversionError((Diagnostic("description-value", message, location),))
    return found[0]


def _followed(joint: Joint, joints: Mapping[str, Joint], positions: Mapping[str, float]) -> float:
    """Return the position of a mimic joint, from the head of its chain."""
    chain: list[Joint] = []
    leader: Joint | None = joint
    while leader and leader.mimic and leader not in chain:
        chain.append(leader)
        leader = joints.get(leader.mimic.joint)
    position = positions.get(leader.name, 0.0) if leader and not leader.mimic else 0.0
    for follower in reversed(chain):
        if follower.mimic:
            position = follower.mimic.multiplier * position + follower.mimic.offset
    return position


def _within_limits(
    what: str, joint: Joint, position: float, location: Location | None, notes: list[Diagnostic]
) -> None:
    """Report a position outside the limits of a joint."""
    if isinstance(joint.kind, Continuous) or not isinstance(joint.kind, _ONE_AXIS):
        return
    limits = joint.kind.range
    if limits.lower <= limits.upper and not limits.lower <= position <= limits.upper:
        message = (
            f"{what} of joint {joint.name!r} is {position:g}, outside its limits "
            f"[{limits.lower:g}, {limits.upper:g}]"
        )
        notes.append(Diagnostic("description-limit", message, location))


def _drives(
    wanted: Mapping[str, _Wanted],
    joints: Mapping[str, Joint],
    positions: Mapping[str, float],
    robot: Robot,
    notes: list[Diagnostic],
) -> tuple[JointDrive, ...]:
    """Return the drives with gains, in the order of the robot's joints."""
    inertias: Mapping[str, float] = {}
    if any(one.natural_frequency for one in wanted.values()):
        inertias = _joint_inertias(robot, positions)
    drives = []
    for name, joint in joints.items():
        one = wanted.get(name)
        if one is None or one.mode in {"effort", "none"}:
            continue
        if joint.mimic is not None:
            message = f"joint {name!r} follows {joint.mimic.joint!r}; no drive is written"
            notes.append(Diagnostic("description-coupled", message, one.location))
            continue
        stiffness, damping = _gains(one, joint, inertias)
        needed = "stiffness" if one.mode == "position" else "damping"
        if not (stiffness if one.mode == "position" else damping):
            message = f"joint {name!r} has {one.mode} control without {needed}; no drive is written"
            notes.append(Diagnostic("description-gains", message, one.location))
            continue
        if joint.effort == 0:
            message = (
                f"joint {name!r} has an effort limit of zero, so that its drive exerts no force"
            )
            notes.append(Diagnostic("description-limit", message, one.location))
        if one.mode == "velocity":
            drives.append(JointDrive(name, 0.0, damping, target_velocity=one.target or 0.0))
            continue
        target = positions.get(name, 0.0) if one.target is None else one.target
        _within_limits("the target", joint, target, one.location, notes)
        drives.append(JointDrive(name, stiffness, damping, target_position=target))
    return tuple(drives)


def _gains(one: _Wanted, joint: Joint, inertias: Mapping[str, float]) -> tuple[float, float]:
    """Return stiffness and damping of a joint.

    A joint with inertia I oscillates with natural frequency w = 2 pi f and damping
    ratio z if its stiffness is I w^2 and its damping 2 z I w.

    Raises:
        ConversionError: The joint moves no inertia.
    """
    if one.natural_frequency is None:
        return one.stiffness or 0.0, one.damping or 0.0
    inertia = inertias[joint.name] + (one.armature or 0.0)
    if inertia <= 0:
        message = (
            f"joint {joint.name!r} moves no inertia, so that a natural frequency defines no gains"
        )
        raise ConversionError((Diagnostic("description-value", message, one.location),))
    ratio = 1.0 if one.damping_ratio is None else one.damping_ratio
    rate = 2 * math.pi * one.natural_frequency
    return inertia * rate**2, 2 * ratio * inertia * rate


def _joint_inertias(robot: Robot, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the inertia that each joint moves while all others are held.

    It is the diagonal of the joint-space inertia matrix [kg m^2 or kg].

    Args:
        robot: The robot.
        positions: Of joints with one axis [rad or m]; others are at zero.
    """
    # Loads numpy, which natural frequencies alone need.

    at_zero = {
        Planar: [0.0] * 4,
        Floating: [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        Spherical: [1.0, 0.0, 0.0, 0.0],
    }
    placed = {
        joint.name: np.array([at_zero.get(type(joint.kind), [positions.get(joint.name, 0.0)])])
        for joint in robot.joints
    }
    matrix = inertia_matrices(robot, placed)[0]
    return dict(zip(degrees_of_freedom(robot), np.diag(matrix).tolist(), strict=True))
