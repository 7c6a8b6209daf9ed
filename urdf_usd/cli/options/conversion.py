"""Options of a conversion, which commands receive as one value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from msgspec import Struct

from urdf_usd.cli.options.parameters import (
    ISAAC_METADATA,
    ROBOT_TYPES,
    Arguments,
    Metadata,
    Packages,
    argument_option,
    base_option,
    collider_tolerance_option,
    colliders_option,
    density_option,
    description_option,
    env_option,
    inertia_option,
    metadata_option,
    options_as,
    package_option,
)

if TYPE_CHECKING:
    from urdf_usd.converter import ConvertOptions
    from urdf_usd.converter.options import ColliderRule, ColliderTolerance


# Values of enumerations of the converter, whose modules import OpenUSD; too slow for a
# help text. A test compares them.
PROFILES = ("generic", "usdphysics", "physx", "ros", "simready", "isaac")
# Profiles that prescribe layers.
_LAYERED = ("ros", "simready", "isaac")
LAYOUTS = ("layered", "single", "usdz")
NESTINGS = ("nested", "flat")
MASSLESS = ("regularise", "error")
MATERIALS = ("preview", "openpbr")


class ConversionChoices(Struct, frozen=True):
    """Options of a conversion as given on the command line.

    Raises:
        UsageError: The options contradict each other.
    """

    profile: str
    physics_variants: bool
    layout: str
    bodies: str | None
    base: str
    massless: str
    inertia: str
    mass_density: float
    colliders: tuple[ColliderRule, ...]
    collider_tolerance: ColliderTolerance
    materials: str
    merge_fixed: bool
    keep_chains: bool
    packages: Packages
    arguments: Arguments
    environment: tuple[str, ...]
    metadata: Metadata
    description: Path | None

    def __post_init__(self) -> None:
        """Refuse nested bodies for PhysX, and other layouts where layers matter."""
        if self.profile in {"physx", "isaac"} and self.bodies == "nested":
            raise click.UsageError(
                f"--bodies nested cannot be combined with --profile {self.profile}: "
                "PhysX does not simulate nested bodies reliably"
            )
        if self.physics_variants and self.bodies == "nested":
            raise click.UsageError(
                "--bodies nested cannot be combined with --physics-variants, one of "
                "which is for PhysX, which does not simulate nested bodies reliably"
            )
        if self.physics_variants and self.profile == "usdphysics":
            raise click.UsageError(
                "--physics-variants cannot be combined with --profile usdphysics, "
                "which has no schemas of simulators"
            )
        if self.profile in _LAYERED and self.layout != "layered":
            raise click.UsageError(
                f"--layout {self.layout} cannot be combined with --profile "
                f"{self.profile}, which prescribes layers"
            )
        self._check_metadata()

    def _check_metadata(self) -> None:
        """Refuse metadata that the profile does not have."""
        for name, text in self.metadata:
            if self.profile == "isaac" and name not in ISAAC_METADATA:
                raise click.UsageError(
                    f"--metadata {name} cannot be combined with --profile isaac, which "
                    f"has {' and '.join(ISAAC_METADATA)}"
                )
            if name == "robot_type" and text not in ROBOT_TYPES:
                raise click.UsageError(
                    f"--metadata robot_type={text} is none of {', '.join(ROBOT_TYPES)}"
                )
        if self.metadata and self.profile not in {"simready", "isaac"}:
            raise click.UsageError("--metadata requires --profile simready or isaac")

    def options(self) -> ConvertOptions:
        """Return the options of the converter, which is imported here."""
        from urdf_usd.converter.options import (
            BodyNesting,
            ColliderRules,
            ConvertOptions,
            InertiaOption,
            Layout,
            MaterialNetworks,
            Profile,
        )
        from urdf_usd.converter.robot.body_options import BaseOption, MasslessOption

        options = ConvertOptions(
            profile=Profile(self.profile),
            physics_variants=self.physics_variants,
            layout=Layout(self.layout),
            bodies=None if self.bodies is None else BodyNesting(self.bodies),
            base=BaseOption(self.base),
            massless=MasslessOption(self.massless),
            inertia=InertiaOption(self.inertia),
            mass_density=self.mass_density,
            colliders=ColliderRules(self.colliders, self.collider_tolerance),
            materials=MaterialNetworks(self.materials),
            merge_fixed=self.merge_fixed,
            keep_chains=self.keep_chains,
            packages=tuple((name, str(path)) for name, path in self.packages),
            arguments=self.arguments,
            environment=self.environment,
            metadata=self.metadata,
        )
        if self.description is None:
            return options
        from urdf_usd.converter.conversion import with_description
        from urdf_usd.converter.simulation.description import (
            load_description,
        )

        found = load_description(self.description)
        context = click.get_current_context()
        given = context.get_parameter_source("profile")
        stated = found.tables.profile
        if given is ParameterSource.COMMANDLINE and stated not in {None, self.profile}:
            raise click.UsageError(
                f"--profile {self.profile} contradicts {self.description}, whose "
                f"profile is {stated!r}"
            )
        return with_description(options, found)


conversion_options = options_as(
    ConversionChoices,
    "choices",
    (
        click.option(
            "--profile",
            type=click.Choice(PROFILES),
            default="generic",
            show_default=True,
            help="Schemas besides UsdPhysics and urdf: attributes. generic: those that "
            "Newton and PhysX read; usdphysics: none; physx: those of Omniverse "
            "Physics, for Isaac Sim 5 and 6; ros: those of REP 158 and Newton, in "
            "separate layers; simready: Newton's, with normals, metadata and a "
            "thumbnail, for SimReady's Robot-Body; isaac: those of Omniverse Physics, "
            "with the robot schema and the layers of Isaac Sim 6.2.",
        ),
        click.option(
            "--physics-variants",
            is_flag=True,
            help="Write variants of the physics in one asset: newton (the default), "
            "physx, mujoco, physics (UsdPhysics alone) and none. With --profile "
            "simready, variant sets Newton, PhysX and MuJoCo that are disabled by "
            "default; with isaac none for MuJoCo.",
        ),
        click.option(
            "--layout",
            type=click.Choice(LAYOUTS),
            default="layered",
            show_default=True,
            help="An interface layer with a folder of payload layers, one binary "
            "layer, or one USDZ package.",
        ),
        click.option(
            "--bodies",
            type=click.Choice(NESTINGS),
            help="Nest rigid bodies along the kinematic tree, or write them as "
            "siblings.  [default: flat for physx, isaac and --physics-variants, else "
            "nested]",
        ),
        base_option,
        click.option(
            "--massless",
            type=click.Choice(MASSLESS),
            default="regularise",
            show_default=True,
            help="Give moving links without mass a negligible mass, or refuse the robot.",
        ),
        inertia_option,
        density_option,
        colliders_option,
        collider_tolerance_option,
        click.option(
            "--materials",
            type=click.Choice(MATERIALS),
            default="preview",
            show_default=True,
            help="UsdPreviewSurface only, or with an additional MaterialX OpenPBR network.",
        ),
        click.option(
            "--merge-fixed",
            is_flag=True,
            help="Merge links that fixed joints connect into one body, except at "
            'joints with dont_collapse="true".',
        ),
        click.option(
            "--keep-chains",
            is_flag=True,
            help="Keep the joints that export wrote for one joint of several axes, "
            "which are put together otherwise; `check` compares them one by one, so "
            "that `run` always keeps them.",
        ),
        package_option,
        argument_option,
        env_option,
        metadata_option,
        description_option,
    ),
)
