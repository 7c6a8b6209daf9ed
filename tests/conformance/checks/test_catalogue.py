"""The catalogue of checks."""

from __future__ import annotations

from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS

_ALL = (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS)


def test_checks_have_distinct_identifiers_and_titles() -> None:
    assert len({check.id for check in _ALL}) == len(_ALL)
    assert len({check.title for check in _ALL}) == len(_ALL)


def test_every_check_has_a_description() -> None:
    assert all(check.clause.endswith(".") for check in _ALL)
