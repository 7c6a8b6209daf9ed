"""Decision whether a run passes."""

from __future__ import annotations

from datetime import date

import pytest
from msgspec import structs

from urdf_usd.conformance.converters.candidates import OURS
from urdf_usd.conformance.gate.baseline import (
    OWNER,
    REASON,
    VERDICT,
    Baseline,
    Expectation,
)
from urdf_usd.conformance.gate.decision import (
    FailOn,
    Gate,
    apply_gate,
    baseline_record,
    failures,
    updated_baseline,
)
from urdf_usd.reports.records.record import (
    CheckRecord,
    Difference,
    Grade,
    RobotRecord,
    SourceRecord,
    Verdict,
)

NOT_READ = (Verdict.UNREADABLE, Verdict.NOT_AVAILABLE)
MASS = "mass.link"
POSITION = "kinematics.position"


def _check(name: str, grade: Grade) -> CheckRecord:
    finding = Difference(subject="link a", message=f"{name} is off", assigned=grade)
    return CheckRecord(
        id=name,
        title=name,
        group="",
        unit="1",
        grade=grade,
        compared=1,
        findings=() if grade is Grade.EXACT else (finding,),
    )


def robot(name: str, verdict: Verdict, **grades: Grade) -> RobotRecord:
    """Build a record; a double underscore in a check's name stands for a dot."""
    return RobotRecord(
        id=name,
        name=name,
        source=SourceRecord(reference=f"file:{name}.urdf"),
        converter="none",
        verdict=verdict,
        reason=f"{name} is {verdict}",
        checks=tuple(_check(key.replace("__", "."), grade) for key, grade in grades.items()),
    )


@pytest.mark.parametrize(
    ("fail_on", "count"),
    [(FailOn.FAILS, 0), (FailOn.INCOMPLETE, 1), (FailOn.CLOSE, 1)],
)
def test_usd_with_missing_layers_fails_on_incomplete(fail_on: FailOn, count: int) -> None:
    """All checks may be exact, since none covers the missing layers."""
    records = [robot("a", Verdict.INCOMPLETE, kinematics__position=Grade.EXACT)]

    found = failures(records, fail_on=fail_on, strict=True, unreadable=True)

    assert [one.check for one in found] == [VERDICT] * count


def _expected(name: str, check: str, grade: str) -> Expectation:
    return Expectation(name, check, grade, "upstream", "ada")


def _baseline(*expectations: Expectation) -> Baseline:
    return Baseline().holding(expectations)


GOOD = robot("good", Verdict.EXACT, mass__link=Grade.EXACT)
BAD = robot("bad", Verdict.FAILS, mass__link=Grade.FAILS, kinematics__position=Grade.CLOSE)
BAD_MASS = _expected("bad", MASS, "fails")


@pytest.mark.parametrize("verdict", Verdict)
def test_one_nonconforming_robot_fails_the_run(verdict: Verdict) -> None:
    """Exact, close and incomplete pass; unreadable robots are not counted."""
    passes = verdict.agrees or verdict in NOT_READ

    result = apply_gate([GOOD, robot("a", verdict)])

    assert result.gate is (Gate.PASSES if passes else Gate.FAILS)


@pytest.mark.parametrize("verdict", NOT_READ)
def test_strict_gate_fails_on_unreadable_robots(verdict: Verdict) -> None:
    """For example for a release."""
    result = apply_gate([GOOD, robot("a", verdict)], strict=True)

    assert result.gate is Gate.FAILS
    assert result.new[0].place == ("a", VERDICT, OURS)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdicts", [(), NOT_READ])
def test_run_without_a_readable_robot_fails(
    verdicts: tuple[Verdict, ...],
    strict: bool,
) -> None:
    """No robot was judged."""
    records = [robot(verdict.name, verdict) for verdict in verdicts]

    assert apply_gate(records, strict=strict).gate is Gate.NOTHING_READ


