"""Robots with a floating base that come to rest on the ground.

    python -m tests.tools.behaviour.resting ROBOT… [--newton PYTHON]

Converts robots with a floating base and drives of 5 Hz, lets them fall from where their
lowest collider touches the ground with all joints at zero, and simulates 6 s in PhysX,
Newton and MuJoCo. Writes a table of the motion of the base in the last second.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from tests.tools.behaviour.__main__ import ASSETS, WITH, run_simulators
from urdf_usd import ConvertOptions
from urdf_usd.conformance.behaviour.simulate_mujoco import Ground, simulate_in_mujoco
from urdf_usd.conformance.behaviour.simulations import (
    convert_for_simulation,
    find_prims,
    joint_names,
    observe_at_rest,
)
from urdf_usd.conformance.engines.openusd.reading import captured_diagnostics, urdf_name
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import resolve_robot

# Time step [s], samples per second, and seconds.
_STEP, _RATE, _SECONDS = 0.004, 10, 6
# Height above the ground at the start [m].
_CLEARANCE = 1e-3
# Motion in the last second of a base at rest [m, rad].
_STILL = 1e-3, 1e-2
# Corners of the polygon in place of a circle.
_CORNERS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robot", nargs="+")
    parser.add_argument("--newton", default=sys.executable)
    options = parser.parse_args()
    with run_simulators(options.newton) as simulators:
        for reference in options.robot:
            with tempfile.TemporaryDirectory() as scratch:
                usd, request = _request(reference, Path(scratch))
                for simulator in simulators:
                    _write(reference, simulator.name, simulator.observe(request))
                _write(reference, "MuJoCo", _in_mujoco(usd, request))


def _write(reference: str, simulator: str, answer: Mapping[str, Any]) -> None:
    cells = [reference, simulator, *_cells(answer)]
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def _request(reference: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the asset, and the request for its scene."""
    source = resolve_robot(reference)
    packages = {name: str(path) for name, path in source.packages}
    parsed = parse(str(source.path), packages=packages, arguments=dict(source.arguments))
    usd = convert_for_simulation(
        parsed, folder / "asset", ASSETS[WITH], ConvertOptions(base=BaseOption.FLOATING)
    )
    scene, body = _place(usd)
    steps = round(_SECONDS / _STEP)
    request = {
        "usd": str(scene),
        "body": body,
        "colliders": [],
        "joints": find_prims(usd, UsdPhysics.RevoluteJoint),
        "angular": find_prims(usd, UsdPhysics.RevoluteJoint),
        "step": _STEP,
        "every": round(1.0 / (_RATE * _STEP)),
        "segments": [{"steps": steps, "targets": {}}],
    }
    return usd, request


def _in_mujoco(usd: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate the asset above a plane, which touches its lowest collider."""
    seen, chosen = observe_at_rest(usd)
    colliders, lowest = _colliders(usd)
    ground = Ground(lowest - _CLEARANCE, colliders)
    paths = {name: path for path, name in joint_names(usd).items()}
    return simulate_in_mujoco(seen, chosen, paths, request, ground)


def _colliders(usd: Path) -> tuple[dict[str, list[NDArray[np.float64]]], float]:
    """Return vertices of colliders by link, and the lowest height.

    Both are in link frames; the height in that of the base, with joints at zero.
    """
    with captured_diagnostics():
        stage = Usd.Stage.Open(str(usd))
    cache = UsdGeom.XformCache()
    found: dict[str, list[NDArray[np.float64]]] = {}
    heights = []
    bodies = find_prims(usd, UsdPhysics.RigidBodyAPI)
    base = stage.GetPrimAtPath(min(bodies, key=lambda path: path.count("/")))
    to_base = cache.GetLocalToWorldTransform(base).GetInverse()
    for path in find_prims(usd, UsdPhysics.CollisionAPI):
        prim = stage.GetPrimAtPath(path)
        body = prim
        while not body.HasAPI(UsdPhysics.RigidBodyAPI):
            body = body.GetParent()
        placed = cache.GetLocalToWorldTransform(prim)
        own = cache.GetLocalToWorldTransform(body).GetInverse()
        vertices = _vertices(prim)
        found.setdefault(urdf_name(body), []).append(_moved(vertices, placed * own))
        heights.append(_moved(vertices, placed * to_base)[:, 2].min())
    return found, min(heights)


def _moved(points: NDArray[np.float64], matrix: Gf.Matrix4d) -> NDArray[np.float64]:
    rows = np.array(matrix)
    moved: NDArray[np.float64] = points @ rows[:3, :3] + rows[3, :3]
    return moved


def _vertices(prim: Usd.Prim) -> NDArray[np.float64]:
    """Return (N, 3) points whose convex hull is a collider's, round ones sampled."""

    def number(name: str) -> float:
        return float(prim.GetAttribute(name).Get())

    kind = prim.GetTypeName()
    if kind == "Mesh":
        return np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(), float)
    if kind == "Cube":
        half = number("size") / 2.0
        return np.array(list(itertools.product((-half, half), repeat=3)))
    if kind == "Sphere":
        return _sphere(number("radius"))
    half = number("height") / 2.0
    end = _disc(number("radius")) if kind == "Cylinder" else _sphere(number("radius"))
    ends = np.vstack([end + np.array([0.0, 0.0, h]) for h in (-half, half)])
    turned = {"X": (2, 0, 1), "Y": (1, 2, 0), "Z": (0, 1, 2)}
    return ends[:, turned[prim.GetAttribute("axis").Get()]]


def _disc(radius: float) -> NDArray[np.float64]:
    angles = 2.0 * np.pi * np.arange(_CORNERS) / _CORNERS
    return radius * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], 1)


def _sphere(radius: float) -> NDArray[np.float64]:
    rings = [
        radius * (np.cos(turn) * _disc(1.0) + np.array([0.0, 0.0, np.sin(turn)]))
        for turn in np.linspace(-0.5, 0.5, _CORNERS // 2 + 1) * np.pi
    ]
    return np.vstack(rings)


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
            cache.ComputeWorldBound(stage.GetPrimAtPath(path)).ComputeAlignedRange().GetMin()[2]
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
