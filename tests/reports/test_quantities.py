"""Tests of the formatting of quantities."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.reports.quantities import exact, quantity, unit_symbol, value_text
from urdf_usd.reports.records.record import Range, Value


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
        (312.4, "rad", "312 rad"),
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
        (39.0, "1", "3,900 %"),
        (4000.0, "1", "400,000 %"),
        (2e5, "1", "2x10⁷ %"),
        (7.0, "", "7"),
        (0.0, "m", "0"),
        (-0.0, "m", "0"),
        (math.inf, "rad", "inf"),
        (-math.inf, "rad", "-inf"),
        (math.nan, "1", "nan"),
    ],
)
def test_quantity_has_two_digits_and_a_prefix(value: float, unit: str, text: str) -> None:
    """With a no-break space before the unit."""
    assert _typed(quantity(value, unit)) == text


def test_number_of_digits_can_be_chosen() -> None:
    """As for the mass of a robot."""
    assert quantity(18.6512, "kg", 4) == "18.65\N{NO-BREAK SPACE}kg"


def test_exact_value_keeps_every_digit() -> None:
    assert exact(3.0994415283203125e-06, "m").split() == ["3.0994415283203125e-06", "m"]
    assert exact(0.5, "1") == "0.5"


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
    assert value_text(value, unit) == text


def test_units_are_typeset() -> None:
    assert unit_symbol("N m s/rad") == "N·m·s/rad"
    assert unit_symbol("kg m^2") == "kg·m²"


_FACTORS = {"m": 1e-3, "µ": 1e-6, "n": 1e-9, "": 1.0}


@given(st.floats(1e-9, 1e5))
def test_formatted_length_is_rounded_to_two_digits(value: float) -> None:
    number, unit = _typed(quantity(value, "m")).split()
    if "x" in number:
        return
    meant = float(number) * _FACTORS[unit.removesuffix("m")]
    assert meant == pytest.approx(value, rel=0.051)
