"""What is read from small mesh files: surfaces, attributes and materials, or why none.

``UPDATE_SNAPSHOTS=1 pytest tests/converter/meshes/test_surfaces.py`` writes what is read into
``surfaces.txt``; its changes are part of the change that is reviewed. A case is its name, the
mesh file, files that it refers to, and what is read. Tests of each format compare with other
readers.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from urdf_usd.converter.meshes.mesh import CornerValues, MeshError, PolygonMesh
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, MeshTexture, Sampling
from urdf_usd.converter.meshes.read import read_mesh

_STORED = Path(__file__).with_name("surfaces.txt")
_OUTCOME = "read"
_BINARY = "base64 "


def _cases() -> Iterator[tuple[str, list[tuple[str, str]], str]]:
    """Yield name, files by name, and stored outcome."""
    for case in _STORED.read_text(encoding="utf-8").split("\n== ")[1:]:
        name, *parts = case.split("\n-- ")
        files = [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]
        yield name, files[:-1], files[-1][1].rstrip("\n")


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
    seen = mesh.attributes
    faces: Sequence[np.ndarray] = np.split(mesh.face_indices, np.cumsum(mesh.face_counts)[:-1])
    yield "points", _numbers(mesh.points)
    yield "faces", ", ".join(" ".join(map(str, face)) for face in faces)
    yield "up axis ignored", mesh.ignored_up_axis
    yield "skipped", "; ".join(mesh.skipped)
    yield "normals", _at_corners(seen.normals)
    for number, coordinates in enumerate(seen.coordinate_sets):
        yield f"coordinates {number}", _at_corners(coordinates)
    yield "colors", _at_corners(seen.colors)
    for what, indices in (("materials", seen.face_materials), ("groups", seen.face_groups)):
        yield f"{what} of faces", None if indices is None else " ".join(map(str, indices))
    yield "groups", " | ".join(seen.groups)
    for material in seen.materials:
        yield "material", _fields(material)
    for file in mesh.sibling_files:
        yield "file", Path(file).relative_to(folder)


def _outcome(files: list[tuple[str, str]], folder: Path) -> str:
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        encoded = content.removeprefix(_BINARY)
        path.write_bytes(base64.b64decode(encoded) if encoded != content else content.encode())
    try:
        mesh = read_mesh(folder / files[0][0])
    except MeshError as error:
        return f"refused: {error}"
    return "\n".join(f"{key}: {value}" for key, value in _lines(mesh, folder) if value)


@pytest.mark.parametrize("reader", sorted({name.partition(":")[0] for name, _, _ in _cases()}))
def test_small_files_are_read_as_stored(reader: str, tmp_path: Path) -> None:
    found, stored = {}, {}
    for number, (name, files, outcome) in enumerate(_cases()):
        if name.startswith(f"{reader}:"):
            stored[name] = outcome
            found[name] = _outcome(files, tmp_path / str(number))
    if os.environ.get("UPDATE_SNAPSHOTS"):
        text = _STORED.read_text(encoding="utf-8")
        for name in stored:
            head, mark, tail = text.partition(f"\n== {name}\n")
            own, end, others = tail.partition("\n== ")
            body = own.rpartition(f"\n-- {_OUTCOME}\n")[0]
            own = f"{body}\n-- {_OUTCOME}\n{found[name]}\n"
            text = f"{head}{mark}{own}{end}{others}"
        _STORED.write_text(text, encoding="utf-8")
        return
    assert found == stored
