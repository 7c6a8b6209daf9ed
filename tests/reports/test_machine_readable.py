"""Machine-readable output: SARIF, the badge, and the schema of records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from lxml import etree
from msgspec import structs

from tests.reports import samples
from urdf_usd.conformance.execution.run import check
from urdf_usd.converter import convert
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports.badge import write_badge
from urdf_usd.reports.records.history import (
    HistoryEntry,
    append_entry,
    read_history,
)
from urdf_usd.reports.records.record import (
    BaselineRecord,
    DiagnosticRecord,
    FileRecord,
    KnownFailureRecord,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.records.schema import record_schema, write_schemas
from urdf_usd.reports.sarif import write_sarif
from urdf_usd.reports.summary import headline

_PUBLISHED = Path(__file__).parents[2] / "docs" / "schema"
_SVG = "{http://www.w3.org/2000/svg}"


def _sarif(robots: tuple[RobotRecord, ...], folder: Path) -> dict[str, Any]:
    path = folder / "findings.sarif"
    write_sarif(robots, path)
    (run,) = json.loads(path.read_text("utf-8"))["runs"]
    assert isinstance(run, dict)
    return run


def _diagnosed(*found: DiagnosticRecord) -> RobotRecord:
    return structs.replace(samples.corpus()[0], id="arm", diagnostics=found)


def test_every_diagnostic_is_a_sarif_result(tmp_path: Path) -> None:
    """With severity and location; each robot has a base id for its files."""
    robot = _diagnosed(
        DiagnosticRecord(
            rule="number-stray",
            severity="warning",
            message="stray comma",
            file="urdf/arm one.urdf",
            line=7,
            column=12,
        ),
        DiagnosticRecord(rule="name-missing", severity="info", message="no name"),
    )
    run = _sarif((robot,), tmp_path)
    first, second = run["results"]
    assert (first["ruleId"], first["level"]) == ("number-stray", "warning")
    assert (second["level"], "locations" in second) == ("note", False)
    (location,) = first["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {
        "uri": "urdf/arm%20one.urdf",
        "uriBaseId": "arm",
    }
    assert physical["region"] == {"startLine": 7, "startColumn": 12}
    rules = run["tool"]["driver"]["rules"]
    assert rules[first["ruleIndex"]]["id"] == "number-stray"
    assert list(run["originalUriBaseIds"]) == ["arm"]


def test_sarif_includes_lint_findings_and_remedies(tmp_path: Path) -> None:
    """Rules have their remedy as help text."""
    robot = structs.replace(
        _diagnosed(DiagnosticRecord(rule="name-missing", severity="error", message="no name")),
        lint=(
            DiagnosticRecord(
                rule="joint-limit-degrees",
                severity="warning",
                message="joint 'elbow' turns by 90",
                remedy="Write radians.",
            ),
        ),
        environment={"urdf-usd-conformance": "1.2.3"},
    )
    run = _sarif((robot,), tmp_path)
    assert run["tool"]["driver"]["version"] == "1.2.3"
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    degrees, missing = run["tool"]["driver"]["rules"]
    assert degrees == {"id": "joint-limit-degrees", "help": {"text": "Write radians."}}
    assert missing == {"id": "name-missing"}


def test_failing_checks_are_sarif_results(tmp_path: Path) -> None:
    """They concern the URDF file; a crash without checks is one result."""
    (shifted,) = (r for r in samples.corpus() if r.verdict is Verdict.FAILS)
    (crashed,) = (r for r in samples.corpus() if r.verdict is Verdict.CRASHED)
    crashed = structs.replace(crashed, checks=(), diagnostics=())
    files = (FileRecord(path="urdf/arm.urdf", sha256="0", size=1),)
    source = structs.replace(shifted.source, files=files)
    shifted = structs.replace(shifted, source=source)

    results = _sarif((shifted, crashed), tmp_path)["results"]

    assert [one["ruleId"] for one in results] == [
        "conformance/kinematics.position",
        "conformance/verdict",
    ]
    assert {one["level"] for one in results} == {"error"}
    assert "3.1 mm" in results[0]["message"]["text"]
    (location,) = results[0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {
        "uri": "urdf/arm.urdf",
        "uriBaseId": shifted.id,
    }


def test_expected_failures_are_suppressed_in_sarif(tmp_path: Path) -> None:
    """With the reason in the baseline."""
    (shifted,) = (r for r in samples.corpus() if r.verdict is Verdict.FAILS)
    known = KnownFailureRecord(
        robot=shifted.id,
        check="kinematics.position",
        grade="fails",
        expected="fails",
        message="",
        reason="reported upstream",
    )
    path = tmp_path / "findings.sarif"

    write_sarif((shifted,), path, BaselineRecord(expected=(known,)))

    (run,) = json.loads(path.read_text("utf-8"))["runs"]
    assert [one.get("suppressions") for one in run["results"]] == [
        [{"kind": "external", "justification": "reported upstream"}]
    ]


def test_sarif_escapes_lone_surrogates(tmp_path: Path) -> None:
    """UTF-8 cannot encode them."""
    robot = _diagnosed(
        DiagnosticRecord(rule="x", severity="error", message="\ud800", file="\ud800.urdf")
    )
    (result,) = _sarif((robot,), tmp_path)["results"]
    assert result["level"] == "error"


@pytest.mark.parametrize(
    ("verdicts", "label"),
    [
        ((Verdict.EXACT, Verdict.CLOSE), "2 of 2 conform"),
        ((Verdict.EXACT, Verdict.FAILS, Verdict.CRASHED), "1 of 3 conform"),
        ((Verdict.EXACT, Verdict.UNREADABLE), "1 of 1 conform"),
        ((Verdict.EXACT, Verdict.INCOMPLETE), "1 of 2 conform, 1 incomplete"),
        ((Verdict.NOT_AVAILABLE,), "no robots"),
    ],
)
def test_badge_counts_readable_robots(
    verdicts: tuple[Verdict, ...], label: str, tmp_path: Path
) -> None:
    """Unreadable and unavailable robots do not count."""
    robot = samples.corpus()[0]
    robots = tuple(structs.replace(robot, verdict=verdict) for verdict in verdicts)
    path = tmp_path / "badge.svg"
    write_badge(samples.summary(robots), path)
    svg = etree.fromstring(path.read_bytes())
    assert [text.text for text in svg.iter(f"{_SVG}text")][-1] == label
    (title,) = (one.text for one in svg.iter(f"{_SVG}title"))
    assert f"; {len(robots) * robot.compared:,} values compared" in str(title)
    # As in the headline.
    counts = label.partition(" conform")[0].replace("no robots", "0 of 0")
    assert headline(robots).startswith(f"{counts} robots conform")


def _histories(folder: Path) -> tuple[HistoryEntry, ...]:
    append_entry(folder, samples.summary(samples.corpus()), "first")
    return read_history(folder)


@pytest.mark.parametrize("kind", ["history", "robot", "summary"])
def test_records_match_their_schema(kind: str, tmp_path: Path) -> None:
    """For every verdict."""
    schema = record_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    found: dict[str, Sequence[msgspec.Struct]] = {
        "history": _histories(tmp_path),
        "robot": samples.corpus(),
        "summary": (samples.summary(samples.corpus()),),
    }
    for record in found[kind]:
        jsonschema.validate(json.loads(record_json(record)), schema)


def test_schema_allows_infinity_and_nan_as_text() -> None:
    """Other text is refused."""
    schema = record_schema("robot")
    robot = samples.corpus()[0]
    heavy = structs.replace(robot, total_mass=float("inf"))
    jsonschema.validate(json.loads(record_json(heavy)), schema)
    wrong = json.loads(record_json(robot)) | {"total_mass": "much"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_real_record_matches_the_schema(tmp_path: Path) -> None:
    """One with deviations, notes and every group of checks."""
    source = resolve_robot("pybullet:r2d2.urdf")
    asset = convert(source.path, tmp_path / "asset").root_layer
    record = check(source.path, asset)
    jsonschema.validate(json.loads(record_json(record)), record_schema("robot"))


def test_published_schema_is_current(tmp_path: Path) -> None:
    """`python -m urdf_usd.reports.records.schema docs/schema` writes it."""
    write_schemas(tmp_path)
    for path in tmp_path.iterdir():
        assert (_PUBLISHED / path.name).read_text("utf-8") == path.read_text("utf-8")
