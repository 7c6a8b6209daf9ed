"""Visible surfaces of a URDF, read by PyBullet and trimesh without our code.

PyBullet gives shapes, poses and colours. It ignores materials of COLLADA and all but
one of other meshes, so mesh files are read by trimesh.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pybullet
import trimesh
from PIL import Image

from tests.tools.renders.stage_surfaces import Surface

Array = np.ndarray

# Triangles of a box, with separate corners for flat normals.
_FEW = 12


def urdf_surfaces(file: str) -> Iterator[Surface]:
    """Yield the visible surfaces of a URDF."""
    client = pybullet.connect(pybullet.DIRECT)
    body = pybullet.loadURDF(file, useFixedBase=True)
    shapes = pybullet.getVisualShapeData(body)
    for _, link, kind, sizes, name, position, turn, rgba, *_ in shapes:
        matrix = _frame(body, link) @ _matrix(position, turn)
        for mesh, local in _meshes(kind, sizes, name.decode()):
            yield _surface(mesh, matrix @ local, rgba[:3])
    pybullet.disconnect(client)


def _frame(body: int, link: int) -> Array:
    """Return the frame of a link as the URDF has it."""
    if link >= 0:
        state = pybullet.getLinkState(body, link)
        return _matrix(state[4], state[5])
    com = pybullet.getBasePositionAndOrientation(body)
    inertial = pybullet.getDynamicsInfo(body, -1)[3:5]
    return _matrix(*com) @ np.linalg.inv(_matrix(*inertial))


def _matrix(position: tuple[float, ...], turn: tuple[float, ...]) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3] = np.reshape(pybullet.getMatrixFromQuaternion(turn), (3, 3))
    matrix[:3, 3] = position
    return matrix


def _meshes(kind: int, sizes: tuple[float, ...], name: str) -> Iterator[Any]:
    first, second, third = sizes
    identity = np.eye(4)
    match kind:
        case pybullet.GEOM_MESH:
            scene = trimesh.load_scene(name, process=False)
            scale = np.diag([first, second, third, 1.0])
            for node in scene.graph.nodes_geometry:
                transform, geometry = scene.graph[node]
                yield scene.geometry[geometry], scale @ transform
        case pybullet.GEOM_BOX:
            yield trimesh.creation.box(sizes), identity
        case pybullet.GEOM_SPHERE:
            yield trimesh.creation.icosphere(subdivisions=4, radius=first), identity
        case pybullet.GEOM_CYLINDER:
            made = trimesh.creation.cylinder(radius=second, height=first, sections=48)
            yield made, identity
        case pybullet.GEOM_CAPSULE:
            made = trimesh.creation.capsule(radius=second, height=first)
            yield made, identity


def _surface(mesh: Any, matrix: Array, urdf: tuple[float, float, float]) -> Surface:  # noqa: ANN401
    corners = mesh.faces.ravel()
    points = mesh.vertices[corners] @ matrix[:3, :3].T + matrix[:3, 3]
    rows = points.reshape(-1, 3, 3)
    flat = np.cross(rows[:, 1] - rows[:, 0], rows[:, 2] - rows[:, 0])
    normals = mesh.vertex_normals[corners] @ np.linalg.inv(matrix[:3, :3])
    if mesh.is_watertight and len(mesh.faces) <= _FEW:
        normals = np.repeat(flat, 3, axis=0)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals / np.where(lengths > 0, lengths, 1)
    material = getattr(mesh.visual, "material", None)
    uv = getattr(mesh.visual, "uv", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if isinstance(image, Image.Image) and uv is not None:
        pixels = np.asarray(image.convert("RGB"))
        white = (1.0, 1.0, 1.0)
        tint = _linear(np.array(_color(material, white)))
        return Surface(points, normals, uv[corners], None, tint, pixels)
    color = urdf if material is None else _color(material, urdf)
    return Surface(points, normals, None, None, _linear(np.array(color)))


def _color(material: Any, default: tuple[float, ...]) -> tuple[float, ...]:  # noqa: ANN401
    for name in ("diffuse", "baseColorFactor"):
        value = getattr(material, name, None)
        if value is not None:
            return tuple(np.asarray(value, dtype=float)[:3] / 255)
    return default


def _linear(encoded: Array) -> tuple[float, float, float]:
    """Return linear components (IEC 61966-2-1)."""
    low = encoded / 12.92
    red, green, blue = np.where(
        encoded <= 0.04045, low, ((encoded + 0.055) / 1.055) ** 2.4
    ).tolist()
    return red, green, blue
