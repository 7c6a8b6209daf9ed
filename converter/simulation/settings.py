"""Simulation settings files: TOML with what a URDF does not state about a simulation.

Drives, initial pose, collision filters, contact materials, base and profile of one
robot, in SI units (N m and rad for revolute joints, N and m for prismatic ones). The
structures here are the format; ``urdf-usd doctor --schema description`` prints their JSON
Schema.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, structs

from urdf_usd.converter import options as o
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, Location
from urdf_usd.converter.file_content import MIB, read_file
from urdf_usd.converter.robot.model import BaseOption

_LARGEST = 16 * MIB
_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
# A header of a table or of an array of tables, or a key.
_LINE = re.compile(r"\s*(?:(\[\[?)\s*([\w.\"'\s-]+?)\s*\]|([\w.\"'-]+)\s*=)")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")

Place: TypeAlias = "tuple[str | int, ...]"
"""Path of a key in a document: names of tables and keys, and indices."""
Control: TypeAlias = Literal["position", "velocity", "effort", "none"]
# Bounds refuse numbers that are not finite.
Finite: TypeAlias = Annotated[float, Meta(ge=-1e300, le=1e300)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=1e300)]
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=1e300)]
Fraction: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Pattern: TypeAlias = Annotated[str, Meta(min_length=1)]

GAINS, OSCILLATION = ("stiffness", "damping"), ("natural_frequency", "damping_ratio")
_UNDRIVEN = (*GAINS, *OSCILLATION, "target")
_WITHOUT_EFFECT: Mapping[Control | None, tuple[str, ...]] = {
    "velocity": ("stiffness", *OSCILLATION),
    "effort": _UNDRIVEN,
    "none": _UNDRIVEN,
}


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file; unknown keys are refused."""


class _MatchingTable(_Table, frozen=True):
    """A table for what its patterns of names match."""

    match: str | Annotated[tuple[str, ...], Meta(min_length=1)]

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
    target: Finite | None = None
    limit_stiffness: NotNegative | None = None
    limit_damping: NotNegative | None = None

    def __post_init__(self) -> None:
        """Refuse settings that exclude each other, or that the control mode ignores."""
        gains = [name for name in GAINS if name in self.given]
        for name in OSCILLATION:
            if gains and name in self.given:
                raise ValueError(f"{gains[0]!r} and {name!r} exclude each other")
        # A zero is the same as no gain.
        for name in _WITHOUT_EFFECT.get(self.control, ()):
            if self.given.get(name):
                raise ValueError(f"{name!r} has no effect with control = {self.control!r}")


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
    joints: dict[str, Finite] = {}


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

    default: o.ColliderKind | None = None
    links: dict[Pattern, o.ColliderKind] = {}
    tolerance: Positive | str | None = None

    def __post_init__(self) -> None:
        """Refuse a text that is neither metres nor a percentage."""
        if self.tolerance is not None:
            o.tolerance_in_metres(str(self.tolerance), 1.0)


class InertiaTable(_Table, frozen=True):
    """Missing and impossible mass properties; see the option ``--inertia``.

    Attributes:
        missing: Whether they are those of the shapes (``geometry``).
        density: Of links without mass [kg/m^3].
    """

    missing: o.InertiaOption = o.InertiaOption.GEOMETRY
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
    profile: o.Profile | None = None
    self_collision: bool | None = None
    joints: tuple[JointTable, ...] = ()
    links: tuple[LinkTable, ...] = ()
    pose: PoseTable = PoseTable()
    filters: FiltersTable = FiltersTable()
    colliders: CollidersTable = CollidersTable()
    inertia: InertiaTable | None = None
    sources: SourcesTable = SourcesTable()


class SettingsFile(Struct, frozen=True):
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


def with_settings(options: o.ConvertOptions, description: SettingsFile) -> o.ConvertOptions:
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
    content, given = description.tables, options.colliders
    inertia, density, tolerance = options.inertia, options.mass_density, given.tolerance
    if content.inertia is not None:
        if inertia is o.InertiaOption.KEEP:
            inertia = content.inertia.missing
        if density == o.DEFAULT_DENSITY:
            density = content.inertia.density or density
    table = content.colliders
    if table.tolerance is not None and tolerance == o.DEFAULT_TOLERANCE:
        tolerance = str(table.tolerance)
    rules = [o.ColliderRule(table.default)] if table.default else []
    rules += [o.ColliderRule(kind, pattern) for pattern, kind in table.links.items()]
    profile, base = options.profile, options.base
    if profile is o.Profile.GENERIC:
        profile = content.profile or profile
    if base is BaseOption.AUTO:
        base = content.base or base
    try:
        return structs.replace(
            options,
            base=base,
            profile=profile,
            inertia=inertia,
            mass_density=density,
            colliders=o.ColliderRules((*rules, *given.rules), tolerance),
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
    except ValueError as error:
        at = _AT_LINE.search(str(error))
        line, column = map(int, at.groups()) if at else (1, 1)
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise _refused("description-syntax", reason, Location(file, line, column)) from None
    found = SettingsFile(file, hashlib.sha256(data).hexdigest(), text, SettingsTables())
    try:
        tables = msgspec.convert(document, SettingsTables)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        steps = (name or index for name, index in _STEP.findall(where.partition("[...]")[0]))
        place = tuple(int(step) if step.isdecimal() else step for step in steps)
        rule = "description-value"
        if unknown := _UNKNOWN.match(message):
            rule, place = "description-key", (*place, unknown[1])
            message = "it is not known here"
        named = f"{place[-1]!r}: " if place and isinstance(place[-1], str) else ""
        # Absent keys are None, which no TOML file contains.
        message = named + message.replace(" | null", "")
        raise _refused(rule, message, found.location(*place)) from None
    names = dict.fromkeys(name for name in (tables.filters.srdf, tables.pose.srdf) if name)
    attached = tuple((name, _read(found.path_of(name))) for name in names)
    return structs.replace(found, tables=tables, attached=attached)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of settings files."""
    return msgspec.json.schema(SettingsTables)


def _read(file: str) -> bytes:
    try:
        return read_file(Path(file), _LARGEST)
    except (OSError, ValueError) as error:
        message = f"{file} cannot be read: {getattr(error, 'strerror', None) or error}"
        raise _refused("description-unreadable", message, Location(file, 1, 1)) from None


def _refused(rule: str, message: str, location: Location) -> ConversionError:
    return ConversionError((Diagnostic(rule, message, location),))


def _find_places(text: str) -> dict[Place, tuple[int, int]]:
    """Return line and column of tables and keys, which ``tomllib`` does not report.

    Keys inside of inline tables are not found.
    """
    places: dict[Place, tuple[int, int]] = {}
    counts: Counter[Place] = Counter()
    table: Place = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if not (found := _LINE.match(line)):
            continue
        names = tuple(name.strip().strip("\"'") for name in (found[2] or found[3]).split("."))
        position = (number, len(line) - len(line.lstrip()) + 1)
        if found[3]:
            names = (*table, *names)
        else:
            places.setdefault(names, position)
            table = (*names, counts[names]) if found[1] == "[[" else names
            counts[names] += 1
            names = table
        places.setdefault(names, position)
    return places
