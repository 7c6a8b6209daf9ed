"""Simulation settings files: TOML with what a URDF does not state about a simulation.

Drives, initial pose, collision filters, contact materials, base and profile of one
robot, in SI units (N m and rad for revolute joints, N and m for prismatic ones). The
structures here are the format; ``urdf-usd doctor --schema description`` prints their JSON
Schema.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import structs

from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, Location
from urdf_usd.converter.options import (
    DEFAULT_DENSITY,
    DEFAULT_TOLERANCE,
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ColliderTolerance,
    ConvertOptions,
    InertiaOption,
    Profile,
)
from urdf_usd.converter.robot.model import BaseOption

_LARGEST = 16 << 20
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
# A header of a table or of an array of tables, or a key.
_LINE = re.compile(r"\s*(?:(\[\[?)\s*([\w.\"'\s-]+?)\s*\]|([\w.\"'-]+)\s*=)")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+|\.\.\.)\]")

Place: TypeAlias = "tuple[str | int, ...]"
"""Path of a key in a document: names of tables and keys, and indices."""
Control: TypeAlias = Literal["position", "velocity", "effort", "none"]
NotNegative: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
Positive: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
Fraction: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]

_OSCILLATION = ("natural_frequency", "damping_ratio")
_UNDRIVEN = ("stiffness", "damping", *_OSCILLATION, "target")
_WITHOUT_EFFECT: Mapping[Control | None, tuple[str, ...]] = {
    "velocity": ("stiffness", *_OSCILLATION),
    "effort": _UNDRIVEN,
    "none": _UNDRIVEN,
}


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file; unknown keys are refused."""


