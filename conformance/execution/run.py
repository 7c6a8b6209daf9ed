"""Checks, and runs over many robots, here or on a cluster."""

from __future__ import annotations

import itertools
import os
import subprocess
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution import worker
from urdf_usd.conformance.execution.folder import (
    RunFolder,
    claim_run_folder,
    fingerprint,
    kept_record,
    present_versions,
)
from urdf_usd.conformance.execution.job import Examined, Job, select_engines
from urdf_usd.conformance.execution.record import crashed, summary_of, unavailable_record
from urdf_usd.conformance.execution.worker import ClusterError, call_on_usd, processors
from urdf_usd.conformance.options import CheckOptions, Limits, RunOptions
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import ConvertOptions, Sources, VariantChoice
from urdf_usd.converter.simulation.settings import with_settings
from urdf_usd.corpus import Resolved, RobotSource, UnavailableSource
from urdf_usd.installation import install_command
from urdf_usd.reports.records.record import RobotRecord, RunSummary
from urdf_usd.reports.records.results import read_record, record_path, write_record

if TYPE_CHECKING:
    from distributed import Client

# By name: what workers import, this process does not need.
_EXAMINE: worker.Called[Examined] = "urdf_usd.conformance.execution.examine:examine"
_COMBINATIONS = "urdf_usd.conformance.execution.converting:combinations"
_INPUT_PATHS = "urdf_usd.conformance.execution.examine:input_paths"
# Time to wait for the scheduler and for the first worker [s].
_CONNECTION = 10.0
_PATIENCE = 60.0
CHECK_DEFAULTS = CheckOptions()
RUN_DEFAULTS = RunOptions()


def check(
    source: RobotSource | str | os.PathLike[str],
    usd: str | os.PathLike[str],
    options: CheckOptions = CHECK_DEFAULTS,
    scene: str | os.PathLike[str] | None = None,
) -> RobotRecord:
    """Compare a USD with a robot, of whose source only the file counts, or with its URDF.

    If ``scene`` is named, it receives the packed drawing. Errors are those of
    :func:`urdf_usd.check`.
    """
    if isinstance(source, RobotSource):
        named = source.id, source.reference, source.path
    else:
        named = Path(source).stem, f"file:{Path(source).name}", Path(source)
    return _checked(RobotSource(*named), Path(usd), options, scene)


def compare_descriptions(
    first: RobotSource,
    second: RobotSource,
    mapped: Sequence[tuple[str, str]] = (),
    options: CheckOptions = CHECK_DEFAULTS,
    scene: Path | None = None,
) -> RobotRecord:
    """Compare two descriptions of a robot, each URDF or MJCF; the first gives the expected values.

    ``mapped`` are names of links and joints in the first, and in the second.

    Raises:
        SourceError: One of them is invalid or unsupported.
    """
    # With the path of the second, folders of both are left out of the record.
    return _checked(first, second.path, options, scene, second=second, mapped=tuple(mapped))


def _checked(
    source: RobotSource,
    usd: Path,
    options: CheckOptions,
    scene: str | os.PathLike[str] | None,
    second: RobotSource | None = None,
    mapped: tuple[tuple[str, str], ...] = (),
) -> RobotRecord:
    shared = ("base", "inertia", "mass_density", "colliders", *Sources.__struct_fields__)
    chosen = ConvertOptions(**{name: getattr(options, name) for name in shared})
    if options.simulation is not None:
        chosen = with_settings(chosen, options.simulation)
    job = Job(
        source=source,
        engines=select_engines(options.engines, options.limits),
        limits=options.limits,
        options=chosen,
        usd=usd,
        variants=options.variants,
        strict=options.strict,
        root=options.root,
        scene=Path(scene) if scene else None,
        second=second,
        mapped=mapped,
    )
    return examine_in_worker(job)


