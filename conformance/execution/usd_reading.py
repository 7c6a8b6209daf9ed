"""USDs of other converters, read in a worker process.

A USD is composed once before engines read it: of one that cannot be, every engine would
wait in turn. Variants and the robot's prim are selected by a layer over the USD in a
temporary folder, which every engine and the round trip read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.record import Subject, unread_record
from urdf_usd.conformance.execution.worker import OUT_OF_MEMORY, Steps
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, StageError
from urdf_usd.converter.diagnostics.messages import escaped
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd.loading.opening import named_prim, open_stage
from urdf_usd.converter.usd.loading.variants import (
    Combination,
    selecting_layer,
    variant_combinations,
)
from urdf_usd.reports.records.record import RobotRecord, Verdict

_Result = TypeVar("_Result")

# Of other USDs that cannot be opened, the engines give the reason.
_REFUSED = frozenset({"asset-outside-refused", "layer-bounds", "layer-not-regular"})
# Wrong options, not properties of the USD.
_MISTAKES = frozenset({"stage-structure", "variant-combinations", "variant-unknown"})


class ReadOptions(Struct, frozen=True):
    """How a USD of another converter is read.

    Attributes:
        variants: Variants to select.
        optional: Whether the USD may lack variant sets that ``variants`` names.
        strict: Whether a USD is refused that refers to files outside its folder.
        root: Prim that is read instead of the default prim.
    """

    variants: tuple[VariantChoice, ...] = ()
    optional: bool = False
    strict: bool = False
    root: str | None = None


READ_DEFAULTS = ReadOptions()


class ComposedUsd(Struct, frozen=True):
    """A USD that was composed.

    Attributes:
        usd: Root layer for engines: that of the USD, or a layer over it that selects
            variants.
        variants: The variants that were selected, with their prims.
        diagnostics: Files outside the folder of the asset, and variant sets without
            selection.
        refused: Why engines should not read it; empty if they can.
    """

    usd: str
    variants: tuple[VariantChoice, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[Diagnostic, ...] = ()

    @property
    def selection(self) -> dict[str, str]:
        """The selected variants by prim and variant set, for records."""
        return {f"{choice.prim}:{choice.variant_set}": choice.variant for choice in self.variants}

    @property
    def unselected(self) -> tuple[str, ...]:
        """Messages about variant sets without selection."""
        return tuple(each.message for each in self.diagnostics if each.rule == "variant-unselected")


def compose_usd(
    steps: Steps, subject: Subject, usd: Path, options: ReadOptions, layer: Path
) -> ComposedUsd | RobotRecord:
    """Compose a USD before engines read it.

    Args:
        steps: Compose the USD.
        subject: The robot.
        usd: Root layer.
        options: How it is read.
        layer: File of the layer that selects variants, which is written if needed.

    Returns:
        The USD for engines; or the record of a USD that engines should not read.

    Raises:
        StageError: A variant does not exist in the USD and is not optional.
    """
    ending = steps.call("compose", compose, str(usd), options, str(layer))
    if isinstance(ending, Crashed):
        if not is_limit(ending):
            reason = f"the USD cannot be composed: {ending.reason}"
            return unread_record(subject, Verdict.CRASHED, reason)
        refused: tuple[Diagnostic, ...] = (over_limits(usd, ending),)
    elif not ending.value.refused:
        return ending.value
    else:
        refused = ending.value.refused
    if not options.optional and any(each.rule in _MISTAKES for each in refused):
        raise StageError(refused)
    return unread_record(subject, Verdict.NOT_COMPARABLE, refused[0].advice, refused)


def compose(
    usd: str, options: ReadOptions = READ_DEFAULTS, layer: str | None = None
) -> ComposedUsd:
    """Compose a USD, and write the layer that selects variants and prim, if needed.

    Args:
        usd: Root layer.
        options: How it is read.
        layer: File of the layer over it, which is needed to select anything.
    """
    try:
        opened = open_stage(usd, options.variants, optional=options.optional, strict=options.strict)
        if options.root is not None:
            named_prim(opened.stage, options.root)
    except StageError as error:
        # A path that is not UTF-8 can be opened by no engine.
        whole = escaped(usd) != usd
        rules = _REFUSED | _MISTAKES
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
    with Workers(limits) as workers:
        ending = workers.call(_captured, function, usd, *arguments, spawned=True)
    if isinstance(ending, Crashed):
        if is_limit(ending):
            raise StageError((over_limits(usd, ending),))
        bug = RuntimeError(ending.reason)
        bug.add_note(ending.output)
        raise bug
    answer: _Printed[_Result] | ConversionError = ending.value
    if isinstance(answer, ConversionError):
        # It has what OpenUSD printed about the cause.
        raise answer
    sys.stderr.write(answer.printed)
    return answer.result


class _Printed(Struct, Generic[_Result], frozen=True, eq=False):
    """The result of a function, and what OpenUSD printed."""

    result: _Result
    printed: str


def _captured(
    function: Callable[..., _Result], *arguments: object
) -> _Printed[_Result] | ConversionError:
    with captured() as printed:
        try:
            return _Printed(function(*arguments), printed())
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
