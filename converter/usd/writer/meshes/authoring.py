"""Writes the library of meshes that a robot uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Sdf

from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.converter.usd.writer.meshes.library import (
    LIBRARY_ROOT,
    MeshLibrary,
    mesh_key,
)
from urdf_usd.converter.usd.writer.specs import define

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.converter.diagnostics import Location
    from urdf_usd.converter.robot.model import Robot
    from urdf_usd.converter.usd.writer.meshes.library import MeshKey


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
