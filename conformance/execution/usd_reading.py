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

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.job import ReadOptions
from urdf_usd.conformance.execution.worker import DEFAULT_LIMITS, OUT_OF_MEMORY, Limits, Workers
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, StageError
from urdf_usd.converter.diagnostics.messages import escaped
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd.loading import (
    Combination,
    named_prim,
    open_stage,
    selecting_layer,
    variant_combinations,
)

_Result = TypeVar("_Result")

# Of other USDs that cannot be opened, the engines give the reason.
_REFUSED = frozenset({"asset-outside-refused"})
# Wrong options, not properties of the USD.
MISTAKES = frozenset({"stage-structure", "variant-combinations", "variant-unknown"})


class ComposedUsd(Struct, frozen=True):
    """A USD that was composed."""

    usd: str  # root layer for engines: that of the USD, or a layer over it
    variants: tuple[VariantChoice, ...] = ()  # that were selected, with their prims
    # files outside the folder of the asset, and variant sets without selection
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[Diagnostic, ...] = ()  # why engines should not read it

    @property
    def selection(self) -> dict[str, str]:
        """The selected variants by prim and variant set, for records."""
        return {f"{choice.prim}:{choice.variant_set}": choice.variant for choice in self.variants}

    @property
    def unselected(self) -> tuple[str, ...]:
        """Messages about variant sets without selection."""
        return tuple(each.message for each in self.diagnostics if each.rule == "variant-unselected")


def compose(usd: str, options: ReadOptions | None = None, layer: str | None = None) -> ComposedUsd:
    """Compose a USD, and write the layer that selects variants and prim, if needed.

    Args:
        usd: Root layer.
        options: How it is read.
        layer: File of the layer over it, which is needed to select anything.
    """
    options = options or ReadOptions()
    try:
        opened = open_stage(usd, options.variants, optional=options.optional, strict=options.strict)
        if options.root is not None:
            named_prim(opened.stage, options.root)
    except StageError as error:
        # A path that is not UTF-8 can be opened by no engine.
        whole = escaped(usd) != usd
        rules = _REFUSED | MISTAKES
        found = error.diagnostics
        return ComposedUsd(
            usd, refused=tuple(each for each in found if whole or each.rule in rules)
        )
    read = usd
    if (opened.variants or options.root) and layer is not None:
        root = str(Path(usd).absolute())
        text = selecting_layer(root, opened.variants, options.root)
        Path(layer).write_text(text, "utf-8")
        read = layer
    return ComposedUsd(read, opened.variants, opened.diagnostics)


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
    with Workers(limits, forked=False) as workers:
        answer = workers.call(_captured, function, usd, *arguments)
    if isinstance(answer, Crashed):
        if is_limit(answer):
            raise StageError((over_limits(usd, answer),))
        bug = RuntimeError(answer.reason)
        bug.add_note(answer.output)
        raise bug
    if isinstance(answer, ConversionError):
        # It has what OpenUSD printed about the cause.
        raise answer
    result: _Result = answer[0]
    sys.stderr.write(answer[1])
    return result


def _captured(
    function: Callable[..., _Result], *arguments: object
) -> tuple[_Result, str] | ConversionError:
    with captured() as printed:
        try:
            return function(*arguments), printed()
        except ConversionError as error:
            return error


def list_combinations(
    usd: str, variants: tuple[VariantChoice, ...], *, strict: bool
) -> tuple[Combination, ...]:
    """List all combinations of variants of a USD that have some in common.

    Raises:
        StageError: The USD cannot be opened, a variant does not exist, or there are too
            many combinations.
    """
    return variant_combinations(open_stage(usd, strict=strict).stage, variants)


def is_limit(crash: Crashed) -> bool:
    """Distinguish limits and native crashes from exceptions, which are bugs."""
    return OUT_OF_MEMORY in crash.reason or crash.reason.startswith(
        ("no answer after", "the process died", "the process ended")
    )


def over_limits(usd: str | os.PathLike[str], crash: Crashed) -> Diagnostic:
    """Make the diagnostic of a USD that could not be read within its limits."""
    message = f"{os.fspath(usd)} cannot be composed and read: {crash.reason}"
    return Diagnostic("stage-limits", message)
