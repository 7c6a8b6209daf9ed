"""The catalogue of checks."""

from __future__ import annotations

import pytest

from tests.conformance.miniatures import urdf_reading, usd_reading
from urdf_usd.conformance.checks import check as module
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import Compared, Differences, Sides, compare, equality
from urdf_usd.conformance.observation.robot import Quantity
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model

_ALL = (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS)


def test_checks_have_distinct_identifiers_and_titles() -> None:
    assert len({check.id for check in _ALL}) == len(_ALL)
    assert len({check.title for check in _ALL}) == len(_ALL)


def test_every_check_has_a_description() -> None:
    assert all(check.clause.endswith(".") for check in _ALL)


def test_check_is_a_function_whose_docstring_is_the_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEFINED", [])

    @module.check("structure.root", "root link", Quantity.LINKS)
    def _root(sides: Sides) -> Differences:
        """The root link has the name of the URDF: all frames are relative to it."""
        root = sides.actual.root
        yield equality("robot", sides.expected.root == root, f"the root is {root}")

    (check,) = module.DEFINED
    expected, actual = urdf_reading(), usd_reading()
    found = compare(check, expected, actual, derive_tolerance_model(expected, Tolerance()))

    assert check.clause == "The root link has the name of the URDF: all frames are relative to it."
    assert isinstance(found, Compared)
    assert [difference.amount for difference in found.differences] == [0.0]
