"""Quantities, names, signs and colours in reports."""

from __future__ import annotations

import html
import math
import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.reports import text as t
from urdf_usd.reports.records.record import Grade, Range, Value, Verdict


def _typed(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MULTIPLICATION SIGN}", "x")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.0994415283203125e-06, "m", "3.1 µm"),
        (1.7e-7, "rad", "0.17 µrad"),
        (6.2e-8, "m", "62 nm"),
        (0.0031, "m", "3.1 mm"),
        (0.1, "m", "0.1 m"),
        (1e-4, "m", "0.1 mm"),
        (1e-5, "rad/s", "10 µrad/s"),
        (9.97e-6, "m", "10 µm"),
        (9.97e-5, "m", "0.1 mm"),
        (-0.0031, "m", "-3.1 mm"),
        (2.2e-16, "m", "2.2x10⁻¹⁶ m"),
        (2.5e7, "m", "2.5x10⁷ m"),
        (1.7e-7, "rad or m", "0.17 µrad or µm"),
        (0.2, "rad or m", "0.2 rad or m"),
        (0.02, "N m", "20 mN·m"),
        (3.2e-6, "m^2", "3.2x10⁻⁶ m²"),
        (3.1e-6, "kg m^2", "3.1x10⁻⁶ kg·m²"),
        (3.1e-9, "kg", "3.1 µg"),
        (0.02, "kg", "20 g"),
        (2.5, "kg", "2.5 kg"),
        (3.1e-8, "1", "3.1x10⁻⁸"),
        (1e-4, "1", "1x10⁻⁴"),
        (0.5, "1", "50 %"),
        (0.0123, "1", "1.2 %"),
        (4000.0, "1", "400,000 %"),
        (2e5, "1", "2x10⁷ %"),
        (7.0, "", "7"),
        (0.0, "m", "0"),
        (-0.0, "m", "0"),
        (math.inf, "rad", "inf"),
        (math.nan, "1", "nan"),
    ],
)
def test_quantity_has_two_digits_and_a_prefix(value: float, unit: str, text: str) -> None:
    assert _typed(t.quantity(value, unit)) == text


def test_exact_value_keeps_every_digit() -> None:
    assert t.exact(3.0994415283203125e-06, "m").split() == ["3.0994415283203125e-06", "m"]
    assert t.exact(0.5, "1") == "0.5"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "m", "nothing"),
        ("unlimited", "rad", "unlimited"),
        (2, "", "2"),
        (12_345_678, "", "12345678"),
        (0.1 + 0.2, "kg", "0.3 kg"),
        ((0.0, -0.5, 1 / 3), "m", "(0, -0.5, 0.333333) m"),
        (Range(low=1, high=2), "", "1 to 2"),
        (Range(low=(0.0, 1.0), high=(2.0, 3.0)), "m", "(0, 1) to (2, 3) m"),
    ],
)
def test_values_of_differences_have_their_unit(value: Value | None, unit: str, text: str) -> None:
    assert t.value_text(value, unit) == text


def test_text_is_printable_and_a_long_line_is_shortened_in_the_middle() -> None:
    assert t.plain("a\x00b\x1bc\x7f") == "a␀b␛c␡"
    assert t.plain("gripper\u202egpj") == "gripper\\u202egpj"
    line = t.one_line("a" * 9_000 + "\n" + "b" * 1_000, 40)
    assert line == "a" * 29 + "…" + "b" * 10


@given(st.text(st.characters(), max_size=200))
def test_plain_text_can_be_encoded_and_has_no_controls(text: str) -> None:
    shown = t.plain(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)
    assert shown.encode().decode() == shown


@given(st.text(max_size=100))
def test_markdown_renders_as_the_original_text(text: str) -> None:
    shown = t.markdown(text, 1_000)
    assert not re.search(r"[|`*_<>\[\]]", shown.replace("<!-- -->", ""))
    assert html.unescape(shown.replace("<!-- -->", "")) == t.one_line(text, 1_000)


_STYLE = (resources.files("urdf_usd.reports.html") / "static" / "style.css").read_text("utf-8")
_LIGHT, _DARK = re.findall(r":root \{(.*?)\n *\}", _STYLE, re.DOTALL)[:2]


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: str, second: str) -> float:
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("looks", [t.GRADES, t.VERDICTS])
def test_signs_are_distinct(looks: dict[Grade, object]) -> None:
    signs = [t.appearance(value).sign for value in looks]
    assert len(set(signs)) == len(signs)
    assert all(len(sign) == 1 for sign in signs)


@pytest.mark.parametrize("value", [*Grade, *Verdict])
def test_every_appearance_has_a_style_rule(value: Grade | Verdict) -> None:
    assert re.search(rf"\.{t.appearance(value).name}[ ,{{].*--tone", _STYLE)


@pytest.mark.parametrize("theme", [_LIGHT, _DARK], ids=["light", "dark"])
def test_text_has_sufficient_contrast(theme: str) -> None:
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", theme))
    pairs = [(ink, page) for ink in ("ink", "muted", "link") for page in ("page", "surface")]
    tones = [name.removesuffix("-tint") for name in colours if name.endswith("-tint")]
    assert len(tones) == 7
    for tone in tones:
        pairs += [(tone, f"{tone}-tint"), (tone, "page"), (tone, "surface")]
        pairs += [(ink, f"{tone}-tint") for ink in ("ink", "muted")]
    weak = {
        pair: round(ratio, 2)
        for pair in pairs
        if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < 4.5
    }
    assert not weak
