"""COLLADA files: the surfaces of the scene as one mesh.

Units and axes:

* ``<unit>`` is applied, and so are the transforms of all nodes above a geometry.
* ``<up_axis>`` is not applied but reported. So do the tools that robots are made with:
  rviz and geometric_shapes (hence MoveIt) reset the rotation that assimp derives from
  it, Gazebo and trimesh never read it, PyBullet 3.2.7 was measured to leave a ``Y_UP``
  mesh as it is, and MeshLab writes ``Y_UP`` on Z-up parts. (three.js does apply it.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes.collada.document import parse_document
from urdf_usd.converter.meshes.collada.geometry import Primitive, Surface, read_surface
from urdf_usd.converter.meshes.collada.materials import (
    NO_MATERIALS,
    DocumentMaterials,
    read_document_materials,
)
from urdf_usd.converter.meshes.collada.number_lists import read_floats, text_of
from urdf_usd.converter.meshes.collada.scene import Instance, read_scene
from urdf_usd.converter.meshes.corner_values import (
    CornerValues,
    are_valid_indices,
    drop_unused,
    face_normals,
    finite_values,
    join_corner_values,
    transform_vectors,
    unit_vectors,
)
from urdf_usd.converter.meshes.polygon_mesh import (
    NO_ATTRIBUTES,
    MeshError,
    PolygonMesh,
    SurfaceAttributes,
    build_mesh,
    reversed_faces,
)

Matrix: TypeAlias = NDArray[np.float64]

_MOST_NUMBERS = 50_000_000


class _Part(NamedTuple):
    """Polygons and the points [units of the document] that they index.

    ``material`` is the id of the polygons' material.
    """

    points: Matrix
    counts: NDArray[np.integer]
    indices: NDArray[np.integer]
    values: dict[str, CornerValues]
    material: str | None


def read_dae(data: bytes, *, attributes: bool = True) -> PolygonMesh:
    """Read all surfaces that the scene of a COLLADA document shows [m].

    Cameras, lights, lines and animations are ignored. Skinned surfaces are read in
    their bind pose. Faces stay counter-clockwise under mirroring transforms. For a
    document without a scene, each geometry is read once.

    Args:
        data: The document.
        attributes: Whether to read normals, texture coordinates, colours and materials.

    Raises:
        MeshError: The text is not XML, not COLLADA, or has no surface.
    """
    root = parse_document(data)
    if root.tag != "COLLADA":
        raise MeshError(f"it is XML but not COLLADA: its root is <{root.tag}>")
    metres_per_unit, up_axis = _metres_per_unit(root), _up_axis(root)
    materials = read_document_materials(root) if attributes else NO_MATERIALS
    instances, skipped = read_scene(root)
    surfaces = _Surfaces(materials)
    parts = list(_parts(instances, surfaces))
    skipped = tuple(dict.fromkeys((*skipped, *surfaces.skipped)))
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
        np.concatenate(blocks) * metres_per_unit,
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.indices + at for part, at in zip(parts, offsets, strict=True)]),
        ignored_up_axis=None if up_axis == "Z_UP" else up_axis,
        skipped=skipped,
        attributes=_joined_attributes(parts, materials) if attributes else NO_ATTRIBUTES,
    )


def _metres_per_unit(root: Element) -> float:
    unit = root.find("asset/unit")
    try:
        metres = float(unit.get("meter", "1")) if unit is not None else 1.0
    except ValueError:
        metres = math.nan
    if not (math.isfinite(metres) and metres > 0):
        raise MeshError("its <unit> is not a positive number of metres")
    return metres


def _up_axis(root: Element) -> str:
    """Return ``X_UP``, ``Y_UP`` or ``Z_UP``; COLLADA's default is ``Y_UP``."""
    axis = (root.findtext("asset/up_axis") or "").strip().upper()
    return axis if axis in {"X_UP", "Z_UP"} else "Y_UP"


def _joined_attributes(parts: list[_Part], attributes: DocumentMaterials) -> SurfaceAttributes:
    used = list(dict.fromkeys(part.material for part in parts if part.material))
    numbers = {known: number for number, known in enumerate(used)}
    white = [np.broadcast_to(1.0, (len(part.indices), 3)) for part in parts]
    origin = [np.broadcast_to(0.0, (len(part.indices), 2)) for part in parts]
    normals = [part.values.get("NORMAL") for part in parts]
    flat: list[Matrix] = []
    if any(normals) and not all(normals):
        flat = [face_normals(part.points, part.counts, part.indices) for part in parts]
    first, *further = (
        join_corner_values([part.values.get(key) for part in parts], origin)
        for key in attributes.coordinate_sets
    )
    return SurfaceAttributes(
        normals=join_corner_values(normals, flat or white),
        texture_coordinates=first,
        further_coordinates=tuple(further),
        colors=join_corner_values([part.values.get("COLOR") for part in parts], white),
        face_materials=np.repeat(
            np.array([numbers.get(part.material or "", -1) for part in parts], np.int32),
            [len(part.counts) for part in parts],
        ),
        materials=tuple(attributes.materials[known] for known in used),
    )


