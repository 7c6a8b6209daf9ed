"""USDs that have lost every name: the shape of the robot tells what is what."""

from __future__ import annotations

from pathlib import Path

import pybullet_data
import pytest

from conformance import CheckOptions, RobotRecord, check
from conformance.record import Grade
from converter import convert
from tests.conformance.renaming import rename_prims

_PYBULLET = Path(pybullet_data.getDataPath())
_NAMES = {"structure.links", "structure.joints"}


def _findings(record: RobotRecord) -> dict[str, list[str]]:
    return {
        one.id: [finding.message for finding in one.findings]
        for one in record.checks
        if one.grade is Grade.FAILS
    }


def _check_without_names(urdf: Path, folder: Path) -> RobotRecord:
    made = convert(urdf, folder / "usd")
    usd = folder / "usd" / "renamed.usda"
    rename_prims(made.root_layer, usd, 1, loses=lambda _: True)
    return check(urdf, usd, CheckOptions(witnesses=("mujoco",)))


@pytest.mark.parametrize(
    "name",
    [
        "r2d2.urdf",
        "laikago/laikago.urdf",
        "kuka_iiwa/model.urdf",
        "humanoid/humanoid.urdf",
        "quadruped/minitaur.urdf",
        "franka_panda/panda.urdf",
        "plane.urdf",
    ],
)
def test_nothing_but_names_is_lost_with_all_names(name: str, tmp_path: Path) -> None:
    """One finding for each, and every other check as if it were there."""
    findings = _findings(_check_without_names(_PYBULLET / name, tmp_path))

    assert _NAMES.issuperset(findings)
    assert all(
        message.endswith("only its place tells which it is")
        for messages in findings.values()
        for message in messages
    )
