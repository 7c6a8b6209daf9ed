"""Options of a conversion, which commands receive as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from urdf_usd.conformance.cli.options.parameters import (
    Arguments,
    Metadata,
    Packages,
    argument_option,
    base_option,
    collider_tolerance_option,
    colliders_option,
    density_option,
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
PROFILES = ("generic", "usdphysics", "physx", "ros", "simready")
# Profiles that prescribe layers.
_LAYERED = ("ros", "simready")
LAYOUTS = ("layered", "single", "usdz")
NESTINGS = ("nested", "flat")
MASSLESS = ("regularise", "error")
MATERIALS = ("preview", "openpbr")


@dataclass(frozen=True, slots=True)
class ConversionChoices:
    """Options of a conversion as given on the command line.

    Raises:
        UsageError: The options contradict each other.
    """

    profile: str
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

    def __post_init__(self) -> None:
        """Refuse nested bodies for PhysX, and other layouts where layers matter."""
        if self.profile == "physx" and self.bodies == "nested":
            raise click.UsageError(
                "--bodies nested cannot be combined with --profile physx: PhysX does "
                "not simulate nested bodies reliably"
            )
        if self.profile in _LAYERED and self.layout != "layered":
            raise click.UsageError(
                f"--layout {self.layout} cannot be combined with --profile "
                f"{self.profile}, which prescribes layers"
            )
        if self.metadata and self.profile != "simready":
            raise click.UsageError("--metadata requires --profile simready")

    def options(self) -> ConvertOptions:
        """Return the options of the converter, which is imported here."""
        from urdf_usd.converter.conversion import ConvertOptions
        from urdf_usd.converter.options import (
            BodyNesting,
            ColliderRules,
            InertiaOption,
            Layout,
            MaterialNetworks,
            Profile,
        )
        from urdf_usd.converter.robot.bodies import BaseOption, MasslessOption

        return ConvertOptions(
            profile=Profile(self.profile),
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
            "thumbnail, for SimReady's Robot-Body.",
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
            "siblings.  [default: flat for physx, else nested]",
        ),
        base_option,
        click.option(
            "--massless",
            type=click.Choice(MASSLESS),
            default="regularise",
            show_default=True,
            help="Give moving links without mass a negligible mass, or refuse the "
            "robot.",
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
            help="UsdPreviewSurface only, or with an additional MaterialX OpenPBR "
            "network.",
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
    ),
)
