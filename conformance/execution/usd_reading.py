"""USDs of other converters, read in a worker process.

A USD is composed once before engines read it. Variants and the robot's prim are selected
by a layer over the USD in a temporary folder, which every engine and the round trip read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from urdf_usd.conformance.engines.process import captured
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.worker import DEFAULT_LIMITS, OUT_OF_MEMORY, Limits, Workers
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, StageError, escaped
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd.loading import named_prim, open_stage, selecting_layer

_Result = TypeVar("_Result")

# Wrong options, not properties of the USD.
MISTAKES = frozenset({"stage-structure", "variant-combinations", "variant-unknown"})
# Of other USDs that cannot be opened, the engines give the reason.
_REFUSED = MISTAKES | {"asset-outside-refused"}


class ComposedUsd(Struct, frozen=True):
    """A USD that was composed."""

    usd: str  # root layer for engines: that of the USD, or a layer over it
    variants: tuple[VariantChoice, ...] = ()  # that were selected, with their prims
    # files outside the folder of the asset, and variant sets without selection
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[Diagnostic, ...] = ()  # why engines should not read it


def compose(
    usd: str,
    layer: str | None = None,
    variants: tuple[VariantChoice, ...] = (),
    *,
    optional: bool = False,
    strict: bool = False,
    root: str | None = None,
) -> ComposedUsd:
    """Compose a USD, and write the layer that selects variants and prim, if needed.

    Args:
        usd: Root layer.
        layer: File of the layer over it, which is needed to select anything.
        variants: To select.
        optional: Whether the USD may lack variant sets that ``variants`` names.
        strict: Whether a USD is refused that refers to files outside its folder.
        root: Prim that is read instead of the default prim.
    """
    try:
        opened = open_stage(usd, variants, optional=optional, strict=strict)
        if root is not None:
            named_prim(opened.stage, root)
    except StageError as error:
        # A path that is not UTF-8 can be opened by no engine.
        whole = escaped(usd) != usd
        refused = tuple(one for one in error.diagnostics if whole or one.rule in _REFUSED)
        return ComposedUsd(usd, refused=refused)
    if layer is None or not (opened.variants or root):
        return ComposedUsd(usd, opened.variants, opened.diagnostics)
    text = selecting_layer(str(Path(usd).absolute()), opened.variants, root)
    Path(layer).write_text(text, "utf-8")
    return ComposedUsd(layer, opened.variants, opened.diagnostics)


def call_on_usd(
    function: Callable[..., _Result],
    usd: str | os.PathLike[str],
    *arguments: object,
    limits: Limits = DEFAULT_LIMITS,
) -> _Result:
    """Call a function on a USD in a worker, and print what OpenUSD printed.

    Args:
        function: The function, of a module.
        usd: Root layer: its first argument.
        arguments: Its further arguments.
        limits: Of time and memory.

    Raises:
        ConversionError: As raised by the function, or a limit was exceeded.
    """
    with Workers(limits) as workers:
        answer = workers.call(_captured, function, usd, *arguments)
    if isinstance(answer, ConversionError):
        # It has what OpenUSD printed about the cause.
        raise answer
    if not isinstance(answer, Crashed):
        result: _Result = answer[0]
        sys.stderr.write(answer[1])
        return result
    if is_limit(answer):
        raise StageError((over_limits(usd, answer),))
    bug = RuntimeError(answer.reason)
    bug.add_note(answer.output)
    raise bug


def _captured(
    function: Callable[..., _Result], *arguments: object
) -> tuple[_Result, str] | ConversionError:
    with captured() as printed:
        try:
            return function(*arguments), printed()
        except ConversionError as error:
            return error


def is_limit(crash: Crashed) -> bool:
    """Distinguish limits and native crashes from exceptions, which are bugs."""
    return OUT_OF_MEMORY in crash.reason or crash.reason.startswith(
        ("no answer after", "the process died", "the process ended")
    )


def over_limits(usd: str | os.PathLike[str], crash: Crashed) -> Diagnostic:
    """Make the diagnostic of a USD that could not be read within its limits."""
    message = f"{os.fspath(usd)} cannot be composed and read: {crash.reason}"
    return Diagnostic("stage-limits", message)
