"""Robots with a floating base that come to rest on the ground.

    python -m tests.behaviour.resting ROBOT… [--newton PYTHON]

Converts robots with a floating base and drives of 5 Hz, lets them fall from where their
lowest collider touches the ground with all joints at zero, and simulates 6 s in PhysX
and in Newton. Writes a table of the motion of the base in the last second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from tests.behaviour.__main__ import (
    ASSETS,
    WITH,
    convert_robot,
    find_prims,
    run_simulators,
)
from urdf_usd.conformance.engines.openusd.stage import captured_diagnostics
from urdf_usd.converter.robot.bodies import BaseOption
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import resolve_robot

# Time step [s], samples per second, and seconds.
_STEP, _RATE, _SECONDS = 0.004, 10, 6
# Height above the ground at the start [m].
_CLEARANCE = 1e-3
# Motion in the last second of a base at rest [m, rad].
_STILL = 1e-3, 1e-2


def main() -> None:
    """Simulate robots, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robot", nargs="+")
    parser.add_argument("--newton", default=sys.executable)
    options = parser.parse_args()
    with run_simulators(options.newton) as simulators:
        for reference in options.robot:
            with tempfile.TemporaryDirectory() as scratch:
                request = _request(reference, Path(scratch))
                for simulator in simulators:
                    answer = simulator.observe(request)
                    cells = [reference, simulator.name, *_cells(answer)]
                    sys.stdout.write(f"| {' | '.join(cells)} |\n")
                    sys.stdout.flush()


def _request(reference: str, folder: Path) -> dict[str, Any]:
    source = resolve_robot(reference)
    packages = {name: str(path) for name, path in source.packages}
    parsed = parse(
        str(source.path), packages=packages, arguments=dict(source.arguments)
    )
    usd = convert_robot(parsed, folder / "asset", ASSETS[WITH], BaseOption.FLOATING)
    scene, body = _place(usd)
    steps = round(_SECONDS / _STEP)
    return {
        "usd": str(scene),
        "body": body,
        "colliders": [],
        "joints": find_prims(usd, UsdPhysics.RevoluteJoint),
        "angular": find_prims(usd, UsdPhysics.RevoluteJoint),
        "step": _STEP,
        "every": round(1.0 / (_RATE * _STEP)),
        "segments": [{"steps": steps, "targets": {}}],
    }


def _place(usd: Path) -> tuple[Path, str]:
    """Write a stage with an asset above the ground; return it and its base body."""
    file = usd.with_name("scene.usda")
    with captured_diagnostics():
        layer = Sdf.Layer.CreateNew(str(file))
        asset = Sdf.Layer.FindOrOpen(str(usd))
        layer.TransferContent(Sdf.Layer.CreateAnonymous())
        layer.subLayerPaths = [f"./{usd.name}"]
        layer.defaultPrim = asset.defaultPrim
        stage = Usd.Stage.Open(layer)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        purposes = [UsdGeom.Tokens.default_, UsdGeom.Tokens.guide]
        cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), purposes)
        lowest = min(
            cache.ComputeWorldBound(stage.GetPrimAtPath(path))
            .ComputeAlignedRange()
            .GetMin()[2]
            for path in find_prims(usd, UsdPhysics.CollisionAPI)
        )
        height = Gf.Vec3d(0.0, 0.0, _CLEARANCE - lowest)
        robot = stage.GetDefaultPrim()
        UsdGeom.XformCommonAPI(robot).SetTranslate(height)
        ground = UsdGeom.Plane.Define(stage, "/Ground")
        ground.CreateAxisAttr(UsdGeom.Tokens.z)
        UsdPhysics.CollisionAPI.Apply(ground.GetPrim())
        UsdPhysics.Scene.Define(stage, "/Scene")
        for path in find_prims(usd, UsdPhysics.ArticulationRootAPI):
            # PhysX would stop a robot that moves slowly.
            prim = stage.GetPrimAtPath(path)
            prim.AddAppliedSchema("PhysxArticulationAPI")
            for name in ("sleepThreshold", "stabilizationThreshold"):
                attribute = f"physxArticulation:{name}"
                prim.CreateAttribute(attribute, Sdf.ValueTypeNames.Float).Set(0.0)
            # The schema overrides that of Newton, in which the description states it.
            own = "physxArticulation:enabledSelfCollisions"
            prim.CreateAttribute(own, Sdf.ValueTypeNames.Bool).Set(False)
        layer.Save()
    bodies = find_prims(usd, UsdPhysics.RigidBodyAPI)
    return file, min(bodies, key=lambda path: path.count("/"))


def _cells(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield cells: state, motion in the last second, and where the base is."""
    if "error" in answer:
        yield from ("refused", str(answer["error"]).splitlines()[0], "", "", "")
        return
    poses = np.array(answer["segments"][0]["base"])
    last = poses[-_RATE - 1 :]
    moved = float(np.linalg.norm(last[:, :3] - last[-1, :3], axis=1).max())
    first, *turns = Rotation.from_quat(poses[:, 3:])
    end = turns[-1]
    turned = max(float((end.inv() * one).magnitude()) for one in turns[-_RATE - 1 :])
    still = moved < _STILL[0] and turned < _STILL[1]
    tilt = np.degrees(np.arccos(np.clip((end * first.inv()).as_matrix()[2, 2], -1, 1)))
    yield "rests" if still else "moves"
    yield f"{1e3 * moved:.2g} mm"
    yield f"{turned:.2g} rad"
    yield f"{1e3 * (poses[-1, 2] - poses[0, 2]):.0f} mm"
    yield f"{tilt:.0f}°"


if __name__ == "__main__":
    main()
