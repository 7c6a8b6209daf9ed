"""A root link without mass that is a frame, with joints tied to the world in its place.

So do converters that make bodies of links with mass alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines.usd_readings import body, pose, stage
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import Base, Configurations, Observation

AT_REST = Configurations((), (), ("zero",))
HALF = 0.5**0.5


def _fixed(name: str, child: str, place: str, turn: str) -> str:
    """A weld of a body to the default prim, which is no body."""
    return f"""
def PhysicsFixedJoint "{name}"
{{
    rel physics:body0 = </robot>
    rel physics:body1 = </robot/{child}>
    point3f physics:localPos0 = {place}
    quatf physics:localRot0 = {turn}
}}
"""


# The root link stands away from the origin; both bodies are welded where they stand.
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
_STILL = f"""
def Xform "plinth"
{{
    double3 xformOp:translate = (0.5, -0.25, 1)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    {body("arm", _ARM)}
    {body("head", _HEAD)}
}}
"""
_TIES = _fixed("shoulder", "plinth/arm", "(0.5, 0.5, 1)", f"({HALF}, 0, 0, {HALF})")
_TIES += _fixed("neck", "plinth/head", "(0.5, -0.25, 3)", "(1, 0, 0, 0)")


def _ask(path: Path, root: str | None) -> Observation:
    asked = replace(AT_REST, root=root)
    return OpenusdEngine().observe(Request(str(path), asked))


def _at(reading: Observation, link: str) -> np.ndarray:
    frames = reading.frames
    assert frames is not None
    index = frames.links.index(link)
    matrix = np.eye(4)
    matrix[:3, :3] = frames.rotations[0, index]
    matrix[:3, 3] = frames.positions[0, index]
    return matrix


def test_frames_are_relative_to_the_root_link_that_stands_still(tmp_path: Path) -> None:
    """Wherever it stands, and however its first body is turned."""
    reading = _ask(stage(tmp_path, _STILL + _TIES), "plinth")

    assert reading.root == "plinth"
    assert reading.base is Base.FIXED
    quarter = pose((0, 0.75, 0), (HALF, 0, 0, HALF))
    np.testing.assert_allclose(_at(reading, "arm"), quarter, atol=1e-6)
    np.testing.assert_allclose(_at(reading, "head"), pose((0, 0, 2)), atol=1e-6)


def test_joints_to_the_world_hang_on_it(tmp_path: Path) -> None:
    """As the URDF has them."""
    reading = _ask(stage(tmp_path, _STILL + _TIES), "plinth")

    assert {(joint.name, joint.parent, joint.child) for joint in reading.joints} == {
        ("shoulder", "plinth", "arm"),
        ("neck", "plinth", "head"),
    }


def test_a_joint_that_moves_is_stated_to_end_at_no_body(tmp_path: Path) -> None:
    """The welds beside it are not."""
    rooted = _STILL.replace(
        body("arm", _ARM), body("arm", _ARM, ["PhysicsArticulationRootAPI"])
    )
    ties = _TIES.replace("PhysicsFixedJoint", "PhysicsRevoluteJoint", 1)

    assert _ask(stage(tmp_path, rooted + _TIES), "plinth").at_world == ()
    assert _ask(stage(tmp_path, rooted + ties), "plinth").at_world == ("shoulder",)


@pytest.mark.parametrize("root", [None, "somebody"])
def test_xform_without_a_link_name_is_no_root(tmp_path: Path, root: str | None) -> None:
    """Nothing else marks it."""
    reading = _ask(stage(tmp_path, _STILL + _TIES), root)

    assert reading.root == "arm"
    assert {joint.parent for joint in reading.joints} == {"world"}


def test_xform_root_leaves_base_floating(tmp_path: Path) -> None:
    """The body leaves it where it stands."""
    reading = _ask(stage(tmp_path, _STILL), "plinth")

    assert reading.root == "arm"
    assert reading.base is Base.FLOATING


def test_a_body_is_the_root_by_its_joints(tmp_path: Path) -> None:
    """A USD in which another link is at the top has to say so."""
    reading = _ask(stage(tmp_path, _STILL + _TIES), "head")

    assert reading.root == "arm"
