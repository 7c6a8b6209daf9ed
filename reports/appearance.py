"""How grades and verdicts look: a sign and a colour each, everywhere the same."""

from __future__ import annotations

from dataclasses import dataclass

from urdf_usd.conformance.records.record import Grade, Verdict


@dataclass(frozen=True, slots=True)
class Appearance:
    """Look of one grade or verdict.

    Attributes:
        sign: One character that says it without colour.
        name: Class in the style sheet.
        style: Style in the terminal.
        rank: Place when the most urgent comes first; 0 is the most urgent.
        meaning: What it says, in a few words.
    """

    sign: str
    name: str
    style: str
    rank: int
    meaning: str


GRADES = {
    Grade.EXACT: Appearance("✓", "exact", "green", 3, "within what float32 can store"),
    Grade.CLOSE: Appearance("≈", "close", "cyan", 2, "within the tolerance"),
    Grade.FAILS: Appearance("✗", "fails", "red", 0, "outside the tolerance"),
    Grade.DISPUTED: Appearance(
        "?", "disputed", "yellow", 1, "the readers of the URDF contradict each other"
    ),
    Grade.NOT_COMPARABLE: Appearance(
        "\N{EN DASH}", "not-comparable", "bright_black", 4, "one side is silent"
    ),
    Grade.NOT_APPLICABLE: Appearance(
        "\N{MIDDLE DOT}", "not-applicable", "bright_black", 5, "nothing to compare"
    ),
}

VERDICTS = {
    Verdict.EXACT: Appearance(
        "✓", "exact", "green", 8, "the USD agrees within what float32 can store"
    ),
    Verdict.CLOSE: Appearance(
        "≈", "close", "cyan", 7, "the USD agrees within the tolerance"
    ),
    Verdict.INCOMPLETE: Appearance(
        "◐", "incomplete", "yellow", 4, "what was compared agrees; parts could not be"
    ),
    Verdict.FAILS: Appearance("✗", "fails", "red", 0, "the USD says something else"),
    Verdict.DISPUTED: Appearance(
        "?", "disputed", "yellow", 2, "the readers of the URDF contradict each other"
    ),
    Verdict.NOT_COMPARABLE: Appearance(
        "\N{EN DASH}", "not-comparable", "bright_black", 3, "nothing was compared"
    ),
    Verdict.UNREADABLE: Appearance(
        "⊘", "unreadable", "blue", 5, "the URDF has no meaning that could be kept"
    ),
    Verdict.CRASHED: Appearance(
        "!", "crashed", "magenta", 1, "the converter or the USD reader died"
    ),
    Verdict.NOT_AVAILABLE: Appearance(
        "○", "not-available", "bright_black", 6, "the robot could not be fetched"
    ),
}


def appearance(value: Grade | Verdict) -> Appearance:
    """Return the look of a grade or verdict."""
    return GRADES[value] if isinstance(value, Grade) else VERDICTS[value]
