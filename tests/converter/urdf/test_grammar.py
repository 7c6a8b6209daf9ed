"""The generic reader with a small test grammar, and the URDF grammar itself."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.urdf import grammar
from urdf_usd.converter.urdf.grammar import (
    AttributeType,
    Child,
    ElementType,
    Flag,
    Name,
    Node,
    Number,
    Vector,
    read,
    read_decimals,
    walk,
)
from urdf_usd.converter.urdf.xml import parse_markup

_COUNT = AttributeType("count", Number(), 7.0)
_NAME = AttributeType("name", Name(), "", required=True)
_MASS = AttributeType("mass", Number(), 0.0, required=True)
_YEAR = AttributeType("year", Number(), 1.0, since=(1, 1))
_PAIR: AttributeType[tuple[float, ...]] = AttributeType("pair", Vector(2), (3.0, 4.0))
_RANK: AttributeType[float | None] = AttributeType("rank", Number(), None)
_WHOLE = AttributeType("whole", Flag(), default=False)
_LEAF = ElementType("leaf", "test", (_COUNT, _PAIR, _YEAR, _RANK, _WHOLE))
_STEM = ElementType("stem", "test", (_NAME,))
_TREE = ElementType(
    "tree",
    "test",
    (_NAME, _MASS),
    (Child(_LEAF, repeats=True), Child(_STEM, required=True)),
)


def _read(text: str) -> tuple[Node, tuple[Diagnostic, ...]]:
    notes: list[Diagnostic] = []
    root = parse_markup(text.encode(), "t.xml", notes)
    notes.clear()
    return read(root, _TREE, (1, 0), notes), tuple(notes)


def test_values_are_converted_and_defaults_applied() -> None:
    node, found = _read('<tree name="oak" mass="5"><leaf count="2"/><stem name="s"/><leaf/></tree>')

    assert not found
    assert (node[_NAME], node[_MASS]) == ("oak", 5.0)
    assert [leaf[_COUNT] for leaf in node.all(_LEAF)] == [2.0, 7.0]
    assert [sorted(leaf.written) for leaf in node.all(_LEAF)] == [["count"], []]
    assert [child.type.tag for child in node.children] == ["leaf", "stem", "leaf"]


def test_absent_element_has_defaults() -> None:
    node, _ = _read('<tree name="oak" mass="5"><stem name="s"/></tree>')

    leaf = node.first_or_default(_LEAF)

    assert node.first(_LEAF) is None
    assert (leaf[_COUNT], leaf[_PAIR], leaf.written) == (7.0, (3.0, 4.0), frozenset())


@pytest.mark.parametrize(
    ("leaf", "rule", "message"),
    [
        (
            'count="x"',
            "number-invalid",
            "<leaf> is not a decimal number: 'x'; 7 is used",
        ),
        ('count=""', "number-invalid", "is not a decimal number: ''; 7 is used"),
        # Which strtod() of C reads as two.
        ('count="0x2"', "number-invalid", "not a decimal number: '0x2'; 7 is used"),
        ('rank="0x2"', "number-invalid", "not a decimal number: '0x2'; ignored"),
        ('whole="yes"', "flag-invalid", "true nor false: 'yes'; false is used"),
        ('count="7,"', "number-punctuation", "stray punctuation: '7,'; 7 is used"),
        ('count="7 8"', "vector-length", "more than 1 number: '7 8'; 7 is used"),
        ('count="nan"', "number-nonfinite", "is not finite: 'nan'"),
        ('count="inf"', "number-nonfinite", "is not finite: 'inf'"),
        ('pair="3"', "number-invalid", "holds 1 of 2 numbers: '3'; 3 4 is used"),
        ('pair="3 nan"', "number-nonfinite", "is not finite: '3 nan'"),
        ('year="3"', "attribute-version", "year of <leaf> needs <robot version='1.1'>"),
    ],
)
def test_invalid_value_is_reported_and_replaced_by_its_default(
    leaf: str, rule: str, message: str
) -> None:
    node, found = _read(f'<tree name="oak" mass="5">\n <leaf {leaf}/><stem name="s"/></tree>')

    assert [d.rule for d in found] == [rule]
    assert message in found[0].message
    assert str(found[0].location) == "t.xml:2:2"
    one = node.first_or_default(_LEAF)
    assert (one[_COUNT], one[_PAIR], one[_YEAR]) == (7.0, (3.0, 4.0), 1.0)
    assert (one[_RANK], one[_WHOLE]) == (None, False)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('<tree mass="5"><stem name="s"/></tree>', "attribute-missing"),
        ('<tree name=" " mass="5"><stem name="s"/></tree>', "attribute-missing"),
        ('<tree name="oak"><stem name="s"/></tree>', "attribute-missing"),
        ('<tree name="oak" mass="x"><stem name="s"/></tree>', "number-required"),
        ('<tree name="oak" mass=""><stem name="s"/></tree>', "number-required"),
        ('<tree name="oak" mass="5"/>', "element-missing"),
        (
            '<tree name="oak" mass="5"><stem name="s"/><stem/><stem/></tree>',
            "element-repeated",
        ),
    ],
)
def test_missing_required_element_is_reported_once(text: str, rule: str) -> None:
    _, found = _read(text)

    assert [d.rule for d in found] == [rule]


def test_content_of_unknown_elements_is_skipped() -> None:
    root = parse_markup(b"<tree><moss><leaf/></moss><leaf><leaf/></leaf></tree>", "t.xml", [])

    visited = [(e.tag, known is not None) for e, known in walk(root, _TREE)]

    assert visited == [("tree", True), ("moss", False), ("leaf", True), ("leaf", False)]


def _element_types(root: ElementType) -> list[ElementType]:
    below = [t for child in root.children for t in _element_types(child.type)]
    return [root, *below]


def test_names_in_the_grammar_are_unique_per_element() -> None:
    for element_type in _element_types(grammar.ROBOT):
        tags = [child.type.tag for child in element_type.children]
        names = [attribute.name for attribute in element_type.attributes]
        assert len({*tags}) == len(tags)
        assert len({*names}) == len(names)
        assert element_type.clause


# ---- Numbers


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
        # Decimal commas: split at commas, the texts do not have three numbers.
        *((text, 3) for text in ("0,5 0,5 0,5", "1,2", "1,2 3,4")),
    ],
)
def test_other_notations_are_not_numbers(text: str, count: int) -> None:
    assert read_decimals(text, count) == (None, ())


@pytest.mark.parametrize(
    ("text", "values", "rule"),
    [
        ("0.07, 0, -0.69", (0.07, 0.0, -0.69), "number-punctuation"),
        ("1,2,3", (1.0, 2.0, 3.0), "number-punctuation"),
        ("[0. 0. 1.]", (0.0, 0.0, 1.0), "number-punctuation"),
        ("(1; 2; 3)", (1.0, 2.0, 3.0), "number-punctuation"),
        # They look like spaces, but other engines do not split at them.
        ("1\u00a02 3", (1.0, 2.0, 3.0), "number-punctuation"),
        ("1\u20032\u30003", (1.0, 2.0, 3.0), "number-punctuation"),
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
