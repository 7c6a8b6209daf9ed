"""The PhysX engine on assets whose values are known by formula."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdPhysics

from tests.conformance.engines.deviation_files import FOLDER
from urdf_usd.conformance.engines.physx import PhysxEngine
from urdf_usd.conformance.engines.protocol import AbstentionError, Request
from urdf_usd.conformance.observation.robot import (
    Base,
    Configurations,
    JointType,
    Observation,
    Quantity,
)
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import BaseOption

# A slide along y, 1 m above the ground, that carries a pendulum: 2 kg, 0.5 m below.
_URDF = """<robot name="pendulum">
  <link name="base"/>
  <link name="cart">
    <inertial>
      <mass value="3"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
    </inertial>
  </link>
  <link name="bob">
    <inertial>
      <origin xyz="0 0 -0.5" rpy="0 0 0.3"/>
      <mass value="2"/>
      <inertia ixx="0.04" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="base"/><child link="cart"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="0.25" effort="7" velocity="0.5"/>
  </joint>
  <joint name="swing" type="revolute">
    <parent link="cart"/><child link="bob"/>
    <origin xyz="0 0 0.2"/><axis xyz="1 0 0"/>
    <limit lower="-1.5" upper="2" effort="3" velocity="4"/>
  </joint>
</robot>
"""
_SLIDE = np.array([[0.0], [0.2], [-0.1]])
_SWING = np.array([[0.0], [0.6], [-1.2]])
_RATES = np.array([[0.0], [1.5], [-0.5]])
_CONFIGURATIONS = Configurations(
    joints=("slide", "swing"),
    positions=(_SLIDE, _SWING),
    labels=("zero", "one", "two"),
    velocities=(np.zeros((3, 1)), _RATES),
)
_MASS, _LENGTH, _GRAVITY = 2.0, 0.5, 9.81


def _convert(
    folder: Path,
    profile: Profile = Profile.GENERIC,
    base: BaseOption = BaseOption.FIXED,
    text: str = _URDF,
) -> Path:
    urdf = folder / "pendulum.urdf"
    urdf.write_text(text, encoding="utf-8")
    options = ConvertOptions(profile=profile, base=base)
    return convert(urdf, folder / "asset", options).root_layer


def _observe(engine: PhysxEngine, usd: Path) -> Observation:
    return engine.observe(Request(str(usd), _CONFIGURATIONS))


def test_degrees_of_freedom_and_base(engine: PhysxEngine, tmp_path: Path) -> None:
    """Both joints move, and the massless base is welded to the world."""
    seen = _observe(engine, _convert(tmp_path))

    types = {joint.name: joint.type for joint in seen.joints}
    assert seen.base is Base.FIXED
    assert types["slide"] is JointType.PRISMATIC
    assert types["swing"] is JointType.REVOLUTE


def test_joints_are_numbered_breadth_first_and_by_path(engine: PhysxEngine, tmp_path: Path) -> None:
    """Whatever the order of prims, which is that of the URDF."""
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    )
    chains = (("c", "base", "x"), ("c2", "x", "x2"), ("b", "base", "z"))
    text = "".join(f'<link name="{name}">{inertial}</link>' for name in ("base", "x", "x2", "z"))
    for name, parent, child in chains:
        text += (
            f'<joint name="{name}" type="continuous"><parent link="{parent}"/>'
            f'<child link="{child}"/></joint>'
        )
    urdf = tmp_path / "order.urdf"
    urdf.write_text(f'<robot name="order">{text}</robot>')
    layer = convert(urdf, tmp_path / "usd").root_layer
    stage = Usd.Stage.Open(str(layer))
    joints = stage.GetPrimAtPath("/order/Physics").GetChildren()

    seen = engine.observe(Request(str(layer), Configurations((), (), ("zero",))))

    assert [joint.GetName() for joint in joints] == ["c", "c2", "b"]
    assert seen.joint_order == ("b", "c", "c2")


def test_former_stages_do_not_change_an_observation(engine: PhysxEngine, tmp_path: Path) -> None:
    """They were read by the same process."""
    planar = convert(FOLDER / "planar-joint.urdf", tmp_path / "planar").root_layer
    at_rest = Configurations((), (), ("zero",))
    request = Request(str(_convert(tmp_path)), at_rest)
    first = pickle.dumps(engine.observe(request))
    engine.observe(Request(str(planar), at_rest))

    assert pickle.dumps(engine.observe(request)) == first


def test_warnings_of_physx_are_notes(engine: PhysxEngine, tmp_path: Path) -> None:
    """A planar joint causes one; the stage of a pendulum causes none."""
    planar = FOLDER / "planar-joint.urdf"
    layer = convert(planar, tmp_path / "planar").root_layer
    at_rest = Configurations((), (), ("zero",))
    warned = engine.observe(Request(str(layer), at_rest))
    clean = engine.observe(Request(str(_convert(tmp_path)), at_rest))

    assert any(
        note.startswith("PhysX: Translation DOF is expected to be locked") for note in warned.notes
    )
    assert clean.notes == ()


def test_shared_memory_does_not_remain(engine: PhysxEngine, tmp_path: Path) -> None:
    """PhysX leaves a segment and a semaphore per process."""

    def segments() -> set[str]:
        return {path.name for path in Path("/dev/shm").glob("*carb-RString*")}  # noqa: S108

    before = segments()
    at_rest = Configurations((), (), ("zero",))
    engine.observe(Request(str(_convert(tmp_path)), at_rest))

    assert segments() <= before


def test_floating_base(engine: PhysxEngine, tmp_path: Path) -> None:
    seen = _observe(engine, _convert(tmp_path, base=BaseOption.FLOATING))

    assert seen.base is Base.FLOATING


def test_frames_follow_the_joints(engine: PhysxEngine, tmp_path: Path) -> None:
    """Positions and rotations relative to the root, by plane geometry."""
    frames = _observe(engine, _convert(tmp_path)).frames
    assert frames is not None
    bob = frames.links.index("bob")
    cosine, sine = np.cos(_SWING[:, 0]), np.sin(_SWING[:, 0])

    expected = np.column_stack([np.zeros(3), _SLIDE[:, 0], np.full(3, 1.2)])
    assert frames.positions[:, bob] == pytest.approx(expected, abs=1e-6)
    assert frames.rotations[:, bob, 1, 1] == pytest.approx(cosine, abs=1e-6)
    assert frames.rotations[:, bob, 2, 1] == pytest.approx(sine, abs=1e-6)


def test_mass_properties_are_in_the_link_frame(engine: PhysxEngine, tmp_path: Path) -> None:
    """The inertial frame of the pendulum is turned by 0.3 rad about z."""
    seen = _observe(engine, _convert(tmp_path))

    mass = {link.name: link.mass for link in seen.links}["bob"]
    assert mass is not None
    assert mass.mass == pytest.approx(_MASS)
    assert mass.center == pytest.approx((0, 0, -_LENGTH))
    cosine, sine = math.cos(0.3), math.sin(0.3)
    ixx = 0.04 * cosine**2 + 0.05 * sine**2
    ixy = (0.04 - 0.05) * sine * cosine
    assert mass.inertia == pytest.approx((ixx, ixy, 0, 0.09 - ixx, 0, 0.02), rel=1e-5, abs=1e-7)


def test_equations_of_motion(engine: PhysxEngine, tmp_path: Path) -> None:
    """A pendulum on a cart, from its Lagrangian."""
    seen = _observe(engine, _convert(tmp_path))
    dynamics = seen.dynamics
    assert dynamics is not None
    slide, swing = (dynamics.joints.index(name) for name in ("slide", "swing"))
    cosine, sine = math.cos(0.3), math.sin(0.3)
    about_hinge = 0.04 * cosine**2 + 0.05 * sine**2 + _MASS * _LENGTH**2
    arm = _MASS * _LENGTH
    angle, rate = _SWING[:, 0], _RATES[:, 0]

    assert dynamics.inertia[:, slide, slide] == pytest.approx(3 + _MASS, rel=1e-5)
    assert dynamics.inertia[:, swing, swing] == pytest.approx(about_hinge, rel=1e-5)
    assert dynamics.inertia[:, slide, swing] == pytest.approx(arm * np.cos(angle), rel=1e-5)
    assert dynamics.bias[:, swing] == pytest.approx(
        arm * _GRAVITY * np.sin(angle), rel=1e-5, abs=1e-5
    )
    assert dynamics.bias[:, slide] == pytest.approx(
        -arm * np.sin(angle) * rate**2, rel=1e-4, abs=1e-5
    )


def test_equations_of_motion_above_the_velocity_limits(engine: PhysxEngine, tmp_path: Path) -> None:
    """PhysX would reduce the rates to the limit of 1 rad/s that the asset states."""
    usd = _convert(tmp_path, Profile.GENERIC, text=_URDF.replace('velocity="4"', 'velocity="1"'))
    dynamics = _observe(engine, usd).dynamics
    assert dynamics is not None
    slide = dynamics.joints.index("slide")

    expected = -_MASS * _LENGTH * np.sin(_SWING[:, 0]) * _RATES[:, 0] ** 2
    assert dynamics.bias[:, slide] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_limits_in_si_units(engine: PhysxEngine, tmp_path: Path) -> None:
    joints = {j.name: j for j in _observe(engine, _convert(tmp_path)).joints}

    assert (joints["slide"].lower, joints["slide"].upper) == pytest.approx((-0.5, 0.25))
    assert (joints["swing"].lower, joints["swing"].upper) == pytest.approx((-1.5, 2))


def test_effort_and_velocity_need_schemas(engine: PhysxEngine, tmp_path: Path) -> None:
    """PhysX reads those of Newton, and no ``urdf:`` attributes."""
    observation = _observe(engine, _convert(tmp_path, Profile.GENERIC))
    joints = {joint.name: joint for joint in observation.joints}

    assert (joints["slide"].effort, joints["slide"].velocity) == pytest.approx((7, 0.5))
    assert (joints["swing"].effort, joints["swing"].velocity) == pytest.approx((3, 4))
    (other := tmp_path / "usdphysics").mkdir()
    plain = _observe(engine, _convert(other, Profile.USDPHYSICS))
    assert Quantity.EFFORT not in plain.states


def test_moving_joint_to_the_world_is_lost(engine: PhysxEngine, tmp_path: Path) -> None:
    """PhysX fixes the body at the world end of an articulation."""
    usd = _convert(tmp_path)
    stage = Usd.Stage.Open(str(usd))
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) and prim.GetName() == "base":
            prim.RemoveAPI(UsdPhysics.RigidBodyAPI)
        if prim.IsA(UsdPhysics.FixedJoint):
            prim.SetActive(False)
    stage.Export(str(tmp_path / "edited.usda"))

    joints = {j.name: j for j in _observe(engine, tmp_path / "edited.usda").joints}

    assert joints["slide"].type is JointType.FIXED


def test_several_articulations_are_refused(engine: PhysxEngine, tmp_path: Path) -> None:
    usd = _convert(tmp_path)
    stage = Usd.Stage.CreateNew(str(tmp_path / "two.usda"))
    for name in ("first", "second"):
        prim = stage.DefinePrim(f"/world/{name}", "Xform")
        prim.GetReferences().AddReference(str(usd))
    stage.SetDefaultPrim(stage.GetPrimAtPath("/world"))
    stage.SetMetadata("metersPerUnit", 1.0)
    stage.SetMetadata("kilogramsPerUnit", 1.0)
    stage.Save()

    with pytest.raises(AbstentionError):
        _observe(engine, tmp_path / "two.usda")
