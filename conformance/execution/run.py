"""Checks, and runs over many robots, here or on a cluster."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from msgspec import structs

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.folder import (
    RunFolder,
    claim_run_folder,
    fingerprint,
    kept_record,
)
from urdf_usd.conformance.execution.job import Examined, Job, select_engines
from urdf_usd.conformance.execution.record import crashed, summary_of, unavailable_record
from urdf_usd.conformance.execution.worker import (
    ClusterError,
    Limits,
    Workers,
    call_on_usd,
    processors,
)
from urdf_usd.conformance.options import CheckOptions, RunOptions
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import (
    ConvertOptions,
    Sources,
    VariantChoice,
)
from urdf_usd.converter.simulation.settings import with_settings
from urdf_usd.corpus import Resolved, RobotSource, UnavailableSource
from urdf_usd.corpus.resolution import announce_on_stderr
from urdf_usd.installation import install_command
from urdf_usd.reports.records.record import RobotRecord, RunSummary
from urdf_usd.reports.records.results import read_record, record_path, write_record

DEFAULT_SOURCES = Sources()
# By name: what workers import, this process does not need.
_EXAMINE = "urdf_usd.conformance.execution.examine:examine"
_COMBINATIONS = "urdf_usd.conformance.execution.converting:combinations"
_INPUT_PATHS = "urdf_usd.conformance.execution.sources:input_paths"
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
    """Compare a USD with its URDF, as :func:`urdf_usd.check` does; the file is no reference."""
    urdf = Path(urdf)
    chosen = ConvertOptions(
        base=options.base,
        packages=options.packages,
        arguments=options.arguments,
        environment=options.environment,
        inertia=options.inertia,
        mass_density=options.mass_density,
        colliders=options.colliders,
    )
    if options.simulation is not None:
        chosen = with_settings(chosen, options.simulation)
    job = Job(
        source=RobotSource(name or urdf.stem, reference or f"file:{urdf.name}", urdf),
        limits=options.limits,
        options=chosen,
        usd=Path(usd),
        variants=options.variants,
        strict=options.strict,
        root=options.root,
        scene=Path(scene) if scene else None,
    )
    return _checked(job, options.engines)


def compare_descriptions(
    first: RobotSource,
    second: RobotSource,
    mapped: Sequence[tuple[str, str]] = (),
    *,
    sources: Sources = DEFAULT_SOURCES,
    engines: Sequence[str] = (),
    limits: Limits = CHECK_DEFAULTS.limits,
    scene: Path | None = None,
) -> RobotRecord:
    """Compare two descriptions of a robot, each URDF or MJCF.

    Args:
        first: Gives the expected values.
        second: The other description.
        mapped: Names of links and joints in the first, and in the second.
        sources: How URDF and xacro files are read.
        engines: Of the first, besides the one that decides; all if empty.
        limits: Of each process.
        scene: File of a drawing for the robot's page, if there is to be one.

    Raises:
        SourceError: One of them is invalid or unsupported.
        UnknownEngineError: An engine is named that is not installed.
    """
    job = Job(
        source=first,
        limits=limits,
        # Folders of both are left out of the record.
        usd=second.path,
        second=second,
        mapped=tuple(mapped),
        scene=scene,
        options=ConvertOptions(
            packages=sources.packages,
            arguments=sources.arguments,
            environment=sources.environment,
        ),
    )
    return _checked(job, engines)


def examine_in_workers(
    workers: Workers, jobs: Iterable[Job], at_once: int = 1
) -> Generator[tuple[Job, Examined | ConversionError]]:
    """Examine robots in workers, several at once; yield them with results as they finish.

    A crash becomes part of the record. Results are those of :func:`examine`.
    """
    jobs = tuple(jobs)
    for number, result in workers.call_all(_EXAMINE, ((job,) for job in jobs), at_once):
        job = jobs[number]
        yield job, crashed(job, result.reason) if isinstance(result, Crashed) else result


def examine_in_worker(workers: Workers, job: Job) -> RobotRecord:
    """Examine one robot in a worker; raise the :class:`ConversionError` of a check."""
    ((_, result),) = examine_in_workers(workers, [job])
    if isinstance(result, ConversionError):
        raise result
    return result.record


def _checked(job: Job, engines: Sequence[str]) -> RobotRecord:
    with Workers(job.limits) as workers:
        chosen = select_engines(workers, engines)
        return examine_in_worker(workers, structs.replace(job, engines=chosen))


def variant_combinations(
    usd: str | os.PathLike[str], options: CheckOptions = CHECK_DEFAULTS
) -> tuple[tuple[CheckOptions, ...], tuple[tuple[VariantChoice, str], ...]]:
    """List checks of a USD, one for each combination of variants of its robot.

    A combination is left out if a variant with the name ``none`` leaves the robot without
    physics or colliders, as the name states.

    Returns:
        Options of the checks, which leave no variant open; and the variants whose
        combinations are left out, each with what it omits.

    Raises:
        StageError: The USD cannot be read within the limits, a variant does not exist,
            or there are more than 64 combinations.
    """
    found: list[tuple[tuple[VariantChoice, ...], tuple[VariantChoice, str] | None]] = call_on_usd(
        _COMBINATIONS, usd, options.variants, options.strict, limits=options.limits
    )
    omissions = dict.fromkeys(omission for _, omission in found if omission)
    return (
        tuple(structs.replace(options, variants=one) for one, omission in found if not omission),
        tuple(omissions),
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
    """Convert and check robots with distinct ids, as :func:`urdf_usd.run` does.

    What a former run wrote into the folder is removed first, unless this one resumes it.

    Args:
        sources: The robots.
        out: Folder of the run.
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
        registry.target(name)
    require_scheduler(options)
    records = []
    with claim_run_folder(
        Path(out), places(sources, options), resume=options.resume, announce=announce
    ) as folder:
        for record in run_in_folder(sources, folder, options):
            records.append(record)
            if progress:
                progress(record)
    return summarise(records, options, corpus)


