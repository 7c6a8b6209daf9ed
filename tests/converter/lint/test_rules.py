"""Every rule of lint, on the smallest robot that breaks it and on a near miss."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import pytest

from tests.converter.lint.cases import (
    CASES,
    INERTIA,
    body,
    joint,
    limit,
    link,
    mesh,
    rated,
    robot,
)
from tests.converter.lint.conftest import Lint
from tests.converter.lint.stl_files import write_box, write_fan
from urdf_usd.converter.diagnostics.rules import RULES, Severity
from urdf_usd.converter.lint import ALL_RULES, LINT_RULES
from urdf_usd.converter.lint.linting import DOCUMENT_CHECKS, ROBOT_CHECKS

_FAN = re.compile(r'filename="((\d+)\.stl)"')


def write_meshes(folder: Path, text: str) -> None:
    """Write the mesh files that a case names."""
    write_box(folder / "box.stl", (20.0, 10.0, 5.0))
    write_box(folder / "small.stl", (0.3, 0.15, 0.075))
    for name, triangles in _FAN.findall(text):
        write_fan(folder / name, int(triangles))


@pytest.mark.parametrize("rule", LINT_RULES)
def test_the_smallest_robot_that_breaks_a_rule_is_found(
    rule: str, measure_robot: Lint, tmp_path: Path
) -> None:
    """With its place, and said once."""
    text = CASES[rule].broken
    write_meshes(tmp_path, text)

    found = [finding for finding in measure_robot(text) if finding.rule.id == rule]

    assert len(found) == 1
    assert found[0].rule is LINT_RULES[rule]
    location = found[0].location
    assert location is not None
    assert text[location.column - 1] == "<"


@pytest.mark.parametrize("rule", LINT_RULES)
def test_a_near_miss_is_left_alone(
    rule: str, measure_robot: Lint, tmp_path: Path
) -> None:
    """What is just inside the bound breaks nothing, and can be read."""
    text = CASES[rule].near
    write_meshes(tmp_path, text)

    found = measure_robot(text)

    assert rule not in {finding.rule.id for finding in found}
    assert not [f for f in found if f.rule.severity is Severity.ERROR]


def test_every_rule_has_a_case_and_a_check() -> None:
    """The tables name the same rules."""
    assert set(CASES) == set(LINT_RULES)
    assert set(DOCUMENT_CHECKS) | set(ROBOT_CHECKS) == set(LINT_RULES)
    assert set(DOCUMENT_CHECKS) & set(ROBOT_CHECKS) == {"inertia-zero"}


def test_no_rule_of_lint_has_an_id_of_the_reader() -> None:
    """Ids are unique over both tables."""
    assert not set(LINT_RULES) & set(RULES)
    assert set(ALL_RULES) <= set(LINT_RULES) | set(RULES)


@pytest.mark.parametrize(
    "rule",
    [name for name, rule in LINT_RULES.items() if rule.severity is Severity.ERROR],
)
def test_mujoco_refuses_what_lint_calls_an_error(rule: str) -> None:
    """And takes the near miss, behind a joint that moves."""
    moving = '<link name="w"/>{}<joint name="m" type="continuous"><parent link="w"/>'
    moving += '<child link="a"/><axis xyz="0 0.6 0.8"/></joint>'

    def compiled(text: str) -> mujoco.MjModel:
        inner = text.removeprefix('<robot name="r">').removesuffix("</robot>")
        return mujoco.MjModel.from_xml_string(robot(moving.format(inner)))

    with pytest.raises(ValueError, match="inertia must"):
        compiled(CASES[rule].broken)
    assert compiled(CASES[rule].near).nv == 1


@pytest.mark.parametrize(
    "uri",
    [
        "/a/b.stl",
        "C:\\a.stl",
        "c:/a.stl",
        "\\\\server\\a.stl",
        "file:///a.stl",
        "file:/a.stl",
        "file:///C:/a.stl",
        "file://localhost/a.stl",
        "FILE:///a.stl",
    ],
)
def test_paths_from_the_root_of_a_disk_are_absolute(
    uri: str, measure_robot: Lint
) -> None:
    """On any system, whatever the spelling."""
    assert "path-absolute" in {f.rule.id for f in measure_robot(mesh(uri))}


@pytest.mark.parametrize(
    "uri", ["a/b.stl", "../a.stl", "package://p/a.stl", "model://m/a.stl", "file:a.stl"]
)
def test_other_paths_are_not_absolute(uri: str, measure_robot: Lint) -> None:
    """Whether or not there is such a file."""
    assert "path-absolute" not in {f.rule.id for f in measure_robot(mesh(uri))}


@pytest.mark.parametrize(
    "element",
    [
        '<transmission name="t"><joint name="k"/></transmission>',
        '<ros2_control name="c" type="system"><joint name="k"/></ros2_control>',
    ],
)
def test_drives_of_joints_that_do_not_exist_are_found(
    element: str, measure_robot: Lint
) -> None:
    """In what ROS reads beside URDF; a joint of that name settles it."""
    text = joint("", "continuous").replace("</robot>", f"{element}</robot>")

    assert "reference-undefined" in {f.rule.id for f in measure_robot(text)}
    sound = text.replace('<joint name="k"', '<joint name="j"')
    assert "reference-undefined" not in {f.rule.id for f in measure_robot(sound)}


def test_what_belongs_to_no_robot_is_still_examined(measure_robot: Lint) -> None:
    """A robot that is refused keeps the findings of its text."""
    text = limit(rated('lower="0.1" upper="170"'))
    text = text.replace("</robot>", '<link name="b"/></robot>')

    found = {finding.rule.id for finding in measure_robot(text)}

    assert {"name-duplicate", "joint-zero-outside"} <= found


def test_size_is_not_judged_where_a_mesh_is_missing(measure_robot: Lint) -> None:
    """A link whose largest part may be in a file that is not here."""
    text = CASES["density-high"].broken
    extra = (
        '<visual><geometry><mesh filename="missing.stl"/></geometry></visual></link>'
    )

    found = {f.rule.id for f in measure_robot(text.replace("</link>", extra))}

    assert "mesh-missing" in found
    assert "density-high" not in found


def test_one_mesh_that_is_used_often_is_said_once(
    measure_robot: Lint, tmp_path: Path
) -> None:
    """With the number of uses."""
    text = mesh("small.stl", 'scale="1 -1 1"')
    shape = text[text.index("<visual>") : text.index("</visual>") + len("</visual>")]
    write_meshes(tmp_path, text)

    (found,) = [
        finding
        for finding in measure_robot(text.replace(shape, shape * 3))
        if finding.rule.id == "mesh-mirrored"
    ]

    assert found.message == "mesh 'small.stl' is scaled by 1 -1 1 (used 3 times)"


def test_unreadable_meshes_are_findings(measure_robot: Lint, tmp_path: Path) -> None:
    """Conversion would leave them out."""
    (tmp_path / "small.stl").write_bytes(b"nonsense")

    found = {f.rule.id for f in measure_robot(mesh("small.stl"))}

    assert "mesh-unreadable" in found


def test_findings_come_in_the_order_of_the_file(measure_robot: Lint) -> None:
    """Those of the reader and those of lint together."""
    text = limit('lower="-170" upper="170" effort="3,"', more="<unknown/>")

    places = [finding.location for finding in measure_robot(text.replace("><", ">\n<"))]

    lines = [place.line for place in places if place]
    assert lines == sorted(lines)
    assert len(set(lines)) > 1


def test_a_sound_robot_has_no_findings(measure_robot: Lint) -> None:
    """Not even notes."""
    shape = '<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision>'
    text = limit(rated('lower="-1" upper="2"')).replace(
        "</inertial>", f"</inertial>{shape}"
    )

    assert measure_robot(text) == ()
    assert "robot-unnamed" in {
        f.rule.id for f in measure_robot(link("").replace(' name="r"', ""))
    }


@pytest.mark.parametrize(
    "moments", [(1e-20, -1e-20, 2e-20), (1e-20, 1e-20, 9e-20), (3e-17, 3e-17, 3e-17)]
)
def test_inertia_that_is_the_rounding_of_zero_is_zero(
    measure_robot: Lint, moments: tuple[float, float, float]
) -> None:
    """Conversion takes less than 1e-15 m L^2 for zero; here m is 2 kg, L 0.2 m."""
    found = measure_robot(body("2", INERTIA.format(*moments), xyz="0.16 0.12 0"))

    assert [f.rule.id for f in found if f.rule.id.startswith("inertia")] == [
        "inertia-zero"
    ]


def test_negative_inertia_beyond_rounding_is_no_rounding(measure_robot: Lint) -> None:
    """The same link, with moments twice as large as what counts as zero."""
    tensor = INERTIA.format(-1.6e-16, 1e-16, 1e-16)

    found = measure_robot(body("2", tensor, xyz="0.16 0.12 0"))

    assert "inertia-not-positive" in {f.rule.id for f in found}
