"""The engines of a run, and their requests about one robot."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field, structs

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    Available,
    Crashed,
    Observed,
    Outcome,
    Request,
    Side,
    Unavailable,
)
from urdf_usd.conformance.execution.tasks import (
    InstalledEngine,
    draw_robot,
    find_solids,
    find_touching,
    installed_engine,
    installed_engines,
    judge_usd,
    label_prims,
    listed_engine,
    observe,
    read_description,
    write_back,
)
from urdf_usd.conformance.execution.workers.limits import DEFAULT_TIMEOUT
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import OUT_OF_MEMORY, Completed
from urdf_usd.conformance.observation.robot import Base, Configurations, Observation
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.observation.solids import Solid
from urdf_usd.conformance.verdict.judged import (
    REFERENCE,
    ColliderChoice,
    Judgement,
    RoundTripOutcomes,
)
from urdf_usd.converter.options import NO_COLLIDER_RULES, ColliderRules
from urdf_usd.reports.records.record import OverlapRecord

if TYPE_CHECKING:
    from urdf_usd.conformance.matching import Labelled

# The engine whose observation of a USD is judged; other USD engines are simulators.
# Other work on a USD that may end a process runs in its worker as well.
USD_ENGINE = "openusd"
# Engines that every verdict needs.
_NEEDED = frozenset({REFERENCE, USD_ENGINE})
# Purpose of the worker that reads robot description files, with MuJoCo.
_DESCRIPTION = "description"
AT_REST = Configurations((), (), ("zero",))
# Least time limit of loading engines, whose libraries may be read from a slow disk [s].
_LOADING = 30.0


class LoadingEngines(Protocol):
    """The engines of a check, which are loaded meanwhile."""

    def __call__(self, without: str | None = None, /) -> tuple[InstalledEngine, ...]:
        """Wait until they are loaded.

        Args:
            without: An engine that is not waited for, and not among the result.

        Raises:
            MissingEngineError: The reference or the OpenUSD engine is not available.
        """


def _touching_unknown() -> None:
    """Return None: which links touch is not known."""


class EngineResults(Struct, frozen=True, eq=False):
    """The outcomes of all engines for one robot.

    Attributes:
        engines: The engines of the sides that were read, available or not.
        outcomes: By name, of those that are available.
        configurations: Number of configurations of the robot.
        back: Outcomes for the URDF written back from the USD, if there are both files.
        files: The file of each side.
        touching: Waits for the links whose colliders touch or overlap at rest: None if
            a file cannot be read, or if MuJoCo crashes.
    """

    engines: tuple[InstalledEngine, ...]
    outcomes: Mapping[str, Outcome]
    configurations: int
    back: RoundTripOutcomes | None = None
    files: Mapping[Side, Path] = field(default_factory=dict)
    touching: Callable[[], tuple[OverlapRecord, ...] | None] = _touching_unknown

    def observation(self, name: str) -> Observation | None:
        """Return the observation of an engine, if there is one."""
        outcome = self.outcomes.get(name)
        return outcome.observation if isinstance(outcome, Observed) else None

    @property
    def observed(self) -> tuple[str, ...]:
        """Names of the engines that read their file."""
        return tuple(name for name in self.outcomes if self.observation(name))


class EngineRequests(Struct, frozen=True, eq=False):
    """Requests to the available engines of one side, about one file.

    Attributes:
        side: Kind of the file.
        file: The file.
        requests: Functions that wait for the outcomes, by name of the engine.
    """

    side: Side
    file: Path
    requests: Mapping[str, Callable[[], Outcome]]

    def outcomes(self) -> dict[str, Outcome]:
        """Wait for all outcomes, in the order of the engines."""
        return {name: wait() for name, wait in self.requests.items()}


class EngineSet(Struct, frozen=True, eq=False):
    """The engines of a run, for one robot.

    Attributes:
        workers: Run requests.
        engines: The engines, sorted by name.
    """

    workers: RobotWorkers
    engines: tuple[InstalledEngine, ...]

    def request(
        self,
        side: Side,
        file: Path,
        packages: Mapping[str, str],
        configurations: Configurations = AT_REST,
        *,
        reference_last: bool = False,
    ) -> EngineRequests:
        """Request an observation of a file from every available engine of its side.

        Args:
            side: Kind of the file.
            file: The file.
            packages: Folder of each ROS package, by name.
            configurations: Where link frames are compared.
            reference_last: Whether the reference, which is a step, begins when its
                outcome is needed, so that others need not wait for it.
        """
        if configurations.rollout and self._simulates:
            plan = structs.replace(configurations.rollout, limit=True)
            configurations = structs.replace(configurations, rollout=plan)
        request = Request(str(file), configurations, dict(packages))
        available = (
            engine.name
            for engine in self.engines
            if engine.side is side and isinstance(engine.availability, Available)
        )
        requests = self._requests(available, request, reference_last=reference_last)
        return EngineRequests(side, file, requests)

    @property
    def _simulates(self) -> bool:
        """Whether a simulator reads the USD: its rollout is compared in the limit."""
        return any(
            engine.side is Side.USD
            and engine.name != USD_ENGINE
            and isinstance(engine.availability, Available)
            for engine in self.engines
        )

    def _requests(
        self,
        engines: Iterable[str],
        request: Request,
        *,
        reference_last: bool = False,
    ) -> dict[str, Callable[[], Outcome]]:
        def requested(name: str) -> Callable[[], Outcome]:
            at_once = not (reference_last and name == REFERENCE)
            wait = self.workers.request(_purpose(name), observe, name, request, at_once=at_once)
            return lambda: _outcome(wait())

        return {name: requested(name) for name in engines}

    def observe(
        self,
        requests: Sequence[EngineRequests],
        packages: Mapping[str, str],
        configurations: Configurations = AT_REST,
    ) -> EngineResults:
        """Wait for the outcomes of one side or of both.

        With both sides, the URDF is written back from the USD, and the engines that
        read the URDF read that one too. Where the USD has other names of links or
        joints than the URDF, its engines read it again with the names of the URDF.

        Args:
            requests: Of each side.
            packages: Folder of each ROS package, by name.
            configurations: Where link frames are compared.
        """
        files = {request.side: request.file for request in requests}
        # Of an engine that could not be loaded, the side is not known.
        engines = tuple(
            engine for engine in self.engines if engine.side is None or engine.side in files
        )
        outcomes: dict[str, Outcome] = {}
        for request in requests:
            outcomes |= request.outcomes()
        results = EngineResults(engines, outcomes, configurations.count, files=files)
        named = self._with_names_of_urdf(results, packages, configurations)
        # In parallel, distances are computed during the round trip and the comparison.
        touching = self._request_touching_links(named)
        back = self._round_trip(named, configurations)
        return structs.replace(named, back=back, touching=touching)

    def _round_trip(
        self, results: EngineResults, configurations: Configurations
    ) -> RoundTripOutcomes | None:
        """Write the URDF back from the USD, and read it with the URDF engines."""
        spec = results.observation(REFERENCE)
        engines = [
            engine.name
            for engine in self.engines
            if engine.side is Side.URDF
            and engine.name != REFERENCE
            and results.observation(engine.name)
        ]
        if Side.USD not in results.files or not engines or spec is None:
            return None
        usd = str(results.files[Side.USD])
        links = tuple(link.name for link in spec.links)
        reversed_limits = tuple(
            joint.name
            for joint in spec.joints
            if joint.lower is not None and joint.upper is not None and joint.lower > joint.upper
        )
        ending = self.workers.request(USD_ENGINE, write_back, usd, links, reversed_limits)()
        if isinstance(ending, Crashed):
            return RoundTripOutcomes(failure=ending.reason)
        if isinstance(ending.value, str):
            return RoundTripOutcomes(failure=ending.value)
        urdf = self.workers.folder / "back.urdf"
        urdf.write_bytes(ending.value)
        requests = self._requests(engines, Request(str(urdf), configurations))
        return RoundTripOutcomes({name: wait() for name, wait in requests.items()})

    def _with_names_of_urdf(
        self,
        results: EngineResults,
        packages: Mapping[str, str],
        configurations: Configurations,
    ) -> EngineResults:
        """Read a USD whose names of links or joints differ again, with the URDF's."""
        spec = results.observation(REFERENCE)
        usd = results.observation(USD_ENGINE)
        if spec is None or usd is None:
            return results
        if not _missing_names(spec, usd):
            return results
        path = str(results.files[Side.USD].absolute())
        label = self.workers.request(USD_ENGINE, label_prims, path, _at_rest(spec))
        ending = label()
        if isinstance(ending, Crashed) or ending.value is None:
            return results
        labels = ending.value
        file = self.workers.folder / "labelled.usda"
        file.write_text(labels.text, encoding="utf-8")
        requests = self.request(Side.USD, file, packages, configurations)
        again = {
            name: _relabelled(outcome, labels) for name, outcome in requests.outcomes().items()
        }
        return structs.replace(
            results,
            outcomes={**results.outcomes, **again},
            files={**results.files, Side.USD: file},
        )

    def draw(
        self,
        packages: Mapping[str, str],
        results: EngineResults,
        configurations: Configurations,
        target: Path,
    ) -> None:
        """Draw the robot as a step; there is no drawing if that fails.

        Args:
            packages: Folder of each ROS package, by name.
            results: Outcomes and files.
            configurations: Where link frames were compared.
            target: File of the scene.
        """
        sides = {Side.URDF.value: REFERENCE, Side.USD.value: USD_ENGINE}
        readings = {
            side: reading for side, name in sides.items() if (reading := results.observation(name))
        }
        frames = {
            engine.name: reading.frames
            for engine in results.engines
            if (reading := results.observation(engine.name)) and reading.frames
        }
        files = results.files
        target.unlink(missing_ok=True)
        if Side.URDF.value in readings:
            self.workers.call(
                draw_robot,
                str(files[Side.URDF]),
                packages,
                str(files[Side.USD]),
                readings,
                frames,
                configurations,
                str(target),
            )

    def promise(
        self, text: str, attached: Mapping[str, bytes], results: EngineResults
    ) -> Completed[SimulationObservation] | Crashed | None:
        """Read what a robot description file states of a robot.

        Args:
            text: Of the file.
            attached: Content of the files that it names.
            results: Outcomes, among them those of the reference and of OpenUSD.

        Returns:
            None if the URDF or the USD cannot be read.
        """
        spec = results.observation(REFERENCE)
        if spec is None or results.observation(USD_ENGINE) is None:
            return None
        solids: tuple[Solid, ...] = ()
        if _uses_overlaps(text):
            usd = str(results.files[Side.USD])
            found = self.workers.request(USD_ENGINE, find_solids, usd)()
            if isinstance(found, Crashed):
                return found
            solids = found.value
        return self.workers.request(
            _DESCRIPTION,
            read_description,
            text,
            spec,
            attached,
            solids,
            str(results.files[Side.URDF]),
        )()

    def _request_touching_links(
        self, results: EngineResults
    ) -> Callable[[], tuple[OverlapRecord, ...] | None]:
        """Request the links whose colliders touch or overlap at rest."""
        spec = results.observation(REFERENCE)
        if spec is None or results.observation(USD_ENGINE) is None:
            return _touching_unknown
        usd = str(results.files[Side.USD])
        found = self.workers.request(USD_ENGINE, find_solids, usd)()
        if isinstance(found, Crashed):
            return _touching_unknown
        if not found.value:
            return lambda: ()
        near = self.workers.request(_DESCRIPTION, find_touching, spec, found.value)
        return lambda: _overlaps(near())

    def judge(
        self,
        results: EngineResults,
        base: Base | None,
        promise: SimulationObservation | None = None,
        estimated: frozenset[str] = frozenset(),
        colliders: ColliderRules = NO_COLLIDER_RULES,
    ) -> Completed[Judgement] | Crashed:
        """Compare the outcomes as a step.

        Args:
            results: Outcomes, among them those of the reference and of OpenUSD.
            base: The base that the USD has to have; None if the URDF decides.
            promise: What a robot description file states, if there is one.
            estimated: Links whose mass properties were computed from shapes.
            colliders: Colliders that the USD has to have instead of the URDF's.
        """
        urdf = {
            engine.name: results.outcomes[engine.name]
            for engine in results.engines
            if engine.side is Side.URDF and engine.name in results.outcomes
        }
        usd = results.outcomes[USD_ENGINE]
        simulators = tuple(
            results.outcomes[engine.name]
            for engine in results.engines
            if engine.side is Side.USD
            and engine.name != USD_ENGINE
            and engine.name in results.outcomes
        )
        return self.workers.call(
            partial(
                judge_usd,
                urdf,
                usd,
                simulators=simulators,
                back=results.back,
                expected_base=base,
                promise=promise,
                estimated=estimated,
                colliders=_choices(results.observation(REFERENCE), colliders),
            )
        )


