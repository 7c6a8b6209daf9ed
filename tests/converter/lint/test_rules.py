"""Rules of lint, with the smallest robot that breaks each and a near miss."""

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
from urdf_usd.converter.diagnostics.rules import ALL_RULES, LINT_RULES, RULES, Severity
from urdf_usd.converter.lint.linting import DOCUMENT_CHECKS, ROBOT_CHECKS

_FAN = re.compile(r'filename="((\d+)\.stl)"')


def write_meshes(folder: Path, text: str) -> None:
    """Write the mesh files that a case names."""
    write_box(folder / "box.stl", (20.0, 10.0, 5.0))
    write_box(folder / "small.stl", (0.3, 0.15, 0.075))
    for name, triangles in _FAN.findall(text):
        write_fan(folder / name, int(triangles))


@pytest.mark.parametrize("rule", LINT_RULES)
def test_breach_of_a_rule_is_found(rule: str, lint_text: Lint, tmp_path: Path) -> None:
    """The smallest robot that breaks each rule; one finding with a location."""
    text = CASES[rule].broken
    write_meshes(tmp_path, text)

    found = [finding for finding in lint_text(text) if finding.rule.id == rule]

    assert len(found) == 1
    assert found[0].rule is LINT_RULES[rule]
    location = found[0].location
    assert location is not None
    assert text[location.column - 1] == "<"


@pytest.mark.parametrize("rule", LINT_RULES)
def test_near_miss_of_a_rule_is_not_reported(rule: str, lint_text: Lint, tmp_path: Path) -> None:
    """A value just inside the bound, in a valid robot."""
    text = CASES[rule].near
    write_meshes(tmp_path, text)

    found = lint_text(text)

    assert rule not in {finding.rule.id for finding in found}
    assert not [f for f in found if f.rule.severity is Severity.ERROR]


def test_every_rule_has_a_case_and_a_check() -> None:
    """The tables have the same identifiers."""
    assert set(CASES) == set(LINT_RULES)
    assert set(DOCUMENT_CHECKS) | set(ROBOT_CHECKS) == set(LINT_RULES)
    assert set(DOCUMENT_CHECKS) & set(ROBOT_CHECKS) == {"inertia-zero"}


def test_lint_rules_and_parser_rules_have_different_identifiers() -> None:
    """Ids are unique over both tables."""
    assert not set(LINT_RULES) & set(RULES)
    assert set(ALL_RULES) <= set(LINT_RULES) | set(RULES)


@pytest.mark.parametrize(
    "rule",
    [name for name, rule in LINT_RULES.items() if rule.severity is Severity.ERROR],
)
def test_mujoco_refuses_robots_with_lint_errors(rule: str) -> None:
    """And compiles the near miss, both on a moving joint."""
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
def test_absolute_paths_are_reported(uri: str, lint_text: Lint) -> None:
    """In every spelling, on any system."""
    assert "path-absolute" in {f.rule.id for f in lint_text(mesh(uri))}


@pytest.mark.parametrize(
    "uri", ["a/b.stl", "../a.stl", "package://p/a.stl", "model://m/a.stl", "file:a.stl"]
)
def test_other_paths_are_not_reported(uri: str, lint_text: Lint) -> None:
    """Whether or not the file exists."""
    assert "path-absolute" not in {f.rule.id for f in lint_text(mesh(uri))}


@pytest.mark.parametrize(
    "element",
    [
        '<transmission name="t"><joint name="k"/></transmission>',
        '<ros2_control name="c" type="system"><joint name="k"/></ros2_control>',
    ],
)
def test_transmission_of_an_undefined_joint_is_reported(element: str, lint_text: Lint) -> None:
    """And not that of a defined joint."""
    text = joint("", "continuous").replace("</robot>", f"{element}</robot>")

    assert "reference-undefined" in {f.rule.id for f in lint_text(text)}
    defined = text.replace('<joint name="k"', '<joint name="j"')
    assert "reference-undefined" not in {f.rule.id for f in lint_text(defined)}


def test_invalid_robot_is_linted(lint_text: Lint) -> None:
    """Both diagnostics of the parser and findings of lint are reported."""
    text = limit(rated('lower="0.1" upper="170"'))
    text = text.replace("</robot>", '<link name="b"/></robot>')

    found = {finding.rule.id for finding in lint_text(text)}

    assert {"name-duplicate", "joint-zero-outside"} <= found


def test_density_is_not_judged_if_a_mesh_is_missing(lint_text: Lint) -> None:
    """The missing mesh may be the largest part of the link."""
    text = CASES["density-high"].broken
    extra = '<visual><geometry><mesh filename="missing.stl"/></geometry></visual></link>'

    found = {f.rule.id for f in lint_text(text.replace("</link>", extra))}

    assert "mesh-missing" in found
    assert "density-high" not in found


def test_mesh_used_several_times_is_one_finding(lint_text: Lint, tmp_path: Path) -> None:
    """With the number of uses."""
    text = mesh("small.stl", 'scale="1 -1 1"')
    shape = text[text.index("<visual>") : text.index("</visual>") + len("</visual>")]
    write_meshes(tmp_path, text)

    (found,) = [
        finding
        for finding in lint_text(text.replace(shape, shape * 3))
        if finding.rule.id == "mesh-mirrored"
    ]

    assert found.message == "mesh 'small.stl' is scaled by 1 -1 1 (used 3 times)"


def test_unreadable_meshes_are_findings(lint_text: Lint, tmp_path: Path) -> None:
    """A conversion would leave them out."""
    (tmp_path / "small.stl").write_bytes(b"nonsense")

    found = {f.rule.id for f in lint_text(mesh("small.stl"))}

    assert "mesh-unreadable" in found


def test_findings_are_in_document_order(lint_text: Lint) -> None:
    """Those of the parser and those of lint together."""
    text = limit('lower="-170" upper="170" effort="3,"', more="<unknown/>")

    places = [finding.location for finding in lint_text(text.replace("><", ">\n<"))]

    lines = [place.line for place in places if place]
    assert lines == sorted(lines)
    assert len(set(lines)) > 1


def test_valid_robot_has_no_findings(lint_text: Lint) -> None:
    """Not even notes."""
    shape = '<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision>'
    text = limit(rated('lower="-1" upper="2"')).replace("</inertial>", f"</inertial>{shape}")

    assert lint_text(text) == ()
    assert "robot-unnamed" in {f.rule.id for f in lint_text(link("").replace(' name="r"', ""))}


@pytest.mark.parametrize(
    "moments", [(1e-20, -1e-20, 2e-20), (1e-20, 1e-20, 9e-20), (3e-17, 3e-17, 3e-17)]
)
def test_inertia_within_rounding_of_zero_is_reported_as_zero(
    lint_text: Lint, moments: tuple[float, float, float]
) -> None:
    """Less than 1e-15 m L^2, with m = 2 kg and L = 0.2 m."""
    found = lint_text(body("2", INERTIA.format(*moments), xyz="0.16 0.12 0"))

    assert [f.rule.id for f in found if f.rule.id.startswith("inertia")] == ["inertia-zero"]


def test_negative_inertia_beyond_rounding_is_reported_as_negative(
    lint_text: Lint,
) -> None:
    """The same link, with moments twice as large."""
    tensor = INERTIA.format(-1.6e-16, 1e-16, 1e-16)

    found = lint_text(body("2", tensor, xyz="0.16 0.12 0"))

    assert "inertia-not-positive" in {f.rule.id for f in found}
