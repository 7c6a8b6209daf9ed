"""What PhysX and Newton make of converted robots, apart from what ``urdfs.json`` has.

ovphysx reports no materials, so that boxes slide and balls fall.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdPhysics

from tests.conformance.engines.engine_requests import (
    AT_REST,
    DEVIATIONS,
    PENDULUM,
    installed,
    request,
)
from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd import ConvertOptions, convert, load_settings, with_settings
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.checks.check import Compared, compare
from urdf_usd.conformance.descriptions import sampling_plan
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.engines.protocol import Engine, Request
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.conformance.verdict.attribution import compare_simulator
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import Grade

_GRAVITY, _STEP = 9.81, 0.002


@pytest.fixture(params=["newton-usd", "physx"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return installed(request.param)


@pytest.fixture
def physx() -> Engine:
    return installed("physx")


def _converted(
    folder: Path,
    text: str = PENDULUM,
    profile: Profile = Profile.GENERIC,
    base: BaseOption = BaseOption.FIXED,
) -> Request:
    asked = request(folder, text)
    options = ConvertOptions(profile=profile, base=base)
    layer = convert(asked.path, folder / "asset", options).root_layer
    return structs.replace(asked, path=str(layer))


def test_simulators_state_no_names_and_nothing_that_lacks_schemas(
    engine: Engine, tmp_path: Path
) -> None:
    """Simulators read no ``urdf:`` attributes; Newton's names of frames come from prims."""
    unstated = {obs.Quantity.EFFORT, obs.Quantity.VELOCITY, obs.Quantity.MIMIC}
    if engine.name == "newton-usd":
        unstated |= {obs.Quantity.LINKS, obs.Quantity.JOINTS, obs.Quantity.BASE}

    assert not engine.observe(_converted(tmp_path, profile=Profile.USDPHYSICS)).states & unstated


@pytest.mark.parametrize("base", [BaseOption.FIXED, BaseOption.FLOATING])
@pytest.mark.parametrize("velocity", [4, 1])
def test_equations_of_motion_of_a_pendulum_on_a_cart(
    engine: Engine, tmp_path: Path, base: BaseOption, velocity: int
) -> None:
    """From its Lagrangian, also above the limit of the velocity; those of the root are left out."""
    text = PENDULUM.replace('velocity="4"', f'velocity="{velocity}"')
    swings, rates = np.array([0.0, 0.6, -1.2]), np.array([0.0, 1.5, -0.5])
    positions = tuple(row[:, np.newaxis] for row in (np.array([0.0, 0.2, -0.1]), swings))
    velocities = (np.zeros((3, 1)), rates[:, np.newaxis])
    sampled = obs.Configurations(("slide", "swing"), positions, ("0", "1", "2"), velocities)
    asked = _converted(tmp_path, text, base=base)
    seen = engine.observe(structs.replace(asked, configurations=sampled))
    dynamics, floats = seen.dynamics, base is BaseOption.FLOATING
    assert engine.name != "physx" or seen.base is (obs.Base.FLOATING if floats else obs.Base.FIXED)
    assert dynamics is not None
    slide, swing = (dynamics.joints.index(name) for name in ("slide", "swing"))
    # The inertial frame of the pendulum is turned by 0.3 rad about z.
    ixx = 0.04 * math.cos(0.3) ** 2 + 0.05 * math.sin(0.3) ** 2

    assert dynamics.inertia[:, slide, slide] == pytest.approx(5, rel=1e-5)
    assert dynamics.inertia[:, swing, swing] == pytest.approx(ixx + 0.5, rel=1e-5)
    assert dynamics.inertia[:, slide, swing] == pytest.approx(np.cos(swings), rel=1e-5)
    weight = _GRAVITY * np.sin(swings)
    assert dynamics.bias[:, swing] == pytest.approx(weight, rel=1e-5, abs=1e-5)
    pull = -np.sin(swings) * rates**2
    assert dynamics.bias[:, slide] == pytest.approx(pull, rel=1e-4, abs=1e-5)


def test_former_stages_change_nothing_and_no_shared_memory_remains(
    physx: Engine, tmp_path: Path
) -> None:
    """They are read by one process; PhysX leaves a segment and a semaphore per process."""

    def segments() -> set[str]:
        return {path.name for path in Path("/dev/shm").glob("*carb-RString*")}  # noqa: S108

    before = segments()
    planar = convert(DEVIATIONS / "planar-joint.urdf", tmp_path / "planar").root_layer
    asked = _converted(tmp_path)
    first = pickle.dumps(physx.observe(asked))
    physx.observe(Request(str(planar), AT_REST))

    assert pickle.dumps(physx.observe(asked)) == first
    assert segments() <= before


