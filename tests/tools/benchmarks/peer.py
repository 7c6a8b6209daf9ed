"""Comparison with Newton's urdf-usd-converter on the same robots in one run.

python -m tests.tools.benchmarks.peer PEER_PYTHON [CORPUS…] [--rounds N] [--out DIR]

PEER_PYTHON is the interpreter of an environment with the peer, as ``nox -s bench_peer``
makes one. The default corpus is example-robot-data. Only robots that both convert
count. A table is printed, and written as ``peer.md`` and ``peer.json`` into DIR. This
process uses little memory: on Linux a child inherits the peak memory of its parent.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple, cast

from tests.tools.benchmarks.peer_table import Comparison, Row, markdown, show
from tests.tools.benchmarks.peer_worker import Answer, Job, Measurement, Order
from urdf_usd.corpus import RobotSource, resolve_corpora

HERE = Path(__file__).parent
PROCESSES = 4
COLD_STARTS = 15
# With meshes: STL and OBJ with materials.
MESHED = ("pybullet:kuka_iiwa/model.urdf", "pybullet:r2d2.urdf")
# Variables that limit the threads of numerical libraries.
THREADS = ("OPENBLAS_NUM_THREADS", "PXR_WORK_THREAD_LIMIT")
# Imports of both converters before any work.
FLOOR = "import lxml.etree, numpy; from pxr import Usd, UsdGeom, UsdPhysics, UsdShade"


class Side(NamedTuple):
    """A converter: its name, its interpreter and its command."""

    name: str
    python: str
    command: tuple[str, ...]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("peer_python", metavar="PEER_PYTHON")
    parser.add_argument("corpora", metavar="CORPUS", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("bench-peer"))
    options = parser.parse_args()
    peer = Path(options.peer_python).absolute()
    sides = (
        _side("peer", str(peer), peer.parent / "urdf_usd_converter"),
        _side("ours", sys.executable, Path(sys.executable).parent / "urdf-usd"),
    )
    with tempfile.TemporaryDirectory(prefix="bench-peer-") as folder:
        jobs = _jobs(options.corpora or ["erd"])
        comparison = compare(sides, jobs, options.rounds, Path(folder))
    show(comparison)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "peer.md").write_text(markdown(comparison), encoding="utf-8")
    (options.out / "peer.json").write_text(
        json.dumps(asdict(comparison), indent=2) + "\n", encoding="utf-8"
    )


def _side(name: str, python: str, command: Path) -> Side:
    return Side(name, python, (python, str(command)))


def _jobs(corpora: Sequence[str]) -> list[Job]:
    robots = [one for one in resolve_corpora(corpora) if isinstance(one, RobotSource)]
    return [
        {
            "name": robot.id,
            "path": str(robot.path),
            "packages": {name: str(at) for name, at in robot.packages},
        }
        for robot in robots
        if robot.path.suffix == ".urdf"
    ]


def compare(sides: tuple[Side, Side], jobs: list[Job], rounds: int, folder: Path) -> Comparison:
    """Measure both converters alternately, so that other load affects both."""
    first = [_convert(side, jobs, folder / side.name) for side in sides]
    failures = {
        f"{robot['name']} ({side.name})": robot["error"]
        for side, answer in zip(sides, first, strict=True)
        for robot in answer["robots"]
        if robot["error"] is not None
    }
    failed = {name.partition(" ")[0] for name in failures}
    contents = _contents(sides, jobs, folder, failed)
    sizes = _sizes(jobs, folder / sides[1].name)
    common = [job for job in jobs if job["name"] not in failed]
    warm = [_warm_times(sides, common, folder / f"round{at}") for at in range(rounds)]
    common.sort(key=lambda job: sizes[job["name"]])
    return Comparison(
        robots=len(common),
        smallest=common[0]["name"],
        largest=common[-1]["name"],
        rows=(
            *_warm_rows(warm),
            _memory_row(sides, common[-1], folder),
            *_cold_rows(sides, common[0], folder),
            *(row for job in _jobs(MESHED) for row in _meshed_cold_rows(sides, job, folder)),
            *contents,
        ),
        failures=failures,
    )


def _convert(
    side: Side,
    jobs: Sequence[Job],
    folder: Path,
    *,
    processes: int = 1,
    threads: int | None = None,
) -> Answer:
    """Run a converter in a separate process."""
    folder.mkdir(parents=True)
    request = folder / "request.json"
    request.write_text(
        json.dumps({"jobs": jobs, "folder": str(folder), "processes": processes}),
        encoding="utf-8",
    )
    command = (side.python, str(HERE / "peer_worker.py"), side.name, str(request))
    return cast("Answer", json.loads(_output(command, _thread_limits(threads))))


def _warm_times(sides: tuple[Side, Side], jobs: Sequence[Job], folder: Path) -> dict[str, float]:
    """Measure each way to convert all robots once, robot by robot.

    The speed of a machine that others share varies within a minute.
    """
    times: defaultdict[str, float] = defaultdict(float)
    with ExitStack() as stack:
        workers = {
            (side.name, way): stack.enter_context(_serving(side, threads))
            for side in sides
            for way, threads in (("cpu", None), ("thread", 1))
        }
        for key, worker in workers.items():
            # All libraries are loaded with the first robot.
            _measure(worker, jobs[0], folder / "-".join(key) / "warm")
        for number, job in enumerate(jobs):
            for (name, way), worker in workers.items():
                place = folder / f"{name}-{way}" / str(number)
                found = _measure(worker, job, place)
                times[f"{name} {way}"] += found["cpu"]
                if way == "cpu":
                    times[f"{name} wall"] += found["wall"]
    # If processes share the processors, threads of each are useless.
    place = folder / "together"
    answer = _convert(sides[1], jobs, place, processes=PROCESSES, threads=1)
    times["together"] = answer["wall"]
    shutil.rmtree(folder)
    return times


@contextmanager
def _serving(side: Side, threads: int | None) -> Iterator[subprocess.Popen[str]]:
    """Start a process that converts one robot after the other."""
    with subprocess.Popen(
        (side.python, str(HERE / "peer_worker.py"), side.name),
        env={**os.environ, **_thread_limits(threads)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as worker:
        yield worker


def _measure(worker: subprocess.Popen[str], job: Job, folder: Path) -> Measurement:
    """Convert a robot in a process that was started before."""
    if worker.stdin is None or worker.stdout is None:
        raise ValueError("its streams are no pipes")
    folder.parent.mkdir(parents=True, exist_ok=True)
    order: Order = {"job": job, "folder": str(folder)}
    print(json.dumps(order), file=worker.stdin, flush=True)
    return cast("Measurement", json.loads(worker.stdout.readline()))


def _thread_limits(threads: int | None) -> dict[str, str]:
    return {} if threads is None else dict.fromkeys(THREADS, str(threads))


def _warm_rows(rounds: Sequence[dict[str, float]]) -> tuple[Row, ...]:
    """Return medians over the rounds."""
    median = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    return (
        Row("wall time, one process", "s", median["peer wall"], median["ours wall"]),
        Row(
            f"wall time, ours in {PROCESSES} processes",
            "s",
            median["peer wall"],
            median["together"],
        ),
        Row("processor time", "s", median["peer cpu"], median["ours cpu"]),
        Row(
            "processor time, libraries held to one thread",
            "s",
            median["peer thread"],
            median["ours thread"],
        ),
    )


def _memory_row(sides: Sequence[Side], job: Job, folder: Path) -> Row:
    peaks = [_convert(side, [job], folder / f"{side.name}-memory")["peak"] / 1024 for side in sides]
    return Row("peak memory, largest robot", "MiB", *peaks)


def _cold_rows(sides: Sequence[Side], job: Job, folder: Path) -> tuple[Row, ...]:
    """Measure whole commands on a small robot; imports alone are the lower bound."""
    floor = (sides[1].python, "-c", FLOOR)
    (peer, ours, imports), _ = _cold_starts(sides, job, folder, [floor])
    return (
        Row("cold start of a command, small robot", "s", peer, ours),
        Row("the same, and its imports alone", "s", peer, imports),
    )


def _meshed_cold_rows(sides: Sequence[Side], job: Job, folder: Path) -> tuple[Row, ...]:
    """Measure whole commands on a robot with meshes."""
    walls, times = _cold_starts(sides, job, folder)
    name = f"cold start, {job['name']}"
    return (
        Row(f"{name}: wall time", "s", *walls),
        Row(f"{name}: processor time", "s", *times),
    )


def _cold_starts(
    sides: Sequence[Side],
    job: Job,
    folder: Path,
    others: Sequence[Sequence[str]] = (),
) -> tuple[list[float], list[float]]:
    """Run commands alternately; return medians of their wall and processor times."""
    target = folder / f"cold-{job['name']}"
    packages = [f"--package={name}={at}" for name, at in job["packages"].items()]
    commands: list[Sequence[str]] = []
    for side, convert in zip(sides, ((), ("convert",)), strict=True):
        source = (*side.command, *convert, job["path"])
        commands.append((*source, str(target), *packages))
    commands += others
    measured: list[list[tuple[float, float]]] = [[] for _ in commands]
    for _ in range(COLD_STARTS):
        for found, command in zip(measured, commands, strict=True):
            shutil.rmtree(target, ignore_errors=True)
            found.append(_times(command))
    walls, times = (
        [statistics.median(one[at] for one in found) for found in measured] for at in range(2)
    )
    return walls, times


def _times(command: Sequence[str]) -> tuple[float, float]:
    """Return the wall and the processor time of a program [s]."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _output(command)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return wall, user + system