@pytest.mark.parametrize(
    ("expires", "grade", "expired"),
    [
        (None, "fails", []),
        (date(2026, 5, 4), "fails", []),
        (date(2026, 5, 3), "fails", [("bad", MASS, OURS)]),
        # Worse than accepted, which comes first.
        (date(2026, 5, 3), "close", []),
    ],
)
def test_entries_are_accepted_until_the_day_on_which_they_expire(
    expires: date | None, grade: str, expired: list[tuple[str, str, str]]
) -> None:
    """The last day counts."""
    entry = structs.replace(_expected("bad", MASS, grade), expires=expires)

    result = apply_gate([GOOD, BAD], baseline=_baseline(entry), today=date(2026, 5, 4))

    assert [failure.place for failure in result.expired] == expired
    fails = bool(expired) or grade == "close"
    assert result.gate is (Gate.FAILS if fails else Gate.PASSES)
    assert bool(result.expected) is not fails


def test_entries_that_pass_may_have_expired() -> None:
    """They are listed as passing, and the run passes."""
    entry = structs.replace(_expected("good", MASS, "fails"), expires=date(2026, 5, 3))

    result = apply_gate([GOOD], baseline=_baseline(entry), today=date(2026, 5, 4))

    assert result.gate is Gate.PASSES
    assert result.passing == (entry,)


def test_close_robot_fails_with_fail_on_close_only() -> None:
    """It is listed with the check that is only close."""
    near = robot("near", Verdict.CLOSE, mass__link=Grade.CLOSE)

    assert apply_gate([near]).gate is Gate.PASSES
    result = apply_gate([near], fail_on=FailOn.CLOSE)
    assert result.gate is Gate.FAILS
    assert [(f.place, f.message) for f in result.new] == [
        (("near", MASS, OURS), "mass.link is off")
    ]


def test_incomplete_robot_fails_with_its_option_only() -> None:
    """It is listed with the check that is incomplete."""
    parts = robot(
        "parts",
        Verdict.INCOMPLETE,
        mass__link=Grade.NOT_COMPARABLE,
        kinematics__position=Grade.CLOSE,
        limits__effort=Grade.NOT_APPLICABLE,
    )

    assert apply_gate([parts]).gate is Gate.PASSES
    result = apply_gate([parts], fail_on=FailOn.INCOMPLETE)
    assert result.gate is Gate.FAILS
    assert [failure.place for failure in result.new] == [("parts", MASS, OURS)]
    checks = {f.check for f in apply_gate([parts], fail_on=FailOn.CLOSE).new}
    assert checks == {MASS, "kinematics.position"}


def test_entry_covers_one_check_of_one_robot() -> None:
    """Other failures of the robot are new."""
    records = [GOOD, BAD]

    assert apply_gate(records).gate is Gate.FAILS
    known = apply_gate(records, baseline=_baseline(BAD_MASS))
    assert known.gate is Gate.PASSES
    assert [failure.place for failure in known.expected] == [BAD_MASS.place]
    other = apply_gate(records, baseline=_baseline(_expected("good", MASS, "fails")))
    assert other.gate is Gate.FAILS
    assert [failure.place for failure in other.new] == [BAD_MASS.place]


@pytest.mark.parametrize(
    ("expected", "actual", "worse"),
    [
        ("fails", Grade.FAILS, False),
        ("disputed", Grade.FAILS, True),
        ("not comparable", Grade.DISPUTED, True),
        ("fails", Grade.DISPUTED, False),
        ("close", Grade.NOT_COMPARABLE, True),
    ],
)
def test_worse_grade_than_expected_fails(
    expected: str,
    actual: Grade,
    worse: bool,
) -> None:
    """An entry for a dispute does not cover a failure."""
    record = robot("a", Verdict(actual.value), mass__link=actual)

    result = apply_gate([record], baseline=_baseline(_expected("a", MASS, expected)))

    assert result.gate is (Gate.FAILS if worse else Gate.PASSES)
    assert len(result.worse) == worse


def test_robot_that_became_unreadable_fails_with_a_baseline() -> None:
    """Otherwise a converter that refuses every file would pass."""
    records = [GOOD, robot("a", Verdict.UNREADABLE)]

    assert apply_gate(records).gate is Gate.PASSES
    assert apply_gate(records, baseline=_baseline()).gate is Gate.FAILS
    known = _baseline(_expected("a", VERDICT, "unreadable"))
    assert apply_gate(records, baseline=known).gate is Gate.PASSES
    died = [GOOD, robot("a", Verdict.CRASHED)]
    assert apply_gate(died, baseline=known).gate is Gate.FAILS


