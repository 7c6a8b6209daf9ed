"""Variants of assets that agreement is measured for."""

from __future__ import annotations

from tests.tools.consumers.agreement import supported_variants


def test_variants_are_those_that_a_conversion_accepts() -> None:
    variants = supported_variants()
    assert "generic-nested-auto-single" in variants
    assert "physx-flat-fixed-usdz" in variants
    assert "physx-nested-auto-layered" not in variants
    assert "ros-nested-auto-layered" in variants
    assert "simready-flat-auto-usdz" not in variants