def _missing_names(expected: Observation, actual: Observation) -> bool:
    """Whether a link or joint of the URDF is missing in the USD by its name."""
    links = {link.name for link in actual.links}
    joints = {joint.name for joint in actual.joints}
    return any(link.name not in links for link in expected.links) or any(
        joint.name not in joints for joint in expected.joints
    )


def _uses_overlaps(text: str) -> bool:
    """Whether a robot description file filters links whose colliders overlap."""
    return bool(tomllib.loads(text).get("filters", {}).get("overlap"))


def _choices(spec: Observation | None, rules: ColliderRules) -> dict[str, ColliderChoice]:
    """Return the requested colliders of each link that has a rule."""
    tolerance = rules.tolerance
    return {
        link.name: ColliderChoice(kind.value, tolerance.length, tolerance.fraction)
        for link in (spec.links if spec else ())
        if (kind := rules.kind_of(link.name))
    }


def _at_rest(reading: Observation) -> Observation:
    """Reduce an observation to link frames and joints at zero."""
    frames = reading.frames
    return structs.replace(
        reading,
        frames=frames
        and structs.replace(
            frames,
            positions=frames.positions[:1],
            rotations=frames.rotations[:1],
            labels=frames.labels[:1],
        ),
        dynamics=None,
        rollout=None,
        shapes=tuple(
            structs.replace(shape, surface=None, appearances=()) for shape in reading.shapes
        ),
    )