def run_in_folder(
    sources: Sequence[Resolved], folder: RunFolder, options: RunOptions = RUN_DEFAULTS
) -> Iterator[RobotRecord]:
    """Run as :func:`run` does, in a folder that is locked; yield the record of each robot."""
    # Names that a USD may have that was made elsewhere: of the robot, and of its file if no
    # other robot has the same.
    stems = Counter(map(_stem, sources))
    several = len(options.converters) > 1
    jobs = []
    for source, candidate in itertools.product(sources, options.converters):
        if isinstance(source, UnavailableSource):
            place = f"{candidate.name}/{source.id}" if several else source.id
            folder.remove(place)
            yield _written(folder, place, unavailable_record(source, candidate))
            continue
        stem = _stem(source)
        job = Job(
            source=source,
            limits=options.limits,
            # Links are compared one by one, also those within a chain.
            options=structs.replace(options.convert, keep_chains=True),
            variants=options.variants,
            folder=folder.path,
            candidate=candidate,
            compared=several,
            names=(source.id, stem) if stem and stems[stem] == 1 else (source.id,),
            timed=options.timed,
        )
        kept = None
        if options.resume:
            kept = kept_record(folder, job, options.engines, retry=options.retry)
        if kept is not None:
            yield kept
        else:
            folder.remove(job.place)
            jobs.append(job)
    if not jobs:
        return
    with Workers(options.limits) as workers:
        engines = select_engines(workers, options.engines)
        complete = tuple(structs.replace(job, engines=engines) for job in jobs)
        if options.scheduler is None:
            finished = examine_in_workers(workers, complete, options.jobs or processors())
        else:
            from urdf_usd.conformance.execution.dask import examined_on

            finished = examined_on(options.scheduler, complete)
        with closing(finished):
            for job, result in finished:
                if isinstance(result, ConversionError):
                    raise result
                hashes = [file.sha256 for file in result.inputs]
                found = fingerprint(job, options.engines, hashes, crashed=result.crashed)
                yield _written(
                    folder,
                    job.place,
                    structs.replace(result.record, fingerprint=found),
                    inputs=tuple(file.path for file in result.inputs),
                    references=result.references,
                    crashed=result.crashed,
                )


