"""Default values of options from files."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from urdf_usd.cli.main import main

_URDF = """<robot name="arm"><link name="base">
  <inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="package://arm/part.stl"/></geometry></visual>
</link></robot>
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "arm.urdf").write_text(_URDF, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="urdf-usd")


@pytest.mark.parametrize(
    ("name", "prefix"), [("urdf-usd.toml", ""), ("pyproject.toml", "tool.urdf-usd.")]
)
def test_files_state_default_values(
    name: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(name).write_text(f'[{prefix}convert]\nlayout = "single"\n')
    Path("below").mkdir()
    monkeypatch.chdir("below")

    assert _invoke("convert", "../arm.urdf", "a").stdout == "a/arm.usdc\n"
    given = _invoke("convert", "../arm.urdf", "b", "--layout", "usdz")
    assert given.stdout == "b/arm.usdz\n"
    isolated = _invoke("--isolated", "convert", "../arm.urdf", "c")
    assert isolated.stdout == "c/arm.usda\n"


def test_paths_are_relative_to_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("meshes").mkdir()
    Path("meshes/part.stl").write_text(
        "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
        "vertex 0 1 0\nendloop\nendfacet\nendsolid s\n"
    )
    Path("urdf-usd.toml").write_text('[convert]\npackage = ["arm=meshes"]\n')
    Path("below").mkdir()
    monkeypatch.chdir("below")

    result = _invoke("convert", "../arm.urdf", "out")

    assert "mesh-missing" not in result.stderr
    assert "mesh-missing" in _invoke("--isolated", "convert", "../arm.urdf", "out").stderr


def test_files_above_the_repository_are_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("urdf-usd.toml").write_text('[convert]\nlayout = "single"\n')
    Path("below/.git").mkdir(parents=True)
    monkeypatch.chdir("below")

    assert _invoke("convert", "../arm.urdf", "out").stdout == "out/arm.usda\n"