def _relabelled(outcome: Outcome, labels: Labelled) -> Outcome:
    """Add notes on names that differ in the file."""
    if not isinstance(outcome, Observed):
        return outcome
    notes = [f"{what} is called {name!r}" for what, name in labels.spelled]
    observation = structs.replace(
        outcome.observation,
        renamed=labels.inferred,
        notes=(*outcome.observation.notes, *notes),
    )
    return Observed(observation)


def _overlaps(
    ending: Completed[dict[tuple[str, str], float]] | Crashed,
) -> tuple[OverlapRecord, ...] | None:
    if isinstance(ending, Crashed):
        return None
    return tuple(
        OverlapRecord(links=links, distance=distance) for links, distance in ending.value.items()
    )


def _outcome(ending: Completed[Observed | Abstained] | Crashed) -> Outcome:
    return ending if isinstance(ending, Crashed) else ending.value


def require_installed(requested: Sequence[str]) -> None:
    """Refuse names of engines that are not installed; no engine is loaded.

    Raises:
        UnknownEngineError: An engine of that name is not installed.
    """
    installed = registry.names()
    for name in requested:
        if name not in installed:
            raise registry.UnknownEngineError(
                f"no engine is called {name!r}; there are {', '.join(installed)}"
            )


def list_engines(
    pool: WorkerPool, timeout: float = DEFAULT_TIMEOUT, *, spawned: bool = False
) -> tuple[InstalledEngine, ...]:
    """Load all installed engines in workers, and list them sorted by name.

    They are loaded in one process, unless one of them ends it or exceeds its time: then
    each is loaded in its own process, and that one is listed as crashed.

    Args:
        pool: Where they are loaded.
        timeout: Time limit of a process [s]; loading has at least 30 s.
        spawned: Whether that process is spawned.
    """
    limit = max(timeout, _LOADING)
    ending = pool.call(installed_engines, timeout=limit, spawned=spawned)
    if not isinstance(ending, Crashed):
        return ending.value
    return tuple(
        listed_engine(name, pool.call(installed_engine, name, timeout=limit))
        for name in registry.names()
    )


