"""The examination of one robot: what is converted and compared, and by which engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct, field, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.engines import protocol as p
from urdf_usd.conformance.execution import worker
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import Drawing
from urdf_usd.conformance.options import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.verdict.judged import DECIDING, REFERENCE, RoundTripOutcomes
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.options import ConvertOptions, VariantChoice
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import OverlapRecord, RobotRecord

# The engine whose observation of a USD is judged; other USD engines are simulators.
USD_ENGINE = "openusd"
# Engines that verdicts need.
_NEEDED = frozenset({*DECIDING.values(), USD_ENGINE})
# Least time limit of loading engines, whose libraries may be read from a slow disk [s].
_LOADING = 30.0
# Libraries for which there is no memory end the process in several ways.
_HINT = "; if memory is not enough, see --memory"


class InstalledEngine(Struct, frozen=True):
    """An engine that is installed, and whether it is available here."""

    name: str  # under which it is registered
    side: p.Side | None  # the kind of file that it reads; None if it cannot be loaded
    # as the engine states it; how loading it ended, if it crashed
    availability: p.Availability | p.Crashed

    @property
    def is_available(self) -> bool:
        return isinstance(self.availability, p.Available)

    @property
    def problem(self) -> str | None:
        match self.availability:
            case p.Unavailable(reason, remedy):
                return f"{reason}; {remedy}"
            case p.Crashed(reason):
                return reason
        return None


def installed_engine(name: str) -> InstalledEngine:
    """Load an engine, and return whether it is available; raise a TypeError if it is none."""
    loaded = p.engine(name)
    side, availability = cast("tuple[object, object]", (loaded.side, loaded.availability()))
    if isinstance(side, p.Side) and isinstance(availability, p.Available | p.Unavailable):
        return InstalledEngine(name, side, availability)
    raise TypeError(f"its side is {side!r}, its availability {availability!r}")


def _load_engines(names: Sequence[str]) -> list[InstalledEngine]:
    """Load engines, each as a step; one that crashes is listed as crashed."""
    steps, found = worker.Steps(), []
    for name in names:
        engine = steps.call(name, installed_engine, name)
        if isinstance(engine, p.Crashed):
            crash = p.Crashed(f"it cannot be loaded: {engine.reason}", engine.output)
            engine = InstalledEngine(name, None, crash)
        found.append(engine)
    return found


def list_engines(limits: Limits = DEFAULT_LIMITS) -> list[InstalledEngine]:
    """Load all installed engines in a worker, and list them sorted by name."""
    limits = structs.replace(limits, time=max(limits.time, _LOADING))
    found = worker.call(_load_engines, p.names(), limits=limits)
    if isinstance(found, list):
        return found
    why = found.reason if isinstance(found, p.Crashed) else found
    raise p.MissingEngineError(f"engines cannot be loaded: {why}{_HINT}")


def select_engines(
    requested: Sequence[str] = (), limits: Limits = DEFAULT_LIMITS
) -> tuple[InstalledEngine, ...]:
    """Select the engines of a run: those requested, and the two that verdicts need.

    If none is requested, these are all that are available or crash when they are loaded.

    Raises:
        UnknownEngineError: A name is not that of an installed engine.
        MissingEngineError: The reference or the OpenUSD engine is not available.
    """
    for name in requested:
        p.target(name)
    engines = list_engines(limits)
    for engine in engines:
        if engine.name in _NEEDED and not engine.is_available:
            raise p.MissingEngineError(
                f"engine {engine.name} is not usable: {engine.problem}{_HINT}"
            )
    # An optional engine that is not installed is only reported if it was requested.
    return tuple(
        engine
        for engine in engines
        if engine.name in {*requested, *_NEEDED}
        or not (requested or isinstance(engine.availability, p.Unavailable))
    )


class EngineResults(Struct, frozen=True, eq=False):
    """The outcomes of all engines for one robot."""

    engines: tuple[InstalledEngine, ...] = ()  # of the sides that were read, available or not
    # by name, of those that are available
    outcomes: Mapping[str, p.Outcome] = field(default_factory=dict)
    configurations: int = 0  # number of configurations of the robot
    files: Mapping[p.Side, Path] = field(default_factory=dict)  # the file of each side
    # for the URDF written back from the USD, if there are both files
    back: RoundTripOutcomes | None = None
    # links whose colliders touch or overlap at rest; None if that is not known
    touching: tuple[OverlapRecord, ...] | None = None
    drawings: tuple[Drawing, ...] = ()  # of the USD

    def observation(self, name: str) -> Observation | None:
        """Return the observation of an engine, if there is one."""
        outcome = self.outcomes.get(name)
        return outcome.observation if isinstance(outcome, p.Observed) else None

    @property
    def deciding(self) -> str:
        """Name of the engine that decides what the source states."""
        return next((DECIDING[side] for side in self.files if side in DECIDING), REFERENCE)

    @property
    def expected(self) -> Observation | None:
        return self.observation(self.deciding)

    def of_side(self, side: p.Side) -> dict[str, p.Outcome]:
        """Return the outcomes of the engines of one side, by name."""
        return {
            engine.name: self.outcomes[engine.name]
            for engine in self.engines
            if engine.side is side and engine.name in self.outcomes
        }


class Job(Struct, frozen=True):
    """One robot of a run or a check, and how it is examined."""

    source: RobotSource
    engines: tuple[InstalledEngine, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    # of the conversion; of a check, how the URDF is read and what the USD has to have
    options: ConvertOptions = field(default_factory=ConvertOptions)
    # root layer of the USD that is compared, in a check; or another description of the robot
    usd: Path | None = None
    second: RobotSource | None = None  # that description, with its packages
    # names of links and joints in the description, and in that second one
    mapped: tuple[tuple[str, str], ...] = ()
    variants: tuple[VariantChoice, ...] = ()  # to select in it, or in USDs of other converters
    strict: bool = False  # whether a USD is refused that refers to files outside its folder
    root: str | None = None  # prim that is read instead of the default prim
    scene: Path | None = None  # file of a drawing, in a check
    folder: Path = Path()  # of the run
    candidate: Candidate = OWN  # the converter
    compared: bool = False  # whether the run has several converters
    names: tuple[str, ...] = ()  # that a USD of it may have that was made elsewhere
    timed: bool = False  # whether to write how long it takes

    @property
    def place(self) -> str:
        """Its path within each folder of the run, without a suffix."""
        name = self.source.id
        return f"{self.candidate.name}/{name}" if self.compared else name

    @property
    def own(self) -> bool:
        return self.usd is None and self.candidate == OWN

    @property
    def asset(self) -> Path:
        return self.usd.parent if self.usd else self.folder / "assets" / self.place

    @property
    def packages(self) -> dict[str, str]:
        """Folder of each ROS package, by name: options go before what the source states."""
        stated = {name: str(folder) for name, folder in self.source.packages}
        return stated | dict(self.options.packages)

    @property
    def arguments(self) -> dict[str, str]:
        """Value of each argument of a xacro file, by name, likewise."""
        return dict(self.source.arguments) | dict(self.options.arguments)

    @property
    def conversion(self) -> ConvertOptions:
        """Options of the conversion: with the base that a list states, if the option does not."""
        base = self.options.base
        if base is BaseOption.AUTO and self.source.base:
            base = BaseOption(self.source.base)
        packages, arguments = tuple(self.packages.items()), tuple(self.arguments.items())
        return structs.replace(self.options, base=base, packages=packages, arguments=arguments)

    @property
    def required(self) -> ConvertOptions:
        """Options that the USD has to meet: other converters know the base alone."""
        options = self.conversion
        return options if self.own or self.usd else ConvertOptions(base=options.base)


class Examined(Struct, frozen=True, eq=False):
    """The result of a robot, and what it depends on."""

    record: RobotRecord
    inputs: tuple[InputFile, ...] = ()  # files of the robot, the URDF first
    # references of the URDF to files, and where these are
    references: tuple[tuple[str, str | None], ...] = ()
    crashed: bool = False  # whether a step crashed
