"""From a description file to the settings of each joint and link of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import numpy as np
from msgspec import structs

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
from urdf_usd.converter.simulation.description import Description, JointTable
from urdf_usd.converter.simulation.sources import (
    Actuation,
    ContactMaterial,
    GroupState,
    JointDrive,
    Simulation,
    disabled_pairs,
    parse_srdf,
    read_frictions,
    read_ros2_control,
    read_self_collision,
    read_transmissions,
    sorted_pair,
)

_ONE_AXIS = (Revolute, Continuous, Prismatic)
_ONE_AXIS_JOINT = "revolute, continuous or prismatic joint"
_MOST_NAMES = 5


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
    positions = _initial_positions(description, joints, actuation, notes)
    settings, locations = _joint_settings(description, joints, actuation, notes)
    drives = _drives(settings, locations, joints, positions, urdf, notes)
    filtered = _filtered_pairs(description, robot, notes)
    frictions: tuple[ContactMaterial, ...] = ()
    self_collision = tables.self_collision
    if tables.sources.gazebo:
        frictions = read_frictions(robot, notes)
        if self_collision is None:
            self_collision = read_self_collision(robot)
    has_pose = bool(
        (actuation and actuation.positions) or tables.pose.joints or tables.pose.state is not None
    )

    def stated(key: str) -> tuple[tuple[str, float], ...]:
        values = {name: getattr(table, key) for name, table in settings.items()}
        return tuple((name, values[name]) for name in joints if values.get(name) is not None)

    return Simulation(
        drives=drives,
        armatures=stated("armature"),
        limit_stiffnesses=stated("limit_stiffness"),
        limit_dampings=stated("limit_damping"),
        positions=tuple(
            (name, positions[name]) for name in joints if has_pose and positions.get(name)
        ),
        filtered_pairs=filtered,
        filter_overlaps=tables.filters.overlap,
        self_collision=self_collision,
        contact_materials=_contact_materials(description, robot, frictions, notes),
    )


def _actuation(description: Description, urdf: Robot, notes: list[Diagnostic]) -> Actuation | None:
    """Return what the URDF states of actuators, if the description asks for it."""
    sources = description.tables.sources
    found = None
    for key, tag in (("transmissions", "transmission"), ("ros2_control", "ros2_control")):
        if not getattr(sources, key):
            continue
        read = read_transmissions(urdf) if tag == "transmission" else read_ros2_control(urdf, notes)
        if read is None:
            message = f"the URDF has no <{tag}>"
            location = description.location("sources", key)
            notes.append(Diagnostic("description-unmatched", message, location))
        found = read or found
    return found


def _joint_settings(
    description: Description,
    joints: Mapping[str, Joint],
    actuation: Actuation | None,
    notes: list[Diagnostic],
) -> tuple[dict[str, JointTable], dict[str, Location]]:
    """Return the settings of each joint, and the last table that matches it.

    Each key of a later table counts; gains replace a natural frequency, and the other
    way around.
    """
    settings: dict[str, JointTable] = {}
    if actuation is not None:
        for name in joints:
            control = actuation.controls.get(name) if name in actuation.actuated else "none"
            settings[name] = JointTable(name, control)
    locations: dict[str, Location] = {}
    for index, table in enumerate(description.tables.joints):
        given = table.given
        cleared: tuple[str, ...] = ()
        if given.keys() & {"stiffness", "damping"}:
            cleared = "natural_frequency", "damping_ratio"
        elif "natural_frequency" in given:
            cleared = "stiffness", "damping"
        for pattern in table.patterns:
            location = description.location("joints", index, "match")
            for name in _matching(pattern, joints, _ONE_AXIS_JOINT, location, notes):
                before = settings.get(name, JointTable(name))
                settings[name] = structs.replace(before, **{**dict.fromkeys(cleared), **given})
                locations[name] = description.location("joints", index)
    return settings, locations


def _filtered_pairs(
    description: Description, robot: Robot, notes: list[Diagnostic]
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links that a description filters, sorted."""
    filters = description.tables.filters
    links = {link.name: link for link in robot.links}
    pairs: set[tuple[str, str]] = set()
    if filters.srdf is not None:
        content = dict(description.attached)[filters.srdf]
        srdf = parse_srdf(content, description.path_of(filters.srdf), notes)
        pairs |= disabled_pairs(srdf, links, notes)
    if filters.parent_child:
        pairs |= {sorted_pair(joint.parent, joint.child) for joint in robot.joints}
    location = description.location("filters", "pairs")
    for one, other in filters.pairs:
        missing = [name for name in dict.fromkeys((one, other)) if name not in links]
        for name in missing:
            message = f"the robot has no link {name!r}"
            notes.append(Diagnostic("description-unmatched", message, location))
        if not missing and one != other:
            pairs.add(sorted_pair(one, other))
    return tuple(sorted(pairs))


