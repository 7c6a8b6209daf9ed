"""Engines and converters that crash, and runs that are stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.hostile import ENGINE_KINDS, UNLOADABLE
from tests.conformance.misbehaviour import CRASHES, HANGS
from tests.conformance.runs import HANGS as _HANGS
from tests.conformance.runs import Run, processes_with, tree, wait_until, write_robot
from urdf_usd.converter import convert

_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to limits")
_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    """A folder with a robot on which the hostile engine hangs, and two others."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in ("calm", "hang", "quiet"):
        write_robot(folder, name)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command."""
    return Run(tmp_path)


def _scraps(temporary: Path, out: Path | None = None) -> list[Path]:
    """List what is left in a temporary folder, and unfinished files of a run."""
    found = [*temporary.iterdir(), *(out.rglob(".*") if out else ())]
    # multiprocessing leaves an empty folder of a process that was killed.
    return [path for path in found if not path.name.startswith(("pymp-", ".urdf-usd-run"))]


# Each of the others is tried as a step of a worker.
_ENDINGS = {"exit-3", "abort", "allocate", "hang"}
_KINDS = {
    kind: reason
    for kind, reason in ENGINE_KINDS.items()
    if kind in _ENDINGS or not (kind in CRASHES or kind in HANGS)
}


@_LINUX
def test_each_misbehaving_engine_costs_its_own_answer(tmp_path: Path, short_path: Path) -> None:
    """An engine of each kind, and engines that cannot be loaded, in one check."""
    robot = write_robot(tmp_path, "arm")
    asset = convert(robot, tmp_path / "asset").root_layer
    record = tmp_path / "record.json"
    check = Run(tmp_path, (*_KINDS, *UNLOADABLE, "calm"))
    command = ("check", str(robot), str(asset), "--json", str(record))
    mark = {"TMPDIR": str(short_path), "MARK_OF_TEST": str(tmp_path)}

    ending = check.start((*command, "--memory", "1024", "--timeout", "300"), **mark)

    assert ending.returncode == 0, ending.stderr
    assert "Traceback" not in ending.stderr
    read = json.loads(record.read_text())
    assert read["verdict"] in {"exact", "close"}
    engines = {engine["name"]: engine for engine in read["engines"]}
    for kind, reason in _KINDS.items():
        engine = engines.pop(f"hostile-{kind}")
        assert engine["status"] == ("crashed" if reason else "unsupported"), kind
        assert (engine["reason"] or "").startswith(reason or "it reads nothing"), kind
        if kind in {"abort", "hang"}:
            assert engine["output"].startswith("printed by the engine\n")
            assert "in observe" in engine["output"]
    for name, (_, reason) in UNLOADABLE.items():
        engine = engines.pop(f"hostile-{name}")
        assert (engine["status"], engine["side"]) == ("crashed", "unknown")
        assert engine["reason"].startswith(f"it cannot be loaded: {reason}"), name
    assert engines.pop("hostile")["status"] == "unsupported"
    assert engines.pop("hostile-calm")["status"] == "unsupported"
    assert {"mujoco", "pybullet", "reference", "openusd"} <= {*engines}
    assert {engine["status"] for engine in engines.values()} == {"observed"}
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert _scraps(short_path) == []


def test_doctor_lists_engines_that_cannot_be_loaded(tmp_path: Path) -> None:
    ending = Run(tmp_path, UNLOADABLE).start(["doctor"])

    assert ending.returncode == 0, ending.stderr
    words = (line.split() for line in ending.stdout.splitlines())
    rows = {row[1]: " ".join(row) for row in words if len(row) > 1}
    assert "reads URDF" in rows["mujoco"]
    for name, (_, reason) in UNLOADABLE.items():
        assert f"crashes: it cannot be loaded: {reason}" in rows[f"hostile-{name}"]


_CONVERTER_KINDS = ("abort", "exit-3", "hang", "leave-child", "remove-folder", "calm")


@_LINUX
def test_misbehaving_converter_costs_its_own_robots(
    run: Run, tmp_path: Path, short_path: Path
) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in _CONVERTER_KINDS:
        write_robot(folder, name)
    mark = {"TMPDIR": str(short_path), "MARK_OF_TEST": str(tmp_path)}

    ending = run(f"dir:{folder}", "--memory", "1024", "--converter", "hostile", SPARE="1", **mark)

    assert ending.returncode == 1, ending.stderr
    for kind in _CONVERTER_KINDS:
        record = run.record(kind)
        if kind in CRASHES or kind in HANGS:
            assert record["verdict"] == "crashed"
            died = f"the converter crashed: {ENGINE_KINDS[kind]}"
            assert record["reason"].startswith(died), kind
        else:
            assert record["verdict"] in {"exact", "close"}, record["reason"]
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert _scraps(short_path, run.out) == []


@pytest.fixture
def stopped() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are killed at the end of a test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=_HANGS)


@_POSIX
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_stopped_run_reports_and_can_be_resumed(
    run: Run, robots: Path, stopped: list[subprocess.Popen[str]], short_path: Path, how: str
) -> None:
    """Exit 130, no process or temporary file left; meanwhile the folder is locked."""
    mark = str(short_path)
    corpus = f"dir:{robots}"
    # One robot takes longer than the test.
    process = subprocess.Popen(
        run.command(corpus, "--timeout", "6000"),
        env=run.environment | {"PATIENT": "1", "MARK_OF_TEST": mark, "TMPDIR": str(short_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until(lambda: run.finished("calm", "quiet"))

    def finished() -> dict[str, bytes]:
        files = tree(run.out / "results") | tree(run.out / "assets")
        # Without the robot that is being converted.
        return {
            name: content
            for name, content in files.items()
            if "hang" not in name and not name.startswith(".urdf-usd-")
        }

    before = finished()
    if how == "SIGTERM":
        refused = run(corpus, SPARE="1")
        assert refused.returncode == 2
        assert f"in use by the run of process {process.pid} on " in refused.stderr
        assert finished() == before
        process.send_signal(signal.SIGTERM)
    else:
        os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=_HANGS)

    assert process.returncode == 130
    assert "2 of 3 robots are finished" in stderr
    assert "Traceback" not in stderr
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (False, 1)
    assert [robot["id"] for robot in summary["robots"]] == ["dir--calm", "dir--quiet"]
    assert "Incomplete" in (run.out / "index.html").read_text()
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark}"))
    assert _scraps(short_path, run.out) == []

    run.mark("calm", "quiet")
    run(corpus, "--resume", SPARE="1")

    assert run.kept("calm", "quiet") == ["calm", "quiet"]
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (True, 0)
    assert len(summary["robots"]) == 3


@_LINUX
def test_killed_run_leaves_no_process(
    run: Run, robots: Path, stopped: list[subprocess.Popen[str]], tmp_path: Path, short_path: Path
) -> None:
    """It has no chance to stop them itself; the next run removes its unfinished files."""
    mark, temporary = str(tmp_path), str(short_path)
    (robots / "calm.urdf").unlink()
    process = subprocess.Popen(
        run.command(f"dir:{robots}", "--timeout", "6000"),
        env=run.environment | {"PATIENT": "1", "MARK_OF_TEST": mark, "TMPDIR": temporary},
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until(lambda: run.finished("quiet"))

    process.kill()
    process.wait()

    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark}"))
    (run.out / "assets" / ".urdf-usd-unfinished").mkdir()
    run.mark("quiet")
    resumed = run(f"dir:{robots}", "--resume", SPARE="1")
    assert resumed.returncode == 0, resumed.stderr
    assert not (run.out / "assets" / ".urdf-usd-unfinished").exists()
    assert run.kept("quiet") == ["quiet"]
