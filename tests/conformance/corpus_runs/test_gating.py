"""Baselines, histories, and differences between runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import Result
from lxml import html

from tests.robots import ROBOT
from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.conformance.gate import OWNER, REASON, read_baseline
from urdf_usd.reports.records.results import read_history

_EMPTY = '<robot name="nothing"/>'
_CONVERTER = """
import pathlib, sys
from urdf_usd.converter import convert

urdf, out = map(pathlib.Path, sys.argv[1:])
changed = pathlib.Path("changed.urdf")
changed.write_text(urdf.read_text().replace('value="2.75"', 'value="{mass}"'))
convert(changed, out)
"""


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Result]]:
    """Runs of three versions of a converter, the second of which doubles a mass."""
    folder, results = tmp_path_factory.mktemp("versions"), []
    program, known = folder / "converter.py", ("--baseline", folder / "known.toml")
    for number, mass in enumerate(("2.75", "5.5", "2.75"), 1):
        program.write_text(_CONVERTER.format(mass=mass))
        result = urdf_usd(
            *("run", "suite:inertial/mass", "--out", folder / str(number), "--engine", "mujoco"),
            *("--converter", f"new={sys.executable} {program} {{urdf}} {{out}}"),
            *("--converter-version", f"new=0.{number}", *known),
            *("--history", folder / "runs", "--label", f"commit {number}"),
            *(() if number > 1 else ("--update-baseline",)),
        )
        results.append(result)
    return folder, results


def test_gate_fails_on_a_regression(versions: tuple[Path, list[Result]]) -> None:
    folder, results = versions

    assert [result.exit_code for result in results] == [0, 1, 0], results[0].output
    gate = results[1].stdout.partition(f"Gate against {folder / 'known.toml'}: ")[2]
    assert "0 worse, 0 expected" in gate
    assert "inertial--mass mass.link.mass: fails, not expected: link tip: " in gate
    worse, better = (urdf_usd("diff", folder / a, folder / b) for a, b in ("12", "23"))
    assert (worse.exit_code, better.exit_code) == (1, 0)
    assert "inertial--mass case: pass → fail (link tip: mass is 5.5 kg" in worse.stdout
    assert "inertial--mass mass.link.mass: exact → fails" in worse.stdout


def test_history_has_the_regression(versions: tuple[Path, list[Result]]) -> None:
    folder, _ = versions
    entries = read_history(folder / "runs")
    robots = [entry.robots[0] for entry in entries]

    assert [entry.label for entry in entries] == [f"commit {number}" for number in (1, 2, 3)]
    assert [robot.verdict for robot in robots] == ["exact", "fails", "exact"]
    assert [robot.case for robot in robots] == ["pass", "fail", "pass"]
    assert [entry.suite[0].must.passed for entry in entries] == [1, 0, 1]
    worst = [robot.worst["mass.link.mass"] for robot in robots]
    assert worst == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
    page = html.parse(folder / "3" / "history.html")
    signs = page.xpath("//table[@id='robot-courses']//td[@data-label='verdicts']/span/@title")
    assert signs == ["run 1: exact", "run 2: fails", "run 3: exact"]


@pytest.fixture
def robots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A robot that conforms, in a folder of the working folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "robots"
    folder.mkdir()
    (folder / "arm.urdf").write_text(ROBOT)
    return folder


def _run(out: str, *arguments: str) -> Result:
    engine = ("--engine", "mujoco", "--jobs", "1")
    return urdf_usd("run", "dir:robots", "--out", out, *engine, *arguments)


def test_baseline_entry_is_added_explained_and_removed(robots: Path) -> None:
    (robots / "nothing.urdf").write_text(_EMPTY)
    known, options = Path("known.toml"), ("--baseline", "known.toml")
    assert _run("a").exit_code == 0
    missing = _run("a", *options)
    assert missing.exit_code == 2
    assert "known.toml: No such file" in missing.stderr

    written = _run("a", *options, "--update-baseline")

    assert written.exit_code == 0
    assert "known.toml: 1 new entry needs a reason and an owner" in written.stderr
    (expectation,) = read_baseline(known).expectations
    assert expectation.place == ("dir--nothing", "verdict", "urdf-usd")
    again = _run("a", *options)
    assert again.exit_code == 0
    assert "known.toml:4: warning: the reason of dir--nothing" in again.stderr
    known.write_text(known.read_text().replace(REASON, "a placeholder").replace(OWNER, "ada"))
    (robots / "nothing.urdf").write_text(ROBOT)
    outgrown = _run("a", *options)
    assert outgrown.exit_code == 0
    assert "✓ dir--nothing verdict: passes now" in outgrown.stdout
    assert _run("a", *options, "--update-baseline").exit_code == 0
    assert read_baseline(known).expectations == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--baseline", "known.toml"), "known.toml:1: Object missing required field `check`"),
        (("--update-baseline",), "--baseline FILE"),
    ],
)
@pytest.mark.usefixtures("robots")
def test_invalid_baseline_is_refused_before_the_run(options: tuple[str, ...], message: str) -> None:
    Path("known.toml").write_text("[[expected]]\nrobot = 'a'\n")

    result = _run("out", *options)

    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("out").exists()


def test_diff_names_what_changed(robots: Path) -> None:
    _run("a")
    heavy = ROBOT.replace('upper="2"', 'upper="0.9"').replace('mass value="2"', 'mass value="3"')
    (robots / "arm.urdf").write_text(heavy)
    _run("b")

    text, document, same, refused = (
        urdf_usd("diff", "a", *words)
        for words in (["b"], ["b", "--format", "json"], ["a"], ["robots"])
    )

    assert text.stdout.splitlines() == [
        "2 robot value, 1 other files",
        "· robot value: dir--arm: 2 → 3 (link a mass)",
        "· robot value: dir--arm: 2 → 0.9 (joint j upper)",
        "· other files: dir--arm (robots/arm.urdf)",
    ]
    assert document.exit_code == 0
    assert json.loads(document.stdout)["worse"] is False
    assert same.stdout == "nothing changed\n"
    assert refused.exit_code == 2
    assert "robots holds no summary.json" in refused.stderr


def test_run_is_compared_with_the_one_it_replaces(robots: Path) -> None:
    """It is read before the folder is emptied; the exit status is unchanged."""
    _run("out")
    (robots / "arm.urdf").rename(robots / "leg.urdf")

    result = _run("out", "--compare", "out", "--fail-on", "close")

    assert result.exit_code == 0
    assert "Gate: 0 new, 0 worse, 0 expected" in result.stdout
    assert "Since out: 1 removed, 1 added" in result.stdout
    former = json.loads(Path("out/summary.json").read_bytes())["former"]
    changes = {(one["kind"], one["subject"]) for one in former["changes"]}
    assert changes == {("removed", "dir--arm"), ("added", "dir--leg")}
    assert _run("out", "--compare", "robots").exit_code == 2
    assert Path("out/index.html").is_file()