def test_moving_joint_to_the_world_is_lost(physx: Engine, tmp_path: Path) -> None:
    """PhysX fixes the body at the world end of an articulation."""
    asked = _converted(tmp_path)
    stage = Usd.Stage.Open(asked.path)
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) and prim.GetName() == "base":
            prim.RemoveAPI(UsdPhysics.RigidBodyAPI)
        if prim.IsA(UsdPhysics.FixedJoint):
            prim.SetActive(False)
    stage.Save()

    joints = {joint.name: joint for joint in physx.observe(asked).joints}

    assert joints["slide"].type is obs.JointType.FIXED


def test_shapes_have_dynamic_friction_and_restitution(tmp_path: Path) -> None:
    """Newton has one friction, which is the dynamic one."""
    installed("newton-usd")
    import newton

    keys = '[[links]]\nmatch = "*"\nstatic_friction = 0.9\ndynamic_friction = 0.6\n'
    keys += '[[links]]\nmatch = "tool"\nrestitution = 0.2\n'
    options = with_settings(ConvertOptions(), load_settings(write_description(tmp_path, keys)))
    asset = convert(write_urdf(tmp_path), tmp_path / "asset", options).root_layer

    built = newton.ModelBuilder()
    built.add_usd(str(asset), load_visual_shapes=False, load_sites=False)

    values = (built.shape_body, built.shape_material_mu, built.shape_material_restitution)
    found = {
        built.body_label[body].rpartition("/")[2]: rest for body, *rest in zip(*values, strict=True)
    }
    assert found == {
        "base": pytest.approx((0.6, 0.0)),
        "arm": pytest.approx((0.6, 0.0)),
        "tool": pytest.approx((0.6, 0.2)),
    }


@pytest.fixture(scope="module")
def process() -> Iterator[Simulator]:
    installed("physx")
    module = "urdf_usd.conformance.engines.physx_program"
    with Simulator("PhysX", module, timeout=120) as simulator:
        yield simulator


_ROBOT = """\
<robot name="one"><link name="one">
  <inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.03"
    ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry>{}</geometry></collision>
</link></robot>
"""
_BOX, _BALL = '<box size="0.4 0.4 0.1"/>', '<sphere radius="0.05"/>'
# Of different materials PhysX takes the mean; it would stop what moves slowly.
_SCENE = """#usda 1.0
(
    subLayers = [@./asset/one.usda@]
    metersPerUnit = 1
    upAxis = "Z"
)
over "one"
{{
    double3 xformOp:translate = (0, 0, {height})
    uniform token[] xformOpOrder = ["xformOp:translate"]
    over "Geometry"
    {{
        over "one" (prepend apiSchemas = ["PhysxRigidBodyAPI"])
        {{
            float physxRigidBody:sleepThreshold = 0
            float physxRigidBody:stabilizationThreshold = 0
        }}
    }}
}}
def PhysicsScene "Scene"
{{
    vector3f physics:gravityDirection = {down}
    float physics:gravityMagnitude = 9.81
}}
def Plane "Ground" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
{{
    uniform token axis = "Z"
    rel material:binding:physics = </one/Physics/contact_0>
}}
"""


def _simulated(
    process: Simulator,
    folder: Path,
    keys: str,
    shape: str = _BOX,
    *,
    slope: float = 0.0,
    clearance: float = 0.0,
    seconds: float = 1.0,
) -> NDArray[np.float64]:
    """Return (S, 3) positions of a shape on the ground at every step [m].

    The ground has the same contact material, and a slope [rad], as gravity in its frame; the shape
    reaches 0.05 m down.
    """
    urdf, toml, usd = (folder / f"{name}" for name in ("one.urdf", "one.toml", "scene.usda"))
    urdf.write_text(_ROBOT.format(shape), encoding="utf-8")
    toml.write_text(f'[[links]]\nmatch = "one"\n{keys}\n', encoding="utf-8")
    convert(urdf, folder / "asset", with_settings(ConvertOptions(), load_settings(toml)))
    down = (math.sin(slope), 0.0, -math.cos(slope))
    usd.write_text(_SCENE.format(height=0.05 + clearance, down=down), encoding="utf-8")
    asked: dict[str, Any] = {
        "usd": str(usd),
        "body": "/one/Geometry/one",
        "joints": [],
        "angular": [],
        "step": _STEP,
        "every": 1,
        "segments": [{"steps": round(seconds / _STEP), "targets": {}}],
    }
    answer = process.observe(asked)
    assert "error" not in answer, answer["error"]
    return np.array(answer["segments"][0]["base"])[:, :3]


@pytest.mark.parametrize("friction", [0.1, 0.25])
def test_box_slides_with_its_dynamic_friction(
    process: Simulator, tmp_path: Path, friction: float
) -> None:
    """On a slope of 20 degrees it is accelerated by g (sin - friction cos)."""
    slope = math.radians(20.0)

    path = _simulated(process, tmp_path, f"static_friction = {friction}", slope=slope)

    expected = _GRAVITY * (math.sin(slope) - friction * math.cos(slope))
    assert 2.0 * (path[-1, 0] - path[0, 0]) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_ball_bounces_with_its_restitution(
    process: Simulator, tmp_path: Path, restitution: float
) -> None:
    """From a height h it rises to e^2 h."""
    keys = f"static_friction = 0.5\nrestitution = {restitution}"

    path = _simulated(process, tmp_path, keys, _BALL, clearance=1.0, seconds=0.9)

    landed = int(np.argmin(path[:, 2]))
    risen = path[landed:, 2].max() - path[landed, 2]
    assert risen == pytest.approx(restitution**2, rel=0.05, abs=0.01)


