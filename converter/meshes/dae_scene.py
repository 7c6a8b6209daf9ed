"""The scene of a COLLADA document: which geometries it shows, and where.

pycollada reads it. It gives up nodes, or the document, for what it does not know or
cannot resolve, so it is handed only what leads to a surface; and geometries without
their contents.
"""

from __future__ import annotations

import io
import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

import collada
import numpy as np
from collada.common import DaeError
from collada.controller import Skin
from collada.scene import ControllerNode, GeometryNode, Node

from urdf_usd.converter.meshes.dae_nodes import define_first
from urdf_usd.converter.meshes.polygon_mesh import MeshError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from urdf_usd.converter.meshes.dae_text import DaeText

    Matrix: TypeAlias = NDArray[np.float64]

_NAMESPACE = "{http://www.collada.org/2005/11/COLLADASchema}"
_TRANSFORMS = frozenset({"lookat", "matrix", "rotate", "scale", "translate"})
_INSTANCES = frozenset({"instance_controller", "instance_geometry", "instance_node"})

# The children that stay, where not all do.
_CHILDREN = {
    "COLLADA": frozenset(
        {
            "library_controllers",
            "library_geometries",
            "library_nodes",
            "library_visual_scenes",
            "scene",
        }
    ),
    "instance_controller": frozenset[str](),
    "instance_geometry": frozenset[str](),
    "node": _TRANSFORMS | _INSTANCES | {"node"},
    "visual_scene": frozenset({"node"}),
}
# Instances of instances multiply: a few kilobytes of XML can ask for any number.
_MOST_NODES = 100_000

# What escapes from pycollada, besides its own errors, on documents against the schema.
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class Instance(NamedTuple):
    """A geometry that is shown.

    Attributes:
        geometry: Its element.
        transform: (4, 4) from the geometry to the scene.
        element: What instances it; None if there is no scene.
    """

    geometry: ET.Element
    transform: Matrix
    element: ET.Element | None


def read_scene(text: DaeText) -> tuple[list[Instance], tuple[str, ...]]:
    """Find the geometries that a document shows, and what had to be left out.

    A document without a scene shows each of its geometries once. All but the scene is
    removed from the document; the geometries that are returned are complete.

    Raises:
        MeshError: The scene is malformed, or its instances multiply without bounds.
    """
    geometries = [
        geometry
        for geometry in text.root.iterfind("library_geometries/geometry")
        if geometry.find("mesh") is not None
    ]
    skipped = _keep_scene(text)
    document = _load(text.root)
    skipped += tuple(str(error.msg) for error in document.errors)
    scenes = [document.scene] if document.scene else list(document.scenes)[:1]
    if not scenes:
        return [Instance(one, np.eye(4), None) for one in geometries], skipped
    by_id = {geometry.get("id", ""): geometry for geometry in reversed(geometries)}
    shown = [
        Instance(by_id[name], transform, element)
        for name, transform, element in _shown(scenes[0])
        if name in by_id
    ]
    return shown, skipped


def _keep_scene(text: DaeText) -> tuple[str, ...]:
    """Remove from a document, in place, all that is not scene."""
    root = text.root
    names = {element.get("id") for element in root.iter()}
    skewed = any(True for _ in root.iter("skew"))
    for element in root.iter():
        wanted = _CHILDREN.get(element.tag)
        if wanted is not None:
            element[:] = [child for child in element if child.tag in wanted]
    for library in root.iter("library_geometries"):
        library[:] = [_emptied(one) for one in library if one.tag == "geometry"]
    skipped = tuple(_dropped_instances(root, names))
    if skewed:
        skipped += ("<skew> is not understood; it is not applied",)
    for rotation in root.iter("rotate"):
        _normalise_axis(rotation)
    define_first(root)
    text.restore()
    for element in root.iter():
        element.tag = _NAMESPACE + element.tag
    return skipped


def _emptied(geometry: ET.Element) -> ET.Element:
    stub = ET.Element("geometry", {"id": geometry.get("id", "")})
    if geometry.find("mesh") is not None:
        ET.SubElement(stub, "mesh")
    return stub


def _normalise_axis(rotation: ET.Element) -> None:
    """Give the axis of a rotation unit length, in place; pycollada does not ask."""
    try:
        x, y, z, angle = map(float, (rotation.text or "").split())
    except ValueError:
        return
    length = math.hypot(x, y, z)
    if length not in (0.0, 1.0):
        rotation.text = f"{x / length} {y / length} {z / length} {angle}"


def _dropped_instances(root: ET.Element, names: set[str | None]) -> Iterator[str]:
    """Drop instances of what is not in the document."""
    for node in root.iter("node"):
        kept = []
        for child in node:
            url = child.get("url", "")
            if child.tag in _INSTANCES and url.removeprefix("#") not in names:
                yield f"<{child.tag}> refers to {url!r}, which is not there"
            else:
                kept.append(child)
        # Not one by one: that takes the square of their number.
        node[:] = kept


def _load(root: ET.Element) -> Any:  # noqa: ANN401  (pycollada is untyped)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return collada.Collada(io.BytesIO(ET.tostring(root)), ignore=[DaeError])
    except DaeError as error:
        raise MeshError(f"its COLLADA is broken: {error.msg}") from error
    except _MALFORMED as error:
        raise MeshError("its COLLADA does not follow the schema") from error


def _shown(scene: Any) -> Iterator[tuple[str, Matrix, ET.Element]]:  # noqa: ANN401
    """Yield id, transform and instance of each geometry."""
    pending = [(node, np.eye(4)) for node in reversed(scene.nodes)]
    for _ in range(_MOST_NODES):
        if not pending:
            return
        node, transform = pending.pop()
        match node:
            case GeometryNode():
                yield node.geometry.id, transform, node.xmlnode
            case ControllerNode(controller=Skin() as skin):
                bound = transform @ skin.bind_shape_matrix
                yield skin.geometry.id, bound, node.xmlnode
            case Node():
                below = transform @ np.asarray(node.matrix, dtype=np.float64)
                pending += [(child, below) for child in reversed(node.children)]
    raise MeshError("its instances multiply beyond all bounds")
