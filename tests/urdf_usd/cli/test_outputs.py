"""Outputs of commands replace neither inputs nor each other."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.urdf_usd.cli.command import DATA, contents, urdf_usd
from urdf_usd.converter import convert

_URDF = (DATA / "with_mesh.urdf").read_text("utf-8")
_MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a robot, its mesh, its asset, and links to the robot."""
    folder = tmp_path_factory.mktemp("robot")
    (folder / "a.urdf").write_text(_URDF)
    (folder / "base.obj").write_text(_MESH)
    (folder / "a.toml").write_text('base = "fixed"\n')
    convert(folder / "a.urdf", folder / "usd")
    (folder / "link.urdf").symlink_to("a.urdf")
    os.link(folder / "a.urdf", folder / "hard.urdf")
    return folder


@pytest.fixture(autouse=True)
def folder(robot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(robot, tmp_path / "work", symlinks=True)
    monkeypatch.chdir(tmp_path / "work")
    Path("hard.urdf").unlink()
    Path("hard.urdf").hardlink_to("a.urdf")
    return tmp_path / "work"


_CHECK = ("check", "a.urdf", "usd/a.usda", "--engine", "mujoco")


@pytest.mark.parametrize(
    "arguments",
    [
        (*_CHECK, "--html", "a.urdf"),
        (*_CHECK, "--html", "./usd/../a.urdf"),
        (*_CHECK, "--html", "usd/a.usda"),
        (*_CHECK, "--json", "link.urdf"),
        (*_CHECK, "--json", "hard.urdf"),
        (*_CHECK, "--json", "a.toml", "--with", "a.toml"),
        (*_CHECK, "--json", "base.obj"),
        (*_CHECK, "--html", "usd/payload/Physics.usda"),
        (*_CHECK, "--html", "x", "--json", "x"),
        (*_CHECK, "--html", "x", "--json", "usd/../x"),
        ("view", "a.urdf", "--html", "a.urdf"),
        ("view", "a.urdf", "usd/a.usda", "--html", "usd/a.usda"),
        ("inspect", "--joints", "a.urdf", "--numpy", "link.urdf"),
        ("inspect", "--joints", "a.urdf", "usd/a.usda", "--numpy", "usd/a.usda"),
        ("lint", "a.urdf", "--fix", "--output", "hard.urdf"),
        ("lint", "a.urdf", "--fix", "--output", "base.obj"),
        ("export", "usd/a.usda", "usd/a.usda", "--force"),
        ("export", "usd/a.usda", "a.urdf"),
        ("init", "a.urdf", "a.urdf"),
        ("reduce", "a.urdf", "usd"),
        ("run", "a.urdf", "--out", "usd"),
        ("run", "a.urdf", "--out", "new", "--history", "usd/../new"),
    ],
)
def test_input_is_not_overwritten(arguments: tuple[str, ...], folder: Path) -> None:
    before = contents(folder)

    result = urdf_usd(*arguments)

    assert result.exit_code == 2, result.output
    assert "bug" not in result.stderr
    assert result.stderr.startswith("error: ")
    assert contents(folder) == before


def test_output_of_the_same_command_is_replaced() -> None:
    Path("a.html").touch()
    options = ("--html", "a.html", "--json", "a.json")

    for _ in range(2):
        assert urdf_usd(*_CHECK, *options).exit_code == 0
        assert Path("a.html").read_text().startswith("<!DOCTYPE html>")
        assert Path("a.json").read_text().startswith('{\n "schema_version"')
    for _ in range(2):
        result = urdf_usd("inspect", "--joints", "a.urdf", "usd/a.usda", "--numpy", "a.npz")
        assert result.exit_code == 0


def test_output_may_be_a_pipe() -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)

    result = urdf_usd("inspect", "--joints", "a.urdf", "usd/a.usda", "--numpy", "pipe")

    content = os.read(reader, 1 << 16)
    os.close(reader)
    assert result.exit_code == 0
    assert content.startswith(b"PK")
    assert Path("pipe").is_fifo()


def test_fix_in_place_repairs_the_target_of_a_symbolic_link() -> None:
    Path("a.urdf").write_text(_URDF.replace('value="2"', 'value="2,"'))

    result = urdf_usd("lint", "link.urdf", "--fix", "--in-place")

    assert result.exit_code == 0, result.output
    assert Path("link.urdf").readlink() == Path("a.urdf")
    assert 'value="2"' in Path("a.urdf").read_text()
