"""Examination of many variations of a robot, with the workers of a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.execution.engines import USD_ENGINE, InstalledEngine, select_engines
from urdf_usd.conformance.execution.examine import Examined, examine_in_workers
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.worker import DEFAULT_LIMITS, Limits, Workers
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import RobotRecord

_ALWAYS = frozenset({REFERENCE, USD_ENGINE})


class TrialOptions(Struct, frozen=True):
    """How robots are examined."""

    convert: ConvertOptions  # of our converter
    candidate: Candidate = OWN  # the converter
    engines: tuple[str, ...] = ()  # besides the reference and OpenUSD; all if empty
    limits: Limits = DEFAULT_LIMITS
    jobs: int = 1  # robots that are examined at the same time


class TrialRunner:
    """Examines variations of one robot; made by :func:`start_trials`.

    Args:
        source: The robot.
        options: How it is examined.
        folder: For temporary files.
        workers: Examine the robot.
    """

    def __init__(
        self, source: RobotSource, options: TrialOptions, folder: Path, workers: Workers
    ) -> None:
        self._source = source
        self._options = options
        self._folder = folder
        self._workers = workers
        self._numbers = itertools.count()
        self._every = select_engines(workers, options.engines)
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
        with temporary_folder() as out:
            jobs = [
                Job(
                    source=source,
                    folder=out / str(number),
                    options=structs.replace(self._options.convert, keep_chains=True),
                    engines=self._engines,
                    limits=self._options.limits,
                    candidate=self._options.candidate,
                    names=(source.id, source.path.stem),
                )
                for number, source in enumerate(sources)
            ]
            records = {}
            for job, result in examine_in_workers(self._workers, jobs, self._options.jobs):
                assert isinstance(result, Examined)  # noqa: S101  # it is no check
                records[job.folder] = result.record
        return [records[job.folder] for job in jobs]


@contextmanager
def start_trials(source: RobotSource, options: TrialOptions) -> Iterator[TrialRunner]:
    """Start workers for a robot, and end them at the end of the block.

    Raises:
        UnknownEngineError: An engine is named that is not installed.
    """
    with temporary_folder() as folder, Workers(options.limits) as workers:
        yield TrialRunner(source, options, folder, workers)
