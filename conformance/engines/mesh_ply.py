"""PLY files, parsed here, because trimesh does not read polygons of several sizes in order.

Of the libraries on PyPI, plyfile and pymeshlab are licensed under the GPL, which no
requirement of every installation may be. The format defines neither axes nor units, nor
textures: images and texture coordinates are stated as by MeshLab, Blender and others.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import islice

import numpy as np
from msgspec import Struct

from urdf_usd.conformance.engines.loaded_mesh import LoadedMesh, UnreadMeshError
from urdf_usd.conformance.engines.mesh_materials import FileMaterial, ImageFile
from urdf_usd.conformance.engines.surfaces import Array, Indices, fan_places, fans

# Format characters of the module struct, by the names in headers, old and new.
_TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H"}
_TYPES |= {"int": "i", "uint": "I", "float": "f", "double": "d"}
_TYPES |= {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H"}
_TYPES |= {"int32": "i", "uint32": "I", "float32": "f", "float64": "d"}
_BYTE_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
_COUNTS = re.compile(rb"^element\s+\S+\s+(\d{1,20})", re.MULTILINE)
_IMAGES = re.compile(rb"^comment[ \t]+TextureFile[ \t]+([^\r\n]+)", re.MULTILINE)
# Names of texture coordinates of vertices, v upwards, as of MeshLab, Blender and others.
_COORDINATES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))

# The values of a row by name of the property; of a list, all of its items.
_Row = dict[str, tuple[float, ...]]


class _Element(Struct, frozen=True):
    """An element in the header of a PLY file."""

    name: str
    rows: int
    # Name, type, and type of the length of a list or None.
    properties: list[tuple[str, str, str | None]]


def read_ply(content: bytes, folder: str) -> LoadedMesh:
    """Read points, polygons as fans of triangles, images and texture coordinates.

    Raises:
        UnreadMeshError: The file is damaged, has no triangle, or a face refers to a missing vertex.
    """
    header = content.partition(b"end_header")[0]
    if any(int(count) > len(content) for count in _COUNTS.findall(header)):
        raise UnreadMeshError("its header has more elements than the file has bytes")
    try:
        elements = _rows(content)
        vertices, faces = elements.get("vertex", []), elements.get("face", [])
        points = np.array([[row[axis][0] for axis in "xyz"] for row in vertices], np.float64)
        rows = [row["vertex_index" if "vertex_index" in row else "vertex_indices"] for row in faces]
        corners = np.array([corner for row in rows for corner in row], np.int64)
        counts = np.array([len(row) for row in rows], np.int64)
        coordinates = _coordinates(vertices, faces, corners, counts)
        image_of = np.array([row.get("texnumber", (0,))[0] for row in faces], np.int64)
    except (ArithmeticError, LookupError, ValueError, struct.error) as error:
        message = " ".join(str(error).split())
        raise UnreadMeshError(f"its PLY is broken: {message}") from error
    if "face" not in elements:
        raise UnreadMeshError("it holds no faces")
    triangles = fans(counts, corners)
    if not len(triangles):
        raise UnreadMeshError("it holds no triangles")
    if corners.min() < 0 or corners.max() >= len(points):
        raise UnreadMeshError("a face refers to a missing vertex")
    names = [name.decode("utf-8", "replace").strip() for name in _IMAGES.findall(header)]
    image_of[(image_of < 0) | (image_of >= len(names))] = -1
    return LoadedMesh(
        points,
        triangles,
        np.repeat(image_of, np.maximum(counts - 2, 0)),
        materials=tuple(FileMaterial(image=ImageFile(name, folder)) for name in names),
        has_coordinates=coordinates is not None,
        coordinates=None
        if coordinates is None
        else coordinates[fan_places(counts)].astype(np.float32),
    )


def _coordinates(
    vertices: list[_Row], faces: list[_Row], corners: Indices, counts: Indices
) -> Array | None:
    """Return (C, 2) texture coordinates of the corners of faces, NaN where absent."""
    if any(row.get("texcoord") for row in faces):
        values: list[float] = []
        for row, count in zip(faces, counts.tolist(), strict=True):
            given = row.get("texcoord", ())
            values += given if len(given) == 2 * count else [np.nan] * (2 * count)
        return np.array(values).reshape(-1, 2)
    for names in _COORDINATES:
        if vertices and all(name in vertices[0] for name in names):
            of_vertices = np.array([[row[name][0] for name in names] for row in vertices])
            return of_vertices[np.clip(corners, 0, len(vertices) - 1)]
    return None


def _rows(content: bytes) -> dict[str, list[_Row]]:
    """Return the rows of every element; a damaged file raises errors of Python."""
    head, mark, body = content.partition(b"end_header")
    if not mark:
        raise ValueError("the header does not end")
    form = ""
    elements: list[_Element] = []
    for line in head.decode("latin-1").splitlines():
        match line.split():
            case ["format", form, _]:
                pass
            case ["element", name, number]:
                elements.append(_Element(name, int(number), []))
            case ["property", "list", length, kind, name]:
                elements[-1].properties.append((name, _TYPES[kind], _TYPES[length]))
            case ["property", kind, name]:
                elements[-1].properties.append((name, _TYPES[kind], None))
    if form == "ascii":
        lines = iter([line.split() for line in body.splitlines() if line.strip()])
        return {element.name: _text_rows(lines, element) for element in elements}
    # One line end follows: CR LF, LF or CR.
    body = body[2:] if body.startswith(b"\r\n") else body[1:]
    order, start = _BYTE_ORDERS[form], 0
    found: dict[str, list[_Row]] = {}
    for element in elements:
        rows = found.setdefault(element.name, [])
        for _ in range(element.rows if element.properties else 0):
            row: _Row = {}
            for name, kind, count_type in element.properties:
                count = 1
                if count_type:
                    (count,) = struct.unpack_from(order + count_type, body, start)
                    start += struct.calcsize(order + count_type)
                row[name] = struct.unpack_from(f"{order}{count}{kind}", body, start)
                start += struct.calcsize(f"{order}{count}{kind}")
            rows.append(row)
    return found


def _text_rows(lines: Iterator[list[bytes]], element: _Element) -> list[_Row]:
    rows: list[_Row] = []
    for words in islice(lines, element.rows):
        row: _Row = {}
        start = 0
        for name, _, length in element.properties:
            count = int(words[start]) if length else 1
            start += bool(length)
            row[name] = tuple(map(float, words[start : start + count]))
            start += count
        if start != len(words):
            raise ValueError(f"a row has {len(words)} numbers, expected {start}")
        rows.append(row)
    if len(rows) < element.rows:
        raise ValueError(f"{element.rows} rows of {element.name}, but {len(rows)} follow")
    return rows
