"""The USD of a robot: converted by our converter or another one, or found; and composed.

A USD of others is composed once before engines read it. Variants and the robot's prim are selected
by a layer over the USD in a temporary folder, which every engine and the round trip read.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from msgspec import Struct

from urdf_usd.conformance.converters import candidates as c
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.worker import environment_of_program
from urdf_usd.converter import diagnostics as d
from urdf_usd.converter.conversion import convert, convert_parsed
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.urdf.parse import Parsed
from urdf_usd.converter.usd import loading
from urdf_usd.reports.records.record import AssetRecord, Verdict

# Wrong options, not properties of the USD.
_MISTAKES = frozenset({"stage-structure", "variant-combinations", "variant-unknown"})
# Of other USDs that cannot be opened, the engines give the reason.
_REFUSED = _MISTAKES | {"asset-outside-refused"}
# The first is the root layer of files that differ in their suffix alone.
_SUFFIXES = (".usda", ".usd", ".usdc", ".usdz")
_OUTPUT_END = 4000
_SHOWN = 5
# Share of the time limit after which a program is stopped: before its worker is.
_SHARE_OF_TIME = 0.95


class Written(Struct, frozen=True):
    """A USD was written."""

    root_layer: Path  # the file that consumers open
    asset: AssetRecord  # its files, for the record
    seconds: float | None  # that the conversion took; None of a USD that was there before
    diagnostics: tuple[d.Diagnostic, ...] = ()  # of our converter
    output: str | None = None  # end of what another converter printed


class ComposedUsd(Struct, frozen=True):
    """A USD that was composed."""

    usd: str  # root layer for engines: that of the USD, or a layer over it
    variants: tuple[VariantChoice, ...] = ()  # that were selected, with their prims
    # files outside the folder of the asset, and variant sets without selection
    diagnostics: tuple[d.Diagnostic, ...] = ()


@dataclass(eq=False)
class UncomparedError(Exception):
    """A robot cannot be compared, and has this verdict and reason."""

    verdict: Verdict
    reason: str
    diagnostics: tuple[d.Diagnostic, ...] | None = None  # None for those of the reader
    output: str | None = None  # end of what another converter printed
    refused: bool = False  # whether the converter refused the robot

    def __str__(self) -> str:
        return self.reason


def _unwritten(
    reason: str, output: str | None = None, found: tuple[d.Diagnostic, ...] | None = None
) -> UncomparedError:
    reason = f"no USD was written: {reason}"
    return UncomparedError(Verdict.NOT_COMPARABLE, reason, found, output, refused=True)


def convert_robot(
    job: Job, parsed: Parsed | None, urdf: Path, packages: Mapping[str, str]
) -> Written:
    """Convert a robot by the converter of a job, or find its USD.

    Our converter needs what was read (``parsed``), others the URDF that xacro made of it.

    Raises:
        UncomparedError: There is no USD.
    """
    begin, folder = time.perf_counter(), job.asset
    diagnostics: tuple[d.Diagnostic, ...] = ()
    output = None
    match job.candidate:
        case c.OwnConverter():
            options = job.conversion
            try:
                if options.root is not None or parsed is None:
                    made = convert(job.source.path, folder, options)
                else:
                    made = convert_parsed(parsed, folder, options)
            except d.ConversionError as error:
                found = error.diagnostics
                raise _unwritten(first_error(found), found=found) from error
            layer, diagnostics = made.root_layer, made.diagnostics
        case c.CommandConverter(words=words):
            line = c.command_line(words, urdf, folder, packages)
            output = run_command(line, folder, job.limits.time * _SHARE_OF_TIME)
            try:
                layer = root_layer_in(folder, job.names)
            except UncomparedError as error:
                error.output = output
                raise
        case c.RegisteredConverter(name):
            # Entry points of this group are such callables.
            make = cast("Callable[..., str]", c.load_registered(name))
            _make_empty(folder)
            layer = Path(make(str(urdf), str(folder), dict(packages)))
            if not layer.is_file():
                raise _unwritten(f"it returned {layer.name!r}, which is no file")
        case c.ReadyUsds(folder=folder):
            layer, files = find_ready(job.candidate, job.names)
            return Written(layer, _asset(layer, folder, files), None)
    asset = _asset(layer, folder, _files_below(folder))
    return Written(layer, asset, time.perf_counter() - begin, diagnostics, output)


def run_command(line: Sequence[str], folder: Path, timeout: float) -> str | None:
    """Convert a URDF with a program, within a time [s]; return the end of what it printed.

    It inherits the memory limit of this process. What it starts itself stays in the process
    group of this worker, and is killed with that.

    Raises:
        UncomparedError: It crashed, failed, or took too long.
    """
    _make_empty(folder)
    with (
        tempfile.TemporaryDirectory(prefix="urdf-usd-") as scratch,
        tempfile.TemporaryFile() as sink,
    ):
        try:
            code = subprocess.run(  # the user's own command
                line,
                check=False,
                cwd=scratch,
                env=environment_of_program(),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                timeout=timeout,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
        sink.seek(max(0, sink.seek(0, os.SEEK_END) - _OUTPUT_END))
        output = sink.read().decode(errors="replace").strip() or None
    if code == 0:
        return output
    if code is not None and code > 0:
        last_line = output.splitlines()[-1] if output else "it printed nothing"
        raise _unwritten(f"exit code {code}: {last_line}", output)
    reason = f"not finished after {timeout:g} s"
    if code is not None:
        reason = f"it was killed by {signal.Signals(-code).name}"
    raise UncomparedError(Verdict.CRASHED, f"the converter crashed: {reason}", output=output)


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def find_ready(converter: c.ReadyUsds, names: Sequence[str]) -> tuple[Path, list[Path]]:
    """Find the USD of a robot among those made elsewhere, by names, the most certain first.

    Returns:
        Its root layer, and all its files, as far as it has a folder of its own.
    """
    for name in names:
        if files := _called(_usds(converter.folder), (name,)):
            layer = _only(files, converter.folder)
            return layer, [layer]
        if (folder := converter.folder / name).is_dir():
            return root_layer_in(folder, names), _files_below(folder)
    raise _unwritten(f"{converter.recipe} has no USD named {' or '.join(map(repr, names))}")


def root_layer_in(folder: Path, names: Sequence[str]) -> Path:
    """Find the root layer of an asset.

    It is the only USD file at the least depth that has any. If there are several, it is
    the one with the name of the robot, or else of its folder; of files that differ in
    their suffix alone, text comes first, and packages come last.
    """
    level, files = [folder], _usds(folder)
    while level and not files:
        level = sorted(inner for place in level for inner in place.iterdir() if inner.is_dir())
        files = [file for place in level for file in _usds(place)]
    if not files:
        raise _unwritten("it wrote no USD")
    return _only(_called(files, (*names, *(file.parent.name for file in files))) or files, folder)


def _usds(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES and file.is_file()
    )


def _called(files: Iterable[Path], names: Iterable[str]) -> list[Path]:
    """Return the files with the first name that any of them has."""

    def plain(name: str) -> str:
        # Case, and characters that prim or file names cannot have, do not matter.
        return "".join(c if c.isalnum() else "_" for c in name.casefold())

    files = [*files]
    found = ([one for one in files if plain(one.stem) == plain(name)] for name in names)
    return next(filter(None, found), [])


def _only(files: Sequence[Path], folder: Path) -> Path:
    first = min(files, key=lambda file: _SUFFIXES.index(file.suffix.lower()))
    if any(file.with_suffix("") != first.with_suffix("") for file in files):
        shown = ", ".join(str(f.relative_to(folder)) for f in files[:_SHOWN])
        more = ", …" if len(files) > _SHOWN else ""
        raise _unwritten(f"several files could be the root layer: {shown}{more}")
    return first


def first_error(diagnostics: Sequence[d.Diagnostic]) -> str:
    """Return the first error, else the first diagnostic, as one line."""
    errors = (found for found in diagnostics if found.severity is d.Severity.ERROR)
    first = next(errors, diagnostics[0])
    if first.location is None:
        return first.message
    file = f"{Path(first.location.file).name}, " if first.location.file else ""
    return f"{file}line {first.location.line}: {first.message}"


def _files_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def _asset(root_layer: Path, folder: Path, files: Sequence[Path]) -> AssetRecord:
    own = root_layer.is_relative_to(folder)
    return AssetRecord(
        root_layer=root_layer.relative_to(folder).as_posix() if own else root_layer.name,
        files=len(files),
        size=sum(file.stat().st_size for file in files),
    )


def compose(usd: str, layer: str, job: Job) -> ComposedUsd:
    """Compose a USD, and write a layer over it that selects variants and prim, if needed.

    A USD of a converter may lack variant sets.

    Raises:
        StageError: In a check, a variant or prim does not exist.
        UncomparedError: Engines should not read it.
    """
    optional = job.usd is None
    try:
        opened = loading.open_stage(usd, job.variants, optional=optional, strict=job.strict)
        if job.root is not None:
            loading.named_prim(opened.stage, job.root)
    except d.StageError as error:
        # A path that is not UTF-8 can be opened by no engine.
        whole = d.escaped(usd) != usd
        refused = tuple(one for one in error.diagnostics if whole or one.rule in _REFUSED)
        if not optional and any(one.rule in _MISTAKES for one in refused):
            raise d.StageError(refused) from error
        if refused:
            reason = refused[0].advice
            raise UncomparedError(Verdict.NOT_COMPARABLE, reason, refused) from error
        return ComposedUsd(usd)
    if opened.variants or job.root:
        text = loading.selecting_layer(str(Path(usd).absolute()), opened.variants, job.root)
        Path(layer).write_text(text, "utf-8")
        usd = layer
    return ComposedUsd(usd, opened.variants, opened.diagnostics)


def combinations(
    usd: str, variants: tuple[VariantChoice, ...], strict: bool
) -> list[tuple[tuple[VariantChoice, ...], tuple[VariantChoice, str] | None]]:
    """List the combinations of variants of a USD, each with what is omitted by its name."""
    found = loading.variant_combinations(loading.open_stage(usd, strict=strict).stage, variants)
    return [(one.choices, one.omission) for one in found]
