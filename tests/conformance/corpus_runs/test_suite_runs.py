"""Runs of the feature suite, with our converter and one that errs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from lxml import html

from urdf_usd.cli.main import main

CASES = (
    "suite:inertial/mass",
    "suite:inertial/negative-mass",
    "suite:frames/yaw",
    "suite:names/hyphen",
    "suite:structure/two-roots",
)
# It doubles a mass, makes a negative one positive, drops the second tree, refuses a
# name and exceeds no limit otherwise.
WRONG = """
import pathlib, sys
from urdf_usd.converter import convert

urdf, out = map(pathlib.Path, sys.argv[1:])
text = urdf.read_text()
if "left-arm" in text:
    sys.exit("cannot read hyphens")
text = text.replace('value="2.75"', 'value="5.5"').replace('value="-1.5"', 'value="1"')
before, other, after = text.partition('<link name="other">')
text = before + after.partition("</link>")[2] if other else text
changed = pathlib.Path("changed.urdf")
changed.write_text(text)
convert(changed, out)
"""


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["run", *map(str, arguments)])


def _outcomes(folder: Path) -> dict[str, tuple[str, str]]:
    found = {}
    for file in sorted(folder.glob("*.json")):
        case: dict[str, Any] = json.loads(file.read_text())["case"]
        found[case["name"]] = case["outcome"], case["reason"]
    return found


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """Two converters on five cases."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "wrong.py").write_text(WRONG)
    wrong = f"wrong={sys.executable} {folder / 'wrong.py'} {{urdf}} {{out}}"
    converters = ("--converter", "urdf-usd", "--converter", wrong)
    done = _run(*CASES, *converters, "--jobs", 2, "--out", folder / "report")
    return folder / "report", done


def test_own_converter_passes(comparison: tuple[Path, Result]) -> None:
    """Cases that it must refuse are passed, and do not fail the run."""
    report, done = comparison

    assert done.exit_code == 0, done.output
    assert _outcomes(report / "results" / "urdf-usd") == {
        "hyphen": ("pass", ""),
        "mass": ("pass", ""),
        "negative-mass": ("refused as expected", ""),
        "two-roots": ("refused as expected", ""),
        "yaw": ("pass", ""),
    }


def test_wrong_converter_fails(comparison: tuple[Path, Result]) -> None:
    report, _ = comparison
    found = _outcomes(report / "results" / "wrong")
    accepted = "a USD was written of a file that must be refused"

    assert found["mass"] == ("fail", "link tip: mass is 5.5 kg, not 2.75 kg")
    assert found["negative-mass"] == ("fail", accepted)
    assert found["two-roots"] == ("fail", accepted)
    assert found["hyphen"][0] == "refused wrongly"
    assert "cannot read hyphens" in found["hyphen"][1]
    assert found["yaw"] == ("pass", "")


def test_page_has_scores_reasons_and_files(comparison: tuple[Path, Result]) -> None:
    report, _ = comparison
    index = html.fromstring((report / "index.html").read_text())
    page = html.fromstring((report / "suite.html").read_text())
    links = {link.get("href") for link in page.iter("a")}

    assert "suite.html" in {link.get("href") for link in index.iter("a")}
    assert page.findtext(".//h1") == ("urdf-usd passes 5 of 5 cases; wrong passes 1 of 5 cases")
    (row,) = page.xpath("//tr[@id='inertial-mass']")
    assert "link tip: mass is 5.5 kg, not 2.75 kg" in row.text_content()
    total = page.xpath("//table[@id='score-table']/tbody/tr")[-1].text_content()
    assert " ".join(total.split()) == "All chapters 5 of 5 1 of 5"
    files = sorted(link for link in links if link and link.startswith("suite/"))
    assert len(files) == 2 * len(CASES)
    for file in files:
        assert (report / file).is_file()
    for link in links:
        if link and not link.startswith("#"):
            assert (report / link).is_file(), link


def test_run_of_refused_cases_passes_and_is_resumed(tmp_path: Path) -> None:
    out = tmp_path / "report"
    first = _run("suite:structure/two-roots", "--out", out)
    again = _run("suite:structure/two-roots", "--out", out, "--resume")

    assert (first.exit_code, again.exit_code) == (0, 0), first.output
    assert (out / "suite.html").is_file()
