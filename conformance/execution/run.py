"""The only orchestrator: has robots examined, here or on a cluster, and records kept.

Everything that an engine, OpenUSD or a hostile file could bring down happens in child
processes with limits. Threads only wait for them, one per robot at work.
"""

from __future__ import annotations

import itertools
import shlex
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from urdf_usd.conformance.converters.candidates import OURS, OWN, Candidate
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.assembly import (
    Subject,
    summary_of,
    unavailable_record,
    unread_record,
)
from urdf_usd.conformance.execution.engine_set import select_engines
from urdf_usd.conformance.execution.examination import (
    Assignment,
    Unchanged,
    examine_pair,
    survive,
)
from urdf_usd.conformance.execution.parcels import ClusterError
from urdf_usd.conformance.execution.sharing import with_shared_texts
from urdf_usd.conformance.execution.workers.isolation import Isolation
from urdf_usd.conformance.execution.workers.journal import outlive
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.workers.slots import processors
from urdf_usd.conformance.records.record import RobotRecord, RunSummary, Verdict
from urdf_usd.conformance.records.results import read_record, read_stored, write_record
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.robot.bodies import BaseOption
from urdf_usd.corpus import UnavailableSource
from urdf_usd.corpus.resolution import announce_on_stderr

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Executor
    from types import ModuleType

    from urdf_usd.corpus import Resolved

EXTERNAL = "unknown"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What can be chosen about a check.

    Attributes:
        base: How the robot's base shall be held; ``auto`` follows the URDF.
        packages: Folder of each ROS package, by name.
        arguments: Value of each argument of a xacro file, by name.
        engines: Engines to ask on the URDF besides the specification; all if empty.
        limits: What a process may take.
        jobs: Processes that work on the robot at the same time; one per CPU if None.
    """

    base: BaseOption = BaseOption.AUTO
    packages: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    engines: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    jobs: int | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What can be chosen about a run.

    Attributes:
        convert: Choices of the converter.
        engines: As in :class:`CheckOptions`; likewise the limits.
        jobs: Robots that are worked on at the same time, and processes that do it; one
            per CPU if None.
        resume: Keep results that are there already and would be the same again.
        retry: Of those, redo the ones in which something broke.
        scheduler: Address of the Dask cluster that does the work, if one does.
        shared: Whether its workers see the same files under the same paths.
        converters: What makes the USDs; every robot goes through each.
        gated: Name of the converter by which the run passes.
        timed: Whether to write down how long each robot takes.
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

    def as_text(self) -> dict[str, str]:
        """Return the choices that change results, for the summary."""
        given = (f"{name}:={value}" for name, value in self.convert.arguments)
        arguments = {"arg": shlex.join(given)} if self.convert.arguments else {}
        return {
            **arguments,
            "profile": self.convert.profile.value,
            "layout": self.convert.layout.value,
            "bodies": self.convert.nesting.value,
            "base": self.convert.base.value,
            "massless": self.convert.massless.value,
            "merge-fixed": "yes" if self.convert.merge_fixed else "no",
            "engines": ", ".join(self.engines) or "all",
        }


CHECK_DEFAULTS = CheckOptions()
RUN_DEFAULTS = RunOptions()


def check(  # noqa: PLR0913  # what is compared, how, and what comes of it
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
        options: Choices.
        name: Identifier in the record; the URDF's stem if absent.
        reference: How the URDF is named in the record; its file name if absent.
        scene: File of a drawing for the robot's page, if there shall be one.

    Raises:
        SourceError: The URDF cannot be understood.
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
    )
    jobs = options.jobs or processors()
    with Isolation(memory=options.limits.memory, processes=jobs) as isolation:
        ending = outlive(
            isolation,
            examine_pair,
            subject,
            usd,
            select_engines(isolation, options.engines),
            options.base,
            Path(scene) if scene else None,
            timeout=options.limits.time,
        )
    if isinstance(ending, Crashed):
        return unread_record(subject, Verdict.CRASHED, ending.reason)
    if isinstance(ending.value, SourceError):
        raise ending.value
    return ending.value


def run(  # noqa: PLR0913  # what, where to, how, and who is told
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
            ``scenes/<id>.gz``, which pages draw, and
            ``expanded/<id>.urdf`` of what is xacro; with several converters, each has
            folders of its own in there, and one in ``timings``.
        options: Choices.
        corpus: The references that led to the robots, for the summary.
        progress: Called with each record, in the order in which robots finish.
        announce: Told what happens otherwise than expected, in one line.

    Raises:
        ClusterError: There is no cluster where there should be one.
        UnknownEngineError: An engine is named that is not installed.
    """
    folder = Path(out)
    records: list[RobotRecord] = []
    try:
        with closing(_examined(sources, folder, options, announce)) as examined:
            for name, result in examined:
                place = folder / "results" / f"{name}.json"
                match result:
                    case Unchanged():
                        record = with_shared_texts(read_record(place))
                    case RobotRecord():
                        record = with_shared_texts(result)
                        # Next to its being counted: an interruption may come any time.
                        write_record(record, place)
                records.append(record)
                if progress:
                    progress(record)
    finally:
        _remove_scraps(folder)
    return summarise(records, options, corpus)