def test_unexpected_pass_is_listed_and_passes() -> None:
    """Of a check or a robot; not where there was no result."""
    baseline = _baseline(
        _expected("good", MASS, "fails"),
        _expected("good", VERDICT, "crashed"),
        _expected("gone", MASS, "fails"),
        _expected("elsewhere", MASS, "fails"),
    )

    result = apply_gate([GOOD, robot("gone", Verdict.NOT_AVAILABLE)], baseline=baseline)

    assert result.gate is Gate.PASSES
    assert [one.place for one in result.passing] == [
        ("good", MASS, OURS),
        ("good", VERDICT, OURS),
    ]
    assert result.absent == 1


def test_expected_close_check_is_no_unexpected_pass() -> None:
    """A baseline of a stricter gate can be used without `--fail-on`."""
    near = robot("near", Verdict.CLOSE, mass__link=Grade.CLOSE)

    result = apply_gate([near], baseline=_baseline(_expected("near", MASS, "close")))

    assert result.passing == ()


def test_entries_apply_to_their_converter_only() -> None:
    """Those of other converters are neither used nor listed as fixed."""
    ours, theirs = (structs.replace(BAD, candidate=name) for name in (OURS, "peer"))
    peers = structs.replace(BAD_MASS, converter="peer", reason="tells grams", owner="bob")
    known = _baseline(peers)

    assert apply_gate([ours], baseline=known).gate is Gate.FAILS
    assert apply_gate([ours], baseline=known).absent == 0
    assert apply_gate([theirs], baseline=known).gate is Gate.PASSES
    assert apply_gate([theirs], baseline=_baseline(BAD_MASS)).gate is Gate.FAILS
    both = updated_baseline([ours], known, apply_gate([ours], baseline=known).new)
    assert both.expectations == (
        structs.replace(peers, converter="peer"),
        Expectation("bad", MASS, "fails", REASON, OWNER),
    )
    assert apply_gate([ours, theirs], baseline=both).gate is Gate.PASSES


def test_updated_baseline_lets_the_same_run_pass() -> None:
    """Reasons and robots that are not in the run are kept."""
    records = [
        GOOD,
        BAD,
        robot("broken", Verdict.UNREADABLE),
        robot("gone", Verdict.NOT_AVAILABLE),
    ]
    before = _baseline(
        _expected("good", MASS, "fails"),
        _expected("bad", MASS, "disputed"),
        _expected("gone", MASS, "fails"),
        _expected("elsewhere", POSITION, "fails"),
    )
    found = failures(records, fail_on=FailOn.FAILS, strict=False, unreadable=True)

    after = updated_baseline(records, before, found)

    assert after.expectations == (
        BAD_MASS,
        Expectation("broken", VERDICT, "unreadable", REASON, OWNER),
        _expected("elsewhere", POSITION, "fails"),
        _expected("gone", MASS, "fails"),
    )
    assert apply_gate(records, baseline=after).gate is Gate.PASSES


def test_decision_lists_new_worse_fixed_and_expected_results() -> None:
    """With grades, and with the reasons of what was expected."""
    known = _baseline(
        _expected("bad", MASS, "close"),
        _expected("good", MASS, "fails"),
        _expected("elsewhere", MASS, "fails"),
    )
    bad = robot("bad", Verdict.FAILS, mass__link=Grade.FAILS)
    worse = robot("new", Verdict.FAILS, kinematics__position=Grade.FAILS)
    records = (GOOD, bad, worse)

    stated = baseline_record(apply_gate(records, baseline=known), known)

    (new,) = stated.new
    assert (new.robot, new.check, new.grade, new.expected) == (
        "new",
        POSITION,
        "fails",
        "",
    )
    (graver,) = stated.worse
    assert (graver.grade, graver.expected, graver.reason) == (
        "fails",
        "close",
        "upstream",
    )
    (fixed,) = stated.fixed
    assert (fixed.robot, fixed.grade, fixed.expected) == ("good", "", "fails")
    assert stated.expected == ()
    assert stated.absent == 1
