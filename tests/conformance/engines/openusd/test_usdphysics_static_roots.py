"""A massless root link that is a frame, with joints between the bodies and the world.

Converters that author bodies only for links with mass write this.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from tests.conformance.engines.usd_observations import body, pose, stage
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import Base, Configurations, Observation

AT_REST = Configurations((), (), ("zero",))
HALF = 0.5**0.5


def _fixed(name: str, child: str, place: str, turn: str) -> str:
    """Return a fixed joint of a body to the default prim, which is no body."""
    return f"""
def PhysicsFixedJoint "{name}"
{{
    rel physics:body0 = </robot>
    rel physics:body1 = </robot/{child}>
    point3f physics:localPos0 = {place}
    quatf physics:localRot0 = {turn}
}}
"""


# The root link is away from the origin; both bodies are fixed where they are placed.
_AT = 'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]'
_ARM = f"""
double3 xformOp:translate = (0, 0.75, 0)
quatf xformOp:orient = ({HALF}, 0, 0, {HALF})
{_AT}
"""
_HEAD = f"""
double3 xformOp:translate = (0, 0, 2)
quatf xformOp:orient = (1, 0, 0, 0)
{_AT}
"""
_STATIC_ROOT = f"""
def Xform "plinth"
{{
    double3 xformOp:translate = (0.5, -0.25, 1)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    {body("arm", _ARM)}
    {body("head", _HEAD)}
}}
"""
_BASE_JOINTS = _fixed("shoulder", "plinth/arm", "(0.5, 0.5, 1)", f"({HALF}, 0, 0, {HALF})")
_BASE_JOINTS += _fixed("neck", "plinth/head", "(0.5, -0.25, 3)", "(1, 0, 0, 0)")


def _observe(path: Path, root: str | None) -> Observation:
    requested = structs.replace(AT_REST, root=root)
    return OpenusdEngine().observe(Request(str(path), requested))


def _at(reading: Observation, link: str) -> np.ndarray:
    frames = reading.frames
    assert frames is not None
    index = frames.links.index(link)
    matrix = np.eye(4)
    matrix[:3, :3] = frames.rotations[0, index]
    matrix[:3, 3] = frames.positions[0, index]
    return matrix


def test_frames_are_relative_to_the_static_root_link(tmp_path: Path) -> None:
    reading = _observe(stage(tmp_path, _STATIC_ROOT + _BASE_JOINTS), "plinth")

    assert reading.root == "plinth"
    assert reading.base is Base.FIXED
    quarter = pose((0, 0.75, 0), (HALF, 0, 0, HALF))
    np.testing.assert_allclose(_at(reading, "arm"), quarter, atol=1e-6)
    np.testing.assert_allclose(_at(reading, "head"), pose((0, 0, 2)), atol=1e-6)


def test_joints_to_the_world_have_the_root_as_parent(tmp_path: Path) -> None:
    reading = _observe(stage(tmp_path, _STATIC_ROOT + _BASE_JOINTS), "plinth")

    assert {(joint.name, joint.parent, joint.child) for joint in reading.joints} == {
        ("shoulder", "plinth", "arm"),
        ("neck", "plinth", "head"),
    }


def test_moving_joint_without_a_body_is_reported(tmp_path: Path) -> None:
    rooted = _STATIC_ROOT.replace(
        body("arm", _ARM), body("arm", _ARM, ["PhysicsArticulationRootAPI"])
    )
    ties = _BASE_JOINTS.replace("PhysicsFixedJoint", "PhysicsRevoluteJoint", 1)

    assert _observe(stage(tmp_path, rooted + _BASE_JOINTS), "plinth").at_world == ()
    assert _observe(stage(tmp_path, rooted + ties), "plinth").at_world == ("shoulder",)


@pytest.mark.parametrize("root", [None, "somebody"])
def test_xform_without_a_link_name_is_not_the_root(tmp_path: Path, root: str | None) -> None:
    reading = _observe(stage(tmp_path, _STATIC_ROOT + _BASE_JOINTS), root)

    assert reading.root == "arm"
    assert {joint.parent for joint in reading.joints} == {"world"}


def test_xform_root_leaves_the_base_floating(tmp_path: Path) -> None:
    reading = _observe(stage(tmp_path, _STATIC_ROOT), "plinth")

    assert reading.root == "arm"
    assert reading.base is Base.FLOATING


def test_first_body_of_the_tree_is_the_root(tmp_path: Path) -> None:
    reading = _observe(stage(tmp_path, _STATIC_ROOT + _BASE_JOINTS), "head")

    assert reading.root == "arm"
