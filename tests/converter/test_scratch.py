"""Temporary folders next to a target, and those that a killed process leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Layout
from urdf_usd.converter.scratch import PREFIX, scratch_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks are POSIX")

URDF = '<robot name="r"><link name="a"/></robot>'
_PROGRAM = """
import sys, time
from pathlib import Path
from urdf_usd.converter import conversion, scratch

def hang(*_):
    print("begun", flush=True)
    time.sleep(3600)

conversion._move_into_place = hang
conversion.convert(sys.argv[1], sys.argv[2])
"""


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    file = tmp_path / "robot/r.urdf"
    file.parent.mkdir()
    file.write_text(URDF)
    return file


def _begun(robot: Path, target: Path) -> subprocess.Popen[bytes]:
    """Start a conversion that has written its asset and does not move it."""
    process = subprocess.Popen(  # a program of the test
        [sys.executable, "-c", _PROGRAM, str(robot), str(target)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdout.readline() == b"begun\n"
    return process


def _folders(parent: Path) -> list[Path]:
    return sorted(parent.glob(f"{PREFIX}*"))


def test_conversion_removes_the_folder_of_a_killed_one(robot: Path, tmp_path: Path) -> None:
    with _begun(robot, tmp_path / "first") as process:
        process.kill()
    (left,) = _folders(tmp_path)
    assert (left / "asset/r.usda").is_file()

    convert(robot, tmp_path / "second")

    assert _folders(tmp_path) == []


def test_conversion_keeps_the_folder_of_a_running_one(robot: Path, tmp_path: Path) -> None:
    # Also of one that is stopped; after its end it is removed.
    with _begun(robot, tmp_path / "first") as process:
        os.kill(process.pid, signal.SIGSTOP)
        convert(robot, tmp_path / "second")
        (left,) = _folders(tmp_path)
        assert (left / "asset/r.usda").is_file()
        process.kill()

    convert(robot, tmp_path / "second")

    assert _folders(tmp_path) == []


@pytest.mark.parametrize("layout", list(Layout))
def test_earlier_asset_that_was_being_replaced_is_kept(
    robot: Path, tmp_path: Path, layout: Layout
) -> None:
    options = ConvertOptions(layout=layout)
    convert(robot, tmp_path / "first", options)
    program = _PROGRAM.replace(
        "conversion._move_into_place = hang",
        "Path.rename, rename = (lambda a, b: hang() if b.parent == Path(sys.argv[2]) "
        "else rename(a, b)), Path.rename",
    ).replace(
        "conversion.convert(sys.argv[1], sys.argv[2])",
        "conversion.convert(sys.argv[1], sys.argv[2], conversion.ConvertOptions("
        f"layout=conversion.Layout({layout.value!r})))",
    )
    with subprocess.Popen(  # a program of the test
        [sys.executable, "-c", program, str(robot), str(tmp_path / "first")],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"begun\n"
        process.kill()

    convert(robot, tmp_path / "second", options)

    (kept,) = _folders(tmp_path)
    assert list((kept / "former").glob("r.usd*"))


@pytest.mark.parametrize("name", [f"{PREFIX}notes", f"{PREFIX}abcd1234"])
def test_folders_of_others_are_kept(tmp_path: Path, name: str) -> None:
    own = tmp_path / name
    own.mkdir()
    (own / "text").write_text("mine")

    with scratch_folder(tmp_path):
        pass

    assert (own / "text").read_text() == "mine"
    assert _folders(tmp_path) == [own]


def test_linked_folder_is_kept(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    parent = tmp_path / "parent"
    parent.mkdir()
    (parent / f"{PREFIX}abcd1234").symlink_to(elsewhere)

    with scratch_folder(parent):
        pass

    assert (elsewhere / "lock").exists()
