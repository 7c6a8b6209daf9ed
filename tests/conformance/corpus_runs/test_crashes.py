"""Engines and converters that crash, and runs that are stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.hostile import ENGINE_KINDS, UNLOADABLE
from tests.conformance.misbehaviour import CRASHES, HANGS
from tests.conformance.runs import HANGS as _HANGS
from tests.conformance.runs import Run, processes_with, tree, wait_until, write_robot
from urdf_usd.converter import convert

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to limits")


@pytest.fixture
def mark(short_path: Path) -> dict[str, str]:
    """Variables of a process; those that it starts are found by them."""
    return {"TMPDIR": str(short_path), "MARK_OF_TEST": str(short_path)}


def _leaves_nothing(mark: dict[str, str], out: Path | None = None) -> bool:
    """Wait for the end of processes; return whether temporary and unfinished files are left."""
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark['MARK_OF_TEST']}"))
    found = [*Path(mark["TMPDIR"]).iterdir(), *(out.rglob(".*") if out else ())]
    # multiprocessing leaves an empty folder of a process that was killed.
    return all(path.name.startswith(("pymp-", ".urdf-usd-run")) for path in found)


# Each of the others is tried as a step of a worker.
_ENDINGS = {"exit-3", "abort", "allocate", "hang"}
_KINDS = {
    kind: reason
    for kind, reason in ENGINE_KINDS.items()
    if kind in _ENDINGS or not (kind in CRASHES or kind in HANGS)
}


def test_each_misbehaving_engine_costs_its_own_answer(tmp_path: Path, mark: dict[str, str]) -> None:
    """An engine of each kind, and engines that cannot be loaded, in one check."""
    robot = write_robot(tmp_path, "arm")
    asset = convert(robot, tmp_path / "asset").root_layer
    record = tmp_path / "record.json"
    check = Run(tmp_path, (*_KINDS, *UNLOADABLE, "calm"))
    command = ("check", str(robot), str(asset), "--json", str(record))

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
    assert _leaves_nothing(mark)


def test_doctor_lists_engines_that_cannot_be_loaded(tmp_path: Path) -> None:
    ending = Run(tmp_path, UNLOADABLE).start(["doctor"])

    assert ending.returncode == 0, ending.stderr
    words = (line.split() for line in ending.stdout.splitlines())
    rows = {row[1]: " ".join(row) for row in words if len(row) > 1}
    assert "reads URDF" in rows["mujoco"]
    for name, (_, reason) in UNLOADABLE.items():
        assert f"crashes: it cannot be loaded: {reason}" in rows[f"hostile-{name}"]


def _robots(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        write_robot(folder, name)
    return f"dir:{folder}"


def test_misbehaving_converter_costs_its_own_robots(tmp_path: Path, mark: dict[str, str]) -> None:
    kinds = ("abort", "exit-3", "hang", "leave-child", "remove-folder", "calm")
    corpus, run = _robots(tmp_path / "robots", *kinds), Run(tmp_path)

    ending = run(corpus, "--memory", "1024", "--converter", "hostile", SPARE="1", **mark)

    assert ending.returncode == 1, ending.stderr
    for kind in kinds:
        record = run.record(kind)
        if kind in CRASHES or kind in HANGS:
            assert record["verdict"] == "crashed"
            died = f"the converter crashed: {ENGINE_KINDS[kind]}"
            assert record["reason"].startswith(died), kind
        else:
            assert record["verdict"] in {"exact", "close"}, record["reason"]
    assert _leaves_nothing(mark, run.out)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_run_leaves_no_process_and_can_be_resumed(
    tmp_path: Path, mark: dict[str, str], how: signal.Signals
) -> None:
    """Exit 130, and a report of finished robots, unless killed; meanwhile the folder is locked.

    An engine hangs and ignores signals; another one has left a process that does not end.
    """
    names = "hang-ignoring-termination", "leave-child", "quiet"
    corpus, run = _robots(tmp_path / "robots", *names), Run(tmp_path)

    def finished() -> dict[str, bytes]:
        files = tree(run.out / "results") | tree(run.out / "assets")
        # Without the robot that is being converted.
        return {
            name: content
            for name, content in files.items()
            if "hang" not in name and not name.startswith(".urdf-usd-")
        }

    with subprocess.Popen(
        # One robot takes longer than the test.
        run.command(corpus, "--timeout", "6000"),
        env=run.environment | mark | {"PATIENT": "1"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_until(lambda: run.finished(*names[1:]))
            before = finished()
            if how is signal.SIGTERM:
                refused = run(corpus, SPARE="1")
                assert refused.returncode == 2
                assert f"in use by the run of process {process.pid} on " in refused.stderr
                assert finished() == before
            (os.killpg if how is signal.SIGINT else os.kill)(process.pid, how)
            _, stderr = process.communicate(timeout=_HANGS)
        finally:
            process.kill()

    if how is signal.SIGKILL:
        wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark['MARK_OF_TEST']}"))
        (run.out / "assets" / ".urdf-usd-unfinished").mkdir()
    else:
        assert process.returncode == 130
        assert "2 of 3 robots are finished" in stderr
        assert "Traceback" not in stderr
        summary = json.loads((run.out / "summary.json").read_text())
        assert (summary["complete"], summary["unfinished"]) == (False, 1)
        assert [robot["id"] for robot in summary["robots"]] == ["dir--leave-child", "dir--quiet"]
        assert "Incomplete" in (run.out / "index.html").read_text()
        assert _leaves_nothing(mark, run.out)

    run.mark(*names[1:])
    resumed = run(corpus, "--resume", SPARE="1")

    assert resumed.returncode == 0, resumed.stderr
    assert not (run.out / "assets" / ".urdf-usd-unfinished").exists()
    assert run.kept(*names[1:]) == [*names[1:]]
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (True, 0)
    assert len(summary["robots"]) == 3
