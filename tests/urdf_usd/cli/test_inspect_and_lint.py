"""``urdf-usd inspect`` and ``lint``: what no transcript shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.cli.inspect import index_maps
from urdf_usd.converter.diagnostics import ALL_RULES, LINT_RULES
from urdf_usd.converter.lint.fixes import FIXES

_DOCS = Path(__file__).parents[3] / "docs"
# Its joints are in neither depth-first nor breadth-first order.
_SIX = Path(__file__).with_name("robots") / "six.urdf"


def test_deep_links_are_not_indented_further(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{n}"/>' for n in range(300))
    joints = "".join(
        f'<joint name="j{n}" type="fixed"><parent link="l{n}"/><child link="l{n + 1}"/></joint>'
        for n in range(299)
    )
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{links}{joints}</robot>')

    lines = urdf_usd("inspect", path).stdout.splitlines()

    assert max(map(len, lines)) < 120
    assert any(line.endswith("└─l299") for line in lines)


def test_joint_that_an_engine_lacks_has_index_minus_one() -> None:
    maps = index_maps({"mujoco": ("a", "b"), "physx": ("b",)})

    assert maps["physx_to_mujoco"].tolist() == [-1, 0]
    assert maps["mujoco_to_physx"].tolist() == [1]


def test_maps_are_written_as_arrays(tmp_path: Path) -> None:
    file = tmp_path / "maps.npz"
    result = urdf_usd("inspect", "--joints", _SIX, "--numpy", file)
    with np.load(file) as stored:
        maps = dict(stored)

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split()[:2] == ["joint", "reference"]
    assert maps["reference_to_mujoco"].dtype == np.int64
    assert sorted(maps["reference_to_mujoco"]) == [0, 1, 2, 3]


def test_all_rules_are_listed() -> None:
    result = urdf_usd("lint", "--list-rules")

    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == sorted(ALL_RULES)
    assert {row[0] for row in rows if row[1] == "fix"} == set(FIXES)


def test_files_elsewhere_have_absolute_uris(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = tmp_path / "my robot.urdf"
    robot.write_bytes(_SIX.with_name("findings.urdf").read_bytes())
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))

    (run,) = json.loads(urdf_usd("lint", robot, "--format", "sarif").stdout)["runs"]

    assert run["artifacts"] == [{"location": {"uri": robot.as_uri()}}]


def _row_of(name: str) -> str:
    rule = LINT_RULES[name]
    fix = "yes" if name in FIXES else ""
    cells = (f"`{name}`", str(rule.severity), fix, rule.summary, rule.remedy)
    escaped = (cell.replace("<", "\\<").replace("*", "\\*") for cell in cells[3:])
    return f"| {' | '.join((*cells[:3], *escaped))} |"


def test_every_rule_is_documented() -> None:
    page = (_DOCS / "lint.md").read_text(encoding="utf-8")
    missing = [row for row in map(_row_of, LINT_RULES) if row not in page]

    assert not missing, "\n".join(["add to docs/lint.md:", *missing])


def test_many_findings_of_a_rule_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    links = "".join(f'<link name="l{i}" own{i}="1"/>\n' for i in range(250))
    Path("many.urdf").write_text(f'<robot name="r">{links}</robot>', encoding="utf-8")

    rule = ("--select", "element-unknown")
    text = urdf_usd("lint", "many.urdf", *rule).stdout.splitlines()
    found = json.loads(urdf_usd("lint", "many.urdf", *rule, "--format", "json").stdout)
    sarif = json.loads(urdf_usd("lint", "many.urdf", *rule, "--format", "sarif").stdout)

    own = [line for line in text if "[element-unknown]" in line]
    assert len(own) == 101
    assert own[-1].startswith("many.urdf:250:")
    assert "note: 150 more, the last of them: own249 of <link>" in own[-1]
    assert text[-1] == "250 notes in 1 file"
    assert found["counts"]["note"] == 250
    findings = found["files"][0]["findings"]
    assert [one["count"] for one in findings] == [1] * 100 + [150]
    results = sarif["runs"][0]["results"]
    assert [one["occurrenceCount"] for one in results] == [1] * 100 + [150]
