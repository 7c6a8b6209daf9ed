"""Runs of the command with small robots and a hostile engine."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.conformance import hostile
from tests.robots import ROBOT
from urdf_usd.conformance.execution.folder import RunFolder

# Time limit that no machine reaches unless a test fails [s].
HANGS = 600
_PROGRAM = (sys.executable, "-c", "from urdf_usd.cli.program import main; main()")
# A time of modification [s].
_LONG_AGO = 1_000_000_000
_CORNERS = ((0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.1))
_FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def write_robot(folder: Path, name: str) -> Path:
    path = folder / f"{name}.urdf"
    path.write_text(ROBOT.replace('<box size="1 2 3"/>', f'<mesh filename="{name}.stl"/>'))
    write_mesh(folder / f"{name}.stl", 1.0)
    return path


def write_mesh(path: Path, scale: float) -> None:
    """Write a tetrahedron as STL text."""
    lines = ["solid"]
    for face in _FACES:
        lines += ["facet normal 0 0 0", "outer loop"]
        for corner in face:
            x, y, z = (scale * value for value in _CORNERS[corner])
            lines.append(f"vertex {x} {y} {z}")
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid", ""]))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Run:
    """Runs of the command in one folder, with a hostile engine and converter."""

    def __init__(self, folder: Path, kinds: Iterable[str] = ()) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.environment = hostile.install(folder / "site", kinds)

    def command(self, corpus: str, *options: str) -> list[str]:
        chosen = ("--engine", "hostile", "--jobs", "2", "--timeout", "300")
        return [*_PROGRAM, "run", corpus, "--out", str(self.out), *chosen, *options]

    def start(self, command: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
        """Run any command of the program to its end, with variables in the environment."""
        return subprocess.run(
            [*_PROGRAM, *command],
            env=self.environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def __call__(
        self, corpus: str, *options: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return self.start(self.command(corpus, *options)[len(_PROGRAM) :], **variables)

    def record(self, robot: str) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self._record(robot).read_text())
        return read

    def finished(self, *robots: str) -> bool:
        folder = RunFolder(self.out)
        return all(folder.finished(f"dir--{robot}") for robot in robots)

    def mark(self, *robots: str) -> None:
        """Set the times of records, so that rewritten ones can be detected."""
        for robot in robots:
            os.utime(self._record(robot), (_LONG_AGO, _LONG_AGO))

    def kept(self, *robots: str) -> list[str]:
        """Return robots whose records were not written since they were marked."""
        return [r for r in robots if self._record(r).stat().st_mtime == _LONG_AGO]

    def _record(self, robot: str) -> Path:
        return self.out / "results" / f"dir--{robot}.json"


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; the delay is not part of the test."""
    deadline = time.monotonic() + HANGS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def processes_with(variable: str) -> list[str]:
    """List processes that were started with a variable such as ``A=b``; Linux only.

    Workers have process groups of their own, and are found by this.
    """
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = (process / "environ").read_bytes().split(b"\0")
            if variable.encode() in variables:
                found.append(process.name)
    return found
