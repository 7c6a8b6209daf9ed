"""URDF files that contain xacro although they are not named so."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from urdf_usd.conformance.execution.tasks import read_robot
from urdf_usd.converter import Parsed, read_urdf
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.lint.linting import lint

Read = Callable[..., Parsed]

_ROBOT = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
_TWO_LINKS = (
    '<link name="a"/><link name="b"/>'
    '<joint name="j" type="fixed"><parent link="a"/><child link="b"/>{}</joint>'
)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a robot with given elements from a ``.urdf`` file."""

    def read(inside: str, name: str = "r.urdf") -> Parsed:
        file = tmp_path / name
        file.write_text(f"{_ROBOT}{inside}</robot>", encoding="utf-8")
        return read_urdf(file)

    return read


def _rules(parsed: Parsed) -> list[str]:
    return [found.rule for found in parsed.diagnostics]


@pytest.mark.parametrize(
    "inside",
    [
        '<xacro:include filename="missing.xacro"/>',
        '<xacro:include filename="$(find no_such_package)/arm.xacro"/>',
        '<xacro:gripper parent="a"/>',
        '<x:if value="${undefined}" xmlns:x="http://www.ros.org/wiki/xacro"/>',
    ],
)
def test_elements_that_cannot_be_expanded_are_ignored_with_a_warning(
    read: Read, inside: str
) -> None:
    """As by urdfdom, MuJoCo and PyBullet; they are kept as custom data."""
    parsed = read(f'<link name="a"/>{inside}')

    assert [link.name for link in parsed.robot.links] == ["a"]
    assert _rules(parsed) == ["xacro-ignored", "element-unknown"]


def test_the_warning_names_element_position_and_reason(read: Read) -> None:
    """The remedy depends on what is missing."""
    parsed = read('<link name="a"/>\n  <xacro:gripper parent="a"/>')

    found = parsed.diagnostics[0]
    assert found.location
    assert (found.location.line, found.location.column) == (2, 3)
    assert "<xacro:gripper>" in found.message
    assert "gripper" in found.message.partition("cannot be expanded: ")[2]


@pytest.mark.parametrize(
    "inside",
    [
        '<link name="${prefix}b"/>',
        '<joint name="$(arg j)" type="fixed"/>',
        _TWO_LINKS.format('<origin xyz="0 0 ${height}"/>'),
        '<link name="a"><inertial><mass value="${m}"/></inertial></link>',
    ],
)
def test_names_and_numbers_that_depend_on_missing_definitions_are_refused(
    read: Read, inside: str
) -> None:
    """A default would make another robot of it."""
    with pytest.raises(SourceError) as raised:
        read(f'<link name="c"/>{inside}')

    rules = [found.rule for found in raised.value.diagnostics]
    assert rules == ["xacro-ignored", "xacro-unexpanded"]


def test_a_file_without_links_that_cannot_be_expanded_is_refused(read: Read) -> None:
    """All links come from macros that are missing."""
    with pytest.raises(SourceError) as raised:
        read("<xacro:arm/>")

    rules = [found.rule for found in raised.value.diagnostics]
    assert rules == ["xacro-ignored", "xacro-unexpanded"]


_ARM = (
    '<xacro:property name="length" value="0.5"/>'
    '<xacro:macro name="arm" params="name">'
    '<link name="${name}"/><joint name="${name}_joint" type="fixed">'
    '<parent link="base"/><child link="${name}"/>'
    '<origin xyz="0 0 ${2 * length}"/></joint></xacro:macro>'
    '<link name="base"/><xacro:arm name="left"/>'
)


def test_a_complete_file_is_expanded_as_if_it_were_named_xacro(read: Read) -> None:
    """Only the warning differs."""
    robot = read(_ARM)
    expanded = read(_ARM, "r.xacro")

    assert [link.name for link in robot.robot.links] == ["base", "left"]
    assert robot.robot.joints[0].origin.position == (0.0, 0.0, 1.0)
    assert [link.name for link in expanded.robot.links] == ["base", "left"]
    assert expanded.robot.joints[0].origin.position == (0.0, 0.0, 1.0)
    assert _rules(robot) == ["xacro-in-urdf", *_rules(expanded)]


