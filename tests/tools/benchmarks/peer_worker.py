"""Convert robots with one converter and measure each conversion.

python peer_worker.py {ours,peer} [REQUEST]

A program for either environment: it needs only the converter and the standard library.
REQUEST is a JSON file of a :class:`Request`; an :class:`Answer` is printed as JSON.
Without it, each line of standard input is an :class:`Order`, and is answered by a line
with a :class:`Measurement`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypedDict


class Job(TypedDict):
    """A robot: its name, its URDF, and the folder of each package."""

    name: str
    path: str
    packages: dict[str, str]


class Order(TypedDict):
    """A robot and the folder of its asset."""

    job: Job
    folder: str


class Request(TypedDict):
    """What to convert into which folder, in how many processes.

    The first robot is converted once beforehand in every process, so that all libraries
    are loaded.
    """

    jobs: list[Job]
    folder: str
    processes: int


class Measurement(TypedDict):
    """One conversion: wall and processor time [s], and the error if it failed."""

    name: str
    wall: float
    cpu: float
    error: str | None


class Answer(TypedDict):
    """All conversions, their total wall time [s], and peak memory [KiB]."""

    robots: list[Measurement]
    wall: float
    peak: int


def _convert_ours(job: Job, folder: str) -> None:
    from urdf_usd.converter import ConvertOptions, convert

    options = ConvertOptions(packages=tuple(job["packages"].items()))
    convert(job["path"], folder, options)


def _convert_peer(job: Job, folder: str) -> None:
    import urdf_usd_converter  # type: ignore[import-not-found]

    packages = [{"name": name, "path": at} for name, at in job["packages"].items()]
    urdf_usd_converter.Converter(ros_packages=packages).convert(job["path"], folder)


CONVERTERS: dict[str, Callable[[Job, str], None]] = {
    "ours": _convert_ours,
    "peer": _convert_peer,
}


def measured(converter: str, job: Job, folder: str) -> Measurement:
    """Convert one robot."""
    error = None
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        CONVERTERS[converter](job, folder)
    # Any exception of a converter is recorded.
    except Exception as failure:  # noqa: BLE001
        error = " ".join(str(failure).split()) or type(failure).__name__
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Measurement(name=job["name"], wall=wall, cpu=cpu, error=error)


def answer(converter: str, request: Request) -> Answer:
    """Convert all robots, in one process or several."""
    jobs, folder, processes = request["jobs"], request["folder"], request["processes"]
    targets = [str(Path(folder, str(number))) for number in range(len(jobs))]
    warm = [str(Path(folder, f"warm{number}")) for number in range(processes)]
    names = [converter] * len(jobs)
    if processes == 1:
        measured(converter, jobs[0], warm[0])
        start = time.perf_counter()
        robots = [measured(*one) for one in zip(names, jobs, targets, strict=True)]
        wall = time.perf_counter() - start
    else:
        with ProcessPoolExecutor(processes) as pool:
            # Longer than the start of a process, so that each process gets one.
            list(pool.map(_warm_up, names[:1] * processes, jobs[:1] * processes, warm))
            start = time.perf_counter()
            robots = list(pool.map(measured, names, jobs, targets))
            wall = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Answer(robots=robots, wall=wall, peak=peak)


def _warm_up(converter: str, job: Job, folder: str) -> None:
    measured(converter, job, folder)
    time.sleep(1.0)


def main() -> None:
    """Process the request or orders; output of the converters goes to stderr."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    converter, *requests = sys.argv[1:]
    with os.fdopen(stdout, "w", encoding="utf-8") as file:
        if requests:
            request: Request = json.loads(Path(requests[0]).read_text(encoding="utf-8"))
            file.write(json.dumps(answer(converter, request)))
            return
        for line in sys.stdin:
            order: Order = json.loads(line)
            found = measured(converter, order["job"], order["folder"])
            print(json.dumps(found), file=file, flush=True)


if __name__ == "__main__":
    main()
