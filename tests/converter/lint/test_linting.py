"""Rules of lint; ``cases.txt`` has the smallest robot that breaks each, and a near miss.

What is found in the files in ``findings.txt`` is stored there, see :mod:`tests.stored_cases`;
options are arguments of xacro.
"""

from __future__ import annotations

import json
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

from tests.stored_cases import OPTIONS, Case, check_outcomes, stored_cases, write_files
from urdf_usd.converter.diagnostics import ALL_RULES, LINT_RULES, RULES, Diagnostic, Severity
from urdf_usd.converter.lint.linting import LintReport, lint
from urdf_usd.corpus import RobotSource, resolve_corpora

Lint: TypeAlias = Callable[[str], tuple[Diagnostic, ...]]
_TEXTS = {
    name: case["robot.urdf"]
    for name, case in stored_cases(Path(__file__).with_name("cases.txt")).items()
}


def _lint(file: Path, **arguments: str) -> LintReport:
    """Lint a file, next to the meshes that it names."""
    text = file.read_text(encoding="utf-8")
    for name, edges in (("box.stl", (20.0, 10.0, 5.0)), ("small.stl", (0.3, 0.15, 0.075))):
        if name in text and not file.with_name(name).exists():
            trimesh.creation.box(edges).export(file.with_name(name))
    for name, triangles in re.findall(r'filename="((\d+)\.stl)"', text):
        _write_fan(file.with_name(name), int(triangles))
    return lint(file, arguments=arguments)


@pytest.fixture
def lint_text(tmp_path: Path) -> Lint:
    def lint_it(text: str) -> tuple[Diagnostic, ...]:
        file = tmp_path / "robot.urdf"
        file.write_text(text, encoding="utf-8")
        return _lint(file).findings

    return lint_it


def _outcome(case: Case, folder: Path) -> str:
    report = _lint(write_files(case, folder), **json.loads(case.get(OPTIONS, "{}")))
    # urdfdom need not be installed.
    found = [str(one) for one in report.findings if not one.rule.startswith("ros-")]
    return "\n".join([*([] if report.is_urdf else ["no URDF"]), *found]).replace(f"{folder}/", "")


def test_findings_are_as_stored(tmp_path: Path) -> None:
    check_outcomes(Path(__file__).with_name("findings.txt"), _outcome, tmp_path)


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


def test_unreadable_meshes_are_findings(lint_text: Lint, tmp_path: Path) -> None:
    (tmp_path / "small.stl").write_bytes(b"nonsense")

    assert "mesh-unreadable" in {f.rule for f in lint_text(_TEXTS["mesh-mirrored"])}


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


def test_missing_file_is_no_urdf(tmp_path: Path) -> None:
    report = lint(tmp_path / "robot.urdf")

    assert not report.is_urdf
    assert [one.rule for one in report.findings] == ["file-missing"]


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
