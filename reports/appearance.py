"""Sign, colour and meaning of grades and verdicts, the same in every report."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.reports.records.record import Grade, Verdict


class Appearance(Struct, frozen=True):
    """Look of one grade or verdict."""

    sign: str  # one character, for readers without colour
    name: str  # class in the style sheet
    style: str  # style in the terminal
    rank: int  # position in an order by urgency; 0 is the most urgent
    meaning: str  # short explanation


GRADES = {
    Grade.EXACT: Appearance("✓", "exact", "green", 3, "within float32 rounding"),
    Grade.CLOSE: Appearance("≈", "close", "cyan", 2, "within the tolerance"),
    Grade.FAILS: Appearance("✗", "fails", "red", 0, "outside the tolerance"),
    Grade.DISPUTED: Appearance("?", "disputed", "yellow", 1, "engines of the source disagree"),
    Grade.NOT_COMPARABLE: Appearance(
        "\N{EN DASH}", "not-comparable", "bright_black", 4, "specified on one side only"
    ),
    Grade.NOT_APPLICABLE: Appearance(
        "\N{MIDDLE DOT}", "not-applicable", "bright_black", 5, "nothing to compare"
    ),
}

VERDICTS = {
    Verdict.EXACT: Appearance(
        "✓", "exact", "green", 8, "conforms; the USD matches within float32 rounding"
    ),
    Verdict.CLOSE: Appearance(
        "≈", "close", "cyan", 7, "conforms; the USD matches within the tolerance"
    ),
    Verdict.INCOMPLETE: Appearance(
        "◐",
        "incomplete",
        "yellow",
        4,
        "not counted as conforming: parts could not be compared",
    ),
    Verdict.FAILS: Appearance("✗", "fails", "red", 0, "the USD differs from the source"),
    Verdict.DISPUTED: Appearance("?", "disputed", "yellow", 2, "engines of the source disagree"),
    Verdict.NOT_COMPARABLE: Appearance(
        "\N{EN DASH}", "not-comparable", "bright_black", 3, "nothing was compared"
    ),
    Verdict.UNREADABLE: Appearance(
        "⊘", "unreadable", "blue", 5, "invalid or unsupported source; not converted"
    ),
    Verdict.CRASHED: Appearance(
        "!", "crashed", "magenta", 1, "the converter or the USD engine crashed"
    ),
    Verdict.NOT_AVAILABLE: Appearance(
        "○",
        "not-available",
        "bright_black",
        6,
        "not fetched, or in a format that no converter reads",
    ),
}


def appearance(value: Grade | Verdict) -> Appearance:
    return GRADES[value] if isinstance(value, Grade) else VERDICTS[value]
