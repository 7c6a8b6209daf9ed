"""A commented description file for a robot, to be edited."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.body_options import Base
from urdf_usd.converter.robot.model import (
    Continuous,
    CustomElement,
    Joint,
    Link,
    Prismatic,
    Revolute,
    Robot,
)
from urdf_usd.converter.simulation.description import DescriptionTable, FiltersTable

_ONE_AXIS = (Revolute, Continuous, Prismatic)
# Elements of a URDF, and the keys that read them.
_SOURCES = {
    "ros2_control": "ros2_control",
    "transmission": "transmissions",
    "gazebo": "gazebo",
}


CONTACTS = DescriptionTable(filters=FiltersTable(overlap=True))
"""Description whose conversion reports links that overlap or touch at rest."""


def description_template(
    robot: Robot, base: Base, source: str, contacts: Sequence[Diagnostic] = ()
) -> str:
    """Return a description file that changes nothing until it is edited.

    Settings are commented out by ``#`` alone, explanations by ``#`` and a blank.

    Args:
        robot: The robot.
        base: The base that a conversion gives it.
        source: The robot as named on the command line.
        contacts: What a conversion with :data:`CONTACTS` reports of links that overlap
            or touch at rest.
    """
    return "\n".join(_lines(robot, base, source, contacts)) + "\n"


def _lines(robot: Robot, base: Base, source: str, contacts: Sequence[Diagnostic]) -> Iterator[str]:
    joints = [joint for joint in robot.joints if isinstance(joint.kind, _ONE_AXIS)]
    driven = [joint for joint in joints if joint.mimic is None]
    yield f"# What the URDF of {robot.name} does not state about a simulation."
    yield f"# urdf-usd convert {source} DIR --with FILE"
    yield "# SI units: N m/rad and rad of revolute joints, N/m and m of others."
    yield ""
    yield f"# Without this key the base is {base}; auto, fixed or floating."
    yield f"#base = {_quoted('fixed' if base == 'fixed' else 'floating')}"
    yield "# generic, usdphysics, physx, ros, simready, isaac; as the option --profile."
    yield '#profile = "generic"'
    yield "# Whether links of the robot collide with each other."
    yield "#self_collision = false"
    yield ""
    yield "# Drives, by patterns of joint names; later tables override single keys."
    yield "# control: position, velocity, effort (forces of a controller), none."
    yield "# In place of stiffness and damping: natural_frequency [Hz], damping_ratio."
    yield from (f"#   {line}" for line in _table(joints))
    for pattern in ("*", *(joint.name for joint in driven[:1])):
        yield "#[[joints]]"
        yield f"#match = {_quoted(pattern)}"
        if pattern == "*":
            yield "#natural_frequency = 5.0"
            yield "#damping_ratio = 1.0"
            yield "#armature = 0.01"
            yield "# Springs at limits, which Newton has; its own are soft."
            yield "#limit_stiffness = 1e5"
            yield "#limit_damping = 1e3"
        else:
            yield "#stiffness = 100.0"
            yield "#damping = 10.0"
            yield f"#target = {_start(driven[0])}"
        yield ""
    yield from _weak_lines(driven)
    yield "# Initial positions, which drives without a target follow; or"
    yield "# state = a <group_state> of an SRDF."
    yield from _excluded_lines(driven)
    yield "#[pose.joints]"
    for joint in driven:
        # A pattern that matches its name alone.
        yield f"#{_quoted(joint.name.replace('[', '[[]'))} = {_start(joint)}"
    yield ""
    yield from _filter_lines(robot, contacts)
    yield from _shape_lines(robot)
    yield from _contact_lines(robot)
    counts = {tag: sum(one.content.tag == tag for one in _custom(robot)) for tag in _SOURCES}
    yield "# Elements of the URDF that count as well: actuators, friction, selfCollide."
    yield "#[sources]"
    for tag, key in _SOURCES.items():
        yield f"# <{tag}>: {counts[tag] or 'none'} in the URDF"
        yield f"#{key} = {'true' if counts[tag] else 'false'}"


def _weak_lines(driven: Sequence[Joint]) -> Iterator[str]:
    """Yield which joints have drives without force."""
    names = [joint.name for joint in driven if joint.effort == 0]
    if names:
        yield from _wrapped(
            "The URDF states an effort limit of zero, with which a drive exerts no "
            f"force: {', '.join(names)}. Correct the URDF to drive them."
        )
        yield ""


def _excluded_lines(driven: Sequence[Joint]) -> Iterator[str]:
    """Yield which joints cannot be at zero."""
    names = [joint.name for joint in driven if _start(joint)]
    if names:
        yield from _wrapped(
            "Limits exclude zero, where simulators start without this table: "
            f"{', '.join(names)}. The middle of their limits is proposed."
        )


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        width=79,
        initial_indent="# ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _filter_lines(robot: Robot, contacts: Sequence[Diagnostic]) -> Iterator[str]:
    yield "# Pairs of links that do not collide. parent_child: the links of a joint;"
    yield "# overlap: links whose colliders overlap at the zero configuration."
    if any(one.rule == "collision-overlap" for one in contacts):
        yield "# Recommended for this robot: PhysX pushes such links apart."
    for one in contacts:
        yield from _wrapped(f"{one.message[:1].upper()}{one.message[1:]}.")
    yield "#[filters]"
    if srdf := _find_srdf(robot):
        yield f"# srdf = {_quoted(srdf)}"
    yield "#parent_child = true"
    yield "#overlap = true"
    yield f"#pairs = [{_pair(robot)}]"
    yield ""


def _shape_lines(robot: Robot) -> Iterator[str]:
    yield "# Colliders instead of those of the URDF: hull, decomposition (CoACD),"
    yield "# primitives (fitted), mesh (triangles), none; for all links or by pattern."
    yield "#[colliders]"
    yield '#default = "hull"'
    yield f'#links = {{ {_quoted(robot.links[0].name)} = "none" }}'
    yield ""
    yield "# Missing or impossible mass and inertia become those of the shapes."
    yield "#[inertia]"
    yield "#density = 1000.0"
    yield ""


def _contact_lines(robot: Robot) -> Iterator[str]:
    yield "# Contact materials, by patterns of link names; later tables override single"
    yield "# keys. They replace the friction of <gazebo>; for links without either"
    yield "# simulators use their own, such as 0.5 (PhysX) and 1 (Newton)."
    shaped = [link.name for link in robot.links if link.collisions]
    for pattern in ("*", *shaped[-1:]):
        yield "#[[links]]"
        yield f"#match = {_quoted(pattern.replace('[', '[[]'))}"
        yield "#static_friction = 1.0"
        yield "#dynamic_friction = 0.8"
        if pattern != "*":
            yield "#restitution = 0.1"
        yield ""


def _custom(robot: Robot) -> Iterator[CustomElement]:
    owners: tuple[Robot | Link | Joint, ...] = (robot, *robot.links, *robot.joints)
    for owner in owners:
        yield from owner.custom.elements


def _find_srdf(robot: Robot) -> str | None:
    """Return an SRDF near a URDF, as its packages are usually laid out."""
    if robot.location is None:
        return None
    urdf = Path(robot.location.file)
    for folder in (urdf.parent, urdf.parent.parent / "srdf"):
        found = sorted(folder.glob(f"{urdf.stem}*.srdf"))
        if found:
            return found[0].as_posix()
    return None


def _table(joints: list[Joint]) -> Iterator[str]:
    width = max((len(joint.name) for joint in joints), default=0)
    for joint in joints:
        kind = type(joint.kind).__name__.lower()
        angular = not isinstance(joint.kind, Prismatic)
        parts = [kind, *_limits(joint, angular=angular)]
        if joint.mimic:
            parts.append(f"follows {joint.mimic.joint}: no drive")
        yield f"{joint.name:<{width}}  {', '.join(parts)}"
    if not joints:
        yield "The robot has no joint with one axis."


def _limits(joint: Joint, *, angular: bool) -> Iterator[str]:
    unit, force = ("rad", "N m") if angular else ("m", "N")
    if isinstance(joint.kind, (Revolute, Prismatic)):
        limits = joint.kind.range
        yield f"{limits.lower:g} to {limits.upper:g} {unit}"
    if joint.effort is not None:
        yield f"{joint.effort:g} {force}"
    if joint.velocity is not None:
        yield f"{joint.velocity:g} {unit}/s"


def _start(joint: Joint) -> float:
    """Return zero, or the middle of limits that exclude it."""
    if isinstance(joint.kind, (Revolute, Prismatic)):
        lower, upper = joint.kind.range.lower, joint.kind.range.upper
        if (lower > 0 or upper < 0) and math.isfinite(lower + upper):
            return round((lower + upper) / 2, 6)
    return 0.0


def _pair(robot: Robot) -> str:
    names = [link.name for link in robot.links]
    if len(names) < len(("one", "other")):
        return ""
    return f"[{_quoted(names[0])}, {_quoted(names[-1])}]"


def _quoted(text: str) -> str:
    """Return a basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
