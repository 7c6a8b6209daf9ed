"""Progress of a run: count, rate and time left.

A progress bar on terminals. Otherwise a line every ten seconds, and one for each robot
that does not conform.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from urdf_usd.cli.output.console import stderr
from urdf_usd.reports.appearance import VERDICTS

if TYPE_CHECKING:
    from rich.console import Console

    from urdf_usd.reports.records.record import RobotRecord


# Seconds between lines without a terminal.
_PERIOD = 10.0
# Number of latest robots from which the rate is computed.
_WINDOW = 200
_MINUTE = 60
_HOUR = 60 * _MINUTE


class Pace:
    """Rate at which robots are finished.

    Args:
        total: Number of robots.
        start: Start time [s].
    """

    def __init__(self, total: int, start: float) -> None:
        self._left = total
        self._times = deque([start], maxlen=_WINDOW)

    def finish(self, now: float) -> None:
        """Count one robot that finished at a time [s]."""
        self._left -= 1
        self._times.append(now)

    def __str__(self) -> str:
        """Format rate and time left, such as ``2.5/s, 40 s left``."""
        seconds = self._times[-1] - self._times[0]
        finished = len(self._times) - 1
        if not finished or seconds <= 0:
            return ""
        each = seconds / finished
        rate = f"{1 / each:.1f}/s" if each < 1 else f"{each:.1f} s each"
        return f"{rate}, {duration(self._left * each)} left" if self._left else rate


def duration(seconds: float) -> str:
    """Format a duration as seconds, minutes or hours."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


@contextmanager
def shown_progress(total: int, *, named: bool = False) -> Iterator[Callable[[RobotRecord], None]]:
    """Show progress on stderr during the block; call the result once per robot.

    Args:
        total: Number of records: robots times converters.
        named: Whether to prefix the robot with its converter.
    """
    console = stderr()
    pace = Pace(total, time.monotonic())
    if not console.is_terminal:
        yield _Lines(console, total, pace, named=named).show
        return
    with _bar(console) as progress:
        task = progress.add_task("", total=total, pace="")

        def show(record: RobotRecord) -> None:
            pace.finish(time.monotonic())
            progress.update(
                task,
                advance=1,
                description=_name(record, named=named),
                pace=f"{pace}",
                refresh=True,
            )

        yield show


@contextmanager
def mesh_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar of meshes; call the result before each of them.

    Its arguments are the name of a mesh, its number from one on, and the number of all.
    """
    with _bar(stderr()) as progress:
        task = progress.add_task("", pace="decomposing")

        def show(mesh: str, number: int, total: int) -> None:
            progress.update(task, completed=number - 1, total=total, description=mesh, refresh=True)

        yield show


class _Lines:
    """Progress as lines, for logs."""

    def __init__(self, console: Console, total: int, pace: Pace, *, named: bool) -> None:
        self._console = console
        self._named = named
        self._total = total
        self._pace = pace
        self._count = 0
        self._next = 0.0

    def show(self, record: RobotRecord) -> None:
        now = time.monotonic()
        self._pace.finish(now)
        self._count += 1
        last = self._count == self._total
        if now < self._next and record.verdict.conforms and not last:
            return
        self._next = now + _PERIOD
        look = VERDICTS[record.verdict]
        result = "part of a robot" if record.part else record.verdict
        count = f"{self._count:{len(str(self._total))}}"
        pace = f" ({self._pace})" if f"{self._pace}" else ""
        self._console.print(
            Text(f"[{count}/{self._total}] {look.sign} {result}: ")
            + Text(f"{_name(record, named=self._named)}{pace}")
        )


def _name(record: RobotRecord, *, named: bool) -> str:
    return f"{record.candidate}/{record.id}" if named else record.id


def _bar(console: Console) -> Progress:
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pace]}"),
        TextColumn("{task.description}", style="dim"),
        console=console,
        transient=True,
    )