def _parts(instances: Iterable[Instance], surfaces: _Surfaces) -> Iterator[_Part]:
    numbers = 0
    for instance in instances:
        surface = surfaces.of(instance.geometry)
        linear = instance.transform[:3, :3]
        corners = sum(len(polygons.indices) for polygons in surface.primitives)
        numbers += len(surface.points) + corners
        if numbers > _MOST_NUMBERS:
            raise MeshError("its instances exceed the limit")
        # What overflows here is found by build_mesh.
        with np.errstate(all="ignore"):
            moved = transform_vectors(surface.points, linear) + instance.transform[:3, 3]
            inside_out = bool(np.linalg.det(linear) < 0)
        for polygons in surface.primitives:
            values = surfaces.corner_values(polygons, linear)
            placed = polygons.indices
            if inside_out:
                order = reversed_faces(polygons.counts, np.arange(len(placed)))
                placed = placed[order]
                values = {
                    key: CornerValues(held.values, held.indices[order])
                    for key, held in values.items()
                }
            material = surfaces.attributes.material(polygons.material, instance.element)
            yield _Part(moved, polygons.counts, placed, values, material)


class _Surfaces:
    """Reads surfaces and sources of a document, each once."""

    def __init__(self, attributes: DocumentMaterials) -> None:
        self.attributes = attributes
        self._widths = attributes.widths
        self._surfaces: dict[Element, Surface] = {}
        self._sources: dict[tuple[str, int], Matrix | None] = {}

    @property
    def skipped(self) -> Iterator[str]:
        """Omitted content of the surfaces that were read."""
        for surface in self._surfaces.values():
            yield from surface.skipped

    def of(self, geometry: Element) -> Surface:
        """Return the surface of a geometry."""
        if geometry not in self._surfaces:
            surface = read_surface(geometry, self.attributes.sets)
            self._surfaces[geometry] = surface
        return self._surfaces[geometry]

    def corner_values(self, polygons: Primitive, linear: Matrix) -> dict[str, CornerValues]:
        """Return the complete values of the corners of polygons, by semantic.

        Args:
            polygons: The polygons.
            linear: (3, 3) linear transform of their surface.
        """
        values = {}
        for semantic, width in self._widths.items():
            if semantic not in polygons.values:
                continue
            source, column = polygons.values[semantic]
            indices = polygons.columns[column]
            held = self._rows(source, width)
            if held is None or not are_valid_indices(indices, len(held)):
                continue
            held, indices = drop_unused(held, indices)
            if semantic == "NORMAL":
                with np.errstate(all="ignore"):
                    # Cofactors are the inverse transpose up to a factor.
                    held = unit_vectors(transform_vectors(held, _cofactors(linear)))
            elif semantic == "COLOR":
                held = np.clip(held, 0.0, 1.0)
            found = finite_values(held, indices)
            if found is not None:
                values[semantic] = found
        return values

    def _rows(self, name: str, width: int) -> Matrix | None:
        key = name, width
        if key not in self._sources:
            source = self.attributes.sources.get(name)
            rows = None if source is None else _source_rows(source, width)
            self._sources[key] = rows
        return self._sources[key]


def _source_rows(source: Element, width: int) -> Matrix | None:
    """Read the first components of a source's rows; None if they are not complete."""
    accessor = source.find("technique_common/accessor")
    try:
        stride = int("1" if accessor is None else accessor.get("stride", "1"))
        numbers = read_floats(text_of(source.find("float_array")))
    except ValueError:
        return None
    if stride < width or not len(numbers) or len(numbers) % stride:
        return None
    return numbers.reshape(-1, stride)[:, :width]


def _cofactors(linear: Matrix) -> Matrix:
    """Return the transform of normals, so that mirrored ones still face outwards."""
    (a, b, c), (d, e, f), (g, h, i) = linear
    cofactors = np.array(
        [
            [e * i - h * f, f * g - i * d, d * h - g * e],
            [h * c - b * i, i * a - c * g, g * b - a * h],
            [b * f - e * c, c * d - f * a, a * e - d * b],
        ]
    )
    sign = -1.0 if np.linalg.det(linear) < 0 else 1.0
    return sign * cofactors
