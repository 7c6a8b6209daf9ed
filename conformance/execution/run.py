"""Checks, and runs over many robots, here or on a cluster.

The work on a robot is done by worker processes. This process has a thread for each
robot at work, which waits for its workers.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections import Counter
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import TypeAlias

from msgspec import DecodeError, Struct, field, structs

from urdf_usd.conformance.converters.candidates import OURS, OWN, Candidate
from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.assembly import (
    Subject,
    summary_of,
    unavailable_record,
)
from urdf_usd.conformance.execution.engine_set import load_engines, select_engines
from urdf_usd.conformance.execution.errors import ClusterError
from urdf_usd.conformance.execution.examination.assignment import (
    Assignment,
    Unchanged,
)
from urdf_usd.conformance.execution.examination.pair import examine_pair
from urdf_usd.conformance.execution.examination.robot import (
    examine_isolated,
    record_errors,
)
from urdf_usd.conformance.execution.examination.unchanged import (
    FormerReading,
    begin_reading,
    is_unchanged,
)
from urdf_usd.conformance.execution.fingerprint import (
    converter_programs,
    engine_programs,
)
from urdf_usd.conformance.execution.interruption import DeferredInterrupts
from urdf_usd.conformance.execution.requirements import Requirements
from urdf_usd.conformance.execution.run_folder import (
    RunFolder,
    claim_run_folder,
    engines_path,
    is_finished,
)
from urdf_usd.conformance.execution.stored_engines import read_engines, store_engines
from urdf_usd.conformance.execution.tasks import (
    FormerInputs,
    InstalledEngine,
)
from urdf_usd.conformance.execution.usd_limits import (
    ReadOptions,
    call_on_usd,
    list_combinations,
)
from urdf_usd.conformance.execution.workers.limits import (
    DEFAULT_LIMITS,
    Limits,
    processors,
)
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.requested_settings import read_shape_settings
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import (
    DEFAULT_DENSITY,
    DEFAULT_TOLERANCE,
    NO_COLLIDER_RULES,
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ColliderTolerance,
    ConvertOptions,
    InertiaOption,
    VariantChoice,
)
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.simulation.description import Description
from urdf_usd.corpus import Resolved, RobotSource, UnavailableSource
from urdf_usd.corpus.resolution import announce_on_stderr
from urdf_usd.installation import install_command
from urdf_usd.reports.records.record import RobotRecord, RunSummary
from urdf_usd.reports.records.results import (
    read_record,
    record_path,
    write_record,
)

EXTERNAL = "unknown"


class CheckOptions(Struct, frozen=True):
    """Options of a check.

    Attributes:
        base: Base that the USD has to have; ``auto`` if the URDF decides.
        packages: Folder of each ROS package, by name.
        arguments: Value of each argument of a xacro file, by name.
        environment: Names of environment variables that xacro may read, besides those
            of ROS.
        engines: Engines besides the reference and OpenUSD; all if empty.
        limits: Of each process.
        jobs: With 1, engines run one after the other; else at the same time. One per
            processor if None.
        variants: Variants to select in the USD.
        strict: Whether to refuse a USD that refers to files outside its folder.
        root: Path of the robot's prim, if it is not the default prim of the USD.
        simulation: Robot description file with settings that the USD has to have; its
            base counts if that of the options is ``auto``.
        inertia: Mass properties that the USD has to have where those of the URDF are
            missing or impossible.
        mass_density: Of links without mass, if these are those of shapes [kg/m^3].
        colliders: Colliders that the USD has to have instead of the URDF's.
    """

    base: BaseOption = BaseOption.AUTO
    packages: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    environment: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    jobs: int | None = None
    variants: tuple[VariantChoice, ...] = ()
    strict: bool = False
    root: str | None = None
    simulation: Description | None = None
    inertia: InertiaOption = InertiaOption.KEEP
    mass_density: float = DEFAULT_DENSITY
    colliders: ColliderRules = NO_COLLIDER_RULES


class RunOptions(Struct, frozen=True):
    """Options of a run.

    Attributes:
        convert: Options of the conversion.
        engines: As in :class:`CheckOptions`; likewise the limits.
        jobs: Robots at work at the same time; one per processor if None.
        resume: Keep results in the folder that would be the same again.
        retry: Of those, repeat the ones in which something crashed.
        scheduler: Address of a Dask cluster; None to work here.
        shared: Whether its workers have the same files under the same paths.
        converters: Every robot is converted by each.
        gated: Name of the converter that decides whether the run passes.
        timed: Whether to write how long each robot takes.
        variants: Variants to select in USDs of other converters that have these sets.
    """

    convert: ConvertOptions = field(default_factory=ConvertOptions)
    engines: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    jobs: int | None = None
    resume: bool = False
    retry: bool = False
    scheduler: str | None = None
    shared: bool = False
    converters: tuple[Candidate, ...] = (OWN,)
    gated: str = OURS
    timed: bool = False
    variants: tuple[VariantChoice, ...] = ()

    def as_text(self) -> dict[str, str]:
        """Return the options that change results, for the summary."""
        given = (f"{name}:={value}" for name, value in self.convert.arguments)
        arguments = {"arg": shlex.join(given)} if self.convert.arguments else {}
        names = sorted(set(self.convert.environment))
        environment = {"env": shlex.join(names)} if names else {}
        chosen = shlex.join(map(str, self.variants))
        return {
            **arguments,
            **environment,
            **({"variant": chosen} if chosen else {}),
            **(
                {"with": Path(self.convert.simulation.file).name} if self.convert.simulation else {}
            ),
            "profile": self.convert.profile.value,
            **({"physics-variants": "yes"} if self.convert.physics_variants else {}),
            "layout": self.convert.layout.value,
            "bodies": self.convert.nesting.value,
            "base": self.convert.base.value,
            "massless": self.convert.massless.value,
            **self._estimation(),
            **self._colliders(),
            "merge-fixed": "yes" if self.convert.merge_fixed else "no",
            "engines": ", ".join(self.engines) or "all",
        }

    def _colliders(self) -> dict[str, str]:
        rules = self.convert.colliders
        if not rules:
            return {}
        chosen = {"colliders": shlex.join(map(str, rules.rules))}
        if any(rule.kind is ColliderKind.PRIMITIVES for rule in rules.rules):
            chosen["collider-tolerance"] = str(rules.tolerance)
        return chosen

    def _estimation(self) -> dict[str, str]:
        if self.convert.inertia is InertiaOption.KEEP:
            return {}
        density = f"{self.convert.mass_density:g} kg/m^3"
        return {"inertia": self.convert.inertia.value, "mass-density": density}


CHECK_DEFAULTS = CheckOptions()
RUN_DEFAULTS = RunOptions()


def check(
    urdf: str | os.PathLike[str],
    usd: str | os.PathLike[str],
    options: CheckOptions = CHECK_DEFAULTS,
    *,
    name: str | None = None,
    reference: str | None = None,
    scene: str | os.PathLike[str] | None = None,
) -> RobotRecord:
    """Compare a USD, from any converter, with its URDF.

    Args:
        urdf: URDF file, or a file that ends in ``.xacro``.
        usd: Root layer of the USD.
        options: Options.
        name: Identifier in the record; the URDF's stem if None.
        reference: Name of the URDF in the record; its file name if None.
        scene: File of a drawing for the robot's page, if there is to be one.

    Raises:
        SourceError: The URDF is invalid or unsupported.
        StageError: A variant or the robot's prim does not exist in the USD.
        UnknownEngineError: An engine is named that is not installed.
    """
    urdf, usd = Path(urdf), Path(usd)
    subject = Subject(
        id=name or urdf.stem,
        reference=reference or f"file:{urdf.name}",
        converter=EXTERNAL,
        urdf=urdf,
        usd=usd.parent,
        packages=dict(options.packages),
        arguments=dict(options.arguments),
        environment=options.environment,
    )
    jobs = options.jobs or processors()
    requirements = _requirements(options)

    def examined(pool: WorkerPool) -> RobotRecord | ConversionError:
        timeout, parallel = options.limits.time, jobs > 1
        with RobotWorkers(pool, timeout, parallel=parallel) as workers:
            engines = load_engines(workers, options.engines)
            drawing = Path(scene) if scene else None
            reading = ReadOptions(options.variants, strict=options.strict, root=options.root)
            return record_errors(
                subject,
                lambda: examine_pair(
                    workers,
                    subject,
                    usd,
                    engines,
                    requirements,
                    scene=drawing,
                    options=reading,
                ),
            )

    pool = WorkerPool(options.limits.memory)
    with DeferredInterrupts() as interrupts, ThreadPoolExecutor(1) as threads, pool:
        result = interrupts.result(threads.submit(examined, pool))
    if isinstance(result, ConversionError):
        raise result
    return result


def _requirements(options: CheckOptions) -> Requirements:
    """Return what options require, or the robot description file where they do not."""
    base, inertia, density = options.base, options.inertia, options.mass_density
    colliders = options.colliders
    if options.simulation is not None:
        if base is BaseOption.AUTO:
            base = BaseOption(options.simulation.tables.base or base)
        stated = read_shape_settings(options.simulation.text)
        if inertia is InertiaOption.KEEP and stated.inertia is not None:
            inertia = InertiaOption(stated.inertia)
        if density == DEFAULT_DENSITY:
            density = stated.density or density
        tolerance = colliders.tolerance
        if tolerance == DEFAULT_TOLERANCE and stated.tolerance is not None:
            tolerance = ColliderTolerance.parse(stated.tolerance)
        rules = map(ColliderRule.parse, stated.colliders)
        colliders = ColliderRules((*rules, *colliders.rules), tolerance)
    return Requirements(
        base,
        density if inertia is InertiaOption.GEOMETRY else None,
        colliders,
        options.simulation,
    )


def variant_combinations(
    usd: str | os.PathLike[str], options: CheckOptions = CHECK_DEFAULTS
) -> tuple[tuple[CheckOptions, ...], tuple[tuple[VariantChoice, str], ...]]:
    """List checks of a USD, one for each combination of variants of its robot.

    The variant sets of the default prim and of prims below it are combined, also those
    that a variant contains. A combination is left out if a variant with the name
    ``none`` leaves the robot without physics or colliders, as the name states.

    Args:
        usd: Root layer.
        options: Options of the checks; all select its variants, which leave nothing
            out.

    Returns:
        Options of the checks; and the variants whose combinations are left out, each
        with what it omits.

    Raises:
        StageError: The USD cannot be read within the limits, a variant does not exist,
            or there are more than 64 combinations.
    """
    found = call_on_usd(
        partial(list_combinations, strict=options.strict),
        usd,
        options.variants,
        limits=options.limits,
    )
    checked = (each.choices for each in found if not each.omission)
    omissions = (each.omission for each in found if each.omission)
    return (
        tuple(structs.replace(options, variants=choices) for choices in checked),
        tuple(dict.fromkeys(omissions)),
    )


def run(
    sources: Sequence[Resolved],
    out: str | os.PathLike[str],
    options: RunOptions = RUN_DEFAULTS,
    *,
    corpus: Sequence[str] = (),
    progress: Callable[[RobotRecord], None] | None = None,
    announce: Callable[[str], None] = announce_on_stderr,
) -> RunSummary:
    """Convert and check robots; write a record of each as soon as it is finished.

    Args:
        sources: Robots, with distinct ids.
        out: Folder that receives ``results/<id>.json``, ``assets/<id>/``,
            ``scenes/<id>.gz`` for pages, and ``expanded/<id>.urdf`` of xacro files;
            with several converters, each has separate folders there, and one in
            ``timings``. What a former run wrote is removed first, unless this one
            resumes it.
        options: Options.
        corpus: The references that were resolved to the robots, for the summary.
        progress: Called with each record, in the order in which robots finish.
        announce: Called with a line of text if something unexpected happens.

    Raises:
        ClusterError: The cluster cannot be reached or used.
        RunFolderError: Another run uses the folder, or it has files that no run wrote.
        UnknownEngineError: An engine is named that is not installed.
    """
    # Before the folder is emptied.
    for name in options.engines:
        registry.require(name)
    if options.scheduler is not None:
        require_scheduler(options.scheduler)
    with (
        started_run(sources, Path(out), options) as started,
        claim_run_folder(
            Path(out),
            places(sources, options),
            resume=options.resume,
            announce=announce,
        ) as folder,
    ):
        return run_in_folder(
            sources,
            folder,
            started,
            options,
            corpus=corpus,
            progress=progress,
            announce=announce,
        )


class StartedRun(Struct, frozen=True, eq=False):
    """Processes of a run, and what they do already; see :func:`started_run`.

    Attributes:
        pool: The processes.
        reading: Robots with a former result, which are being read.
    """

    pool: WorkerPool
    reading: tuple[FormerReading, ...]


@contextmanager
def started_run(
    sources: Sequence[Resolved], out: Path, options: RunOptions
) -> Iterator[StartedRun]:
    """Begin to read the robots of a resumed run, until the block ends.

    What they are does not depend on the folder of the run, which is claimed meanwhile.

    Args:
        sources: Robots, with distinct ids.
        out: Folder of the run.
        options: Options.
    """
    with WorkerPool(options.limits.memory) as pool:
        former: list[RobotSource] = []
        if options.resume and options.scheduler is None:
            former = [
                source
                for source in sources
                if not isinstance(source, UnavailableSource)
                and any(is_finished(out, one) for one in places((source,), options))
            ]
        jobs = options.jobs or processors()
        with DeferredInterrupts():
            reading = begin_reading(pool, former, options.convert, options.limits, jobs)
        yield StartedRun(pool, reading)


def run_in_folder(
    sources: Sequence[Resolved],
    folder: RunFolder,
    started: StartedRun,
    options: RunOptions = RUN_DEFAULTS,
    *,
    corpus: Sequence[str] = (),
    progress: Callable[[RobotRecord], None] | None = None,
    announce: Callable[[str], None] = announce_on_stderr,
) -> RunSummary:
    """Run as :func:`run` does, in a folder that is locked already."""
    records: list[RobotRecord] = []
    with closing(_examined(sources, folder, started, options, announce)) as examined:
        for place, result in examined:
            file = record_path(folder.path, place)
            # Right before it counts: an interruption can come any time.
            if isinstance(result, RobotRecord):
                write_record(result, file)
                folder.finish(place)
            # Read back, so that reports are the same as those of a resumed run: in JSON
            # an integer and the float of its value are one number.
            former = result.record if isinstance(result, Unchanged) else None
            record = former or read_record(file)
            records.append(record)
            if progress:
                progress(record)
    return summarise(records, options, corpus)


def summarise(
    records: Iterable[RobotRecord],
    options: RunOptions,
    corpus: Sequence[str],
    unfinished: int = 0,
) -> RunSummary:
    """Summarise the records of a run, also of one that was interrupted."""
    return summary_of(
        records,
        corpus,
        options.as_text(),
        unfinished,
        converters=options.converters,
        gated=options.gated,
    )


def _examined(
    sources: Sequence[Resolved],
    folder: RunFolder,
    started: StartedRun,
    options: RunOptions,
    announce: Callable[[str], None],
) -> Generator[tuple[str, RobotRecord | Unchanged]]:
    """Yield place and result of each robot, in the order in which they finish."""
    jobs = options.jobs or processors()
    pool = started.pool
    # If nothing has changed, the engines are loaded at most once, only to know that.
    resumed = bool(started.reading)
    # On an interruption the pool is closed first, for which the threads wait.
    with (
        DeferredInterrupts() as interrupts,
        ThreadPoolExecutor(jobs) as threads,
        pool,
    ):
        stored = engines_path(folder.path)
        known = read_engines(stored, options.engines) if resumed else None
        load = partial(select_engines, pool, options.engines, options.limits.time)
        loading = None if known else threads.submit(load, spawned=resumed)
        # While robots are read.
        former = _former_records(folder, places(sources, options))
        planned = _assignments(sources, folder, options, former)
        reading = {
            robot: partial(_part_of, call, index)
            for part in started.reading
            for call in [threads.submit(part.wait)]
            for index, robot in enumerate(part.robots)
        }
        engines = known or interrupts.result(loading or threads.submit(load))
        unchanged, changed = _divided(planned, engines, reading, interrupts)
        if known and changed:
            engines = interrupts.result(threads.submit(load))
            unchanged, changed = _divided(planned, engines, reading, interrupts)
        if not known or changed:
            store_engines(stored, options.engines, engines)
        if changed:
            folder.remove_overview()
        for source, candidate in itertools.product(sources, options.converters):
            if isinstance(source, UnavailableSource):
                place = _place(source, candidate, options)
                folder.remove_overview()
                folder.remove(place)
                yield place, unavailable_record(source, candidate)
        try:
            for assignment in unchanged:
                yield assignment.place, Unchanged(former.pop(assignment.place))
            if options.scheduler is None:
                yield from _examined_here(changed, pool, threads, interrupts, jobs)
            else:
                yield from _examined_there(changed, pool, threads, interrupts, options, announce)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _assignments(
    sources: Sequence[Resolved],
    folder: RunFolder,
    options: RunOptions,
    former: Mapping[str, RobotRecord],
) -> list[Assignment]:
    """Return the robots that are available, without engines and programs."""
    names = _names(sources)
    assignments = [
        Assignment(
            source=source,
            out=folder.path,
            # Links are compared one by one, also those within a chain.
            options=structs.replace(options.convert, keep_chains=True),
            engines=(),
            limits=options.limits,
            retry=options.retry,
            candidate=candidate,
            compared=len(options.converters) > 1,
            names=names[source.id],
            timed=options.timed,
            variants=options.variants,
        )
        for source, candidate in itertools.product(sources, options.converters)
        if not isinstance(source, UnavailableSource)
    ]
    return [
        structs.replace(one, former=former[one.place].fingerprint) if one.place in former else one
        for one in assignments
    ]


# Waits until a robot was read; None if the process crashed.
_Reading: TypeAlias = Callable[[DeferredInterrupts], FormerInputs | None]


def _divided(
    planned: Iterable[Assignment],
    engines: tuple[InstalledEngine, ...],
    reading: Mapping[str, _Reading],
    interrupts: DeferredInterrupts,
) -> tuple[list[Assignment], list[Assignment]]:
    """Divide robots into those whose former result is valid, and those to examine.

    Args:
        planned: Robots without engines and programs, which are added.
        engines: The engines.
        reading: Waits until a robot with a former result was read, by its id.
        interrupts: Of the run.
    """
    readers = engine_programs(engine.name for engine in engines)
    unchanged: list[Assignment] = []
    changed: list[Assignment] = []
    for one in planned:
        programs = (*converter_programs(one.candidate), *readers)
        assignment = structs.replace(one, engines=engines, programs=programs)
        wait = reading.get(one.source.id)
        inputs = wait and wait(interrupts)
        valid = inputs is not None and is_unchanged(assignment, inputs)
        (unchanged if valid else changed).append(assignment)
    return unchanged, changed


def _part_of(
    call: Future[Completed[tuple[FormerInputs | None, ...]] | Crashed],
    index: int,
    interrupts: DeferredInterrupts,
) -> FormerInputs | None:
    ending = interrupts.result(call)
    return ending.value[index] if isinstance(ending, Completed) else None


def _examined_here(
    assignments: Sequence[Assignment],
    pool: WorkerPool,
    threads: Executor,
    interrupts: DeferredInterrupts,
    jobs: int,
) -> Generator[tuple[str, RobotRecord | Unchanged]]:
    finished: SimpleQueue[Future[RobotRecord | Unchanged]] = SimpleQueue()
    places = {}
    for index, assignment in enumerate(assignments):
        # The last robots would leave processors idle.
        parallel = len(assignments) - index < jobs
        future = threads.submit(examine_isolated, pool, assignment, {}, parallel=parallel)
        places[future] = assignment.place
        future.add_done_callback(finished.put)
    for _ in assignments:
        future = interrupts.get(finished)
        # A future keeps its result.
        yield places.pop(future), future.result()


def _examined_there(
    assignments: Sequence[Assignment],
    pool: WorkerPool,
    threads: Executor,
    interrupts: DeferredInterrupts,
    options: RunOptions,
    announce: Callable[[str], None],
) -> Generator[tuple[str, RobotRecord | Unchanged]]:
    cluster = _cluster()
    examined = cluster.examined_on(
        options.scheduler or "",
        assignments,
        pool=pool,
        threads=threads,
        interrupts=interrupts,
        jobs=options.jobs or processors(),
        shared=options.shared,
        announce=announce,
    )
    with closing(examined):
        for assignment, result in examined:
            yield assignment.place, result


def require_scheduler(address: str) -> None:
    """Check that a cluster can be used; it is not changed.

    Raises:
        ClusterError: It cannot.
    """
    _cluster().require_cluster(address)


def _cluster() -> ModuleType:
    try:
        # Dask comes with an extra.
        from urdf_usd.conformance.execution.cluster import dispatch
    except ImportError as error:
        raise ClusterError(
            f"a scheduler needs Dask ({error}): {install_command('cluster')}"
        ) from error
    return dispatch


def places(sources: Iterable[Resolved], options: RunOptions) -> tuple[str, ...]:
    """Return the path of each robot and converter within the folders of a run."""
    return tuple(
        _place(source, candidate, options) for source in sources for candidate in options.converters
    )


def _place(source: Resolved, candidate: Candidate, options: RunOptions) -> str:
    several = len(options.converters) > 1
    return f"{candidate.name}/{source.id}" if several else source.id


def _names(sources: Iterable[Resolved]) -> dict[str, tuple[str, ...]]:
    """Return the names that a USD of each robot may have that was made elsewhere.

    They are its id, and the stem of its file unless another robot has the same.
    """
    here = [source for source in sources if not isinstance(source, UnavailableSource)]
    stems = Counter(source.path.name.partition(".")[0] for source in here)
    return {
        source.id: (source.id, stem) if stems[stem] == 1 else (source.id,)
        for source in here
        for stem in [source.path.name.partition(".")[0]]
    }


def _former_records(folder: RunFolder, names: Iterable[str]) -> dict[str, RobotRecord]:
    """Read the records of former results, by place; those of this version."""
    found = {}
    for place in filter(folder.is_finished, names):
        with suppress(OSError, DecodeError):
            found[place] = read_record(record_path(folder.path, place))
    return found
