"""Repairs: what they change, what they leave, and that the robot stays the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.converter.lint.cases import CASES, joint, link, material, mesh
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.lint import REPAIRS, apply_edits, lint, read_document, repairs
from urdf_usd.converter.lint.spans import (
    RemoveElement,
    SetAttribute,
    SetXmlVersion,
    SpanError,
)
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf import parse
from urdf_usd.corpus import RobotSource, resolve_corpora

BROKEN = {
    "xml-version": '<?xml version="0.0"?>\n' + joint("", "fixed"),
    "robot-unnamed": joint("", "fixed").replace(' name="r"', ""),
    "number-punctuation": joint("", "fixed").replace("0.1 0.2 0.3", "0.1, 0.2, 0.3,"),
    "vector-completed": mesh("a.stl", 'scale="0.001"'),
    "joint-type-spelling": joint("", " Continuous"),
    "joint-axis-unnormalised": CASES["joint-axis-unnormalised"].broken,
    "quaternion-unnormalised": CASES["quaternion-unnormalised"].broken,
    "color-range": material(
        "", '<material name="m"><color rgba="1.02 -0.1 0.5 1"/></material>'
    ),
    "material-unused": CASES["material-unused"].broken,
    "path-backslash": CASES["path-backslash"].broken,
}
CRLF = """\
<?xml version="1.0"?>
<!-- A robot; "quoted" -->
<robot name='r'>
  <material name="used"><color rgba="1 0 0 1"/></material>
  <material name="spare">
    <!-- not used -->
    <color   rgba = '0 1.1 0 1' />
  </material>
  <link name="a>b"><visual><geometry><box size="1, 2, 3"/></geometry>
    <material   name="used"/></visual></link>  <!-- ünïcode -->
</robot>
"""


def repaired(file: Path) -> bytes:
    """Return the bytes of a file after all of its repairs."""
    broken = frozenset(finding.rule.id for finding in lint(file).findings)
    document = read_document(str(file))
    assert document is not None
    return apply_edits(
        file.read_bytes(), [repair.edit for repair in repairs(document, broken)]
    )


def robot_of(file: Path) -> Robot:
    """Read a robot."""
    return parse(file).robot


def test_every_repair_has_a_case() -> None:
    """No repair is untested."""
    assert set(BROKEN) == set(REPAIRS)


@pytest.mark.parametrize("rule", REPAIRS)
def test_a_repaired_file_breaks_the_rule_no_longer(rule: str, tmp_path: Path) -> None:
    """And describes the same robot; only its paths are written otherwise."""
    file = tmp_path / "robot.urdf"
    file.write_text(BROKEN[rule], encoding="utf-8")
    before = robot_of(file)
    assert rule in {finding.rule.id for finding in lint(file).findings}

    file.write_bytes(repaired(file))

    assert rule not in {finding.rule.id for finding in lint(file).findings}
    assert robot_of(file) == before or rule == "path-backslash"


def test_everything_else_stays_byte_for_byte(tmp_path: Path) -> None:
    """Comments, quotes, line ends, order and layout."""
    file = tmp_path / "robot.urdf"
    file.write_bytes(CRLF.replace("\n", "\r\n").encode())

    lines = repaired(file).decode().split("\r\n")

    before = CRLF.split("\n")
    assert lines[:4] == before[:4]
    assert lines[4] == before[8].replace("1, 2, 3", "1 2 3")
    assert lines[5:] == before[9:]


def test_a_repair_is_told_with_its_place(tmp_path: Path) -> None:
    """Of what it was, and of what it is."""
    file = tmp_path / "robot.urdf"
    file.write_text(BROKEN["number-punctuation"], encoding="utf-8")
    document = read_document(str(file))
    assert document is not None

    (repair,) = repairs(document, frozenset({"number-punctuation"}))

    assert repair.message == "xyz set to '0.1 0.2 0.3', was '0.1, 0.2, 0.3,'"
    text = BROKEN["number-punctuation"]
    assert text[repair.location.column - 1 :].startswith("<origin xyz=")


@pytest.mark.parametrize(
    "inside",
    [
        '<limit lower="1" upper="-1" effort="3" velocity="2"/>',
        '<limit lower="-170" upper="170" effort="3" velocity="2"/>',
        '<limit effort="-3" velocity="0"/>',
        '<origin xyz="1 2 3 4"/>',
    ],
)
def test_what_has_two_meanings_is_left_to_the_author(
    inside: str, tmp_path: Path
) -> None:
    """Reversed limits, for one, are Bullet's way of writing unlimited."""
    file = tmp_path / "robot.urdf"
    file.write_text(
        joint(inside).replace('<origin xyz="0.1 0.2 0.3"/>', ""), encoding="utf-8"
    )

    assert repaired(file) == file.read_bytes()


