"""Assets of robot description files, checked as a run does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.direct import examine_here
from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd.conformance.checks.catalogue import SIMULATION_CHECKS
from urdf_usd.conformance.records.record import Grade, RobotRecord
from urdf_usd.converter.conversion import ConvertOptions, with_description
from urdf_usd.converter.options import Layout, Profile
from urdf_usd.converter.simulation.description import load_description

_TEXT = """\
base = "fixed"
self_collision = false
[[joints]]
match = "*"
stiffness = 400
damping = 40
armature = 0.1
[[joints]]
match = "h[!a]nge"
natural_frequency = 2.5
[pose.joints]
hinge = -0.5
slide = 0.2
"""


def _examined(folder: Path, text: str, **options: object) -> RobotRecord:
    description = load_description(write_description(folder, text))
    chosen = with_description(ConvertOptions(**options), description)  # type: ignore[arg-type]
    return examine_here(write_urdf(folder), folder / "run", chosen)


@pytest.mark.parametrize("profile", Profile)
def test_promised_settings_are_those_of_the_asset(
    tmp_path: Path, profile: Profile
) -> None:
    """Every check is exact; usdphysics has no schema for two settings."""
    record = _examined(tmp_path, _TEXT, profile=profile)

    grades = {check.id: check.grade for check in record.checks}
    lost = {"simulation.armature", "simulation.contacts"}
    failing = {name for name, grade in grades.items() if grade is Grade.FAILS}
    assert failing == (lost if profile is Profile.USDPHYSICS else set())
    assert grades["simulation.gains"] is Grade.EXACT
    assert grades["simulation.positions"] is Grade.EXACT
    assert record.description is not None
    assert record.description.settings == (
        "drive: hinge, slide",
        "armature: hinge, slide, follower",
        "initial position: hinge, slide, follower",
        "self-collision: off",
    )


def test_single_layer_has_the_promised_settings(tmp_path: Path) -> None:
    """As the layered asset."""
    record = _examined(tmp_path, _TEXT, layout=Layout.SINGLE)

    assert record.verdict.conforms, record.reason


def test_checks_of_settings_need_a_description(tmp_path: Path) -> None:
    """Without one, records have no such checks."""
    record = examine_here(write_urdf(tmp_path), tmp_path / "run")

    made = {check.id for check in record.checks}
    assert made.isdisjoint(check.id for check in SIMULATION_CHECKS)
    assert record.description is None
