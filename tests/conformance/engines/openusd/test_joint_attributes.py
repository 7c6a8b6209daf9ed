"""Effort, velocity, damping and friction that simulators read, in SI units.

Units are those that the schemas document: newton-usd-schemas, physxSchema and
physxSchemaAddition use degrees for angles.
"""

from __future__ import annotations

import pytest

from urdf_usd.conformance.engines.openusd.reading import SchemaFamily, refusal
from urdf_usd.conformance.engines.protocol import InvalidFileError


@pytest.mark.parametrize(
    ("families", "meant"),
    [
        ({SchemaFamily.NEWTON, SchemaFamily.PHYSX}, True),
        ({SchemaFamily.DRIVES}, True),
        (set(), True),
        ({SchemaFamily.DRIVES, SchemaFamily.PHYSX}, False),
    ],
)
def test_refusal_counts_if_the_asset_is_made_for_the_simulator(
    families: set[SchemaFamily], *, meant: bool
) -> None:
    """It is unless it has schemas of other simulators alone."""
    error = refusal("Newton: no", families, {SchemaFamily.NEWTON})

    assert isinstance(error, InvalidFileError) is meant