def _contact_materials(
    description: Description,
    robot: Robot,
    frictions: Iterable[ContactMaterial],
    notes: list[Diagnostic],
) -> tuple[ContactMaterial, ...]:
    """Return the contact materials of links, in the order of the robot.

    Friction of the file replaces that of the URDF.

    Raises:
        ConversionError: A link has restitution without friction, or less static than
            dynamic friction.
    """
    shaped = [link.name for link in robot.links if link.collisions]
    wanted: dict[str, dict[str, float]] = {}
    locations: dict[str, Location] = {}
    for index, table in enumerate(description.tables.links):
        for pattern in table.patterns:
            location = description.location("links", index, "match")
            for name in _matching(pattern, shaped, "link with a collider", location, notes):
                wanted.setdefault(name, {}).update(table.given)
                locations[name] = description.location("links", index)
    materials = {material.link: material for material in frictions}
    for name in shaped:
        if values := wanted.get(name):
            own = materials.get(name)
            materials[name] = _contact_material(name, values, own, locations[name])
    return tuple(materials[name] for name in shaped if name in materials)


def _contact_material(
    link: str, wanted: Mapping[str, float], of_urdf: ContactMaterial | None, location: Location
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
            raise _refused(message, location)
        static, dynamic = of_urdf.static, of_urdf.dynamic
    if static < dynamic:
        message = (
            f"static friction {static:g} of link {link!r} is less than its dynamic "
            f"friction {dynamic:g}"
        )
        raise _refused(message, location)
    return ContactMaterial(link, static, dynamic, wanted.get("restitution", 0.0))


def _refused(message: str, location: Location | None) -> ConversionError:
    return ConversionError((Diagnostic("description-value", message, location),))


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


def _initial_positions(
    description: Description,
    joints: Mapping[str, Joint],
    actuation: Actuation | None,
    notes: list[Diagnostic],
) -> dict[str, float]:
    """Return initial positions by joint; mimic joints follow their leaders."""
    of_urdf = actuation.positions if actuation else {}
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
        for name in _matching(pattern, joints, _ONE_AXIS_JOINT, location, notes):
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
    file = description.tables.pose.srdf or description.tables.filters.srdf
    if file is None:
        raise _refused("'state' needs an SRDF in [pose] or [filters]", location)
    srdf = parse_srdf(dict(description.attached)[file], description.path_of(file), notes)
    found = [state for state in srdf.states if name in {state.name, f"{state.group}/{state.name}"}]
    if len(found) != 1:
        known = ", ".join(f"{state.group}/{state.name}" for state in srdf.states)
        count = "several poses" if found else "no pose"
        raise _refused(f"{file} has {count} {name!r}; it has {known or 'none'}", location)
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
    if not isinstance(joint.kind, (Revolute, Prismatic)):
        return
    limits = joint.kind.range
    if limits.lower <= limits.upper and not limits.lower <= position <= limits.upper:
        message = (
            f"{what} of joint {joint.name!r} is {position:g}, outside its limits "
            f"[{limits.lower:g}, {limits.upper:g}]"
        )
        notes.append(Diagnostic("description-limit", message, location))


def _drives(
    settings: Mapping[str, JointTable],
    locations: Mapping[str, Location],
    joints: Mapping[str, Joint],
    positions: Mapping[str, float],
    robot: Robot,
    notes: list[Diagnostic],
) -> tuple[JointDrive, ...]:
    """Return the drives with gains, in the order of the robot's joints."""
    inertias: Mapping[str, float] = {}
    if any(table.natural_frequency for table in settings.values()):
        inertias = _joint_inertias(robot, positions)
    drives = []
    for name, joint in joints.items():
        table, location = settings.get(name), locations.get(name)
        if table is None or table.mode in {"effort", "none"}:
            continue
        if joint.mimic is not None:
            message = f"joint {name!r} follows {joint.mimic.joint!r}; no drive is written"
            notes.append(Diagnostic("description-coupled", message, location))
            continue
        stiffness, damping = _gains(table, joint, inertias, location)
        needed = "stiffness" if table.mode == "position" else "damping"
        if not (stiffness if table.mode == "position" else damping):
            message = (
                f"joint {name!r} has {table.mode} control without {needed}; no drive is written"
            )
            notes.append(Diagnostic("description-gains", message, location))
            continue
        if joint.effort == 0:
            message = (
                f"joint {name!r} has an effort limit of zero, so that its drive exerts no force"
            )
            notes.append(Diagnostic("description-limit", message, location))
        if table.mode == "velocity":
            drives.append(JointDrive(name, 0.0, damping, target_velocity=table.target or 0.0))
            continue
        target = positions.get(name, 0.0) if table.target is None else table.target
        _within_limits("the target", joint, target, location, notes)
        drives.append(JointDrive(name, stiffness, damping, target_position=target))
    return tuple(drives)


def _gains(
    table: JointTable, joint: Joint, inertias: Mapping[str, float], location: Location | None
) -> tuple[float, float]:
    """Return stiffness and damping of a joint.

    A joint with inertia I oscillates with natural frequency w = 2 pi f and damping
    ratio z if its stiffness is I w^2 and its damping 2 z I w.

    Raises:
        ConversionError: The joint moves no inertia.
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


def _joint_inertias(robot: Robot, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the inertia that each joint moves while all others are held [kg m^2 or kg].

    It is the diagonal of the joint-space inertia matrix; joints with several axes are
    at zero.
    """
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
