"""The API can be used in programs without a guard in their main module.

Child processes of :mod:`multiprocessing` import the module that was started as a
program. Without ``if __name__ == "__main__"``, a user's program would run again in
every worker.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.robots import ROBOT

PROGRAM = """
with open("runs.txt", "a") as runs:
    runs.write("run\\n")

from urdf_usd import check, convert

asset = convert("arm.urdf", "arm_usd")
record = check("arm.urdf", asset.root_layer)
assert record.verdict.conforms, record.reason
print("verdict:", record.verdict.value)
"""
# Ways to start a program, and the file name that each needs: the main module is known as a file,
# by name, or not at all.
WAYS = {
    "script": (("program.py",), "program.py"),
    "package": (("-m", "robots"), "robots/__main__.py"),
    "input": (("-",), None),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a robot."""
    (tmp_path / "arm.urdf").write_text(ROBOT)
    return tmp_path


def run_program(folder: Path, way: str, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, started in one of the ways."""
    arguments, name = WAYS[way]
    if name is not None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(program)
    if name and "/" in name:
        (folder / name).with_name("__init__.py").touch()
    return subprocess.run(
        (sys.executable, *arguments),
        input=None if name else program,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


@pytest.mark.parametrize("way", WAYS)
def test_program_without_guard_runs_once(folder: Path, way: str) -> None:
    done = run_program(folder, way, PROGRAM)

    assert "verdict: exact" in done.stdout, done.stderr
    assert "Error" not in done.stderr
    assert done.returncode == 0
    assert (folder / "runs.txt").read_text() == "run\n"


def test_processes_of_the_user_still_import_the_main_module(folder: Path) -> None:
    program = """
import multiprocessing
import threading

def double(number):
    return 2 * number

if __name__ == "__main__":
    from urdf_usd import check, convert

    asset = convert("arm.urdf", "arm_usd")
    records = []
    thread = threading.Thread(
        target=lambda: records.append(check("arm.urdf", asset.root_layer))
    )
    thread.start()
    found = []
    while thread.is_alive() or not found:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found.append(pool.map(double, [21]))
    thread.join()
    assert all(one == [42] for one in found), found
    print("verdict:", records[0].verdict.value)
"""
    done = run_program(folder, "script", program)

    assert done.stdout == "verdict: exact\n", done.stderr
    assert done.returncode == 0


def test_task_of_the_main_module_is_a_crash(folder: Path) -> None:
    program = """
from functools import partial
from urdf_usd.conformance.execution.worker import Workers

def double(number):
    return 2 * number

class Number:
    pass

with Workers() as pool:
    for task in ((double, 1), (partial(double, 1),), (print, [Number()])):
        print(pool.call(*task).reason.partition(" on ")[0])
"""
    done = run_program(folder, "script", program)

    assert done.stdout.splitlines() == [
        "AttributeError: Can't get attribute 'double'",
        "AttributeError: Can't get attribute 'double'",
        "AttributeError: Can't get attribute 'Number'",
    ], done.stderr
    assert done.stderr == ""
