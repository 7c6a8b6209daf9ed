"""Comparison with Newton's urdf-usd-converter on the same robots, in turn.

python -m tests.tools.benchmarks.peer PEER_PYTHON [CORPUS…] [--rounds N]

PEER_PYTHON is the interpreter of an environment with the peer, as ``nox -s bench_peer`` makes
one. The default corpus is example-robot-data. Only robots that both convert count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

from urdf_usd.corpus import RobotSource, resolve_corpora

# Answers of a worker by robot.
Answers: TypeAlias = dict[str, dict[str, Any]]
# Variables that limit the threads of numerical libraries.
_THREADS = ("OPENBLAS_NUM_THREADS", "PXR_WORK_THREAD_LIMIT")


def measure(
    pythons: dict[str, str], robots: list[RobotSource], folder: Path, threads: dict[str, str]
) -> dict[str, Answers]:
    """Convert robot by robot with each side: the speed of a shared machine varies in minutes."""
    answers: dict[str, Answers] = {side: {} for side in pythons}
    program = str(Path(__file__).with_name("peer_worker.py"))
    with ExitStack() as stack:
        workers = {
            side: stack.enter_context(
                subprocess.Popen(
                    (python, program, side),
                    env=os.environ | threads,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    encoding="utf-8",
                )
            )
            for side, python in pythons.items()
        }
        # The first robot also loads all libraries, and is converted again.
        for number, robot in enumerate((robots[0], *robots)):
            for side, worker in workers.items():
                job = {
                    "urdf": str(robot.path),
                    "packages": {name: str(path) for name, path in robot.packages},
                    "folder": str(folder / side / str(number)),
                }
                print(json.dumps(job), file=worker.stdin, flush=True)
                assert worker.stdout
                answers[side][robot.id] = json.loads(worker.stdout.readline())
    return answers


def rows(rounds: list[dict[str, Answers]], limited: dict[str, Answers]) -> Iterator[str]:
    """Yield the table as Markdown: medians of sums over the robots that both convert."""
    sides = ("peer", "ours")
    failed = {robot for side in sides for robot, one in rounds[0][side].items() if "error" in one}
    common = rounds[0]["ours"].keys() - failed

    def total(answers: Answers, key: str) -> float:
        return float(sum(answers[robot][key] for robot in common))

    quantities: dict[str, list[float]] = {
        f"{title} time [s]": [
            round(statistics.median(total(one[side], key) for one in rounds), 2) for side in sides
        ]
        for key, title in (("cpu", "processor"), ("wall", "wall"))
    }
    once = [round(total(limited[side], "cpu"), 2) for side in sides]
    quantities["processor time, libraries with one thread [s]"] = once
    peaks = [max(one["peak"] for one in rounds[0][side].values()) for side in sides]
    quantities["peak memory [MiB]"] = [round(peak) for peak in peaks]
    counts = [Counter[str](), Counter[str]()]
    for side, counted in zip(sides, counts, strict=True):
        for robot in common:
            counted.update(rounds[0][side][robot]["content"])
    quantities |= {kind: [counted[kind] for counted in counts] for kind in counts[1]}
    yield f"{len(common)} robots"
    yield from ("", "| quantity | peer | ours | peer / ours |", "|---|---:|---:|---:|")
    for title, (peer, ours) in quantities.items():
        ratio = f"{peer / ours:.2f}" if ours else ""
        yield f"| {title} | {peer:,.10g} | {ours:,.10g} | {ratio} |"
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
    with tempfile.TemporaryDirectory() as folder:
        rounds = [
            measure(pythons, robots, Path(folder, str(number)), {})
            for number in range(options.rounds)
        ]
        limited = measure(pythons, robots, Path(folder, "limited"), dict.fromkeys(_THREADS, "1"))
    print("\n".join(rows(rounds, limited)))


if __name__ == "__main__":
    main()
