"""Options that several commands share, and the robots that they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import click

from urdf_usd.cli.failures import CommandError
from urdf_usd.cli.parameters import PACKAGE, option, refuse
from urdf_usd.cli.terminal import say
from urdf_usd.conformance.engines.registry import require
from urdf_usd.conformance.execution.worker import DEFAULT_MEMORY, DEFAULT_TIMEOUT, Limits
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.options import (
    DEFAULT_DENSITY,
    DEFAULT_TOLERANCE,
    ISAAC_METADATA,
    METADATA,
    ROBOT_TYPES,
    BodyNesting,
    ColliderRule,
    ColliderTolerance,
    InertiaOption,
    Layout,
    MaterialNetworks,
    Profile,
    VariantChoice,
)
from urdf_usd.converter.robot.model import BaseOption, MasslessOption
from urdf_usd.converter.urdf.xacro import SUFFIX, is_xacro
from urdf_usd.corpus import RobotSource, Selection, resolve_robot

Texts: TypeAlias = tuple[tuple[str, str], ...]

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING = click.Path(path_type=Path, exists=True)
EXISTING_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
USD_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})


def _read_package(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ValueError(f"{text!r} is not NAME=PATH")
    if not Path(path).is_dir():
        raise ValueError(f"{path!r} is not a folder")
    return name, Path(path)


def _read_argument(text: str) -> tuple[str, str]:
    name, sign, value = text.partition(":=")
    if not (name and sign):
        raise ValueError(f"{text!r} is not NAME:=VALUE")
    return name, value


def _read_metadata(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    names = dict.fromkeys((*METADATA, *ISAAC_METADATA))
    if not equals or name not in names:
        raise ValueError(f"{text!r} is not NAME=VALUE with one of the names {', '.join(names)}")
    return name, value


@dataclass(frozen=True, kw_only=True)
class Sources:
    """How URDF and xacro files are read."""

    packages: tuple[tuple[str, Path], ...] = option(
        (),
        "Folder of the ROS package NAME, for package:// URIs. Repeatable.",
        "--package",
        PACKAGE,
        parse=_read_package,
    )
    arguments: Texts = option(
        (),
        "Value of the xacro argument NAME. Repeatable.",
        "--arg",
        "NAME:=VALUE",
        parse=_read_argument,
    )
    environment: tuple[str, ...] = option(
        (),
        "Environment variable that xacro may read by $(env NAME), besides those of ROS. "
        "Repeatable.",
        "--env",
        "NAME",
    )

    def packages_of(self, robot: RobotSource) -> Texts:
        """Return names and folders of packages; the last one of a name counts, the user's."""
        return tuple((name, str(path)) for name, path in (*robot.packages, *self.packages))

    def arguments_of(self, robot: RobotSource) -> Texts:
        """Return the robot's xacro arguments, overridden by those of the user.

        Raises:
            CommandError: Arguments are given, but the robot is not a xacro file.
        """
        if self.arguments and not is_xacro(str(robot.path)):
            raise CommandError(
                f"--arg requires a {SUFFIX} file, but the source is {robot.path.name}"
            )
        return tuple({**dict(robot.arguments), **dict(self.arguments)}.items())


