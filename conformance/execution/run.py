"""Checks, and runs over many robots, here or on a cluster."""

from __future__ import annotations

import itertools
import os
import shlex
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from msgspec import DecodeError, Struct, field, structs

from urdf_usd.conformance.converters.candidates import OURS, OWN, Candidate
from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.engines import InstalledEngine, select_engines
from urdf_usd.conformance.execution.errors import ClusterError
from urdf_usd.conformance.execution.examine import examine_in_worker
from urdf_usd.conformance.execution.folder import RunFolder, claim_run_folder
from urdf_usd.conformance.execution.interruption import DeferredInterrupts
from urdf_usd.conformance.execution.job import Job, Requirements, Unchanged
from urdf_usd.conformance.execution.limits import DEFAULT_LIMITS, Limits, processors
from urdf_usd.conformance.execution.record import summary_of, unavailable_record
from urdf_usd.conformance.execution.resume import converter_programs, engine_programs
from urdf_usd.conformance.execution.usd_reading import (
    ReadOptions,
    call_on_usd,
    list_combinations,
)
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.converter import Conversion, convert
from urdf_usd.converter.conversion import with_description
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import (
    DEFAULT_DENSITY,
    NO_COLLIDER_RULES,
    ColliderKind,
    ColliderRules,
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
from urdf_usd.reports.records.results import read_record, record_path, write_record


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
        scheduler: Address of a Dask cluster, whose machines share the files; None to work here.
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
    urdf = Path(urdf)
    for engine in options.engines:
        registry.require(engine)
    job = Job(
        source=RobotSource(name or urdf.stem, reference or f"file:{urdf.name}", urdf),
        engines=(),
        limits=options.limits,
        usd=Path(usd),
        required=_requirements(options),
        reading=ReadOptions(options.variants, strict=options.strict, root=options.root),
        scene=Path(scene) if scene else None,
        options=ConvertOptions(
            packages=options.packages,
            arguments=options.arguments,
            environment=options.environment,
        ),
    )

    def examined() -> RobotRecord | Unchanged | ConversionError:
        engines = select_engines(workers, options.engines)
        return examine_in_worker(workers, structs.replace(job, engines=engines))

    workers = Workers(options.limits)
    with DeferredInterrupts() as interrupts, ThreadPoolExecutor(1) as threads, workers:
        result = interrupts.result(threads.submit(examined))
    if isinstance(result, ConversionError):
        raise result
    assert isinstance(result, RobotRecord)  # noqa: S101  # a check has no former result
    return result


def _requirements(options: CheckOptions) -> Requirements:
    """Return what options require, or the simulation settings file where they do not."""
    chosen = ConvertOptions(
        base=options.base,
        inertia=options.inertia,
        mass_density=options.mass_density,
        colliders=options.colliders,
    )
    if options.simulation is not None:
        chosen = with_description(chosen, options.simulation)
    density = chosen.mass_density if chosen.inertia is InertiaOption.GEOMETRY else None
    return Requirements(chosen.base, density, chosen.colliders, options.simulation)


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
    require_scheduler(options)
    names = places(sources, options)
    with claim_run_folder(Path(out), names, resume=options.resume, announce=announce) as folder:
        records = []
        for record in run_in_folder(sources, folder, options, announce):
            records.append(record)
            if progress:
                progress(record)
    return summarise(records, options, corpus)


def run_in_folder(
    sources: Sequence[Resolved],
    folder: RunFolder,
    options: RunOptions = RUN_DEFAULTS,
    announce: Callable[[str], None] = announce_on_stderr,
) -> Iterator[RobotRecord]:
    """Run as :func:`run` does, in a folder that is locked; yield the record of each robot."""
    for source, candidate in itertools.product(sources, options.converters):
        if isinstance(source, UnavailableSource):
            place = _place(source, candidate, options)
            folder.remove(place)
            folder.remove_overview()
            file = record_path(folder.path, place)
            write_record(unavailable_record(source, candidate), file)
            folder.finish(place)
            yield read_record(file)
    with closing(_examined(_jobs(sources, folder, options), options, announce)) as examined:
        for job, result in examined:
            file = record_path(folder.path, job.place)
            # Right before it counts: an interruption can come any time.
            if isinstance(result, RobotRecord):
                folder.remove_overview()
                write_record(result, file)
                folder.finish(job.place)
            # Read back, so that reports are the same as those of a resumed run: in JSON
            # an integer and the float of its value are one number.
            yield read_record(file)


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


def _jobs(sources: Sequence[Resolved], folder: RunFolder, options: RunOptions) -> tuple[Job, ...]:
    """Return the robots that are available, without engines."""
    names = _names(sources)
    jobs = []
    for source, candidate in itertools.product(sources, options.converters):
        if isinstance(source, UnavailableSource):
            continue
        former = None
        if options.resume and folder.is_finished(_place(source, candidate, options)):
            with suppress(OSError, DecodeError):
                record = read_record(record_path(folder.path, _place(source, candidate, options)))
                former = record.fingerprint
        jobs.append(
            Job(
                source=source,
                engines=(),
                limits=options.limits,
                reading=ReadOptions(options.variants, optional=True),
                folder=folder.path,
                # Links are compared one by one, also those within a chain.
                options=structs.replace(options.convert, keep_chains=True),
                candidate=candidate,
                compared=len(options.converters) > 1,
                names=names[source.id],
                former=former,
                retry=options.retry,
                timed=options.timed,
            )
        )
    return tuple(jobs)


def _examined(
    jobs: Sequence[Job], options: RunOptions, announce: Callable[[str], None]
) -> Generator[tuple[Job, RobotRecord | Unchanged]]:
    """Yield each robot with its result, in the order in which they finish."""
    threads = ThreadPoolExecutor(options.jobs or processors())
    # On an interruption the workers are closed first, for which the threads wait.
    with DeferredInterrupts() as interrupts, threads, Workers(options.limits) as workers:
        engines = interrupts.result(threads.submit(select_engines, workers, options.engines))
        complete = tuple(_with_engines(job, engines) for job in jobs)
        if options.scheduler is not None:
            from urdf_usd.conformance.execution.dask import examined_on

            yield from examined_on(options.scheduler, complete, interrupts, announce)
            return
        finished: SimpleQueue[Future[RobotRecord | Unchanged | ConversionError]] = SimpleQueue()
        futures = {}
        try:
            for job in complete:
                future = threads.submit(examine_in_worker, workers, job)
                futures[future] = job
                future.add_done_callback(finished.put)
            for _ in complete:
                future = interrupts.get(finished)
                # A future keeps its result.
                yield futures.pop(future), _of_run(future.result())
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _of_run(result: RobotRecord | Unchanged | ConversionError) -> RobotRecord | Unchanged:
    if isinstance(result, ConversionError):
        raise result
    return result


def _with_engines(job: Job, engines: tuple[InstalledEngine, ...]) -> Job:
    others = engine_programs(engine.name for engine in engines)
    programs = (*converter_programs(job.candidate), *others)
    return structs.replace(job, engines=engines, programs=programs)


def require_scheduler(options: RunOptions) -> None:
    """Check that the cluster of a run can be used, if there is one; it is not changed.

    Raises:
        ClusterError: It cannot.
    """
    if options.scheduler is None:
        return
    try:
        # Dask comes with an extra.
        from urdf_usd.conformance.execution.dask import connected
    except ImportError as error:
        raise ClusterError(
            f"a scheduler needs Dask ({error}): {install_command('cluster')}"
        ) from error
    with connected(options.scheduler):
        pass


def convert_all(
    orders: Sequence[tuple[Path, Path, ConvertOptions]], limits: Limits, jobs: int
) -> Iterator[Conversion | ConversionError | Crashed]:
    """Convert robots by our converter, each in a worker.

    Args:
        orders: URDF or xacro file, folder of the asset, and options of each, into
            different folders.
        limits: Of each.
        jobs: Number of conversions at the same time.

    Yields:
        The outcomes, in the order of the robots.
    """
    threads = ThreadPoolExecutor(jobs)
    with DeferredInterrupts() as interrupts, threads, Workers(limits) as workers:
        calls = [threads.submit(workers.examine, _converted, order) for order in orders]
        try:
            for call in calls:
                yield interrupts.result(call)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _converted(order: tuple[Path, Path, ConvertOptions], _: object) -> Conversion | ConversionError:
    """Convert in a worker; errors in the user's file are returned."""
    try:
        return convert(*order)
    except ConversionError as error:
        return error


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
