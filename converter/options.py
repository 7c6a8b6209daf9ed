"""Options of conversions and of reading USDs that need no OpenUSD to be named."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from urdf_usd.converter.robot.model import BaseOption, MasslessOption

if TYPE_CHECKING:
    # Description files contain options.
    from urdf_usd.converter.simulation.description import Description

MeshProgress: TypeAlias = Callable[[str, int, int], None]
"""Is called with the name of a mesh, its number from one on, and the number of all."""

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
        """Suffix of the root layer or package."""
        suffixes = {Layout.LAYERED: ".usda", Layout.SINGLE: ".usdc"}
        return suffixes.get(self, ".usdz")


class BodyNesting(StrEnum):
    """Whether body prims are nested along the kinematic tree or are siblings."""

    NESTED = "nested"
    FLAT = "flat"


class MaterialNetworks(StrEnum):
    """Shader networks of materials.

    Attributes:
        PREVIEW: UsdPreviewSurface.
        OPENPBR: UsdPreviewSurface, and OpenPBR in the render context of MaterialX.
    """

    PREVIEW = "preview"
    OPENPBR = "openpbr"


class Profile(StrEnum):
    """Schemas that are used in addition to UsdPhysics.

    Attributes:
        GENERIC: Newton's (newton-usd-schemas), which Newton and PhysX read.
        USDPHYSICS: None; UsdPhysics and ``urdf:`` attributes only.
        PHYSX: Those of Omniverse Physics, for Isaac Sim 5 and 6.
        ROS: Newton's, and those of REP 158, in layers of their own.
        SIMREADY: Newton's, and what SimReady Foundation requires of robots.
        ISAAC: Those of Omniverse Physics and, in other variants, Newton's, with the
            robot schema and the layers of Isaac Sim 6.2.
    """

    GENERIC = "generic"
    USDPHYSICS = "usdphysics"
    PHYSX = "physx"
    ROS = "ros"
    SIMREADY = "simready"
    ISAAC = "isaac"

    @property
    def needs_layers(self) -> bool:
        """Whether the profile prescribes the files of an asset."""
        return self in {Profile.ROS, Profile.SIMREADY, Profile.ISAAC}

    @property
    def is_for_physx(self) -> bool:
        """Whether PhysX is the simulator of the profile."""
        return self in {Profile.PHYSX, Profile.ISAAC}


class VariantChoice(Struct, frozen=True):
    """A variant to select in a USD that is read, by names."""

    variant_set: str
    variant: str
    # None for the default prim or, if that has no such set, the only prim that has one.
    prim: str | None = None

    @classmethod
    def parse(cls, text: str) -> VariantChoice:
        """Read ``[PRIM:]SET=NAME``, where PRIM is an absolute path.

        Raises:
            ValueError: The text has another form.
        """
        place, equals, variant = text.partition("=")
        prim, _, variant_set = place.rpartition(":")
        if not (equals and variant_set and variant) or (prim and not prim.startswith("/")):
            raise ValueError(f"{text!r} is not [PRIM:]SET=NAME")
        return cls(variant_set, variant, prim or None)

    def __str__(self) -> str:
        """Return the form that :meth:`parse` reads."""
        prim = "" if self.prim is None else f"{self.prim}:"
        return f"{prim}{self.variant_set}={self.variant}"


class InertiaOption(StrEnum):
    """Treatment of missing and of impossible mass properties.

    Attributes:
        KEEP: They stay as in the URDF; what a body needs is added in a negligible
            amount.
        GEOMETRY: They are those of the shapes of the link, as homogeneous solids.
    """

    KEEP = "keep"
    GEOMETRY = "geometry"


DEFAULT_DENSITY = 1000.0
"""Density of links without mass, that of water [kg/m^3]."""


class ColliderKind(StrEnum):
    """Colliders that replace those of a link.

    Attributes:
        HULL: The convex hull of each mesh, also of one with several groups.
        DECOMPOSITION: Convex pieces of each mesh, by CoACD.
        PRIMITIVES: A box, sphere, cylinder or capsule for each mesh whose convex hull
            it fits, else that hull.
        MESH: The triangles of each mesh.
        NONE: No colliders.
    """

    HULL = "hull"
    DECOMPOSITION = "decomposition"
    PRIMITIVES = "primitives"
    MESH = "mesh"
    NONE = "none"


class ColliderRule(Struct, frozen=True):
    """Colliders of the links whose names match a pattern with ``*``, ``?`` and ``[...]``."""

    kind: ColliderKind
    links: str | None = None  # None for all links that match no pattern.

    @classmethod
    def parse(cls, text: str) -> ColliderRule:
        """Read ``KIND`` or ``LINK_PATTERN=KIND``.

        Raises:
            ValueError: The kind does not exist, or the pattern is empty.
        """
        pattern, equals, kind = text.rpartition("=")
        if equals and not pattern:
            raise ValueError(f"{text!r} is not KIND or LINK_PATTERN=KIND")
        if kind not in set(ColliderKind):
            known = ", ".join(ColliderKind)
            raise ValueError(f"{kind!r} is not a kind of collider: {known}")
        return cls(ColliderKind(kind), pattern if equals else None)

    def __str__(self) -> str:
        """Return the form that :meth:`parse` reads."""
        return self.kind.value if self.links is None else f"{self.links}={self.kind}"


class ColliderTolerance(Struct, frozen=True):
    """Largest distance between a fitted primitive and the convex hull of a mesh."""

    length: float | None = None  # [m]
    # Of the diagonal of the bounding box along the axes of the link, without length.
    fraction: float = 0.05

    @classmethod
    def parse(cls, text: str) -> ColliderTolerance:
        """Read metres (``0.002``), or a percentage of the size (``5%``).

        Raises:
            ValueError: The text is no positive number.
        """
        digits = text.removesuffix("%")
        value = float(digits)
        if not 0.0 < value < math.inf:
            raise ValueError(f"{text!r} is not positive")
        return cls(value) if digits == text else cls(None, value / 100.0)

    def __str__(self) -> str:
        """Return the form that :meth:`parse` reads."""
        return f"{100.0 * self.fraction:g}%" if self.length is None else f"{self.length:g}"

    def metres(self, size: float) -> float:
        """Return the distance for a mesh of a size [m]."""
        return self.fraction * size if self.length is None else self.length


DEFAULT_TOLERANCE = ColliderTolerance()


class ColliderRules(Struct, frozen=True):
    """Which colliders replace those of a robot.

    Of the rules with a matching pattern the last one counts, else the last one without
    pattern.
    """

    rules: tuple[ColliderRule, ...] = ()
    tolerance: ColliderTolerance = DEFAULT_TOLERANCE  # Of fitted primitives.

    def kind_of(self, link: str) -> ColliderKind | None:
        """Return the colliders of a link; None for those of the URDF."""
        last_first = [*reversed(self.rules)]
        named = (rule for rule in last_first if rule.links and fnmatchcase(link, rule.links))
        plain = (rule for rule in last_first if rule.links is None)
        return next((rule.kind for rules in (named, plain) for rule in rules), None)

    def __bool__(self) -> bool:
        return bool(self.rules)


NO_COLLIDER_RULES = ColliderRules()


class ConvertOptions(Struct, frozen=True):
    """Options of a conversion.

    Attributes:
        layout: Files that the asset consists of.
        bodies: Whether body prims are nested along the tree or siblings; None for the
            default: siblings for PhysX and with variants of the physics, otherwise
            nested.
        base: Whether the base is fixed.
        massless: Treatment of moving groups of links without mass.
        inertia: Treatment of missing and of impossible mass properties.
        mass_density: Of links without mass, if these properties are those of shapes
            [kg/m^3].
        colliders: Which colliders replace those of the URDF.
        materials: Shader networks of materials.
        merge_fixed: Merge links that are connected by fixed joints into one body,
            except across joints with ``dont_collapse``.
        keep_chains: Keep the joints that an export wrote for one joint of several axes.
            Otherwise they become that joint again.
        packages: Names and folders of ROS packages.
        arguments: Names and values of xacro arguments.
        environment: Names of environment variables that xacro may read, besides those
            of ROS.
        strict: Treat warnings as errors.
        root: Link whose subtree is converted; None for the whole robot.
        profile: Simulator whose schemas are used in addition to UsdPhysics.
        physics_variants: Write variants of the physics: UsdPhysics with the schemas of
            Newton, with those of PhysX, with those of MuJoCo, and alone.
        scene: Add a physics scene with gravity, for an asset that is simulated alone.
        metadata: Names and values of metadata of SimReady or Isaac Sim; the last of a
            name counts.
        simulation: Robot description file, which adds drives and other settings of a
            simulation. Its base and profile count by :func:`with_description` alone.

    Raises:
        ValueError: Nested bodies for PhysX, which does not simulate them reliably; or
            a layout without layers for a profile that prescribes them; or metadata for
            a profile that has none; or variants of simulators for a profile without
            their schemas; or a density that is not positive.
    """

    layout: Layout = Layout.LAYERED
    bodies: BodyNesting | None = None
    base: BaseOption = BaseOption.AUTO
    massless: MasslessOption = MasslessOption.REGULARISE
    inertia: InertiaOption = InertiaOption.KEEP
    mass_density: float = DEFAULT_DENSITY
    colliders: ColliderRules = NO_COLLIDER_RULES
    materials: MaterialNetworks = MaterialNetworks.PREVIEW
    merge_fixed: bool = False
    keep_chains: bool = False
    packages: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    environment: tuple[str, ...] = ()
    strict: bool = False
    root: str | None = None
    profile: Profile = Profile.GENERIC
    physics_variants: bool = False
    scene: bool = False
    metadata: tuple[tuple[str, str], ...] = ()
    simulation: Description | None = None

    def __post_init__(self) -> None:
        """Refuse contradictory options."""
        if self._for_physx and self.bodies is BodyNesting.NESTED:
            raise ValueError("PhysX does not simulate nested bodies reliably; they must be flat")
        if self.profile.needs_layers and self.layout is not Layout.LAYERED:
            raise ValueError(f"the profile {self.profile} prescribes layers")
        if self.metadata and self.profile not in {Profile.SIMREADY, Profile.ISAAC}:
            raise ValueError(f"the profile {self.profile} has no metadata")
        if self.physics_variants and self.profile is Profile.USDPHYSICS:
            raise ValueError(f"the profile {self.profile} has no schemas of simulators")
        if not 0.0 < self.mass_density < math.inf:
            raise ValueError(f"the density {self.mass_density:g} is not positive")

    @property
    def nesting(self) -> BodyNesting:
        """Nesting of body prims, given or by profile."""
        if self.bodies is not None:
            return self.bodies
        return BodyNesting.FLAT if self._for_physx else BodyNesting.NESTED

    @property
    def _for_physx(self) -> bool:
        return self.physics_variants or self.profile.is_for_physx
