"""Time of a check per robot, with engines sequentially and in parallel.

python -m tests.tools.benchmarks.checks [CORPUS...] [--rounds N]

Robots are examined one after the other. The last row is a lower bound: every engine
loads the robot once. Robots that do not convert are left out.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, chdir
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.tools.benchmarks.engine_loading import load_once
from urdf_usd.conformance.execution.engines import select_engines
from urdf_usd.conformance.execution.examine import examine_in_worker
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.converter import Conversion, convert
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.corpus import RobotSource, resolve_corpora
from urdf_usd.reports.records.record import RobotRecord

DEFAULT_CORPORA = ("erd",)
# Upper bound for the median time of a check [s].
GOAL = 0.5
FLOOR = "engines load it once"


def main() -> None:
    """Measure all robots of some corpora, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=DEFAULT_CORPORA)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    seconds = measure(given.corpora, given.rounds)
    Console().print(table(seconds))


def measure(corpora: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Measure each robot in the best of some rounds; seconds by row."""
    seconds: dict[str, list[float]] = {}
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        # MuJoCo writes a log file into the working folder.
        opened.enter_context(chdir(folder))
        workers = opened.enter_context(Workers())
        engines = select_engines(workers)
        for source in resolve_corpora(corpora):
            if not isinstance(source, RobotSource):
                continue
            try:
                conversion = convert(source.path, folder / "usd")
            except ConversionError:
                continue
            load = _loading(source, conversion)
            seconds.setdefault(FLOOR, []).append(_best(load, rounds))
            checked = Job(source, engines, usd=conversion.root_layer)
            converted = Job(source, engines, folder=folder)
            for row, job in (("a check", checked), ("a robot of a run", converted)):
                work = partial(_examined, workers, job)
                seconds.setdefault(row, []).append(_best(work, rounds))
    return seconds


def table(seconds: dict[str, list[float]]) -> Table:
    """Show medians, and how many stay below the goal."""
    wide = Table("", "robots", "median", "90 %", "largest", f"within {GOAL:g} s")
    for row in sorted(seconds):
        times = sorted(seconds[row])
        wide.add_row(
            row,
            str(len(times)),
            f"{statistics.median(times):.2f} s",
            f"{times[math.ceil(0.9 * len(times)) - 1]:.2f} s",
            f"{times[-1]:.2f} s",
            f"{sum(time <= GOAL for time in times) / len(times):.0%}",
        )
    return wide


def _best(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        if not work():
            raise RuntimeError("nothing was done")
        times.append(time.perf_counter() - begin)
    return min(times)


def _loading(source: RobotSource, conversion: Conversion) -> Callable[[], object]:
    return lambda: load_once(source.path, conversion)


def _examined(workers: Workers, job: Job) -> bool:
    return isinstance(examine_in_worker(workers, job), RobotRecord)


if __name__ == "__main__":
    main()
