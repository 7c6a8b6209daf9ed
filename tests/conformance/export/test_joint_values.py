"""Couplings come from schemas, then from ``urdf:`` attributes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.converter.usd.authored import author, chain
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.converter import Profile
from urdf_usd.converter.robot.model import Mimic


@pytest.mark.parametrize("profile", Profile)
def test_mimic_chain_is_restored_unless_a_schema_was_edited(
    tmp_path: Path, profile: Profile
) -> None:
    """Schemas refer to the first joint of the chain; simulators read the schema."""
    stage = author(tmp_path, *chain(), profile=profile)

    def mimics() -> dict[str, Mimic | None]:
        return {joint.name: joint.mimic for joint in read_stage(stage).robot.joints}

    before = mimics()
    assert before["second"] == Mimic("first", -0.5, 0.1)
    assert before["third"] == Mimic("second", 0.8, -0.2)
    third = stage.GetPrimAtPath("/r/Physics/third")
    if profile is Profile.GENERIC:
        third.GetAttribute("newton:mimicCoef1").Set(0.75)
        edited = mimics()["third"]
        assert edited is not None
        assert (edited.joint, edited.multiplier) == ("first", 0.75)
        third.GetAttribute("newton:mimicEnabled").Set(False)
        assert mimics()["third"] == before["third"]
