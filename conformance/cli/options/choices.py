"""Options of a conversion, which reach a command as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from urdf_usd.conformance.cli.options.parameters import (
    argument_option,
    base_option,
    package_option,
)

if TYPE_CHECKING:
    from urdf_usd.conformance.cli.options.parameters import Arguments, Packages
    from urdf_usd.converter import ConvertOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])

# Values of the converter's enumerations: those load OpenUSD, which no help text needs.
PROFILES = ("generic", "newton", "physx")
LAYOUTS = ("layered", "single", "usdz")
NESTINGS = ("nested", "flat")
MASSLESS = ("regularise", "error")
MATERIALS = ("preview", "openpbr")


@dataclass(frozen=True, slots=True)
class ConversionChoices:
    """What was chosen about a conversion, by the words of the command line."""

    profile: str
    layout: str
    bodies: str | None
    base: str
    massless: str
    materials: str
    merge_fixed: bool
    packages: Packages
    arguments: Arguments

    def options(self) -> ConvertOptions:
        """Return the options of the converter, which is loaded for that."""
        from urdf_usd.converter.conversion import ConvertOptions
        from urdf_usd.converter.options import (
            BodyNesting,
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
            materials=MaterialNetworks(self.materials),
            merge_fixed=self.merge_fixed,
            packages=tuple((name, str(path)) for name, path in self.packages),
            arguments=self.arguments,
        )


def conversion_options(command: _Command) -> _Command:
    """Add all options of a conversion; the command receives them as ``choices``."""

    @wraps(command)
    def gathered(  # noqa: PLR0913  # one parameter per option
        *,
        profile: str,
        layout: str,
        bodies: str | None,
        base: str,
        massless: str,
        materials: str,
        merge_fixed: bool,
        packages: Packages,
        arguments: Arguments,
        **others: Any,  # noqa: ANN401  # of the command
    ) -> object:
        _require_simulated(profile, bodies)
        choices = ConversionChoices(
            profile=profile,
            layout=layout,
            bodies=bodies,
            base=base,
            massless=massless,
            materials=materials,
            merge_fixed=merge_fixed,
            packages=packages,
            arguments=arguments,
        )
        return command(choices=choices, **others)

    added: Any = gathered
    for option in reversed(_OPTIONS):
        added = option(added)
    return cast("_Command", added)


def _require_simulated(profile: str, bodies: str | None) -> None:
    if profile == "physx" and bodies == "nested":
        raise click.UsageError(
            "--bodies nested is not for --profile physx: PhysX does not simulate "
            "nested bodies reliably"
        )


def _profile_option(command: _Command) -> _Command:
    return click.option(
        "--profile",
        type=click.Choice(PROFILES),
        default="generic",
        show_default=True,
        help="Who reads the asset: anybody, by UsdPhysics and urdf: attributes alone; "
        "or Newton or PhysX, by their own schemas as well.",
    )(command)


def _layout_option(command: _Command) -> _Command:
    return click.option(
        "--layout",
        type=click.Choice(LAYOUTS),
        default="layered",
        show_default=True,
        help="Write an interface and a folder of layers, one binary layer, or one "
        "USDZ package.",
    )(command)


def _bodies_option(command: _Command) -> _Command:
    return click.option(
        "--bodies",
        type=click.Choice(NESTINGS),
        help="Nest rigid bodies along the kinematic tree, or lay them side by side.  "
        "[default: flat for physx, else nested]",
    )(command)


def _massless_option(command: _Command) -> _Command:
    return click.option(
        "--massless",
        type=click.Choice(MASSLESS),
        default="regularise",
        show_default=True,
        help="Give moving links without mass the smallest harmless one, or refuse.",
    )(command)


def _materials_option(command: _Command) -> _Command:
    return click.option(
        "--materials",
        type=click.Choice(MATERIALS),
        default="preview",
        show_default=True,
        help="Write UsdPreviewSurface alone, or MaterialX OpenPBR beside it.",
    )(command)


def _merge_option(command: _Command) -> _Command:
    return click.option(
        "--merge-fixed",
        is_flag=True,
        help="Make one body of links welded by fixed joints, except across joints that "
        'say dont_collapse="true".',
    )(command)


# In the order of the help text.
_OPTIONS = (
    _profile_option,
    _layout_option,
    _bodies_option,
    base_option,
    _massless_option,
    _materials_option,
    _merge_option,
    package_option,
    argument_option,
)
