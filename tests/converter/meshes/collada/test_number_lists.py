"""Lists of numbers in every notation."""

from __future__ import annotations

import math
from struct import pack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.meshes.collada.number_lists import read_floats, read_integers

# Signs, points and exponents in places that JSON does not allow, or without digits.
WORDS = st.one_of(
    st.floats().map(repr),
    st.floats(-1e3, 1e3).map(lambda number: f"{number:.6f}"),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(
        r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?",
        fullmatch=True,
    ),
    st.sampled_from(["-0", "0", "-0.0", "INF", "-inf", "nan", "1e400", "5e-324", "007"]),
)
SPACES = st.text(" \t\n\r", min_size=1, max_size=3)


def written(words: list[str], spaces: list[str]) -> bytes:
    """Join words with spaces."""
    pairs = zip(spaces, words, strict=False)
    return "".join(f"{space}{word}" for space, word in pairs).encode()


@given(st.lists(WORDS, max_size=8), st.lists(SPACES, min_size=8, max_size=8))
def test_decimals_equal_those_of_python(words: list[str], spaces: list[str]) -> None:
    """Bit for bit, including the sign of zero; all NaNs are equal."""
    numbers = read_floats(written(words, spaces)).tolist()

    expected = [float(word) for word in words]
    for number, exact in zip(numbers, expected, strict=True):
        assert pack("d", number) == pack("d", exact) or (math.isnan(number) and math.isnan(exact))


@given(
    integers=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=8),
    spaces=st.lists(SPACES, min_size=8, max_size=8),
    signed=st.booleans(),
)
def test_integers_equal_those_of_python(
    integers: list[int], spaces: list[str], *, signed: bool
) -> None:
    """With and without a positive sign."""
    words = [f"{number:+d}" if signed else str(number) for number in integers]

    numbers = read_integers(written(words, spaces))

    assert numbers.dtype == np.int32
    assert numbers.tolist() == integers


@pytest.mark.parametrize(
    "text", ["1, 2", "1 [2] 3", "1 true", '1 "2"', "1 {} 2", "0x10", "1 2]", "1 x"]
)
def test_text_other_than_numbers_is_refused(text: str) -> None:
    """Including words that JSON allows."""
    with pytest.raises(ValueError, match=r"."):
        read_floats(text.encode())
    with pytest.raises(ValueError, match=r"."):
        read_integers(text.encode())


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_empty_text_is_an_empty_list(text: str) -> None:
    """Unlike numpy, which returns one number for it."""
    assert read_floats(text.encode()).tolist() == []
    assert read_integers(text.encode()).tolist() == []


def test_decimals_are_not_integers() -> None:
    """Fractional indices are invalid."""
    with pytest.raises(ValueError, match=r"."):
        read_integers(b"1 2.5 3")


@pytest.mark.parametrize("last", ["0.25", "-0", "+7", "1e400", "nan"])
def test_long_list_equals_a_short_one(last: str) -> None:
    """With any last word and any number of spaces between lines."""
    values = np.random.default_rng(7).normal(size=200_001).round(6).tolist()
    words = [*map(repr, values), last]
    lines = [" ".join(words[at : at + 3]) for at in range(0, len(words), 3)]

    numbers = read_floats("\n  ".join(lines).encode())

    np.testing.assert_array_equal(numbers, [float(word) for word in words])
    assert math.copysign(1, numbers[-1]) == math.copysign(1, float(last))


def test_long_list_of_indices_is_read_in_order() -> None:
    """Including a last word that is not JSON."""
    indices = list(range(300_000))
    text = " ".join(map(str, indices)).encode()

    assert read_integers(text).tolist() == indices
    assert read_integers(text + b" +7").tolist() == [*indices, 7]
