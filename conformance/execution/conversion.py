"""How a USD of a robot comes about, whatever makes it, and what became of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never, cast

from urdf_usd.conformance.converters.candidates import (
    CommandConverter,
    OwnConverter,
    ReadyUsds,
    RegisteredConverter,
    load_registered,
)
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.foreign_conversion import (
    ConverterDiedError,
    Made,
    NoUsdError,
    call_registered,
    files_of,
    find_ready,
    run_command,
)
from urdf_usd.conformance.execution.tasks import convert_robot
from urdf_usd.conformance.records.record import AssetRecord, Verdict
from urdf_usd.converter import Conversion
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.diagnostics.rules import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from urdf_usd.conformance.converters.candidates import Candidate
    from urdf_usd.conformance.execution.workers.journal import Step, Steps
    from urdf_usd.converter import ConvertOptions, Diagnostic

    _Foreign: TypeAlias = CommandConverter | RegisteredConverter | ReadyUsds

# A program is stopped before the process that waits for it is.
_SHARE_OF_TIME = 0.95


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked of a converter.

    Attributes:
        urdf: URDF or xacro file.
        plain: What it says as URDF; the same file if it is URDF.
        directory: Folder of the asset.
        options: Choices of our converter.
        packages: Folder of each ROS package that the robot names.
        names: What ready USDs of the robot, and root layers, may be called.
        timeout: Time limit [s].
    """

    urdf: Path
    plain: Path
    directory: Path
    options: ConvertOptions
    packages: Mapping[str, str]
    names: tuple[str, ...]
    timeout: float


@dataclass(frozen=True, slots=True)
class Written:
    """A USD that is there.

    Attributes:
        root_layer: The file that consumers open.
        asset: What the record says of its files.
        seconds: How long it took to make; None if it was made elsewhere.
        diagnostics: What our converter says of the robot.
        output: End of what another converter printed.
    """

    root_layer: Path
    asset: AssetRecord
    seconds: float | None
    diagnostics: tuple[Diagnostic, ...] = ()
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A USD that is not there.

    Attributes:
        verdict: What that makes of the robot.
        reason: Why.
        diagnostics: What our converter says of the robot; None if it is silent.
        output: End of what another converter printed.
    """

    verdict: Verdict
    reason: str
    diagnostics: tuple[Diagnostic, ...] | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Making:
    """A USD that is made, at once or when it is asked for.

    Attributes:
        candidate: By whom.
        order: What is asked.
        step: What does it.
    """

    candidate: Candidate
    order: Order
    step: Step[Conversion | ConversionError | Made | NoUsdError]

    def outcome(self) -> Written | Unwritten:
        """Return what came of it."""
        ending = self.step.ending()
        if isinstance(ending, Crashed):
            died = f"the converter died: {ending.reason}"
            own = isinstance(self.candidate, OwnConverter)
            output = None if own else ending.output
            return Unwritten(Verdict.CRASHED, died, output=output)
        match ending.value:
            case ConversionError(diagnostics=found):
                reason = f"no USD was written: {first_error(found)}"
                return Unwritten(Verdict.NOT_COMPARABLE, reason, found)
            case Conversion(root_layer=layer, diagnostics=found):
                return Written(
                    root_layer=layer,
                    asset=_whole(layer, self.order.directory),
                    seconds=ending.seconds,
                    diagnostics=found,
                )
            case Made(root_layer, output):
                return self._written_elsewhere(root_layer, output, ending.seconds)
            case ConverterDiedError() as error:
                died = f"the converter died: {error}"
                return Unwritten(Verdict.CRASHED, died, output=error.output)
            case NoUsdError() as error:
                reason = f"no USD was written: {error}"
                return Unwritten(Verdict.NOT_COMPARABLE, reason, output=error.output)

    def _written_elsewhere(
        self, root_layer: Path, output: str | None, seconds: float
    ) -> Written:
        if isinstance(self.candidate, ReadyUsds):
            folder = self.candidate.folder
            files = files_of(root_layer, folder)
            return Written(root_layer, _asset(root_layer, folder, files), None)
        asset = _whole(root_layer, self.order.directory)
        return Written(root_layer, asset, seconds, output=output)


def plan_making(steps: Steps, candidate: Candidate, order: Order) -> Making:
    """Plan to have a converter make the USD of a robot.

    Args:
        steps: Where it is done.
        candidate: By whom.
        order: What is asked.
    """
    if isinstance(candidate, OwnConverter):
        arguments = str(order.urdf), str(order.directory), order.options
        return Making(candidate, order, steps.plan(convert_robot, *arguments))
    return Making(candidate, order, steps.plan(make_elsewhere, candidate, order))


def make_elsewhere(candidate: _Foreign, order: Order) -> Made | NoUsdError:
    """Convert a URDF with another converter; done in a child process."""
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
                # What is registered under this group is such a callable.
                make = cast("Callable[..., str]", load_registered(name))
                return call_registered(
                    make, order.plain, order.directory, order.packages
                )
            case ReadyUsds():
                return find_ready(candidate, order.names)
            case _:
                assert_never(candidate)
    except NoUsdError as error:
        return error


def first_error(diagnostics: Sequence[Diagnostic]) -> str:
    """Say in one line what stands in the way the most."""
    errors = [found for found in diagnostics if found.severity is Severity.ERROR]
    first = (errors or list(diagnostics))[0]
    place = f"line {first.location.line}: " if first.location else ""
    return f"{place}{first.message}"


def _whole(root_layer: Path, folder: Path) -> AssetRecord:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return _asset(root_layer, folder, files)


def _asset(root_layer: Path, folder: Path, files: Sequence[Path]) -> AssetRecord:
    own = root_layer.is_relative_to(folder)
    return AssetRecord(
        root_layer=(
            root_layer.relative_to(folder).as_posix() if own else root_layer.name
        ),
        files=len(files),
        size=sum(file.stat().st_size for file in files),
    )
