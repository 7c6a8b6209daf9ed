"""What PhysX and Newton make of a converted robot whose values are known by formula."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.protocol import Engine, Request, UnsupportedError
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import BaseOption

# A slide along y, 1 m above the ground, that carries a pendulum: 2 kg, 0.5 m below.
PENDULUM = """<robot name="pendulum">
  <link name="base"/>
  <link name="cart"><inertial><mass value="3"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="bob"><inertial><origin xyz="0 0 -0.5" rpy="0 0 0.3"/><mass value="2"/>
    <inertia ixx="0.04" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.02"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="0.25" effort="7" velocity="0.5"/></joint>
  <joint name="swing" type="revolute"><parent link="cart"/><child link="bob"/>
    <origin xyz="0 0 0.2"/><axis xyz="1 0 0"/>
    <limit lower="-1.5" upper="2" effort="3" velocity="4"/>
    <dynamics damping="0.4" friction="5"/></joint>
</robot>
"""
_SLIDE = np.array([0.0, 0.2, -0.1])
_SWING = np.array([0.0, 0.6, -1.2])
_RATES = np.array([0.0, 1.5, -0.5])
_CONFIGURATIONS = obs.Configurations(
    ("slide", "swing"),
    (_SLIDE[:, np.newaxis], _SWING[:, np.newaxis]),
    ("zero", "one", "two"),
    (np.zeros((3, 1)), _RATES[:, np.newaxis]),
)
_COSINE, _SINE = math.cos(0.3), math.sin(0.3)
_IXX = 0.04 * _COSINE**2 + 0.05 * _SINE**2


@pytest.fixture(params=["newton-usd", "physx"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return installed(request.param)


def converted(
    folder: Path,
    profile: Profile = Profile.GENERIC,
    base: BaseOption = BaseOption.FIXED,
    text: str = PENDULUM,
) -> Path:
    """Return the root layer of the converted pendulum."""
    urdf = folder / "pendulum.urdf"
    urdf.write_text(text, encoding="utf-8")
    return convert(urdf, folder / "asset", ConvertOptions(profile=profile, base=base)).root_layer


def _observe(engine: Engine, usd: Path) -> obs.Observation:
    return engine.observe(Request(str(usd), _CONFIGURATIONS))


def test_joints_are_stated_in_units_of_the_urdf(engine: Engine, tmp_path: Path) -> None:
    """The schemas have degrees."""
    seen = _observe(engine, converted(tmp_path))
    joints = {joint.name: joint for joint in seen.joints}
    slide, swing = joints["slide"], joints["swing"]

    assert (slide.type, swing.type) == (obs.JointType.PRISMATIC, obs.JointType.REVOLUTE)
    assert (slide.lower, slide.upper) == pytest.approx((-0.5, 0.25))
    assert (swing.lower, swing.upper) == pytest.approx((-1.5, 2))
    assert (slide.effort, slide.velocity) == pytest.approx((7, 0.5))
    assert (swing.effort, swing.velocity) == pytest.approx((3, 4))
    assert (swing.damping, swing.friction) == pytest.approx((0.4, 5), rel=1e-6)


def test_effort_velocity_and_couplings_need_schemas(engine: Engine, tmp_path: Path) -> None:
    """Simulators read no ``urdf:`` attributes."""
    seen = _observe(engine, converted(tmp_path, Profile.USDPHYSICS))

    assert not seen.states & {obs.Quantity.EFFORT, obs.Quantity.VELOCITY, obs.Quantity.MIMIC}


def test_frames_follow_the_joints(engine: Engine, tmp_path: Path) -> None:
    """Positions and rotations relative to the root, by plane geometry."""
    frames = _observe(engine, converted(tmp_path)).frames
    assert frames is not None
    bob = frames.links.index("bob")

    expected = np.column_stack([np.zeros(3), _SLIDE, np.full(3, 1.2)])
    assert frames.positions[:, bob] == pytest.approx(expected, abs=1e-6)
    assert frames.rotations[:, bob, 1, 1] == pytest.approx(np.cos(_SWING), abs=1e-6)
    assert frames.rotations[:, bob, 2, 1] == pytest.approx(np.sin(_SWING), abs=1e-6)


def test_mass_properties_are_in_the_link_frame(engine: Engine, tmp_path: Path) -> None:
    """The inertial frame of the pendulum is turned by 0.3 rad about z."""
    seen = _observe(engine, converted(tmp_path))
    mass = {link.name: link.mass for link in seen.links}["bob"]

    assert mass is not None
    assert mass.mass == pytest.approx(2)
    assert mass.center == pytest.approx((0, 0, -0.5))
    expected = (_IXX, -0.01 * _SINE * _COSINE, 0, 0.09 - _IXX, 0, 0.02)
    assert mass.inertia == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("base", [BaseOption.FIXED, BaseOption.FLOATING])
@pytest.mark.parametrize("velocity", [4, 1])
def test_equations_of_motion_of_a_pendulum_on_a_cart(
    engine: Engine, tmp_path: Path, base: BaseOption, velocity: int
) -> None:
    """From its Lagrangian, also above the limit of the velocity; those of the root are left out."""
    text = PENDULUM.replace('velocity="4"', f'velocity="{velocity}"')
    seen = _observe(engine, converted(tmp_path, base=base, text=text))
    dynamics, floats = seen.dynamics, base is BaseOption.FLOATING
    assert engine.name != "physx" or seen.base is (obs.Base.FLOATING if floats else obs.Base.FIXED)
    assert dynamics is not None
    slide, swing = (dynamics.joints.index(name) for name in ("slide", "swing"))
    coupled, weight = np.cos(_SWING), 9.81 * np.sin(_SWING)

    assert dynamics.inertia[:, slide, slide] == pytest.approx(5, rel=1e-5)
    assert dynamics.inertia[:, swing, swing] == pytest.approx(_IXX + 0.5, rel=1e-5)
    assert dynamics.inertia[:, slide, swing] == pytest.approx(coupled, rel=1e-5)
    assert dynamics.bias[:, swing] == pytest.approx(weight, rel=1e-5, abs=1e-5)
    pull = -np.sin(_SWING) * _RATES**2
    assert dynamics.bias[:, slide] == pytest.approx(pull, rel=1e-4, abs=1e-5)


def test_stage_in_other_units_is_refused(engine: Engine, tmp_path: Path) -> None:
    usd = converted(tmp_path)
    stage = Usd.Stage.Open(str(usd))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.GetRootLayer().Save()

    with pytest.raises(UnsupportedError, match=r"SI units|metres"):
        _observe(engine, usd)
