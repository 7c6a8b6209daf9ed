"""Witnesses are found by name, through entry points."""

from __future__ import annotations

import pytest

from urdf_usd.conformance import registry
from urdf_usd.conformance.witness import Available, Side


def test_every_witness_of_the_project_is_registered() -> None:
    """Each under the name that it gives itself."""
    found = registry.witnesses()

    assert [witness.name for witness in found] == list(registry.names())
    required = {"mujoco", "pybullet", "spec", "usdphysics"}
    here = {w.name for w in found if isinstance(w.availability(), Available)}

    assert required <= here


def test_witness_is_made_by_name() -> None:
    """With the side that it reads."""
    assert registry.witness("mujoco").side is Side.URDF
    assert registry.witness("usdphysics").side is Side.USD


def test_unknown_name_is_answered_with_the_valid_ones() -> None:
    """So that a typing error on the command line explains itself."""
    with pytest.raises(registry.UnknownWitnessError, match="mujocco") as error:
        registry.witness("mujocco")

    assert "mujoco, " in str(error.value)
    assert "pybullet, spec" in str(error.value)
