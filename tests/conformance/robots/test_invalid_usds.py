"""Results of ``check`` for a USD with invalid values or missing layers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from urdf_usd.cli.main import main
from urdf_usd.converter import convert

_ROBOT = """<robot name="r"><link name="a"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
</robot>"""


@pytest.mark.parametrize(
    ("old", "new", "fail_on", "verdict", "rule", "expected"),
    [
        (
            "kilogramsPerUnit = 1",
            "kilogramsPerUnit = nan",
            "fails",
            "fails",
            "stage-value",
            "kilogramsPerUnit is nan in @<usd>/r.usda@",
        ),
        (
            'def Xform "r"',
            'def Xform "looks" (references = @./none.usda@)\n{\n}\n\ndef Xform "r"',
            "incomplete",
            "incomplete",
            "stage-incomplete",
            "@<usd>/none.usda@",
        ),
    ],
)
def test_check_reports_the_fault_and_exits_with_1(
    tmp_path: Path,
    old: str,
    new: str,
    fail_on: str,
    verdict: str,
    rule: str,
    expected: str,
) -> None:
    urdf = tmp_path / "r.urdf"
    urdf.write_text(_ROBOT)
    usd = convert(urdf, tmp_path / "out").root_layer
    text = usd.read_text()
    assert old in text
    usd.write_text(text.replace(old, new, 1))
    record_file = tmp_path / "record.json"

    result = CliRunner().invoke(
        main,
        [
            *("check", str(urdf), str(usd), "--json", str(record_file)),
            *("--engine", "mujoco", "--fail-on", fail_on),
        ],
    )

    assert result.exit_code == 1, result.output
    record = json.loads(record_file.read_text())
    assert record["verdict"] == verdict
    assert expected in record["reason"]
    found = [one for one in record["diagnostics"] if one["rule"] == rule]
    assert len(found) == 1
    assert expected in found[0]["message"]
