"""What Newton makes of converted robots, next to OpenUSD's own reading of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from pxr import Usd, UsdPhysics

from tests.conformance.engines import oblique_arm
from tests.conformance.engines.deviation_files import AXIS, ORIGIN, TURN, last_pose, text
from tests.conformance.engines.oblique_arm import request, rotation_about
from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.newton import NewtonUsdEngine
from urdf_usd.conformance.engines.protocol import Request, UnsupportedError
from urdf_usd.conformance.observation.robot import SINGLE_PRECISION, Observation, Quantity
from urdf_usd.converter import ConvertOptions, Profile, convert

_GENERIC = ConvertOptions(profile=Profile.GENERIC)
# A hundred operations on stored numbers of the size of one.
_ROUNDING = 100 * SINGLE_PRECISION


@pytest.fixture
def engine() -> NewtonUsdEngine:
    """The engine, if its engine is installed."""
    return NewtonUsdEngine(installed(NewtonUsdEngine()).name)


def _converted(folder: Path, urdf: str, **positions: object) -> Request:
    requested = request(folder, urdf, **positions)
    layer = convert(requested.path, folder / "usd", _GENERIC).root_layer
    return structs.replace(requested, path=str(layer))


def _arm(folder: Path, urdf: str = oblique_arm.URDF) -> Request:
    return _converted(folder, urdf, shoulder=oblique_arm.SHOULDER, elbow=oblique_arm.ELBOW)


def test_link_frames_follow_the_formulas(engine: NewtonUsdEngine, tmp_path: Path) -> None:
    """Of all links that are bodies; the tip is a frame of the forearm."""
    observation = engine.observe(_arm(tmp_path))
    frames = observation.frames
    assert frames is not None
    placed = [name for name in oblique_arm.LINKS if name != "tip"]
    order = [frames.links.index(link) for link in placed]
    positions, rotations = oblique_arm.expected_frames()

    assert set(frames.links) == set(placed)
    np.testing.assert_allclose(frames.positions[:, order], positions[:, :3], atol=_ROUNDING)
    np.testing.assert_allclose(frames.rotations[:, order], rotations[:, :3], atol=_ROUNDING)


def test_newton_keeps_the_inertia_that_a_tiny_point_mass_receives(
    engine: NewtonUsdEngine, tmp_path: Path
) -> None:
    """Newton replaces less by 1e-6 kg m^2, with a warning."""
    tip = '<link name="tip"><inertial><mass value="1e-9"/></inertial></link>'
    urdf = oblique_arm.URDF.replace('<link name="tip"/>', tip)
    assert tip in urdf

    observation = engine.observe(_arm(tmp_path, urdf))
    mass = next(link for link in observation.links if link.name == "tip").mass
    assert mass is not None

    assert mass.inertia == pytest.approx((2e-10, 0, 0, 2e-10, 0, 2e-10), abs=1e-12)
    assert not any("nertia" in note for note in observation.notes)


def test_fixed_base_without_mass_is_where_the_stage_has_it(
    engine: NewtonUsdEngine, tmp_path: Path
) -> None:
    """An empty link called world, to which the arm is fixed."""
    urdf = oblique_arm.URDF.replace('"base"', '"world"')
    bare = urdf[: urdf.index("<visual>")] + urdf[urdf.index("</inertial>") + 11 :]
    observation = engine.observe(_arm(tmp_path, bare))
    positions, _ = oblique_arm.expected_frames()

    assert observation.root == "world"
    np.testing.assert_allclose(
        last_pose(observation, "forearm")[0], positions[-1, 2], atol=_ROUNDING
    )


def test_planar_joint_slides_and_turns_in_its_plane(
    engine: NewtonUsdEngine, tmp_path: Path
) -> None:
    """Unlike the one that Newton reads in a URDF."""
    axis = np.array(AXIS)
    shift = 0.7 * np.cross(axis, [1, 0, 0]) - 0.3 * np.cross(axis, [0, 0, 1])
    observation = engine.observe(
        _converted(tmp_path, text("planar-joint"), hinge=[[0, 0, 0, 0], [*shift, -0.8]])
    )
    position, rotation = last_pose(observation, "arm")

    np.testing.assert_allclose(position, ORIGIN + TURN @ shift, atol=_ROUNDING)
    np.testing.assert_allclose(rotation, TURN @ rotation_about(AXIS, -0.8), atol=_ROUNDING)


def test_spherical_joint_takes_its_quaternion(engine: NewtonUsdEngine, tmp_path: Path) -> None:
    """In the frame of the link, whatever frame the joint has."""
    unlimited = text("spherical-limits").replace('<limit lower="-0.5" upper="0.5"/>', "")
    half = 0.45
    quat_wxyz = [np.cos(half), *(np.sin(half) * np.array(AXIS))]
    observation = engine.observe(_converted(tmp_path, unlimited, hinge=[[1, 0, 0, 0], quat_wxyz]))

    np.testing.assert_allclose(
        last_pose(observation, "arm")[1], TURN @ rotation_about(AXIS, 2 * half), atol=_ROUNDING
    )


def test_joint_on_a_fixed_base_without_mass_moves(engine: NewtonUsdEngine, tmp_path: Path) -> None:
    """A joint whose parent were the world would be outside the articulation."""
    urdf = """<robot name="r"><link name="world"/><link name="wheel"><inertial>
    <mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial></link><joint name="hinge" type="continuous"><parent link="world"/>
    <child link="wheel"/></joint></robot>"""
    observation = engine.observe(_converted(tmp_path, urdf, hinge=[0.0, 1.5]))

    np.testing.assert_allclose(
        last_pose(observation, "wheel")[1], rotation_about((1, 0, 0), 1.5), atol=_ROUNDING
    )


def test_joints_outside_articulations_are_a_reason_to_refuse(
    engine: NewtonUsdEngine, tmp_path: Path
) -> None:
    """Newton simulates joints of articulations only."""
    requested = _arm(tmp_path)
    stage = Usd.Stage.Open(requested.path)
    for prim in stage.Traverse():
        prim.RemoveAPI(UsdPhysics.ArticulationRootAPI)
    stage.Save()

    with pytest.raises(UnsupportedError, match=r"Newton: .*articulation"):
        engine.observe(requested)


def test_stage_without_links_is_a_reason_to_refuse(engine: NewtonUsdEngine, tmp_path: Path) -> None:
    scenery = '<robot name="r"><link name="a"/></robot>'

    with pytest.raises(UnsupportedError, match="no body"):
        engine.observe(_converted(tmp_path, scenery))


def test_it_states_nothing_that_is_only_a_name(engine: NewtonUsdEngine, tmp_path: Path) -> None:
    """Names of frames come from prims, not from Newton."""
    states = engine.observe(_arm(tmp_path)).states

    assert not states & {Quantity.LINKS, Quantity.JOINTS, Quantity.BASE}


def test_coupling_is_stated_in_radians(engine: NewtonUsdEngine, tmp_path: Path) -> None:
    """The schema has degrees."""
    joints = {joint.name: joint for joint in _chain(engine, tmp_path).joints}
    mimic = joints["second"].mimic

    assert mimic is not None
    assert mimic.leader == "hinge"
    assert (mimic.multiplier, mimic.offset) == pytest.approx((-0.5, 0.1), rel=1e-6)


def test_chain_of_couplings_arrives_at_its_head(engine: NewtonUsdEngine, tmp_path: Path) -> None:
    """Newton refuses a leader that follows: 0.8 (-0.5 q + 0.1) - 0.2."""
    joints = {joint.name: joint for joint in _chain(engine, tmp_path).joints}
    mimic = joints["third"].mimic

    assert mimic is not None
    assert mimic.leader == "hinge"
    assert (mimic.multiplier, mimic.offset) == pytest.approx((-0.4, -0.12), rel=1e-6)


def _chain(engine: NewtonUsdEngine, folder: Path) -> Observation:
    urdf = text("mimic-chain")
    return engine.observe(_converted(folder, urdf, hinge=[0.0], second=[0.0], third=[0.0]))
