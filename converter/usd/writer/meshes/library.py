"""Types of the mesh library, without numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.robot.model import Collision, MeshFile, Shape

if TYPE_CHECKING:
    from urdf_usd.converter.usd.writer.meshes.prims import SurfaceParts


LIBRARY_ROOT = Sdf.Path("/Geometry")

Mirror: TypeAlias = tuple[bool, bool, bool]
# A mesh file, and per axis whether its scale is negative: mirrored meshes are separate,
# because a negative scale on a prim turns it inside out for some consumers.
MeshKey: TypeAlias = tuple[str, Mirror]


class MeshUse(Struct, frozen=True):
    """What a mesh is used for.

    Attributes:
        location: Link that uses it first.
        visual: Whether it is visible, or collides as a whole.
        collider: Whether each of its groups collides.
    """

    location: Location | None
    visual: bool
    collider: bool


class ColliderGroups(Struct, frozen=True):
    """The groups of a mesh file, each of which collides as its own convex hull.

    Attributes:
        prim: Xform of the library.
        names: Names of its meshes, one per group.
    """

    prim: Sdf.Path
    names: tuple[str, ...]


class MeshLibrary(Struct, frozen=True):
    """The meshes of a robot.

    Attributes:
        prims: Library prim by mesh, of meshes that are used as a whole.
        groups: Groups by mesh, of colliders with several groups.
        parts: Parts of the surface, by file.
        unreadable: Reason, by unreadable file.
        diagnostics: Diagnostics about the files.
    """

    prims: dict[MeshKey, Sdf.Path]
    groups: dict[MeshKey, ColliderGroups]
    parts: dict[str, SurfaceParts]
    unreadable: dict[str, str]
    diagnostics: tuple[Diagnostic, ...]

    def groups_of(self, shape: Shape) -> ColliderGroups | None:
        """Return the groups of a collider; None if it is one shape."""
        geometry = shape.geometry
        if not (isinstance(shape, Collision) and shape.approximation is None):
            return None
        if not isinstance(geometry, MeshFile) or geometry.path is None:
            return None
        return self.groups.get(mesh_key(geometry))


def mesh_key(geometry: MeshFile) -> MeshKey:
    """Return the key of a mesh with a file."""
    if geometry.path is None:
        raise ValueError(f"mesh {geometry.uri!r} has no file")
    x, y, z = (factor < 0 for factor in geometry.scale)
    return geometry.path, (x, y, z)
