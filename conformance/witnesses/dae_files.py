"""COLLADA files by pycollada: triangles, and the materials that they are bound to.

The converter has pycollada read scenes, and reads materials itself; here all of it is
pycollada's.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import collada
import numpy as np

from urdf_usd.conformance.witnesses.file_materials import (
    FileMaterial,
    ImageFile,
    effective_opacity,
    light,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.integer]

# What inputs say of points.
_PLACES = {"POSITION", "VERTEX"}
_UNUSED = "unused"
_COORDINATES = f"{_UNUSED} TEXCOORD"
_OPAQUE = (1.0, 1.0, 1.0, 1.0)
_LUMINANCE = np.array([0.212671, 0.715160, 0.072169])
_RGB = 3
# pycollada takes it for zero.
_NAN = re.compile(r"(?<!\S)-?nan(?!\S)", re.IGNORECASE)
_DECIMALS = (
    *("{*}float_array", "{*}float", "{*}color"),
    *("{*}matrix", "{*}translate", "{*}rotate", "{*}scale"),
)


@dataclass(frozen=True, slots=True, eq=False)
class DaePart:
    """Triangles of a scene that have one material.

    Attributes:
        points: (N, 3) in units of the geometry.
        triangles: (M, 3) indices of points.
        transform: (4, 4) from there to metres.
        material: Which of the document's; -1 for none.
        has_coordinates: Whether there are texture coordinates.
    """

    points: Array
    triangles: Indices
    transform: Array
    material: int
    has_coordinates: bool


@dataclass(frozen=True, slots=True, eq=False)
class DaeFile:
    """What a document shows."""

    parts: tuple[DaePart, ...]
    materials: tuple[FileMaterial, ...]


def read_dae(content: bytes, folder: str) -> DaeFile:
    """Read the scene of a document.

    ``<up_axis>`` is not applied. What pycollada raises on documents that it cannot read
    is passed on.

    Args:
        content: The document.
        folder: What files that it names are relative to.
    """
    document = _Document(io.BytesIO(content), ignore=[collada.common.DaeError])
    unit = document.assetInfo.unitmeter
    metres = np.diag([*[1.0 if unit is None else float(unit)] * 3, 1.0])
    numbers = {material.id: index for index, material in enumerate(document.materials)}
    parts = tuple(
        part for node in document.scene.nodes for part in _parts(node, metres, numbers)
    )
    materials = tuple(
        _material(material.effect, folder) for material in document.materials
    )
    return DaeFile(parts, materials)


class _Document(collada.Collada):  # type: ignore[misc]  # pycollada is untyped
    """A document that is made ready between being parsed and being read."""

    def _loadAssetInfo(self) -> None:  # noqa: N802  the first step of reading
        for geometry in self.xmlnode.iter("{*}geometry"):
            _leave_unused_numbers(geometry)
        for element in self.xmlnode.iter("{*}rotate"):
            element.text = _with_unit_axis(element.text or "")
        for element in self.xmlnode.iter(*_DECIMALS):
            if element.text and "nan" in element.text.lower():
                element.text = _NAN.sub("INF", element.text)
        super()._loadAssetInfo()


def _leave_unused_numbers(geometry: Any) -> None:  # noqa: ANN401  lxml's element
    """Leave normals, texture coordinates and the like without numbers.

    Two thirds of the decimals of most documents are theirs, and pycollada takes longer
    for decimals than for everything else. So that it does not miss them, what they are
    for gets a name that it does not know.
    """
    entries = list(geometry.iter("{*}input"))
    placed = {
        entry.get("source") for entry in entries if entry.get("semantic") in _PLACES
    }
    for entry in entries:
        semantic = entry.get("semantic")
        if semantic and semantic not in _PLACES:
            entry.set("semantic", f"{_UNUSED} {semantic}")
    for source in geometry.iter("{*}source"):
        numbers = source.find("{*}float_array")
        if numbers is not None and f"#{source.get('id')}" not in placed:
            numbers.text = None


def _with_unit_axis(rotation: str) -> str:
    """Write an axis as a unit vector: pycollada takes its length for a scale."""
    *axis, angle = (float(number) for number in rotation.split())
    length = float(np.linalg.norm(axis)) or 1.0
    return " ".join(map(str, (*(component / length for component in axis), angle)))


def _parts(
    node: Any,  # noqa: ANN401  pycollada is untyped
    transform: Array,
    numbers: dict[str, int],
) -> Iterator[DaePart]:
    if isinstance(node, collada.scene.Node):
        below = transform @ np.asarray(node.matrix, np.float64)
        for child in node.children or ():
            yield from _parts(child, below, numbers)
    elif isinstance(node, collada.scene.GeometryNode):
        bound = {one.symbol: numbers.get(one.target.id, -1) for one in node.materials}
        for primitive in node.geometry.primitives:
            surface = primitive
            if isinstance(primitive, collada.polylist.Polylist):
                surface = primitive.triangleset()
            is_surface = isinstance(surface, collada.triangleset.TriangleSet)
            if not is_surface or surface.vertex is None:
                continue
            points = np.asarray(surface.vertex, np.float64)
            triangles = np.asarray(surface.vertex_index).reshape(-1, 3)
            if not len(triangles):
                continue
            if triangles.min() < 0 or triangles.max() >= len(points):
                raise ValueError("a corner is at a point that is not there")
            yield DaePart(
                points=points,
                triangles=triangles,
                transform=transform,
                material=bound.get(surface.material, -1),
                has_coordinates=_COORDINATES in surface.sources,
            )


def _material(effect: Any, folder: str) -> FileMaterial:  # noqa: ANN401
    """Read an effect: its diffuse colour or image, and its opacity."""
    color = image = None
    if isinstance(effect.diffuse, collada.material.Map):
        image = _image(effect.diffuse, folder)
    elif effect.diffuse is not None and len(effect.diffuse) >= _RGB:
        color = light([float(c) for c in effect.diffuse])
    glow = effect.emission
    is_map = isinstance(glow, collada.material.Map)
    opacity, mask = _opacity(effect, folder)
    return FileMaterial(
        color=color,
        opacity=opacity,
        image=image,
        mask=mask,
        says_more=is_map or (glow is not None and any(glow[:_RGB])),
    )


def _opacity(
    effect: Any,  # noqa: ANN401  pycollada is untyped
    folder: str,
) -> tuple[float | None, ImageFile | None]:
    """Count opacity in the mode that the effect names, which defaults to A_ONE.

    A factor that is not stated is 1; pycollada has 0 for some.
    """
    shader = next(effect.xmlnode.iter(f"{{*}}{effect.shadingtype}"), None)
    stated = shader is not None and shader.find("{*}transparency") is not None
    element = None if shader is None else shader.find("{*}transparent")
    mode = "A_ONE" if element is None else element.get("opaque", "A_ONE")
    scale = effect.transparency if stated else 1.0
    scale = scale[0] if isinstance(scale, list | tuple) else scale
    if not isinstance(scale, int | float):
        return None, None
    transparent = effect.transparent
    if isinstance(transparent, collada.material.Map):
        if mode == "A_ONE":
            return effective_opacity(scale), _image(transparent, folder)
        # No shader takes the luminance of an image.
        return None, None
    rgba = np.array([*(transparent or _OPAQUE), 1.0])[:4]
    opaque = float(rgba[3] if mode.startswith("A_") else rgba[:_RGB] @ _LUMINANCE)
    if transparent is None:
        return effective_opacity(scale), None
    opaque *= scale
    return effective_opacity(1.0 - opaque if mode.endswith("ZERO") else opaque), None


def _image(texture: Any, folder: str) -> ImageFile:  # noqa: ANN401
    return ImageFile(str(texture.sampler.surface.image.path).strip(), folder)
