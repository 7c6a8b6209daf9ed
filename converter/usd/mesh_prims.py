"""One surface as a USD mesh: topology, primvars, and subsets where materials differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pxr import Sdf, UsdGeom, UsdShade, Vt

from converter.colors import linear_from_srgb
from converter.usd.looks import coordinates_name
from converter.usd.names import show_name, sibling_names

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pxr import Usd

    from converter.meshes.appearance import CornerValues
    from converter.meshes.mesh_material import MeshMaterial
    from converter.meshes.polygon_mesh import PolygonMesh

# A material that has no name in the mesh file.
_UNNAMED = "material"


@dataclass(frozen=True, slots=True)
class SurfaceParts:
    """Which materials of its own a mesh has, and where.

    Attributes:
        materials: Material and name of the subset prim of each part; the name is None
            if the part is the whole mesh.
        covered: Whether every face has a material of the file.
        coordinate_sets: Numbers of the sets of texture coordinates that it has.
    """

    materials: tuple[tuple[str | None, MeshMaterial], ...]
    covered: bool
    coordinate_sets: tuple[int, ...]


def surface_parts(mesh: PolygonMesh) -> SurfaceParts:
    """Tell the parts of a mesh that have materials of the mesh file."""
    faces = _faces_by_material(mesh)
    covered = sum(map(len, faces.values())) == len(mesh.face_counts)
    materials = tuple(mesh.look.materials[number] for number in faces)
    names: tuple[str | None, ...] = sibling_names(m.name or _UNNAMED for m in materials)
    if covered and len(materials) == 1:
        # A subset of all faces costs renderers, and says nothing.
        names = (None,)
    return SurfaceParts(
        tuple(zip(names, materials, strict=True)),
        covered,
        tuple(
            number
            for number, held in enumerate(mesh.look.coordinate_sets)
            if held is not None
        ),
    )


def write_mesh(stage: Usd.Stage, path: Sdf.Path, mesh: PolygonMesh) -> None:
    """Define a mesh prim.

    Subdivision is off, and faces are right-handed.
    """
    prim = UsdGeom.Mesh.Define(stage, path)
    points = Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(mesh.points, np.float32))
    prim.CreatePointsAttr(points)
    prim.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(mesh.face_counts))
    prim.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(mesh.face_indices))
    prim.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    prim.CreateOrientationAttr(UsdGeom.Tokens.rightHanded)
    prim.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(points))
    kinds = Sdf.ValueTypeNames
    look = mesh.look
    if any(material.double_sided for material in look.materials):
        prim.CreateDoubleSidedAttr(True)
    for name, kind, held in (
        # As primvars, because the normals attribute cannot be indexed.
        ("normals", kinds.Normal3fArray, look.normals),
        *(
            (coordinates_name(number), kinds.TexCoord2fArray, coordinates)
            for number, coordinates in enumerate(look.coordinate_sets)
        ),
    ):
        if held is not None:
            _write_primvar(prim, name, kind, held.values, held, mesh)
    if look.colors is not None:
        linear = linear_from_srgb(look.colors.values)
        kind = kinds.Color3fArray
        _write_primvar(prim, "displayColor", kind, linear, look.colors, mesh)
    _write_subsets(prim, mesh)


def _write_primvar(  # noqa: PLR0913, PLR0917  # one parameter per statement
    prim: UsdGeom.Mesh,
    name: str,
    kind: Sdf.ValueTypeName,
    values: NDArray[np.float64],
    held: CornerValues,
    mesh: PolygonMesh,
) -> None:
    array = Vt.Vec3fArray if values.shape[1] == 3 else Vt.Vec2fArray  # noqa: PLR2004  x, y and z
    per_point = len(values) == len(mesh.points) and np.array_equal(
        held.indices, mesh.face_indices
    )
    primvar = UsdGeom.PrimvarsAPI(prim).CreatePrimvar(
        name,
        kind,
        UsdGeom.Tokens.vertex if per_point else UsdGeom.Tokens.faceVarying,
    )
    primvar.Set(array.FromNumpy(np.ascontiguousarray(values, np.float32)))
    if not per_point:
        primvar.SetIndices(Vt.IntArray.FromNumpy(held.indices))


def _write_subsets(prim: UsdGeom.Mesh, mesh: PolygonMesh) -> None:
    parts = surface_parts(mesh)
    subsets = [name for name, _ in parts.materials if name is not None]
    if not subsets:
        return
    for (name, material), faces in zip(
        parts.materials, _faces_by_material(mesh).values(), strict=True
    ):
        subset = UsdGeom.Subset.CreateGeomSubset(
            prim,
            name,
            UsdGeom.Tokens.face,
            Vt.IntArray.FromNumpy(faces.astype(np.int32)),
            UsdShade.Tokens.materialBind,
        )
        show_name(subset.GetPrim(), material.name or _UNNAMED)
    UsdGeom.Subset.SetFamilyType(
        prim,
        UsdShade.Tokens.materialBind,
        UsdGeom.Tokens.partition if parts.covered else UsdGeom.Tokens.nonOverlapping,
    )


def _faces_by_material(mesh: PolygonMesh) -> dict[int, NDArray[np.intp]]:
    """Faces of each material that has some and says something about the look."""
    numbers = mesh.look.face_materials
    if numbers is None:
        return {}
    return {
        number: np.flatnonzero(numbers == number)
        for number in np.unique(numbers[numbers >= 0]).tolist()
        if mesh.look.materials[number].says_something
    }
