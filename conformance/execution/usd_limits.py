"""A USD of another converter is composed once, within limits, before engines read it.

One that cannot be composed is refused here, so that no engine waits for it in turn.
Variants and the robot's prim are selected by a layer over the USD in a temporary
folder: every engine, also a simulator in its own process, and the round trip read that
layer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.assembly import Subject, unread_record
from urdf_usd.conformance.execution.engine_set import USD_ENGINE
from urdf_usd.conformance.execution.workers.context import FOR_USDS, start_loading
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import OUT_OF_MEMORY, Completed
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, StageError
from urdf_usd.converter.diagnostics.messages import escaped
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd.loading.layer_growth import find_growth
from urdf_usd.converter.usd.loading.opening import named_prim, open_stage
from urdf_usd.converter.usd.loading.variants import selecting_layer, variant_combinations
from urdf_usd.reports.records.record import RobotRecord, Verdict

# These import OpenUSD, which only workers need.
if TYPE_CHECKING:
    from urdf_usd.converter.usd.loading.layer_growth import Growth
    from urdf_usd.converter.usd.loading.variants import Combination

_Result = TypeVar("_Result")

# Time limit of the search for exponential references [s].
_GROWTH_TIMEOUT = 60.0
# Name of the layer that selects variants.
SELECTION = "selection.usda"

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
    """A USD that was composed in a worker.

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
    workers: RobotWorkers,
    subject: Subject,
    usd: str | os.PathLike[str],
    options: ReadOptions = READ_DEFAULTS,
) -> ComposedUsd | RobotRecord:
    """Compose a USD before engines read it; see :func:`start_composing`."""
    return start_composing(workers, subject, usd, options)()


def start_composing(
    workers: RobotWorkers,
    subject: Subject,
    usd: str | os.PathLike[str],
    options: ReadOptions = READ_DEFAULTS,
) -> Callable[[], ComposedUsd | RobotRecord]:
    """Compose a USD before engines read it.

    Args:
        workers: That of the OpenUSD engine composes the USD.
        subject: The robot.
        usd: Root layer.
        options: How it is read.

    Returns:
        A function that waits for the end, and returns the USD for engines; or the
        record of a USD that engines should not read. It raises a StageError if a
        variant does not exist in the USD and is not optional.
    """
    layer = workers.folder / SELECTION
    wait = workers.request(USD_ENGINE, compose, os.fspath(usd), options, str(layer))
    return lambda: _composed(workers, subject, os.fspath(usd), options, wait())


def _composed(
    workers: RobotWorkers,
    subject: Subject,
    path: str,
    options: ReadOptions,
    ending: Completed[ComposedUsd] | Crashed,
) -> ComposedUsd | RobotRecord:
    if isinstance(ending, Crashed):
        if not is_limit(ending):
            reason = f"the USD cannot be composed: {ending.reason}"
            return unread_record(subject, Verdict.CRASHED, reason)
        growth = workers.request(USD_ENGINE, _growth, path)()
        refused: tuple[Diagnostic, ...] = (over_limits(path, ending, growth),)
    else:
        refused = ending.value.refused
    if not refused and not isinstance(ending, Crashed):
        return ending.value
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
    start_loading(FOR_USDS)
    with WorkerPool(limits.memory) as pool:
        ending = pool.call(_captured, function, usd, *arguments, timeout=limits.time)
        if isinstance(ending, Crashed):
            if not is_limit(ending):
                bug = RuntimeError(ending.reason)
                bug.add_note(ending.output)
                raise bug
            growth = pool.call(_growth, usd, timeout=_GROWTH_TIMEOUT)
            raise StageError((over_limits(usd, ending, growth),))
    answer: _Answer[_Result] | ConversionError = ending.value
    if isinstance(answer, ConversionError):
        # It has what OpenUSD printed about the cause.
        raise answer
    sys.stderr.write(answer.printed)
    return answer.result


class _Answer(Struct, Generic[_Result], frozen=True, eq=False):
    """The result of a function, and what OpenUSD printed."""

    result: _Result
    printed: str


def _captured(
    function: Callable[..., _Result], *arguments: object
) -> _Answer[_Result] | ConversionError:
    """Call a function, and capture what OpenUSD prints."""
    with captured() as printed:
        try:
            return _Answer(function(*arguments), printed())
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


def _growth(usd: str | os.PathLike[str]) -> Growth | None:
    """Return where the layers of a USD multiply; runs in a worker."""
    return find_growth(usd)


def is_limit(crash: Crashed) -> bool:
    """Distinguish limits and native crashes from exceptions, which are bugs."""
    return OUT_OF_MEMORY in crash.reason or crash.reason.startswith(
        ("no answer after", "the process died", "the process ended")
    )


def over_limits(
    usd: str | os.PathLike[str],
    crash: Crashed,
    growth: Completed[Growth | None] | Crashed,
) -> Diagnostic:
    """Make the diagnostic of a USD that could not be read within its limits.

    Args:
        usd: Root layer.
        crash: How reading ended.
        growth: Where its layers multiply, if that is known.
    """
    message = f"{os.fspath(usd)} cannot be composed and read: {crash.reason}"
    found = None if isinstance(growth, Crashed) else growth.value
    if found is not None:
        message = f"{message}; its {found}"
    return Diagnostic("stage-limits", message)
