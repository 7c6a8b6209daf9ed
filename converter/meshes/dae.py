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

from converter.meshes.dae_document import surfaces_only
from converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    build_mesh,
    reversed_faces,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float64]

# Instances of instances multiply: a few kilobytes of XML can ask for any number.
_MOST_NODES = 100_000
_MOST_NUMBERS = 50_000_000

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
    """Corners per polygon, and the points of all corners."""

    counts: NDArray[np.integer]
    indices: NDArray[np.integer]


class _Part(NamedTuple):
    """Polygons and the points [units of the document] that they index."""

    points: Matrix
    counts: NDArray[np.integer]
    indices: NDArray[np.integer]


def read_dae(data: bytes) -> PolygonMesh:
    """Read all surfaces that the scene of a COLLADA document shows [m].

    Cameras, lights, lines, animations and materials are passed over. Skinned surfaces
    are read in their bind pose. Mirroring transforms keep faces counter-clockwise seen
    from outside. A document without a scene shows each of its geometries once.

    Raises:
        MeshError: The text is not XML, not COLLADA, or shows no surface.
    """
    try:
        root = ET.fromstring(data)  # noqa: S314  (expat bounds entity expansion)
    except (ET.ParseError, LookupError, ValueError) as error:
        # The latter two stand for an encoding that Python does not know.
        raise MeshError(f"it is not well-formed XML: {error}") from error
    asset, skipped = surfaces_only(root)
    document = _load(root)
    skipped += tuple(str(error.msg) for error in document.errors)
    parts = list(_parts(document))
    if not parts:
        raise MeshError("; ".join(("it shows no surface", *skipped)))
    offsets = np.cumsum([0] + [len(part.points) for part in parts[:-1]])
    points = np.concatenate([part.points for part in parts])
    return build_mesh(
        points * asset.metres_per_unit,
        np.concatenate([part.counts for part in parts]),
        np.concatenate(
            [part.indices + at for part, at in zip(parts, offsets, strict=True)]
        ),
        ignored_up_axis=None if asset.up_axis == "Z_UP" else asset.up_axis,
        skipped=tuple(dict.fromkeys(skipped)),
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


def _parts(document: Any) -> Iterator[_Part]:  # noqa: ANN401
    numbers = 0
    for geometry, transform in _instances(document):
        for points, polygons in _by_points(geometry):
            counts = np.concatenate([part.counts for part in polygons])
            indices = np.concatenate([part.indices for part in polygons])
            numbers += len(points) + len(indices)
            if numbers > _MOST_NUMBERS:
                raise MeshError("its instances multiply beyond all bounds")
            # What overflows here is found by build_mesh.
            with np.errstate(all="ignore"):
                if np.linalg.det(transform[:3, :3]) < 0:
                    indices = reversed_faces(counts, indices)
                moved = points @ transform[:3, :3].T + transform[:3, 3]
            yield _Part(moved, counts, indices)


def _instances(document: Any) -> Iterator[tuple[Any, Matrix]]:  # noqa: ANN401
    """Yield each geometry that the scene shows, with its transform to the scene."""
    scenes = [document.scene] if document.scene else list(document.scenes)[:1]
    if not scenes:
        yield from ((geometry, np.eye(4)) for geometry in document.geometries)
        return
    pending = [(node, np.eye(4)) for scene in scenes for node in reversed(scene.nodes)]
    for _ in range(_MOST_NODES):
        if not pending:
            return
        node, transform = pending.pop()
        match node:
            case GeometryNode():
                yield node.geometry, transform
            case ControllerNode(controller=Skin() as skin):
                yield skin.geometry, transform @ skin.bind_shape_matrix
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
            return _Polygons(np.full(len(indices) // 3, 3), indices)
        case Polylist():
            counts = primitive.vcounts
            if (counts < 0).any() or counts.sum(dtype=np.int64) != len(indices):
                raise MeshError("its polygons do not add up to their corners")
            return _Polygons(counts, indices)
    return None
