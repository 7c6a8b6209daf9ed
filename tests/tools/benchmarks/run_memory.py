"""Memory of a run over many small robots, over its duration. Linux only.

    python -m tests.tools.benchmarks.run_memory FOLDER [--robots 2000] [--jobs 2]

Writes the robots and the run to a folder, and a line to stdout for every tenth of the
robots. Memory is the proportional set size: a page that processes share is counted in
parts. ``main`` is the command itself, which keeps the records; ``server`` is its fork
server, which is loaded once; ``workers`` are all other processes together. The largest
value since the line before is shown of each.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.conformance.runs import write_mesh

_INTERVAL = 1.0
_PARTS = 10
_COMMAND = "from urdf_usd.cli.program import start; start()"
_KIBIBYTE_PER_MEBIBYTE = 1024
_SHAPES = (
    '<box size="0.1 0.2 0.3"/>',
    '<cylinder radius="0.1" length="0.4"/>',
    '<sphere radius="0.15"/>',
    '<mesh filename="part.stl" scale="1 1.5 0.5"/>',
)
_TYPES = ("revolute", "prismatic", "continuous", "fixed")


class Memory(NamedTuple):
    """Proportional set sizes [MiB]."""

    main: float
    server: float
    workers: float


def main() -> None:
    """Write the robots, run, and show the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--robots", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    robots = chosen.folder / "robots"
    robots.mkdir(parents=True, exist_ok=True)
    write_mesh(robots / "part.stl", 1.0)
    for number in range(chosen.robots):
        text = small_robot(random.Random(number))
        (robots / f"r{number:05}.urdf").write_text(text)
    out = chosen.folder / "run"
    words = ("run", f"dir:{robots}", "--out", str(out), "--jobs", str(chosen.jobs))
    with (chosen.folder / "printed.txt").open("w") as printed:
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *words],
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
        watch(process, out / "results", chosen.robots)
    sys.exit(process.returncode)


def small_robot(chance: random.Random) -> str:
    """Write a chain of two to six links with shapes, masses and limits."""
    links = chance.randint(2, 6)
    parts = []
    for link in range(links):
        shape = f"<geometry>{chance.choice(_SHAPES)}</geometry>"
        parts.append(
            f'<link name="l{link}"><visual>{shape}</visual>'
            f"<collision>{shape}</collision><inertial>"
            f'<origin xyz="0.01 0.02 {chance.uniform(-0.1, 0.1):.3f}"/>'
            f'<mass value="{chance.uniform(0.2, 3):.3f}"/>'
            '<inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.04" iyz="0" izz="0.05"/>'
            "</inertial></link>"
        )
        if link:
            limit = chance.uniform(0.2, 2)
            parts.append(
                f'<joint name="j{link}" type="{chance.choice(_TYPES)}">'
                f'<parent link="l{link - 1}"/><child link="l{link}"/>'
                '<origin xyz="0.1 0.05 0.2" rpy="0.3 -0.2 0.1"/><axis xyz="0.6 0 0.8"/>'
                f'<limit lower="{-limit:.3f}" upper="{limit:.3f}" effort="9" '
                'velocity="3"/></joint>'
            )
    return f'<robot name="small">{"".join(parts)}</robot>'


def watch(process: subprocess.Popen[bytes], results: Path, robots: int) -> None:
    """Show the memory of a run until its end.

    Args:
        process: The command.
        results: Folder of the records.
        robots: Number of robots.
    """
    begin = time.monotonic()
    largest = Memory(0, 0, 0)
    shown = 0
    sys.stdout.write("robots  minutes  main  server  workers [MiB]\n")
    while process.poll() is None:
        time.sleep(_INTERVAL)
        largest = Memory(*map(max, largest, memory_of(process.pid)))
        done = sum(1 for _ in results.iterdir()) if results.is_dir() else 0
        if done * _PARTS // robots > shown:
            shown = done * _PARTS // robots
            _show(str(done), begin, largest)
            largest = Memory(0, 0, 0)
    _show("end", begin, largest)


def _show(place: str, begin: float, memory: Memory) -> None:
    minutes = (time.monotonic() - begin) / 60
    values = "  ".join(f"{value:6.0f}" for value in memory)
    sys.stdout.write(f"{place:>6}  {minutes:7.1f}  {values}\n")
    sys.stdout.flush()


def memory_of(main: int) -> Memory:
    """Measure a command, its fork server and all further processes.

    Args:
        main: Process of the command.
    """
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = _parent(stat)
        except OSError:
            continue
    children = [one for one, parent in parents.items() if parent == main]
    # The other child is multiprocessing's tracker of resources.
    server = max(children, key=_size, default=main)
    workers = [one for one, parent in parents.items() if parent in {*children} and one != main]
    workers += [one for one in children if one != server]
    inner = [one for one, parent in parents.items() if parent in {*workers}]
    return Memory(_size(main), _size(server), sum(map(_size, {*workers, *inner} - {server})))


def _parent(stat: Path) -> int:
    return int(stat.read_text().rpartition(")")[2].split()[1])


def _size(process: int) -> float:
    """Proportional set size of a process [MiB]; zero if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    sizes = [line.split()[1] for line in lines if line.startswith("Pss:")]
    return int(sizes[0]) / _KIBIBYTE_PER_MEBIBYTE if sizes else 0.0


if __name__ == "__main__":
    main()
