"""The subject of a finding is the joint at fault."""

from __future__ import annotations

from pathlib import Path

from tests.reversed_axis import JOINT, URDF, reverse_axis
from urdf_usd.conformance.execution.run import check


def test_reversed_axis_is_one_finding_on_its_joint(tmp_path: Path) -> None:
    """Not on the fixed joints below, each of which is stored with rounding."""
    record = check(URDF, reverse_axis(tmp_path / "asset"))
    kinematics = [one for one in record.checks if one.group == "kinematics"]
    findings = [finding for one in kinematics for finding in one.findings]

    assert {finding.subject for finding in findings} == {f"joint {JOINT}"}
    assert all("axis is reversed" in finding.message for finding in findings)