@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """What a USD has to have of a robot."""

    base: BaseOption = option(
        BaseOption.AUTO, "Fixed or floating base; auto: fixed if the root is an empty link 'world'."
    )
    description: Path | None = option(
        None,
        "Robot description file (TOML) with drives, initial pose, collision filters, base "
        "and profile; see `urdf-usd doctor --schema description`.",
        "--with",
        "FILE",
        FILE,
    )
    inertia: InertiaOption = option(
        InertiaOption.KEEP,
        "Missing and impossible mass properties. keep: those of the URDF, and a negligible "
        "mass where a body needs one; geometry: those of the shapes of the link, which are "
        "marked as estimated.",
    )
    mass_density: float = option(
        DEFAULT_DENSITY,
        "Density of links without mass, for --inertia geometry.",
        metavar="KG_PER_M3",
        kind=click.FloatRange(min=0.0, min_open=True, max=1e6),
    )
    colliders: tuple[ColliderRule, ...] = option(
        (),
        "Replace colliders by their convex hull (hull), convex pieces by CoACD "
        "(decomposition), fitted boxes, spheres, cylinders and capsules (primitives), "
        "their triangles (mesh) or nothing (none); of all links, or of those that match a "
        "pattern such as 'left_*=none'. Repeatable.  "
        "[default: a convex hull of each mesh, or of each group of an OBJ file]",
        metavar="[LINK_PATTERN=]KIND",
        parse=ColliderRule.parse,
    )
    collider_tolerance: ColliderTolerance = option(
        DEFAULT_TOLERANCE,
        "Largest distance of a fitted primitive from the convex hull: metres, or a "
        "percentage of the size of the mesh.",
        metavar="METRES|PERCENT",
        parse=ColliderTolerance.parse,
    )
    sources: Sources = Sources()


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """How a robot is converted."""

    profile: Profile = option(
        Profile.GENERIC,
        "Schemas besides UsdPhysics and urdf: attributes. generic: those that Newton and "
        "PhysX read; usdphysics: none; physx: those of Omniverse Physics, for Isaac Sim 5 "
        "and 6; ros: those of REP 158 and Newton, in separate layers; simready: Newton's, "
        "with normals, metadata and a thumbnail, for SimReady's Robot-Body; isaac: those "
        "of Omniverse Physics, with the robot schema and the layers of Isaac Sim 6.2.",
    )
    physics_variants: bool = option(
        False,
        "Write variants of the physics in one asset: newton (the default), physx, mujoco, "
        "physics (UsdPhysics alone) and none. With --profile simready, variant sets "
        "Newton, PhysX and MuJoCo that are disabled by default; with isaac none for MuJoCo.",
    )
    layout: Layout = option(
        Layout.LAYERED,
        "An interface layer with a folder of payload layers, one binary layer, or one USDZ "
        "package.",
    )
    bodies: BodyNesting | None = option(
        None,
        "Nest rigid bodies along the kinematic tree, or write them as siblings.  [default: "
        "flat for physx, isaac and --physics-variants, else nested]",
    )
    massless: MasslessOption = option(
        MasslessOption.REGULARISE,
        "Give moving links without mass a negligible mass, or refuse the robot.",
    )
    materials: MaterialNetworks = option(
        MaterialNetworks.PREVIEW,
        "UsdPreviewSurface only, or with an additional MaterialX OpenPBR network.",
    )
    merge_fixed: bool = option(
        False,
        "Merge links that fixed joints connect into one body, except at joints with "
        'dont_collapse="true".',
    )
    keep_chains: bool = option(
        False,
        "Keep the joints that export wrote for one joint of several axes, which are put "
        "together otherwise; `check` compares them one by one, so that `run` always keeps "
        "them.",
    )
    metadata: Texts = option(
        (),
        "Metadata for --profile simready: author, asset_license, usd_date_generated and "
        "others that its standard requires; for isaac: asset_license; for both: robot_type "
        "(Manipulator, Humanoid, ...). Repeatable.",
        metavar="NAME=VALUE",
        parse=_read_metadata,
    )
    robot: RobotOptions = RobotOptions()

    def __post_init__(self) -> None:
        profile, nested = self.profile, self.bodies is BodyNesting.NESTED
        isaac = profile is Profile.ISAAC
        refuse(
            (
                nested and profile.is_for_physx,
                f"--bodies nested cannot be combined with --profile {profile}: PhysX does not "
                "simulate nested bodies reliably",
            ),
            (
                nested and self.physics_variants,
                "--bodies nested cannot be combined with --physics-variants, one of which is for "
                "PhysX, which does not simulate nested bodies reliably",
            ),
            (
                self.physics_variants and profile is Profile.USDPHYSICS,
                "--physics-variants cannot be combined with --profile usdphysics, which has no "
                "schemas of simulators",
            ),
            (
                profile.needs_layers and self.layout is not Layout.LAYERED,
                f"--layout {self.layout} cannot be combined with --profile {profile}, which "
                "prescribes layers",
            ),
            *(
                (
                    isaac and name not in ISAAC_METADATA,
                    f"--metadata {name} cannot be combined with --profile isaac, which has "
                    f"{' and '.join(ISAAC_METADATA)}",
                )
                for name, _ in self.metadata
            ),
            *(
                (
                    name == "robot_type" and text not in ROBOT_TYPES,
                    f"--metadata robot_type={text} is none of {', '.join(ROBOT_TYPES)}",
                )
                for name, text in self.metadata
            ),
            (
                self.metadata and profile not in {Profile.SIMREADY, Profile.ISAAC},
                "--metadata requires --profile simready or isaac",
            ),
        )


