"""The commands report files outside the folder of an asset; --strict refuses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.urdf_usd.cli.command import DATA, urdf_usd
from urdf_usd.converter import convert

_ROBOT = (DATA / "one.urdf").read_text("utf-8")
_LAYER = (DATA / "outside.usda").read_text("utf-8")
_COMMANDS = {
    "check": ("check", "one.urdf", "usd/robot.usda", "--engine", "mujoco"),
    "export": ("export", "usd/robot.usda", "out/one.urdf"),
    "inspect": ("inspect", "usd/robot.usda"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a layer that refers to an asset beside its folder."""
    monkeypatch.chdir(tmp_path)
    Path("one.urdf").write_text(_ROBOT)
    convert("one.urdf", "asset")
    Path("usd").mkdir()
    Path("usd/robot.usda").write_text(_LAYER)
    return tmp_path


def test_strict_check_calls_no_engine_and_records_the_reason() -> None:
    result = urdf_usd(*_COMMANDS["check"], "--strict", "--json", "record.json")

    record = json.loads(Path("record.json").read_text())
    assert result.exit_code == 2
    assert record["verdict"] == "not comparable"
    assert record["engines"] == []
    assert [one["rule"] for one in record["diagnostics"]] == ["asset-outside-refused"]


@pytest.mark.parametrize("layout", ["layered", "usdz"])
def test_assets_of_our_converter_pass_strict(layout: str) -> None:
    target = {"layered": "asset/one.usda", "usdz": "packed/one.usdz"}[layout]
    if layout == "usdz":
        assert urdf_usd("convert", "one.urdf", "packed", "--layout", "usdz").exit_code == 0

    result = urdf_usd("inspect", target, "--strict")

    assert result.exit_code == 0, result.output
    assert "asset-outside" not in result.stderr
