"""Known failures, and whether a run passes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest
from msgspec import structs

from urdf_usd.conformance.converters.candidates import OURS
from urdf_usd.conformance.gate import (
    OWNER,
    REASON,
    VERDICT,
    Baseline,
    Expectation,
    FailOn,
    Gate,
    apply_gate,
    failures,
    read_baseline,
    updated_baseline,
)
from urdf_usd.corpus import CorpusError
from urdf_usd.reports.records import record as r

_ENTRY = """[[expected]]
robot = "arm"
check = "mass.link.mass"
grade = "fails"
reason = "upstream says grams"
owner = "ada"
"""


def _read(tmp_path: Path, text: str) -> Baseline:
    file = tmp_path / "known.toml"
    file.write_text(text, encoding="utf-8")
    return read_baseline(file)


def test_baseline_is_read_and_written(tmp_path: Path) -> None:
    entry = f'{_ENTRY}url = "https://example.org/1"\nexpires = 2026-12-31\n'
    entry = entry.replace("grams", r"\u0000 \"é\u007f\\")
    baseline = _read(tmp_path, f"# Ours.\n# Reviewed.\n\n{entry}")

    words = "arm", "mass.link.mass", "fails", 'upstream says \0 "é\x7f\\', "ada"
    (expectation,) = baseline.expectations
    assert expectation == Expectation(
        *words, url="https://example.org/1", expires=date(2026, 12, 31)
    )
    assert baseline.header == "# Ours.\n# Reviewed.\n"
    assert baseline.unexplained == ()
    assert baseline.as_toml().endswith(entry)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('reason = "upstream says grams"\n', "", ":1: Object missing required field `reason`"),
        ('owner = "ada"\n', "", ":1: Object missing required field `owner`"),
        ("upstream says grams", " ", ":1: Expected `str` matching"),
        ("mass.link.mass", "mass.link.mas", ":1: there is no check 'mass.link.mas'"),
        ('"fails"', '"exact"', ":1: 'exact' is none of close, fails"),
        ('"fails"', '"crashed"', ":1: 'crashed' is none of"),
        ("robot", "robots", ":1: Object contains unknown field `robots`"),
        ("[[expected]]", "[[expect]]", ": it may have [[expected]] tables alone"),
        ('"ada"', '"ada"\nexpires = "soon"', ":1: Invalid RFC3339"),
        ('"ada"', '"ada"\nexpires = 2026-12-31T10:00:00Z', ":1: Expected `date | null`"),
        ('"ada"', '"ada"\nurl = "javascript:alert(1)"', ":1: Expected `str` matching regex"),
        (_ENTRY, f"{_ENTRY}\n{_ENTRY}", ":8: arm mass.link.mass is expected twice"),
        ('"ada"', "ada", ": Invalid value (at line 6, column 9)"),
    ],
)
def test_invalid_baseline_is_refused_with_its_line(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    with pytest.raises(CorpusError) as refusal:
        _read(tmp_path, _ENTRY.replace(before, after))

    assert f"known.toml{message}" in str(refusal.value)


def test_entry_without_a_converter_applies_to_the_default(tmp_path: Path) -> None:
    """Entries of two converters for the same failure are no duplicates."""
    theirs = _ENTRY.replace("[[expected]]", '[[expected]]\nconverter = "peer"')

    baseline = _read(tmp_path, f"{theirs}\n{_ENTRY}")

    assert [one.converter for one in baseline.expectations] == ["peer", "urdf-usd"]
    written = baseline.as_toml().partition("\n\n")[2]
    assert written == f"{theirs}\n{_ENTRY}"
    assert list(baseline.about(["peer"])) == [("arm", "mass.link.mass", "peer")]


def test_entry_with_a_placeholder_reason_gives_a_warning(tmp_path: Path) -> None:
    baseline = Baseline().holding([Expectation("arm", "verdict", "crashed", REASON, OWNER)])

    read = _read(tmp_path, baseline.as_toml())

    assert read.expectations == baseline.expectations
    assert [warning.partition("known.toml:")[2] for warning in read.unexplained] == [
        "4: warning: the reason of arm verdict is missing",
        "4: warning: the owner of arm verdict is missing",
    ]


NOT_READ = (r.Verdict.UNREADABLE, r.Verdict.NOT_AVAILABLE)
MASS = "mass.link"
POSITION = "kinematics.position"


def _check(check: str, grade: r.Grade) -> r.CheckRecord:
    finding = r.Difference(subject="link a", message=f"{check} is off", assigned=grade)
    return r.CheckRecord(
        id=check, title=check, group="", unit="1", grade=grade, compared=1, findings=(finding,)
    )


def robot(name: str, verdict: r.Verdict, **grades: r.Grade) -> r.RobotRecord:
    """Build a record; a double underscore in a check's name stands for a dot."""
    return r.RobotRecord(
        id=name,
        name=name,
        source=r.SourceRecord(reference=f"file:{name}.urdf"),
        converter="none",
        verdict=verdict,
        reason=f"{name} is {verdict}",
        checks=tuple(_check(key.replace("__", "."), grade) for key, grade in grades.items()),
    )


