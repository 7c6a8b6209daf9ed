"""Numbers in attribute text."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.urdf.kinds import read_decimals as read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.07", 0.07),
        (".5", 0.5),
        ("1.", 1.0),
        ("+1", 1.0),
        ("-2E-3", -0.002),
        (" \t7\n", 7.0),
        ("1e400", math.inf),
        ("-inf", -math.inf),
        ("Infinity", math.inf),
    ],
)
def test_decimal_notation_is_read_without_diagnostics(text: str, value: float) -> None:
    """The notations of strtod in the C locale."""
    found = read(text, 1)

    assert found is not None
    assert found == ((value,), False, False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "abc",
        "1_000",
        "٣",
        "0x10",
        "1e",
        "--1",
        "0,5",
        "1.0f",
        "${x}",
        ",",
        "\N{MINUS SIGN}1",
    ],
)
def test_other_notations_are_not_numbers(text: str) -> None:
    """Including those of ``float``: digit separators and digits of other scripts."""
    assert read(text, 1) is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.07, 0, -0.69", (0.07, 0.0, -0.69)),
        ("1,2,3", (1.0, 2.0, 3.0)),
        ("[0. 0. 1.]", (0.0, 0.0, 1.0)),
        ("(1; 2; 3)", (1.0, 2.0, 3.0)),
    ],
)
def test_unambiguous_punctuation_is_dropped(text: str, values: tuple[float, ...]) -> None:
    """Three numbers remain, with any punctuation between them."""
    found = read(text, 3)

    assert found is not None
    assert found[:2] == (values, True)


@pytest.mark.parametrize("text", ["0,5 0,5 0,5", "1,2", "1,2 3,4"])
def test_decimal_commas_are_refused(text: str) -> None:
    """Split at commas, the texts do not have three numbers."""
    assert read(text, 3) is None


def test_text_after_the_last_required_number_is_surplus() -> None:
    """It is not parsed."""
    found = read("1 2 3 metres", 3)

    assert found is not None
    assert found == ((1.0, 2.0, 3.0), False, True)


def test_negative_zero_becomes_zero() -> None:
    """Equal robots are written equally."""
    found = read("-0.0", 1)

    assert found is not None
    assert math.copysign(1.0, found[0][0]) == 1.0


@given(st.text(), st.integers(min_value=1, max_value=4))
def test_no_text_raises(text: str, count: int) -> None:
    """For any string."""
    found = read(text, count)

    assert found is None or 1 <= len(found[0]) <= count


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3))
def test_shortest_notation_of_every_double_is_read_exactly(values: list[float]) -> None:
    """Bit for bit, except the sign of zero."""
    found = read(" ".join(map(repr, values)), 3)

    assert found is not None
    expected = [value + 0.0 for value in values]
    assert struct.pack("3d", *found[0]) == struct.pack("3d", *expected)


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000"])
def test_non_ascii_spaces_are_reported(space: str) -> None:
    """They look like spaces, but other engines do not split at them."""
    found = read(f"1{space}2 3", 3)

    assert found is not None
    assert found[:2] == ((1.0, 2.0, 3.0), True)
