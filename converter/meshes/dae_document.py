"""Reduces a COLLADA document to its surfaces, so that nothing else can spoil them.

Only positions and faces stay: a dangling light, an unknown tag, a comment or an empty
array of normals otherwise costs the whole geometry, or the whole document. What else a
surface has is set aside, with a note at its place.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from converter.meshes.dae_look import (
    CARRIES,
    COORDINATES,
    FROM,
    WIDTHS,
    DocumentLook,
    read_document_look,
)
from converter.meshes.dae_nodes import define_first
from converter.meshes.polygon_mesh import MeshError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NAMESPACE = "{http://www.collada.org/2005/11/COLLADASchema}"
_PRIMITIVES = frozenset(
    {"polygons", "polylist", "triangles", "trifans", "tristrips"},
)
_TRANSFORMS = frozenset({"lookat", "matrix", "rotate", "scale", "skew", "translate"})
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
    "geometry": frozenset({"mesh"}),
    "instance_controller": frozenset[str](),
    "instance_geometry": frozenset[str](),
    "mesh": _PRIMITIVES | {"source", "vertices"},
    "node": _TRANSFORMS | _INSTANCES | {"node"},
    "visual_scene": frozenset({"node"}),
}
_NOT_A_NUMBER = re.compile("nan", re.IGNORECASE)


class Asset(NamedTuple):
    """What a document says about its frame.

    Attributes:
        metres_per_unit: Factor from the numbers of the document to metres.
        up_axis: ``X_UP``, ``Y_UP`` or ``Z_UP``; COLLADA's default is ``Y_UP``.
    """

    metres_per_unit: float
    up_axis: str


class Surfaces(NamedTuple):
    """What was found in a document besides its surfaces.

    Attributes:
        asset: Its frame.
        look: Its looks.
        skipped: What had to be left out though it is surface.
    """

    asset: Asset
    look: DocumentLook
    skipped: tuple[str, ...]


def surfaces_only(root: Element) -> Surfaces:
    """Remove from a document, in place, all that is not surface.

    Also puts elements into COLLADA's namespace, which some exporters forget or vary.

    Args:
        root: Root element of the document.

    Raises:
        MeshError: The root is not COLLADA, or a position is not a number.
    """
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "COLLADA":
        raise MeshError(f"it is XML but not COLLADA: its root is <{root.tag}>")
    asset = _asset(root)
    look = read_document_look(root)
    skipped: list[str] = []
    for element in root.iter():
        wanted = _CHILDREN.get(element.tag)
        if wanted is not None:
            element[:] = [child for child in element if child.tag in wanted]
    _drop_unresolved(root, skipped)
    define_first(root)
    for mesh in root.iter("mesh"):
        _keep_positions(mesh, look.sets)
    for polygons in root.iter("polygons"):
        _fill_holes(polygons, skipped)
    for element in root.iter():
        element.tag = _NAMESPACE + element.tag
    return Surfaces(asset, look, tuple(skipped))


def _asset(root: Element) -> Asset:
    unit = root.find("asset/unit")
    try:
        metres = float(unit.get("meter", "1")) if unit is not None else 1.0
    except ValueError:
        metres = math.nan
    if not (math.isfinite(metres) and metres > 0):
        raise MeshError("its <unit> is not a positive number of metres")
    axis = (root.findtext("asset/up_axis") or "").strip().upper()
    return Asset(metres, axis if axis in {"X_UP", "Z_UP"} else "Y_UP")


def _drop_unresolved(root: Element, skipped: list[str]) -> None:
    """Drop instances of what is not in the document."""
    names = {element.get("id") for element in root.iter()}
    for node in root.iter("node"):
        kept = []
        for child in node:
            url = child.get("url", "")
            if child.tag in _INSTANCES and url.removeprefix("#") not in names:
                skipped.append(f"<{child.tag}> refers to {url!r}, which is not there")
            else:
                kept.append(child)
        # Not one by one: that takes the square of their number.
        node[:] = kept


def _keep_positions(mesh: Element, sets: dict[str, int]) -> None:
    """Leave a mesh no other data than its positions."""
    vertices = mesh.find("vertices")
    position = None if vertices is None else vertices.find("*[@semantic='POSITION']")
    if vertices is None or position is None:
        mesh.clear()
        return
    url = position.get("source", "")
    shared = {
        entry.get("semantic", ""): entry.get("source", "")
        for entry in vertices.findall("input")
    }
    vertices[:] = [position]
    mesh[:] = [
        child
        for child in mesh
        if child.tag != "source" or child.get("id") == url.removeprefix("#")
    ]
    # pycollada would read it as zero.
    if _NOT_A_NUMBER.search(mesh.findtext("source/float_array") or ""):
        raise MeshError("a vertex is not finite")
    # Inputs set the stride of the indices, so they stay, but as one that pycollada
    # neither checks nor resolves elsewhere.
    for primitive in mesh:
        if primitive.tag not in _PRIMITIVES:
            continue
        for semantic in WIDTHS.keys() & shared.keys():
            primitive.set(semantic, shared[semantic])
        for entry in primitive.findall("input"):
            if entry.get("semantic") != "VERTEX":
                number = sets.get(entry.get("set", "0"), 0)
                is_further = number and entry.get("semantic") == COORDINATES
                further = str(number) if is_further else ""
                entry.set(CARRIES, entry.get("semantic", "") + further)
                entry.set(FROM, entry.get("source", ""))
                entry.set("semantic", "COLOR")
                entry.set("source", url)


def _fill_holes(polygons: Element, skipped: list[str]) -> None:
    """Replace polygons with holes by their outlines."""
    for index, child in enumerate(polygons):
        outline = child.find("p") if child.tag == "ph" else None
        if outline is not None:
            polygons[index] = outline
            skipped.append("holes in polygons are filled")