_INERTIAL = """<inertial><origin xyz="0.05 -0.1 -0.2" rpy="0.1 0.2 0.3"/>
  <mass value="1.5"/><inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003"
  izz="0.025"/></inertial>"""
_FAULTY = f"""<robot name="faulty">
  <link name="base">{_INERTIAL}</link><link name="arm">{_INERTIAL}</link>
  <link name="finger">{_INERTIAL}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.1"/><axis xyz="0.48 0.6 0.64"/>
    <limit lower="-1.2" upper="1.1" effort="3" velocity="0.5"/>
    <dynamics damping="0.3" friction="0.2"/></joint>
  <joint name="grip" type="revolute"><parent link="arm"/><child link="finger"/>
    <origin xyz="0.2 0.1 -0.3" rpy="-0.4 0.2 0.6"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-2" upper="2" effort="3" velocity="0.5"/>
    <mimic joint="shoulder" multiplier="-0.5" offset="0.1"/></joint></robot>"""
_COMPARED = (
    *("structure.mimic", "dynamics.damping", "dynamics.friction"),
    *("dynamics.inertia_matrix", "dynamics.bias"),
)
# Attributes of joints, wrong values, and the check that has to detect them.
_FAULTS: dict[str, tuple[str, float | bool, str]] = {
    "shoulder.newton:damping": ("Float", 0.05, "dynamics.damping"),
    "shoulder.newton:friction": ("Float", 0.4, "dynamics.friction"),
    "grip.newton:mimicCoef1": ("Float", -0.49, "structure.mimic"),
    "grip.newton:mimicCoef0": ("Float", 6.0, "structure.mimic"),
    "grip.newton:mimicEnabled": ("Bool", False, "structure.mimic"),
}


@pytest.mark.parametrize("fault", ["", *_FAULTS])
def test_fault_that_a_simulator_computes_is_detected(
    engine: Engine, fault: str, tmp_path: Path
) -> None:
    """In an asset without differences."""
    asked = request(tmp_path, _FAULTY)
    sampled = sampling_plan(parse(asked.path).robot)
    spec = ReferenceEngine().observe(Request(asked.path, sampled))
    usd = convert(asked.path, tmp_path / "usd").root_layer
    if fault:
        stage = Usd.Stage.Open(str(usd))
        joint, _, attribute = fault.partition(".")
        prim = stage.GetPrimAtPath(f"/faulty/Physics/{joint}")
        kind = getattr(Sdf.ValueTypeNames, _FAULTS[fault][0])
        prim.CreateAttribute(attribute, kind, custom=False).Set(_FAULTS[fault][1])
        stage.GetRootLayer().Save()
    seen = engine.observe(Request(str(usd), sampled))
    model = derive_tolerance_model(spec, Tolerance())
    failing = set()
    for check in CHECKS:
        if check.id in _COMPARED and check.quantity in seen.states:
            found = compare(check, spec, seen, model)
            assert isinstance(found, Compared)
            assert found.differences
            counted = compare_simulator(check, spec, spec, seen, model)[1]
            if any(one.grade is Grade.FAILS for one in counted.differences):
                failing.add(check.id)

    assert failing == ({_FAULTS[fault][2]} if fault else set())


@pytest.mark.parametrize("inertial", ["", _INERTIAL])
def test_accuracy_of_couplings_depends_on_neither_the_number_of_joints_nor_masses(
    engine: Engine, inertial: str, tmp_path: Path
) -> None:
    links = "".join(f'<link name="l{n}">{inertial}</link>' for n in range(8))
    joints = "".join(
        f"""<joint name="j{n}" type="revolute"><parent link="l{n}"/><child link="l{n + 1}"/>
        <origin xyz="0.3 0 0.1"/><axis xyz="0.6 0 0.8"/>
        <limit lower="-2" upper="2" effort="3" velocity="0.5"/><dynamics damping="0.3"/>
        {'<mimic joint="j1" multiplier="-0.5"/>' if n == 6 else ""}</joint>"""
        for n in range(7)
    )
    asked = request(tmp_path, f'<robot name="chain">{links}{joints}</robot>')
    usd = convert(asked.path, tmp_path / "usd").root_layer

    seen = engine.observe(Request(str(usd), asked.configurations))

    (mimic,) = (joint.mimic for joint in seen.joints if joint.mimic)
    assert mimic.leader == "j1"
    assert mimic.multiplier == pytest.approx(-0.5, abs=3e-6)
