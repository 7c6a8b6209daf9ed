"""Numbers in attribute text."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.urdf.decimals import read


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
def test_decimal_notation_is_read_without_remark(text: str, value: float) -> None:
    """These are the forms that the C locale's strtod takes."""
    found = read(text, 1)

    assert found is not None
    assert (found.values, found.stray, found.surplus) == ((value,), False, False)


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
def test_anything_else_is_not_a_number(text: str) -> None:
    """Among them what ``float`` takes: separators and digits of other scripts."""
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
def test_punctuation_that_leaves_one_meaning_is_dropped(
    text: str, values: tuple[float, ...]
) -> None:
    """Three numbers remain, whatever stands between them."""
    found = read(text, 3)

    assert found is not None
    assert (found.values, found.stray) == (values, True)


@pytest.mark.parametrize("text", ["0,5 0,5 0,5", "1,2", "1,2 3,4"])
def test_decimal_commas_are_not_guessed_at(text: str) -> None:
    """Split at commas, these do not hold three numbers."""
    assert read(text, 3) is None


def test_text_after_the_last_number_wanted_is_surplus() -> None:
    """What follows is not even read."""
    found = read("1 2 3 metres", 3)

    assert found is not None
    assert (found.values, found.surplus) == ((1.0, 2.0, 3.0), True)


def test_negative_zero_becomes_zero() -> None:
    """So that equal robots are also written alike."""
    found = read("-0.0", 1)

    assert found is not None
    assert math.copysign(1.0, found.values[0]) == 1.0


@given(st.text(), st.integers(min_value=1, max_value=4))
def test_no_text_makes_the_reader_raise(text: str, count: int) -> None:
    """Files are written by people and by broken tools."""
    found = read(text, count)

    assert found is None or 1 <= len(found.values) <= count


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3))
def test_every_double_survives_its_shortest_notation(values: list[float]) -> None:
    """Bit for bit, but for the sign of zero."""
    found = read(" ".join(map(repr, values)), 3)

    assert found is not None
    wanted = [value + 0.0 for value in values]
    assert struct.pack("3d", *found.values) == struct.pack("3d", *wanted)


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000"])
def test_spaces_that_xml_takes_for_text_are_remarked(space: str) -> None:
    """They look the same, and separate nothing for other readers."""
    found = read(f"1{space}2 3", 3)

    assert found is not None
    assert (found.values, found.stray) == ((1.0, 2.0, 3.0), True)