def examine_in_workers(jobs: Sequence[Job], at_once: int = 1) -> Generator[tuple[Job, Examined]]:
    """Examine robots in workers; yield them with results, crashes too, as they finish.

    All have the same limits.

    Raises:
        ConversionError: In a check, one cannot be read.
    """
    if not jobs:
        return
    calls = ((job,) for job in jobs)
    for number, result in worker.call_all(_EXAMINE, calls, jobs[0].limits, at_once):
        if isinstance(result, ConversionError):
            raise result
        job = jobs[number]
        yield job, crashed(job, result.reason) if isinstance(result, Crashed) else result


def examine_in_worker(job: Job) -> RobotRecord:
    ((_, result),) = examine_in_workers([job])
    return result.record


def variant_combinations(
    usd: str | os.PathLike[str], options: CheckOptions = CHECK_DEFAULTS
) -> tuple[tuple[CheckOptions, ...], tuple[tuple[VariantChoice, str], ...]]:
    """List checks of a USD, one for each combination of variants of its robot.

    A combination is left out if a variant with the name ``none`` leaves the robot without
    physics or colliders: these variants are returned, each with what it omits.

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
) -> RunSummary:
    """Convert and check robots with distinct ids, as :func:`urdf_usd.run` does.

    ``corpus`` are the references that were resolved to the robots, for the summary.

    Raises:
        ClusterError: The cluster cannot be reached or used.
        RunFolderError: Another run uses the folder, or it has files that no run wrote.
        UnknownEngineError: An engine is named that is not installed.
    """
    # Before the folder is emptied.
    for name in options.engines:
        protocol.target(name)
    require_scheduler(options)
    records = []
    with claim_run_folder(Path(out), places(sources, options), resume=options.resume) as folder:
        for record in run_in_folder(sources, folder, options):
            records.append(record)
            if progress:
                progress(record)
    return summarise(records, options, corpus)


def run_in_folder(
    sources: Sequence[Resolved], folder: RunFolder, options: RunOptions
) -> Iterator[RobotRecord]:
    """Run as :func:`run` does, in a folder that is locked; yield the record of each robot."""
    # Names that a USD may have that was made elsewhere: of the robot, and of its file if no
    # other robot has the same.
    stems = Counter(
        one.path.name.partition(".")[0] for one in sources if isinstance(one, RobotSource)
    )
    pairs = itertools.product(sources, options.converters)
    jobs = []
    for place, (source, candidate) in zip(places(sources, options), pairs, strict=True):
        if isinstance(source, UnavailableSource):
            folder.remove(place)
            yield _written(folder, place, unavailable_record(source, candidate))
            continue
        stem = source.path.name.partition(".")[0]
        job = Job(
            source=source,
            limits=options.limits,
            # Links are compared one by one, also those within a chain.
            options=structs.replace(options.convert, keep_chains=True),
            variants=options.variants,
            folder=folder.path,
            candidate=candidate,
            compared=len(options.converters) > 1,
            names=(source.id, stem) if stems[stem] == 1 else (source.id,),
            timed=options.timed,
        )
        if kept := kept_record(folder, job, options.engines, retry=options.retry):
            yield kept
        else:
            folder.remove(job.place)
            jobs.append(job)
    if not jobs:
        return
    engines = select_engines(options.engines, options.limits)
    complete = tuple(structs.replace(job, engines=engines) for job in jobs)
    if options.scheduler is None:
        finished = examine_in_workers(complete, options.jobs or processors())
    else:
        finished = _examined_on(options.scheduler, complete)
    with closing(finished):
        for job, result in finished:
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
    several = len(options.converters) > 1
    pairs = itertools.product(sources, options.converters)
    return tuple(f"{made.name}/{one.id}" if several else one.id for one, made in pairs)


def summarise(
    records: Iterable[RobotRecord], options: RunOptions, corpus: Sequence[str], unfinished: int = 0
) -> RunSummary:
    """Summarise the records of a run, also of one that was interrupted."""
    texts, converters = options.as_text(), options.converters
    return summary_of(
        records, corpus, texts, unfinished, converters=converters, gated=options.gated
    )


# Runs on the workers of a Dask cluster, whose machines share the files of the run.


def require_scheduler(options: RunOptions) -> None:
    """Raise a :class:`ClusterError` if the cluster of a run cannot be used; it is not changed."""
    if options.scheduler is not None:
        with _connected(options.scheduler):
            pass


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """Connect with a cluster whose workers have the versions of this machine."""
    try:
        # It comes with an extra.
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError as error:
        hint = install_command("cluster")
        raise ClusterError(f"a scheduler needs Dask ({error}): {hint}") from error
    try:
        # A client takes a minute to refuse an invalid address.
        get_address_host_port(address)
        client = Client(address, timeout=_CONNECTION, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no scheduler at {address}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
            versions = client.run(present_versions)
        except TimeoutError as error:
            raise ClusterError(f"the scheduler at {address} has no workers") from error
        except ImportError as error:
            reason = f"the workers of {address} cannot load what they need: {error}"
            raise ClusterError(reason) from error
        here = present_versions()
        for machine, there in versions.items():
            for name in sorted({*here, *there}):
                if here.get(name) != there.get(name):
                    raise ClusterError(
                        f"{machine} has {name} {there.get(name, 'not at all')}, and this machine "
                        f"{here.get(name, 'not')}: results would not be the same"
                    )
        yield client


def _examined_there(job: Job) -> Examined | None:
    """Examine a robot on a Dask worker; None if its files are not there."""
    if not (job.source.path.exists() and job.folder.is_dir()):
        return None
    ((_, result),) = examine_in_workers([job])
    return result


def _examined_on(address: str, jobs: Sequence[Job]) -> Generator[tuple[Job, Examined]]:
    """Yield robots with their results, in the order in which they finish.

    The scheduler gives the robots of a lost worker to another one, and waits for workers.
    """
    with _connected(address) as client:
        from distributed import as_completed

        run = uuid.uuid4().hex
        futures = {
            client.submit(_examined_there, job, key=f"{job.place}-{run}", pure=False): job
            for job in jobs
        }
        try:
            for future in as_completed([*futures], loop=client.loop):
                job = futures.pop(future)
                if client.status != "running":
                    raise ClusterError("the connection to the scheduler is lost")
                if future.status != "finished":
                    reason = f"{future.status}: {future.exception()!r}"
                    raise ClusterError(f"{job.source.id}: {reason}")
                result: Examined | None = future.result()
                if result is None:
                    raise ClusterError(
                        f"{job.source.id}: its files, or the folder {job.folder}, are not there; "
                        "all machines need them under the same path"
                    )
                yield job, result
        finally:
            if client.status == "running":
                client.cancel([*futures], force=True)


class RevisionError(Exception):
    """Changes cannot be listed; the message states the cause."""


def changed_robots(
    sources: Sequence[Resolved],
    revision: str,
    options: ConvertOptions,
    limits: Limits,
    at_once: int,
) -> tuple[Resolved, ...]:
    """Return the robots of which a file changed since the merge base with a revision of git.

    Robots whose files are not all readable are returned as well, and those of which it
    is not known where they are.

    Raises:
        RevisionError: A robot is in no repository, or the revision does not exist.
    """
    here = [source for source in sources if isinstance(source, RobotSource)]
    changed = {one.id: _changed_files(one.path.resolve().parent, revision) for one in here}
    kept = {source.id for source in sources if isinstance(source, UnavailableSource)}
    jobs = [(Job(source, options=options),) for source in here]
    for number, paths in worker.call_all(_INPUT_PATHS, jobs, limits, at_once):
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
        except (OSError, subprocess.CalledProcessError) as error:
            reason = " ".join(str(getattr(error, "stderr", error)).split())
            raise RevisionError(f"{folder} has no revision {revision!r}: {reason}") from error
        return done.stdout

    folder = Path(git("rev-parse", "--show-toplevel").rstrip("\n"))
    # Not an option, whatever its text.
    commit = git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
    base = git("merge-base", commit, "HEAD").strip()
    changed = git("diff", "--name-only", "-z", base)
    untracked = git("ls-files", "--others", "--exclude-standard", "-z")
    return frozenset(folder / name for name in (changed + untracked).split("\0") if name)
