"""Whether a run may pass."""

from __future__ import annotations

import pytest

from conformance.gate import Gate, gate
from conformance.record import Verdict

NOT_READ = (Verdict.UNREADABLE, Verdict.NOT_AVAILABLE)


@pytest.mark.parametrize("verdict", Verdict)
def test_one_robot_that_does_not_conform_fails_a_run(verdict: Verdict) -> None:
    """Exact and close pass; what could not be read is not counted."""
    passes = verdict.conforms or verdict in NOT_READ

    decision = gate([Verdict.EXACT, verdict, Verdict.CLOSE])

    assert decision is (Gate.PASSES if passes else Gate.FAILS)


@pytest.mark.parametrize("verdict", NOT_READ)
def test_strict_counts_what_could_not_be_read(verdict: Verdict) -> None:
    """A release may insist on every file."""
    assert gate([Verdict.EXACT, verdict], strict=True) is Gate.FAILS


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdicts", [(), NOT_READ])
def test_a_run_that_read_nothing_does_not_pass(
    verdicts: tuple[Verdict, ...],
    strict: bool,  # noqa: FBT001  # a pytest parameter
) -> None:
    """Nothing wrong was seen because nothing was seen."""
    assert gate(verdicts, strict=strict) is Gate.NOTHING_READ
