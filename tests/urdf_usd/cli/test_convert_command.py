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
_HINT = "(--base fixed attaches it to the world)"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="urdf-usd")


@pytest.mark.parametrize(
    ("root", "kind", "options", "base"),
    [
        ("base", "continuous", (), f"floating base {_HINT}"),
        ("base", "continuous", ("--base", "floating"), "floating base"),
        ("base", "continuous", ("--base", "fixed"), "fixed base"),
        ("world", "fixed", (), "fixed base"),
    ],
)
def test_convert_ends_with_one_line_on_robot_and_base(
    root: str, kind: str, options: tuple[str, ...], base: str
) -> None:
    """A floating base that was not requested is named with the option that fixes it."""
    Path("arm.urdf").write_text(_ARM.format(root=root, kind=kind))

    result = _invoke("convert", "arm.urdf", "out", *options)

    assert result.exit_code == 0
    last = result.stderr.splitlines()[-1]
    assert last.startswith("converted 'arm', 2 links, 1 joint")
    assert last.endswith(f"; {base}")


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


def test_several_robots_are_converted_into_folders_of_their_own() -> None:
    for name in ("first", "second"):
        Path(f"{name}.urdf").write_text(_ARM.format(root="base", kind="continuous"))

    result = _invoke("convert", "second.urdf", "first.urdf", "out", "--jobs", "2")

    assert result.exit_code == 0, result.stderr
    layers = [Path(line) for line in result.stdout.splitlines()]
    assert [layer.parent.name for layer in layers] == ["file--first", "file--second"]
    assert all(layer.is_file() for layer in layers)
    assert "2 of 2 robots are converted" in result.stderr


def test_robots_that_cannot_be_converted_do_not_stop_the_others() -> None:
    """They are reported with file and line, and the exit status is 2."""
    Path("robots").mkdir()
    Path("robots/a.urdf").write_text(_ARM.format(root="base", kind="continuous"))
    Path("robots/b.urdf").write_text('<robot name="b"><link name="x"/><link/></robot>')

    result = _invoke("convert", "dir:robots", "out", "--layout", "single")

    assert result.exit_code == 2
    (layer,) = result.stdout.splitlines()
    assert layer.endswith("arm.usdc")
    assert "b.urdf:1:" in result.stderr
    assert "1 of 2 robots are converted" in result.stderr


@pytest.mark.parametrize(
    ("limits", "code"), [(("--timeout", "0.001"), 2), (("--timeout", "100"), 0)]
)
def test_limit_that_is_given_holds_for_a_single_robot(limits: tuple[str, ...], code: int) -> None:
    Path("arm.urdf").write_text(_ARM.format(root="base", kind="continuous"))

    result = _invoke("convert", "arm.urdf", "out", *limits)

    assert result.exit_code == code
    assert Path("out").exists() is (code == 0)
    assert ("no answer after 0.001 s" in result.stderr) is (code == 2)


def test_errors_of_a_limited_conversion_are_diagnostics() -> None:
    Path("arm.urdf").write_text("<robot/>")

    result = _invoke("convert", "arm.urdf", "out", "--timeout", "100")

    assert result.exit_code == 2
    assert "arm.urdf:1:1: error: robot 'arm' has no links" in result.stderr
