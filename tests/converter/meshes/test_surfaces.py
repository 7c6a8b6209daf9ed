"""What is read from the small mesh files in ``surfaces.txt``; see :mod:`tests.stored_cases`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from tests.stored_cases import Case, check_outcomes, write_files
from urdf_usd.converter.meshes.mesh import CornerValues, MeshError, PolygonMesh
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, MeshTexture, Sampling
from urdf_usd.converter.meshes.read import read_mesh

_STORED = Path(__file__).with_name("surfaces.txt")


def _numbers(rows: np.ndarray) -> str:
    return ", ".join(" ".join(f"{number + 0.0:.6g}" for number in row) for row in rows.round(12))


def _at_corners(values: CornerValues | None) -> str | None:
    return None if values is None else _numbers(values.values[values.indices])


def _fields(value: Sampling | MeshTexture | MeshMaterial) -> str:
    parts = []
    for field in structs.fields(value):
        content = getattr(value, field.name)
        if content == field.default:
            continue
        if isinstance(content, bytes):
            content = f"{len(content)} bytes"
        elif isinstance(content, Sampling):
            content = _fields(content)
        elif field.name == "textures":
            content = "; ".join(f"{slot} {_fields(texture)}" for slot, texture in content)
        elif isinstance(content, tuple):
            content = _numbers(np.array([content]))
        elif isinstance(content, float):
            content = f"{content:.6g}"
        parts.append(f"{field.name}=({content})")
    return " ".join(parts)


def _lines(mesh: PolygonMesh, folder: Path) -> Iterator[tuple[str, object]]:
    faces: Sequence[np.ndarray] = np.split(mesh.face_indices, np.cumsum(mesh.face_counts)[:-1])
    yield "points", _numbers(mesh.points)
    yield "faces", ", ".join(" ".join(map(str, face)) for face in faces)
    yield "up axis ignored", mesh.ignored_up_axis
    yield "skipped", "; ".join(mesh.skipped)
    yield "normals", _at_corners(mesh.normals)
    for number, coordinates in enumerate(mesh.coordinate_sets):
        yield f"coordinates {number}", _at_corners(coordinates)
    yield "colors", _at_corners(mesh.colors)
    for what, indices in (("materials", mesh.face_materials), ("groups", mesh.face_groups)):
        yield f"{what} of faces", None if indices is None else " ".join(map(str, indices))
    yield "groups", " | ".join(mesh.groups)
    for material in mesh.materials:
        yield "material", _fields(material)
    for file in mesh.sibling_files:
        yield "file", Path(file).relative_to(folder)


def _outcome(case: Case, folder: Path) -> str:
    try:
        mesh = read_mesh(write_files(case, folder))
    except MeshError as error:
        return f"refused: {error}"
    return "\n".join(f"{key}: {value}" for key, value in _lines(mesh, folder) if value)


@pytest.mark.parametrize("reader", ["collada", "formats", "gltf", "obj", "ply", "stl"])
def test_small_files_are_read_as_stored(reader: str, tmp_path: Path) -> None:
    check_outcomes(_STORED, _outcome, tmp_path, f"{reader}:")
