"""Rules of lint; ``cases.txt`` has the smallest robot that breaks each, and a near miss."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import mujoco
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from tests.stored_cases import stored_cases
from urdf_usd.converter.diagnostics import ALL_RULES, LINT_RULES, RULES, Diagnostic, Severity
from urdf_usd.converter.lint.linting import lint
from urdf_usd.corpus import RobotSource, resolve_corpora

Lint: TypeAlias = Callable[[str], tuple[Diagnostic, ...]]
_TEXTS = {
    name: case["robot.urdf"]
    for name, case in stored_cases(Path(__file__).with_name("cases.txt")).items()
}
_MESH = _TEXTS["mesh-mirrored"]
_JOINT = _TEXTS["joint-zero-outside"]


@pytest.fixture
def lint_text(tmp_path: Path) -> Lint:
    """Return a function that gives the findings of a text, next to the meshes that it names."""

    def lint_it(text: str) -> tuple[Diagnostic, ...]:
        file = tmp_path / "robot.urdf"
        file.write_text(text, encoding="utf-8")
        boxes = {"box.stl": (20.0, 10.0, 5.0), "small.stl": (0.3, 0.15, 0.075)}
        for name, edges in boxes.items():
            if name in text and not (tmp_path / name).exists():
                box = trimesh.creation.box(edges)
                box.export(tmp_path / name)
        for name, triangles in re.findall(r'filename="((\d+)\.stl)"', text):
            _write_fan(tmp_path / name, int(triangles))
        return lint(file).findings

    return lint_it


def _write_fan(path: Path, count: int) -> None:
    """Write a cone of many triangles, 0.2 m wide and 0.1 m high."""
    rim = [(0.1 * math.cos(turn), 0.1 * math.sin(turn), 0.0) for turn in range(count + 1)]
    faces = [(0, number, number + 1) for number in range(1, count + 1)]
    trimesh.Trimesh([(0.0, 0.0, 0.1), *rim], faces, process=False).export(path)


@pytest.mark.parametrize("rule", LINT_RULES)
def test_breach_of_a_rule_is_found_and_a_near_miss_is_not(rule: str, lint_text: Lint) -> None:
    broken, near = _TEXTS[rule], _TEXTS[f"{rule}: near"]

    (found,) = [finding for finding in lint_text(broken) if finding.rule == rule]
    others = lint_text(near)

    assert found.location is not None
    line = broken.split("\n")[found.location.line - 1]
    assert line[found.location.column - 1] == "<"
    assert rule not in {finding.rule for finding in others}
    assert not [f for f in others if f.severity is Severity.ERROR]


def test_every_rule_has_a_case() -> None:
    assert set(_TEXTS) == {*LINT_RULES, *(f"{rule}: near" for rule in LINT_RULES)}
    assert set(ALL_RULES) < set(RULES)


@pytest.mark.parametrize(
    "rule", [name for name, rule in LINT_RULES.items() if rule.severity is Severity.ERROR]
)
def test_mujoco_refuses_robots_with_lint_errors(rule: str) -> None:
    moving = '<link name="w"/><joint name="m" type="continuous"><parent link="w"/>'
    moving += '<child link="a"/><axis xyz="0 0.6 0.8"/></joint></robot>'

    def compiled(text: str) -> mujoco.MjModel:
        return mujoco.MjModel.from_xml_string(text.replace("</robot>", moving))

    with pytest.raises(ValueError, match="inertia must"):
        compiled(_TEXTS[rule])
    assert compiled(_TEXTS[f"{rule}: near"]).nv == 1


@pytest.mark.parametrize(
    ("uri", "absolute"),
    [
        *((uri, True) for uri in ("/a/b.stl", "C:\\a.stl", "c:/a.stl", "\\\\server\\a.stl")),
        *((f"file:{rest}", True) for rest in ("///a.stl", "/a.stl", "///C:/a.stl")),
        *((uri, True) for uri in ("file://localhost/a.stl", "FILE:///a.stl")),
        *((uri, False) for uri in ("a/b.stl", "../a.stl", "package://p/a.stl", "file:a.stl")),
        ("model://m/a.stl", False),
    ],
)
def test_absolute_paths_are_reported(uri: str, absolute: bool, lint_text: Lint) -> None:
    rules = {f.rule for f in lint_text(_MESH.replace("small.stl", uri))}

    assert ("path-absolute" in rules) is absolute


@pytest.mark.parametrize("tag", ["transmission", "ros2_control"])
def test_transmission_of_an_undefined_joint_is_reported(tag: str, lint_text: Lint) -> None:
    element = f'<{tag} name="t"><joint name="{{}}"/></{tag}></robot>'

    found = {
        name: {f.rule for f in lint_text(_JOINT.replace("</robot>", element.format(name)))}
        for name in "jk"
    }

    assert "reference-undefined" in found["k"] - found["j"]


def test_invalid_robot_is_linted(lint_text: Lint) -> None:
    found = {f.rule for f in lint_text(_JOINT.replace("</robot>", '<link name="b"/></robot>'))}

    assert {"name-duplicate", "joint-zero-outside"} <= found


def test_density_is_not_judged_if_a_mesh_is_missing(lint_text: Lint) -> None:
    extra = '<visual><geometry><mesh filename="missing.stl"/></geometry></visual></link>'

    found = {f.rule for f in lint_text(_TEXTS["density-high"].replace("</link>", extra))}

    assert "mesh-missing" in found
    assert "density-high" not in found


def test_mesh_used_several_times_is_one_finding(lint_text: Lint) -> None:
    shape = _MESH[_MESH.index("<visual>") : _MESH.index("</visual>") + len("</visual>")]

    found = lint_text(_MESH.replace(shape, shape * 3))

    assert [f.message for f in found if f.rule == "mesh-mirrored"] == [
        "mesh 'small.stl' is scaled by 1 -1 1 (used 3 times)"
    ]


def test_unreadable_meshes_are_findings(lint_text: Lint, tmp_path: Path) -> None:
    (tmp_path / "small.stl").write_bytes(b"nonsense")

    assert "mesh-unreadable" in {f.rule for f in lint_text(_MESH)}


def test_findings_are_in_document_order(lint_text: Lint) -> None:
    text = _TEXTS["joint-limit-degrees"].replace('effort="3"', 'effort="3,"')

    places = [f.location for f in lint_text(text.replace("><", ">\n<"))]

    lines = [place.line for place in places if place]
    assert lines == sorted(lines)
    assert len(set(lines)) > 1


def test_valid_robot_has_no_findings(lint_text: Lint) -> None:
    shape = '</inertial><collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision>'

    assert lint_text(_TEXTS["joint-zero-outside: near"].replace("</inertial>", shape)) == ()


@pytest.mark.parametrize(
    ("moments", "rule"),
    [
        # Less than 1e-15 m L^2, with m = 2 kg and L = 0.2 m.
        ((1e-20, -1e-20, 2e-20), "inertia-zero"),
        ((1e-20, 1e-20, 9e-20), "inertia-zero"),
        ((3e-17, 3e-17, 3e-17), "inertia-zero"),
        ((-1.6e-16, 1e-16, 1e-16), "inertia-not-positive"),
    ],
)
def test_inertia_within_rounding_of_zero_is_reported_as_zero(
    lint_text: Lint, moments: tuple[float, float, float], rule: str
) -> None:
    text = _TEXTS["inertia-zero"].replace("0.01 0 0", "0.16 0.12 0")
    for axis, moment in zip(("xx", "yy", "zz"), moments, strict=True):
        text = text.replace(f'i{axis}="0"', f'i{axis}="{moment}"')

    assert [f.rule for f in lint_text(text) if f.rule.startswith("inertia")] == [rule]


_BALL = trimesh.creation.icosphere(3, 0.1)
_VOLUME, _REACH = float(_BALL.volume), 0.1
_TEXT = """<robot name="r"><link name="a"><inertial><origin xyz="{x} 0 0"/>
<mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/>
</inertial><visual><geometry><mesh filename="ball.stl"/></geometry></visual>
</link></robot>"""
_OUTSIDE = (1.0 + 2.0 * 3.0**0.5) * _REACH


@pytest.mark.parametrize(
    ("rule", "mass", "gyration", "x"),
    [
        (None, 99e3 * _VOLUME, 0.05, 0.0),
        ("density-high", 101e3 * _VOLUME, 0.05, 0.0),
        (None, 0.101 * _VOLUME, 0.05, 0.0),
        ("density-low", 0.099 * _VOLUME, 0.05, 0.0),
        (None, 1.0, 2.99 * _REACH, 0.0),
        ("inertia-too-large", 1.0, 3.01 * _REACH, 0.0),
        (None, 1.0, 0.0101 * _REACH, 0.0),
        ("inertia-too-small", 1.0, 0.0099 * _REACH, 0.0),
        (None, 1.0, 0.05, _OUTSIDE - 0.01),
        ("com-outside", 1.0, 0.05, _OUTSIDE + 0.01),
    ],
)
def test_rules_apply_from_their_limits_on(
    lint_text: Lint, tmp_path: Path, rule: str | None, mass: float, gyration: float, x: float
) -> None:
    _BALL.export(tmp_path / "ball.stl")

    found = lint_text(_TEXT.format(mass=mass, i=mass * gyration**2, x=x))

    rules = {one.rule for one in found if one.rule.startswith(("density", "inertia", "com"))}
    assert rules == ({rule} if rule else set())


_HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


def test_xacro_is_expanded_and_linted(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf.xacro"
    macro = '<xacro:macro name="part" params="name">\n<link name="${name}"/></xacro:macro>'
    use = '<xacro:arg name="suffix" default="1"/><xacro:part name="a-$(arg suffix)"/>'
    file.write_text(f"{_HEAD}{macro}{use}</robot>")

    (found,) = lint(file, arguments={"suffix": "2"}).findings

    assert found.message == "the name of link 'a-2' is not an identifier"
    assert found.location is not None
    assert (found.location.file, found.location.line) == (str(file), 2)


@pytest.mark.parametrize(
    ("text", "is_urdf"), [("<sdf/>", False), ("", False), ("<robot/>", True), (None, False)]
)
def test_report_distinguishes_other_files_from_invalid_robots(
    tmp_path: Path, text: str | None, is_urdf: bool
) -> None:
    file = tmp_path / "robot.urdf"
    if text is not None:
        file.write_text(text)

    report = lint(file)

    assert report.is_urdf is is_urdf
    assert report.findings


@given(
    text=st.sampled_from(sorted(_TEXTS.values())),
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
        for finding in lint(source.path).findings:
            assert finding.rule in ALL_RULES
            assert finding.location is not None


def test_expanded_find_is_not_an_absolute_path(tmp_path: Path) -> None:
    # ``$(find NAME)`` expands to an existing absolute path; others are reported.
    package = tmp_path / "bot"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>bot</name></package>")
    (package / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n")
    visual = '<visual><geometry><mesh filename="file://{}/a.obj"/></geometry></visual>'
    visuals = visual.format("$(find bot)") + visual.format("/home/somebody")
    file = package / "r.xacro"
    file.write_text(f'{_HEAD}<link name="a">{visuals}</link></robot>')

    (found,) = [f.message for f in lint(file).findings if f.rule == "path-absolute"]

    assert "somebody" in found
