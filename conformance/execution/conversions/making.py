"""Conversion of one robot, with our converter or another, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, assert_never, cast

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
from urdf_usd.conformance.execution.conversions.foreign_conversion import (
    ConverterCrashError,
    Made,
    NoUsdError,
    call_registered,
    files_of,
    find_ready,
    run_command,
)
from urdf_usd.conformance.execution.tasks import Converted, convert_robot
from urdf_usd.conformance.execution.workers.pool import RobotWorkers
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.reports.records.record import AssetRecord, Verdict

_Foreign: TypeAlias = CommandConverter | RegisteredConverter | ReadyUsds

# Share of the time limit after which a program is stopped: before its worker is.
_SHARE_OF_TIME = 0.95
# Begin of the reason of a crash.
CONVERTER_CRASHED = "the converter crashed"
# Purpose of the worker that runs converters of others.
_WORKER = "converter"


class Order(Struct, frozen=True):
    """Input and output of one conversion.

    Attributes:
        urdf: URDF or xacro file.
        plain: The URDF that a xacro file expands to; the same file if it is URDF.
        directory: Folder of the asset.
        options: Options of our converter.
        packages: Folder of each ROS package that the robot names.
        names: Names of root layers, and of the robot among ready USDs.
        timeout: Time limit [s].
    """

    urdf: Path
    plain: Path
    directory: Path
    options: ConvertOptions
    packages: Mapping[str, str]
    names: tuple[str, ...]
    timeout: float


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


def make_usd(workers: RobotWorkers, candidate: Candidate, order: Order) -> Written | Unwritten:
    """Convert a robot: with our converter as a step, with another in a worker.

    Args:
        workers: Run the conversion.
        candidate: The converter.
        order: Input and output.
    """
    if isinstance(candidate, OwnConverter):
        arguments = str(order.urdf), str(order.directory), order.options
        return _outcome(candidate, order, workers.call(convert_robot, *arguments))
    # Ready USDs are only looked up.
    if isinstance(candidate, ReadyUsds):
        return _outcome(candidate, order, workers.call(convert_foreign, candidate, order))
    ending = workers.request(_WORKER, convert_foreign, candidate, order)()
    # Nothing that a converter left running may write to the asset from now on.
    workers.stop(_WORKER)
    return _outcome(candidate, order, ending)


def _outcome(
    candidate: Candidate,
    order: Order,
    ending: Completed[Converted | ConversionError] | Completed[Made | NoUsdError] | Crashed,
) -> Written | Unwritten:
    if isinstance(ending, Crashed):
        reason = f"{CONVERTER_CRASHED}: {ending.reason}"
        own = isinstance(candidate, OwnConverter)
        output = None if own else ending.output
        return Unwritten(Verdict.CRASHED, reason, output=output)
    match ending.value:
        case ConversionError(diagnostics=found):
            reason = f"no USD was written: {first_error(found)}"
            return Unwritten(Verdict.NOT_COMPARABLE, reason, found)
        case Converted(root_layer=layer, diagnostics=found):
            return Written(
                root_layer=layer,
                asset=_whole(layer, order.directory),
                seconds=ending.seconds,
                diagnostics=found,
            )
        case Made(root_layer, output):
            return _foreign_outcome(candidate, order, root_layer, output, ending.seconds)
        case ConverterCrashError() as error:
            reason = f"{CONVERTER_CRASHED}: {error}"
            return Unwritten(Verdict.CRASHED, reason, output=error.output)
        case NoUsdError() as error:
            reason = f"no USD was written: {error}"
            return Unwritten(Verdict.NOT_COMPARABLE, reason, output=error.output)


def _foreign_outcome(
    candidate: Candidate,
    order: Order,
    root_layer: Path,
    output: str | None,
    seconds: float,
) -> Written:
    if isinstance(candidate, ReadyUsds):
        files = files_of(root_layer, candidate.folder)
        return Written(root_layer, _asset(root_layer, candidate.folder, files), None)
    asset = _whole(root_layer, order.directory)
    return Written(root_layer, asset, seconds, output=output)


def convert_foreign(candidate: _Foreign, order: Order) -> Made | NoUsdError:
    """Convert a URDF with another converter; runs in a worker."""
    try:
        match candidate:
            case CommandConverter():
                return run_command(
                    candidate,
                    order.plain,
                    order.directory,
                    packages=order.packages,
                    names=order.names,
                    timeout=order.timeout * _SHARE_OF_TIME,
                )
            case RegisteredConverter(name):
                # Entry points of this group are such callables.
                make = cast("Callable[..., str]", load_registered(name))
                return call_registered(make, order.plain, order.directory, order.packages)
            case ReadyUsds():
                return find_ready(candidate, order.names)
            case _:
                assert_never(candidate)
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
    files = [file for file in folder.rglob("*") if file.is_file()]
    return _asset(root_layer, folder, files)


def _asset(root_layer: Path, folder: Path, files: Sequence[Path]) -> AssetRecord:
    own = root_layer.is_relative_to(folder)
    return AssetRecord(
        root_layer=(root_layer.relative_to(folder).as_posix() if own else root_layer.name),
        files=len(files),
        size=sum(file.stat().st_size for file in files),
    )
