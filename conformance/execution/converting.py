"""The USD of a robot: converted by our converter or another one, or found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    load_registered,
)
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.engines.reference import read_kept
from urdf_usd.conformance.execution.foreign_conversion import (
    ConverterCrashError,
    Made,
    NoUsdError,
    call_registered,
    files_of,
    find_ready,
    run_command,
)
from urdf_usd.conformance.execution.limits import Limits
from urdf_usd.conformance.execution.worker import Completed, Steps
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.converter.conversion import convert, convert_parsed
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.reports.records.record import AssetRecord, Verdict

# Share of the time limit after which a program is stopped: before its worker is.
_SHARE_OF_TIME = 0.95
# Of the process that waits for the one of a converter [s].
_MORE_TIME = 30.0
_CRASHED = "the converter crashed"


class Written(Struct, frozen=True):
    """A USD was written.

    Attributes:
        root_layer: The file that consumers open.
        asset: Its files, for the record.
        seconds: Time of the conversion; None of a USD that was there before [s].
        diagnostics: Of our converter.
        output: End of what another converter printed.
    """

    root_layer: Path
    asset: AssetRecord
    seconds: float | None
    diagnostics: tuple[Diagnostic, ...] = ()
    output: str | None = None


class Unwritten(Struct, frozen=True):
    """No USD was written.

    Attributes:
        verdict: Of the robot.
        reason: Why there is none.
        diagnostics: Of our converter; None of others.
        output: End of what another converter printed.
    """

    verdict: Verdict
    reason: str
    diagnostics: tuple[Diagnostic, ...] | None = None
    output: str | None = None


def convert_robot(
    steps: Steps, urdf: Path, directory: Path, options: ConvertOptions
) -> Written | Unwritten:
    """Convert a URDF or xacro file by our converter."""
    ending = steps.call("convert", _converted, urdf, directory, options)
    if isinstance(ending, Crashed):
        return Unwritten(Verdict.CRASHED, f"{_CRASHED}: {ending.reason}")
    if isinstance(ending.value, ConversionError):
        found = ending.value.diagnostics
        reason = f"no USD was written: {first_error(found)}"
        return Unwritten(Verdict.NOT_COMPARABLE, reason, found)
    layer, diagnostics = ending.value
    return Written(layer, _whole(layer, directory), ending.seconds, diagnostics)


def _converted(
    urdf: Path, directory: Path, options: ConvertOptions
) -> tuple[Path, tuple[Diagnostic, ...]] | ConversionError:
    try:
        if options.root is not None:
            written = convert(urdf, directory, options)
        else:
            packages, arguments = dict(options.packages), dict(options.arguments)
            parsed = read_kept(str(urdf), packages, arguments, options.environment)
            written = convert_parsed(parsed, directory, options)
    except ConversionError as error:
        return error
    return written.root_layer, written.diagnostics


_Foreign: TypeAlias = CommandConverter | RegisteredConverter | ReadyUsds


class Order(Struct, frozen=True):
    """Input and output of a conversion by another converter.

    Attributes:
        urdf: URDF file.
        directory: Folder of the asset.
        packages: Folder of each ROS package that the robot names.
        names: Names of root layers, and of the robot among ready USDs.
    """

    urdf: Path
    directory: Path
    packages: Mapping[str, str]
    names: tuple[str, ...]


def convert_by_other(
    steps: Steps, candidate: Candidate, order: Order, limits: Limits
) -> Written | Unwritten:
    """Convert a URDF by another converter, or find its USD."""
    if isinstance(candidate, OwnConverter):
        raise TypeError("our converter is no other one")
    step = steps.call("convert", _isolated, candidate, order, limits, more_time=_MORE_TIME)
    ending = step if isinstance(step, Crashed) else step.value
    if isinstance(ending, Crashed):
        reason = f"{_CRASHED}: {ending.reason}"
        return Unwritten(Verdict.CRASHED, reason, output=ending.output)
    match ending.value:
        case ConverterCrashError() as error:
            return Unwritten(Verdict.CRASHED, f"{_CRASHED}: {error}", output=error.output)
        case NoUsdError() as error:
            reason = f"no USD was written: {error}"
            return Unwritten(Verdict.NOT_COMPARABLE, reason, output=error.output)
        case Made(layer, output) if isinstance(candidate, ReadyUsds):
            files = files_of(layer, candidate.folder)
            return Written(layer, _asset(layer, candidate.folder, files), None)
        case Made(layer, output):
            return Written(layer, _whole(layer, order.directory), ending.seconds, output=output)


def _isolated(
    candidate: _Foreign, order: Order, limits: Limits
) -> Completed[Made | NoUsdError] | Crashed:
    """Convert in a further process, which ends with everything that the converter started.

    Nothing that a converter leaves running may write to the asset from then on.
    """
    # Python does not let daemons, as workers are, have children.
    current_process().daemon = False
    with Workers(limits) as workers:
        return workers.call(_made, candidate, order, limits.time)


def _made(candidate: _Foreign, order: Order, timeout: float) -> Made | NoUsdError:
    try:
        match candidate:
            case CommandConverter():
                return run_command(
                    candidate,
                    order.urdf,
                    order.directory,
                    packages=order.packages,
                    names=order.names,
                    timeout=timeout * _SHARE_OF_TIME,
                )
            case RegisteredConverter(name):
                # Entry points of this group are such callables.
                make = cast("Callable[..., str]", load_registered(name))
                return call_registered(make, order.urdf, order.directory, order.packages)
            case ReadyUsds():
                return find_ready(candidate, order.names)
    except NoUsdError as error:
        return error


def first_error(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the first error, else the first diagnostic, as one line."""
    errors = [found for found in diagnostics if found.severity is Severity.ERROR]
    first = (errors or list(diagnostics))[0]
    if first.location is None:
        return first.message
    file = f"{Path(first.location.file).name}, " if first.location.file else ""
    return f"{file}line {first.location.line}: {first.message}"


def _whole(root_layer: Path, folder: Path) -> AssetRecord:
    return _asset(root_layer, folder, [file for file in folder.rglob("*") if file.is_file()])


def _asset(root_layer: Path, folder: Path, files: Sequence[Path]) -> AssetRecord:
    own = root_layer.is_relative_to(folder)
    return AssetRecord(
        root_layer=(root_layer.relative_to(folder).as_posix() if own else root_layer.name),
        files=len(files),
        size=sum(file.stat().st_size for file in files),
    )