def summarise(
    records: Iterable[RobotRecord],
    options: RunOptions,
    corpus: Sequence[str],
    unfinished: int = 0,
) -> RunSummary:
    """Sum up the records of a run, also of one that left robots unfinished."""
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
    out: Path,
    options: RunOptions,
    announce: Callable[[str], None],
) -> Generator[tuple[str, RobotRecord | Unchanged]]:
    """Yield place and result of each robot, in the order in which they finish."""
    jobs = options.jobs or processors()
    # On an interruption the isolation is left first: it stops all children, and so
    # frees the threads that wait for them.
    with (
        ThreadPoolExecutor(jobs) as threads,
        Isolation(jobs, options.limits.memory) as isolation,
    ):
        engines = select_engines(isolation, options.engines)
        assignments = []
        names = _names(sources)
        compared = len(options.converters) > 1
        for source, candidate in itertools.product(sources, options.converters):
            if isinstance(source, UnavailableSource):
                place = f"{candidate.name}/{source.id}" if compared else source.id
                yield place, unavailable_record(source, candidate)
                continue
            assignment = Assignment(
                source=source,
                out=out,
                options=options.convert,
                engines=engines,
                limits=options.limits,
                retry=options.retry,
                candidate=candidate,
                compared=compared,
                names=names[source.id],
                timed=options.timed,
            )
            former = _former(assignment) if options.resume else None
            assignments.append(replace(assignment, former=former))
        try:
            if options.scheduler is None:
                yield from _examined_here(assignments, isolation, threads)
            else:
                yield from _examined_there(
                    assignments, isolation, threads, options, announce
                )
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _examined_here(
    assignments: Sequence[Assignment], isolation: Isolation, threads: Executor
) -> Generator[tuple[str, RobotRecord | Unchanged]]:
    futures = {
        threads.submit(survive, isolation, assignment, {}): assignment.place
        for assignment in assignments
    }
    for future in as_completed(futures):
        yield futures[future], future.result()


def _examined_there(
    assignments: Sequence[Assignment],
    isolation: Isolation,
    threads: Executor,
    options: RunOptions,
    announce: Callable[[str], None],
) -> Generator[tuple[str, RobotRecord | Unchanged]]:
    cluster = _cluster()
    examined = cluster.examined_on(
        options.scheduler or "",
        assignments,
        isolation=isolation,
        threads=threads,
        shared=options.shared,
        announce=announce,
    )
    with closing(examined):
        for assignment, result in examined:
            yield assignment.place, result


def require_scheduler(address: str) -> None:
    """Find out whether a cluster can be used; nothing is changed there.

    Raises:
        ClusterError: It cannot.
    """
    _cluster().require_cluster(address)


def _cluster() -> ModuleType:
    try:
        # Dask is there with the extra alone.
        from urdf_usd.conformance.execution import cluster  # noqa: PLC0415
    except ImportError as error:
        raise ClusterError(
            f"a scheduler needs Dask ({error}): "
            "pip install 'urdf-usd-conformance[cluster]'"
        ) from error
    return cluster


def places(sources: Iterable[Resolved], options: RunOptions) -> tuple[str, ...]:
    """Say where the folder of a run keeps what concerns each robot and converter."""
    several = len(options.converters) > 1
    return tuple(
        f"{candidate.name}/{source.id}" if several else source.id
        for source in sources
        for candidate in options.converters
    )


def _names(sources: Iterable[Resolved]) -> dict[str, tuple[str, ...]]:
    """Say what USDs of each robot may be called that were made elsewhere.

    A stem that several robots of the run share says nothing.
    """
    here = [source for source in sources if not isinstance(source, UnavailableSource)]
    stems = Counter(source.path.name.partition(".")[0] for source in here)
    return {
        source.id: (source.id, stem) if stems[stem] == 1 else (source.id,)
        for source in here
        for stem in [source.path.name.partition(".")[0]]
    }


def _former(assignment: Assignment) -> str | None:
    """Return what a result follows from that is there already, with its USD."""
    out, place = assignment.out, assignment.place
    stored = read_stored(out / "results" / f"{place}.json")
    if stored.checks and not (out / "assets" / place).is_dir():
        return None
    return stored.fingerprint


def _remove_scraps(out: Path) -> None:
    """Remove what conversions that died had not moved into place."""
    for pattern in (".urdf-usd-*", "*/.urdf-usd-*"):
        for scrap in (out / "assets").glob(pattern):
            shutil.rmtree(scrap, ignore_errors=True)
