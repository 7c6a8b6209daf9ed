"""What the harness reads in the mesh files of ``meshes.txt``; see :mod:`tests.stored_cases`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from tests.stored_cases import Case, check_outcomes, write_files
from urdf_usd.conformance.engines.mesh_materials import FileMaterial, ImageFile
from urdf_usd.conformance.engines.meshes import LoadedMesh, UnreadMeshError, load_mesh

STORED = Path(__file__).with_name("meshes.txt")
# What follows is said by numpy, trimesh or pycollada.
_FOREIGN = re.compile(r"(?<=raises )(\w+):.*|(?<=a statement is invalid):.*", re.DOTALL)


def _numbers(values: np.ndarray) -> str:
    rows = values.reshape(-1, values.shape[-1])
    return ", ".join(" ".join(f"{number + 0.0:.6g}" for number in row) for row in rows.round(9))


def _material(material: FileMaterial) -> str:
    parts = []
    for field in structs.fields(material):
        value = getattr(material, field.name)
        if value == field.default:
            continue
        if isinstance(value, ImageFile):
            value = f"{value.reference} {len(value.content)} bytes" if value.content else value.name
        elif isinstance(value, frozenset):
            value = " ".join(sorted(value))
        elif isinstance(value, tuple) and isinstance(value[0], float):
            value = _numbers(np.array([value]))
        elif isinstance(value, float):
            value = f"{value:.6g}"
        parts.append(f"{field.name}=({value})")
    return " ".join(parts) or "default"


def _lines(mesh: LoadedMesh) -> Iterator[tuple[str, object]]:
    yield "points", _numbers(mesh.points)
    yield "triangles", _numbers(mesh.triangles)
    yield "materials of triangles", _numbers(mesh.material_of[None])
    yield "has normals", mesh.has_normals
    if mesh.normals is not None:
        yield "normals", _numbers(mesh.normals)
    if mesh.coordinates is not None:
        yield "coordinates", _numbers(mesh.coordinates)
    if mesh.corners > 3 or mesh.pieces > 1:
        yield "largest face, groups", f"{mesh.corners}, {mesh.pieces}"
    for group in mesh.groups:
        yield "group from, to", _numbers(np.array([group.points.min(0), group.points.max(0)]))
    for material in mesh.materials:
        yield "material", _material(material)


def _outcome(case: Case, folder: Path) -> str:
    try:
        mesh = load_mesh(str(write_files(case, folder)))
    except UnreadMeshError as error:
        reason = _FOREIGN.sub(r"\1", str(error))
        return f"not read: {reason}"
    return "\n".join(f"{key}: {value}" for key, value in _lines(mesh))


@pytest.mark.parametrize("form", ["dae", "glb", "gltf", "obj", "other", "ply"])
def test_mesh_files_are_read_as_stored(form: str, tmp_path: Path) -> None:
    check_outcomes(STORED, _outcome, tmp_path, f"{form}:")
