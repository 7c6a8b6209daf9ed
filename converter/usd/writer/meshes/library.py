"""Types of the mesh library, without numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import MeshFile

if TYPE_CHECKING:
    from urdf_usd.converter.usd.writer.meshes.prims import SurfaceParts


LIBRARY_ROOT = Sdf.Path("/Geometry")

Mirror: TypeAlias = tuple[bool, bool, bool]
# A mesh file, and per axis whether its scale is negative: mirrored meshes are separate,
# because a negative scale on a prim turns it inside out for some consumers.
MeshKey: TypeAlias = tuple[str, Mirror]


@dataclass(frozen=True, slots=True)
class MeshLibrary:
    """The meshes of a robot.

    Attributes:
        prims: Library prim by mesh.
        parts: Parts of the surface, by file.
        unreadable: Reason, by unreadable file.
        diagnostics: Diagnostics about the files.
    """

    prims: dict[MeshKey, Sdf.Path]
    parts: dict[str, SurfaceParts]
    unreadable: dict[str, str]
    diagnostics: tuple[Diagnostic, ...]


def mesh_key(geometry: MeshFile) -> MeshKey:
    """Return the key of a mesh with a file."""
    if geometry.path is None:
        raise ValueError(f"mesh {geometry.uri!r} has no file")
    x, y, z = (factor < 0 for factor in geometry.scale)
    return geometry.path, (x, y, z)
