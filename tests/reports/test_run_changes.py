"""Changes between two runs, and runs as stored in folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.changes import compare_runs, value_changes
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.results import StoredRun, StoredRunError, read_run, write_record


def _robot(
    verdict: r.Verdict,
    grade: r.Grade = r.Grade.EXACT,
    worst: float | None = None,
    case: r.CaseRecord | None = None,
) -> r.RobotRecord:
    check = structs.replace(samples.mass(grade), worst=worst, bound=5e-8, differences=())
    checks = () if worst is None else (check,)
    return samples.robot(verdict, checks=checks, engines=(), reason="", case=case)


def _run(*robots: r.RobotRecord, base: str = "auto") -> StoredRun:
    summary = structs.replace(samples.summary(robots), options={"base": base})
    return StoredRun.of(summary, robots)


EXACT = _robot(r.Verdict.EXACT, r.Grade.EXACT, 1e-8)
CLOSE = _robot(r.Verdict.CLOSE, r.Grade.CLOSE, 2e-6)
ABSENT, CRASHED = _robot(r.Verdict.NOT_AVAILABLE), _robot(r.Verdict.CRASHED)
WRONG = _robot(r.Verdict.FAILS, r.Grade.FAILS, 0.5)


@pytest.mark.parametrize(
    ("before", "after", "kinds", "worse"),
    [
        ((EXACT,), (EXACT,), [], False),
        ((EXACT,), (WRONG,), [r.ChangeKind.NEWLY_FAILING, r.ChangeKind.WORSE], True),
        ((WRONG,), (EXACT,), [r.ChangeKind.FIXED, r.ChangeKind.BETTER], False),
        ((EXACT,), (CLOSE,), [r.ChangeKind.WORSE, r.ChangeKind.WORSE], True),
        ((EXACT,), (), [r.ChangeKind.REMOVED], True),
        ((WRONG,), (), [r.ChangeKind.REMOVED], False),
        ((), (WRONG,), [r.ChangeKind.ADDED], False),
        # Within the bound of rounding, and beyond.
        ((EXACT,), (_robot(r.Verdict.EXACT, r.Grade.EXACT, 4e-8),), [], False),
        ((CLOSE,), (_robot(r.Verdict.CLOSE, r.Grade.CLOSE, 3e-6),), [r.ChangeKind.WORSE], True),
        ((CLOSE,), (_robot(r.Verdict.CLOSE, r.Grade.CLOSE, 1e-6),), [r.ChangeKind.BETTER], False),
        ((ABSENT,), (CRASHED,), [r.ChangeKind.WORSE], True),
    ],
)
def test_each_kind_of_change_is_reported(
    before: tuple[r.RobotRecord, ...],
    after: tuple[r.RobotRecord, ...],
    kinds: list[r.ChangeKind],
    worse: bool,
) -> None:
    changes = compare_runs(_run(*before), _run(*after))

    assert [change.kind for change in changes] == kinds
    assert any(change.worse for change in changes) == worse


@pytest.mark.parametrize("outcome", [r.CaseOutcome.FAIL, r.CaseOutcome.CRASHED])
def test_case_that_is_not_refused_any_more_is_newly_failing(outcome: r.CaseOutcome) -> None:
    case = samples.cases()[0].case
    assert case is not None
    refused, read = (
        _robot(verdict, case=structs.replace(case, outcome=result))
        for verdict, result in (
            (r.Verdict.UNREADABLE, r.CaseOutcome.REFUSED),
            (r.Verdict.EXACT, outcome),
        )
    )
    (change,) = compare_runs(_run(refused), _run(read))
    (back,) = compare_runs(_run(read), _run(refused))

    assert (change.kind, change.worse, change.check) == (r.ChangeKind.NEWLY_FAILING, True, "case")
    assert (back.kind, back.worse) == (r.ChangeKind.FIXED, False)
    assert compare_runs(_run(refused), _run(refused)) == ()


def test_changed_files_and_settings_are_listed_but_no_regression() -> None:
    files = [(r.FileRecord(path="a.stl", sha256=digest, size=1),) for digest in "12"]
    sources = [structs.replace(EXACT.source, files=one) for one in files]
    first, second = (structs.replace(EXACT, source=source) for source in sources)
    changes = compare_runs(_run(first), _run(second, base="fixed"))

    assert [(one.kind, one.subject, one.detail or one.after) for one in changes] == [
        (r.ChangeKind.FILES, "arm", "a.stl"),
        (r.ChangeKind.SETTING, "option base", "fixed"),
    ]
    assert not any(change.worse for change in changes)


def test_changed_joint_order_is_a_change() -> None:
    def ordered(*joints: str) -> r.RobotRecord:
        engine = r.EngineRecord(
            name="physx", side="usd", status=r.EngineStatus.OBSERVED, joint_order=joints
        )
        return structs.replace(EXACT, engines=(engine,))

    (change,) = compare_runs(_run(ordered("a", "b", "c")), _run(ordered("a", "c", "b")))

    assert (change.kind, change.worse) == (r.ChangeKind.JOINT_ORDER, True)
    assert (change.before, change.after, change.detail) == ("b", "c", "physx, index 1")
    assert not compare_runs(_run(ordered("a")), _run(ordered("a", "b")))


def test_changed_values_of_a_robot_are_listed_up_to_a_limit() -> None:
    before = {f"joint {i}": "1" for i in range(60)}
    rows = value_changes("arm", before, before | {"joint 3": "2"})
    many = value_changes("arm", before, dict.fromkeys(before, "2"))

    assert [(one.detail, one.before, one.after) for one in rows] == [("joint 3", "1", "2")]
    assert len(many) == 51
    assert many[-1].detail == "10 more"
    assert value_changes("arm", {}, before) == ()


def _store(folder: Path, robot: r.RobotRecord, version: str = "2.0") -> StoredRun:
    run = _run(robot)
    summary = structs.replace(run.summary, schema_version=version)
    write_record(summary, folder / "summary.json")
    write_record(robot, folder / "results" / f"{robot.id}.json")
    return StoredRun(summary, run.records)


def test_run_is_read_back_from_its_folder(tmp_path: Path) -> None:
    check = samples.position(r.Grade.FAILS, float("inf"), findings=(samples.UNTYPED,))
    run = _store(tmp_path, samples.robot(r.Verdict.FAILS, checks=(check,)))

    assert read_run(tmp_path) == run


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("empty", "holds no summary.json"),
        ("version", "is of schema 9.0"),
        ("missing", "No such file"),
        ("broken", "is no record"),
    ],
)
def test_folder_without_a_run_is_rejected(tmp_path: Path, damage: str, reason: str) -> None:
    if damage != "empty":
        _store(tmp_path, EXACT, "9.0" if damage == "version" else "2.0")
    record = tmp_path / "results" / "arm.json"
    if damage == "missing":
        record.unlink()
    if damage == "broken":
        record.write_text('{"schema_version": "2.0", "id": 3}')

    with pytest.raises(StoredRunError, match=reason):
        read_run(tmp_path)
