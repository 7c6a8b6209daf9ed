"""Lower bound of the time of a check: every engine loads the robot once."""

from __future__ import annotations

import os
from pathlib import Path

import mujoco
import pybullet
import trimesh
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.converter import Conversion
from urdf_usd.converter.robot.model import MeshFile, Robot


def load_once(urdf: Path, conversion: Conversion) -> int:
    """Load a robot in every engine, and every mesh in trimesh; return their number."""
    triangles = sum(
        len(getattr(part, "faces", ()))
        for mesh in _mesh_files(conversion.robot)
        for part in trimesh.load_scene(mesh, process=False).geometry.values()
    )
    links = _links_in_mujoco(urdf) + _links_in_pybullet(urdf)
    return triangles + links + _bodies_in_usd(conversion.root_layer)


def _mesh_files(robot: Robot) -> tuple[str, ...]:
    shapes = [shape.geometry for link in robot.links for shape in link.shapes]
    paths = [one.path for one in shapes if isinstance(one, MeshFile)]
    return tuple(dict.fromkeys(path for path in paths if path))


def _links_in_mujoco(urdf: Path) -> int:
    """Load a robot in MuJoCo without meshes, of which it reads few formats.

    Physically impossible inertia is refused at the end of reading.
    """
    spec = mujoco.MjSpec.from_string(urdf.read_text())
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    try:
        return int(spec.compile().nbody)
    except ValueError:
        return len(spec.bodies)


def _links_in_pybullet(urdf: Path) -> int:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
        with captured():
            robot = pybullet.loadURDF(os.fspath(urdf), physicsClientId=client)
        return int(pybullet.getNumJoints(robot, physicsClientId=client))
    except pybullet.error:
        # It was read up to a mesh of a format that PyBullet lacks.
        return 0
    finally:
        pybullet.disconnect(client)


def _bodies_in_usd(root_layer: Path) -> int:
    stage = Usd.Stage.Open(str(root_layer))
    root = stage.GetDefaultPrim().GetPath()
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, [root])
    return len(found)
