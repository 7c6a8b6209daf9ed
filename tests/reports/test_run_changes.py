"""Changes between two runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from urdf_usd.reports.changes import compare_runs, former_record
from urdf_usd.reports.records.record import (
    ChangeKind,
    CheckRecord,
    EngineRecord,
    EngineStatus,
    FileRecord,
    Grade,
    RobotRecord,
    RobotSummary,
    RunSummary,
    SourceRecord,
    Verdict,
)
from urdf_usd.reports.records.results import StoredRun, StoredRunError, read_run, write_record
from urdf_usd.reports.records.suite_case import (
    Case,
    CaseOutcome,
    CaseRecord,
    Expected,
    Requirement,
)


def _check(grade: Grade, worst: float | None, bound: float | None) -> CheckRecord:
    return CheckRecord(
        id="mass.link",
        title="link mass",
        group="mass",
        unit="1",
        grade=grade,
        compared=1,
        worst=worst,
        bound=bound,
    )


def _robot(
    verdict: Verdict,
    grade: Grade | None = None,
    worst: float | None = None,
    bound: float | None = None,
) -> RobotRecord:
    return RobotRecord(
        id="arm",
        name="arm",
        source=SourceRecord(reference="file:arm.urdf"),
        converter="none",
        verdict=verdict,
        reason="",
        checks=() if grade is None else (_check(grade, worst, bound),),
    )


def _run(*robots: RobotRecord, base: str = "auto") -> StoredRun:
    summary = RunSummary(
        corpus=(),
        environment={"mujoco": "4"},
        options={"base": base},
        verdicts={},
        robots=(),
    )
    return StoredRun(summary, {robot.id: robot for robot in robots})


EXACT = _robot(Verdict.EXACT, Grade.EXACT, 1e-8, 5e-8)
CLOSE = _robot(Verdict.CLOSE, Grade.CLOSE, 2e-6, 5e-8)
WRONG = _robot(Verdict.FAILS, Grade.FAILS, 0.5, 5e-8)


@pytest.mark.parametrize(
    ("before", "after", "kinds", "worse"),
    [
        ((EXACT,), (EXACT,), [], False),
        ((EXACT,), (WRONG,), [ChangeKind.NEWLY_FAILING, ChangeKind.WORSE], True),
        ((WRONG,), (EXACT,), [ChangeKind.FIXED, ChangeKind.BETTER], False),
        ((EXACT,), (CLOSE,), [ChangeKind.WORSE, ChangeKind.WORSE], True),
        ((EXACT,), (), [ChangeKind.REMOVED], True),
        ((WRONG,), (), [ChangeKind.REMOVED], False),
        ((), (WRONG,), [ChangeKind.ADDED], False),
        ((EXACT,), (_robot(Verdict.EXACT, Grade.EXACT, 4e-8, 5e-8),), [], False),
        (
            (CLOSE,),
            (_robot(Verdict.CLOSE, Grade.CLOSE, 3e-6, 5e-8),),
            [ChangeKind.WORSE],
            True,
        ),
        (
            (CLOSE,),
            (_robot(Verdict.CLOSE, Grade.CLOSE, 1e-6, 5e-8),),
            [ChangeKind.BETTER],
            False,
        ),
        (
            (_robot(Verdict.NOT_AVAILABLE),),
            (_robot(Verdict.CRASHED),),
            [ChangeKind.WORSE],
            True,
        ),
    ],
)
def test_each_kind_of_change_is_reported(
    before: tuple[RobotRecord, ...],
    after: tuple[RobotRecord, ...],
    kinds: list[ChangeKind],
    worse: bool,
) -> None:
    """Differences within rounding are no change; changes are sorted by severity."""
    changes = compare_runs(_run(*before), _run(*after))

    assert [change.kind for change in changes] == kinds
    assert any(change.worse for change in changes) == worse


def test_summary_of_a_case_has_nothing_of_its_files() -> None:
    case = _case(Verdict.EXACT, CaseOutcome.PASS).case
    assert case is not None
    written = msgspec.to_builtins(case.summary)
    assert set(written) == set(msgspec.to_builtins(case)) - {"case", "readings", "urdf"}
    assert written["name"] == "two-roots"


def _case(verdict: Verdict, outcome: CaseOutcome) -> RobotRecord:
    case = Case(shows="", clause="", requirement=Requirement.MUST, expected=Expected())
    record = CaseRecord(
        version="1",
        chapter="tree",
        title="Tree",
        name="two-roots",
        number=1,
        requirement=case.requirement,
        outcome=outcome,
        reason="",
        case=case,
    )
    return structs.replace(_robot(verdict), case=record)


@pytest.mark.parametrize(
    ("after", "kind", "worse"),
    [
        (_case(Verdict.EXACT, CaseOutcome.FAIL), ChangeKind.NEWLY_FAILING, True),
        (_case(Verdict.CRASHED, CaseOutcome.CRASHED), ChangeKind.NEWLY_FAILING, True),
    ],
)
def test_case_that_is_not_refused_any_more_is_newly_failing(
    after: RobotRecord, kind: ChangeKind, worse: bool
) -> None:
    """Although the verdict of a file that is read is better; and the reverse."""
    refused = _case(Verdict.UNREADABLE, CaseOutcome.REFUSED)

    (change,) = compare_runs(_run(refused), _run(after))
    (back,) = compare_runs(_run(after), _run(refused))

    assert (change.kind, change.worse, change.check) == (kind, worse, "case")
    assert (back.kind, back.worse) == (ChangeKind.FIXED, False)
    assert compare_runs(_run(refused), _run(refused)) == ()


def test_changed_files_and_settings_are_listed_but_no_regression() -> None:
    """They may explain other changes."""

    def made_of(digest: str) -> RobotRecord:
        file = FileRecord(path="a.stl", sha256=digest, size=1)
        source = SourceRecord(reference="file:arm.urdf", files=(file,))
        return structs.replace(EXACT, source=source)

    changes = compare_runs(_run(made_of("1")), _run(made_of("2"), base="fixed"))

    assert [(c.kind, c.subject, c.detail or c.after) for c in changes] == [
        (ChangeKind.FILES, "arm", "a.stl"),
        (ChangeKind.SETTING, "option base", "fixed"),
    ]
    assert not any(change.worse for change in changes)


def test_changed_joint_order_is_a_change() -> None:
    """Programs may index joints; an added joint is another change."""

    def ordered(*joints: str) -> RobotRecord:
        engine = EngineRecord(
            name="physx",
            side="usd",
            status=EngineStatus.OBSERVED,
            joint_order=joints,
        )
        return structs.replace(EXACT, engines=(engine,))

    (change,) = compare_runs(_run(ordered("a", "b", "c")), _run(ordered("a", "c", "b")))

    assert (change.kind, change.worse) == (ChangeKind.JOINT_ORDER, True)
    assert (change.before, change.after) == ("b", "c")
    assert change.detail == "physx, index 1"
    assert not compare_runs(_run(ordered("a")), _run(ordered("a", "b")))


def test_run_is_read_back_from_its_folder(tmp_path: Path) -> None:
    """Including infinite numbers, which JSON cannot represent."""
    robot = _robot(Verdict.FAILS, Grade.FAILS, 0.5, float("inf"))
    _store(tmp_path, robot)

    assert read_run(tmp_path).records == {"arm": robot}


def _store(folder: Path, robot: RobotRecord, version: str = "2.0") -> None:
    line = RobotSummary(
        id=robot.id,
        name=robot.name,
        reference=robot.source.reference,
        verdict=robot.verdict,
        reason=robot.reason,
        grades={},
        worst={},
        engines={},
    )
    summary = RunSummary(
        schema_version=version,
        corpus=(),
        environment={},
        options={},
        verdicts={},
        robots=(line,),
    )
    write_record(summary, folder / "summary.json")
    write_record(robot, folder / "results" / f"{robot.id}.json")


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


def test_record_of_changes_equals_the_comparison() -> None:
    """As text, in the same order."""
    first = _run(_robot(Verdict.EXACT))
    second = _run(_robot(Verdict.FAILS), base="fixed")
    record = former_record("before", first, second)
    listed = [(one.kind, one.worse, one.subject, one.after) for one in record.changes]
    assert record.name == "before"
    assert listed == [
        ("newly failing", True, "arm", "fails"),
        ("setting", False, "option base", "fixed"),
    ]