def _output(command: Sequence[str], variables: Mapping[str, str] | None = None) -> bytes:
    """Run a program of either environment; print its output if it fails."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(command, check=False, capture_output=True, env=environment)
    if done.returncode:
        sys.stderr.write(done.stderr.decode(errors="replace"))
        raise SystemExit(f"{command[1]} failed")
    return done.stdout


def _contents(
    sides: tuple[Side, Side], jobs: Sequence[Job], folder: Path, failed: set[str]
) -> tuple[Row, ...]:
    """Count the content of both converters' assets, so that omissions are visible."""
    sums: list[dict[str, int]] = []
    for side in sides:
        places = [
            str(folder / side.name / str(number))
            for number, job in enumerate(jobs)
            if job["name"] not in failed
        ]
        command = (sides[1].python, str(HERE / "asset_content.py"), *places)
        counts: list[dict[str, int]] = json.loads(_output(command))
        kinds = dict.fromkeys(kind for one in counts for kind in one)
        sums.append({kind: sum(one.get(kind, 0) for one in counts) for kind in kinds})
    peer, ours = sums
    return tuple(
        Row(f"content: {kind}", "", peer.get(kind, 0), count) for kind, count in ours.items()
    )


def _sizes(jobs: Sequence[Job], folder: Path) -> dict[str, int]:
    """Size of each robot's asset [bytes]."""
    return {
        job["name"]: sum(
            path.stat().st_size for path in (folder / str(number)).rglob("*") if path.is_file()
        )
        for number, job in enumerate(jobs)
    }


if __name__ == "__main__":
    main()
