"""Options of conversions and of reading USDs that need no OpenUSD to be named."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_type_hints

from msgspec import NODEFAULT, Meta, Struct

from urdf_usd.converter.robot.model import BaseOption, MasslessOption

if TYPE_CHECKING:
    # Settings files contain options.
    from urdf_usd.converter.simulation.settings import SettingsFile

MeshProgress: TypeAlias = Callable[[str, int, int], None]
"""Is called with the name of a mesh, its number from one on, and the number of all."""


# Options that the record of a run has also at their default.
_RECORDED = frozenset({"profile", "layout", "massless", "merge_fixed", "base"})
# A flag, a placeholder and the help.
_STATED = re.compile(r"(--[a-z-]+)(?: (\S+))?: (.*)", re.DOTALL)


class Option(Struct, frozen=True):
    """How the command line states a field of a struct of options.

    Fields are annotated with it, or a text: ``Annotated[bool, "Add ..."]``, the help alone, or
    ``Annotated[Path | None, "--json FILE: Write ..."]``, which states flag and placeholder as well.
    The options of a command, its part of ``urdf-usd.toml``, the JSON Schema of that file, the
    options in the record of a run and the command that a report prints derive from these fields.
    """

    help: str
    flag: str | None = None  # "--" and the name of the field if None
    metavar: str | None = None
    parse: Callable[[Any], object] | None = None  # reads each value, and raises ValueError
    kind: Any = None  # click's type of each value, if that of the field does not say enough
    sign: str = "="  # between the texts of a value that is a pair
    repeated: bool = True  # whether it changes results, so that printed commands state it


class OptionField(Struct, frozen=True):
    """A field of a struct of options, which has options of its own if ``option`` is None."""

    name: str
    type: Any  # without metadata
    default: Any  # msgspec.NODEFAULT if it has none
    metadata: tuple[Any, ...]

    @property
    def option(self) -> Option | None:
        for one in self.metadata:
            if isinstance(one, str):
                found = _STATED.fullmatch(one)
                return Option(found[3], found[1], found[2]) if found else Option(one)
            if isinstance(one, Option):
                return one
        return None

    @property
    def flag(self) -> str:
        named = self.option and self.option.flag
        return named or f"--{self.name.replace('_', '-')}"

    def text(self, value: Any) -> str:  # noqa: ANN401  # any option's
        match value:
            case bool():
                return "yes" if value else "no"
            case float():
                return str(value).removesuffix(".0")
            case tuple():
                return (self.option.sign if self.option else "=").join(value)
            case _:
                return getattr(value, "file", None) or str(value)


def option_fields(kind: type[Struct]) -> Iterator[OptionField]:
    # Imported for type checkers only, as it contains options itself.
    hints = get_type_hints(kind, localns={"SettingsFile": object}, include_extras=True)
    names = kind.__struct_fields__
    defaults = dict(zip(reversed(names), reversed(kind.__struct_defaults__), strict=False))
    for name in names:
        metadata = getattr(hints[name], "__metadata__", ())
        value = get_args(hints[name])[0] if metadata else hints[name]
        yield OptionField(name, value, defaults.get(name, NODEFAULT), metadata)


def stated_options(
    options: Struct, *, recorded: bool = False
) -> Iterator[tuple[OptionField, tuple[object, ...]]]:
    """Yield options that change results and are not at their default, each with its values.

    With ``recorded``, also those that records have at their default.
    """
    for one in option_fields(type(options)):
        value, option = getattr(options, one.name), one.option
        if option is None:
            if isinstance(value, Struct):
                yield from stated_options(value, recorded=recorded)
        elif option.repeated and (value != one.default or (recorded and one.name in _RECORDED)):
            yield one, value if isinstance(value, tuple) else (value,)


def command_words(options: Struct, without: Collection[str] = ()) -> list[str]:
    words: list[str] = []
    for one, values in stated_options(options):
        if one.flag not in without:
            for value in values:
                words += (one.flag,) if value is True else (one.flag, one.text(value))
    return words


PACKAGE = "NAME=PATH"
"""Placeholder of the option that names a package and its folder."""
METADATA = (
    *("author", "asset_license", "asset_name", "asset_type", "category", "qcode"),
    *("source_file", "usd_date_generated"),
)
"""Metadata that requirement SR.004 of SimReady has as text."""
ISAAC_METADATA = ("robot_type", "asset_license")
"""Metadata of the robot schema of Isaac Sim."""
ROBOT_TYPES = (
    *("End Effector", "Manipulator", "Humanoid", "Wheeled", "Holonomic", "Quadruped"),
    *("Mobile Manipulators", "Aerial"),
)
"""Values of isaac:robotType besides the fallback, which is no type."""


class Layout(StrEnum):
    """Files of an asset: a folder of layers, one layer, or one package."""

    LAYERED = "layered"
    SINGLE = "single"
    USDZ = "usdz"

    @property
    def suffix(self) -> str:
        return {"layered": ".usda", "single": ".usdc"}.get(self, ".usdz")


class BodyNesting(StrEnum):
    """Whether body prims are nested along the kinematic tree or are siblings."""

    NESTED = "nested"
    FLAT = "flat"


class MaterialNetworks(StrEnum):
    """Shader networks of materials."""

    PREVIEW = "preview"  # UsdPreviewSurface
    OPENPBR = "openpbr"  # the same, and OpenPBR in the render context of MaterialX


class Profile(StrEnum):
    """Schemas that are used in addition to UsdPhysics and ``urdf:`` attributes."""

    GENERIC = "generic"  # Newton's (newton-usd-schemas), which Newton and PhysX read
    USDPHYSICS = "usdphysics"  # none
    PHYSX = "physx"  # those of Omniverse Physics, for Isaac Sim 5 and 6
    ROS = "ros"  # Newton's, and those of REP 158, in layers of their own
    SIMREADY = "simready"  # Newton's, and what SimReady Foundation requires of robots
    # Those of Omniverse Physics and, in other variants, Newton's, with the robot schema and the
    # layers of Isaac Sim 6.2.
    ISAAC = "isaac"

    @property
    def needs_layers(self) -> bool:
        return self in {Profile.ROS, Profile.SIMREADY, Profile.ISAAC}

    @property
    def is_for_physx(self) -> bool:
        return self in {Profile.PHYSX, Profile.ISAAC}


class VariantChoice(Struct, frozen=True):
    """A variant to select in a USD that is read, by names."""

    variant_set: str
    variant: str
    # None for the default prim or, if that has no such set, the only prim that has one.
    prim: str | None = None

    @classmethod
    def parse(cls, text: str) -> VariantChoice:
        """Read ``[PRIM:]SET=NAME`` with an absolute path; otherwise raise ValueError."""
        place, equals, variant = text.partition("=")
        prim, _, variant_set = place.rpartition(":")
        if not (equals and variant_set and variant) or (prim and not prim.startswith("/")):
            raise ValueError(f"{text!r} is not [PRIM:]SET=NAME")
        return cls(variant_set, variant, prim or None)

    def __str__(self) -> str:
        prim = "" if self.prim is None else f"{self.prim}:"
        return f"{prim}{self.variant_set}={self.variant}"


class InertiaOption(StrEnum):
    """Treatment of missing and of impossible mass properties."""

    KEEP = "keep"  # as in the URDF; what a body needs is added in a negligible amount
    GEOMETRY = "geometry"  # those of the shapes of the link, as homogeneous solids


DEFAULT_DENSITY = 1000.0
"""Density of links without mass, that of water [kg/m^3]."""


class ColliderKind(StrEnum):
    """Colliders that replace those of a link."""

    HULL = "hull"  # the convex hull of each mesh, also of one with several groups
    DECOMPOSITION = "decomposition"  # convex pieces of each mesh, by CoACD
    PRIMITIVES = "primitives"  # the primitive that fits the convex hull of a mesh, else that hull
    MESH = "mesh"  # the triangles of each mesh
    NONE = "none"


class ColliderRule(Struct, frozen=True):
    """Colliders of the links whose names match a pattern with ``*``, ``?`` and ``[...]``."""

    kind: ColliderKind
    links: str | None = None  # None for all links that match no pattern.

    @classmethod
    def parse(cls, text: str) -> ColliderRule:
        """Read ``KIND`` or ``LINK_PATTERN=KIND``; otherwise raise ValueError."""
        pattern, equals, kind = text.rpartition("=")
        if equals and not pattern:
            raise ValueError(f"{text!r} is not KIND or LINK_PATTERN=KIND")
        if kind not in set(ColliderKind):
            raise ValueError(f"{kind!r} is not a kind of collider: {', '.join(ColliderKind)}")
        return cls(ColliderKind(kind), pattern if equals else None)

    def __str__(self) -> str:
        return self.kind.value if self.links is None else f"{self.links}={self.kind}"


def tolerance_in_metres(text: str, size: float) -> float:
    """Return metres (``0.002``), or a percentage (``5%``) of a size [m]; ValueError otherwise."""
    digits = text.removesuffix("%")
    value = float(digits)
    if not 0.0 < value < math.inf:
        raise ValueError(f"{text!r} is not positive")
    return value if digits == text else value / 100.0 * size


def _parse_tolerance(text: str) -> str:
    tolerance_in_metres(text, 1.0)
    return text


DEFAULT_TOLERANCE = "5%"
"""Of the diagonal of the bounding box of a mesh along the axes of the link."""


class ColliderRules(Struct, frozen=True):
    """Of rules with a matching pattern the last one counts, else the last one without pattern."""

    rules: Annotated[
        tuple[ColliderRule, ...],
        Option(
            "Replace colliders by their convex hull (hull), convex pieces by CoACD "
            "(decomposition), fitted boxes, spheres, cylinders and capsules (primitives), "
            "their triangles (mesh) or nothing (none); of all links, or of those that match a "
            "pattern such as 'left_*=none'. Repeatable.  "
            "[default: a convex hull of each mesh, or of each group of an OBJ file]",
            "--colliders",
            "[LINK_PATTERN=]KIND",
            ColliderRule.parse,
        ),
    ] = ()
    tolerance: Annotated[
        str,
        Option(
            "Largest distance of a fitted primitive from the convex hull: metres, or a "
            "percentage of the size of the mesh.",
            "--collider-tolerance",
            "METRES|PERCENT",
            _parse_tolerance,
        ),
    ] = DEFAULT_TOLERANCE

    def kind_of(self, link: str) -> ColliderKind | None:
        """Return the colliders of a link; None for those of the URDF."""
        last_first = [*reversed(self.rules)]
        named = (rule for rule in last_first if rule.links and fnmatchcase(link, rule.links))
        plain = (rule for rule in last_first if rule.links is None)
        return next((rule.kind for rules in (named, plain) for rule in rules), None)

    def __bool__(self) -> bool:
        return bool(self.rules)


NO_COLLIDER_RULES = ColliderRules()


def parse_pair(text: str, form: str) -> tuple[str, str]:
    """Split ``a=b``, or ``a:=b`` if the form is; raise ValueError for a text without that form."""
    sign = ":=" if ":=" in form else "="
    name, found, value = text.partition(sign)
    if not (name and found and (value or sign == ":=")):
        raise ValueError(f"{text!r} is not {form}")
    return name, value


def _parse_package(text: str) -> tuple[str, str]:
    name, path = parse_pair(text, PACKAGE)
    if not Path(path).is_dir():
        raise ValueError(f"{path!r} is not a folder")
    return name, path


def _parse_metadata(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    names = dict.fromkeys((*METADATA, *ISAAC_METADATA))
    if not equals or name not in names:
        raise ValueError(f"{text!r} is not NAME=VALUE with one of the names {', '.join(names)}")
    return name, value


def _load_settings(file: Path) -> SettingsFile:
    # It contains options.
    from urdf_usd.converter.simulation.settings import load_settings

    return load_settings(file)


# Fields of several structs.
FixedBase: TypeAlias = Annotated[
    BaseOption,
    "Fixed or floating base; auto: fixed if the root is an empty link 'world'.",
]
Settings: TypeAlias = Annotated[
    "SettingsFile | None",
    Option(
        "Simulation settings file (TOML) with drives, initial pose, collision filters, base and "
        "profile; see `urdf-usd doctor --schema description`.",
        "--with",
        "FILE",
        _load_settings,
    ),
]
Inertia: TypeAlias = Annotated[
    InertiaOption,
    "Missing and impossible mass properties. keep: those of the URDF, and a negligible mass "
    "where a body needs one; geometry: those of the shapes of the link, which are marked as "
    "estimated.",
]
Density: TypeAlias = Annotated[
    float,
    Meta(gt=0.0, le=1e6),
    Option("Density of links without mass, for --inertia geometry.", metavar="KG_PER_M3"),
]
Packages: TypeAlias = Annotated[
    tuple[tuple[str, str], ...],
    Option(
        "Folder of the ROS package NAME, for package:// URIs. Repeatable.",
        "--package",
        PACKAGE,
        _parse_package,
    ),
]
Arguments: TypeAlias = Annotated[
    tuple[tuple[str, str], ...],
    Option(
        "Value of the xacro argument NAME. Repeatable.",
        "--arg",
        "NAME:=VALUE",
        partial(parse_pair, form="NAME:=VALUE"),
        sign=":=",
    ),
]
Environment: TypeAlias = Annotated[
    tuple[str, ...],
    "--env NAME: Environment variable that xacro may read by $(env NAME), besides those of ROS. "
    "Repeatable.",
]


class Sources(Struct, frozen=True, kw_only=True):
    """How URDF and xacro files are read."""

    packages: Packages = ()
    arguments: Arguments = ()
    environment: Environment = ()


class ConvertOptions(Struct, frozen=True, kw_only=True):
    """Options of a conversion.

    Raises:
        ValueError: Options contradict each other, or a value is out of range.
    """

    profile: Annotated[
        Profile,
        "Schemas besides UsdPhysics and urdf: attributes. generic: those that Newton and "
        "PhysX read; usdphysics: none; physx: those of Omniverse Physics, for Isaac Sim 5 "
        "and 6; ros: those of REP 158 and Newton, in separate layers; simready: Newton's, "
        "with normals, metadata and a thumbnail, for SimReady's Robot-Body; isaac: those "
        "of Omniverse Physics, with the robot schema and the layers of Isaac Sim 6.2.",
    ] = Profile.GENERIC
    physics_variants: Annotated[
        bool,
        "Write variants of the physics in one asset: newton (the default), physx, mujoco, "
        "physics (UsdPhysics alone) and none. With --profile simready, variant sets "
        "Newton, PhysX and MuJoCo that are disabled by default; with isaac none for MuJoCo.",
    ] = False
    layout: Annotated[
        Layout,
        "An interface layer with a folder of payload layers, one binary layer, or one USDZ "
        "package.",
    ] = Layout.LAYERED
    bodies: Annotated[
        BodyNesting | None,
        "Nest rigid bodies along the kinematic tree, or write them as siblings.  [default: "
        "flat for physx, isaac and --physics-variants, else nested]",
    ] = None
    massless: Annotated[
        MasslessOption,
        "Give moving links without mass a negligible mass, or refuse the robot.",
    ] = MasslessOption.REGULARISE
    materials: Annotated[
        MaterialNetworks,
        "UsdPreviewSurface only, or with an additional MaterialX OpenPBR network.",
    ] = MaterialNetworks.PREVIEW
    merge_fixed: Annotated[
        bool,
        "Merge links that fixed joints connect into one body, except at joints with "
        'dont_collapse="true".',
    ] = False
    keep_chains: Annotated[
        bool,
        "Keep the joints that export wrote for one joint of several axes, which are put "
        "together otherwise; `check` compares them one by one, so that `run` always keeps "
        "them.",
    ] = False
    # The last one of a name counts.
    metadata: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            "Metadata for --profile simready: author, asset_license, usd_date_generated and "
            "others that its standard requires; for isaac: asset_license; for both: robot_type "
            "(Manipulator, Humanoid, ...). Repeatable.",
            metavar="NAME=VALUE",
            parse=_parse_metadata,
        ),
    ] = ()
    base: FixedBase = BaseOption.AUTO
    # Its base and profile count by :func:`with_settings` alone.
    simulation: Settings = None
    inertia: Inertia = InertiaOption.KEEP
    mass_density: Density = DEFAULT_DENSITY
    colliders: ColliderRules = NO_COLLIDER_RULES
    packages: Packages = ()
    arguments: Arguments = ()
    environment: Environment = ()
    strict: bool = False  # treat warnings as errors
    root: str | None = None  # link whose subtree is converted; None for the whole robot
    scene: bool = False  # add a physics scene with gravity, for an asset that is simulated alone

    def __post_init__(self) -> None:
        profile, variants = self.profile, self.physics_variants
        if self.bodies is BodyNesting.NESTED and (profile.is_for_physx or variants):
            other = f"profile {profile}" if profile.is_for_physx else "physics variants"
            reason = "PhysX does not simulate nested bodies reliably"
            raise ValueError(f"bodies nested cannot be combined with {other}: {reason}")
        if variants and profile is Profile.USDPHYSICS:
            lacks = f"profile {profile}, which has no schemas of simulators"
            raise ValueError(f"physics variants cannot be combined with {lacks}")
        if profile.needs_layers and self.layout is not Layout.LAYERED:
            prescribes = f"profile {profile}, which prescribes layers"
            raise ValueError(f"layout {self.layout} cannot be combined with {prescribes}")
        for name, text in self.metadata:
            if profile is Profile.ISAAC and name not in ISAAC_METADATA:
                has = f"profile isaac, which has {' and '.join(ISAAC_METADATA)}"
                raise ValueError(f"metadata {name} cannot be combined with {has}")
            if name == "robot_type" and text not in ROBOT_TYPES:
                raise ValueError(f"metadata robot_type={text} is none of {', '.join(ROBOT_TYPES)}")
        if self.metadata and profile not in {Profile.SIMREADY, Profile.ISAAC}:
            raise ValueError("metadata requires profile simready or isaac")
        if not 0.0 < self.mass_density < math.inf:
            raise ValueError(f"the density {self.mass_density:g} is not positive")

    @property
    def nesting(self) -> BodyNesting:
        if self.bodies is not None:
            return self.bodies
        flat = self.physics_variants or self.profile.is_for_physx
        return BodyNesting.FLAT if flat else BodyNesting.NESTED
