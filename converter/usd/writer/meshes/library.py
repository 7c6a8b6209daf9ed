"""The library of meshes: each distinct surface once, however many files hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pxr import Sdf

if TYPE_CHECKING:
    from urdf_usd.converter.diagnostics import Diagnostic
    from urdf_usd.converter.robot.model import MeshFile
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
