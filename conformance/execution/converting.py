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
from pathlib import Path
from typing import cast

from msgspec import Struct

from urdf_usd.conformance.converters.candidates import (
    CommandConverter,
    OwnConverter,
    ReadyUsds,
    RegisteredConverter,
    command_line,
    load_registered,
)
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.worker import environment_of_program
from urdf_usd.converter.conversion import convert, convert_parsed
from urdf_usd.converter.diagnostics import (
    ConversionError,
    Diagnostic,
    Severity,
    StageError,
    escaped,
)
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.urdf.parse import Parsed
from urdf_usd.converter.usd.loading import (
    named_prim,
    open_stage,
    selecting_layer,
    variant_combinations,
)
from urdf_usd.reports.records.record import AssetRecord, Verdict

# Wrong options, not properties of the USD.
MISTAKES = frozenset({"stage-structure", "variant-combinations", "variant-unknown"})
# Of other USDs that cannot be opened, the engines give the reason.
_REFUSED = MISTAKES | {"asset-outside-refused"}
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
    diagnostics: tuple[Diagnostic, ...] = ()  # of our converter
    output: str | None = None  # end of what another converter printed


class ComposedUsd(Struct, frozen=True):
    """A USD that was composed."""

    usd: str  # root layer for engines: that of the USD, or a layer over it
    variants: tuple[VariantChoice, ...] = ()  # that were selected, with their prims
    # files outside the folder of the asset, and variant sets without selection
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[Diagnostic, ...] = ()  # why engines should not read it


class UncomparedError(Exception):
    """A robot cannot be compared, and has this verdict and reason."""

    def __init__(
        self,
        verdict: Verdict,
        reason: str,
        diagnostics: tuple[Diagnostic, ...] | None = None,  # None for those of the reader
        output: str | None = None,  # end of what another converter printed
        *,
        refused: bool = False,  # whether the converter refused the robot
    ) -> None:
        super().__init__(reason)
        self.verdict, self.reason, self.diagnostics = verdict, reason, diagnostics
        self.output, self.refused = output, refused


def _unwritten(
    reason: str, output: str | None = None, found: tuple[Diagnostic, ...] | None = None
) -> UncomparedError:
    reason = f"no USD was written: {reason}"
    return UncomparedError(Verdict.NOT_COMPARABLE, reason, found, output, refused=True)


def convert_robot(
    job: Job, parsed: Parsed | None, urdf: Path, packages: Mapping[str, str]
) -> Written | UncomparedError:
    """Convert a robot by the converter of a job, or find its USD; why there is none.

    Args:
        job: The robot.
        parsed: What was read of its file; needed by our converter.
        urdf: The URDF, to which a xacro file was expanded.
        packages: Folder of each ROS package that it names.
    """
    begin = time.perf_counter()
    folder = job.asset
    diagnostics: tuple[Diagnostic, ...] = ()
    output = None
    try:
        match job.candidate:
            case OwnConverter():
                options = job.conversion
                if options.root is not None or parsed is None:
                    made = convert(job.source.path, folder, options)
                else:
                    made = convert_parsed(parsed, folder, options)
                layer, diagnostics = made.root_layer, made.diagnostics
            case CommandConverter(words=words):
                line = command_line(words, urdf, folder, packages)
                output = run_command(line, folder, job.limits.time * _SHARE_OF_TIME)
                try:
                    layer = root_layer_in(folder, job.names)
                except UncomparedError as error:
                    error.output = output
                    return error
            case RegisteredConverter(name):
                # Entry points of this group are such callables.
                make = cast("Callable[..., str]", load_registered(name))
                layer = call_registered(make, urdf, folder, packages)
            case ReadyUsds(folder=folder):
                layer = find_ready(job.candidate, job.names)
                return Written(layer, _asset(layer, folder, files_of(layer, folder)), None)
    except UncomparedError as error:
        return error
    except ConversionError as error:
        if not job.own:
            raise
        return _unwritten(first_error(error.diagnostics), found=error.diagnostics)
    seconds = time.perf_counter() - begin
    asset = _asset(layer, folder, _files_below(folder))
    return Written(layer, asset, seconds, diagnostics, output)