def _expected(name: str, check: str, grade: str) -> Expectation:
    return Expectation(name, check, grade, "upstream", "ada")


def _baseline(*expectations: Expectation) -> Baseline:
    return Baseline().holding(expectations)


def _places(found: Iterable[r.FailureRecord]) -> list[tuple[str, str]]:
    return [(one.robot, one.check) for one in found]


GOOD = robot("good", r.Verdict.EXACT, mass__link=r.Grade.EXACT)
BAD = robot("bad", r.Verdict.FAILS, mass__link=r.Grade.FAILS, kinematics__position=r.Grade.CLOSE)
BAD_MASS = _expected("bad", MASS, "fails")
PARTS = robot(
    "parts",
    r.Verdict.INCOMPLETE,
    mass__link=r.Grade.NOT_COMPARABLE,
    kinematics__position=r.Grade.CLOSE,
    limits__effort=r.Grade.NOT_APPLICABLE,
)


@pytest.mark.parametrize("verdict", r.Verdict)
def test_one_nonconforming_robot_fails_the_run(verdict: r.Verdict) -> None:
    """Those that cannot be read fail a strict gate, and a run without any other."""
    is_unread, records = verdict in NOT_READ, [GOOD, robot("a", verdict)]
    strict = apply_gate(records, strict=True)

    assert (apply_gate(records).gate is Gate.PASSES) is (verdict.agrees or is_unread)
    assert (strict.gate is Gate.PASSES) is verdict.agrees
    assert _places(strict.failures.new) == ([] if verdict.agrees else [("a", VERDICT)])
    for is_strict in (False, True):
        alone = apply_gate(records[1:], strict=is_strict)
        assert (alone.gate is Gate.NOTHING_READ) is is_unread
        assert apply_gate([], strict=is_strict).gate is Gate.NOTHING_READ


_CLOSE = robot("near", r.Verdict.CLOSE, mass__link=r.Grade.CLOSE)
# Layers of the USD are missing, which no check is about.
_LACKING = robot("a", r.Verdict.INCOMPLETE, mass__link=r.Grade.EXACT)


@pytest.mark.parametrize(
    ("record", "fail_on", "checks"),
    [
        (_CLOSE, FailOn.FAILS, []),
        (_CLOSE, FailOn.INCOMPLETE, []),
        (_CLOSE, FailOn.CLOSE, [MASS]),
        (PARTS, FailOn.FAILS, []),
        (PARTS, FailOn.INCOMPLETE, [MASS]),
        (PARTS, FailOn.CLOSE, [MASS, POSITION]),
        (_LACKING, FailOn.FAILS, []),
        (_LACKING, FailOn.INCOMPLETE, [VERDICT]),
        (_LACKING, FailOn.CLOSE, [VERDICT]),
    ],
)
def test_least_severe_result_that_fails_can_be_chosen(
    record: r.RobotRecord, fail_on: FailOn, checks: list[str]
) -> None:
    result = apply_gate([record], fail_on=fail_on)

    assert result.gate is (Gate.FAILS if checks else Gate.PASSES)
    assert [one.check for one in result.failures.new] == checks


