"""Contact materials of simulation settings files, as PhysX simulates them.

ovphysx reports no materials, so that boxes slide and balls fall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd import ConvertOptions, convert, load_settings, with_settings
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.engines.protocol import Engine

_ROBOT = """\
<robot name="one"><link name="one">
  <inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.03"
    ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry>{}</geometry></collision>
</link></robot>
"""
_BOX, _BALL = '<box size="0.4 0.4 0.1"/>', '<sphere radius="0.05"/>'
_GRAVITY, _STEP = 9.81, 0.002


@pytest.fixture(scope="module")
def physx(engine: Engine) -> Iterator[Simulator]:
    """Return a process of PhysX; tests are skipped where it is not installed."""
    assert engine.name == "physx"
    module = "urdf_usd.conformance.behaviour.simulate_physx"
    with Simulator("PhysX", module, timeout=120) as simulator:
        yield simulator


def _simulated(
    physx: Simulator,
    folder: Path,
    keys: str,
    shape: str = _BOX,
    *,
    slope: float = 0.0,
    clearance: float = 0.0,
    seconds: float = 1.0,
) -> NDArray[np.float64]:
    """Return (S, 3) positions of a shape on the ground, at every step [m].

    Args:
        physx: The simulator.
        folder: An empty folder.
        keys: Contact material of the shape, and of the ground.
        shape: A shape that reaches 0.05 m down.
        slope: Of the ground, as gravity in its frame [rad].
        clearance: Height above the ground at the start [m].
        seconds: Duration [s].
    """
    urdf, toml = folder / "one.urdf", folder / "one.toml"
    urdf.write_text(_ROBOT.format(shape), encoding="utf-8")
    toml.write_text(f'[[links]]\nmatch = "one"\n{keys}\n', encoding="utf-8")
    options = with_settings(ConvertOptions(), load_settings(toml))
    asset = convert(urdf, folder / "asset", options).root_layer
    stage = Usd.Stage.CreateNew(str(folder / "scene.usda"))
    stage.GetRootLayer().subLayerPaths = [f"./asset/{asset.name}"]
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    robot = Usd.Stage.Open(str(asset)).GetDefaultPrim().GetPath()
    place = UsdGeom.XformCommonAPI(stage.GetPrimAtPath(robot))
    place.SetTranslate(Gf.Vec3d(0.0, 0.0, 0.05 + clearance))
    scene = UsdPhysics.Scene.Define(stage, "/Scene")
    down = Gf.Vec3f(math.sin(slope), 0.0, -math.cos(slope))
    scene.CreateGravityDirectionAttr(down)
    scene.CreateGravityMagnitudeAttr(_GRAVITY)
    ground = UsdGeom.Plane.Define(stage, "/Ground")
    ground.CreateAxisAttr(UsdGeom.Tokens.z)
    UsdPhysics.CollisionAPI.Apply(ground.GetPrim())
    # Of different materials PhysX takes the mean.
    material = next(prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.MaterialAPI))
    UsdShade.MaterialBindingAPI.Apply(ground.GetPrim()).Bind(
        UsdShade.Material(material), materialPurpose="physics"
    )
    (body,) = (prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI))
    for name in ("sleepThreshold", "stabilizationThreshold"):
        # PhysX would stop what moves slowly.
        body.AddAppliedSchema("PhysxRigidBodyAPI")
        attribute = f"physxRigidBody:{name}"
        body.CreateAttribute(attribute, Sdf.ValueTypeNames.Float).Set(0.0)
    stage.Save()
    request: dict[str, Any] = {
        "usd": str(folder / "scene.usda"),
        "body": str(body.GetPath()),
        "joints": [],
        "angular": [],
        "step": _STEP,
        "every": 1,
        "segments": [{"steps": round(seconds / _STEP), "targets": {}}],
    }
    answer = physx.observe(request)
    assert "error" not in answer, answer["error"]
    return np.array(answer["segments"][0]["base"])[:, :3]


@pytest.mark.parametrize("friction", [0.1, 0.25])
def test_box_slides_with_its_dynamic_friction(
    physx: Simulator, tmp_path: Path, friction: float
) -> None:
    """On a slope of 20 degrees it is accelerated by g (sin - friction cos)."""
    slope = math.radians(20.0)
    keys = f"static_friction = {friction}"

    path = _simulated(physx, tmp_path, keys, slope=slope)

    expected = _GRAVITY * (math.sin(slope) - friction * math.cos(slope))
    assert 2.0 * (path[-1, 0] - path[0, 0]) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_ball_bounces_with_its_restitution(
    physx: Simulator, tmp_path: Path, restitution: float
) -> None:
    """From a height h it rises to e^2 h."""
    keys = f"static_friction = 0.5\nrestitution = {restitution}"
    height = 1.0

    path = _simulated(physx, tmp_path, keys, _BALL, clearance=height, seconds=0.9)

    landed = int(np.argmin(path[:, 2]))
    risen = path[landed:, 2].max() - path[landed, 2]
    assert risen == pytest.approx(restitution**2 * height, rel=0.05, abs=0.01)