def select_engines(
    pool: WorkerPool,
    requested: Sequence[str] = (),
    timeout: float = DEFAULT_TIMEOUT,
    *,
    spawned: bool = False,
) -> tuple[InstalledEngine, ...]:
    """Select the engines of a run: those requested, and the two that verdicts need.

    Args:
        pool: Engines are loaded in its workers.
        requested: Names; all available engines if empty, and those that crashed when
            they were loaded.
        timeout: As in :func:`list_engines`.
        spawned: As in :func:`list_engines`.

    Raises:
        UnknownEngineError: A name is not that of an installed engine.
        MissingEngineError: The reference or the OpenUSD engine is not available.
    """
    require_installed(requested)
    engines = list_engines(pool, timeout, spawned=spawned)
    return _selected(engines, requested, pool.memory)


def load_engines(workers: RobotWorkers, requested: Sequence[str] = ()) -> LoadingEngines:
    """Load the engines of one robot, each in the worker that it will use.

    Args:
        workers: Load them.
        requested: As in :func:`select_engines`.

    Returns:
        A function that waits until they are loaded, and selects them as
        :func:`select_engines` does.

    Raises:
        UnknownEngineError: A name is not that of an installed engine.
    """
    require_installed(requested)
    loaded = sorted({*requested, *_NEEDED}) if requested else registry.present()
    waits = {
        name: workers.request(_purpose(name), installed_engine, name, least_timeout=_LOADING)
        for name in loaded
    }

    @cache
    def engine(name: str) -> InstalledEngine:
        return listed_engine(name, waits[name]())

    def wait(without: str | None = None) -> tuple[InstalledEngine, ...]:
        engines = [engine(name) for name in loaded if name != without]
        return _selected(engines, requested, workers.memory)

    return wait


