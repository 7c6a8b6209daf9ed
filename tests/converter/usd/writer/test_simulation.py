"""The layer of simulation settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.converter.simulation.robots import write_description
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import BodyNesting, ConvertOptions, Profile
from urdf_usd.converter.robot.model import Base
from urdf_usd.converter.simulation.settings import load_settings, with_settings


def test_description_chooses_base_and_profile(tmp_path: Path) -> None:
    """Options other than the defaults override it."""
    text = 'base = "floating"\nprofile = "physx"'
    description = load_settings(write_description(tmp_path, text))

    found = with_settings(ConvertOptions(), description)
    own = with_settings(ConvertOptions(profile=Profile.ROS), description)

    assert (found.base.value, found.profile) == (Base.FLOATING.value, Profile.PHYSX)
    assert own.profile is Profile.ROS
    with pytest.raises(ConversionError, match=r"robot\.toml:2:1: .*nested"):
        with_settings(ConvertOptions(bodies=BodyNesting.NESTED), description)
