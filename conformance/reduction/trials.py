"""Examination of many variations of a robot, with the workers of a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.execution.engines import USD_ENGINE, InstalledEngine, select_engines
from urdf_usd.conformance.execution.examine import examine_in_worker
from urdf_usd.conformance.execution.interruption import DeferredInterrupts
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.resume import converter_programs
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import RobotRecord

_ALWAYS = frozenset({REFERENCE, USD_ENGINE})


class TrialOptions(Struct, frozen=True):
    """How robots are examined.

    Attributes:
        convert: Options of our converter.
        candidate: The converter.
        engines: Engines besides the reference and OpenUSD; all if empty.
        limits: Of each process.
        jobs: Robots that are examined at the same time.
    """

    convert: ConvertOptions
    candidate: Candidate = OWN
    engines: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    jobs: int = 1


class TrialRunner:
    """Examines variations of one robot; made by :func:`start_trials`.

    Args:
        source: The robot.
        options: How it is examined.
        folder: For temporary files.
        workers: Examine the robot.
        threads: Wait for workers.
        interrupts: Handle signals while this waits.
    """

    def __init__(
        self,
        source: RobotSource,
        options: TrialOptions,
        folder: Path,
        workers: Workers,
        threads: ThreadPoolExecutor,
        interrupts: DeferredInterrupts,
    ) -> None:
        self._source = source
        self._options = options
        self._folder = folder
        self._workers = workers
        self._threads = threads
        self._interrupts = interrupts
        self._numbers = itertools.count()
        self._every = interrupts.result(threads.submit(select_engines, workers, options.engines))
        self._engines: tuple[InstalledEngine, ...] = self._every

    def use_engines(self, names: frozenset[str]) -> None:
        """Use these engines alone, besides the reference and OpenUSD."""
        names |= _ALWAYS
        self._engines = tuple(e for e in self._every if e.name in names)

    @property
    def engines(self) -> frozenset[str]:
        """Names of the engines."""
        return frozenset(engine.name for engine in self._engines)

    def examine_texts(self, texts: Sequence[bytes]) -> list[RobotRecord]:
        """Examine URDF documents, which name files by absolute paths."""
        sources = []
        for text in texts:
            file = self._folder / str(next(self._numbers)) / "robot.urdf"
            file.parent.mkdir()
            file.write_bytes(text)
            sources.append(structs.replace(self._source, path=file, arguments=()))
        return self.examine(sources)

    def examine(self, sources: Sequence[RobotSource]) -> list[RobotRecord]:
        """Examine robots at the same time."""
        calls = [self._threads.submit(self._examined, each) for each in sources]
        return [self._interrupts.result(call) for call in calls]

    def _examined(self, source: RobotSource) -> RobotRecord:
        with temporary_folder() as out:
            job = Job(
                source=source,
                folder=out,
                options=structs.replace(self._options.convert, keep_chains=True),
                engines=self._engines,
                limits=self._options.limits,
                candidate=self._options.candidate,
                names=(source.id, source.path.stem),
                programs=converter_programs(self._options.candidate),
            )
            record = examine_in_worker(self._workers, job)
        assert isinstance(record, RobotRecord)  # noqa: S101  # nothing is resumed
        return record


@contextmanager
def start_trials(source: RobotSource, options: TrialOptions) -> Iterator[TrialRunner]:
    """Start workers for a robot, and end them at the end of the block.

    Raises:
        UnknownEngineError: An engine is named that is not installed.
    """
    workers = Workers(options.limits)
    with (
        temporary_folder() as folder,
        DeferredInterrupts() as interrupts,
        ThreadPoolExecutor(options.jobs) as threads,
        workers,
    ):
        yield TrialRunner(source, options, folder, workers, threads, interrupts)
