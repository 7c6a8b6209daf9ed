"""Outcomes of cases."""

from __future__ import annotations

import pytest

from urdf_usd.conformance.engines.protocol import Abstained, Crashed, Outcome
from urdf_usd.conformance.expectations.comparison import compare_readings
from urdf_usd.conformance.expectations.judgement import judge_case
from urdf_usd.reports.records.suite_case import (
    CaseFailureRecord,
    CaseOutcome,
    CaseReadingRecord,
    Expected,
)

OFF = CaseFailureRecord(subject="link tip", quantity="mass", expected="2", actual="3")
GOOD = CaseReadingRecord(engine="openusd", compared=4)
WRONG = CaseReadingRecord(engine="openusd", compared=4, failures=(OFF,) * 5)
UNREAD = CaseReadingRecord(engine="openusd", reason="no default prim")
SIMULATOR = CaseReadingRecord(engine="newton-usd", compared=4, failures=(OFF,))
ANY = Expected()
REFUSED = Expected(refused=True, diagnostics=("tree-roots",))
REPORTED = Expected(diagnostics=("mesh-missing",))
MASS = "link tip: mass 3, expected 2"


@pytest.mark.parametrize(
    ("expected", "readings", "refusal", "rules", "outcome", "reason"),
    [
        (ANY, (GOOD, SIMULATOR), None, None, CaseOutcome.PASS, ""),
        (
            *(ANY, (WRONG,), None, None, CaseOutcome.FAIL),
            f"{MASS}; {MASS}; {MASS}; and 2 more",
        ),
        (ANY, (), "no joints", None, CaseOutcome.REFUSED_WRONGLY, "no joints"),
        (ANY, (), None, None, CaseOutcome.CRASHED, "signal 11"),
        (
            *(ANY, (UNREAD,), None, None, CaseOutcome.CRASHED),
            "the USD cannot be read: no default prim",
        ),
        (REFUSED, (), "two roots", {"tree-roots"}, CaseOutcome.REFUSED, ""),
        (REFUSED, (), "two roots", None, CaseOutcome.REFUSED, ""),
        (
            *(REFUSED, (), "two roots", {"other"}, CaseOutcome.FAIL),
            "not reported: tree-roots",
        ),
        (REFUSED, (), None, None, CaseOutcome.CRASHED, "signal 11"),
        (
            *(REFUSED, (GOOD,), None, None, CaseOutcome.FAIL),
            "a USD was written of a file that must be refused",
        ),
        (REPORTED, (GOOD,), None, {"mesh-missing"}, CaseOutcome.PASS, ""),
        (REPORTED, (GOOD,), None, None, CaseOutcome.PASS, ""),
        (
            *(REPORTED, (GOOD,), None, set(), CaseOutcome.FAIL),
            "not reported: mesh-missing",
        ),
    ],
)
def test_outcome(
    expected: Expected,
    readings: tuple[CaseReadingRecord, ...],
    refusal: str | None,
    rules: set[str] | None,
    outcome: CaseOutcome,
    reason: str,
) -> None:
    """By OpenUSD's observation alone, and for our converter by its rules."""
    found = judge_case(
        expected,
        readings,
        refusal=refusal,
        written=bool(readings),
        crash="signal 11",
        rules=rules,
    )

    assert found == (outcome, reason)


def test_engines_without_an_observation_have_a_reason() -> None:
    """They abstained, or crashed."""
    outcomes: dict[str, Outcome] = {
        "newton-usd": Abstained("a cycle"),
        "physx": Crashed("signal 11"),
    }

    assert compare_readings(ANY, outcomes) == (
        CaseReadingRecord(engine="newton-usd", reason="a cycle"),
        CaseReadingRecord(engine="physx", reason="signal 11"),
    )
