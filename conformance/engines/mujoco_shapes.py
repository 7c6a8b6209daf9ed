"""Shapes of a URDF as MuJoCo reads them.

MuJoCo moves every mesh to its centre and rotates it to its principal axes; the pose of
the geom compensates for both.
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
from lxml import etree
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mujoco_compilation import (
    WORLD,
    collected_warnings,
    compiled_quietly,
)
from urdf_usd.conformance.engines.prepared_shapes import ShapeText, prepare_shapes
from urdf_usd.conformance.engines.prepared_urdf import (
    UrdfElement,
    rename_inner_link,
)
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.engines.rotations import matrices
from urdf_usd.conformance.engines.statements import vec3
from urdf_usd.conformance.engines.surfaces import mesh_surface, primitive_surface
from urdf_usd.conformance.observation.shapes import (
    Role,
    ShapeKind,
    ShapeObservation,
    Surface,
)

_FORMATS = frozenset({".stl", ".obj"})
# The group that MuJoCo puts visuals of a URDF in.
_VISUAL_GROUP = 1
_KEPT = ("discardvisual", "fusestatic", "strippath")
# MuJoCo's sizes are half edges, radius and half length, radius.
_KINDS = {
    int(mujoco.mjtGeom.mjGEOM_BOX): (ShapeKind.BOX, (0, 1, 2), (2.0, 2.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): (ShapeKind.CYLINDER, (0, 1), (1.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): (ShapeKind.CAPSULE, (0, 1), (1.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_SPHERE): (ShapeKind.SPHERE, (0,), (1.0,)),
}


def state_shapes(
    request: Request,
) -> tuple[tuple[ShapeObservation, ...], tuple[str, ...]] | None:
    """State primitives, and the meshes that MuJoCo loads.

    Returns:
        The shapes, and notes; None if MuJoCo rejects the primitives as well.
    """
    refusals = []
    for loads in (_is_known_format, lambda *_: False):
        text = prepare_shapes(request, loads, rename_inner_link(WORLD), _keep_all)
        try:
            model = _compiled(text)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            refusals.append(f"MuJoCo rejects shapes: {reason}")
        else:
            return (*_shapes(text, model), *text.unread), tuple(refusals)
    return None


def _is_known_format(_: Role, file: Path) -> bool:
    return file.suffix.lower() in _FORMATS


def _keep_all(robot: UrdfElement) -> None:
    """Make MuJoCo keep visuals, paths of meshes and fixed links."""
    extension = etree.SubElement(robot, "mujoco")
    etree.SubElement(extension, "compiler", dict.fromkeys(_KEPT, "false"))


def _compiled(text: ShapeText) -> mujoco.MjModel:
    with collected_warnings():
        spec = mujoco.MjSpec.from_string(text.urdf.text.decode())
        for mesh in spec.meshes:
            # A mesh without volume is rejected, unless its inertia is that of a shell.
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        for geom in spec.geoms:
            # Convex hulls of colliding geoms would take nine tenths of the time.
            geom.contype = geom.conaffinity = 0
        return compiled_quietly(spec)


def _shapes(
    text: ShapeText,
    model: mujoco.MjModel,
) -> tuple[ShapeObservation, ...]:
    # Most meshes are both visual and collider.
    measured: dict[tuple[int, bytes], Surface | None] = {}
    placed = np.tile(np.eye(4), (model.ngeom, 1, 1))
    placed[:, :3, :3] = matrices(model.geom_quat)
    placed[:, :3, 3] = model.geom_pos
    return tuple(
        _shape(text, model, index, placed[index], measured)
        for index in range(model.ngeom)
        if model.geom_bodyid[index] or WORLD in text.urdf.links
    )


def _shape(
    text: ShapeText,
    model: mujoco.MjModel,
    index: int,
    transform: NDArray[np.float64],
    measured: dict[tuple[int, bytes], Surface | None],
) -> ShapeObservation:
    visual = model.geom_group[index] == _VISUAL_GROUP
    kind = ShapeKind.MESH
    size: tuple[float, ...] = ()
    if model.geom_type[index] == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[index])
        place = mesh, transform.tobytes()
        if place not in measured:
            measured[place] = mesh_surface(*_mesh(model, mesh), transform)
        surface = measured[place]
        # It leaves out degenerate triangles, so their number is not the file's.
        surface = structs.replace(surface, triangles=0) if surface else None
    else:
        kind, places, factors = _KINDS[int(model.geom_type[index])]
        own = model.geom_size[index]
        size = tuple(
            float(own[place]) * factor for place, factor in zip(places, factors, strict=True)
        )
        surface = primitive_surface(kind, size, transform)
    return ShapeObservation(
        link=text.urdf.original(model.body(model.geom_bodyid[index]).name),
        role=Role.VISUAL if visual else Role.COLLISION,
        source=f"geom {index}",
        name=kind.value,
        kind=kind,
        size=size,
        position=vec3(model.geom_pos[index]),
        surface=surface,
        stated=surface is not None,
    )


def _mesh(
    model: mujoco.MjModel,
    index: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    first, count = model.mesh_vertadr[index], model.mesh_vertnum[index]
    start, faces = model.mesh_faceadr[index], model.mesh_facenum[index]
    points = np.array(model.mesh_vert[first : first + count], np.float64)
    return points, np.array(model.mesh_face[start : start + faces], np.int64)
