"""Conversion and check of single robots with shared processes, for test sessions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from urdf_usd.conformance.converters.candidates import OWN
from urdf_usd.conformance.execution.engines import InstalledEngine, select_engines
from urdf_usd.conformance.execution.examine import examine_in_worker
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.record import unavailable_record
from urdf_usd.conformance.execution.worker import DEFAULT_LIMITS, Limits, Workers
from urdf_usd.converter import ConvertOptions
from urdf_usd.corpus import Resolved, UnavailableSource
from urdf_usd.reports.records.record import RobotRecord

_DEFAULTS = ConvertOptions()


class Examiner:
    """Converts and checks robots, which share processes and engines.

    Args:
        out: Folder of all assets.
        engines: Engines besides the reference and OpenUSD; all if empty.
        limits: Of each process.
    """

    def __init__(
        self,
        out: Path,
        engines: Sequence[str] = (),
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._out = out
        self._requested = tuple(engines)
        self._limits = limits
        self._open = ExitStack()
        self._workers: Workers | None = None
        self._engines: tuple[InstalledEngine, ...] = ()
        self._numbers = itertools.count()
        self._known: dict[str, RobotRecord] = {}

    def __enter__(self) -> Self:
        """Return self; processes start at the first robot."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop all processes."""
        self._open.close()

    def examine(self, source: Resolved, options: ConvertOptions = _DEFAULTS) -> RobotRecord:
        """Convert and check a robot.

        Args:
            source: The robot.
            options: How it is converted.

        Raises:
            UnknownEngineError: An engine is named that is not installed.
        """
        if isinstance(source, UnavailableSource):
            return unavailable_record(source, OWN)
        workers = self._started()
        job = Job(
            source=source,
            engines=self._engines,
            limits=self._limits,
            folder=self._out / str(next(self._numbers)),
            options=options,
        )
        return examine_in_worker(workers, job)

    def remembered(self, source: Resolved) -> RobotRecord:
        """Return what :meth:`examine` found about a robot, the first time or before.

        Args:
            source: The robot; robots passed here have distinct ids, and
                files that stay as they are.

        Raises:
            UnknownEngineError: An engine is named that is not installed.
        """
        if source.id not in self._known:
            self._known[source.id] = self.examine(source)
        return self._known[source.id]

    def _started(self) -> Workers:
        if self._workers is None:
            self._workers = self._open.enter_context(Workers(self._limits))
            self._engines = select_engines(self._workers, self._requested)
        return self._workers
