"""Writing of a surface as a USD mesh with primvars and material subsets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Sdf, Vt

from urdf_usd.converter.colors import linear_from_srgb
from urdf_usd.converter.meshes.corner_values import CornerValues
from urdf_usd.converter.meshes.mesh_material import MeshMaterial
from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh
from urdf_usd.converter.usd.writer.materials.appearance import coordinates_name
from urdf_usd.converter.usd.writer.names import sibling_names
from urdf_usd.converter.usd.writer.specs import define, show_spec_name, write, write_new

# Name of materials without name.
_UNNAMED = "material"
# Types of arrays by number of components.
_ARRAYS = {2: Vt.Vec2fArray, 3: Vt.Vec3fArray}


class SurfaceParts(Struct, frozen=True):
    """Parts of a mesh with different materials.

    Attributes:
        materials: Name of the subset prim and material of each part; the name is None
            if the part is the whole mesh.
        covered: Whether every face has a material of the file.
        coordinate_sets: Numbers of its sets of texture coordinates.
    """

    materials: tuple[tuple[str | None, MeshMaterial], ...]
    covered: bool
    coordinate_sets: tuple[int, ...]


def _parts(mesh: PolygonMesh, faces: Mapping[int, NDArray[np.intp]]) -> SurfaceParts:
    covered = sum(map(len, faces.values())) == len(mesh.face_counts)
    materials = tuple(mesh.attributes.materials[number] for number in faces)
    names: tuple[str | None, ...] = sibling_names(m.name or _UNNAMED for m in materials)
    if covered and len(materials) == 1:
        # A subset of all faces would be redundant.
        names = (None,)
    return SurfaceParts(
        tuple(zip(names, materials, strict=True)),
        covered,
        tuple(
            number
            for number, held in enumerate(mesh.attributes.coordinate_sets)
            if held is not None
        ),
    )


def write_mesh(layer: Sdf.Layer, path: Sdf.Path, mesh: PolygonMesh) -> SurfaceParts:
    """Define a mesh prim and its subsets, and return the parts with materials.

    Subdivision is off, and faces are right-handed.
    """
    prim = define(layer, path, "Mesh")
    points = np.ascontiguousarray(mesh.points, np.float32)
    write(prim, "points", Vt.Vec3fArray.FromNumpy(points))
    counts, indices = map(Vt.IntArray.FromNumpy, (mesh.face_counts, mesh.face_indices))
    write(prim, "faceVertexCounts", counts)
    write(prim, "faceVertexIndices", indices)
    write(prim, "subdivisionScheme", "none")
    write(prim, "orientation", "rightHanded")
    write(prim, "extent", _extent(points))
    kinds = Sdf.ValueTypeNames
    attributes = mesh.attributes
    if any(material.double_sided for material in attributes.materials):
        write(prim, "doubleSided", True)
    for name, kind, held in (
        # A primvar, because the normals attribute cannot be indexed.
        ("normals", kinds.Normal3fArray, attributes.normals),
        *(
            (coordinates_name(number), kinds.TexCoord2fArray, coordinates)
            for number, coordinates in enumerate(attributes.coordinate_sets)
        ),
    ):
        if held is not None:
            _write_primvar(prim, name, kind, held.values, held, mesh)
    if attributes.colors is not None:
        linear = linear_from_srgb(attributes.colors.values)
        kind = kinds.Color3fArray
        _write_primvar(prim, "displayColor", kind, linear, attributes.colors, mesh)
    return _write_subsets(prim, mesh)


def _extent(points: NDArray[np.float32]) -> Vt.Vec3fArray:
    # Per coordinate, which is five times as fast as numpy's reduction of rows; negative
    # zeros become positive.
    lower = (float(coordinates.min()) + 0.0 for coordinates in points.T)
    upper = (float(coordinates.max()) + 0.0 for coordinates in points.T)
    return Vt.Vec3fArray([Gf.Vec3f(*lower), Gf.Vec3f(*upper)])


def _write_primvar(
    prim: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    values: NDArray[np.float64],
    held: CornerValues,
    mesh: PolygonMesh,
) -> None:
    array = _ARRAYS[values.shape[1]]
    per_point = len(values) == len(mesh.points) and np.array_equal(held.indices, mesh.face_indices)
    single = array.FromNumpy(np.ascontiguousarray(values, np.float32))
    name = f"primvars:{name}"
    interpolation = "vertex" if per_point else "faceVarying"
    write_new(prim, name, kind, single, interpolation=interpolation)
    if not per_point:
        numbers = Vt.IntArray.FromNumpy(held.indices)
        write_new(prim, f"{name}:indices", Sdf.ValueTypeNames.IntArray, numbers)


def _write_subsets(prim: Sdf.PrimSpec, mesh: PolygonMesh) -> SurfaceParts:
    faces = _faces_by_material(mesh)
    parts = _parts(mesh, faces)
    if all(name is None for name, _ in parts.materials):
        return parts
    family = "materialBind"
    for (name, material), some in zip(parts.materials, faces.values(), strict=True):
        subset = define(prim.layer, prim.path.AppendChild(name), "GeomSubset")
        indices = Vt.IntArray.FromNumpy(some.astype(np.int32))
        write(subset, "elementType", "face")
        write(subset, "indices", indices)
        write(subset, "familyName", family)
        show_spec_name(subset, material.name or _UNNAMED)
    write_new(
        prim,
        f"subsetFamily:{family}:familyType",
        Sdf.ValueTypeNames.Token,
        "partition" if parts.covered else "nonOverlapping",
        Sdf.VariabilityUniform,
    )
    return parts


def _faces_by_material(mesh: PolygonMesh) -> dict[int, NDArray[np.intp]]:
    """Return the faces of each material that has a colour."""
    numbers = mesh.attributes.face_materials
    if numbers is None:
        return {}
    return {
        number: np.flatnonzero(numbers == number)
        # Without np.unique, which imports numpy.ma.
        for number in np.flatnonzero(np.bincount(numbers[numbers >= 0])).tolist()
        if mesh.attributes.materials[number].has_color
    }