@pytest.mark.parametrize(
    ("text", "height"), [("$(optenv HEIGHT_OF_R 0.25)", 0.25), ("${pi}", math.pi)]
)
def test_substitutions_that_need_no_definitions_are_evaluated(
    read: Read, text: str, height: float
) -> None:
    """A variable that is not set, or not allowed, has its default."""
    parsed = read(_TWO_LINKS.format(f'<origin xyz="0 0 {text}"/>'))

    assert parsed.robot.joints[0].origin.position[2] == height
    assert _rules(parsed) == ["xacro-in-urdf"]


def test_the_default_of_a_variable_in_a_file_reference_is_used(read: Read, tmp_path: Path) -> None:
    """File references may be substitutions too."""
    (tmp_path / "m.stl").touch()
    parsed = read(
        '<link name="a"><visual><geometry>'
        '<mesh filename="$(optenv MESH_OF_R m.stl)"/></geometry></visual></link>'
    )

    assert _rules(parsed) == ["xacro-in-urdf"]


def test_package_references_with_find_need_no_expansion(read: Read) -> None:
    """They are resolved as ``package://`` is."""
    parsed = read(
        '<link name="a"><visual><geometry>'
        '<mesh filename="$(find no_package)/m.stl"/></geometry></visual></link>'
    )

    assert _rules(parsed) == ["mesh-missing"]


def test_unused_definitions_need_no_expansion(read: Read) -> None:
    """They have no effect on the robot."""
    definition = '<xacro:macro name="m"><link name="${n}"/></xacro:macro>'

    assert _rules(read(f'{definition}<link name="a"/>')) == ["element-unknown"]


def test_engines_get_the_expansion(read: Read, tmp_path: Path) -> None:
    """Otherwise they would report another robot."""
    read(_ARM)
    complete = read_robot(str(tmp_path / "r.urdf"), {}, {})
    read('<link name="a"/><xacro:gripper/>')
    incomplete = read_robot(str(tmp_path / "r.urdf"), {}, {})

    assert not isinstance(complete, SourceError)
    assert complete.expanded
    assert b'name="left"' in complete.expanded
    assert not isinstance(incomplete, SourceError)
    assert incomplete.expanded is None


def test_lint_reports_the_same_warning(read: Read, tmp_path: Path) -> None:
    """Lint reads the file as the converter does."""
    read(_ARM)

    rules = [found.rule for found in lint(tmp_path / "r.urdf").findings]

    assert rules.count("xacro-in-urdf") == 1


_MACRO = (
    '<xacro:property name="size" value="0.1"/>'
    '<xacro:macro name="arm" params="side"><link name="${side}_arm"/></xacro:macro>'
)


@pytest.mark.parametrize("name", ["r.xacro", "r.urdf"])
@pytest.mark.parametrize(
    ("inside", "defined"),
    [
        (_MACRO, "macros"),
        ('<xacro:property name="size" value="0.1"/><material name="m"/>', "properties"),
        ('<xacro:arg name="size" default="0.1"/>', "arguments"),
    ],
)
def test_file_of_definitions_is_part_of_another_file(
    read: Read, inside: str, defined: str, name: str
) -> None:
    """Not an empty robot; the remedy is the file that includes it."""
    with pytest.raises(SourceError) as raised:
        read(inside, name)

    *_, error = raised.value.diagnostics
    assert error.rule == "xacro-part"
    assert error.message == f"part of another file: defines {defined} only"
    assert error.location is not None
    assert (error.location.line, error.location.column) == (1, 1)
    assert "file that includes it" in str(raised.value)


@pytest.mark.parametrize("name", ["r.xacro", "r.urdf"])
@pytest.mark.parametrize("called", ["", "<xacro:nothing/>"])
def test_robot_of_xacro_without_links_is_empty(read: Read, called: str, name: str) -> None:
    """It defines nothing, or calls a macro that gives no link."""
    macro = f'<xacro:macro name="nothing"/>{called}' if called else ""
    with pytest.raises(SourceError) as raised:
        read(macro, name)

    rules = {found.rule for found in raised.value.diagnostics}
    assert "robot-empty" in rules
    assert "xacro-part" not in rules
