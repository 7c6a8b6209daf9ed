"""Random robots conform after conversion."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.converter.strategies import robots
from tests.converter.usd.authored import asset_options
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Observed, Request
from urdf_usd.conformance.engines.reference import observe_robot, structure
from urdf_usd.conformance.observation.robot import Base
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter.options import BodyNesting, Profile
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import BaseOption, Robot
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.layouts import write_asset


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
