"""A commented settings file for a robot, to be edited."""

from __future__ import annotations

import inspect
import json
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.simulation.settings import FiltersTable, SettingsTables

CONTACTS = SettingsTables(filters=FiltersTable(overlap=True))
"""Settings whose conversion reports links that overlap or touch at rest."""
# A field in the documentation of a struct.
_FIELD = re.compile(r"^ +(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def description_template(
    robot: m.Robot, base: m.Base, source: str, contacts: Sequence[Diagnostic] = ()
) -> str:
    """Return a settings file that changes nothing until it is edited.

    Settings are commented out by "#" alone; explanations, those of the structs, by "#" and a blank.

    ``source`` is the robot as named on the command line, ``contacts`` what a conversion with
    :data:`CONTACTS` reports of links that overlap or touch at rest.
    """
    one_axis = (m.Revolute, m.Continuous, m.Prismatic)
    joints = [joint for joint in robot.joints if isinstance(joint.kind, one_axis)]
    starts = {_pattern(one.name): _start(one) for one in joints if one.mimic is None}
    links = [_pattern(link.name) for link in robot.links]
    gains = {"stiffness": 100.0, "damping": 10.0}
    springs = {"limit_stiffness": 1e5, "limit_damping": 1e3}
    oscillation = {"natural_frequency": 5.0, "damping_ratio": 1.0, "armature": 0.01}
    named = [{"match": name, **gains, "target": start} for name, start in starts.items()]
    example: dict[str, Any] = {
        "base": "fixed" if base is m.Base.FIXED else "floating",
        "profile": "generic",
        "self_collision": False,
        "joints": [{"match": "*"} | oscillation | springs, *named[:1]],
        "links": [{"match": "*", "static_friction": 1.0, "dynamic_friction": 0.8}],
        "pose": {"joints": starts},
        "filters": {"parent_child": True, "overlap": True, "pairs": [[links[0], links[-1]]]},
        "colliders": {"default": "hull", "links": {links[0]: "none"}},
        "inertia": {"density": 1000.0},
        "sources": {"ros2_control": True, "transmissions": True, "gazebo": True},
    }
    notes = {
        "joints": [f"{one.name}: {', '.join(_summary(one))}" for one in joints],
        "filters": [one.message for one in contacts],
    }
    lines = [f"# urdf-usd convert {source} DIR --with FILE"]
    documented = _documentation(SettingsTables)
    for field in structs.fields(SettingsTables):
        value = example[field.name]
        lines += ["", *_comment(documented[field.name])]
        kinds = (one for one in (field.type, *get_args(field.type)) if isinstance(one, type))
        if kind := next((one for one in kinds if issubclass(one, Struct)), None):
            for key, text in _documentation(kind).items():
                lines += _comment(f"{key}: {text}", "#   ")
            for note in notes.get(field.name, ()):
                lines += _comment(note, "#   ")
        lines += _setting("", field.name, value)
    return "\n".join((*lines, ""))


def _documentation(kind: type[Struct]) -> dict[str, str]:
    """Return what is documented of each field of a struct."""
    found = _FIELD.findall((inspect.getdoc(kind) or "").partition("Attributes:")[2])
    return {name: " ".join(text.split()) for name, text in found}


def _comment(text: str, indent: str = "# ") -> list[str]:
    return textwrap.wrap(
        text, 99, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


def _setting(table: str, key: str, value: object) -> Iterator[str]:
    """Yield the commented lines of a key or a table, with those inside."""
    name = key if re.fullmatch(r"\w+", key, re.ASCII) else json.dumps(key, ensure_ascii=False)
    tables = value if isinstance(value, list) and isinstance(value[0], dict) else [value]
    for one in tables:
        if not isinstance(one, dict):
            # Values of JSON are values of TOML.
            yield f"#{name} = {json.dumps(one, ensure_ascii=False)}"
            continue
        yield f"#[[{table}{name}]]" if tables is value else f"#[{table}{name}]"
        for inner, own in one.items():
            yield from _setting(f"{name}.", inner, own)


def _pattern(name: str) -> str:
    return name.replace("[", "[[]")


def _summary(joint: m.Joint) -> Iterator[str]:
    unit, force = ("m", "N") if isinstance(joint.kind, m.Prismatic) else ("rad", "N m")
    yield type(joint.kind).__name__.lower()
    if isinstance(joint.kind, (m.Revolute, m.Prismatic)):
        yield f"{joint.kind.range.lower:g} to {joint.kind.range.upper:g} {unit}"
    if joint.effort is not None:
        yield f"{joint.effort:g} {force}" + ("" if joint.effort else ": a drive exerts no force")
    if joint.mimic:
        yield f"follows {joint.mimic.joint}: no drive"


def _start(joint: m.Joint) -> float:
    """Return zero, or the middle of limits that exclude it."""
    if isinstance(joint.kind, (m.Revolute, m.Prismatic)):
        lower, upper = joint.kind.range.lower, joint.kind.range.upper
        if (lower > 0 or upper < 0) and math.isfinite(lower + upper):
            return round((lower + upper) / 2, 6)
    return 0.0
