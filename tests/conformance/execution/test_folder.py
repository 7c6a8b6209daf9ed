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


def _write(out: Path, *names: str) -> None:
    for name in names:
        file = out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"content of {name}")


def _write_robot(folder: RunFolder, place: str) -> None:
    """Write the files that a run writes for a robot, and mark it as finished."""
    _write(
        folder.path,
        f"results/{place}.json",
        f"assets/{place}/robot.usda",
        f"assets/{place}/payload/Physics.usda",
        f"scenes/{place}.gz",
        f"expanded/{place}.urdf",
        f"timings/{place}.json",
    )
    folder.finish(place)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a finished run."""
    folder = tmp_path / "out"
    with claim_run_folder(folder, _PLACES) as claimed:
        for place in _PLACES:
            _write_robot(claimed, place)
        _write(folder, "index.html", "robots/arm.html", "scripts/pages.js")
    return folder


def test_new_run_removes_all_files_of_the_former_one(out: Path) -> None:
    """Its own folder is kept, and no other."""
    with claim_run_folder(out, ("hand",)):
        left = sorted(path.name for path in out.iterdir())

    assert left == [".urdf-usd-run"]


def test_resumed_run_keeps_only_its_robots(out: Path) -> None:
    """Reports are removed, which are made from all records."""
    with claim_run_folder(out, ("arm", "hand"), resume=True) as folder:
        assert folder.finished("arm")
        assert not folder.finished("leg")
        left = {name for name in tree(out) if not name.startswith(".")}

    assert left == {
        "results/arm.json",
        "assets/arm/robot.usda",
        "assets/arm/payload/Physics.usda",
        "scenes/arm.gz",
        "expanded/arm.urdf",
        "timings/arm.json",
    }


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "results/mine.json",
        "assets/mine/arm.usda",
        "assets/notes.txt",
        "robots/mine.html",
        "scripts/mine.js",
        ".mine.part",
        "scenes/deep/arm.gz",
    ],
)
def test_file_of_another_program_is_refused(out: Path, name: str, resume: bool) -> None:
    """Nothing is removed, and the message names the file."""
    _write(out, name)
    before = tree(out)

    with (
        pytest.raises(RunFolderError, match="files that no run wrote") as refusal,
        claim_run_folder(out, _PLACES, resume=resume),
    ):
        pass

    assert f"({name})" in str(refusal.value)
    assert tree(out) == before


def test_added_file_in_an_asset_is_refused_by_a_new_run(out: Path) -> None:
    """A resumed run removes it with the asset, which has changed."""
    _write(out, "assets/arm/overlay.usda")
    announced: list[str] = []

    with (
        pytest.raises(RunFolderError, match=r"assets/arm/overlay\.usda"),
        claim_run_folder(out, _PLACES),
    ):
        pass
    with claim_run_folder(out, _PLACES, resume=True, announce=announced.append) as folder:
        finished = [place for place in _PLACES if folder.finished(place)]

    assert announced == ["arm is examined again: assets/arm/overlay.usda was added"]
    assert finished == ["leg"]
    assert not (out / "assets" / "arm").exists()


def test_other_folder_is_refused_and_unchanged(tmp_path: Path) -> None:
    """Including one with names that a run would use."""
    _write(tmp_path, "assets/logo.svg", "index.html")
    before = tree(tmp_path)

    with (
        pytest.raises(RunFolderError, match=r"\(assets, index\.html\); name a new"),
        claim_run_folder(tmp_path, _PLACES),
    ):
        pass

    assert tree(tmp_path) == before


def test_link_to_another_folder_is_refused(out: Path, tmp_path: Path) -> None:
    """The target of the link is not removed."""
    _write(tmp_path, "elsewhere/mine.txt")
    (out / "assets" / "arm" / "link").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(RunFolderError, match="link"), claim_run_folder(out, _PLACES):
        pass
    with claim_run_folder(out, _PLACES, resume=True):
        pass

    assert (tmp_path / "elsewhere" / "mine.txt").is_file()


def test_asset_with_a_link_is_never_kept(out: Path, tmp_path: Path) -> None:
    """The target may change and is outside of the folder."""
    _write(tmp_path, "mesh.stl")
    with claim_run_folder(out, _PLACES, resume=True) as folder:
        folder.remove("arm")
        _write(out, "assets/arm/robot.usda")
        (out / "assets" / "arm" / "mesh.stl").symlink_to(tmp_path / "mesh.stl")
        folder.finish("arm")
    with claim_run_folder(out, _PLACES, resume=True) as folder:
        assert not folder.finished("arm")


@pytest.mark.parametrize(
    ("name", "content", "change"),
    [
        ("results/arm.json", None, "is missing"),
        ("scenes/arm.gz", "another", "was changed"),
        ("assets/arm/robot.usda", "", "was changed"),
    ],
)
def test_robot_with_a_changed_file_is_removed_on_resuming(
    out: Path, name: str, content: str | None, change: str
) -> None:
    """Other robots are kept."""
    if content is None:
        (out / name).unlink()
    else:
        (out / name).write_text(content)
    announced: list[str] = []

    with claim_run_folder(out, _PLACES, resume=True, announce=announced.append) as folder:
        assert [place for place in _PLACES if folder.finished(place)] == ["leg"]

    assert announced == [f"arm is examined again: {name} {change}"]
    assert not (out / "results" / "arm.json").exists()


def test_unfinished_robots_are_removed(out: Path) -> None:
    """Of a killed run: partial files and temporary files."""
    with claim_run_folder(out, ("arm", "hand"), resume=True):
        _write(out, "assets/hand/half.usda", "results/.hand.json.part")
        _write(out, "assets/.urdf-usd-x1/asset/half.usda", ".urdf-usd-x2/half.usda")
        os.mkfifo(out / "assets" / "hand" / "pipe")
        killed = {*tree(out)}
    _write(out, "assets/.urdf-usd-x1/asset/half.usda", ".urdf-usd-x2/half.usda")

    with claim_run_folder(out, ("arm", "hand"), resume=True):
        left = {name for name in tree(out) if name[0] != "." and ("hand" in name or "half" in name)}

    assert "assets/hand/half.usda" in killed
    assert left == set()
    assert not (out / "assets" / "hand").exists()


def test_lock_is_released_at_the_end_of_the_block(tmp_path: Path) -> None:
    """It is held within the block, also against the same process."""
    with claim_run_folder(tmp_path, ()):
        held = f"run of process {os.getpid()} on {socket.gethostname()}; wait"
        with (
            pytest.raises(RunFolderError, match=held),
            claim_run_folder(tmp_path, ()),
        ):
            pass
    with claim_run_folder(tmp_path, ()):
        pass

    assert (tmp_path / ".urdf-usd-run" / "lock").read_bytes() == b""


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_lock_of_a_killed_process_is_released(tmp_path: Path) -> None:
    """Although a child process of it is running."""
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
    process = subprocess.Popen(  # this interpreter
        [sys.executable, "-c", program, str(out), str(mark)]
    )
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
