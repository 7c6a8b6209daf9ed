"""Surfaces of scenes by trimesh."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import trimesh
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_files.bounds import LARGEST_MESH, require_bounded
from urdf_usd.conformance.engines.mesh_files.loaded_mesh import MeshPart, reading_by

# Slow to import: 0.3 s.
if TYPE_CHECKING:
    import trimesh


class TrimeshScene(Struct, frozen=True, eq=False):
    """A scene as trimesh reads it.

    Attributes:
        geometries: Number of geometries, instanced or not.
        parts: Index of the geometry and its surface, for each instance.
    """

    geometries: int
    parts: tuple[tuple[int, MeshPart], ...]


def read_scene(
    content: bytes, form: str, folder: str, *, with_normals: bool = False
) -> TrimeshScene:
    """Read a file by trimesh.

    Args:
        content: The file.
        form: Name of the format in trimesh.
        folder: Folder that references are relative to.
        with_normals: Whether all its corners have normals, so that trimesh states
            these; it computes them for others.

    Raises:
        UnreadMeshError: trimesh raised.
    """
    with reading_by("trimesh"):
        # Importing it takes 0.3 s.

        scene = trimesh.load_scene(
            io.BytesIO(content),
            file_type=form,
            process=False,
            skip_materials=True,
            resolver=_bounded_resolver(folder),
        )
        numbers = {name: number for number, name in enumerate(scene.geometry)}
        parts = []
        for node in scene.graph.nodes_geometry:
            transform, name = scene.graph[node]
            mesh = scene.geometry[name]
            if isinstance(mesh, trimesh.Trimesh):
                points = np.asarray(mesh.vertices, np.float64)
                faces = np.asarray(mesh.faces)
                part = MeshPart(
                    points,
                    faces,
                    transform,
                    normals=mesh.vertex_normals[faces] if with_normals else None,
                    coordinates=_coordinates(mesh),
                )
                parts.append((numbers[name], part))
    return TrimeshScene(len(numbers), tuple(parts))


def _coordinates(mesh: trimesh.Trimesh) -> NDArray[np.floating] | None:
    """Return the texture coordinates of the corners of triangles, if there are any."""
    held = getattr(mesh.visual, "uv", None)
    if held is None or len(held) != len(mesh.vertices):
        return None
    corners: NDArray[np.floating] = np.asarray(held)[np.asarray(mesh.faces), :2]
    return corners


def _bounded_resolver(folder: str) -> trimesh.resolvers.FilePathResolver:

    class Resolver(trimesh.resolvers.FilePathResolver):
        """Reads files that are regular and not too large."""

        def get(self, name: str) -> object:
            """Check the file that trimesh would read; then have it read."""
            for spelling in (name.strip(), name.strip().lstrip("/"), Path(name).name):
                path = Path(self.parent, spelling)
                if path.exists():
                    require_bounded(path, LARGEST_MESH)
            return super().get(name)

    return Resolver(folder)
