"""A URDF on standard input."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.robots import ROBOT
from urdf_usd.corpus import resolve_robot

MESH = Path(__file__).parent / "robots" / "meshes" / "m.obj"


def test_pipe_into_convert_finds_files_of_the_working_folder(tmp_path: Path) -> None:
    shutil.copy(MESH, tmp_path)
    text = ROBOT.replace('<box size="1 2 3"/>', '<mesh filename="m.obj"/>')

    command = (sys.executable, "-m", "urdf_usd", "convert", "-", "out", "--base", "fixed")
    ended = subprocess.run(command, input=text, cwd=tmp_path, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"m.obj", "out"}


@pytest.mark.parametrize("prefix", ["", "String value is: "])
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_prefix_of_ros2_param_get_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    stream = io.BytesIO(f"{prefix}{ROBOT}".encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))

    assert resolve_robot(name).path.read_text(encoding="utf-8") == ROBOT
