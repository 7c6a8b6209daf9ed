"""Files of records, histories of runs, and the published schema."""

from __future__ import annotations

import json
import math
import resource
from pathlib import Path
from unittest.mock import Mock

import jsonschema
import msgspec
import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.changes import changed_results, changed_settings
from urdf_usd.reports.records.record import SCHEMA_VERSION, CaseOutcome, Grade, RunSummary, Verdict
from urdf_usd.reports.records.results import (
    HistoryEntry,
    HistoryError,
    append_entry,
    read_history,
    record_json,
    write_new,
    write_record,
)
from urdf_usd.reports.records.schema import RECORDS, record_schema, schema_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (0.1, 0.1),
        (1e-300, 1e-300),
        (None, None),
    ],
)
def test_numbers_that_json_lacks_are_written_as_text(
    value: float | None, expected: float | str | None
) -> None:
    deviation = structs.replace(samples.DEVIATION, largest=value)
    text = record_json(samples.robot(deviations=(deviation,)))

    # Python would read NaN and Infinity, which JSON lacks.
    assert json.loads(text, parse_constant=pytest.fail)["deviations"][0]["largest"] == expected


def test_record_is_written_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results" / "arm.json"
    write_record(samples.robot(name="Ärm"), path)
    first = path.read_bytes()
    write_record(samples.robot(name="Ärm"), path)
    monkeypatch.setattr("pathlib.Path.replace", Mock(side_effect=OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_record(samples.robot(name="Leg"), path)

    assert path.read_bytes() == first
    assert json.loads(first)["name"] == "Ärm"
    assert [entry.name for entry in path.parent.iterdir()] == ["arm.json"]


def test_new_file_that_cannot_be_written_does_not_remain(tmp_path: Path) -> None:
    file = tmp_path / "new.toml"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        with pytest.raises(OSError, match=r"new\.toml"):
            write_new(file, bytes(1024))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert not file.exists()
    write_new(file, b"1")
    with pytest.raises(FileExistsError):
        write_new(file, b"2")
    assert file.read_bytes() == b"1"


_MASS = "mass.link.mass"


def _summary(
    verdict: Verdict = Verdict.EXACT,
    grade: Grade = Grade.EXACT,
    mujoco: str = "4.0",
    case: CaseOutcome | None = None,
) -> RunSummary:
    summary = samples.summary(samples.cases()[:1])
    (robot,) = summary.robots
    robot = structs.replace(
        robot,
        verdict=verdict,
        grades={_MASS: grade, "limits.effort": Grade.EXACT},
        worst={"kinematics.position": 2e-8, "limits.effort": 1e-9},
        case=robot.case and case and structs.replace(robot.case, outcome=case),
    )
    return structs.replace(summary, robots=(robot,), environment={"mujoco": mujoco})


def _history(folder: Path, *summaries: RunSummary) -> tuple[HistoryEntry, ...]:
    for summary in summaries:
        append_entry(folder, summary)
    return read_history(folder)


def test_runs_are_numbered_in_their_order(tmp_path: Path) -> None:
    robot = _summary().robots[0]
    append_entry(tmp_path / "runs", _summary(), "v1", {(robot.candidate, robot.id): 0.25})
    append_entry(tmp_path / "runs", _summary(Verdict.FAILS, Grade.FAILS), "v2")
    first, second = read_history(tmp_path / "runs")

    assert [(one.number, one.label) for one in (first, second)] == [(1, "v1"), (2, "v2")]
    assert first.robots[0].seconds == 0.25
    assert first.robots[0].worst == {"kinematics.position": 2e-8}
    assert [one.robots[0].grades for one in (first, second)] == [{}, {_MASS: Grade.FAILS}]


def test_regression_and_the_version_that_changed_with_it_are_listed(tmp_path: Path) -> None:
    first, second, third = _history(
        tmp_path,
        _summary(),
        _summary(Verdict.FAILS, Grade.FAILS, mujoco="4.1"),
        _summary(mujoco="4.1"),
    )
    (worse,) = changed_results(first, second)
    (better,) = changed_results(second, third)
    (version,) = changed_settings(first.environment, second.environment)

    name = f"urdf-usd/{first.robots[0].id}"
    assert (worse.subject, worse.before, worse.after) == (name, "exact", "fails")
    assert (worse.worse, worse.detail) == (True, f"{_MASS}: exact → fails")
    assert (better.worse, better.detail) == (False, f"{_MASS}: fails → exact")
    assert (version.subject, version.before, version.after) == ("mujoco", "4.0", "4.1")
    assert not [*changed_settings(second.environment, third.environment)]


@pytest.mark.parametrize(
    ("first", "second", "worse"),
    [
        ((Verdict.EXACT, CaseOutcome.PASS), (Verdict.EXACT, CaseOutcome.FAIL), True),
        ((Verdict.UNREADABLE, CaseOutcome.REFUSED), (Verdict.EXACT, CaseOutcome.FAIL), True),
        ((Verdict.EXACT, CaseOutcome.FAIL), (Verdict.UNREADABLE, CaseOutcome.REFUSED), False),
        ((Verdict.EXACT, CaseOutcome.FAIL), (Verdict.CRASHED, CaseOutcome.CRASHED), True),
    ],
)
def test_outcome_of_a_case_decides_what_is_worse(
    first: tuple[Verdict, CaseOutcome],
    second: tuple[Verdict, CaseOutcome],
    worse: bool,
    tmp_path: Path,
) -> None:
    runs = [_summary(verdict, case=outcome) for verdict, outcome in (first, second)]
    before, after = _history(tmp_path, *runs)
    (change,) = changed_results(before, after)

    assert change.worse is worse
    assert change.detail.splitlines()[0] == f"case: {first[1]} → {second[1]}"
    assert changed_results(after, after) == ()


def test_robots_that_come_and_go_are_listed(tmp_path: Path) -> None:
    first, second = _history(tmp_path, _summary(), structs.replace(_summary(), robots=()))

    assert [one.worse for one in changed_results(first, second)] == [True]
    assert [one.worse for one in changed_results(second, first)] == [False]


@pytest.mark.parametrize("content", ["{", '{"schema_version": "1.0"}'])
def test_damaged_history_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("ours", encoding="utf-8")
    (tmp_path / "000001.json").write_text(content, encoding="utf-8")

    with pytest.raises(HistoryError, match=r"000001\.json: no entry of a history"):
        read_history(tmp_path)


_PUBLISHED = Path(__file__).parents[3] / "docs" / "schema"


@pytest.mark.parametrize("kind", ["history", "robot", "summary"])
def test_records_match_their_schema(kind: str, tmp_path: Path) -> None:
    schema = record_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    summary = samples.summary(samples.corpus())
    append_entry(tmp_path, summary, "first")
    records: dict[str, tuple[msgspec.Struct, ...]] = {
        "history": read_history(tmp_path),
        "robot": (*samples.corpus(), *samples.cases()),
        "summary": (summary,),
    }
    for record in records[kind]:
        jsonschema.validate(json.loads(record_json(record)), schema)


def test_schema_allows_infinity_and_nan_as_text() -> None:
    schema = record_schema("robot")
    record = json.loads(record_json(samples.robot(total_mass=math.inf)))
    jsonschema.validate(record, schema)
    wrong = record | {"total_mass": "much"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


@pytest.mark.parametrize("kind", RECORDS)
def test_published_schema_is_current(kind: str) -> None:
    file = _PUBLISHED / f"{kind}-{SCHEMA_VERSION}.json"
    assert file.read_text("utf-8") == schema_text(kind)
