"""Surfaces of scenes by trimesh, which decides nothing about axes."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from urdf_usd.conformance.engines.mesh_files.loaded_mesh import MeshPart, reading_by


@dataclass(frozen=True, slots=True, eq=False)
class TrimeshScene:
    """What trimesh makes of a file.

    Attributes:
        geometries: How many there are, shown or not.
        parts: Number of a geometry in trimesh's order, and its surface, for each place
            where it is shown.
    """

    geometries: int
    parts: tuple[tuple[int, MeshPart], ...]


def read_scene(content: bytes | str, form: str, folder: str) -> TrimeshScene:
    """Have trimesh read a file as it is.

    Args:
        content: The file; its text, where its encoding is none that trimesh knows.
        form: What trimesh calls its format.
        folder: What files that it names are relative to.

    Raises:
        UnreadMeshError: trimesh raised.
    """
    # Materials that come again would change the order of faces.
    options: dict[str, Any] = {"group_material": False} if form == "obj" else {}
    with reading_by("trimesh"):
        # A third of a second that robots without meshes do not need.
        import trimesh  # noqa: PLC0415

        scene = trimesh.load_scene(
            io.StringIO(content) if isinstance(content, str) else io.BytesIO(content),
            file_type=form,
            process=False,
            skip_materials=True,
            resolver=trimesh.resolvers.FilePathResolver(folder),
            **options,
        )
        numbers = {name: number for number, name in enumerate(scene.geometry)}
        parts = []
        for node in scene.graph.nodes_geometry:
            transform, name = scene.graph[node]
            mesh = scene.geometry[name]
            if isinstance(mesh, trimesh.Trimesh):
                points = np.asarray(mesh.vertices, np.float64)
                part = MeshPart(points, np.asarray(mesh.faces), transform)
                parts.append((numbers[name], part))
    return TrimeshScene(len(numbers), tuple(parts))