@pytest.mark.parametrize(
    ("expected", "actual", "expires", "listed"),
    [
        ("fails", r.Grade.FAILS, None, "expected"),
        ("fails", r.Grade.DISPUTED, None, "expected"),
        ("disputed", r.Grade.FAILS, None, "worse"),
        ("not comparable", r.Grade.DISPUTED, None, "worse"),
        ("close", r.Grade.NOT_COMPARABLE, None, "worse"),
        ("fails", r.Grade.FAILS, date(2026, 5, 4), "expected"),
        ("fails", r.Grade.FAILS, date(2026, 5, 3), "expired"),
        ("close", r.Grade.FAILS, date(2026, 5, 3), "worse"),
        ("fails", r.Grade.EXACT, date(2026, 5, 3), "fixed"),
        ("fails", r.Grade.EXACT, None, "fixed"),
    ],
)
def test_entry_covers_its_grade_until_its_last_day(
    expected: str, actual: r.Grade, expires: date | None, listed: str
) -> None:
    entry = structs.replace(_expected("a", MASS, expected), expires=expires)
    record = robot("a", r.Verdict(actual.value), mass__link=actual)

    result = apply_gate([record], baseline=_baseline(entry), today=date(2026, 5, 4))

    assert result.gate is (Gate.FAILS if listed in {"worse", "expired"} else Gate.PASSES)
    lists = structs.asdict(result.failures)
    assert {name for name, rows in lists.items() if rows} == {listed}
    (row,) = lists[listed]
    assert (row.expected, row.reason) == (expected, "upstream")
    assert row.grade == ("" if listed == "fixed" else actual.value)
    assert row.expires == (expires.isoformat() if expires else None)


def test_robot_that_became_unreadable_fails_with_a_baseline() -> None:
    records = [GOOD, robot("a", r.Verdict.UNREADABLE)]
    known = _baseline(_expected("a", VERDICT, "unreadable"))

    assert apply_gate(records).gate is Gate.PASSES
    assert apply_gate(records, baseline=_baseline()).gate is Gate.FAILS
    assert apply_gate(records, baseline=known).gate is Gate.PASSES
    assert apply_gate([GOOD, robot("a", r.Verdict.CRASHED)], baseline=known).gate is Gate.FAILS


def test_entries_without_a_result_are_not_fixed() -> None:
    places = [("good", MASS), ("gone", MASS), ("elsewhere", MASS)]
    entries = [_expected(*place, "fails") for place in places]
    entries += [_expected("good", VERDICT, "crashed"), _expected("near", MASS, "close")]
    records = [GOOD, _CLOSE, robot("gone", r.Verdict.NOT_AVAILABLE)]

    result = apply_gate(records, baseline=_baseline(*entries))

    assert result.gate is Gate.PASSES
    assert _places(result.failures.fixed) == [("good", MASS), ("good", VERDICT)]
    assert result.failures.absent == 1


def test_entries_apply_to_their_converter_only() -> None:
    ours, theirs = (structs.replace(BAD, candidate=name) for name in (OURS, "peer"))
    peers = structs.replace(BAD_MASS, converter="peer")
    known = _baseline(peers)

    assert apply_gate([ours], baseline=known).gate is Gate.FAILS
    assert apply_gate([ours], baseline=known).failures.absent == 0
    assert apply_gate([theirs], baseline=known).gate is Gate.PASSES
    assert apply_gate([theirs], baseline=_baseline(BAD_MASS)).gate is Gate.FAILS
    found = failures([ours], fail_on=FailOn.FAILS, strict=False, unreadable=True)
    both = updated_baseline([ours], known, found)
    assert both.expectations == (peers, Expectation("bad", MASS, "fails", REASON, OWNER))
    assert apply_gate([ours, theirs], baseline=both).gate is Gate.PASSES


def test_updated_baseline_lets_the_same_run_pass() -> None:
    unread = robot("broken", r.Verdict.UNREADABLE), robot("gone", r.Verdict.NOT_AVAILABLE)
    records = [GOOD, BAD, *unread]
    kept = _expected("elsewhere", POSITION, "fails"), _expected("gone", MASS, "fails")
    fixed = _expected("good", MASS, "fails")
    before = _baseline(fixed, _expected("bad", MASS, "disputed"), *kept)
    found = failures(records, fail_on=FailOn.FAILS, strict=False, unreadable=True)

    after = updated_baseline(records, before, found)

    broken = Expectation("broken", VERDICT, "unreadable", REASON, OWNER)
    assert after.expectations == (BAD_MASS, broken, *kept)
    assert apply_gate(records, baseline=after).gate is Gate.PASSES
