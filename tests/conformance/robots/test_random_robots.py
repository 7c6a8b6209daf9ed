"""Random robots conform after conversion, and engines read their round trips equally.

Texts that did not conform, or were not refused with a rule, are reduced, and in
``tests/data/robots``, of which the records are stored.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.conformance.direct import examine_here
from tests.conformance.urdf_texts import urdf_texts
from tests.converter.strategies import any_scale, robots
from tests.converter.usd.authored import asset_options
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
from urdf_usd.conformance.execution.examine import write_back
from urdf_usd.conformance.observation.robot import Base
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.judged import RoundTripOutcomes
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import convert
from urdf_usd.converter.options import BodyNesting, Profile
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import BaseOption, Prismatic, Revolute, Robot
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.layouts import write_asset
from urdf_usd.reports.records.record import Grade, Verdict

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


def _require_conforming(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder, "robot.urdf")
        urdf.write_text(text, encoding="utf-8")
        record = examine_here(urdf, Path(folder, "out"))
    if record.verdict is Verdict.UNREADABLE:
        assert any(found.severity == "error" for found in record.diagnostics)
        return
    assert record.verdict.conforms, record.reason


@settings(max_examples=12, derandomize=True, database=None, suppress_health_check=_SLOW)
@given(urdf_texts(most_links=5))
def test_generated_robots_conform(text: str) -> None:
    _require_conforming(text)


@pytest.mark.corpus
@settings(max_examples=2000, print_blob=True, suppress_health_check=_SLOW)
@given(urdf_texts())
def test_large_sample_of_generated_robots_conforms(text: str) -> None:
    _require_conforming(text)


@given(
    robots(),
    st.sampled_from(BodyNesting),
    st.sampled_from(BaseOption),
    st.sampled_from(Profile),
    st.booleans(),
)
def test_random_robots_conform_after_conversion(
    robot: Robot,
    nesting: BodyNesting,
    base: BaseOption,
    profile: Profile,
    merge_fixed: bool,
) -> None:
    tree = build_tree(robot)
    body_assignment = assign_bodies(tree, base, merge_fixed=merge_fixed)
    sampled = configurations(structure(robot))
    with tempfile.TemporaryDirectory() as folder:
        write_asset(robot, tree, body_assignment, Path(folder), asset_options(nesting, profile))
        path = Path(folder, asset_name(robot))
        usd = OpenusdEngine().observe(Request(str(path), sampled))

    judgement = judge(
        {"reference": Observed(observe_robot(robot, sampled))},
        Observed(usd),
        expected_base=Base(body_assignment.base.value),
    )

    assert judgement.verdict.conforms, judgement.reason


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
