"""History of runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.records.history import (
    HistoryError,
    append_entry,
    changed_results,
    changed_versions,
    read_history,
)
from urdf_usd.reports.records.record import Grade, RunSummary, Verdict
from urdf_usd.reports.records.suite_case import (
    CaseOutcome,
    CaseSummary,
    Requirement,
    chapter_scores,
)


def _summary(
    verdict: Verdict = Verdict.EXACT, grade: Grade = Grade.EXACT, mujoco: str = "4.0"
) -> RunSummary:
    summary = samples.summary(samples.corpus()[:1])
    (robot,) = summary.robots
    robot = structs.replace(
        robot,
        verdict=verdict,
        grades={"mass.link.mass": grade, "limits.effort": Grade.EXACT},
        worst={"kinematics.position": 2e-8, "limits.effort": 1e-9},
    )
    return structs.replace(summary, robots=(robot,), environment={"mujoco": mujoco})


def test_runs_are_numbered_in_their_order(tmp_path: Path) -> None:
    """Labels and durations are kept; of exact checks only the most important."""
    name = _summary().robots[0].id
    candidate = _summary().robots[0].candidate
    append_entry(tmp_path / "runs", _summary(), "v1", {(candidate, name): 0.25})
    append_entry(tmp_path / "runs", _summary(Verdict.FAILS, Grade.FAILS), "v2")

    first, second = read_history(tmp_path / "runs")

    assert [(one.number, one.label) for one in (first, second)] == [
        (1, "v1"),
        (2, "v2"),
    ]
    assert first.robots[0].seconds == 0.25
    assert first.robots[0].worst == {"kinematics.position": 2e-8}
    assert first.robots[0].grades == {}
    assert second.robots[0].grades == {"mass.link.mass": Grade.FAILS}


def test_seeded_regression_and_the_version_that_changed_with_it_are_listed(
    tmp_path: Path,
) -> None:
    """Verdict and check are worse; the correction is listed as well."""
    for summary in (
        _summary(),
        _summary(Verdict.FAILS, Grade.FAILS, mujoco="4.1"),
        _summary(mujoco="4.1"),
    ):
        append_entry(tmp_path, summary)
    first, second, third = read_history(tmp_path)
    name = first.robots[0].id

    (worse,) = changed_results(first, second)
    (better,) = changed_results(second, third)

    assert (worse.subject, worse.before, worse.after) == (name, "exact", "fails")
    assert worse.worse
    assert worse.checks == ("mass.link.mass: exact → fails",)
    assert not better.worse
    assert better.checks == ("mass.link.mass: fails → exact",)
    (version,) = changed_versions(first, second)
    assert (version.subject, version.before, version.after) == ("mujoco", "4.0", "4.1")
    assert changed_versions(second, third) == ()


@pytest.mark.parametrize(
    ("first", "second", "worse"),
    [
        ((Verdict.EXACT, CaseOutcome.PASS), (Verdict.EXACT, CaseOutcome.FAIL), True),
        (
            (Verdict.UNREADABLE, CaseOutcome.REFUSED),
            (Verdict.EXACT, CaseOutcome.FAIL),
            True,
        ),
        (
            (Verdict.EXACT, CaseOutcome.FAIL),
            (Verdict.UNREADABLE, CaseOutcome.REFUSED),
            False,
        ),
        (
            (Verdict.EXACT, CaseOutcome.FAIL),
            (Verdict.CRASHED, CaseOutcome.CRASHED),
            True,
        ),
    ],
)
def test_outcome_of_a_case_decides_what_is_worse(
    first: tuple[Verdict, CaseOutcome],
    second: tuple[Verdict, CaseOutcome],
    worse: bool,
    tmp_path: Path,
) -> None:
    """Also if the verdict is better, as the file should have been refused."""
    for verdict, outcome in (first, second):
        summary = _summary(verdict)
        case = CaseSummary(
            version="2026.12",
            chapter="tree",
            title="Tree",
            name="two-roots",
            number=1,
            requirement=Requirement.MUST,
            outcome=outcome,
            reason="",
        )
        scores = chapter_scores([("", case)], [""])
        robot = structs.replace(summary.robots[0], case=case)
        summary = structs.replace(summary, robots=(robot,), suite=scores)
        append_entry(tmp_path, summary)
    before, after = read_history(tmp_path)

    (change,) = changed_results(before, after)

    assert change.worse is worse
    assert change.checks[0] == f"case: {first[1]} → {second[1]}"
    assert before.suite[0].must.passed == int(first[1].passes)
    assert changed_results(after, after) == ()


def test_robots_that_come_and_go_are_listed(tmp_path: Path) -> None:
    """A robot that conformed and is missing counts as worse."""
    append_entry(tmp_path, _summary())
    append_entry(tmp_path, structs.replace(_summary(), robots=()))
    first, second = read_history(tmp_path)

    assert [one.worse for one in changed_results(first, second)] == [True]
    assert [one.worse for one in changed_results(second, first)] == [False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no entry of a history"),
        ('{"schema_version": "1.0"}', "no entry of a history"),
    ],
)
def test_damaged_history_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("ours", encoding="utf-8")
    (tmp_path / "000001.json").write_text(content, encoding="utf-8")

    with pytest.raises(HistoryError, match=f"000001.json: {message}"):
        read_history(tmp_path)
