"""``urdf-usd lint``: formats, selection, repairs, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.urdf_usd.cli.command import DATA, urdf_usd
from urdf_usd.converter.diagnostics import ALL_RULES, LINT_RULES
from urdf_usd.converter.lint.fixes import FIXES

DOCS = Path(__file__).parents[3] / "docs"
# One error (line 3), one warning (line 6) and one note (line 2).
ROBOT = (DATA / "linted.urdf").read_text("utf-8")
SOUND = '<robot name="r"><link name="a"/></robot>'


def invoke(*arguments: object) -> Result:
    return urdf_usd("lint", *arguments)


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my robot.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    return path


def test_all_rules_are_listed() -> None:
    result = invoke("--list-rules")

    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == sorted(ALL_RULES)
    assert {row[0] for row in rows if row[1] == "fix"} == set(FIXES)


def sarif_of(*arguments: object) -> dict[str, Any]:
    document = json.loads(invoke(*arguments, "--format", "sarif").stdout)
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


def test_files_elsewhere_have_absolute_uris(
    robot: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))

    run = sarif_of(robot)

    assert run["artifacts"] == [{"location": {"uri": robot.as_uri()}}]


def row_of(name: str) -> str:
    rule = LINT_RULES[name]
    fix = "yes" if name in FIXES else ""
    cells = (f"`{name}`", str(rule.severity), fix, rule.summary, rule.remedy)
    escaped = (cell.replace("<", "\\<").replace("*", "\\*") for cell in cells[3:])
    return f"| {' | '.join((*cells[:3], *escaped))} |"


def test_every_rule_is_documented() -> None:
    page = (DOCS / "lint.md").read_text(encoding="utf-8")
    missing = [row for row in map(row_of, LINT_RULES) if row not in page]

    assert not missing, "\n".join(["add to docs/lint.md:", *missing])


def test_many_findings_of_a_rule_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    links = "".join(f'<link name="l{i}" own{i}="1"/>\n' for i in range(250))
    Path("many.urdf").write_text(f'<robot name="r">{links}</robot>', encoding="utf-8")

    rule = ("--select", "element-unknown")
    text = invoke("many.urdf", *rule).stdout.splitlines()
    found = json.loads(invoke("many.urdf", *rule, "--format", "json").stdout)
    sarif = json.loads(invoke("many.urdf", *rule, "--format", "sarif").stdout)

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
