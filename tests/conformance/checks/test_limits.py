"""Comparison of the limits and the damping of joints."""

from __future__ import annotations

import math

import pytest

from tests.conformance.miniatures import (
    compared,
    joint_of,
    restating_joint,
    urdf_reading,
    usd_reading,
)
from urdf_usd.conformance.checks.check import Compared
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Grade

# The smallest normal float32: it stands for zero where a range must not be empty.
STAND_IN = 2.0**-126


def _grade(what: str, expected: float, actual: float) -> Grade:
    """Judge one number of a joint that both sides state."""
    judgement = judge(
        {"reference": Observed(restating_joint(urdf_reading(), "shoulder", **{what: expected}))},
        Observed(restating_joint(usd_reading(), "shoulder", **{what: actual})),
    )
    return next(c.grade for c in judgement.checks if c.id.endswith(f".{what}"))


@pytest.mark.parametrize("what", ["effort", "velocity", "damping", "friction"])
@pytest.mark.parametrize("expected", [0.0, STAND_IN, 1.0, math.inf])
def test_number_that_differs_by_simulator_fails(what: str, expected: float) -> None:
    assert _grade(what, expected, math.nan) is Grade.FAILS


@pytest.mark.parametrize("actual", [0.0, STAND_IN])
@pytest.mark.parametrize("expected", [0.0, STAND_IN])
def test_stand_in_for_an_effort_of_zero_is_zero(expected: float, actual: float) -> None:
    assert _grade("effort", expected, actual) is Grade.EXACT


def test_effort_above_the_stand_in_is_not_zero() -> None:
    assert _grade("effort", 0.0, 4 * STAND_IN) is Grade.FAILS


@pytest.mark.parametrize("actual", [3.4028234663852886e38, math.inf])
def test_effort_beyond_float32_is_stored_as_unlimited(actual: float) -> None:
    assert _grade("effort", 1e300, actual) is Grade.EXACT
    assert _grade("effort", 1e30, actual) is Grade.FAILS


@pytest.mark.parametrize(
    ("what", "factor", "hint"),
    [
        ("limits.upper", 180 / math.pi, "(degrees instead of radians?)"),
        ("dynamics.damping", math.pi / 180, "(radians instead of degrees?)"),
    ],
)
def test_value_in_another_unit_is_named(what: str, factor: float, hint: str) -> None:
    field = what.partition(".")[2]
    value = factor * getattr(joint_of(urdf_reading(), "shoulder"), field)
    comparison = compared(
        what, urdf_reading(), restating_joint(usd_reading(), "shoulder", **{field: value})
    )

    assert isinstance(comparison, Compared)
    assert any(one.message.endswith(hint) for one in comparison.differences)


def test_absent_number_is_explained_by_its_note() -> None:
    note = "it closes a loop; urdf:limit:effort is 9, but mjc:range is absent"
    reading = restating_joint(usd_reading(), "shoulder", effort=None, note=note)
    judgement = judge({"reference": Observed(urdf_reading())}, Observed(reading))
    (check,) = (one for one in judgement.checks if one.id == "limits.effort")

    assert check.findings[0].message.endswith("(urdf:limit:effort is 9, but mjc:range is absent)")
