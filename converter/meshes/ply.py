"""PLY files, binary and text.

The format has no units and no up axis; metres and Z up are assumed. Textures and their
coordinates (v up) are named as by MeshLab, Blender and others.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, MeshTexture, Slot

# Values of properties by name; of lists all items, joined.
_Columns: TypeAlias = Mapping[str, NDArray[np.generic]]
# Columns of an element, and the lengths of its lists.
_Element: TypeAlias = tuple[_Columns, Mapping[str, meshes.Integers]]

# Type codes of numpy and struct.
_TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I"}
_TYPES |= {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"}
_TYPES |= {"float": "f", "float32": "f", "double": "d", "float64": "d"}
_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
# Texture reference as written by MeshLab.
_IMAGE = re.compile(rb"^comment[ \t]+TextureFile[ \t]+([^\r\n]+)", re.MULTILINE)
_HEADER_END = re.compile(rb"^end_header[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_COORDINATES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
_COLORS = ("red", "green", "blue")


def read_ply(data: bytes) -> meshes.PolygonMesh:
    """Read a PLY file [m]; MeshError if it is damaged or holds no surface."""
    end = _HEADER_END.search(data)
    if end is None:
        raise meshes.MeshError("its PLY is broken: the header does not end")
    header = data[: end.start()].replace(b"\r", b"\n")
    try:
        elements = _elements(header, data[end.end() :])
        (vertices, _), (faces, lengths) = elements["vertex"], elements["face"]
        name = "vertex_indices" if "vertex_indices" in lengths else "vertex_index"
        counts, indices = lengths[name], faces[name].astype(np.int64)
        points = np.stack([vertices[axis].astype(np.float64) for axis in "xyz"], axis=1)
    except KeyError:
        raise meshes.MeshError("it holds no faces") from None
    except (struct.error, IndexError):
        raise meshes.MeshError("its PLY is broken: the rows end early") from None
    except (OverflowError, ValueError) as error:
        raise meshes.MeshError(f"its PLY is broken: {error}") from error
    meshes.check_indices(len(points), counts, indices)
    st = None
    if "texcoord" in lengths and (lengths["texcoord"] == 2 * counts).all():
        rows = faces["texcoord"].astype(np.float64).reshape(-1, 2)
        st = meshes.corner_values(rows, np.arange(len(rows)))
    for names in _COORDINATES:
        if st is None and all(name in vertices for name in names):
            rows = np.stack([vertices[name].astype(np.float64) for name in names], axis=1)
            st = meshes.corner_values(rows, indices)
    looks: tuple[MeshMaterial, ...] = ()
    if image := _IMAGE.search(header) if st else None:
        texture = MeshTexture(image[1].decode("utf-8", "replace").strip())
        looks = (MeshMaterial("", textures=((Slot.COLOR, texture),)),)
    return meshes.build_mesh(
        points,
        counts,
        indices,
        coordinate_sets=(st,),
        colors=_colors(vertices, indices)
        or _colors(faces, np.repeat(np.arange(len(counts)), counts)),
        face_materials=np.zeros(len(counts), np.int32) if looks else None,
        materials=looks,
    )


def _elements(header: bytes, body: bytes) -> dict[str, _Element]:
    form = ""
    # Name and rows of elements, and name, type and type of the length of their properties.
    elements: list[tuple[str, int, list[tuple[str, str, str | None]]]] = []
    for line in header.decode("latin-1").split("\n"):
        match line.split():
            case ["format", form, *_]:
                pass
            case ["element", name, rows]:
                elements.append((name, int(rows), []))
            case ["property", "list", length, kind, name]:
                elements[-1][2].append((name, _TYPES[kind], _TYPES[length]))
            case ["property", kind, name]:
                elements[-1][2].append((name, _TYPES[kind], None))
    take, end_row = _numbers(form, body)
    read: dict[str, _Element] = {}
    for element, count, properties in elements:
        values: dict[str, list[float]] = {name: [] for name, _, _ in properties}
        sizes: dict[str, list[int]] = {name: [] for name, _, _ in properties}
        for _ in range(count if properties else 0):
            for name, kind, length_kind in properties:
                size = 1 if length_kind is None else int(take(length_kind))
                sizes[name].append(size)
                values[name] += [take(kind) for _ in range(size)]
            end_row()
        with np.errstate(all="ignore"):
            columns = {n: np.array(values[n], np.float64).astype(k) for n, k, _ in properties}
        read[element] = columns, {n: np.array(sizes[n], np.int64) for n in sizes}
    return read


def _numbers(form: str, body: bytes) -> tuple[Callable[[str], float], Callable[[], object]]:
    """Return a function that takes the next number of a type, and one that ends a row."""
    if form == "ascii":
        # A row is a line.
        text = body.replace(b"\r", b"\n").strip() + b"\n"
        words = re.findall(rb"[^\s]+|\n\s*", text)[::-1]

        def end_row() -> None:
            if not words.pop().isspace():
                raise ValueError("a row is too long")

        return lambda _: float(words.pop()), end_row
    types = {kind: struct.Struct(_ORDERS[form] + kind) for kind in _TYPES.values()}
    place = 0

    def take(kind: str) -> float:
        nonlocal place
        (number,) = types[kind].unpack_from(body, place)
        place += types[kind].size
        return float(number)

    return take, lambda: None


def _colors(columns: _Columns, indices: meshes.Integers) -> meshes.CornerValues | None:
    """Return sRGB colours: integers are parts of the largest one of their type."""
    if not all(name in columns for name in _COLORS):
        return None
    rows = []
    for column in (columns[name] for name in _COLORS):
        largest = 1 if column.dtype.kind == "f" else np.iinfo(column.dtype.str).max
        rows.append(np.clip(column.astype(np.float64) / largest, 0.0, 1.0))
    return meshes.corner_values(np.stack(rows, axis=1), indices)