class _MatchingTable(_Table, frozen=True):
    """A table for what its patterns of names match."""

    match: str | tuple[str, ...]

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, also if there is one alone."""
        return (self.match,) if isinstance(self.match, str) else self.match

    @property
    def given(self) -> dict[str, Any]:
        """The stated values by key."""
        return {
            name: value
            for name in self.__struct_fields__
            if name != "match" and (value := getattr(self, name)) is not None
        }


class JointTable(_MatchingTable, frozen=True):
    """Drive of the joints that a pattern matches.

    Of several tables that match a joint, each key of the last one counts.

    Attributes:
        match: Patterns of joint names, with ``*``, ``?`` and ``[...]``.
        control: What a drive follows: a position, a velocity, or nothing (``effort``: a
            controller applies forces; ``none``: the joint is passive). By default,
            ``position`` with stiffness or a natural frequency, ``velocity`` with
            damping alone, otherwise ``effort``.
        stiffness: [N m/rad or N/m].
        damping: [N m s/rad or N s/m].
        natural_frequency: Of the joint with the inertia that it moves at the initial
            pose, all other joints held [Hz]; in place of stiffness and damping.
        damping_ratio: 1 is critical damping, the default.
        armature: Inertia of the motor, as seen by the joint [kg m^2 or kg].
        target: Position [rad or m] or velocity [rad/s or m/s] that the drive follows;
            by default the initial position, or zero velocity.
        limit_stiffness: Of the spring that keeps the joint inside its limits [N m/rad
            or N/m], in simulators with soft limits.
        limit_damping: Of the same [N m s/rad or N s/m].
    """

    control: Control | None = None
    stiffness: NotNegative | None = None
    damping: NotNegative | None = None
    natural_frequency: Positive | None = None
    damping_ratio: NotNegative | None = None
    armature: NotNegative | None = None
    target: float | None = None
    limit_stiffness: NotNegative | None = None
    limit_damping: NotNegative | None = None

    @property
    def mode(self) -> Control:
        """The control mode, stated or implied by gains."""
        if self.control is not None:
            return self.control
        if self.stiffness or self.natural_frequency:
            return "position"
        return "velocity" if self.damping else "effort"


class LinkTable(_MatchingTable, frozen=True):
    """Contact material of the colliders of the links that a pattern matches.

    Of several tables that match a link, each key of the last one counts.

    Attributes:
        match: Patterns of link names, with ``*``, ``?`` and ``[...]``.
        static_friction: Coefficient; by default, that of dynamic friction.
        dynamic_friction: Coefficient; by default, that of static friction.
        restitution: 0 is no bounce, the default; 1 keeps the speed.
    """

    static_friction: NotNegative | None = None
    dynamic_friction: NotNegative | None = None
    restitution: Fraction | None = None


class PoseTable(_Table, frozen=True):
    """Initial positions of joints; those that are not listed start at zero.

    Attributes:
        state: Name of a ``<group_state>`` of the SRDF, or ``group/name``.
        srdf: The SRDF, relative to this file; by default that of the filters.
        joints: Positions by pattern of joint names [rad or m]; they override the state.
    """

    state: str | None = None
    srdf: str | None = None
    joints: dict[str, float] = {}


class FiltersTable(_Table, frozen=True):
    """Pairs of links that do not collide.

    Attributes:
        srdf: SRDF whose ``<disable_collisions>`` count, relative to this file.
        parent_child: Whether the links of each joint do not collide, as simulators
            assume by default.
        overlap: Whether links whose colliders overlap at the zero configuration do not
            collide.
        pairs: Further pairs of link names.
    """

    srdf: str | None = None
    parent_child: bool = False
    overlap: bool = False
    pairs: tuple[tuple[str, str], ...] = ()


class SourcesTable(_Table, frozen=True):
    """Elements of the URDF that count besides this file, which overrides them.

    Attributes:
        ros2_control: Command interfaces of ``<ros2_control>`` as control modes, and
            initial values of state interfaces as initial positions.
        transmissions: Joints of ``<transmission>`` are actuated, all others passive.
        gazebo: Friction and self-collision of ``<gazebo>``.
    """

    ros2_control: bool = False
    transmissions: bool = False
    gazebo: bool = False


class CollidersTable(_Table, frozen=True):
    """Colliders instead of those of the URDF; see the option ``--colliders``.

    Attributes:
        default: Kind for all links; by default, those of the URDF stay.
        links: Kinds by pattern of link names, of which the last one that matches
            counts; they override the default.
        tolerance: Of fitted primitives: metres, or a percentage of the size.
    """

    default: ColliderKind | None = None
    links: dict[str, ColliderKind] = {}
    tolerance: Positive | str | None = None


class InertiaTable(_Table, frozen=True):
    """Missing and impossible mass properties; see the option ``--inertia``.

    Attributes:
        missing: Whether they are those of the shapes (``geometry``).
        density: Of links without mass [kg/m^3].
    """

    missing: InertiaOption = InertiaOption.GEOMETRY
    density: Positive | None = None


class SettingsTables(_Table, frozen=True):
    """A simulation settings file.

    Attributes:
        base: Whether the base is fixed; see the option ``--base``.
        profile: Target simulator or standard; see the option ``--profile``.
        self_collision: Whether links of the robot collide with each other. By default,
            simulators decide.
        joints: Drives, by joint name.
        links: Contact materials, by link name.
        pose: Initial positions.
        filters: Pairs of links that do not collide.
        colliders: Colliders instead of those of the URDF.
        inertia: Missing and impossible mass properties.
        sources: Elements of the URDF that count.
    """

    base: BaseOption | None = None
    profile: Profile | None = None
    self_collision: bool | None = None
    joints: tuple[JointTable, ...] = ()
    links: tuple[LinkTable, ...] = ()
    pose: PoseTable = PoseTable()
    filters: FiltersTable = FiltersTable()
    colliders: CollidersTable = CollidersTable()
    inertia: InertiaTable | None = None
    sources: SourcesTable = SourcesTable()


class SettingsFile(msgspec.Struct, frozen=True):
    """A settings file that was read."""

    file: str  # Path as given.
    sha256: str  # Of its bytes.
    text: str
    tables: SettingsTables
    # Content of the files that it names, by name as written.
    attached: tuple[tuple[str, bytes], ...] = ()

    def location(self, *place: str | int) -> Location:
        """Return the position of a key, or of the nearest table around it."""
        known = _find_places(self.text)
        while place and place not in known:
            place = place[:-1]
        return Location(self.file, *known.get(place, (1, 1)))

    def path_of(self, name: str) -> str:
        """Return the path of a file that the description names."""
        return str(Path(self.file).parent / name)


def with_settings(options: ConvertOptions, description: SettingsFile) -> ConvertOptions:
    """Add a simulation settings file to options.

    Its base, profile, colliders and treatment of inertia become those of the options.

    Args:
        options: A base other than ``auto``, a profile other than ``generic``, a
            tolerance and a density other than the default, and rules for colliders
            override those of the file.
        description: The file.

    Raises:
        ConversionError: Its profile contradicts the options.
    """
    content = description.tables
    inertia, density = options.inertia, options.mass_density
    if content.inertia is not None:
        if inertia is InertiaOption.KEEP:
            inertia = content.inertia.missing
        if density == DEFAULT_DENSITY:
            density = content.inertia.density or density
    is_default = options.base is BaseOption.AUTO, options.profile is Profile.GENERIC
    table, given = content.colliders, options.colliders
    tolerance = given.tolerance
    if table.tolerance is not None and tolerance == DEFAULT_TOLERANCE:
        tolerance = ColliderTolerance.parse(str(table.tolerance))
    default = [ColliderRule(table.default)] if table.default else []
    named = [ColliderRule(kind, pattern) for pattern, kind in table.links.items()]
    try:
        return structs.replace(
            options,
            base=(content.base if is_default[0] else None) or options.base,
            profile=(content.profile if is_default[1] else None) or options.profile,
            inertia=inertia,
            mass_density=density,
            colliders=ColliderRules((*default, *named, *given.rules), tolerance),
            simulation=description,
        )
    except ValueError as error:
        location = description.location("profile")
        raise ConversionError((Diagnostic("description-value", str(error), location),)) from None


def load_settings(path: str | os.PathLike[str]) -> SettingsFile:
    """Read a settings file.

    Raises:
        ConversionError: It cannot be read, is no TOML, or has unknown keys or values
            that contradict each other or are out of range.
    """
    file = os.fspath(path)
    data = _read(file)
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused("description-syntax", "it is not UTF-8", Location(file, line, 1)) from None
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line, column = len(text.splitlines()) or 1, 1
        if at and at[1]:
            line, column = int(at[1]), int(at[2])
        reason = _lowered(_AT_LINE.sub("", str(error)))
        location = Location(file, line, column)
        raise _refused("description-syntax", reason, location) from None
    found = SettingsFile(file, hashlib.sha256(data).hexdigest(), text, SettingsTables())

    def refuse(rule: str, problems: Iterable[tuple[Place, str]]) -> None:
        diagnostics = tuple(
            Diagnostic(rule, message, found.location(*place)) for place, message in problems
        )
        if diagnostics:
            raise ConversionError(diagnostics)

    refuse("description-key", _unknown_keys(document, SettingsTables, ()))
    try:
        tables = msgspec.convert(document, SettingsTables)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        steps = (name or index for name, index in _STEP.findall(where.partition("[...]")[0]))
        place = tuple(int(step) if step.isdecimal() else step for step in steps)
        named = f"{place[-1]!r}: " if place and isinstance(place[-1], str) else ""
        # Absent keys are None, which no TOML file contains.
        refuse("description-value", [(place, named + _lowered(message.replace(" | null", "")))])
        raise
    names = dict.fromkeys(name for name in (tables.filters.srdf, tables.pose.srdf) if name)
    attached = tuple((name, _read(found.path_of(name))) for name in names)
    refuse("description-value", _contradictions(tables))
    return msgspec.structs.replace(found, tables=tables, attached=attached)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of settings files."""
    return msgspec.json.schema(SettingsTables)


