"""Lint of whole files: xacro, damaged text, real robots."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.converter.lint.cases import CASES, link, material
from tests.converter.lint.conftest import Lint
from urdf_usd.converter.diagnostics.rules import ALL_RULES
from urdf_usd.converter.lint.linting import lint
from urdf_usd.corpus import RobotSource, resolve_corpora

XACRO = """\
<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="suffix" default="1"/>
  <xacro:macro name="part" params="name">
    <link name="${name}"/>
  </xacro:macro>
  <xacro:part name="a-$(arg suffix)"/>
</robot>
"""
TEXTS = [text for case in CASES.values() for text in (case.broken, case.near)]


def test_xacro_is_expanded_and_linted(tmp_path: Path) -> None:
    """Locations are in the xacro file."""
    file = tmp_path / "robot.urdf.xacro"
    file.write_text(XACRO)

    (found,) = lint(file, arguments={"suffix": "2"}).findings

    assert found.message == "the name of link 'a-2' is not an identifier"
    assert found.location is not None
    assert (found.location.file, found.location.line) == (str(file), 4)


def test_texture_without_filename_breaks_no_path_rule(lint_text: Lint) -> None:
    """The parser reports it."""
    text = material("", '<material name="m"><texture/></material>')

    found = [finding.rule.id for finding in lint_text(text)]

    assert found == ["material-undefined", "texture-unnamed"]


def test_report_distinguishes_other_files_from_invalid_robots(
    tmp_path: Path,
) -> None:
    """``is_urdf`` is true for an invalid robot."""
    file = tmp_path / "robot.urdf"
    for text, is_urdf in (
        ("<sdf/>", False),
        ("", False),
        (link("").replace("</robot>", '<link name="b"/></robot>'), True),
    ):
        file.write_text(text)
        report = lint(file)
        assert report.is_urdf is is_urdf
        assert report.findings
    assert not lint(tmp_path / "missing.urdf").is_urdf


@given(
    text=st.sampled_from(TEXTS),
    cut=st.floats(0.0, 1.0),
    length=st.integers(0, 40),
    inserted=st.sampled_from(["", "0", "1e308", "nan", "-", '"', "<", "/>", "&", "\x00"]),
)
def test_damaged_text_does_not_crash_lint(
    text: str, cut: float, length: int, inserted: str
) -> None:
    """Random deletions and insertions."""
    start = int(cut * len(text))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "robot.urdf")
        file.write_text(text[:start] + inserted + text[start + length :])

        found = lint(file).findings

    assert all(finding.rule is ALL_RULES[finding.rule.id] for finding in found)


@pytest.mark.corpus
def test_findings_of_real_robots_have_locations() -> None:
    """All robots of pybullet_data."""
    for robot in resolve_corpora(["pybullet"]):
        assert isinstance(robot, RobotSource)
        packages = {name: str(path) for name, path in robot.packages}
        for finding in lint(robot.path, packages=packages).findings:
            assert finding.rule is ALL_RULES[finding.rule.id]
            assert finding.location is not None


def test_expanded_find_is_not_an_absolute_path(tmp_path: Path) -> None:
    """``$(find NAME)`` expands to an existing absolute path; others are reported."""
    package = tmp_path / "bot"
    (package / "meshes").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>bot</name></package>")
    (package / "meshes/a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n")
    visual = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    visuals = visual.format("file://$(find bot)/meshes/a.obj")
    visuals += visual.format("file:///home/somebody/a.obj")
    file = package / "r.xacro"
    file.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'<link name="a">{visuals}</link></robot>'
    )

    found = [f.message for f in lint(file).findings if f.rule.id == "path-absolute"]

    assert len(found) == 1
    assert "somebody" in found[0]
