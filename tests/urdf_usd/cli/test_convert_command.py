"""``urdf-usd convert``: the summary at the end, and refused kinds of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from urdf_usd.cli.main import main

_ARM = (
    '<robot name="arm"><link name="{root}"/><link name="a"><inertial>'
    '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial></link><joint name="j" type="{kind}"><parent link="{root}"/>'
    '<child link="a"/></joint></robot>'
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="urdf-usd")


@pytest.mark.parametrize("command", ["inspect", "convert", "lint"])
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'#usda 1.0\ndef Xform "a" {}\n', "USD"),
        (b"PXR-USDC\x00\x08", "USD"),
        (b"PK\x03\x04\x0a\x00", "zip"),
        (b'{"asset": {"version": "2.0"}}', "JSON"),
    ],
)
def test_other_formats_are_recognised_by_their_first_bytes(
    command: str, content: bytes, kind: str
) -> None:
    Path("robot.urdf").write_bytes(content)
    target = ("out",) if command == "convert" else ()

    result = _invoke(command, "robot.urdf", *target)

    assert result.exit_code == 2
    assert kind in result.output
    assert "[file-format]" in result.output
    assert "xml-syntax" not in result.output


@pytest.mark.parametrize(
    ("limits", "code"), [(("--timeout", "0.001"), 2), (("--timeout", "100"), 0)]
)
def test_limit_that_is_given_holds_for_a_single_robot(limits: tuple[str, ...], code: int) -> None:
    Path("arm.urdf").write_text(_ARM.format(root="base", kind="continuous"))

    result = _invoke("convert", "arm.urdf", "out", *limits)

    assert result.exit_code == code
    assert Path("out").exists() is (code == 0)
    assert ("no answer after 0.001 s" in result.stderr) is (code == 2)
