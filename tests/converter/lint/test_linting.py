"""Rules of lint, with the smallest robot that breaks each and a near miss."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import mujoco
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

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
from urdf_usd.converter.lint.linting import lint
from urdf_usd.corpus import RobotSource, resolve_corpora

_FAN = re.compile(r'filename="((\d+)\.stl)"')


def write_meshes(folder: Path, text: str) -> None:
    """Write the mesh files that a case names."""
    write_box(folder / "box.stl", (20.0, 10.0, 5.0))
    write_box(folder / "small.stl", (0.3, 0.15, 0.075))
    for name, triangles in _FAN.findall(text):
        write_fan(folder / name, int(triangles))


@pytest.mark.parametrize("rule", LINT_RULES)
def test_breach_of_a_rule_is_found(rule: str, lint_text: Lint, tmp_path: Path) -> None:
    text = CASES[rule].broken
    write_meshes(tmp_path, text)

    found = [finding for finding in lint_text(text) if finding.rule == rule]

    assert len(found) == 1
    location = found[0].location
    assert location is not None
    assert text[location.column - 1] == "<"


@pytest.mark.parametrize("rule", LINT_RULES)
def test_near_miss_of_a_rule_is_not_reported(rule: str, lint_text: Lint, tmp_path: Path) -> None:
    text = CASES[rule].near
    write_meshes(tmp_path, text)

    found = lint_text(text)

    assert rule not in {finding.rule for finding in found}
    assert not [f for f in found if f.severity is Severity.ERROR]


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(LINT_RULES)
    assert set(ALL_RULES) < set(RULES)


@pytest.mark.parametrize(
    "rule",
    [name for name, rule in LINT_RULES.items() if rule.severity is Severity.ERROR],
)
def test_mujoco_refuses_robots_with_lint_errors(rule: str) -> None:
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
    assert "path-absolute" in {f.rule for f in lint_text(mesh(uri))}


@pytest.mark.parametrize(
    "uri", ["a/b.stl", "../a.stl", "package://p/a.stl", "model://m/a.stl", "file:a.stl"]
)
def test_other_paths_are_not_reported(uri: str, lint_text: Lint) -> None:
    assert "path-absolute" not in {f.rule for f in lint_text(mesh(uri))}


@pytest.mark.parametrize(
    "element",
    [
        '<transmission name="t"><joint name="k"/></transmission>',
        '<ros2_control name="c" type="system"><joint name="k"/></ros2_control>',
    ],
)
def test_transmission_of_an_undefined_joint_is_reported(element: str, lint_text: Lint) -> None:
    text = joint("", "continuous").replace("</robot>", f"{element}</robot>")

    assert "reference-undefined" in {f.rule for f in lint_text(text)}
    defined = text.replace('<joint name="k"', '<joint name="j"')
    assert "reference-undefined" not in {f.rule for f in lint_text(defined)}


def test_invalid_robot_is_linted(lint_text: Lint) -> None:
    text = limit(rated('lower="0.1" upper="170"'))
    text = text.replace("</robot>", '<link name="b"/></robot>')

    found = {finding.rule for finding in lint_text(text)}

    assert {"name-duplicate", "joint-zero-outside"} <= found


def test_density_is_not_judged_if_a_mesh_is_missing(lint_text: Lint) -> None:
    text = CASES["density-high"].broken
    extra = '<visual><geometry><mesh filename="missing.stl"/></geometry></visual></link>'

    found = {f.rule for f in lint_text(text.replace("</link>", extra))}

    assert "mesh-missing" in found
    assert "density-high" not in found


def test_mesh_used_several_times_is_one_finding(lint_text: Lint, tmp_path: Path) -> None:
    text = mesh("small.stl", 'scale="1 -1 1"')
    shape = text[text.index("<visual>") : text.index("</visual>") + len("</visual>")]
    write_meshes(tmp_path, text)

    (found,) = [
        finding
        for finding in lint_text(text.replace(shape, shape * 3))
        if finding.rule == "mesh-mirrored"
    ]

    assert found.message == "mesh 'small.stl' is scaled by 1 -1 1 (used 3 times)"


def test_unreadable_meshes_are_findings(lint_text: Lint, tmp_path: Path) -> None:
    (tmp_path / "small.stl").write_bytes(b"nonsense")

    found = {f.rule for f in lint_text(mesh("small.stl"))}

    assert "mesh-unreadable" in found


def test_findings_are_in_document_order(lint_text: Lint) -> None:
    text = limit('lower="-170" upper="170" effort="3,"', more="<unknown/>")

    places = [finding.location for finding in lint_text(text.replace("><", ">\n<"))]

    lines = [place.line for place in places if place]
    assert lines == sorted(lines)
    assert len(set(lines)) > 1


def test_valid_robot_has_no_findings(lint_text: Lint) -> None:
    shape = '<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision>'
    text = limit(rated('lower="-1" upper="2"')).replace("</inertial>", f"</inertial>{shape}")

    assert lint_text(text) == ()
    assert "robot-unnamed" in {f.rule for f in lint_text(link("").replace(' name="r"', ""))}


@pytest.mark.parametrize(
    "moments", [(1e-20, -1e-20, 2e-20), (1e-20, 1e-20, 9e-20), (3e-17, 3e-17, 3e-17)]
)
def test_inertia_within_rounding_of_zero_is_reported_as_zero(
    lint_text: Lint, moments: tuple[float, float, float]
) -> None:
    # Less than 1e-15 m L^2, with m = 2 kg and L = 0.2 m.
    found = lint_text(body("2", INERTIA.format(*moments), xyz="0.16 0.12 0"))

    assert [f.rule for f in found if f.rule.startswith("inertia")] == ["inertia-zero"]


def test_negative_inertia_beyond_rounding_is_reported_as_negative(
    lint_text: Lint,
) -> None:
    tensor = INERTIA.format(-1.6e-16, 1e-16, 1e-16)

    found = lint_text(body("2", tensor, xyz="0.16 0.12 0"))

    assert "inertia-not-positive" in {f.rule for f in found}


BALL = trimesh.creation.icosphere(3, 0.1)
VOLUME = float(BALL.volume)
REACH = 0.1
TEXT = """<robot name="r"><link name="a"><inertial><origin xyz="{x} 0 0"/>
<mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/>
</inertial><visual><geometry><mesh filename="ball.stl"/></geometry></visual>
</link></robot>"""


@pytest.mark.parametrize(
    ("rule", "mass", "gyration", "x"),
    [
        (None, 99e3 * VOLUME, 0.05, 0.0),
        ("density-high", 101e3 * VOLUME, 0.05, 0.0),
        (None, 0.101 * VOLUME, 0.05, 0.0),
        ("density-low", 0.099 * VOLUME, 0.05, 0.0),
        (None, 1.0, 2.99 * REACH, 0.0),
        ("inertia-too-large", 1.0, 3.01 * REACH, 0.0),
        (None, 1.0, 0.0101 * REACH, 0.0),
        ("inertia-too-small", 1.0, 0.0099 * REACH, 0.0),
        (None, 1.0, 0.05, (1.0 + 2.0 * 3.0**0.5) * REACH - 0.01),
        ("com-outside", 1.0, 0.05, (1.0 + 2.0 * 3.0**0.5) * REACH + 0.01),
    ],
)
def test_rules_apply_from_their_limits_on(
    lint_text: Lint,
    tmp_path: Path,
    rule: str | None,
    mass: float,
    gyration: float,
    x: float,
) -> None:
    BALL.export(tmp_path / "ball.stl")

    found = lint_text(TEXT.format(mass=mass, i=mass * gyration**2, x=x))

    rules = {one.rule for one in found if one.rule.startswith(("density", "inertia", "com"))}
    assert rules == ({rule} if rule else set())


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
    file = tmp_path / "robot.urdf.xacro"
    file.write_text(XACRO)

    (found,) = lint(file, arguments={"suffix": "2"}).findings

    assert found.message == "the name of link 'a-2' is not an identifier"
    assert found.location is not None
    assert (found.location.file, found.location.line) == (str(file), 4)


def test_report_distinguishes_other_files_from_invalid_robots(
    tmp_path: Path,
) -> None:
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
    start = int(cut * len(text))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "robot.urdf")
        file.write_text(text[:start] + inserted + text[start + length :])

        found = lint(file).findings

    assert all(finding.rule in ALL_RULES for finding in found)


@pytest.mark.corpus
def test_findings_of_real_robots_have_locations() -> None:
    for source in resolve_corpora(["pybullet"]):
        assert isinstance(source, RobotSource)
        packages = {name: str(path) for name, path in source.packages}
        for finding in lint(source.path, packages=packages).findings:
            assert finding.rule in ALL_RULES
            assert finding.location is not None


def test_expanded_find_is_not_an_absolute_path(tmp_path: Path) -> None:
    # ``$(find NAME)`` expands to an existing absolute path; others are reported.
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

    found = [f.message for f in lint(file).findings if f.rule == "path-absolute"]

    assert len(found) == 1
    assert "somebody" in found[0]
