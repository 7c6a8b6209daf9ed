"""Comparison of converters in one run and report, on cases of the feature suite."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from lxml import html

from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.converter import convert
from urdf_usd.corpus import RobotSource, resolve_corpora

MASS, HYPHEN = "suite:inertial/mass", "suite:names/hyphen"
CASES = (
    MASS,
    HYPHEN,
    "suite:inertial/negative-mass",
    "suite:frames/yaw",
    "suite:structure/two-roots",
)
(YAW,) = resolve_corpora(["suite:frames/yaw"])
SUITE = YAW.id.removesuffix("frames--yaw")
# It doubles a mass, makes a negative one positive, drops the second tree, refuses a
# name and exceeds no limit otherwise.
WRONG = """
import pathlib, sys
from urdf_usd.converter import convert

urdf, out = map(pathlib.Path, sys.argv[1:])
text = urdf.read_text()
print("converting", urdf)
if "left-arm" in text:
    sys.exit("cannot read hyphens")
text = text.replace('value="2.75"', 'value="5.5"').replace('value="-1.5"', 'value="1"')
before, other, after = text.partition('<link name="other">')
text = before + after.partition("</link>")[2] if other else text
changed = pathlib.Path("changed.urdf")
changed.write_text(text)
convert(changed, out / "inner")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converter that errs, and one USD that was made elsewhere."""
    folder = tmp_path_factory.mktemp("comparing")
    (folder / "wrong.py").write_text(WRONG)
    assert isinstance(YAW, RobotSource)
    convert(YAW.path, folder / "ready" / "yaw")
    return folder


def _run(project: Path, out: str, cases: tuple[str, ...], *words: str) -> Result:
    wrong = f"wrong={sys.executable} {project / 'wrong.py'} {{urdf}} {{out}}"
    converters = ("urdf-usd", wrong, f"made=folder:{project / 'ready'}")
    return urdf_usd(
        *("run", *cases, "--out", project / out, "--engine", "mujoco", "--jobs", "2"),
        *(word for converter in converters for word in ("--converter", converter)),
        *("--converter-version", "wrong=wrong 0.1", *words),
    )


@pytest.fixture(scope="module")
def report(project: Path) -> Path:
    done = _run(project, "report", CASES)
    assert done.exit_code == 0, done.output
    return project / "report"


def _records(report: Path, converter: str) -> dict[str, dict[str, Any]]:
    """Read the records of a converter by case."""
    files = (report / "results" / converter).glob("*.json")
    records = map(json.loads, (file.read_text() for file in files))
    return {record["case"]["name"]: record for record in records}


def test_cases_pass_or_fail_by_what_each_converter_wrote(report: Path) -> None:
    records = {one: _records(report, one) for one in ("urdf-usd", "wrong", "made")}
    outcomes = {
        converter: {name: one["case"]["outcome"] for name, one in of_converter.items()}
        for converter, of_converter in records.items()
    }
    refused, wrong = "refused as expected", records["wrong"]

    assert outcomes["urdf-usd"] == {
        **dict.fromkeys(("hyphen", "mass", "yaw"), "pass"),
        **dict.fromkeys(("negative-mass", "two-roots"), refused),
    }
    assert outcomes["wrong"] == {
        **dict.fromkeys(("mass", "negative-mass", "two-roots"), "fail"),
        "hyphen": "refused wrongly",
        "yaw": "pass",
    }
    assert outcomes["made"]["yaw"] == "pass"
    assert wrong["mass"]["case"]["reason"] == "link tip: mass is 5.5 kg, not 2.75 kg"
    accepted = "a USD was written of a file that must be refused"
    assert {wrong[name]["case"]["reason"] for name in ("negative-mass", "two-roots")} == {accepted}
    assert "cannot read hyphens" in wrong["hyphen"]["case"]["reason"]


def test_records_have_findings_converter_and_its_output(report: Path) -> None:
    wrong, made = _records(report, "wrong"), _records(report, "made")
    mass, refused = wrong["mass"], wrong["hyphen"]

    failing = {check["id"] for check in mass["checks"] if check["grade"] == "fails"}
    assert "mass.link.mass" in failing
    assert not {check for check in failing if check.startswith(("structure", "kinematics"))}
    assert (mass["candidate"], mass["converter"]) == ("wrong", "wrong 0.1")
    assert mass["output"] == "converting mass.urdf"
    assert mass["asset"]["root_layer"] == "inner/mass.usda"
    assert mass["asset"]["files"] >= 1
    assert mass["asset"]["size"] > 0
    assert refused["verdict"] == "not comparable"
    assert refused["reason"] == "no USD was written: exit code 1: cannot read hyphens"
    assert made["mass"]["verdict"] == "not comparable"
    assert f"has no USD named '{SUITE}inertial--mass' or 'mass'" in made["mass"]["reason"]


def test_summary_and_pages_have_all_converters(report: Path) -> None:
    summary = json.loads((report / "summary.json").read_text())
    index, suite = (html.parse(report / name) for name in ("index.html", "suite.html"))

    rows = {one["name"]: (one["title"], one["gated"]) for one in summary["converters"]}
    assert rows.pop("urdf-usd")[1]
    assert rows == {"wrong": ("wrong 0.1", False), "made": ("made elsewhere", False)}
    assert summary["verdicts"] == {"exact": 3, "unreadable": 2}
    assert len(summary["robots"]) == 3 * len(CASES)
    assert str(Path(sys.executable).parent) not in json.dumps(summary)
    links = {link for page in (index, suite) for link in page.xpath("//a/@href")}
    assert {
        "suite.html",
        "converters/wrong/index.html",
        f"suite/{SUITE}names--hyphen.urdf",
    } <= links
    for link in links:
        assert (report / link.partition("#")[0]).exists(), link


def test_times_are_not_in_records(report: Path) -> None:
    times = {
        f"{file.parent.name} {file.stem.rpartition('--')[2]}": json.loads(file.read_text())
        for file in (report / "timings").rglob("*.json")
    }

    assert times.keys() == {
        *(f"urdf-usd {name}" for name in ("mass", "hyphen", "yaw")),
        *(f"wrong {name}" for name in ("mass", "negative-mass", "two-roots", "yaw")),
    }
    assert all(set(one) == {"seconds"} and one["seconds"] > 0 for one in times.values())
    assert "seconds" not in json.dumps(_records(report, "wrong")["mass"])


def test_another_converter_can_be_gated(project: Path) -> None:
    gated = _run(project, "gated", (MASS,), "--gate", "wrong")
    unknown = _run(project, "unknown", (MASS,), "--gate", "unregistered")

    assert gated.exit_code == 1
    assert "The exit status is that of wrong;" in gated.output
    assert unknown.exit_code == 2
    assert "choose from urdf-usd, wrong, made" in unknown.output
    assert not (project / "unknown").exists()


def test_baseline_entries_apply_to_one_converter(project: Path) -> None:
    out, entries = project / "known", ""
    for robot, check, grade in (
        ("inertial--mass", "mass.link.mass", "fails"),
        ("names--hyphen", "verdict", "not comparable"),
    ):
        entries += (
            f'[[expected]]\nconverter = "wrong"\nrobot = "{SUITE}{robot}"\ncheck = "{check}"\n'
            f'grade = "{grade}"\nreason = "it doubles"\nowner = "ada"\n'
        )
    (project / "known.toml").write_text(entries)

    result = _run(project, "known", (MASS, HYPHEN), "--baseline", str(project / "known.toml"))

    assert result.exit_code == 0, result.output
    summary = json.loads((out / "summary.json").read_text())
    expected = {
        one["name"]: one["baseline"] and len(one["baseline"]["expected"])
        for one in summary["converters"]
    }
    assert expected == {"urdf-usd": 0, "wrong": 2, "made": None}
    excused = html.parse(out / "junit.xml").xpath(
        "//testcase[skipped[contains(@message, 'it doubles')]]/@classname"
    )
    assert excused == [f"wrong/{SUITE}inertial--mass", f"wrong/{SUITE}names--hyphen"]
    pages = {page.parent.name: page.read_text() for page in out.glob("converters/*/index.html")}
    assert [name for name, text in pages.items() if "it doubles" in text] == ["wrong"]


def test_comparison_can_be_resumed(project: Path, report: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (report / "assets").rglob("*.usda")}

    again = _run(project, "report", CASES, "--resume")

    assert again.exit_code == 0, again.output
    assert before
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert urdf_usd("diff", report, report).output == "nothing changed\n"
    assert (report / "suite.html").is_file()
