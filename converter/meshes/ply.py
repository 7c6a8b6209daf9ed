"""PLY files, binary and text.

The format has no units and no up axis; metres and Z up are assumed. Textures and their
coordinates (v up) are named as by MeshLab, Blender and others.
"""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, MeshTexture, Slot

_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
_TYPES |= {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4"}
_TYPES |= {"uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8"}
_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
# Texture reference as written by MeshLab.
_IMAGE = re.compile(rb"^comment[ \t]+TextureFile[ \t]+([^\r\n]+)", re.MULTILINE)
_HEADER_END = re.compile(rb"^end_header[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_COORDINATES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
# Name of the length of a list in a row; properties have no spaces.
_LENGTH_OF = "length of "
_BLOCK = 1024
_COLORS = ("red", "green", "blue")


class _Property(Struct, frozen=True):
    name: str
    dtype: np.dtype[np.generic]
    length: np.dtype[np.generic] | None  # of the length of a list


class _Element(Struct):
    """Rows of a kind: a column per property; of a list the lengths and all items."""

    name: str
    rows: int
    properties: list[_Property]
    columns: dict[str, NDArray[np.generic]] = {}
    lengths: dict[str, meshes.Integers] = {}


def read_ply(data: bytes) -> meshes.PolygonMesh:
    """Read a PLY file [m].

    Raises:
        MeshError: The file is damaged or holds no surface.
    """
    end = _HEADER_END.search(data)
    if end is None:
        raise meshes.MeshError("its PLY is broken: the header does not end")
    header, body = data[: end.start()].replace(b"\r", b"\n"), data[end.end() :]
    try:
        form, elements = _elements(header)
        rows = [element.rows for element in elements if element.properties]
        if min(rows, default=0) < 0 or sum(rows) > len(body):
            raise ValueError(f"it announces {sum(rows)} rows in {len(body)} bytes")
        if form == "ascii":
            _read_text(elements, body)
        else:
            _read_binary(elements, body)
        by_name = {element.name: element for element in elements}
        vertices, faces = by_name["vertex"].columns, by_name["face"]
        name = next(n for n in ("vertex_indices", "vertex_index") if n in faces.lengths)
        points = np.stack([vertices[axis].astype(np.float64) for axis in "xyz"], axis=1)
    except (LookupError, StopIteration):
        raise meshes.MeshError("it holds no faces") from None
    except (OverflowError, TypeError, ValueError) as error:
        raise meshes.MeshError(f"its PLY is broken: {' '.join(str(error).split())[:80]}") from error
    counts, indices = faces.lengths[name], faces.columns[name].astype(np.int64)
    meshes.check_indices(len(points), counts, indices)
    st = _coordinates(vertices, faces, counts, indices)
    looks: tuple[MeshMaterial, ...] = ()
    if image := _IMAGE.search(header) if st else None:
        texture = MeshTexture(image[1].decode("utf-8", "replace").strip())
        looks = (MeshMaterial("", textures=((Slot.COLOR, texture),)),)
    attributes = meshes.SurfaceAttributes(
        coordinate_sets=(st,),
        colors=_colors(vertices, indices)
        or _colors(faces.columns, np.repeat(np.arange(len(counts)), counts)),
        face_materials=np.zeros(len(counts), np.int32) if looks else None,
        materials=looks,
    )
    return meshes.build_mesh(points, counts, indices, attributes=attributes)


def _elements(header: bytes) -> tuple[str, list[_Element]]:
    form, elements = "", list[_Element]()
    for line in header.decode("latin-1").split("\n"):
        match line.split():
            case ["format", form, *_]:
                pass
            case ["element", name, rows]:
                elements.append(_Element(name, int(rows), []))
            case ["property", "list", length, kind, name]:
                types = (np.dtype(_ORDERS[form] + _TYPES[word]) for word in (kind, length))
                elements[-1].properties.append(_Property(name, *types))
            case ["property", kind, name]:
                dtype = np.dtype(_ORDERS[form] + _TYPES[kind])
                elements[-1].properties.append(_Property(name, dtype, None))
    return form, elements


def _read_text(elements: list[_Element], body: bytes) -> None:
    """Read one line per row."""
    lines = [line for line in body.splitlines() if not line.isspace()]
    announced, start = sum(element.rows for element in elements), 0
    if len(lines) < announced:
        raise meshes.MeshError(f"it announces {announced} rows but holds {len(lines)}")
    for element in elements:
        rows = [line.split() for line in lines[start : start + element.rows]]
        start += element.rows
        # Words before each value: lists have any number.
        first = np.zeros(len(rows), np.int64)
        words = np.array(list(chain.from_iterable(rows)), np.float64)
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        starts = np.cumsum(sizes) - sizes
        for prop in element.properties:
            if (first >= sizes).any():
                raise ValueError(f"a row of {element.name} is too short")
            values = words[starts + first]
            first += 1
            if prop.length is not None:
                lengths = element.lengths[prop.name] = values.astype(np.int64)
                if (lengths < 0).any() or (first + lengths > sizes).any():
                    raise ValueError(f"a list of {element.name} is too short")
                before = np.cumsum(lengths) - lengths
                places = np.repeat(starts + first - before, lengths) + np.arange(lengths.sum())
                values = words[places]
                first += lengths
            with np.errstate(all="ignore"):
                element.columns[prop.name] = values.astype(prop.dtype)


def _read_binary(elements: list[_Element], body: bytes) -> None:
    """Read runs of rows whose lists have equal lengths."""
    start = 0
    for element in elements:
        lists = [prop.name for prop in element.properties if prop.length is not None]
        runs = []
        left = element.rows if element.properties else 0
        while left:
            row = _row_type(element, body, start)
            fitting = min(left, (len(body) - start) // row.itemsize)
            if not fitting:
                raise ValueError(f"the rows of {element.name} end early")
            run: NDArray[np.void] = np.frombuffer(body, row, fitting, start)
            # Short blocks first: time must not grow with all rows for each run.
            for size in (_BLOCK, fitting):
                equal = np.ones(min(size, fitting), bool)
                for name in lists:
                    lengths = run[: len(equal)][_LENGTH_OF + name]
                    equal &= lengths == lengths[0]
                if not equal.all():
                    break
            run = run[: len(equal) if equal.all() else int(np.argmin(equal))]
            runs.append(run)
            start += run.nbytes
            left -= len(run)
        for prop in element.properties if runs else ():
            blocks = [np.ascontiguousarray(run[prop.name]).reshape(-1) for run in runs]
            element.columns[prop.name] = np.concatenate(blocks)
            if prop.length is not None:
                lengths = np.concatenate([run[_LENGTH_OF + prop.name] for run in runs])
                element.lengths[prop.name] = lengths.astype(np.int64)


def _row_type(element: _Element, body: bytes, start: int) -> np.dtype[np.void]:
    """Return the type of the row that begins there, by the lengths of its lists."""
    fields: list[tuple[str, np.dtype[np.generic], tuple[int, ...]]] = []
    for prop in element.properties:
        shape: tuple[int, ...] = ()
        if prop.length is not None:
            shape = (int(np.frombuffer(body, prop.length, 1, start)[0]),)
            fields.append((_LENGTH_OF + prop.name, prop.length, ()))
            start += prop.length.itemsize
        fields.append((prop.name, prop.dtype, shape))
        start += fields[-1][1].itemsize * (shape[0] if shape else 1)
    return np.dtype(fields)


def _coordinates(
    vertices: dict[str, NDArray[np.generic]],
    faces: _Element,
    counts: meshes.Integers,
    indices: meshes.Integers,
) -> meshes.CornerValues | None:
    """Return texture coordinates of corners, or of vertices."""
    if "texcoord" in faces.lengths and (faces.lengths["texcoord"] == 2 * counts).all():
        rows = faces.columns["texcoord"].astype(np.float64).reshape(-1, 2)
        return meshes.corner_values(rows, np.arange(len(rows)))
    for names in _COORDINATES:
        if all(name in vertices for name in names):
            columns = [vertices[name].astype(np.float64) for name in names]
            return meshes.corner_values(np.stack(columns, axis=1), indices)
    return None


def _colors(
    columns: dict[str, NDArray[np.generic]], indices: meshes.Integers
) -> meshes.CornerValues | None:
    """Return sRGB colours: integers are parts of the largest one of their type."""
    if not all(name in columns for name in _COLORS):
        return None
    rows = []
    for column in (columns[name] for name in _COLORS):
        largest = 1 if column.dtype.kind == "f" else np.iinfo(column.dtype.str).max
        rows.append(np.clip(column.astype(np.float64) / largest, 0.0, 1.0))
    return meshes.corner_values(np.stack(rows, axis=1), indices)
