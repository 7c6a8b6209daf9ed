"""Engines read random URDFs and their round trips equally."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given

from tests.converter.strategies import any_scale
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import (
    Engine,
    Observed,
    Outcome,
    Request,
    Unsupported,
    UnsupportedError,
)
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.engines.reference import observe_robot, structure
from urdf_usd.conformance.execution.observe import write_back
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import convert
from urdf_usd.converter.robot.model import Prismatic, Revolute, Robot
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.write import write
from urdf_usd.reports.records.record import Grade

_TINY = 1e-30


def _observe(engine: Engine, request: Request) -> Outcome:
    try:
        return Observed(engine.observe(request))
    except UnsupportedError as error:
        return Unsupported(str(error))


@pytest.mark.parametrize("engine", [MujocoEngine(), PybulletEngine()])
@given(robot=any_scale())
def test_engine_agrees_with_itself_after_round_trip(engine: Engine, robot: Robot) -> None:
    # MuJoCo ignores a range that is empty in float32.
    limits = [
        limit
        for joint in robot.joints
        if isinstance(joint.kind, Revolute | Prismatic)
        for limit in (joint.kind.range.lower, joint.kind.range.upper)
    ]
    assume(all(limit == 0 or abs(limit) > _TINY for limit in limits))
    with tempfile.TemporaryDirectory() as folder:
        there, back = Path(folder, "there.urdf"), Path(folder, "back.urdf")
        there.write_bytes(write(robot))
        # Values of the text, where rotations are rounded.
        robot = parse(there).robot
        sampled = configurations(structure(robot))
        usd = convert(there, Path(folder, "usd")).root_layer
        written = write_back(str(usd), ())
        assert isinstance(written, bytes)
        back.write_bytes(written)
        before, after = (_observe(engine, Request(str(file), sampled)) for file in (there, back))
        reading = OpenusdEngine().observe(Request(str(usd), sampled))

    judgement = judge(
        {"reference": Observed(observe_robot(robot, sampled)), engine.name: before},
        Observed(reading),
        back=RoundTripOutcomes({engine.name: after}),
    )

    failing = {
        check.id: [finding.message for finding in check.findings]
        for check in judgement.checks
        if check.id.startswith("round-trip.") and check.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
    }
    assert failing == {}