@dataclass(frozen=True, kw_only=True)
class WorkerLimits:
    """Limits of the processes that work on a robot."""

    timeout: float = option(
        DEFAULT_TIMEOUT,
        "Time limit for each step on a robot: reading, converting, one engine.",
        metavar="SECONDS",
        kind=click.FloatRange(min=0, min_open=True),
    )
    memory: int = option(
        DEFAULT_MEMORY,
        "Memory limit of a process that works on a robot, and of each file that it writes; "
        "0: unlimited. Linux only.",
        metavar="MIB",
        kind=click.IntRange(min=0),
    )

    @property
    def limits(self) -> Limits:
        return Limits(self.timeout, self.memory or None)


@dataclass(frozen=True, kw_only=True)
class Engines:
    """Engines to use."""

    names: tuple[str, ...] = option(
        (),
        "Use only this engine; 'urdf-usd doctor' lists them. Repeatable.  "
        "[default: all that are installed]",
        "--engine",
        "NAME",
    )

    def __post_init__(self) -> None:
        for name in self.names:
            require(name)


def jobs_option(text: str) -> Any:  # noqa: ANN401  # as dataclasses.field
    return option(None, f"{text}  [default: one per CPU]", kind=click.IntRange(min=1))


def variants_option(scope: str) -> Any:  # noqa: ANN401  # as dataclasses.field
    return option(
        (),
        f"Select variant NAME of variant set SET {scope} Repeatable.",
        "--variant",
        "[PRIM:]SET=NAME",
        parse=VariantChoice.parse,
    )


def mirror_option() -> Any:  # noqa: ANN401  # as dataclasses.field
    return option(
        None,
        "Folder with clones of the repositories of robot_descriptions; nothing is downloaded "
        "then.  [default: environment variable URDF_USD_MIRROR]",
        kind=EXISTING_FOLDER,
    )


@dataclass(frozen=True, kw_only=True)
class UsdOptions:
    """How a USD is read."""

    variants: tuple[VariantChoice, ...] = variants_option(
        "of the prim with path PRIM: by default the default prim or, if it has no such "
        "set, the only prim that has one."
    )
    strict: bool = option(
        False,
        "Refuse a USD that refers to files outside the folder of its root layer: by an "
        "absolute path, '..', a symbolic link or a URI. Otherwise these are warnings.",
    )

    def __post_init__(self) -> None:
        require_distinct(self.variants)


def require_distinct(variants: tuple[VariantChoice, ...]) -> None:
    """Refuse a variant set that is named twice."""
    named = [(choice.prim, choice.variant_set) for choice in variants]
    for prim, variant_set in named:
        if named.count((prim, variant_set)) > 1:
            raise click.UsageError(f"variant set {variant_set!r} is named twice")


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """Which robots of corpora are taken."""

    tags: tuple[str, ...] = option(
        (),
        "Only robots with this tag, such as arm or quadruped. Repeatable; one match is enough.",
        "--tag",
        "TEXT",
    )
    makers: tuple[str, ...] = option(
        (),
        "Only robots whose maker's name contains this text. Repeatable; one match is enough.",
        "--maker",
        "TEXT",
    )
    licenses: tuple[str, ...] = option(
        (),
        "Only robots under this licence, by SPDX identifier. Repeatable; one match is enough.",
        "--license",
        "TEXT",
    )
    forbidden: tuple[str, ...] = option(
        (),
        "Refuse the command if a selected robot is under this licence, by SPDX identifier, or "
        "'copyleft' for GPL, LGPL, AGPL, MPL and the like; robots whose licence is unknown are "
        "counted. Nothing is downloaded then. Repeatable.",
        "--forbid-license",
        "TEXT",
    )
    mirror: Path | None = mirror_option()

    @property
    def selection(self) -> Selection:
        return Selection(self.tags, self.makers, self.licenses, self.forbidden)


def existing_robot(text: str, *, mirror: Path | None = None) -> RobotSource:
    """Resolve a reference to one robot, whose file exists.

    Args:
        text: The reference.
        mirror: Folder with the repositories of robot_descriptions.

    Raises:
        CorpusError: The text is not a reference, or its robot is not available.
        SourceError: The file does not exist.
    """
    robot = resolve_robot(text, say, mirror=mirror)
    try:
        robot.path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: the path contains a null character
        file = str(robot.path)
        missing = Diagnostic("file-missing", f"{file} does not exist", Location(file, 1, 1))
        raise SourceError((missing,)) from None
    except OSError:
        # The code that opens the file reports this error with its context.
        pass
    return robot
