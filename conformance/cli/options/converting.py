"""Options that say which converters a run compares, and by which one it passes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.converters.candidates import Candidate

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Converters:
    """What makes the USDs of a run.

    Attributes:
        candidates: Every robot goes through each.
        gated: Name of the one by which the run passes.
    """

    candidates: tuple[Candidate, ...]
    gated: str

    @property
    def only_ours(self) -> bool:
        """Whether nothing that is not part of this project takes part."""
        from urdf_usd.conformance.converters.candidates import OWN

        return self.candidates == (OWN,)


def converter_options(command: _Command) -> Callable[..., Any]:
    """Add the options, and hand them to the command as ``converters``."""

    @functools.wraps(command)
    def gathered(
        *,
        converter_texts: tuple[str, ...],
        converter_versions: tuple[str, ...],
        gated: str | None,
        **others: object,
    ) -> object:
        from urdf_usd.conformance.converters.candidates import (
            CandidateError,
            parse_candidates,
        )

        try:
            candidates = parse_candidates(
                converter_texts, dict(map(_version, converter_versions))
            )
        except CandidateError as error:
            raise click.BadParameter(str(error), param_hint="--converter") from error
        converters = Converters(candidates, _gated(candidates, gated))
        return command(converters=converters, **others)

    decorated: Callable[..., Any] = gathered
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _version(text: str) -> tuple[str, str]:
    name, equals, version = text.partition("=")
    if not (name and equals and version):
        raise click.BadParameter(
            f"{text!r} is not NAME=VERSION", param_hint="--converter-version"
        )
    return name, version


def _gated(candidates: Sequence[Candidate], wanted: str | None) -> str:
    from urdf_usd.conformance.converters.candidates import OURS

    names = [candidate.name for candidate in candidates]
    if wanted is None:
        return OURS if OURS in names else names[0]
    if wanted not in names:
        raise click.BadParameter(
            f"no converter of this run is called {wanted!r}; there are "
            f"{', '.join(names)}",
            param_hint="--gate",
        )
    return wanted


_OPTIONS = (
    click.option(
        "--converter",
        "converter_texts",
        multiple=True,
        metavar="NAME[=HOW]",
        help="What makes the USDs; several are compared. Repeatable. HOW is a command "
        "with {urdf} and {out}, such as 'other=urdf2usd {urdf} {out} [--package "
        "{name}={path}]', or folder:PATH of USDs made elsewhere; without it NAME is "
        "that of an installed one.  [default: urdf-usd]",
    ),
    click.option(
        "--converter-version",
        "converter_versions",
        multiple=True,
        metavar="NAME=VERSION",
        help="What and which version a command is, where that cannot be found out.",
    ),
    click.option(
        "--gate",
        "gated",
        metavar="NAME",
        help="Converter by which the run passes.  [default: urdf-usd, else the first]",
    ),
)