def _read(file: str) -> bytes:
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        message = f"{file} cannot be read: {getattr(error, 'strerror', None) or error}"
        raise _refused("description-unreadable", message, Location(file, 1, 1)) from None
    if len(data) > _LARGEST:
        message = f"{file} is larger than {_LARGEST >> 20} MiB"
        raise _refused("description-unreadable", message, Location(file, 1, 1))
    return data


def _refused(rule: str, message: str, location: Location) -> ConversionError:
    return ConversionError((Diagnostic(rule, message, location),))


def _lowered(message: str) -> str:
    return f"{message[:1].lower()}{message[1:]}"


def _contradictions(content: SettingsTables) -> Iterator[tuple[Place, str]]:
    """Yield the place and the description of values that exclude each other."""
    tables: tuple[tuple[str, tuple[_MatchingTable, ...]], ...] = (
        ("joints", content.joints),
        ("links", content.links),
    )
    for key, index, table in ((k, i, t) for k, several in tables for i, t in enumerate(several)):
        numbers = {name: value for name, value in table.given.items() if isinstance(value, float)}
        for name, value in numbers.items():
            if not math.isfinite(value):
                yield (key, index, name), f"{name!r} is {value}, not a finite number"
        if not table.patterns:
            yield (key, index, "match"), "'match' has no pattern"
        if not isinstance(table, JointTable):
            continue
        gains = [name for name in ("stiffness", "damping") if name in numbers]
        for name in _OSCILLATION:
            if name in numbers and gains:
                yield (key, index, name), f"{gains[0]!r} and {name!r} exclude each other"
        # A zero is the same as no gain.
        for name in _WITHOUT_EFFECT.get(table.control, ()):
            if numbers.get(name):
                message = f"{name!r} has no effect with control = {table.control!r}"
                yield (key, index, name), message
    for name, value in content.pose.joints.items():
        if not math.isfinite(value):
            message = f"position of {name!r} is {value}, not a finite number"
            yield ("pose", "joints", name), message
    tolerance = content.colliders.tolerance
    if isinstance(tolerance, str):
        try:
            ColliderTolerance.parse(tolerance)
        except ValueError:
            message = f"{tolerance!r} is neither metres nor a percentage"
            yield ("colliders", "tolerance"), message
    if "" in content.colliders.links:
        yield ("colliders", "links", ""), "the pattern of a link is empty"


