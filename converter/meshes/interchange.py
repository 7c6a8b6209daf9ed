"""Binary glTF and PLY, which some packages refer to though URDF tools rarely read them.

trimesh reads both; it is imported when the first such file is met, because few robots
have one. glTF is Y-up by its specification, and is turned upright (Y becomes Z), as
Drake and Gazebo do. PLY has no axes and is taken as it is.

Textures inside glTF are not read; a material's colour is.
"""

from __future__ import annotations

import io
import struct
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from converter.meshes.appearance import (
    MeshMaterial,
    corner_values,
    joined,
    unit_color,
    unit_vectors,
    visible,
)
from converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    SurfaceLook,
    build_mesh,
    reversed_faces,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from converter.meshes.appearance import CornerValues

_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
# What escapes from trimesh on damaged files.
_MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    # for what it needs to make sense of them
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)


def read_glb(data: bytes) -> PolygonMesh:
    """Read all surfaces of a binary glTF file as one mesh [m], Z up.

    Raises:
        MeshError: The file is damaged or holds no surface.
    """
    skipped = ("its textures are not read",) if b'"baseColorTexture"' in data else ()
    has_normals = b'"NORMAL"' in data
    with _damage_explained("glTF"):
        parts = [
            (_UPRIGHT @ transform, geometry)
            for transform, geometry in _surfaces(data, "glb")
        ]
        return _joined(parts, skipped, has_normals=has_normals)


def read_ply(data: bytes) -> PolygonMesh:
    """Read a PLY file [m].

    Raises:
        MeshError: The file is damaged or holds no surface.
    """
    with _damage_explained("PLY"):
        return _joined(_surfaces(data, "ply"), (), has_normals=False)


@contextmanager
def _damage_explained(name: str) -> Iterator[None]:
    """Turn what trimesh raises into the error of a mesh.

    It works out much of a surface only when it is asked, so that is not over when the
    file is loaded.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except _MALFORMED as error:
        said = " ".join(str(error).split())[:80]
        raise MeshError(f"its {name} is broken: {said}") from error


def _surfaces(data: bytes, kind: str) -> list[tuple[NDArray[Any], Any]]:
    import trimesh  # noqa: PLC0415  slow to import, and rarely needed

    scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
    placed = [scene.graph[node] for node in scene.graph.nodes_geometry]
    found = [(transform, scene.geometry[key]) for transform, key in placed]
    return [pair for pair in found if isinstance(pair[1], trimesh.Trimesh)]


def _joined(
    parts: list[tuple[NDArray[Any], Any]],
    skipped: tuple[str, ...],
    *,
    has_normals: bool,
) -> PolygonMesh:
    if not parts:
        raise MeshError("it holds no faces")
    points: list[NDArray[np.float64]] = []
    indices: list[NDArray[np.integer]] = []
    normals: list[CornerValues | None] = []
    coordinates: list[CornerValues | None] = []
    colors: list[CornerValues | None] = []
    materials: list[MeshMaterial | None] = []
    for transform, geometry in parts:
        linear = transform[:3, :3]
        faces: NDArray[np.integer] = np.asarray(geometry.faces).reshape(-1)
        if np.linalg.det(linear) < 0:
            faces = reversed_faces(np.full(len(faces) // 3, 3), faces)
        indices.append(faces + sum(len(block) for block in points))
        points.append(geometry.vertices @ linear.T + transform[:3, 3])
        if has_normals:
            turned = np.linalg.solve(linear.T, geometry.vertex_normals.T).T
            normals.append(corner_values(unit_vectors(turned), faces))
        uv = getattr(geometry.visual, "uv", None)
        coordinates.append(None if uv is None else corner_values(uv[:, :2], faces))
        colors.append(_colors(geometry.visual, faces))
        materials.append(_material(geometry.visual))
    white = [np.ones((len(faces), 3)) for faces in indices]
    corners = np.concatenate(indices)
    numbers = [-1 if one is None else at for at, one in enumerate(materials)]
    return build_mesh(
        np.concatenate(points),
        np.full(len(corners) // 3, 3),
        corners,
        skipped=skipped,
        look=SurfaceLook(
            normals=joined(normals, white) if normals else None,
            texture_coordinates=joined(coordinates, [one[:, :2] * 0 for one in white]),
            colors=joined(colors, white),
            face_materials=np.repeat(
                np.array(numbers, np.int32), [len(faces) // 3 for faces in indices]
            ),
            materials=tuple(one or MeshMaterial("") for one in materials),
        ),
    )


def _colors(visual: Any, faces: NDArray[np.integer]) -> CornerValues | None:  # noqa: ANN401
    if visual.kind != "vertex":
        return None
    return corner_values(visual.vertex_colors[:, :3] / 255.0, faces)


def _material(visual: Any) -> MeshMaterial | None:  # noqa: ANN401
    """Translate a material of glTF, whose colours are linear."""
    material = getattr(visual, "material", None)
    factor = getattr(material, "baseColorFactor", None)
    if material is None or factor is None:
        return None
    # trimesh keeps the factors in 255 steps.
    red, green, blue, alpha = np.asarray(factor, dtype=np.float64) / 255.0
    linear = np.array([red, green, blue])
    encoded = np.where(
        linear <= 0.0031308,  # noqa: PLR2004  the threshold of sRGB
        linear * 12.92,
        1.055 * linear ** (1 / 2.4) - 0.055,
    )
    return MeshMaterial(
        str(material.name or ""), unit_color(encoded.tolist()), visible(float(alpha))
    )