def _purpose(engine: str) -> str | None:
    """Return the purpose of the worker of an engine.

    The reference is a step, as the URDF is parsed in that process already, and its
    meshes are drawn there later.
    """
    return None if engine == REFERENCE else engine


def _selected(
    engines: Sequence[InstalledEngine], requested: Sequence[str], memory: int | None
) -> tuple[InstalledEngine, ...]:
    for engine in engines:
        if engine.name in _NEEDED:
            _require_available(engine, memory)
    # An optional engine that is not installed is only reported if it was requested.
    chosen = (
        {*requested, *_NEEDED}
        if requested
        else {w.name for w in engines if not isinstance(w.availability, Unavailable)}
    )
    return tuple(engine for engine in engines if engine.name in chosen)


def _require_available(engine: InstalledEngine, memory: int | None) -> None:
    match engine.availability:
        case Unavailable(reason, remedy):
            why = f"{reason}; {remedy}"
        case Crashed(reason) if OUT_OF_MEMORY in reason:
            raise registry.MissingEngineError(
                f"engines and libraries alone take more than {memory} MiB "
                "of memory: allow more, see --memory"
            )
        case Crashed(reason) if memory and "the process" in reason:
            # Libraries of which a part was mapped end the process in several ways.
            why = f"{reason}; if {memory} MiB of memory are not enough, see --memory"
        case Crashed(reason):
            why = reason
        case _:
            return
    raise registry.MissingEngineError(f"engine {engine.name} is not usable: {why}")
