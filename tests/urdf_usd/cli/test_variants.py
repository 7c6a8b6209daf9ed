"""Checks, exports and runs of USDs with variants, by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from pxr import Usd

from tests.conformance.direct import examine_pair_here
from tests.urdf_usd.cli.command import DATA, urdf_usd
from urdf_usd.converter import convert
from urdf_usd.converter.options import VariantChoice
from urdf_usd.reports.records.record import RobotRecord

# Not symmetric, so that masses and frames of links differ.
_URDF = (DATA / "pair.urdf").read_text("utf-8")
_HEAD = (DATA / "head.usda").read_text("utf-8")
# The variant "full" adds the robot by a payload; its variant set "load" changes a mass.
_VARIANTS = (DATA / "variants.usda").read_text("utf-8")


@pytest.fixture
def usd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A USD whose variants have no selection; its folder is the working folder."""
    monkeypatch.chdir(tmp_path)
    for name, mass in (("light", 1.5), ("heavy", 3.5)):
        Path(f"{name}.urdf").write_text(_URDF.format(mass=mass))
    made = Usd.Stage.Open(str(convert("light.urdf", "made").root_layer))
    # Without the variant sets of our converter.
    Path("asset").mkdir()
    made.Flatten().Export("asset/pair.usda")
    path = Path("robot.usda")
    path.write_text(_HEAD + _VARIANTS.format(selection=""))
    return path


def check(urdf: str, usd: Path, *options: str) -> Result:
    return urdf_usd("check", urdf, usd, "--engine", "mujoco", *options)


def compare(urdf: str, usd: Path, *texts: str) -> RobotRecord:
    return examine_pair_here(Path(urdf), usd, tuple(map(VariantChoice.parse, texts)))


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("load", ["light", "heavy"])
def test_engines_and_round_trip_read_the_selected_variants(usd: Path, load: str) -> None:
    before = usd.read_bytes()
    other = {"light": "heavy", "heavy": "light"}[load]

    same = compare(f"{load}.urdf", usd, f"load={load}", "model=full")
    wrong = compare(f"{other}.urdf", usd, f"load={load}", "model=full")

    assert same.verdict == "exact", same.reason
    assert same.variants == {"/pair:model": "full", "/pair:load": load}
    grades = {one.id: one.grade for one in wrong.checks}
    assert grades["mass.link.mass"] == "fails"
    assert grades["round-trip.mass.link.mass"] == "fails"
    assert grades["structure.joints"] == "exact"
    assert usd.read_bytes() == before


def test_report_and_record_name_the_selection(usd: Path) -> None:
    chosen = "--variant", "model=full", "--variant", "load=heavy"
    files = "--json", "record.json", "--html", "page.html"

    result = check("heavy.urdf", usd, *chosen, *files)

    assert result.exit_code == 0, result.output
    record = json.loads(Path("record.json").read_text())
    assert record["variants"] == {"/pair:model": "full", "/pair:load": "heavy"}
    selection = "/pair:model=full, /pair:load=heavy"
    assert selection in words(result.stdout)
    page = Path("page.html").read_text()
    assert selection in page
    assert " ".join(chosen) in page


def test_missing_selection_is_the_cause_instead_of_missing_joints(usd: Path) -> None:
    result = check("light.urdf", usd, "--json", "record.json")

    assert result.exit_code == 2, result.output
    record = json.loads(Path("record.json").read_text())
    assert record["verdict"] == "not comparable"
    assert record["reason"] == (
        "variant set /pair:model (empty, full) has no selection: "
        "--variant /pair:model=NAME selects one"
    )
    assert record["checks"] == []
    assert "joint" not in words(result.output)
    assert "[variant-required]" in words(result.stderr)
    assert "Remedy: select a variant with --variant" in words(result.stdout)


def test_missing_selection_is_named_if_it_matters(usd: Path) -> None:
    failing, exact = (compare(f"{load}.urdf", usd, "model=full") for load in ("heavy", "light"))

    assert failing.verdict == "fails"
    assert failing.reason.startswith("variant set /pair:load (heavy, light) has no selection: ")
    assert "mass" in failing.reason
    assert exact.verdict == "exact"
    (warning,) = exact.diagnostics
    assert (warning.rule, warning.severity) == ("variant-unselected", "warning")