def test_colours_up_to_255_are_left_to_the_author(tmp_path: Path) -> None:
    """Clamping them would make them white."""
    file = tmp_path / "robot.urdf"
    use = '<material name="m"><color rgba="255 128 0 1"/></material>'
    file.write_text(material("", use), encoding="utf-8")

    assert repaired(file) == file.read_bytes()


def test_only_the_rules_that_are_asked_for_are_repaired(tmp_path: Path) -> None:
    """As --select and --ignore have it."""
    file = tmp_path / "robot.urdf"
    file.write_text(CRLF, encoding="utf-8")
    document = read_document(str(file))
    assert document is not None

    found = repairs(document, frozenset({"material-unused"}))

    assert [repair.rule for repair in found] == ["material-unused"]


def test_a_value_is_escaped() -> None:
    """As XML wants it, in any encoding that extends ASCII."""
    data = '<?xml version="1.0" encoding="iso-8859-1"?><r x="é"/>'.encode("iso-8859-1")

    edited = apply_edits(data, [SetAttribute((1, 44), "name", "<\"&'>é")])

    attribute = b'name="&lt;&quot;&amp;&apos;>&#233;"'
    assert edited == data.replace(b"<r ", b"<r " + attribute + b" ")


def test_the_last_value_of_an_attribute_counts() -> None:
    """Of several edits; and none inside what is removed."""
    data = b'<r x="1"><s y="2"/></r>'
    edits = (
        SetAttribute((1, 1), "x", "3"),
        SetAttribute((1, 10), "y", "4"),
        RemoveElement((1, 10)),
        SetAttribute((1, 1), "x", "5"),
    )

    assert apply_edits(data, edits) == b'<r x="5"></r>'


def test_a_removed_element_takes_its_own_line_along() -> None:
    """But not what else is on the line."""
    data = b"<r>\n  <s>\n  </s>  \n  <s/> <!-- c -->\n</r>"

    assert apply_edits(data, [RemoveElement((2, 3))]) == (
        b"<r>\n  <s/> <!-- c -->\n</r>"
    )
    assert apply_edits(data, [RemoveElement((4, 3))]) == (
        b"<r>\n  <s>\n  </s>  \n   <!-- c -->\n</r>"
    )


def test_a_byte_order_mark_and_a_wrong_version_are_no_hindrance() -> None:
    """The declaration is often wrong, and the mark often there."""
    data = b'\xef\xbb\xbf<?xml version="0.0" ?>\n<r x="1"/>'

    edited = apply_edits(data, [SetXmlVersion("1.0"), SetAttribute((2, 1), "x", "2")])

    assert edited == b'\xef\xbb\xbf<?xml version="1.0" ?>\n<r x="2"/>'


@pytest.mark.parametrize(
    "data",
    [
        b'<r x="1">',
        '<r x="1"/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="none-such"?><r/>',
        b"<r>\xff</r>",
    ],
)
def test_what_is_no_plain_xml_cannot_be_edited(data: bytes) -> None:
    """The reader may understand it all the same."""
    with pytest.raises(SpanError):
        apply_edits(data, [])


@pytest.mark.corpus
def test_repairs_of_real_robots_change_none_of_them(tmp_path: Path) -> None:
    """Each robot of pybullet_data is the same before and after."""
    changed = 0
    for robot in resolve_corpora(["pybullet"]):
        assert isinstance(robot, RobotSource)
        # A copy finds none of the meshes, before as after.
        file = tmp_path / robot.path.name
        shutil.copyfile(robot.path, file)
        try:
            before = robot_of(file)
            content = repaired(file)
        except (SourceError, SpanError):
            continue
        changed += content != file.read_bytes()
        file.write_bytes(content)
        assert robot_of(file) == before
    assert changed > 30


def test_links_without_anything_need_no_repair(tmp_path: Path) -> None:
    """The bytes stay as they are."""
    file = tmp_path / "robot.urdf"
    file.write_text(link(""), encoding="utf-8")

    assert repaired(file) == file.read_bytes()
