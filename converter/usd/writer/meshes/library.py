"""The library of meshes: each distinct surface once, however many files hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pxr import Sdf

from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.converter.usd.writer.specs import define

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.converter.diagnostics import Diagnostic, Location
    from urdf_usd.converter.robot.model import Robot
    from urdf_usd.converter.usd.writer.meshes.prims import SurfaceParts


LIBRARY_ROOT = Sdf.Path("/Geometry")

Mirror: TypeAlias = tuple[bool, bool, bool]
# A mesh file, and per axis whether its scale mirrors: a mirrored mesh is a mesh of its
# own, because a negative scale on a prim turns it inside out for some consumers.
MeshKey: TypeAlias = tuple[str, Mirror]


@dataclass(frozen=True, slots=True)
class MeshLibrary:
    """Meshes that the robot needs.

    Attributes:
        prims: Library prim by mesh.
        parts: What the surface in a file consists of, by file.
        unreadable: Reason by file that could not be read.
        diagnostics: What was wrong with the files.
    """

    prims: dict[MeshKey, Sdf.Path]
    parts: dict[str, SurfaceParts]
    unreadable: dict[str, str]
    diagnostics: tuple[Diagnostic, ...]


def mesh_key(geometry: MeshFile) -> MeshKey:
    """Return the library entry of a mesh that has a file."""
    if geometry.path is None:
        raise ValueError(f"mesh {geometry.uri!r} has no file")
    x, y, z = (factor < 0 for factor in geometry.scale)
    return geometry.path, (x, y, z)


def author_library(robot: Robot, layer: Sdf.Layer) -> MeshLibrary:
    """Read every mesh that the robot uses and write it to a library.

    One mesh is in memory at a time.

    Args:
        robot: The robot; meshes without a file are left out.
        layer: Empty layer of the library.
    """
    define(layer, LIBRARY_ROOT, "Scope").specifier = Sdf.SpecifierClass
    layer.defaultPrim = LIBRARY_ROOT.name
    uses = _mesh_uses(robot)
    if not uses:
        return MeshLibrary({}, {}, {}, ())
    # All that reads meshes takes longer to load than a small robot to convert.
    from urdf_usd.converter.usd.writer.meshes.surfaces import write_surfaces  # noqa: PLC0415

    return write_surfaces(uses, layer, LIBRARY_ROOT)


def _mesh_uses(robot: Robot) -> Mapping[MeshKey, Location | None]:
    """Meshes in the order of first use, with the link that uses them first."""
    uses: dict[MeshKey, Location | None] = {}
    for link in robot.links:
        for shape in link.shapes:
            if isinstance(shape.geometry, MeshFile) and shape.geometry.path is not None:
                uses.setdefault(mesh_key(shape.geometry), link.location)
    return uses
