"""Random robots are written and read back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from pxr import Usd, UsdUtils, UsdValidation

from tests.converter.strategies import robots
from tests.converter.usd.authored import asset_options
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.options import BodyNesting, Profile
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import BaseOption, Link, Robot
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.layouts import write_asset


def _written(
    robot: Robot,
    nesting: BodyNesting,
    base: BaseOption,
    folder: str,
    profile: Profile = Profile.GENERIC,
) -> Path:
    tree = build_tree(robot)
    bodies = assign_bodies(tree, base)
    write_asset(robot, tree, bodies, Path(folder), asset_options(nesting, profile))
    return Path(folder, asset_name(robot))


@given(robots(), st.sampled_from(BodyNesting), st.sampled_from(BaseOption))
def test_shapes_and_their_poses_are_read_back(
    robot: Robot, nesting: BodyNesting, base: BaseOption
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        again = read_usd(_written(robot, nesting, base, folder)).robot

    links = {link.name: link for link in again.links}
    for link in robot.links:
        shapes, shapes_again = link.shapes, links[link.name].shapes
        assert [type(s.geometry) for s in shapes_again] == [type(s.geometry) for s in shapes]
        for shape, shape_again in zip(shapes, shapes_again, strict=True):
            assert shape_again.origin.position == pytest.approx(shape.origin.position, abs=1e-12)
            aligned = abs(np.dot(shape_again.origin.quat_wxyz, shape.origin.quat_wxyz))
            assert aligned == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(robots(), st.sampled_from(BodyNesting), st.sampled_from(BaseOption))
def test_reading_without_shapes_changes_no_links_and_joints(
    robot: Robot, nesting: BodyNesting, base: BaseOption
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = _written(robot, nesting, base, folder)
        whole, bare = (
            _without_shapes(read_usd(root, shapes=shapes).robot) for shapes in (True, False)
        )

    assert bare == whole


def _without_shapes(robot: Robot) -> Robot:
    links = tuple(structs.replace(link, visuals=(), collisions=()) for link in robot.links)
    return structs.replace(robot, links=links)


@settings(max_examples=15, deadline=None)
@given(
    robots(),
    st.sampled_from(BodyNesting),
    st.sampled_from(BaseOption),
    st.sampled_from(Profile),
)
def test_assets_of_random_robots_pass_openusd_validation(
    robot: Robot, nesting: BodyNesting, base: BaseOption, profile: Profile
) -> None:
    """All validators of OpenUSD; asset paths are relative and resolve."""
    registry = UsdValidation.ValidationRegistry()
    validators = registry.GetOrLoadAllValidators()
    with tempfile.TemporaryDirectory() as folder:
        root = _written(robot, nesting, base, folder, profile)
        stage = Usd.Stage.Open(str(root))

        errors = UsdValidation.ValidationContext(validators).Validate(stage)
        layers, _, unresolved = UsdUtils.ComputeAllDependencies(str(root))

    assert [f"{e.GetName()}: {e.GetMessage()}" for e in errors] == []
    assert unresolved == []
    assert all(layer.realPath.startswith(folder) for layer in layers)


@pytest.mark.parametrize("name", ["nan", "inf", "-Infinity", "1e999"])
def test_numeric_names_are_read_back(tmp_path: Path, name: str) -> None:
    robot = Robot(name="robot", links=(Link(name=name),), joints=())
    root = _written(robot, BodyNesting.NESTED, BaseOption.AUTO, str(tmp_path))
    (link,) = read_usd(root).robot.links

    assert link.name == name
