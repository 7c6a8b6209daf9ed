"""PLY files, parsed here; the converter reads them by trimesh.

Of the libraries on PyPI, plyfile and pymeshlab are licensed under the GPL, which no
requirement of every installation may be. The format defines neither axes nor units, nor
textures: images and texture coordinates are stated as by MeshLab, Blender and others.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct

from urdf_usd.conformance.engines.mesh_files.loaded_mesh import (
    LoadedMesh,
    UnreadMeshError,
)
from urdf_usd.conformance.engines.mesh_files.materials import FileMaterial, ImageFile
from urdf_usd.conformance.engines.surfaces import Array, fan_places, fans

# Format characters of the module struct, by the names in headers, old and new.
_TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H"}
_TYPES |= {"int": "i", "uint": "I", "float": "f", "double": "d"}
_TYPES |= {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H"}
_TYPES |= {"int32": "i", "uint32": "I", "float32": "f", "float64": "d"}
_BYTE_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
# Names of the list of corners of a face.
_COUNTS = re.compile(rb"^element\s+\S+\s+(\d{1,20})", re.MULTILINE)
_CORNERS = ("vertex_indices", "vertex_index")
# Names of texture coordinates of vertices, v upwards.
_OF_VERTEX = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
# Of faces: two coordinates for every corner, and the number of the image.
_OF_FACE = "texcoord"
_IMAGE_NUMBER = "texnumber"
_IMAGES = re.compile(rb"^comment[ \t]+TextureFile[ \t]+([^\r\n]+)", re.MULTILINE)

# The values of a row by name of the property; of a list, all of its items.
_Row = dict[str, tuple[float, ...]]


class _Property(Struct, frozen=True):
    """A property of an element.

    Attributes:
        name: Its name.
        kind: Format character of the value, or of the items of a list.
        count: Format character of the length of a list; None for a value.
    """

    name: str
    kind: str
    count: str | None = None


class _ElementType(Struct, frozen=True):
    """An element in the header, with its number of rows and its properties."""

    name: str
    rows: int
    properties: list[_Property]


def read_ply(content: bytes, folder: str) -> LoadedMesh:
    """Read points, polygons as fans of triangles, images and texture coordinates.

    Args:
        content: The file.
        folder: Folder that references to images are relative to.

    Raises:
        UnreadMeshError: The file is damaged, there is no triangle, or a face refers to
            a missing vertex.
    """
    header = content.partition(b"end_header")[0]
    if any(int(count) > len(content) for count in _COUNTS.findall(header)):
        raise UnreadMeshError("its header has more elements than the file has bytes")
    try:
        elements = _elements(content)
        points = np.array(
            [[row[axis][0] for axis in "xyz"] for row in elements.get("vertex", ())],
            np.float64,
        ).reshape(-1, 3)
        faces = elements.get("face", [])
        rows = [row[_CORNERS[1] if _CORNERS[1] in row else _CORNERS[0]] for row in faces]
        images = [
            ImageFile(name.decode("utf-8", "replace").strip(), folder)
            for name in _IMAGES.findall(header)
        ]
        shown = np.array([row.get(_IMAGE_NUMBER, (0,))[0] for row in faces], np.int64)
        st = _vertex_coordinates(elements.get("vertex", []))
        wedges = _corner_coordinates(faces, rows)
        corners = np.array([corner for row in rows for corner in row], np.int64)
    except (ArithmeticError, LookupError, ValueError, struct.error) as error:
        message = " ".join(str(error).split())
        raise UnreadMeshError(f"its PLY is broken: {message}") from error
    if "face" not in elements:
        raise UnreadMeshError("it holds no faces")
    counts = np.array([len(row) for row in rows], np.int64)
    triangles = fans(counts, corners)
    if not len(triangles):
        raise UnreadMeshError("it holds no triangles")
    if corners.min() < 0 or corners.max() >= len(points):
        raise UnreadMeshError("a face refers to a missing vertex")
    material_of = np.full(len(triangles), -1)
    if images:
        shown[(shown < 0) | (shown >= len(images))] = -1
        material_of = np.repeat(shown, np.maximum(counts - 2, 0))
    coordinates = wedges[fan_places(counts)] if wedges is not None else None
    if coordinates is None and st is not None:
        coordinates = st[triangles]
    return LoadedMesh(
        points,
        triangles,
        material_of,
        materials=tuple(FileMaterial(image=image) for image in images),
        has_coordinates=coordinates is not None,
        coordinates=None if coordinates is None else coordinates.astype(np.float32),
    )


def _vertex_coordinates(vertices: Sequence[_Row]) -> Array | None:
    """Return the (N, 2) texture coordinates of vertices, if they have any."""
    for names in _OF_VERTEX:
        if vertices and all(name in vertices[0] for name in names):
            return np.array([[row[name][0] for name in names] for row in vertices])
    return None


def _corner_coordinates(
    faces: Sequence[_Row], corners: Sequence[tuple[float, ...]]
) -> Array | None:
    """Return the (C, 2) texture coordinates of all corners of faces, NaN where absent.

    Args:
        faces: Rows of faces.
        corners: Corners of each of them.
    """
    if not any(row.get(_OF_FACE) for row in faces):
        return None
    values: list[float] = []
    for row, face in zip(faces, corners, strict=True):
        stated = row.get(_OF_FACE, ())
        expected = 2 * len(face)
        values += stated if len(stated) == expected else [math.nan] * expected
    return np.array(values).reshape(-1, 2)


def _elements(content: bytes) -> dict[str, list[_Row]]:
    """Return the rows of every element.

    Raises:
        ArithmeticError, LookupError, ValueError, struct.error: The file is damaged.
    """
    head, mark, body = content.partition(b"end_header")
    if not mark:
        raise ValueError("the header does not end")
    form, types = _header(head)
    if form == "ascii":
        lines = iter([line for line in body.splitlines() if line.strip()])
        return {
            kind.name: [_text_row(line.split(), kind.properties) for line in _exactly(lines, kind)]
            for kind in types
        }
    # One line end follows: CR LF, LF or CR.
    body = body[2:] if body.startswith(b"\r\n") else body[1:]
    order, place = _BYTE_ORDERS[form], 0
    found: dict[str, list[_Row]] = {}
    for kind in types:
        rows = found.setdefault(kind.name, [])
        for _ in range(kind.rows if kind.properties else 0):
            row, place = _binary_row(body, place, order, kind.properties)
            rows.append(row)
    return found


def _header(head: bytes) -> tuple[str, list[_ElementType]]:
    """Return the format and the elements in order."""
    form = ""
    types: list[_ElementType] = []
    for line in head.decode("latin-1").splitlines():
        match line.split():
            case ["format", form, _]:
                pass
            case ["element", name, rows]:
                types.append(_ElementType(name, int(rows), []))
            case ["property", "list", count, kind, name]:
                one = _Property(name, _TYPES[kind], _TYPES[count])
                types[-1].properties.append(one)
            case ["property", kind, name]:
                types[-1].properties.append(_Property(name, _TYPES[kind]))
    return form, types


def _exactly(lines: Iterator[bytes], kind: _ElementType) -> list[bytes]:
    found = list(islice(lines, kind.rows))
    if len(found) < kind.rows:
        raise ValueError(f"{kind.rows} rows of {kind.name}, but {len(found)} follow")
    return found


def _text_row(words: list[bytes], properties: list[_Property]) -> _Row:
    row: _Row = {}
    place = 0
    for one in properties:
        count = 1
        if one.count:
            count = int(words[place])
            place += 1
        row[one.name] = tuple(map(float, words[place : place + count]))
        place += count
    if place != len(words):
        raise ValueError(f"a row has {len(words)} numbers, expected {place}")
    return row


def _binary_row(
    body: bytes, place: int, order: str, properties: list[_Property]
) -> tuple[_Row, int]:
    """Return a row and the place where it ends."""
    row: _Row = {}
    for one in properties:
        count = 1
        if one.count:
            (count,) = struct.unpack_from(order + one.count, body, place)
            place += struct.calcsize(order + one.count)
        layout = f"{order}{count}{one.kind}"
        row[one.name] = struct.unpack_from(layout, body, place)
        place += struct.calcsize(layout)
    return row, place
