"""Comparison of converters in one run and report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from lxml import html

from urdf_usd.cli.main import main
from urdf_usd.converter import convert

LINK = """<link name="{name}"><inertial><origin xyz="0.1 -0.2 0.3"/>
<mass value="{mass}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="-0.002"/></inertial>
</link>"""
ROBOT = """<robot name="{name}">{base}{tip}
<joint name="elbow" type="revolute"><parent link="base"/><child link="tip"/>
<origin xyz="0.3 0.1 -0.2" rpy="0.4 -0.5 0.6"/><axis xyz="0.6 0 0.8"/>
<limit lower="-0.7" upper="1.1" effort="9" velocity="3"/></joint></robot>"""
# It doubles a mass, and refuses one of the robots.
WRONG = """
import pathlib, sys
from urdf_usd.converter import convert

urdf, out = map(pathlib.Path, sys.argv[1:])
text = urdf.read_text()
print("converting", urdf)
if 'name="stubborn"' in text:
    sys.exit("cannot read stubborn robots")
changed = pathlib.Path("changed.urdf")
changed.write_text(text.replace('value="0.75"', 'value="1.5"'))
convert(changed, out / "inner")
"""


def _robot(name: str) -> str:
    return ROBOT.format(
        name=name,
        base=LINK.format(name="base", mass="2.5"),
        tip=LINK.format(name="tip", mass="0.75"),
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two robots, a converter that errs, and one USD that was made elsewhere."""
    folder = tmp_path_factory.mktemp("comparing")
    robots = folder / "robots"
    robots.mkdir()
    for name in ("meek", "stubborn"):
        (robots / f"{name}.urdf").write_text(_robot(name))
    (folder / "wrong.py").write_text(WRONG)
    convert(robots / "meek.urdf", folder / "ready" / "meek")
    return folder


def _run(project: Path, *words: str, out: str = "report") -> Result:
    return CliRunner().invoke(
        main,
        [
            *("run", f"dir:{project / 'robots'}", "--out", str(project / out)),
            *("--engine", "mujoco", "--jobs", "2"),
            *("--converter", "urdf-usd"),
            *("--converter", f"wrong={_command(project)}"),
            *("--converter", f"made=folder:{project / 'ready'}"),
            *("--converter-version", "wrong=wrong 0.1", *words),
        ],
    )


def _command(project: Path) -> str:
    return f"{sys.executable} {project / 'wrong.py'} {{urdf}} {{out}}"


@pytest.fixture(scope="module")
def report(project: Path) -> tuple[Path, Result]:
    """Run all three once."""
    return project / "report", _run(project)


def _record(report: Path, converter: str, robot: str) -> dict[str, Any]:
    file = report / "results" / converter / f"dir--{robot}.json"
    read: dict[str, Any] = json.loads(file.read_text())
    return read


def test_every_converter_converts_every_robot(
    report: tuple[Path, Result],
) -> None:
    verdicts = {
        (converter, robot): _record(report[0], converter, robot)["verdict"]
        for converter in ("urdf-usd", "wrong", "made")
        for robot in ("meek", "stubborn")
    }

    assert verdicts == {
        ("urdf-usd", "meek"): "exact",
        ("urdf-usd", "stubborn"): "exact",
        ("wrong", "meek"): "fails",
        ("wrong", "stubborn"): "not comparable",
        ("made", "meek"): "exact",
        ("made", "stubborn"): "not comparable",
    }


def test_records_have_findings_converter_and_its_output(
    report: tuple[Path, Result],
) -> None:
    folder = report[0]
    wrong = _record(folder, "wrong", "meek")
    refused = _record(folder, "wrong", "stubborn")
    missing = _record(folder, "made", "stubborn")

    failing = {c["id"] for c in wrong["checks"] if c["grade"] == "fails"}
    assert "mass.link.mass" in failing
    assert not {c for c in failing if c.startswith(("structure", "kinematics"))}
    assert (wrong["candidate"], wrong["converter"]) == ("wrong", "wrong 0.1")
    assert wrong["output"] == "converting meek.urdf"
    assert wrong["asset"]["root_layer"] == "inner/meek.usda"
    assert wrong["asset"]["files"] >= 1
    assert wrong["asset"]["size"] > 0
    assert refused["reason"] == ("no USD was written: exit code 1: cannot read stubborn robots")
    assert "has no USD named 'dir--stubborn' or 'stubborn'" in missing["reason"]


