"""Whether a run may pass."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.record import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

# The converter and the USD cannot be blamed for a file that is no robot, or that could
# not be fetched; they are listed, and count under --strict alone.
_NOT_READ = frozenset({Verdict.UNREADABLE, Verdict.NOT_AVAILABLE})


class Gate(StrEnum):
    """Result of a gate."""

    PASSES = "passes"
    FAILS = "fails"
    NOTHING_READ = "nothing read"


def gate(verdicts: Iterable[Verdict], *, strict: bool = False) -> Gate:
    """Decide over the verdicts of a run.

    A run passes when every robot that could be read conforms. What is disputed or not
    comparable is not proven, so it does not pass. A run that read nothing has shown
    nothing.

    Args:
        verdicts: One verdict per robot.
        strict: Whether robots that could not be read or fetched count as well.
    """
    seen = tuple(verdicts)
    read = [verdict for verdict in seen if verdict not in _NOT_READ]
    if not read:
        return Gate.NOTHING_READ
    counted = seen if strict else read
    conform = all(verdict.conforms for verdict in counted)
    return Gate.PASSES if conform else Gate.FAILS
