"""A robot that was written as USD is read back as the same robot."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import assert_never

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Usd, UsdUtils, UsdValidation

from tests.converter.strategies import robots
from urdf_usd.converter.options import BodyNesting, Profile
from urdf_usd.converter.robot.bodies import BaseOption, assign_bodies
from urdf_usd.converter.robot.kinematics import rest_transforms
from urdf_usd.converter.robot.model import (
    Continuous,
    Fixed,
    Floating,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
)
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups
from urdf_usd.converter.usd.reader.read import read_usd
from urdf_usd.converter.usd.writer.layers import asset_name, author_asset

# Positions are below 10 m here: seven joints with float32 frames.
_METRES = 2e-5
_LARGEST_ANGLE = 1e-6


def _written(
    robot: Robot,
    nesting: BodyNesting,
    base: BaseOption,
    folder: str,
    profile: Profile = Profile.GENERIC,
) -> Path:
    tree = build_tree(robot)
    bodies = assign_bodies(tree, base)
    author_asset(robot, tree, bodies, nesting, Path(folder), profile=profile)
    return Path(folder, asset_name(robot))


def _motion(kind: JointKind) -> tuple[str, tuple[float, ...]]:
    """Name and numbers of a joint kind; unlimited rotation has one name."""
    match kind:
        case Revolute() | Prismatic():
            numbers = (*kind.axis, kind.range.lower, kind.range.upper)
            return type(kind).__name__, numbers
        case Continuous() | Planar():
            return type(kind).__name__, kind.axis
        case Fixed() | Floating() | Spherical():
            return type(kind).__name__, ()
        case _:
            assert_never(kind)


def _group_masses(tree: Tree) -> dict[str, tuple[float, ...]]:
    """Mass and first moment of every welded group, by its head."""
    rest = rest_transforms(tree)
    sums = {}
    for group in rigid_groups(tree):
        total, moment = 0.0, np.zeros(3)
        for name in group:
            inertial = tree.link[name].inertial
            if inertial is not None:
                center = rest[name] @ (*inertial.origin.position, 1.0)
                total += inertial.mass
                moment += inertial.mass * center[:3]
        sums[group[0]] = (total, *moment)
    return sums


@settings(max_examples=60, deadline=None)
@given(robots(), st.sampled_from(BodyNesting), st.sampled_from(Profile))
def test_tree_joints_frames_and_masses_survive(
    robot: Robot, nesting: BodyNesting, profile: Profile
) -> None:
    """Names exactly; numbers to what float32 keeps over the chain."""
    with tempfile.TemporaryDirectory() as folder:
        path = _written(robot, nesting, BaseOption.AUTO, folder, profile)
        again = read_usd(path).robot

    assert again.name == robot.name
    tree, tree_again = build_tree(robot), build_tree(again)
    assert tree_again.root == tree.root
    assert set(tree_again.links) == set(tree.links)
    rest, rest_again = rest_transforms(tree), rest_transforms(tree_again)
    for name in tree.links:
        np.testing.assert_allclose(rest_again[name], rest[name], atol=_METRES)
        if name == tree.root:
            continue
        joint, joint_again = tree.parent_joint[name], tree_again.parent_joint[name]
        assert joint_again.name == joint.name
        assert joint_again.parent == joint.parent
        kind, numbers = _motion(joint.kind)
        kind_again, numbers_again = _motion(joint_again.kind)
        assert kind_again == kind
        assert numbers_again == pytest.approx(numbers, abs=_LARGEST_ANGLE, rel=1e-6)
        assert joint_again.effort == joint.effort
        assert joint_again.velocity == joint.velocity
        assert joint_again.dynamics == joint.dynamics
        assert joint_again.mimic == joint.mimic
    masses, masses_again = _group_masses(tree), _group_masses(tree_again)
    # First moments are masses times positions, and invented masses have moments too.
    slack = _METRES * max(1.0, sum(link.mass for link in robot.links))
    for head, values in masses.items():
        assert masses_again[head] == pytest.approx(values, abs=slack, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(robots(), st.sampled_from(BodyNesting), st.sampled_from(BaseOption))
def test_shapes_survive_with_their_places(
    robot: Robot, nesting: BodyNesting, base: BaseOption
) -> None:
    """Every shape is found on its link, whatever the nesting of bodies."""
    with tempfile.TemporaryDirectory() as folder:
        again = read_usd(_written(robot, nesting, base, folder)).robot

    links = {link.name: link for link in again.links}
    for link in robot.links:
        shapes, shapes_again = link.shapes, links[link.name].shapes
        assert [type(s.geometry) for s in shapes_again] == [
            type(s.geometry) for s in shapes
        ]
        for shape, shape_again in zip(shapes, shapes_again, strict=True):
            assert shape_again.origin.position == pytest.approx(
                shape.origin.position, abs=1e-12
            )
            aligned = abs(np.dot(shape_again.origin.quat_wxyz, shape.origin.quat_wxyz))
            assert aligned == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(robots(), st.sampled_from(BodyNesting), st.sampled_from(BaseOption))
def test_without_its_shapes_a_robot_is_the_same(
    robot: Robot, nesting: BodyNesting, base: BaseOption
) -> None:
    """Nobody who leaves shapes unread is told anything else about links and joints."""
    with tempfile.TemporaryDirectory() as folder:
        root = _written(robot, nesting, base, folder)
        whole, bare = (
            _without_shapes(read_usd(root, shapes=wanted).robot)
            for wanted in (True, False)
        )

    assert bare == whole


def _without_shapes(robot: Robot) -> Robot:
    links = tuple(replace(link, visuals=(), collisions=()) for link in robot.links)
    return replace(robot, links=links)


@settings(max_examples=15, deadline=None)
@given(
    robots(),
    st.sampled_from(BodyNesting),
    st.sampled_from(BaseOption),
    st.sampled_from(Profile),
)
def test_openusd_finds_nothing_to_complain_about(
    robot: Robot, nesting: BodyNesting, base: BaseOption, profile: Profile
) -> None:
    """All validators that OpenUSD ships; every asset path is relative and resolves."""
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


@settings(max_examples=10, deadline=None)
@given(robots(), st.sampled_from(BodyNesting), st.sampled_from(Profile))
def test_the_same_robot_gives_the_same_bytes(
    robot: Robot, nesting: BodyNesting, profile: Profile
) -> None:
    """Text and binary layers alike, and no path of the folder in any of them."""
    with (
        tempfile.TemporaryDirectory() as first,
        tempfile.TemporaryDirectory() as second,
    ):
        _written(robot, nesting, BaseOption.AUTO, first, profile)
        _written(robot, nesting, BaseOption.AUTO, second, profile)

        files = {
            path.relative_to(first): path.read_bytes()
            for path in Path(first).rglob("*")
            if path.is_file()
        }
        for name, content in files.items():
            assert Path(second, name).read_bytes() == content
            assert Path(first).name.encode() not in content
