"""Text of reports: names that are safe to show, quantities with few digits, signs of grades."""

from __future__ import annotations

import math
import re
from functools import lru_cache

import msgspec

from urdf_usd.reports.records.record import Grade, Range, Value, Verdict

# Controls except tab and newline, lone surrogates and the non-characters of the first
# plane: everything that XML 1.0 forbids, and terminal control codes.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_FORMATS = re.compile(r"\bU(?:RDF|SD)\b")
_MARKDOWN = re.compile(r"[&<>|`*_\[\]~\\@#]")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
# Only units of the first power take a prefix: 1 µm² is not a micro-(m²).
_TAKES_PREFIX = re.compile(r"(m|rad|s|N|g)(?![A-Za-z^])")
# Unit of checks of both angles and lengths, such as joint positions.
_OR = " or "
_SMALLEST_MANTISSA = 0.1
_LARGEST_PLAIN = 1e6
_SMALLEST_PLAIN = 1e-3
_SMALLEST_PERCENTAGE = 1e-3
_NOTHING = "\N{EN DASH}"


class Appearance(msgspec.Struct, frozen=True):
    sign: str  # one character, for readers without colour
    name: str  # class in the style sheet
    style: str  # style in the terminal
    rank: int  # position in an order by urgency; 0 is the most urgent
    meaning: str  # short explanation


_GREY = "bright_black"
GRADES = {
    Grade.EXACT: Appearance("✓", "exact", "green", 3, "within float32 rounding"),
    Grade.CLOSE: Appearance("≈", "close", "cyan", 2, "within the tolerance"),
    Grade.FAILS: Appearance("✗", "fails", "red", 0, "outside the tolerance"),
    Grade.DISPUTED: Appearance("?", "disputed", "yellow", 1, "engines of the source disagree"),
    Grade.NOT_COMPARABLE: Appearance(
        _NOTHING, "not-comparable", _GREY, 4, "specified on one side only"
    ),
    Grade.NOT_APPLICABLE: Appearance(
        "\N{MIDDLE DOT}", "not-applicable", _GREY, 5, "nothing to compare"
    ),
}
_MEANINGS = {
    Verdict.EXACT: ("✓", "green", 8, "conforms; the USD matches within float32 rounding"),
    Verdict.CLOSE: ("≈", "cyan", 7, "conforms; the USD matches within the tolerance"),
    Verdict.INCOMPLETE: (
        *("◐", "yellow", 4),
        "not counted as conforming: parts could not be compared",
    ),
    Verdict.FAILS: ("✗", "red", 0, "the USD differs from the source"),
    Verdict.DISPUTED: ("?", "yellow", 2, "engines of the source disagree"),
    Verdict.NOT_COMPARABLE: (_NOTHING, _GREY, 3, "nothing was compared"),
    Verdict.UNREADABLE: ("⊘", "blue", 5, "invalid or unsupported source; not converted"),
    Verdict.CRASHED: ("!", "magenta", 1, "the converter or the USD engine crashed"),
    Verdict.NOT_AVAILABLE: ("○", _GREY, 6, "not fetched, or in a format that no converter reads"),
}
VERDICTS = {
    verdict: Appearance(sign, verdict.replace(" ", "-"), style, rank, meaning)
    for verdict, (sign, style, rank, meaning) in _MEANINGS.items()
}


def appearance(value: Grade | Verdict) -> Appearance:
    return GRADES[value] if isinstance(value, Grade) else VERDICTS[value]


def of_formats(text: str, formats: tuple[str, str] | msgspec.UnsetType) -> str:
    """Name the formats of a record in a text that says URDF for its source, and USD."""
    if formats is msgspec.UNSET:
        return text
    names = dict(zip(("URDF", "USD"), map(str.upper, formats), strict=True))
    return _FORMATS.sub(lambda found: names[found[0]], text)


def plain(text: str) -> str:
    """Replace controls by their symbols, and bidirectional marks by their code."""
    # Most texts are, which takes a fifth of the time.
    if text.isprintable():
        return text
    shown = _UNPRINTABLE.sub(_picture, text)
    return _DIRECTION.sub(lambda mark: f"\\u{ord(mark[0]):04x}", shown)


def one_line(text: str, limit: int) -> str:
    """Return sanitised text on one line, shortened in the middle to ``limit``."""
    line = " ".join(plain(text).split())
    if len(line) <= limit:
        return line
    tail = limit // 4
    return f"{line[: limit - tail - 1]}…{line[-tail:]}"