@pytest.mark.parametrize("text", ["model=ful", "modell=full"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "light.urdf", "robot.usda"),
        ("check", "light.urdf", "robot.usda", "--all-variants"),
        ("export", "robot.usda", "out.urdf"),
        ("inspect", "robot.usda"),
    ],
)
def test_selection_that_does_not_exist_is_an_error(
    usd: Path, arguments: tuple[str, ...], text: str
) -> None:
    result = urdf_usd(*arguments, "--variant", text)

    assert result.exit_code == 2, result.output
    assert "'full'" in result.stderr or "(empty, full)" in result.stderr
    assert "[variant-unknown]" in result.stderr
    assert not Path("out.urdf").exists()
    del usd


def test_all_variants_are_checked_each(usd: Path) -> None:
    result = check("light.urdf", usd, "--all-variants", "--json", "record.json")

    assert result.exit_code == 1, result.output
    records = [json.loads(Path(f"record-{n}.json").read_text()) for n in (1, 2, 3)]
    assert not Path("record.json").exists()
    assert [(record["variants"], record["verdict"]) for record in records] == [
        ({"/pair:model": "empty"}, "not comparable"),
        ({"/pair:model": "full", "/pair:load": "heavy"}, "fails"),
        ({"/pair:model": "full", "/pair:load": "light"}, "exact"),
    ]
    shown = words(result.stdout)
    assert "✗ fails /pair:model=full, /pair:load=heavy" in shown
    assert "✓ exact /pair:model=full, /pair:load=light" in shown
    chosen = check(
        "light.urdf", usd, "--all-variants", "--variant", "model=full", "--variant", "load=light"
    )
    assert chosen.exit_code == 0, chosen.output


@pytest.mark.parametrize("load", ["light", "heavy"])
def test_export_and_inspect_read_the_selected_variants(usd: Path, load: str) -> None:
    chosen = "--variant", "model=full", "--variant", f"load={load}"

    exported = urdf_usd("export", usd, "out.urdf", *chosen)
    inspected = urdf_usd("inspect", usd, *chosen, "--format", "json")

    mass = {"light": 1.5, "heavy": 3.5}[load]
    assert exported.exit_code == 0, exported.output
    assert f'<mass value="{mass}"' in Path("out.urdf").read_text()
    links = {link["name"]: link for link in json.loads(inspected.stdout)["links"]}
    assert links["b"]["mass"] == pytest.approx(mass, rel=1e-7)


def test_inspect_of_a_usd_shows_its_robot(usd: Path) -> None:
    of_urdf = urdf_usd("inspect", "light.urdf")

    of_usd = urdf_usd("inspect", "asset/pair.usda")

    assert of_usd.exit_code == 0, of_usd.output
    assert "hinge" in of_usd.stdout
    totals = of_urdf.stdout.index("links  ")
    assert of_usd.stdout.endswith(of_urdf.stdout[totals:])
    del usd


def test_run_selects_variants_in_usds_of_other_converters(usd: Path) -> None:
    usds = Path("usds")
    usds.mkdir()
    for name in ("light", "heavy"):
        usd.write_text(_HEAD + _VARIANTS.format(selection='string load = "light"'))
        text = usd.read_text().replace("./asset", "../asset")
        (usds / f"{name}.usda").write_text(text)
    convert("light.urdf", "plain")
    (usds / "light.usda").write_text(
        _HEAD + 'def Xform "pair" (references = @../plain/pair.usda@) {}\n'
    )

    result = urdf_usd(
        "run", "light.urdf", "heavy.urdf", "--converter", "x=folder:usds",
        "--variant", "model=full", "--variant", "load=heavy", "--engine", "mujoco",
        "--jobs", "1", "--out", "report",
    )  # fmt: skip

    records = {
        path.stem: json.loads(path.read_text()) for path in Path("report/results").glob("*.json")
    }
    assert result.exit_code == 0, result.output
    heavy = next(r for name, r in records.items() if "heavy" in name)
    light = next(r for name, r in records.items() if "light" in name)
    assert heavy["variants"] == {"/pair:model": "full", "/pair:load": "heavy"}
    assert (heavy["verdict"], light["verdict"]) == ("exact", "exact")
    assert light["variants"] == {}
    assert "variant-absent" in {one["rule"] for one in light["diagnostics"]}
    summary = json.loads(Path("report/summary.json").read_text())
    assert summary["options"]["variant"] == "model=full load=heavy"


def test_export_and_inspect_name_the_set_without_selection(usd: Path) -> None:
    for arguments in (("export", usd, "out.urdf"), ("inspect", usd)):
        result = urdf_usd(*arguments)

        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert "variant set /pair:model (empty, full) has no selection" in line
        assert line.endswith("[variant-required]")
    assert not Path("out.urdf").exists()
