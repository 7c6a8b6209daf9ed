"""Runs with engines and converters that crash, stopped runs, and resumed ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.misbehaviour import CRASHES, HANGS, LITTER
from tests.conformance.runs import HANGS as _HANGS
from tests.conformance.runs import (
    Run,
    processes_with,
    wait_until,
    write_mesh,
    write_robot,
)

_LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux keeps to limits"
)
_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    """A folder with two robots on which the hostile engine crashes, and two others."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in ("abort", "calm", "hang", "quiet"):
        write_robot(folder, name)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command."""
    return Run(tmp_path)


_KINDS = (*CRASHES, *HANGS, *LITTER, "wrong-type", "calm")
_REASONS = {
    **{kind: reason for kind, (_, reason) in CRASHES.items()},
    **dict.fromkeys(HANGS, "no answer after 300 s"),
    "wrong-type": "TypeError: the engine returned int instead of an observation",
}


@pytest.fixture
def hostile_robots(tmp_path: Path) -> Path:
    """A folder with a robot for each kind of misbehaviour, and one for none."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in _KINDS:
        write_robot(folder, name)
    return folder


@_LINUX
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_misbehaving_engine_costs_its_own_answer(
    run: Run, hostile_robots: Path, tmp_path: Path, short_path: Path, jobs: str
) -> None:
    """All other engines observe that robot, and the record has the reason."""
    temporary = short_path
    mark = {"TMPDIR": str(temporary), "MARK_OF_TEST": str(tmp_path)}
    limits = "--memory", "1024", "--jobs", jobs

    ending = run(f"dir:{hostile_robots}", *limits, **mark)

    assert ending.returncode == 0, ending.stderr
    for kind in _KINDS:
        record = run.record(kind)
        assert record["verdict"] in {"exact", "close"}, record["reason"]
        status = {w["name"]: w["status"] for w in record["engines"]}
        crashes = kind in _REASONS
        assert status.pop("hostile") == ("crashed" if crashes else "abstained"), kind
        assert set(status.values()) == {"observed"}
        if crashes:
            assert run.hostile(kind)["reason"].startswith(_REASONS[kind])
    for kind in ("abort", "hang"):
        output = run.hostile(kind)["output"]
        assert output.startswith("printed by the engine\n")
        assert "in observe" in output
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert list(temporary.iterdir()) == []
    assert _scraps(run.out) == []


@_LINUX
def test_misbehaving_converter_costs_its_own_robots(
    run: Run, hostile_robots: Path, tmp_path: Path, short_path: Path
) -> None:
    """All others are converted, compared and recorded."""
    temporary = short_path
    mark = {"TMPDIR": str(temporary), "MARK_OF_TEST": str(tmp_path)}
    chosen = "--memory", "1024", "--converter", "hostile"

    ending = run(f"dir:{hostile_robots}", *chosen, SPARE="1", **mark)

    assert ending.returncode == 1, ending.stderr
    for kind in _KINDS:
        record = run.record(kind)
        if kind in CRASHES or kind in HANGS:
            assert record["verdict"] == "crashed"
            died = f"the converter died: {_REASONS[kind]}"
            assert record["reason"].startswith(died), kind
        else:
            assert record["verdict"] in {"exact", "close"}, record["reason"]
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert list(temporary.iterdir()) == []


def _scraps(out: Path) -> list[Path]:
    return [path for path in out.rglob(".*") if path.name != ".urdf-usd-run"]


def test_what_has_not_changed_is_kept(run: Run, robots: Path) -> None:
    """And what has is made anew: a mesh, an option, an asset that is gone."""
    corpus = f"dir:{robots}"
    everything = ("abort", "calm", "hang", "quiet")
    run(corpus, SPARE="1")
    run.mark(*everything)

    again = run(corpus, "--resume", SPARE="1")
    kept_all = run.kept(*everything)
    write_mesh(robots / "calm.stl", 2.0)
    shutil.rmtree(run.out / "assets" / "dir--quiet")
    (robots / "hang.urdf").unlink()
    run(corpus, "--resume", SPARE="1")
    kept_some = run.kept("abort", "calm", "quiet")
    run(corpus, "--resume", "--bodies", "flat", SPARE="1")
    kept_none = run.kept("abort", "calm", "quiet")

    assert again.returncode == 0
    assert kept_all == list(everything)
    assert kept_some == ["abort"]
    assert kept_none == []
    # What is no longer in the corpus is gone.
    names = sorted(path.name for path in (run.out / "results").iterdir())
    assert names == [f"dir--{robot}.json" for robot in ("abort", "calm", "quiet")]
    assert (run.out / "assets" / "dir--quiet" / "quiet.usda").is_file()


