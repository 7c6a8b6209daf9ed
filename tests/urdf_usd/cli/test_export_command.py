"""The command ``urdf-usd export``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from urdf_usd.cli.main import main
from urdf_usd.conformance.execution.engines import write_back
from urdf_usd.converter import convert

_ROBOT = """<robot name="pair"><link name="a"><inertial><mass value="2"/>
<inertia ixx="3" ixy="0.1" ixz="0.2" iyy="4" iyz="0.3" izz="5"/></inertial></link>
<link name="b"/><joint name="weld" type="fixed"><origin xyz="0.1 0.2 0.3"/>
<parent link="a"/><child link="b"/></joint></robot>"""


@pytest.fixture
def asset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Root layer of a robot of two links; its folder is the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.urdf").write_text(_ROBOT)
    return convert("pair.urdf", "asset").root_layer


def test_exported_urdf_conforms_to_the_asset(asset: Path) -> None:
    runner = CliRunner()
    runner.invoke(main, ["export", str(asset), "again.urdf"])

    result = runner.invoke(main, ["check", "again.urdf", str(asset)])

    assert result.exit_code == 0, result.output


def test_export_of_an_invalid_usd_is_an_error(asset: Path) -> None:
    (asset.parent / "no.usda").write_text("no layer")

    result = CliRunner().invoke(main, ["export", "asset/no.usda", "out.urdf"])

    assert result.exit_code == 2
    assert "cannot be opened" in result.stderr
    assert "stage-unreadable" in result.stderr


def test_export_of_a_stage_without_robot_gives_the_reason(asset: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.usda").write_text("#usda 1.0\n")

    reason = write_back(str(tmp_path / "empty.usda"), ())
    written = write_back(str(asset), ())

    assert reason == "the stage has no rigid body and no link"
    assert isinstance(written, bytes)
    assert b'<joint name="weld" type="fixed">' in written
