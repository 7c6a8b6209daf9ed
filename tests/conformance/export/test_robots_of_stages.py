"""Links, joints and robots of stages of other tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pxr import Usd, UsdGeom

from urdf_usd.cli.main import main
from urdf_usd.conformance.export.reading import read_stage, read_usd
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import StageError

_STAGES = Path(__file__).parents[2] / "data/usd/stages/robots_of_stages_export.json"


def test_converted_robot_with_several_articulations_is_one_robot(tmp_path: Path) -> None:
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" '
        'ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        for name in ("a", "b", "c")
    )
    joints = "".join(
        f'<joint name="{kind}_{child}" type="{kind}"><parent link="world"/>'
        f'<child link="{child}"/></joint>'
        for child, kind in (("a", "continuous"), ("b", "continuous"), ("c", "floating"))
    )
    urdf = tmp_path / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="world"/>{links}{joints}</robot>')

    usd = convert(urdf, tmp_path / "usd").root_layer

    assert len(read_usd(usd).robot.joints) == 3
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    for path in ("/one", "/two"):
        stage.DefinePrim(path).GetReferences().AddReference(str(usd))
    with pytest.raises(StageError, match="2 robots"):
        read_stage(stage)
    robot = read_stage(stage, root="/two").robot
    assert robot.name == "two"
    assert len(robot.joints) == 3


def test_command_lists_robots_and_exports_the_named_one(tmp_path: Path) -> None:
    """Exit code 2 without a name."""
    usd, urdf = tmp_path / "r.usda", str(tmp_path / "out/two.urdf")
    stages = json.loads(_STAGES.read_text(encoding="utf-8"))
    usd.write_text("\n".join(stages["name_of_no_single_robot_is_refused 1"]["stage"]))

    refused = CliRunner().invoke(main, ["export", str(usd), urdf])
    written = CliRunner().invoke(main, ["export", str(usd), urdf, "--root", "/r/two"])

    assert refused.exit_code == 2
    # Of click 8.1, `stderr` is not captured apart.
    shown = " ".join(refused.output.split())
    assert "--root PATH: /r/one (2 bodies), /r/two (2 bodies)" in shown
    assert written.exit_code == 0
    assert '<robot name="two">' in Path(urdf).read_text()
