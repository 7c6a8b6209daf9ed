"""Comparison of link frames."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.conformance.miniatures import urdf_reading, usd_reading
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Difference


def _findings(factor: float) -> tuple[Difference, ...]:
    """Judge a USD with all positions multiplied by a factor."""
    reading = usd_reading()
    assert reading.frames is not None
    frames = structs.replace(reading.frames, positions=factor * reading.frames.positions)
    judgement = judge(
        {"reference": Observed(urdf_reading())}, Observed(structs.replace(reading, frames=frames))
    )
    return next(one.findings for one in judgement.checks if one.id == "kinematics.position")


@pytest.mark.parametrize("factor", [0.01, 1000.0])
def test_lengths_in_another_unit_are_one_finding(factor: float) -> None:
    (finding,) = _findings(factor)

    assert finding.subject == "robot"
    assert f"{factor:g} times" in finding.message
    assert "metersPerUnit" in finding.message


def test_other_factors_are_findings_of_joints() -> None:
    assert {one.subject.split()[0] for one in _findings(1.5)} == {"joint"}
