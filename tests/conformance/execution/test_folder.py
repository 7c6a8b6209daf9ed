"""The folder of a run: its lock, removed files, and refusals."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.conformance.runs import tree
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


def test_new_run_removes_the_files_of_the_former_one_alone(out: Path, tmp_path: Path) -> None:
    _write(tmp_path, "elsewhere/mine.txt")
    (out / "assets" / "arm" / "link").symlink_to(tmp_path / "elsewhere")
    mine = {"notes.txt", "results/mine.json", "robots/arm.png", "assets/mine/robot.usda"}
    _write(out, *mine)
    with claim_run_folder(out, ("hand",)) as folder:
        assert not any(map(folder.finished, _PLACES))
        assert _left(out) == mine
        assert not (out / "expanded").exists()
    assert (tmp_path / "elsewhere" / "mine.txt").is_file()


def test_resumed_run_keeps_only_its_robots(out: Path) -> None:
    with claim_run_folder(out, ("arm", "hand"), resume=True) as folder:
        assert [*folder.kept] == ["arm"]
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

    with claim_run_folder(out, _PLACES, resume=True) as folder:
        assert [*folder.kept] == ["leg"]
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
