"""The grammar of URDF, and numbers; what is read by it is in ``reading.txt``."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.urdf import grammar
from urdf_usd.converter.urdf.grammar import (
    ElementType,
    read_decimals,
)


def _element_types(root: ElementType) -> list[ElementType]:
    below = [t for child in root.children for t in _element_types(child.type)]
    return [root, *below]


def test_names_in_the_grammar_are_unique_per_element() -> None:
    for element_type in _element_types(grammar.ROBOT):
        tags = [child.type.tag for child in element_type.children]
        names = [attribute.name for attribute in element_type.attributes]
        assert len({*tags}) == len(tags)
        assert len({*names}) == len(names)


# Numbers


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
def test_decimal_notation_is_read_as_by_strtod_in_the_c_locale(text: str, value: float) -> None:
    assert read_decimals(text, 1) == ((value,), ())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *((text, 1) for text in ("", "  ", "abc", "1_000", "٣", "0x10", "1e", "--1", "0,5")),
        *((text, 1) for text in ("1.0f", "${x}", ",", "\N{MINUS SIGN}1")),
        # Decimal commas, and a space at which other engines do not split.
        *((text, 3) for text in ("0,5 0,5 0,5", "0,5 1 2", "1,2", "1\u00a02 3")),
    ],
)
def test_other_notations_are_not_numbers(text: str, count: int) -> None:
    assert read_decimals(text, count) == (None, ())


@pytest.mark.parametrize(
    ("text", "values", "rule"),
    [
        ("0.07, 0, -0.69", (0.07, 0.0, -0.69), "number-punctuation"),
        ("[0. 0. 1.]", (0.0, 0.0, 1.0), "number-punctuation"),
        ("(1; 2; 3)", (1.0, 2.0, 3.0), "number-punctuation"),
        ("[1,2,-3]", (1.0, 2.0, -3.0), "number-punctuation"),
        ("1 2 3 metres", (1.0, 2.0, 3.0), "vector-length"),
    ],
)
def test_unambiguous_mistakes_are_read(text: str, values: tuple[float, ...], rule: str) -> None:
    found, flaws = read_decimals(text, 3)

    assert found == values
    assert [flaw for flaw, _ in flaws] == [rule]


@given(st.text(), st.integers(min_value=1, max_value=4))
def test_no_text_raises(text: str, count: int) -> None:
    found, _ = read_decimals(text, count)

    assert found is None or 1 <= len(found) <= count


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3))
def test_shortest_notation_of_every_double_is_read_exactly(values: list[float]) -> None:
    found, _ = read_decimals(" ".join(map(repr, values)), 3)

    assert found is not None
    expected = [value + 0.0 for value in values]
    assert struct.pack("3d", *found) == struct.pack("3d", *expected)
