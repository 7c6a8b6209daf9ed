"""Settings files beside options."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.converter.simulation.robots import write_description
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import (
    BodyNesting,
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ConvertOptions,
    Profile,
)
from urdf_usd.converter.robot.model import Base
from urdf_usd.converter.simulation.settings import load_settings, with_settings


def test_description_chooses_base_and_profile(tmp_path: Path) -> None:
    """Options other than the defaults override it."""
    text = 'base = "floating"\nprofile = "physx"\ncolliders = { default = "hull" }'
    description = load_settings(write_description(tmp_path, text))

    found = with_settings(ConvertOptions(), description)
    rules = ColliderRules((ColliderRule.parse("wheel*=mesh"),))
    own = with_settings(ConvertOptions(profile=Profile.ROS, colliders=rules), description)

    assert (found.base.value, found.profile) == (Base.FLOATING.value, Profile.PHYSX)
    assert own.profile is Profile.ROS
    kinds = [own.colliders.kind_of(link) for link in ("wheel_left", "arm")]
    assert kinds == [ColliderKind.MESH, ColliderKind.HULL]
    with pytest.raises(ConversionError, match=r"robot\.toml:2:1: .*nested"):
        with_settings(ConvertOptions(bodies=BodyNesting.NESTED), description)