def markdown(text: str, limit: int) -> str:
    """Escape text for Markdown, after :func:`one_line`.

    Entities also work in table cells and ``<code>``, other than backslashes. The empty comment
    keeps code hosts from notifying a user ``@panda``.
    """
    escaped = _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", one_line(text, limit))
    return escaped.replace("&#64;", "&#64;<!-- -->")


def _picture(match: re.Match[str]) -> str:
    if match[0] < " ":
        # The picture of a control character.
        return chr(0x2400 + ord(match[0]))
    return "\u2421" if match[0] == "\x7f" else "\ufffd"


def quantity(value: float, unit: str, digits: int = 2) -> str:
    """Format a value with an SI prefix and significant digits, for example ``3.1 µm``.

    The unit is such as ``m``, ``kg m^2`` or ``rad or m``; ``1`` for a ratio, empty for a plain
    number. Zero, ``inf`` and ``nan`` have none.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}".replace("-0", "0")
    # Rounded first, because a carry (9.97 -> 10) affects the choice of the format.
    rounded = float(f"{value:.{digits - 1}e}")
    number = value if abs(value) >= 10**digits else rounded
    if unit == "1":
        if abs(number) < _SMALLEST_PERCENTAGE:
            return _plain(number, "", digits)
        if abs(number) < _LARGEST_PLAIN / 100:
            return f"{_decimal(number * 100, digits, grouped=True)} %"
        return _plain(number * 100, "%", digits)
    if unit == "kg":
        grams = abs(number) < _SMALLEST_MANTISSA
        return _prefixed(number * 1e3, "g", digits) if grams else _plain(number, "kg", digits)
    if all(_TAKES_PREFIX.match(choice) for choice in unit.split(_OR)):
        return _prefixed(number, unit, digits)
    return _plain(number, unit, digits)


def value_text(value: Value | None, unit: str = "") -> str:
    """Format a value of a difference, for example ``(0, 0, 0.5) m``; None is ``nothing``."""
    match value:
        case None:
            return "nothing"
        case str():
            return value
        case Range(low=low, high=high):
            text = f"{value_text(low)} to {value_text(high)}"
        case tuple():
            text = f"({', '.join(f'{number:.6g}' for number in value)})"
        case int():
            text = str(value)
        case float():
            text = f"{value:.7g}"
    return f"{text} {unit}".rstrip()


def exact(value: float, unit: str) -> str:
    return f"{value!r}{_suffix('' if unit == '1' else unit)}"


def duration(seconds: float | None) -> str:
    return _NOTHING if seconds is None else quantity(seconds, "s")


def size(count: int | None) -> str:
    """Format a number of bytes with a binary prefix."""
    if count is None:
        return _NOTHING
    power = min((max(count, 1).bit_length() - 1) // 10, 3)
    return f"{count / 1024**power:.3g} {('', 'Ki', 'Mi', 'Gi')[power]}B"


@lru_cache
def unit_symbol(unit: str) -> str:
    """Typeset a unit: ``kg m^2`` becomes ``kg·m²``."""
    raised = re.sub(r"\^(-?\d+)", lambda m: m[1].translate(_SUPERSCRIPTS), unit)
    return _OR.join(choice.replace(" ", "·") for choice in raised.split(_OR))


def _prefixed(number: float, unit: str, digits: int) -> str:
    for factor, prefix in _PREFIXES:
        mantissa = number / factor
        # The margin formats 1e-4 m, which is 0.0999… mm in binary, in millimetres.
        if abs(mantissa) >= _SMALLEST_MANTISSA * (1 - 1e-9):
            prefixed = _OR.join(prefix + choice for choice in unit.split(_OR))
            return _plain(mantissa, prefixed, digits)
    return _plain(number, unit, digits)


def _plain(number: float, unit: str, digits: int) -> str:
    if _SMALLEST_PLAIN <= abs(number) < _LARGEST_PLAIN:
        return _decimal(number, digits) + _suffix(unit)
    mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
    power = str(int(exponent)).translate(_SUPERSCRIPTS)
    return f"{mantissa.removesuffix('.0')}\N{MULTIPLICATION SIGN}10{power}{_suffix(unit)}"


def _decimal(number: float, digits: int, *, grouped: bool = False) -> str:
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    text = f"{number:{',' if grouped else ''}.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _suffix(unit: str) -> str:
    # No line break between a number and its unit.
    return f"\N{NO-BREAK SPACE}{unit_symbol(unit)}" if unit else ""
