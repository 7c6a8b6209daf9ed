"""The surfaces of COLLADA geometries.

Invalid primitives are skipped; pycollada, which the harness uses, refuses the whole
geometry or document for one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes.collada.materials import COORDINATES, WIDTHS
from urdf_usd.converter.meshes.collada.number_lists import (
    read_floats,
    read_integers,
    text_of,
)
from urdf_usd.converter.meshes.polygon_mesh import MeshError, check_indices

_AXES = 3
# Maximum number of indices per corner; real files have up to ten.
_MOST_COLUMNS = 256
_VERTEX = "VERTEX"


class Primitive(NamedTuple):
    """Polygons with one material.

    Attributes:
        counts: (F,) number of corners.
        columns: (inputs, corners) indices into sources.
        vertex: Row of the positions in ``columns``.
        values: Id of the source and row in ``columns``, by semantic.
        material: Symbol of the material.
    """

    counts: NDArray[np.integer]
    columns: NDArray[np.int32]
    vertex: int
    values: Mapping[str, tuple[str, int]]
    material: str | None

    @property
    def indices(self) -> NDArray[np.int32]:
        """Positions of all corners."""
        positions: NDArray[np.int32] = self.columns[self.vertex]
        return positions


class Surface(NamedTuple):
    """A geometry.

    Attributes:
        points: (N, 3) positions [units of the document], rounded to single precision.
        primitives: The polygons.
        skipped: Omitted content, one text each.
    """

    points: NDArray[np.float64]
    primitives: tuple[Primitive, ...]
    skipped: tuple[str, ...]


class _Inputs(NamedTuple):
    """Sources of the inputs of a mesh's primitives.

    Attributes:
        vertices: Ids of its vertices and of their positions.
        shared: Ids of further sources of the vertices, by semantic.
        sets: Number of a set of texture coordinates, by its name in the file.
        points: Number of positions.
    """

    vertices: frozenset[str]
    shared: Mapping[str, str]
    sets: Mapping[str, int]
    points: int


def read_surface(geometry: Element, sets: Mapping[str, int]) -> Surface:
    """Read a geometry; invalid primitives are skipped.

    Args:
        geometry: Its element.
        sets: Number of a set of texture coordinates, from 0, by its name in the file.
    """
    nothing = np.empty((0, _AXES))
    mesh = geometry.find("mesh")
    vertices = None if mesh is None else mesh.find("vertices")
    position = None if vertices is None else vertices.find("*[@semantic='POSITION']")
    if mesh is None or vertices is None or position is None:
        return Surface(nothing, (), ())
    source = _target(position, "source")
    try:
        points = _points(mesh, source)
    except MeshError as error:
        return Surface(nothing, (), (error.reason,))
    inputs = _Inputs(
        vertices=frozenset({vertices.get("id", ""), source} - {""}),
        shared={
            entry.get("semantic", ""): _target(entry, "source")
            for entry in vertices.findall("input")
        },
        sets=sets,
        points=len(points),
    )
    primitives, skipped = [], []
    for element in mesh:
        read = _PRIMITIVES.get(element.tag)
        if read is None:
            continue
        try:
            if element.find("ph") is not None:
                skipped.append("holes in polygons are filled")
            primitive = _primitive(element, inputs)
        except MeshError as error:
            skipped.append(f"<{element.tag}>: {error.reason}")
        else:
            if len(primitive.counts):
                primitives.append(primitive)
    return Surface(points, tuple(primitives), tuple(skipped))


def _points(mesh: Element, source: str) -> NDArray[np.float64]:
    found = next((s for s in mesh.findall("source") if s.get("id") == source), None)
    if found is None:
        raise MeshError(f"positions are to be in {source!r}, which is not there")
    if len(found.findall("technique_common/accessor/param")) != _AXES:
        raise MeshError(f"positions in {source!r} have not three coordinates")
    try:
        numbers = read_floats(text_of(found.find("float_array")))
    except ValueError as error:
        raise MeshError(f"positions in {source!r} are no numbers") from error
    if len(numbers) % _AXES:
        raise MeshError(f"positions in {source!r} are incomplete")
    # Overflow to infinity is refused later.
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64).reshape(-1, _AXES)


def _primitive(element: Element, inputs: _Inputs) -> Primitive:
    try:
        entries = [
            (entry, entry.get("semantic", ""), int(entry.get("offset", "")))
            for entry in element.findall("input")
        ]
    except ValueError as error:
        raise MeshError("an input has no offset") from error
    vertex = next(
        (
            offset
            for entry, semantic, offset in entries
            if semantic == _VERTEX and _target(entry, "source") in inputs.vertices
        ),
        None,
    )
    if vertex is None:
        raise MeshError("it has no vertices")
    if not all(0 <= offset < _MOST_COLUMNS for _, _, offset in entries):
        raise MeshError(f"the offset of an input is not in [0, {_MOST_COLUMNS})")
    values = {
        semantic: (inputs.shared[semantic], vertex)
        for semantic in WIDTHS
        if inputs.shared.get(semantic)
    }
    own: dict[str, tuple[str, int]] = {}
    for entry, semantic, offset in entries:
        number = inputs.sets.get(entry.get("set", "0"), 0)
        further = str(number) if number and semantic == COORDINATES else ""
        own.setdefault(semantic + further, (_target(entry, "source"), offset))
    width = max(offset for _, _, offset in entries) + 1
    counts, rows = _PRIMITIVES[element.tag](element, width)
    columns = np.ascontiguousarray(rows.T)
    check_indices(inputs.points, counts, columns[vertex])
    return Primitive(counts, columns, vertex, values | own, element.get("material"))


def _rows(element: Element | None, width: int) -> NDArray[np.int32]:
    """Read indices, one row per corner."""
    try:
        return read_integers(text_of(element)).reshape(-1, width)
    except ValueError as error:
        raise MeshError("its indices are broken") from error


def _triangles(element: Element, width: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    columns = _rows(element.find("p"), width)
    return _threes(columns), columns


def _polylist(element: Element, width: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    counts = _rows(element.find("vcount"), 1).reshape(-1)
    return counts, _rows(element.find("p"), width)


def _polygons(element: Element, width: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    outlines = (one.find("p") if one.tag == "ph" else one for one in element)
    blocks = [
        _rows(outline, width) for outline in outlines if outline is not None and outline.tag == "p"
    ]
    return np.array([len(rows) for rows in blocks], np.int32), _joined(blocks, width)


def _tristrips(element: Element, width: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    blocks = []
    for rows in _all_rows(element, width):
        # Every other triangle has the opposite orientation.
        corners = np.stack([rows[:-2], rows[1:-1], rows[2:]], axis=1)
        corners[1::2] = corners[1::2, [1, 0, 2]]
        blocks.append(corners.reshape(-1, width))
    columns = _joined(blocks, width)
    return _threes(columns), columns


def _trifans(element: Element, width: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    blocks = []
    for rows in _all_rows(element, width):
        hub = np.broadcast_to(rows[:1], rows[2:].shape)
        corners = np.stack([hub, rows[1:-1], rows[2:]], axis=1)
        blocks.append(corners.reshape(-1, width))
    columns = _joined(blocks, width)
    return _threes(columns), columns


def _all_rows(element: Element, width: int) -> Iterator[NDArray[np.int32]]:
    """Read each list of at least three corners."""
    for outline in element.findall("p"):
        rows = _rows(outline, width)
        if len(rows) >= _AXES:
            yield rows


def _joined(blocks: list[NDArray[np.int32]], width: int) -> NDArray[np.int32]:
    return np.concatenate([np.empty((0, width), np.int32), *blocks])


def _threes(columns: NDArray[np.int32]) -> NDArray[np.integer]:
    count, rest = divmod(len(columns), 3)
    if rest:
        raise MeshError("its last triangle is incomplete")
    return np.full(count, 3, np.int32)


_PRIMITIVES = {
    "polygons": _polygons,
    "polylist": _polylist,
    "triangles": _triangles,
    "trifans": _trifans,
    "tristrips": _tristrips,
}


def _target(element: Element, attribute: str) -> str:
    return element.get(attribute, "").removeprefix("#")
