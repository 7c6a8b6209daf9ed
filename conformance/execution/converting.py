"""The USD of a robot: converted by our converter or another one, or found."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing import current_process
from pathlib import Path
from typing import TypeAlias, cast

from msgspec import Struct

from urdf_usd.conformance.converters.candidates import (
    Candidate,
    CommandConverter,
    OwnConverter,
    ReadyUsds,
    RegisteredConverter,
    command_line,
    load_registered,
)
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.worker import Limits, Steps, Workers
from urdf_usd.converter.conversion import Conversion, convert, convert_parsed
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.urdf.parse import Parsed
from urdf_usd.reports.records.record import AssetRecord, Verdict

_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})
_OUTPUT_END = 4000
_SHOWN = 5
# Share of the time limit after which a program is stopped: before its worker is.
_SHARE_OF_TIME = 0.95
# Of the process that waits for the one of a converter [s].
_MORE_TIME = 30.0


class Written(Struct, frozen=True):
    """A USD was written."""

    root_layer: Path  # the file that consumers open
    asset: AssetRecord  # its files, for the record
    seconds: float | None  # that the conversion took; None of a USD that was there before
    diagnostics: tuple[Diagnostic, ...] = ()  # of our converter
    output: str | None = None  # end of what another converter printed


class UncomparedError(Exception):
    """A robot cannot be compared, and has this verdict and reason.

    Args:
        verdict: Of the robot.
        reason: Why.
        diagnostics: Of our converter; None for those of the reader.
        output: End of what another converter printed.
        refused: Whether the converter refused it.
    """

    def __init__(
        self,
        verdict: Verdict,
        reason: str,
        diagnostics: tuple[Diagnostic, ...] | None = None,
        output: str | None = None,
        *,
        refused: bool = False,
    ) -> None:
        super().__init__(verdict, reason)
        self.verdict = verdict
        self.reason = reason
        self.diagnostics = diagnostics
        self.output = output
        self.refused = refused

    def __str__(self) -> str:
        return self.reason


def _crashed(reason: str, output: str | None = None) -> UncomparedError:
    return UncomparedError(Verdict.CRASHED, f"the converter crashed: {reason}", output=output)


def _unwritten(
    reason: str, output: str | None = None, found: tuple[Diagnostic, ...] | None = None
) -> UncomparedError:
    reason = f"no USD was written: {reason}"
    return UncomparedError(Verdict.NOT_COMPARABLE, reason, found, output, refused=True)


def convert_robot(
    steps: Steps, urdf: Path, parsed: Parsed, directory: Path, options: ConvertOptions
) -> Written:
    """Convert a robot by our converter.

    Args:
        steps: Convert it.
        urdf: URDF or xacro file.
        parsed: What was read of it.
        directory: Folder of the asset.
        options: Options.

    Raises:
        UncomparedError: It cannot be converted.
    """

    def converted() -> Conversion | ConversionError:
        try:
            if options.root is not None:
                return convert(urdf, directory, options)
            return convert_parsed(parsed, directory, options)
        except ConversionError as error:
            return error

    made = steps.call("convert", converted)
    if isinstance(made, Crashed):
        raise _crashed(made.reason)
    if isinstance(made, ConversionError):
        raise _unwritten(first_error(made.diagnostics), found=made.diagnostics)
    asset = _asset(made.root_layer, directory, _files_below(directory))
    return Written(made.root_layer, asset, steps.seconds, made.diagnostics)


_Foreign: TypeAlias = CommandConverter | RegisteredConverter | ReadyUsds
# Root layer, and the end of what the converter printed, if it printed anything.
_Made: TypeAlias = tuple[Path, str | None]


class Order(Struct, frozen=True):
    """Input and output of a conversion by another converter."""

    urdf: Path
    directory: Path  # folder of the asset; a former one is replaced
    packages: Mapping[str, str]  # folder of each ROS package that the robot names
    names: Sequence[str]  # of root layers, and of the robot among ready USDs


def convert_by_other(steps: Steps, candidate: Candidate, order: Order, limits: Limits) -> Written:
    """Convert a URDF by another converter, or find its USD.

    Raises:
        UncomparedError: There is none.
    """
    if isinstance(candidate, OwnConverter):
        raise TypeError("our converter is no other one")
    made = steps.call("convert", _isolated, candidate, order, limits, more_time=_MORE_TIME)
    match made:
        case Crashed(reason, output):
            raise _crashed(reason, output)
        case UncomparedError():
            raise made
        case layer, _ if isinstance(candidate, ReadyUsds):
            files = files_of(layer, candidate.folder)
            return Written(layer, _asset(layer, candidate.folder, files), None)
        case layer, output:
            asset = _asset(layer, order.directory, _files_below(order.directory))
            return Written(layer, asset, steps.seconds, output=output)


def _isolated(
    candidate: _Foreign, order: Order, limits: Limits
) -> _Made | UncomparedError | Crashed:
    """Convert in a further process, which ends with everything that the converter started.

    Nothing that a converter leaves running may write to the asset from then on.
    """
    # Python does not let daemons, as workers are, have children.
    current_process().daemon = False
    with Workers(limits) as workers:
        return workers.call(_made, candidate, order, limits.time)


def _made(candidate: _Foreign, order: Order, timeout: float) -> _Made | UncomparedError:
    try:
        match candidate:
            case CommandConverter(words=words):
                return run_command(words, order, timeout * _SHARE_OF_TIME)
            case RegisteredConverter(name):
                # Entry points of this group are such callables.
                make = cast("Callable[..., str]", load_registered(name))
                return call_registered(make, order), None
            case ReadyUsds():
                return find_ready(candidate, order.names), None
    except UncomparedError as error:
        return error


def run_command(words: Sequence[str], order: Order, timeout: float) -> _Made:
    """Convert a URDF with a program; it inherits the memory limit of this process.

    What it starts itself stays in the process group of this worker, and is killed with
    that.

    Args:
        words: Its command line, with placeholders.
        order: Input and output.
        timeout: Time limit [s].

    Raises:
        UncomparedError: It crashed, failed, took too long, or wrote no USD, or several.
    """
    shutil.rmtree(order.directory, ignore_errors=True)
    order.directory.mkdir(parents=True)
    line = command_line(words, order.urdf, order.directory, order.packages)
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as scratch:
        printed = Path(scratch, "printed.txt")
        with printed.open("wb") as sink:
            process = subprocess.Popen(  # the user's own command
                line, cwd=scratch, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
            )
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                process.kill()
                process.wait()
        output = _end_of(printed) or None
    if code is None:
        raise _crashed(f"not finished after {timeout:g} s", output)
    if code < 0:
        raise _crashed(f"it was killed by {_signal(-code)}", output)
    if code > 0:
        last_line = output.splitlines()[-1] if output else "it printed nothing"
        raise _unwritten(f"exit code {code}: {last_line}", output)
    try:
        return root_layer_in(order.directory, order.names), output
    except UncomparedError as error:
        error.output = output
        raise


def call_registered(
    make: Callable[[str, str, dict[str, str]], str | os.PathLike[str]], order: Order
) -> Path:
    """Convert a URDF with a callable; what it raises is not caught.

    Raises:
        UncomparedError: It returned no file.
    """
    shutil.rmtree(order.directory, ignore_errors=True)
    order.directory.mkdir(parents=True)
    layer = Path(make(str(order.urdf), str(order.directory), dict(order.packages)))
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
        files = _called(_usds(converter.folder), (name,))
        if files:
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
        if len(files) == 1:
            return files[0]
        if files:
            folders = tuple(dict.fromkeys(file.parent.name for file in files))
            named = _called(files, (*names, *folders))
            return _only(named or files, folder)
        level = sorted(inner for place in level for inner in place.iterdir() if inner.is_dir())
    raise _unwritten("it wrote no USD")


def files_of(root_layer: Path, shared: Path) -> list[Path]:
    """List the files of an asset that lies in a folder with others.

    They are those of its own folder, if it has one; else the root layer.
    """
    if root_layer.parent == shared:
        return [root_layer]
    own = shared / root_layer.relative_to(shared).parts[0]
    return _files_below(own)


def _usds(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES and file.is_file()
    )


def _called(files: Iterable[Path], names: Sequence[str]) -> list[Path]:
    """Return the files with the first name that any of them has."""
    by_name: dict[str, list[Path]] = {}
    for file in files:
        by_name.setdefault(_plain(file.stem), []).append(file)
    return next((by_name[key] for key in map(_plain, names) if key in by_name), [])


def _plain(name: str) -> str:
    """Normalise case, and characters that prim or file names cannot have."""
    return "".join(c if c.isalnum() else "_" for c in name.casefold())


def _only(files: Sequence[Path], folder: Path) -> Path:
    order = (".usda", ".usd", ".usdc", ".usdz")
    first = min(files, key=lambda file: order.index(file.suffix.lower()))
    if any(file.with_suffix("") != first.with_suffix("") for file in files):
        shown = ", ".join(str(f.relative_to(folder)) for f in files[:_SHOWN])
        more = ", …" if len(files) > _SHOWN else ""
        raise _unwritten(f"several files could be the root layer: {shown}{more}")
    return first


def _end_of(file: Path) -> str:
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _OUTPUT_END))
        return stream.read().decode(errors="replace").strip()


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def first_error(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the first error, else the first diagnostic, as one line."""
    errors = [found for found in diagnostics if found.severity is Severity.ERROR]
    first = (errors or list(diagnostics))[0]
    if first.location is None:
        return first.message
    file = f"{Path(first.location.file).name}, " if first.location.file else ""
    return f"{file}line {first.location.line}: {first.message}"


def _files_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def _asset(root_layer: Path, folder: Path, files: Sequence[Path]) -> AssetRecord:
    own = root_layer.is_relative_to(folder)
    return AssetRecord(
        root_layer=(root_layer.relative_to(folder).as_posix() if own else root_layer.name),
        files=len(files),
        size=sum(file.stat().st_size for file in files),
    )
