"""Comparison with Newton's urdf-usd-converter on the same robots, in turn.

PEER_PYTHON is the interpreter of an environment with the peer, as ``nox -s bench_peer`` makes
one. The default corpus is example-robot-data. Only robots that both convert count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

from tests.tools.corpora import table
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.corpus import RobotSource, resolve_corpora

# Answers of a worker by robot.
Answers: TypeAlias = dict[str, dict[str, Any]]
# Variables that limit the threads of numerical libraries.
_THREADS = ("OPENBLAS_NUM_THREADS", "PXR_WORK_THREAD_LIMIT")


def measure(pythons: dict[str, str], robots: list[RobotSource]) -> dict[str, Answers]:
    """Convert robot by robot with each side: the speed of a shared machine varies in minutes."""
    answers: dict[str, Answers] = {side: {} for side in pythons}
    program = "tests.tools.benchmarks.peer_worker"
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        workers = {
            side: stack.enter_context(Simulator(side, program, python))
            for side, python in pythons.items()
        }
        # The first robot also loads all libraries, and is converted again.
        for number, robot in enumerate((robots[0], *robots)):
            packages = {name: str(path) for name, path in robot.packages}
            request = {"urdf": str(robot.path), "packages": packages}
            for side, worker in workers.items():
                target = str(Path(folder, side, str(number)))
                answers[side][robot.id] = worker.observe({**request, "folder": target})
    return answers


def rows(rounds: list[dict[str, Answers]], limited: dict[str, Answers]) -> Iterator[str]:
    """Yield the table as Markdown: medians of sums over the robots that both convert."""
    first = rounds[0].values()
    failed = {robot for answers in first for robot, one in answers.items() if "error" in one}
    common = rounds[0]["ours"].keys() - failed
    columns = []
    for side in ("peer", "ours"):
        own = [[one[side][robot] for robot in common] for one in (*rounds, limited)]
        cpu, wall = ([sum(one[key] for one in found) for found in own] for key in ("cpu", "wall"))
        contents = [Counter(one["content"]) for one in own[0]]
        columns.append(
            {
                "processor time [s]": round(statistics.median(cpu[:-1]), 2),
                "wall time [s]": round(statistics.median(wall[:-1]), 2),
                "processor time, libraries with one thread [s]": round(cpu[-1], 2),
                "peak memory [MiB]": round(max(one["peak"] for one in own[0])),
                **sum(contents, Counter[str]()),
            }
        )
    peer, ours = columns
    yield f"{len(common)} robots"
    lines = [
        (title, f"{peer.get(title, 0):,.10g}", f"{mine:,.10g}", f"{peer.get(title, 0) / mine:.2f}")
        for title, mine in ours.items()
    ]
    yield from ("", *table(("quantity", "peer", "ours", "peer / ours"), lines))
    yield from (f"left out: {robot}" for robot in sorted(failed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer_python", metavar="PEER_PYTHON")
    parser.add_argument("corpora", metavar="CORPUS", nargs="*", default=["erd"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = resolve_corpora(options.corpora)
    robots = [one for one in found if isinstance(one, RobotSource) and one.path.suffix == ".urdf"]
    pythons = {"peer": options.peer_python, "ours": sys.executable}
    rounds = [measure(pythons, robots) for _ in range(options.rounds)]
    os.environ |= dict.fromkeys(_THREADS, "1")
    print("\n".join(rows(rounds, measure(pythons, robots))))


if __name__ == "__main__":
    main()
