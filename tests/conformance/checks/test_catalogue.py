"""The catalogue of checks, and their comparisons."""

from __future__ import annotations

from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.comparers import COMPARERS


def test_every_check_has_exactly_one_comparison() -> None:
    """The catalogue and the table of comparisons have the same identifiers."""
    assert [check.id for check in (*CHECKS, *SIMULATION_CHECKS)] == list(COMPARERS)


def test_identifiers_begin_with_their_group() -> None:
    """So a report can be read without the list."""
    assert all(check.id.startswith(f"{check.group}.") for check in CHECKS)


def test_every_check_has_a_description() -> None:
    """A sentence that ends with a full stop."""
    assert all(check.clause.endswith(".") for check in CHECKS)
    assert len({check.title for check in CHECKS}) == len(CHECKS)
