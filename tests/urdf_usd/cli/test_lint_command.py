"""``urdf-usd lint``: formats, selection, repairs, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from urdf_usd.cli.main import main
from urdf_usd.converter.diagnostics.rules import ALL_RULES, LINT_RULES
from urdf_usd.converter.lint.fixes import FIXES

DOCS = Path(__file__).parents[3] / "docs"
# One error (line 3), one warning (line 6) and one note (line 2).
ROBOT = """\
<robot name="r">
  <material name="spare"><color rgba="1 0 0 1"/></material>
  <link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="1"/></geometry>
    <material name="m"><color rgba="1 0 0 0"/></material></visual></link>
</robot>
"""
SOUND = '<robot name="r"><link name="a"/></robot>'
REPAIRABLE = """\
<robot name="r">
  <!-- a comment -->
  <material name="spare"/>
  <link name="a"><visual><geometry><sphere radius="0.1,"/></geometry></visual></link>
</robot>
"""


def invoke(*arguments: object) -> Result:
    """Run ``urdf-usd lint``."""
    return CliRunner().invoke(main, ["lint", *map(str, arguments)])


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a robot with findings into the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my robot.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    return path


def test_findings_are_lines_with_places_rules_and_remedies(robot: Path) -> None:
    """Paths are relative to the working folder; no colours in a pipe."""
    result = invoke(robot)

    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "my robot.urdf:2:3: note: material 'spare' is used by no visual [material-unused]"
    )
    assert lines[1] == "    Remove the material."
    assert lines[2].startswith("my robot.urdf:3:18: error: link 'a' has principal")
    assert lines[4].startswith("my robot.urdf:6:24: warning: rgba 1 0 0 0")
    assert lines[-1] == "1 error, 1 warning, 1 note in 1 file"
    assert "\x1b" not in result.stdout


def test_remedy_is_shown_once_per_rule(robot: Path) -> None:
    """For any number of findings."""
    twice = '<material name="spare"/><material name="other"/>'
    robot.write_text(SOUND.replace("<link", f"{twice}<link"), encoding="utf-8")

    output = invoke(robot).stdout

    assert output.count("[material-unused]") == 2
    assert output.count("Remove the material.") == 1


@pytest.mark.parametrize(
    ("fail_on", "rules", "code"),
    [
        ("error", "inertia-triangle", 1),
        ("error", "color-invisible", 0),
        ("warning", "color-invisible", 1),
        ("warning", "material-unused", 0),
        ("note", "material-unused", 1),
        ("note", "density-high", 0),
    ],
)
def test_exit_code_follows_the_most_severe_finding(
    robot: Path, fail_on: str, rules: str, code: int
) -> None:
    """Of the selected rules."""
    result = invoke(robot, "--fail-on", fail_on, "--select", rules)

    assert result.exit_code == code


def test_file_without_findings_is_reported(robot: Path) -> None:
    """With exit code 0."""
    robot.write_text(SOUND, encoding="utf-8")

    result = invoke(robot)

    assert (result.exit_code, result.stdout) == (0, "no findings in 1 file\n")


@pytest.mark.parametrize("text", ["", "no XML", "<sdf/>"])
def test_file_that_is_not_urdf_ends_with_2(robot: Path, text: str) -> None:
    """And with the reason."""
    robot.write_text(text, encoding="utf-8")

    result = invoke(robot)

    assert result.exit_code == 2
    assert "my robot.urdf:1:" in result.stdout


def test_refused_robot_is_linted(robot: Path) -> None:
    """A loop is a finding."""
    robot.write_text(SOUND.replace("/></robot>", '/><link name="b"/></robot>'))

    result = invoke(robot)

    assert result.exit_code == 1
    assert "[tree-roots]" in result.stdout


def test_rules_are_selected_and_ignored_by_pattern(robot: Path) -> None:
    """Separated by commas, or by repeated options."""
    chosen = invoke(robot, "--select", "material-*,inertia-*", "--ignore", "*-triangle")

    assert re.findall(r"\[(.*)\]", chosen.stdout) == ["material-unused"]


def test_unknown_rule_suggests_similar_ones(robot: Path) -> None:
    """As a usage error."""
    result = invoke(robot, "--select", "inertia-triangel")

    assert result.exit_code == 2
    assert "did you mean inertia-triangle" in result.stderr


def test_all_rules_are_listed() -> None:
    """With those that --fix repairs."""
    result = invoke("--list-rules")

    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == sorted(ALL_RULES)
    assert {row[0] for row in rows if row[1] == "fix"} == set(FIXES)


def test_json_has_every_finding(robot: Path) -> None:
    """With counts by severity."""
    document = json.loads(invoke(robot, "--format", "json").stdout)

    assert document["counts"] == {"error": 1, "warning": 1, "note": 1}
    (file,) = document["files"]
    assert file["file"] == "my robot.urdf"
    assert file["is_urdf"] is True
    assert file["findings"][0] == {
        "rule": "material-unused",
        "severity": "note",
        "message": "material 'spare' is used by no visual",
        "remedy": "Remove the material.",
        "file": "my robot.urdf",
        "line": 2,
        "column": 3,
        "count": 1,
    }


def sarif_of(*arguments: object) -> dict[str, Any]:
    """Return what ``--format sarif`` writes."""
    document = json.loads(invoke(*arguments, "--format", "sarif").stdout)
    assert isinstance(document, dict)
    return document


def test_sarif_has_the_required_structure(robot: Path) -> None:
    """By the clauses of SARIF 2.1.0 that apply to this output."""
    document = sarif_of(robot)

    assert document["version"] == "2.1.0"  # 3.13.2
    assert document["$schema"].endswith("sarif-schema-2.1.0.json")  # 3.13.3
    (run,) = document["runs"]
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}  # 3.14.17
    driver = run["tool"]["driver"]
    assert driver["name"]  # 3.19.8
    identifiers = [rule["id"] for rule in driver["rules"]]
    assert len(set(identifiers)) == len(identifiers)  # 3.49.3
    for rule in driver["rules"]:
        assert set(rule) == {"id", "shortDescription", "help", "defaultConfiguration"}
        assert rule["shortDescription"]["text"]  # 3.49.9
        assert rule["help"]["text"]  # 3.49.13
        level = rule["defaultConfiguration"]["level"]  # 3.50.3
        assert level in {"none", "note", "warning", "error"}
    assert len(run["results"]) == 3
    for result in run["results"]:
        assert identifiers[result["ruleIndex"]] == result["ruleId"]  # 3.27.6
        assert result["level"] in {"none", "note", "warning", "error"}  # 3.27.10
        assert result["message"]["text"]  # 3.27.11
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "my%20robot.urdf"  # 3.4.3
        assert physical["region"]["startLine"] >= 1  # 3.30.5
        assert physical["region"]["startColumn"] >= 1  # 3.30.6


def test_sarif_regions_are_those_of_the_elements(robot: Path) -> None:
    """Line and column of each ``<``."""
    (run,) = sarif_of(robot)["runs"]

    regions = [result["locations"][0]["physicalLocation"]["region"] for result in run["results"]]
    lines = ROBOT.splitlines()
    starts = [lines[r["startLine"] - 1][r["startColumn"] - 1 :] for r in regions]
    assert [start.split()[0] for start in starts] == [
        "<material",
        "<inertial><mass",
        "<color",
    ]


def test_files_elsewhere_have_absolute_uris(
    robot: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SARIF resolves them without a base."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))

    (run,) = sarif_of(robot)["runs"]

    assert run["artifacts"] == [{"location": {"uri": robot.as_uri()}}]


def test_whole_folder_is_linted(robot: Path, tmp_path: Path) -> None:
    """With the counts over all files."""
    (tmp_path / "other.urdf").write_text(SOUND, encoding="utf-8")

    result = invoke(f"dir:{tmp_path}")

    assert result.exit_code == 1
    assert result.stdout.endswith("1 error, 1 warning, 1 note in 2 files\n")
    assert robot.name in result.stdout


def test_included_xacro_files_of_a_folder_are_skipped(robot: Path, tmp_path: Path) -> None:
    """They have no links of their own, which is not an error."""
    robot.write_text(SOUND, encoding="utf-8")
    (tmp_path / "part.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"/>', encoding="utf-8"
    )

    result = invoke(f"dir:{tmp_path}")

    assert result.exit_code == 0
    assert "part.xacro: skipped, only part of a robot" in result.stderr
    assert invoke(tmp_path / "part.xacro").exit_code != 0


def test_fix_writes_another_file_and_lists_repairs(robot: Path, tmp_path: Path) -> None:
    """The remaining findings are those of the new file."""
    robot.write_text(REPAIRABLE, encoding="utf-8")

    result = invoke(robot, "--fix", "--output", tmp_path / "new.urdf")

    assert result.exit_code == 0
    assert result.stdout == "no findings in 1 file\n"
    assert result.stderr.splitlines() == [
        "my robot.urdf:3:3: removed material 'spare' [material-unused]",
        "my robot.urdf:4:36: radius set to '0.1', was '0.1,' [number-punctuation]",
        "2 repairs; written to new.urdf",
    ]
    lines = REPAIRABLE.splitlines()
    expected = [lines[0], lines[1], lines[3].replace("0.1,", "0.1"), lines[4]]
    assert (tmp_path / "new.urdf").read_text().splitlines() == expected
    assert robot.read_text() == REPAIRABLE


def test_fix_in_place_replaces_the_file(robot: Path) -> None:
    """With --in-place only."""
    robot.write_text(REPAIRABLE, encoding="utf-8")

    result = invoke(robot, "--fix", "--in-place", "--ignore", "material-unused")

    assert result.stderr.splitlines()[1:] == ["1 repair; written to my robot.urdf"]
    assert robot.read_text() == REPAIRABLE.replace("0.1,", "0.1")


@pytest.mark.parametrize(
    "options",
    [
        ["--fix"],
        ["--fix", "--in-place", "--output", "new.urdf"],
        ["--output", "new.urdf"],
        ["--in-place"],
        ["other.urdf", "--fix", "--in-place"],
        [f"dir:{'.'}", "--fix", "--in-place"],
    ],
)
def test_ambiguous_fix_options_are_refused(robot: Path, options: list[str]) -> None:
    """Nothing is written."""
    result = invoke(robot, *options)

    assert result.exit_code == 2
    assert robot.read_text() == ROBOT


@pytest.mark.parametrize("text", ["<robot", "<sdf/>", '<robot name="r"><link name="a"/>'])
def test_malformed_xml_is_not_fixed(robot: Path, text: str) -> None:
    """Even if the reader can repair it."""
    robot.write_text(text, encoding="utf-8")

    result = invoke(robot, "--fix", "--in-place")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert robot.read_text() == text


def test_xacro_is_not_fixed(tmp_path: Path) -> None:
    """Its expansion is not the file."""
    path = tmp_path / "robot.xacro"
    path.write_text(SOUND)

    result = invoke(path, "--fix", "--in-place")

    assert result.exit_code == 2
    assert "is a xacro file; --fix supports URDF files only" in result.stderr


def test_lint_uses_colours_on_terminals_only(robot: Path) -> None:
    """As every command does."""
    terminal = CliRunner().invoke(main, ["lint", str(robot)], color=True, env={"FORCE_COLOR": "1"})

    assert "\x1b[1;31merror:" in terminal.stdout


def test_source_is_required() -> None:
    """Except with --list-rules."""
    assert invoke().exit_code == 2


def row_of(name: str) -> str:
    """Return a rule's row in the documentation."""
    rule = LINT_RULES[name]
    fix = "yes" if name in FIXES else ""
    cells = (f"`{name}`", str(rule.severity), fix, rule.summary, rule.remedy)
    escaped = (cell.replace("<", "\\<").replace("*", "\\*") for cell in cells[3:])
    return f"| {' | '.join((*cells[:3], *escaped))} |"


def test_every_rule_is_documented() -> None:
    """Row by row; the message shows missing rows."""
    page = (DOCS / "lint.md").read_text(encoding="utf-8")
    missing = [row for row in map(row_of, LINT_RULES) if row not in page]

    assert not missing, "\n".join(["add to docs/lint.md:", *missing])


def test_many_findings_of_a_rule_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every format; a generated file may have tens of thousands."""
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
