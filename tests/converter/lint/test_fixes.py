"""Repairs of files; the robot does not change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.stored_cases import stored_cases
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.lint.fixes import FIXES, FixError, apply_edits, fix_file
from urdf_usd.converter.lint.linting import lint
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import RobotSource, resolve_corpora

_TEXTS = {
    name: case["robot.urdf"]
    for name, case in stored_cases(Path(__file__).with_name("cases.txt")).items()
}
_FIXED = _TEXTS["joint-axis-implicit: near"]
_COLORED = _TEXTS["color-invisible"]
BROKEN = {
    "xml-version": f'<?xml version="0.0"?>\n{_FIXED}',
    "robot-unnamed": _FIXED.replace(' name="r"', ""),
    "number-punctuation": _FIXED.replace("0.1 0.2 0.3", "0.1, 0.2, 0.3,"),
    "vector-completed": _TEXTS["mesh-mirrored"].replace("1 -1 1", "0.001"),
    "joint-type-spelling": _FIXED.replace('"fixed"', '" Fixed"'),
    "color-range": _COLORED.replace("1 0 0 0", "1.02 -0.1 0.5 1"),
    **{
        rule: _TEXTS[rule]
        for rule in (
            "joint-axis-unnormalised",
            "quaternion-unnormalised",
            "path-backslash",
        )
    },
}
CRLF = """\
<?xml version="1.0"?>
<!-- A robot; "quoted" -->
<robot name='r'>
  <material name="used"><color rgba="1 0 0 1"/></material>
  <material name="spare"><color   rgba = '0 1.1 0 1' /></material>
  <link name="a>b"><visual><geometry><box size="1, 2, 3"/></geometry>
    <material   name="used"/></visual></link>  <!-- ünïcode -->
</robot>
"""


def repaired(file: Path) -> bytes:
    """Return the bytes of a file after all of its fixes."""
    broken = frozenset(finding.rule for finding in lint(file).findings)
    content, _ = fix_file(file, {}, broken)
    return content


def robot_of(file: Path) -> Robot:
    """Read a robot."""
    return parse(file).robot


def test_every_repair_has_a_case() -> None:
    assert set(BROKEN) == set(FIXES)


@pytest.mark.parametrize("rule", FIXES)
def test_repaired_file_conforms_to_the_rule(rule: str, tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(BROKEN[rule], encoding="utf-8")
    before = robot_of(file)
    assert rule in {finding.rule for finding in lint(file).findings}

    file.write_bytes(repaired(file))

    assert rule not in {finding.rule for finding in lint(file).findings}
    assert robot_of(file) == before or rule == "path-backslash"


def test_bytes_outside_of_repairs_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_bytes(CRLF.replace("\n", "\r\n").encode())

    lines = repaired(file).decode().split("\r\n")

    before = CRLF.split("\n")
    assert lines[4] == before[4].replace("1.1", "1")
    assert lines[5] == before[5].replace("1, 2, 3", "1 2 3")
    assert lines[:4] + lines[6:] == before[:4] + before[6:]


def test_repair_states_the_edit_and_its_location(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(BROKEN["number-punctuation"], encoding="utf-8")

    _, (repair,) = fix_file(file, {}, frozenset({"number-punctuation"}))

    assert repair.message == "xyz set to '0.1 0.2 0.3', was '0.1, 0.2, 0.3,'"
    line = BROKEN["number-punctuation"].split("\n")[repair.location.line - 1]
    assert line[repair.location.column - 1 :].startswith("<origin xyz=")


@pytest.mark.parametrize(
    "text",
    [
        # Reversed limits, for example, mean "unlimited" in Bullet.
        *(
            _TEXTS["joint-limit-degrees"].replace('lower="-170" upper="170"', limits)
            for limits in ('lower="1" upper="-1"', 'lower="-170" upper="170"', 'lower="nan"')
        ),
        _FIXED.replace("0.1 0.2 0.3", "1 2 3 4"),
        # Colours up to 255.
        _COLORED.replace("1 0 0 0", "255 128 0 1"),
        # Nothing is wrong.
        '<robot name="r"><link name="a"/></robot>',
    ],
)
def test_other_values_are_not_repaired(text: str, tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(text, encoding="utf-8")

    assert repaired(file) == file.read_bytes()


def test_only_selected_rules_are_repaired(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(CRLF, encoding="utf-8")

    _, found = fix_file(file, {}, frozenset({"color-range"}))

    assert [repair.rule for repair in found] == ["color-range"]


def test_attribute_values_are_escaped() -> None:
    data = '<r x="é"/>'.encode()

    edited = apply_edits(data, [((1, 1), "name", "<\"&'>é")])

    attribute = b'name="&lt;&quot;&amp;&apos;>&#233;"'
    assert edited == data.replace(b"<r ", b"<r " + attribute + b" ")


def test_last_of_several_edits_is_applied() -> None:
    edits = (((1, 1), "x", "3"), ((1, 10), "y", "4"), ((1, 1), "x", "5"))

    assert apply_edits(b'<r x="1"><s y="2"/></r>', edits) == b'<r x="5"><s y="4"/></r>'


def test_file_with_byte_order_mark_and_wrong_version_is_edited() -> None:
    data = b'\xef\xbb\xbf<?xml version="0.0" ?>\n<r x="1"/>'

    edited = apply_edits(data, [(None, "version", "1.0"), ((2, 1), "x", "2")])

    assert edited == b'\xef\xbb\xbf<?xml version="1.0" ?>\n<r x="2"/>'


def test_text_that_is_not_utf_8_is_not_edited() -> None:
    with pytest.raises(FixError):
        apply_edits(b"<r>\xff</r>", [])


def test_file_whose_xml_is_repaired_is_not_edited(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(_FIXED.replace('"a"', '"a&a"'), encoding="utf-8")

    with pytest.raises(FixError, match="is not escaped"):
        fix_file(file, {}, frozenset(FIXES))


@pytest.mark.corpus
def test_repairs_do_not_change_real_robots(tmp_path: Path) -> None:
    changed = 0
    for robot in resolve_corpora(["pybullet"]):
        assert isinstance(robot, RobotSource)
        # A copy finds none of the meshes, before as after.
        file = tmp_path / robot.path.name
        shutil.copyfile(robot.path, file)
        try:
            before = robot_of(file)
            content = repaired(file)
        except (SourceError, FixError):
            continue
        changed += content != file.read_bytes()
        file.write_bytes(content)
        assert robot_of(file) == before
    assert changed > 20
