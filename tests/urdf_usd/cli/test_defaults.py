"""Default values of options from files, as found above the working folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robots import ROBOT
from tests.urdf_usd.cli.command import urdf_usd

_SINGLE = 'convert]\nlayout = "single"\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    mesh = '<mesh filename="package://arm/part.stl"/>'
    (tmp_path / "arm.urdf").write_text(ROBOT.replace('<box size="1 2 3"/>', mesh))
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")


@pytest.mark.parametrize(
    ("name", "prefix"), [("urdf-usd.toml", "["), ("pyproject.toml", "[tool.urdf-usd.")]
)
def test_files_state_default_values(name: str, prefix: str) -> None:
    Path("..", name).write_text(prefix + _SINGLE)

    assert urdf_usd("convert", "../arm.urdf", "a").stdout == "a/arm.usdc\n"
    given = urdf_usd("convert", "../arm.urdf", "b", "--layout", "usdz")
    assert given.stdout == "b/arm.usdz\n"
    isolated = urdf_usd("--isolated", "convert", "../arm.urdf", "c")
    assert isolated.stdout == "c/arm.usda\n"


def test_paths_are_relative_to_the_file() -> None:
    Path("../meshes").mkdir()
    Path("../meshes/part.stl").write_text(
        "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
        "vertex 0 1 0\nendloop\nendfacet\nendsolid s\n"
    )
    Path("../urdf-usd.toml").write_text('[convert]\npackage = ["arm=meshes"]\n')

    found = urdf_usd("convert", "../arm.urdf", "out")
    isolated = urdf_usd("--isolated", "convert", "../arm.urdf", "out")

    assert "mesh-missing" not in found.stderr
    assert "mesh-missing" in isolated.stderr


def test_files_above_the_repository_are_not_read() -> None:
    Path("../urdf-usd.toml").write_text("[" + _SINGLE)
    Path(".git").mkdir()

    assert urdf_usd("convert", "../arm.urdf", "out").stdout == "out/arm.usda\n"
