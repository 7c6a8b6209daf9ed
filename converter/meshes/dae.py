"""COLLADA: the surfaces of the scene as one mesh.

Units and axes:

* ``<unit>`` is applied, and so are the transforms of all nodes above a geometry.
* ``<up_axis>`` is not applied but reported. So do the tools that robots are made with:
  rviz and geometric_shapes (hence MoveIt) reset the rotation that assimp derives from
  it, Gazebo and trimesh never read it, PyBullet 3.2.7 was measured to leave a ``Y_UP``
  mesh as it is, and MeshLab writes ``Y_UP`` on Z-up parts. (three.js does apply it.)

pycollada parses the document, in single precision, which is what USD stores. It gives
up a whole geometry for one part that it does not know or cannot resolve, so it is
handed only what a surface consists of.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

import collada
import numpy as np
from collada.common import DaeError
from collada.controller import Skin
from collada.polylist import Polylist
from collada.scene import ControllerNode, GeometryNode, Node
from collada.triangleset import TriangleSet

from converter.meshes.appearance import (
    CornerValues,
    corner_values,
    face_normals,
    joined,
    unit_vectors,
)
from converter.meshes.dae_document import surfaces_only
from converter.meshes.dae_look import CARRIES, FROM, source_rows
from converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    SurfaceLook,
    build_mesh,
    check_indices,
    reversed_faces,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from converter.meshes.dae_look import DocumentLook

    Matrix: TypeAlias = NDArray[np.float64]

# Instances of instances multiply: a few kilobytes of XML can ask for any number.
_MOST_NODES = 100_000
_MOST_NUMBERS = 50_000_000
# Starts and ends of elements: each of these takes half a kilobyte and more.
_MOST_TAGS = 4_000_000

# What escapes from pycollada, besides its own errors, on documents against the schema.
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    DeprecationWarning,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Polygons(NamedTuple):
    """Corners per polygon, the points of all corners, and the primitive."""

    counts: NDArray[np.integer]
    indices: NDArray[np.integer]
    primitive: Any


class _Part(NamedTuple):
    """Polygons and the points [units of the document] that they index.

    ``material`` is the id of the polygons' material.
    """

    points: Matrix
    counts: NDArray[np.integer]
    indices: NDArray[np.integer]
    values: dict[str, CornerValues]
    material: str | None


class _Instance(NamedTuple):
    """A geometry, its transform to the scene, and the element that instances it."""

    geometry: Any
    transform: Matrix
    element: ET.Element | None


def read_dae(data: bytes) -> PolygonMesh:
    """Read all surfaces that the scene of a COLLADA document shows [m].

    Cameras, lights, lines and animations are passed over. Skinned surfaces are read in
    their bind pose. Mirroring transforms keep faces counter-clockwise seen
    from outside. A document without a scene shows each of its geometries once.

    Raises:
        MeshError: The text is not XML, not COLLADA, or shows no surface.
    """
    if data.count(b"<") > _MOST_TAGS:
        raise MeshError(f"it has more than {_MOST_TAGS} tags")
    try:
        root = ET.fromstring(data)  # noqa: S314  (expat bounds entity expansion)
    except (ET.ParseError, LookupError, ValueError) as error:
        # The latter two stand for an encoding that Python does not know.
        raise MeshError(f"it is not well-formed XML: {error}") from error
    asset, look, skipped = surfaces_only(root)
    document = _load(root)
    skipped += tuple(str(error.msg) for error in document.errors)
    parts = list(_parts(document, look))
    for part in parts:
        check_indices(len(part.points), part.counts, part.indices)
    if not parts:
        raise MeshError("; ".join(("it shows no surface", *skipped)))
    # Parts of one geometry have one array of points.
    offsets: list[int] = []
    blocks: list[Matrix] = []
    total = 0
    for part in parts:
        if not blocks or part.points is not blocks[-1]:
            blocks.append(part.points)
            total += len(part.points)
        offsets.append(total - len(part.points))
    return build_mesh(
        np.concatenate(blocks) * asset.metres_per_unit,
        np.concatenate([part.counts for part in parts]),
        np.concatenate(
            [part.indices + at for part, at in zip(parts, offsets, strict=True)]
        ),
        ignored_up_axis=None if asset.up_axis == "Z_UP" else asset.up_axis,
        skipped=tuple(dict.fromkeys(skipped)),
        look=_joined_look(parts, look),
    )


def _joined_look(parts: list[_Part], look: DocumentLook) -> SurfaceLook:
    used = list(dict.fromkeys(part.material for part in parts if part.material))
    numbers = {known: number for number, known in enumerate(used)}
    white = [np.ones((len(part.indices), 3)) for part in parts]
    origin = [np.zeros((len(part.indices), 2)) for part in parts]
    normals = [part.values.get("NORMAL") for part in parts]
    flat: list[Matrix] = []
    if any(normals) and not all(normals):
        flat = [face_normals(part.points, part.counts, part.indices) for part in parts]
    first, *further = (
        joined([part.values.get(key) for part in parts], origin)
        for key in look.coordinate_sets
    )
    return SurfaceLook(
        normals=joined(normals, flat or white),
        texture_coordinates=first,
        further_coordinates=tuple(further),
        colors=joined([part.values.get("COLOR") for part in parts], white),
        face_materials=np.repeat(
            np.array(
                [numbers.get(part.material or "", -1) for part in parts], np.int32
            ),
            [len(part.counts) for part in parts],
        ),
        materials=tuple(look.materials[known] for known in used),
    )


def _load(root: ET.Element) -> Any:  # noqa: ANN401  (pycollada is untyped)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            # Older numpy warns of text that is not a number, and reads on.
            warnings.filterwarnings("error", "string or file could not be read")
            return collada.Collada(io.BytesIO(ET.tostring(root)), ignore=[DaeError])
    except DaeError as error:
        raise MeshError(f"its COLLADA is broken: {error.msg}") from error
    except _MALFORMED as error:
        raise MeshError("its COLLADA does not follow the schema") from error


def _parts(document: Any, look: DocumentLook) -> Iterator[_Part]:  # noqa: ANN401
    numbers = 0
    rows = _Rows(look)
    for geometry, transform, element in _instances(document):
        linear = transform[:3, :3]
        for points, polygons in _by_points(geometry):
            numbers += len(points) + sum(len(part.indices) for part in polygons)
            if numbers > _MOST_NUMBERS:
                raise MeshError("its instances multiply beyond all bounds")
            # What overflows here is found by build_mesh.
            with np.errstate(all="ignore"):
                moved = points @ linear.T + transform[:3, 3]
                inside_out = bool(np.linalg.det(linear) < 0)
            for counts, indices, primitive in polygons:
                values = _corner_values(primitive, rows, linear)
                placed = indices
                if inside_out:
                    order = reversed_faces(counts, np.arange(len(indices)))
                    placed = indices[order]
                    values = {
                        key: CornerValues(held.values, held.indices[order])
                        for key, held in values.items()
                    }
                material = look.material(primitive.material, element)
                yield _Part(moved, counts, placed, values, material)


class _Rows:
    """Numbers of the document's sources, each read once."""

    def __init__(self, look: DocumentLook) -> None:
        self._sources = look.sources
        self.widths = look.widths
        self._read: dict[tuple[str, int], NDArray[np.float64] | None] = {}

    def of(self, url: str, width: int) -> NDArray[np.float64] | None:
        key = url.removeprefix("#"), width
        if key not in self._read:
            source = self._sources.get(key[0])
            self._read[key] = None if source is None else source_rows(source, width)
        return self._read[key]


