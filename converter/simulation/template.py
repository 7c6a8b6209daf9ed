"""A commented settings file for a robot, to be edited."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import jinja2

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.simulation.settings import FiltersTable, SettingsTables

CONTACTS = SettingsTables(filters=FiltersTable(overlap=True))
"""Settings whose conversion reports links that overlap or touch at rest."""

# Settings are commented out by "#" alone, explanations by "#" and a blank.
_TEMPLATE = """\
# What the URDF of {{ robot.name }} does not state about a simulation.
# urdf-usd convert {{ source }} DIR --with FILE
# SI units: N m/rad and rad of revolute joints, N/m and m of others.

# Without this key the base is {{ base }}; auto, fixed or floating.
#base = {{ ("fixed" if base == "fixed" else "floating") | quoted }}
# generic, usdphysics, physx, ros, simready, isaac; as the option --profile.
#profile = "generic"
# Whether links of the robot collide with each other.
#self_collision = false

# Drives, by patterns of joint names; later tables override single keys.
# control: position, velocity, effort (forces of a controller), none.
# In place of stiffness and damping: natural_frequency [Hz], damping_ratio.
{% for joint in joints -%}
#   {{ joint.name.ljust(width) }}  {{ joint | summary }}
{% else -%}
#   The robot has no joint with one axis.
{% endfor -%}
#[[joints]]
#match = "*"
#natural_frequency = 5.0
#damping_ratio = 1.0
#armature = 0.01
# Springs at limits, which Newton has; its own are soft.
#limit_stiffness = 1e5
#limit_damping = 1e3

{% for joint in driven[:1] -%}
#[[joints]]
#match = {{ joint.name | quoted }}
#stiffness = 100.0
#damping = 10.0
#target = {{ joint | start }}

{% endfor -%}
{% if weak -%}
{{ ("The URDF states an effort limit of zero, with which a drive exerts no force: " ~ weak
    ~ ". Correct the URDF to drive them.") | wrapped }}

{% endif -%}
# Initial positions, which drives without a target follow; or
# state = a <group_state> of an SRDF.
{% if excluded -%}
{{ ("Limits exclude zero, where simulators start without this table: " ~ excluded
    ~ ". The middle of their limits is proposed.") | wrapped }}
{% endif -%}
#[pose.joints]
{% for joint in driven -%}
#{{ joint.name | pattern }} = {{ joint | start }}
{% endfor %}
# Pairs of links that do not collide. parent_child: the links of a joint;
# overlap: links whose colliders overlap at the zero configuration.
{% if contacts | selectattr("rule", "eq", "collision-overlap") | list -%}
# Recommended for this robot: PhysX pushes such links apart.
{% endif -%}
{% for contact in contacts -%}
{{ (contact.message[:1].upper() ~ contact.message[1:] ~ ".") | wrapped }}
{% endfor -%}
#[filters]
{% if srdf -%}
# srdf = {{ srdf | quoted }}
{% endif -%}
#parent_child = true
#overlap = true
#pairs = [{% if links[1:] %}[{{ links[0] | quoted }}, {{ links[-1] | quoted }}]{% endif %}]

# Colliders instead of those of the URDF: hull, decomposition (CoACD),
# primitives (fitted), mesh (triangles), none; for all links or by pattern.
#[colliders]
#default = "hull"
#links = { {{ links[0] | quoted }} = "none" }

# Missing or impossible mass and inertia become those of the shapes.
#[inertia]
#density = 1000.0

# Contact materials, by patterns of link names; later tables override single
# keys. They replace the friction of <gazebo>; for links without either
# simulators use their own, such as 0.5 (PhysX) and 1 (Newton).
{% for name in ["*"] + shaped[-1:] -%}
#[[links]]
#match = {{ name | pattern }}
#static_friction = 1.0
#dynamic_friction = 0.8
{% if not loop.first -%}
#restitution = 0.1
{% endif %}
{% endfor -%}
# Elements of the URDF that count as well: actuators, friction, selfCollide.
#[sources]
{% for tag, key in [("ros2_control", "ros2_control"), ("transmission", "transmissions"),
                    ("gazebo", "gazebo")] -%}
# <{{ tag }}>: {{ tags.count(tag) or "none" }} in the URDF
#{{ key }} = {{ "true" if tag in tags else "false" }}
{% endfor -%}
"""


def description_template(
    robot: m.Robot, base: m.Base, source: str, contacts: Sequence[Diagnostic] = ()
) -> str:
    """Return a settings file that changes nothing until it is edited.

    ``source`` is the robot as named on the command line, ``contacts`` what a conversion with
    :data:`CONTACTS` reports of links that overlap or touch at rest.
    """
    joints = [
        joint
        for joint in robot.joints
        if isinstance(joint.kind, (m.Revolute, m.Continuous, m.Prismatic))
    ]
    driven = [joint for joint in joints if joint.mimic is None]
    owners: tuple[m.Robot | m.Link | m.Joint, ...] = (robot, *robot.links, *robot.joints)
    environment = jinja2.Environment(
        autoescape=False,  # noqa: S701  TOML
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "quoted": _quoted,
        "pattern": lambda name: _quoted(name.replace("[", "[[]")),
        "summary": lambda joint: ", ".join(_summary(joint)),
        "start": _start,
        "wrapped": partial(
            textwrap.fill,
            width=79,
            initial_indent="# ",
            subsequent_indent="#   ",
            break_long_words=False,
            break_on_hyphens=False,
        ),
    }
    return environment.from_string(_TEMPLATE).render(
        robot=robot,
        base=base,
        source=source,
        contacts=contacts,
        joints=joints,
        width=max((len(joint.name) for joint in joints), default=0),
        driven=driven,
        weak=", ".join(joint.name for joint in driven if joint.effort == 0),
        excluded=", ".join(joint.name for joint in driven if _start(joint)),
        links=[link.name for link in robot.links],
        shaped=[link.name for link in robot.links if link.collisions],
        srdf=_find_srdf(robot),
        tags=[element.content.tag for owner in owners for element in owner.custom.elements],
    )


def _summary(joint: m.Joint) -> Iterator[str]:
    unit, force = ("m", "N") if isinstance(joint.kind, m.Prismatic) else ("rad", "N m")
    yield type(joint.kind).__name__.lower()
    if isinstance(joint.kind, (m.Revolute, m.Prismatic)):
        yield f"{joint.kind.range.lower:g} to {joint.kind.range.upper:g} {unit}"
    if joint.effort is not None:
        yield f"{joint.effort:g} {force}"
    if joint.velocity is not None:
        yield f"{joint.velocity:g} {unit}/s"
    if joint.mimic:
        yield f"follows {joint.mimic.joint}: no drive"


def _start(joint: m.Joint) -> float:
    """Return zero, or the middle of limits that exclude it."""
    if isinstance(joint.kind, (m.Revolute, m.Prismatic)):
        lower, upper = joint.kind.range.lower, joint.kind.range.upper
        if (lower > 0 or upper < 0) and math.isfinite(lower + upper):
            return round((lower + upper) / 2, 6)
    return 0.0


def _find_srdf(robot: m.Robot) -> str | None:
    """Return an SRDF near a URDF, as its packages are usually laid out."""
    if robot.location is None:
        return None
    urdf = Path(robot.location.file)
    for folder in (urdf.parent, urdf.parent.parent / "srdf"):
        found = sorted(folder.glob(f"{urdf.stem}*.srdf"))
        if found:
            return found[0].as_posix()
    return None


def _quoted(text: str) -> str:
    """Return a basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)