def _unknown_keys(
    value: object, kind: type[msgspec.Struct], place: Place
) -> Iterator[tuple[Place, str]]:
    """Yield the place and the description of keys that a table does not have."""
    if not isinstance(value, Mapping):
        return
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for key, inner in value.items():
        if key not in fields:
            close = difflib.get_close_matches(key, fields, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(fields)}"
            yield (*place, key), f"{key!r} is not known here ({hint})"
            continue
        for table in (fields[key], *get_args(fields[key])):
            if isinstance(table, type) and issubclass(table, msgspec.Struct):
                yield from _unknown_keys(inner, table, (*place, key))
                for index, one in enumerate(inner if isinstance(inner, list) else ()):
                    yield from _unknown_keys(one, table, (*place, key, index))


def _find_places(text: str) -> dict[Place, tuple[int, int]]:
    """Return line and column of tables and keys, which ``tomllib`` does not report.

    Keys inside of inline tables are not found.
    """
    places: dict[Place, tuple[int, int]] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if not (found := _LINE.match(line)):
            continue
        names = tuple(name.strip().strip("\"'") for name in (found[2] or found[3]).split("."))
        position = (number, len(line) - len(line.lstrip()) + 1)
        if found[3]:
            places.setdefault((*table, *names), position)
            continue
        table = names
        if found[1] == "[[":
            places.setdefault(table, position)
            counts[table] = counts.get(table, -1) + 1
            table = (*table, counts[table])
        places.setdefault(table, position)
    return places
