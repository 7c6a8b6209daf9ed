"""The folder of a run: its lock, removed files, and refusals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.runs import tree, wait_until
from urdf_usd.conformance.execution.folder import RunFolder, RunFolderError, claim_run_folder

_PLACES = ("arm", "leg")
_OF_ARM = {
    "results/arm.json",
    "assets/arm/robot.usda",
    "assets/arm/payload/Physics.usda",
    "scenes/arm.gz",
    "expanded/arm.urdf",
    "timings/arm.json",
}
_FOREIGN = {"notes.txt", "results/mine.json", "assets/notes.txt", "scripts/mine.js"}


def _write(out: Path, *names: str) -> None:
    for name in names:
        file = out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"content of {name}")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a finished run."""
    folder = tmp_path / "out"
    with claim_run_folder(folder, _PLACES) as claimed:
        for place in _PLACES:
            _write(folder, *(name.replace("arm", place) for name in _OF_ARM))
            claimed.finish(place)
        _write(folder, "index.html", "robots/arm.html", "scripts/pages.js")
    return folder


def _left(out: Path) -> set[str]:
    return {name for name in tree(out) if not name.startswith(".urdf-usd-run")}


def test_new_run_removes_only_files_of_the_former_one(out: Path, tmp_path: Path) -> None:
    _write(tmp_path, "elsewhere/mine.txt")
    (out / "assets" / "arm" / "link").symlink_to(tmp_path / "elsewhere")
    _write(out, *_FOREIGN)
    with claim_run_folder(out, ("hand",)) as folder:
        assert not any(map(folder.finished, _PLACES))
        assert _left(out) == _FOREIGN
        assert not (out / "expanded").exists()
    assert (tmp_path / "elsewhere" / "mine.txt").is_file()


def test_resumed_run_keeps_only_its_robots(out: Path) -> None:
    with claim_run_folder(out, ("arm", "hand"), resume=True) as folder:
        assert folder.finished("arm")
        assert not folder.finished("leg")
        assert _left(out) == _OF_ARM


def test_other_folder_is_refused_and_unchanged(tmp_path: Path) -> None:
    _write(tmp_path, "assets/logo.svg", "index.html")
    before = tree(tmp_path)

    with (
        pytest.raises(RunFolderError, match=r"\(assets, index\.html\); name a new"),
        claim_run_folder(tmp_path, _PLACES),
    ):
        pass

    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("results/arm.json", None),
        ("scenes/arm.gz", "another"),
        ("assets/arm/robot.usda", ""),
        ("assets/arm/overlay.usda", "added"),
    ],
)
def test_robot_with_a_changed_file_is_removed_on_resuming(
    out: Path, name: str, content: str | None
) -> None:
    if content is None:
        (out / name).unlink()
    else:
        (out / name).write_text(content)
    announced: list[str] = []

    with claim_run_folder(out, _PLACES, resume=True, announce=announced.append) as folder:
        assert [place for place in _PLACES if folder.finished(place)] == ["leg"]

    assert announced == [f"arm is examined again: {name} has changed"]
    assert not {one for one in _left(out) if "arm" in one}


def test_unfinished_robots_are_removed(out: Path) -> None:
    with claim_run_folder(out, ("arm", "hand"), resume=True) as folder:
        folder.remove("hand")
        _write(out, "assets/hand/half.usda", "results/.hand.json.part")
        os.mkfifo(out / "assets" / "hand" / "pipe")
    _write(out, "assets/.urdf-usd-x1/asset/half.usda", ".urdf-usd-x2/half.usda")

    with claim_run_folder(out, ("arm", "hand"), resume=True):
        assert _left(out) == _OF_ARM
    assert not (out / "assets" / "hand").exists()


def test_lock_is_released_at_the_end_of_the_block(tmp_path: Path) -> None:
    with claim_run_folder(tmp_path, ()):
        held = f"run of process {os.getpid()} on {socket.gethostname()}; wait"
        with pytest.raises(RunFolderError, match=held), claim_run_folder(tmp_path, ()):
            pass
    with claim_run_folder(tmp_path, ()) as folder:
        assert isinstance(folder, RunFolder)


def test_lock_of_a_killed_process_is_released(tmp_path: Path) -> None:
    program = """
import subprocess, sys, time
from pathlib import Path
from urdf_usd.conformance.execution.folder import claim_run_folder
with claim_run_folder(Path(sys.argv[1]), ("arm",)):
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path(sys.argv[2]).write_text(str(child.pid))
    time.sleep(600)
"""
    out, mark = tmp_path / "out", tmp_path / "child"
    process = subprocess.Popen([sys.executable, "-c", program, str(out), str(mark)])
    try:
        wait_until(lambda: mark.exists() and mark.read_text() != "")
        with (
            pytest.raises(RunFolderError, match=f"process {process.pid} on"),
            claim_run_folder(out, ("arm",)),
        ):
            pass
    finally:
        process.kill()
        process.wait()
    try:
        with claim_run_folder(out, ("arm",)):
            pass
    finally:
        os.kill(int(mark.read_text()), signal.SIGKILL)
