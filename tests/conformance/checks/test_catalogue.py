"""The list of checks and the way each is compared belong together."""

from __future__ import annotations

from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.checks.comparers import COMPARERS


def test_every_check_is_compared_in_one_way() -> None:
    """No check without a comparison, no comparison without a check."""
    assert [check.id for check in CHECKS] == list(COMPARERS)


def test_identifiers_begin_with_their_group() -> None:
    """So a report can be read without the list."""
    assert all(check.id.startswith(f"{check.group}.") for check in CHECKS)


def test_every_check_says_what_it_compares() -> None:
    """In sentences."""
    assert all(check.clause.endswith(".") for check in CHECKS)
    assert len({check.title for check in CHECKS}) == len(CHECKS)
