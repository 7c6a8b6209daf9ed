"""Real runs over robots that kill, stopped runs, and runs that go on from there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conformance.runs import (
    HANGS,
    Run,
    group_exists,
    wait_until,
    write_mesh,
    write_robot,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux keeps to limits"
)
_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    """A folder with three robots that kill, and two that do not."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in ("abort", "calm", "devour", "hang", "quiet"):
        write_robot(folder, name)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command."""
    return Run(tmp_path)


@_LINUX
def test_who_dies_hangs_or_devours_costs_its_own_answer(run: Run, robots: Path) -> None:
    """All others are heard on that robot, and on the others; the record says why."""
    ending = run(f"dir:{robots}", "--memory", "1024", HASTY="1")

    assert ending.returncode == 0, ending.stderr
    for name in ("abort", "calm", "devour", "hang", "quiet"):
        record = run.record(name)
        assert record["verdict"] in {"exact", "close"}, record["reason"]
        heard = {w["name"]: w["status"] for w in record["engines"]}
        assert heard.pop("killer") == (
            "abstained" if name in {"calm", "quiet"} else "crashed"
        )
        assert set(heard.values()) == {"observed"}
    assert run.killer("abort")["reason"] == "the process died: SIGABRT"
    assert run.killer("hang")["reason"] == "no answer after 300 s"
    assert run.killer("devour")["reason"] == "the memory limit was reached"
    for name in ("abort", "hang"):
        assert run.killer(name)["output"].startswith("the killer was here\n")
        assert "in observe" in run.killer(name)["output"]
    assert _scraps(run.out) == []


def _scraps(out: Path) -> list[Path]:
    return [path for path in out.rglob(".*") if path.name != ".urdf-usd-run"]


def test_what_has_not_changed_is_kept(run: Run, robots: Path) -> None:
    """And what has is made anew: a mesh, an option, an asset that is gone."""
    corpus = f"dir:{robots}"
    (robots / "devour.urdf").unlink()
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
    for name in ("abort", "devour", "hang"):
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
    for name in ("devour", "hang"):
        (robots / f"{name}.urdf").unlink()
    run(corpus)
    run.mark("abort", "calm", "quiet")

    run(corpus, "--resume", SPARE="1")
    kept = run.kept("abort", "calm", "quiet")
    run(corpus, "--resume", "--timeout", "400")
    with_time = run.kept("abort", "calm", "quiet")
    still_broken = run.killer("abort")["status"]
    run.mark("abort")
    run(corpus, "--resume", "--timeout", "400", "--retry", SPARE="1")

    assert kept == ["abort", "calm", "quiet"]
    assert with_time == ["calm", "quiet"]
    assert still_broken == "crashed"
    assert run.kept("abort", "calm", "quiet") == ["calm", "quiet"]
    assert run.killer("abort")["status"] == "abstained"


@pytest.fixture
def stopped() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ended, whatever a test leaves behind."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=HANGS)


@_POSIX
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_can_be_gone_on_with(
    run: Run,
    robots: Path,
    stopped: list[subprocess.Popen[str]],
    how: signal.Signals,
) -> None:
    """Ctrl-C, or a batch system's request: report so far, exit 130, nobody left."""
    corpus = f"dir:{robots}"
    for name in ("abort", "devour"):
        (robots / f"{name}.urdf").unlink()
    # One robot hangs for longer than the test takes.
    process = subprocess.Popen(  # noqa: S603  # our own command
        run.command(corpus, "--timeout", "6000"),
        env=run.environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until(lambda: len([*run.out.glob("results/*.json")]) == 2)
    if how is signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    _, stderr = process.communicate(timeout=HANGS)

    assert process.returncode == 130
    assert "2 of 3 robots are finished" in stderr
    assert "Traceback" not in stderr
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (False, 1)
    assert [robot["id"] for robot in summary["robots"]] == ["dir--calm", "dir--quiet"]
    assert "Incomplete" in (run.out / "index.html").read_text()
    wait_until(lambda: not group_exists(process.pid))
    assert _scraps(run.out) == []

    run.mark("calm", "quiet")
    run(corpus, "--resume", SPARE="1")

    assert run.kept("calm", "quiet") == ["calm", "quiet"]
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (True, 0)
    assert len(summary["robots"]) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_run_that_is_killed_takes_its_processes_along(
    run: Run, robots: Path, stopped: list[subprocess.Popen[str]]
) -> None:
    """Even where it gets no chance to stop them."""
    for name in ("abort", "calm", "devour"):
        (robots / f"{name}.urdf").unlink()
    process = subprocess.Popen(  # noqa: S603  # our own command
        run.command(f"dir:{robots}", "--timeout", "6000"),
        env=run.environment,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until((run.out / "results" / "dir--quiet.json").exists)

    process.kill()
    process.wait()

    wait_until(lambda: not group_exists(process.pid))