def _written(folder: RunFolder, place: str, record: RobotRecord, **known: object) -> RobotRecord:
    file = record_path(folder.path, place)
    write_record(record, file)
    folder.finish(place, **known)
    # Read back, so that reports are the same as those of a resumed run: in JSON an integer
    # and the float of its value are one number.
    return read_record(file)


def places(sources: Iterable[Resolved], options: RunOptions) -> tuple[str, ...]:
    """Return the path of each robot and converter within the folders of a run."""
    if len(options.converters) == 1:
        return tuple(source.id for source in sources)
    pairs = itertools.product(sources, options.converters)
    return tuple(f"{candidate.name}/{source.id}" for source, candidate in pairs)


def _stem(source: Resolved) -> str:
    return "" if isinstance(source, UnavailableSource) else source.path.name.partition(".")[0]


def summarise(
    records: Iterable[RobotRecord],
    options: RunOptions,
    corpus: Sequence[str],
    unfinished: int = 0,
) -> RunSummary:
    """Summarise the records of a run, also of one that was interrupted."""
    texts, converters = options.as_text(), options.converters
    return summary_of(
        records, corpus, texts, unfinished, converters=converters, gated=options.gated
    )


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


class RevisionError(Exception):
    """Changes cannot be listed; the message states the cause."""


def changed_robots(
    sources: Sequence[Resolved],
    revision: str,
    options: ConvertOptions,
    limits: Limits,
    at_once: int,
) -> tuple[Resolved, ...]:
    """Return the robots with a changed URDF, xacro, mesh or texture file.

    Robots whose files are not all readable are returned as well, and those of which it
    is not known where they are.

    Args:
        sources: Robots.
        revision: Revision of git. Changes since its merge base with the current
            revision count, also those that are not committed.
        options: Packages and arguments with which robots are read.
        limits: Of reading one.
        at_once: Number of robots that are read at the same time.

    Raises:
        RevisionError: A robot is in no repository, or the revision does not exist.
    """
    here = [source for source in sources if isinstance(source, RobotSource)]
    changed = {one.id: _changed_files(one.path.resolve().parent, revision) for one in here}
    kept = {source.id for source in sources if isinstance(source, UnavailableSource)}
    jobs = [(Job(source, options=options),) for source in here]
    with Workers(limits) as workers:
        for number, paths in workers.call_all(_INPUT_PATHS, jobs, at_once):
            name = here[number].id
            # A crash, or files that are not there: it is not known.
            if not isinstance(paths, frozenset) or not paths.isdisjoint(changed[name]):
                kept.add(name)
    return tuple(source for source in sources if source.id in kept)


@cache
def _changed_files(folder: Path, revision: str) -> frozenset[Path]:
    """List the files of the repository of a folder that changed, as absolute paths."""

    def git(*words: str) -> str:
        try:
            done = subprocess.run(
                ("git", "-C", str(folder), *words), check=True, capture_output=True, text=True
            )
        except FileNotFoundError as error:
            raise RevisionError("git is not installed") from error
        except subprocess.CalledProcessError as error:
            reason = " ".join(error.stderr.split()) or "git failed"
            raise RevisionError(f"{folder}: {reason}") from error
        return done.stdout

    folder = Path(git("rev-parse", "--show-toplevel").rstrip("\n"))
    named = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        commit = git("rev-parse", *named).strip()
    except RevisionError as error:
        raise RevisionError(f"{folder} has no revision {revision!r}") from error
    base = git("merge-base", commit, "HEAD").strip()
    changed = git("diff", "--name-only", "-z", base)
    untracked = git("ls-files", "--others", "--exclude-standard", "-z")
    return frozenset(folder / name for name in (changed + untracked).split("\0") if name)