def test_a_missing_mesh_that_turns_up_is_a_change(run: Run, robots: Path) -> None:
    """Though no file that was read is another."""
    for name in ("abort", "hang"):
        (robots / f"{name}.urdf").unlink()
    mesh = robots / "calm.stl"
    mesh.rename(robots / "elsewhere")
    corpus = f"dir:{robots}"
    run(corpus, SPARE="1")
    run.mark("calm", "quiet")

    (robots / "elsewhere").rename(mesh)
    run(corpus, "--resume", SPARE="1")

    assert run.kept("calm", "quiet") == ["quiet"]


def test_what_broke_is_redone_only_if_that_is_wanted_or_limits_differ(
    run: Run, robots: Path
) -> None:
    """A robot that takes too long would do so every time."""
    corpus = f"dir:{robots}"
    (robots / "hang.urdf").unlink()
    run(corpus)
    run.mark("abort", "calm", "quiet")

    run(corpus, "--resume", SPARE="1")
    kept = run.kept("abort", "calm", "quiet")
    run(corpus, "--resume", "--timeout", "400")
    with_time = run.kept("abort", "calm", "quiet")
    still_broken = run.hostile("abort")["status"]
    run.mark("abort")
    run(corpus, "--resume", "--timeout", "400", "--retry", SPARE="1")

    assert kept == ["abort", "calm", "quiet"]
    assert with_time == ["calm", "quiet"]
    assert still_broken == "crashed"
    assert run.kept("abort", "calm", "quiet") == ["calm", "quiet"]
    assert run.hostile("abort")["status"] == "abstained"


@pytest.fixture
def stopped() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ended, whatever a test leaves behind."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=_HANGS)


@_POSIX
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_stopped_run_reports_and_can_be_resumed(
    run: Run,
    robots: Path,
    stopped: list[subprocess.Popen[str]],
    short_path: Path,
    how: str,
) -> None:
    """Exit 130, no process or temporary file left; a batch system sends SIGTERM."""
    mark = str(short_path)
    corpus = f"dir:{robots}"
    (robots / "abort.urdf").unlink()
    # One robot hangs for longer than the test takes.
    process = subprocess.Popen(
        run.command(corpus, "--timeout", "6000"),
        env=run.environment
        | {"PATIENT": "1", "MARK_OF_TEST": mark, "TMPDIR": str(short_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until(lambda: len([*run.out.glob("results/*.json")]) == 2)
    if how == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.Signals[how])
    _, stderr = process.communicate(timeout=_HANGS)

    assert process.returncode == 130
    assert "2 of 3 robots are finished" in stderr
    assert "Traceback" not in stderr
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (False, 1)
    assert [robot["id"] for robot in summary["robots"]] == ["dir--calm", "dir--quiet"]
    assert "Incomplete" in (run.out / "index.html").read_text()
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark}"))
    assert list(short_path.iterdir()) == []
    assert _scraps(run.out) == []

    run.mark("calm", "quiet")
    run(corpus, "--resume", SPARE="1")

    assert run.kept("calm", "quiet") == ["calm", "quiet"]
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (True, 0)
    assert len(summary["robots"]) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_killed_run_leaves_no_process(
    run: Run, robots: Path, stopped: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    """It has no chance to stop them itself."""
    mark = str(tmp_path)
    for name in ("abort", "calm"):
        (robots / f"{name}.urdf").unlink()
    process = subprocess.Popen(
        run.command(f"dir:{robots}", "--timeout", "6000"),
        env=run.environment | {"PATIENT": "1", "MARK_OF_TEST": mark},
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until((run.out / "results" / "dir--quiet.json").exists)

    process.kill()
    process.wait()

    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark}"))