def run_command(line: Sequence[str], folder: Path, timeout: float) -> str | None:
    """Convert a URDF with a program; it inherits the memory limit of this process.

    What it starts itself stays in the process group of this worker, and is killed with
    that.

    Args:
        line: Its command line.
        folder: Of the USD; emptied first.
        timeout: Time limit [s].

    Returns:
        The end of what it printed, if it did.

    Raises:
        UncomparedError: It crashed, failed, or took too long.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as scratch:
        printed = Path(scratch, "printed.txt")
        with printed.open("wb") as sink:
            process = subprocess.Popen(  # the user's own command
                line,
                cwd=scratch,
                env=environment_of_program(),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                process.kill()
                process.wait()
        with printed.open("rb") as stream:
            stream.seek(max(0, printed.stat().st_size - _OUTPUT_END))
            output = stream.read().decode(errors="replace").strip() or None
    if code == 0:
        return output
    if code is not None and code > 0:
        last_line = output.splitlines()[-1] if output else "it printed nothing"
        raise _unwritten(f"exit code {code}: {last_line}", output)
    reason = f"not finished after {timeout:g} s"
    if code is not None:
        known = {one.value: one.name for one in signal.Signals}
        reason = f"it was killed by {known.get(-code, f'signal {-code}')}"
    raise UncomparedError(Verdict.CRASHED, f"the converter crashed: {reason}", output=output)


def call_registered(
    make: Callable[[str, str, dict[str, str]], str | os.PathLike[str]],
    urdf: Path,
    folder: Path,
    packages: Mapping[str, str],
) -> Path:
    """Convert a URDF with a callable; what it raises is not caught.

    Raises:
        UncomparedError: It returned no file.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    layer = Path(make(str(urdf), str(folder), dict(packages)))
    if not layer.is_file():
        raise _unwritten(f"it returned {layer.name!r}, which is no file")
    return layer


def find_ready(converter: ReadyUsds, names: Sequence[str]) -> Path:
    """Find the USD of a robot among those made elsewhere.

    Args:
        converter: Their folder.
        names: Names that its file or folder may have, the most certain first.

    Raises:
        UncomparedError: There is none, or there are several.
    """
    for name in names:
        if files := _called(_usds(converter.folder), (name,)):
            return _only(files, converter.folder)
        folder = converter.folder / name
        if folder.is_dir():
            return root_layer_in(folder, names)
    expected = " or ".join(repr(name) for name in names)
    raise _unwritten(f"{converter.recipe} has no USD named {expected}")


def root_layer_in(folder: Path, names: Sequence[str]) -> Path:
    """Find the root layer of an asset.

    It is the only USD file at the least depth that has any. If there are several, it is
    the one with the name of the robot, or else of its folder; of files that differ in
    their suffix alone, text comes first, and packages come last.

    Raises:
        UncomparedError: There is none, or there are several candidates.
    """
    level = [folder]
    while level:
        files = [file for place in level for file in _usds(place)]
        if files:
            folders = dict.fromkeys(file.parent.name for file in files)
            return _only(_called(files, (*names, *folders)) or files, folder)
        level = sorted(inner for place in level for inner in place.iterdir() if inner.is_dir())
    raise _unwritten("it wrote no USD")


def files_of(root_layer: Path, shared: Path) -> list[Path]:
    """List the files of an asset that lies in a folder with others.

    They are those of its own folder, if it has one; else the root layer.
    """
    if root_layer.parent == shared:
        return [root_layer]
    return _files_below(shared / root_layer.relative_to(shared).parts[0])


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


def first_error(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the first error, else the first diagnostic, as one line."""
    errors = (found for found in diagnostics if found.severity is Severity.ERROR)
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


def combinations(
    usd: str, variants: tuple[VariantChoice, ...], strict: bool
) -> list[tuple[tuple[VariantChoice, ...], tuple[VariantChoice, str] | None]]:
    """List the combinations of variants of a USD, each with what is omitted by its name."""
    found = variant_combinations(open_stage(usd, strict=strict).stage, variants)
    return [(one.choices, one.omission) for one in found]