def test_summary_lists_all_converters(report: tuple[Path, Result]) -> None:
    summary = json.loads((report[0] / "summary.json").read_text())

    assert [(one["title"], one["gated"], one["verdicts"]) for one in summary["converters"][1:]] == [
        ("wrong 0.1", False, {"fails": 1, "not comparable": 1}),
        ("made elsewhere", False, {"exact": 1, "not comparable": 1}),
    ]
    assert summary["verdicts"] == {"exact": 2}
    assert len(summary["robots"]) == 6
    assert str(Path(sys.executable).parent) not in json.dumps(summary)


def test_times_are_not_in_records(
    report: tuple[Path, Result],
) -> None:
    times = {
        path.relative_to(report[0] / "timings").as_posix(): json.loads(path.read_text())
        for path in (report[0] / "timings").rglob("*.json")
    }

    assert set(times) == {
        "urdf-usd/dir--meek.json",
        "urdf-usd/dir--stubborn.json",
        "wrong/dir--meek.json",
    }
    assert all(set(one) == {"seconds"} and one["seconds"] > 0 for one in times.values())
    assert "seconds" not in (report[0] / "results/wrong/dir--meek.json").read_text()


def test_page_compares_converters_and_links_to_their_pages(
    report: tuple[Path, Result],
) -> None:
    index = report[0] / "index.html"
    page = html.fromstring(index.read_text(encoding="utf-8"))
    results = {
        row.xpath("./th/a/text()")[0]: [
            " ".join(cell.text_content().split()) for cell in row.xpath("./td")
        ]
        for row in page.xpath("//table[@id='converter-results']//tr[td]")
    }
    links = [link for *_, link, _ in page.iterlinks() if "html" in link]

    assert results["urdf-usd"][0] == "2 of 2"
    assert results["wrong"][0] == "1 of 2"
    assert results["made"][0] == "1 of 2"
    assert len(page.xpath("//table[@id='results']/tbody/tr")) == 6
    assert len(links) >= 9
    for link in links:
        assert (index.parent / link.partition("#")[0]).is_file(), link


def test_another_converter_can_be_gated(project: Path) -> None:
    gated = _run(project, "--gate", "wrong", out="gated")
    unknown = _run(project, "--gate", "unregistered", out="unknown")

    assert gated.exit_code == 1
    assert "The exit status is that of wrong;" in gated.output
    assert unknown.exit_code == 2
    assert "choose from urdf-usd, wrong, made" in unknown.output
    assert not (project / "unknown").exists()


def test_baseline_entries_apply_to_one_converter(project: Path) -> None:
    known = project / "known.toml"
    entry = (
        '[[expected]]\nconverter = "wrong"\nrobot = "dir--{}"\ncheck = "{}"\n'
        'grade = "{}"\nreason = "it doubles"\nowner = "ada"\n'
    )
    known.write_text(
        entry.format("meek", "mass.link.mass", "fails")
        + entry.format("stubborn", "verdict", "not comparable")
    )

    result = _run(project, "--baseline", str(known), out="known")

    assert result.exit_code == 0, result.output
    summary = json.loads((project / "known" / "summary.json").read_text())
    against = {
        one["name"]: one["baseline"] and len(one["baseline"]["expected"])
        for one in summary["converters"]
    }
    assert against == {"urdf-usd": 0, "wrong": 2, "made": None}
    junit = html.parse(project / "known" / "junit.xml")
    excused = junit.xpath("//testcase[skipped[contains(@message, 'it doubles')]]")
    assert {(one.get("classname"), one.get("name")) for one in excused} == {
        ("wrong/dir--meek", "mass.link.mass"),
        ("wrong/dir--stubborn", "conversion"),
    }
    pages = {
        name: "it doubles" in (project / "known" / name).read_text(encoding="utf-8")
        for name in (
            "converters/wrong/index.html",
            "converters/urdf-usd/index.html",
            "converters/made/index.html",
        )
    }
    assert list(pages.values()) == [True, False, False]


def test_comparison_can_be_resumed(project: Path, report: tuple[Path, Result]) -> None:
    before = {
        path: path.stat().st_mtime_ns for path in sorted((report[0] / "assets").rglob("*.usda"))
    }
    assert before
    again = _run(project, "--resume")
    after = {path: path.stat().st_mtime_ns for path in before}
    changed = CliRunner().invoke(main, ["diff", str(report[0]), str(report[0])])

    assert again.exit_code == 0, again.output
    assert after == before
    assert changed.output == "nothing changed\n"