def _corner_values(
    primitive: Any,  # noqa: ANN401
    rows: _Rows,
    linear: Matrix,
) -> dict[str, CornerValues]:
    """Take what the corners of a primitive have, as far as it is complete."""
    offset = {"VERTEX": primitive.sources["VERTEX"][0][0]}
    sources = {}
    for semantic in rows.widths:
        shared = primitive.xmlnode.get(semantic)
        if shared:
            offset[semantic], sources[semantic] = offset["VERTEX"], shared
        entry = primitive.xmlnode.find(f"*[@{CARRIES}='{semantic}']")
        if entry is not None:
            offset[semantic] = int(entry.get("offset", "0"))
            sources[semantic] = entry.get(FROM, "")
    columns = np.asarray(primitive.index)
    columns = columns.reshape(-1, columns.shape[-1])
    values = {}
    for semantic, url in sources.items():
        held = rows.of(url, rows.widths[semantic])
        if held is None:
            continue
        if semantic == "NORMAL":
            with np.errstate(all="ignore"):
                # Adjugate: the inverse transpose, but for a factor, of any matrix.
                held = unit_vectors(held @ _cofactors(linear).T)
        elif semantic == "COLOR":
            held = np.clip(held, 0.0, 1.0)
        found = corner_values(held, columns[:, offset[semantic]])
        if found is not None:
            values[semantic] = found
    return values


def _cofactors(linear: Matrix) -> Matrix:
    """Return what turns normals; signed so that mirrored ones still face outwards."""
    first, second, third = linear.T
    columns = [np.cross(second, third), np.cross(third, first), np.cross(first, second)]
    sign = -1.0 if np.linalg.det(linear) < 0 else 1.0
    return sign * np.stack(columns, axis=1)


def _instances(document: Any) -> Iterator[_Instance]:  # noqa: ANN401
    """Yield each geometry that the scene shows."""
    scenes = [document.scene] if document.scene else list(document.scenes)[:1]
    if not scenes:
        for geometry in document.geometries:
            yield _Instance(geometry, np.eye(4), None)
        return
    pending = [(node, np.eye(4)) for scene in scenes for node in reversed(scene.nodes)]
    for _ in range(_MOST_NODES):
        if not pending:
            return
        node, transform = pending.pop()
        match node:
            case GeometryNode():
                yield _Instance(node.geometry, transform, node.xmlnode)
            case ControllerNode(controller=Skin() as skin):
                bound = transform @ skin.bind_shape_matrix
                yield _Instance(skin.geometry, bound, node.xmlnode)
            case Node():
                below = transform @ np.asarray(node.matrix, dtype=np.float64)
                pending += [(child, below) for child in reversed(node.children)]
    raise MeshError("its instances multiply beyond all bounds")


def _by_points(geometry: Any) -> Iterator[tuple[Matrix, list[_Polygons]]]:  # noqa: ANN401
    """Group the polygons of a geometry by the array of points that they share."""
    groups: dict[int, tuple[Matrix, list[_Polygons]]] = {}
    for primitive in geometry.primitives:
        polygons = _polygons(primitive)
        if polygons is not None:
            shared = primitive.vertex
            points = shared.astype(np.float64)
            groups.setdefault(id(shared), (points, []))[1].append(polygons)
    yield from groups.values()


def _polygons(primitive: Any) -> _Polygons | None:  # noqa: ANN401
    if primitive.vertex is None:
        return None
    indices = primitive.vertex_index.reshape(-1)
    match primitive:
        case TriangleSet():
            return _Polygons(np.full(len(indices) // 3, 3), indices, primitive)
        case Polylist():
            counts = primitive.vcounts
            if (counts < 0).any() or counts.sum(dtype=np.int64) != len(indices):
                raise MeshError("its polygons do not add up to their corners")
            return _Polygons(counts, indices, primitive)
    return None
