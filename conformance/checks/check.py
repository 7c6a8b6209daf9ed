"""What a check is, and how differences of values are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, structs

from urdf_usd.conformance.observation.robot import Observation, Quantity
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.reports.quantities import value_text
from urdf_usd.reports.records.record import Difference, Value


class Compared(Struct, frozen=True):
    """Differences of a quantity that both sides state."""

    differences: tuple[Difference, ...]  # one per value, equal ones included
    # the differences to report, if several values have one cause; None for all of them
    reported: tuple[Difference, ...] | None = None
    note: str | None = None  # why nothing, or not everything, was compared

    @property
    def shown(self) -> tuple[Difference, ...]:
        """The differences to report."""
        return self.differences if self.reported is None else self.reported

    def each(self, change: Callable[[Difference], Difference | None]) -> Compared:
        """Change every difference; those for which there is None are left out."""
        changed, reported = (
            part and tuple(new for one in part if (new := change(one)) is not None)
            for part in (self.differences, self.reported)
        )
        return Compared(changed or (), reported, self.note)


class Incomparable(Struct, frozen=True):
    """A side does not state the quantity."""

    reason: str


Comparison: TypeAlias = Compared | Incomparable


def with_losses(comparison: Comparison) -> Comparison:
    """Let values fail that only the first side states."""

    def lost(one: Difference) -> Difference:
        is_lost = math.isnan(one.amount) and not one.unknown
        return structs.replace(one, amount=math.inf) if is_lost else one

    return comparison if isinstance(comparison, Incomparable) else comparison.each(lost)


# Compares the expected with the actual observation.
Comparer: TypeAlias = Callable[
    [Observation, Observation, ToleranceModel], Comparison | Iterable[Difference]
]


class Check(Struct, frozen=True):
    """One comparison of two observations of a robot."""

    id: str  # stable, never reused; begins with the group
    title: str  # the compared quantity, in a few words
    unit: str  # of differences; empty for equality and ``1`` for ratios
    quantity: Quantity  # which both engines must state
    function: Comparer
    clause: str  # what is compared, and why it matters
    usd_alone: bool = False  # concerns the USD alone: URDF engines take no part
    note: str | None = None  # why nothing was compared, if the function yields nothing
    direct: str | None = None  # of a check of the round trip: the check that it repeats

    @property
    def group(self) -> str:
        """Heading under which it is shown."""
        return self.id.partition(".")[0]


class CheckGroup:
    """The checks of one group, in the order of reports, which is that of their definitions."""

    def __init__(self) -> None:
        self.checks: list[Check] = []

    def check(
        self,
        id: str,
        title: str,
        quantity: Quantity,
        unit: str = "",
        note: str | None = None,
        *,
        usd_alone: bool = False,
    ) -> Callable[[Comparer], Comparer]:
        """Add a function as a check; its docstring is the clause."""

        def add(function: Comparer) -> Comparer:
            clause = " ".join((function.__doc__ or "").split())
            self.checks.append(Check(id, title, unit, quantity, function, clause, usd_alone, note))
            return function

        return add


def compare(
    check: Check, expected: Observation, actual: Observation, model: ToleranceModel
) -> Comparison:
    """Compare the quantity of a check, if both observations state it."""
    for side in (expected, actual):
        if check.quantity not in side.states:
            return Incomparable(f"{side.engine} does not state {check.quantity}")
    found = check.function(expected, actual, model)
    if isinstance(found, Compared | Incomparable):
        return found
    differences = tuple(found)
    return Compared(differences, note=None if differences else check.note)


def stated(number: float | None, undefined: str = "nan") -> Value:
    """Return a number as a value of a difference, or the word for one that is not finite."""
    if number is None:
        return "absent"
    if math.isinf(number):
        return "unlimited" if number > 0 else "unlimited below"
    return undefined if math.isnan(number) else number


def equality(
    subject: str,
    same: bool,
    message: str,
    expected: Value | None = None,
    actual: Value | None = None,
    *,
    item: str | None = None,
    unit: str = "",
) -> Difference:
    """Return the difference of a value that is as expected or fails.

    Args:
        subject: Kind and name: ``link forearm``.
        same: Whether both sides have the same value.
        message: Describes the difference.
        expected: Value on the URDF side.
        actual: Value on the USD side.
        item: The name alone; that of the subject, if it is None.
        unit: Of both values, if they are numbers.
    """
    return Difference(
        item=subject.partition(" ")[2] if item is None else item,
        subject=subject,
        amount=0.0 if same else math.inf,
        message=message,
        expected=expected,
        actual=actual,
        unit=unit,
    )


def difference(
    subject: str,
    what: str,
    values: Sequence[Value],
    unit: str = "",
    hint: str = "",
    **fields: Any,  # noqa: ANN401  of a difference
) -> Difference:
    """Return the difference of a measured value: ``subject: what is actual, not expected``.

    Args:
        subject: Kind and name: ``link forearm``.
        what: The quantity, for the message.
        values: On the URDF side, and on the USD side.
        unit: Of both values.
        hint: End of the message.
        fields: Others of the difference; a message replaces the usual one.
    """
    expected, actual = values
    texts = value_text(expected, unit), value_text(actual, unit)
    made = {
        "item": subject.partition(" ")[2],
        "message": f"{subject}: {what} is {texts[1]}, not {texts[0]}{hint}",
        **fields,
    }
    return Difference(subject=subject, expected=expected, actual=actual, unit=unit, **made)


def flags(
    kind: str,
    names: Iterable[str],
    flagged: Iterable[str],
    message: str,
    values: tuple[str, str],
) -> tuple[Difference, ...]:
    """Return a difference per link or joint; those with a flag fail.

    Args:
        kind: Of the names: link or joint.
        names: All that are compared.
        flagged: Names of those with the flag.
        message: Describes a failure; ``{}`` stands for the name.
        values: The expected value, and that of a failure.
    """
    wrong = set(flagged)
    return tuple(
        equality(
            f"{kind} {name}",
            name not in wrong,
            message.replace("{}", name),
            values[0],
            values[name in wrong],
        )
        for name in names
    )


def relative_difference(expected: float, actual: float, least: float = 0.0) -> float:
    """Return the difference of two numbers relative to the expected one.

    4 kg instead of 0.1 kg is 39, and 0.1 kg instead of 4 kg is 0.975. The difference from numbers
    smaller than ``least`` is relative to it. It is inf if the numbers differ and the scale is
    zero, or one is not finite.
    """
    if expected == actual:
        return 0.0
    scale = max(abs(expected), least)
    if not scale or not (math.isfinite(expected) and math.isfinite(actual)):
        return math.inf
    return abs(expected - actual) / scale
