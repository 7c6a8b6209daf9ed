"""Lists of numbers, however they are written."""

from __future__ import annotations

import math
from struct import pack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.meshes.collada.number_lists import read_floats, read_integers

# Signs, points and exponents in places where JSON has none, or no digits.
WORDS = st.one_of(
    st.floats().map(repr),
    st.floats(-1e3, 1e3).map(lambda number: f"{number:.6f}"),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(
        r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?",
        fullmatch=True,
    ),
    st.sampled_from(
        ["-0", "0", "-0.0", "INF", "-inf", "nan", "1e400", "5e-324", "007"]
    ),
)
SPACES = st.text(" \t\n\r", min_size=1, max_size=3)


def written(words: list[str], spaces: list[str]) -> bytes:
    """Put words between spaces."""
    pairs = zip(spaces, words, strict=False)
    return "".join(f"{space}{word}" for space, word in pairs).encode()


@given(st.lists(WORDS, max_size=8), st.lists(SPACES, min_size=8, max_size=8))
def test_decimals_are_those_of_python_to_the_last_bit(
    words: list[str], spaces: list[str]
) -> None:
    """The sign of zero counts, and what NaN is made of does not."""
    numbers = read_floats(written(words, spaces)).tolist()

    expected = [float(word) for word in words]
    for number, wanted in zip(numbers, expected, strict=True):
        assert pack("d", number) == pack("d", wanted) or (
            math.isnan(number) and math.isnan(wanted)
        )


@given(
    integers=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=8),
    spaces=st.lists(SPACES, min_size=8, max_size=8),
    signed=st.booleans(),
)
def test_integers_are_those_of_python(
    integers: list[int], spaces: list[str], *, signed: bool
) -> None:
    """With and without the sign of positive ones."""
    words = [f"{number:+d}" if signed else str(number) for number in integers]

    numbers = read_integers(written(words, spaces))

    assert numbers.dtype == np.int32
    assert numbers.tolist() == integers


@pytest.mark.parametrize(
    "text", ["1, 2", "1 [2] 3", "1 true", '1 "2"', "1 {} 2", "0x10", "1 2]", "1 x"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    """Not even where JSON has a meaning for it."""
    with pytest.raises(ValueError, match=r"."):
        read_floats(text.encode())
    with pytest.raises(ValueError, match=r"."):
        read_integers(text.encode())


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_nothing_is_no_numbers(text: str) -> None:
    """Rather than one, as numpy has it."""
    assert read_floats(text.encode()).tolist() == []
    assert read_integers(text.encode()).tolist() == []


def test_decimals_are_no_integers() -> None:
    """Indices that have a fraction are broken."""
    with pytest.raises(ValueError, match=r"."):
        read_integers(b"1 2.5 3")


@pytest.mark.parametrize("last", ["0.25", "-0", "+7", "1e400", "nan"])
def test_a_list_of_megabytes_is_read_like_a_short_one(last: str) -> None:
    """Whatever its last word is, and however many spaces are between lines."""
    values = np.random.default_rng(7).normal(size=200_001).round(6).tolist()
    words = [*map(repr, values), last]
    lines = [" ".join(words[at : at + 3]) for at in range(0, len(words), 3)]

    numbers = read_floats("\n  ".join(lines).encode())

    np.testing.assert_array_equal(numbers, [float(word) for word in words])
    assert math.copysign(1, numbers[-1]) == math.copysign(1, float(last))


def test_indices_of_megabytes_are_read_in_order() -> None:
    """Every one, with what JSON cannot say at the end as well."""
    indices = list(range(300_000))
    text = " ".join(map(str, indices)).encode()

    assert read_integers(text).tolist() == indices
    assert read_integers(text + b" +7").tolist() == [*indices, 7]
