"""What there is to say of a mesh file that could be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import Diagnostic

if TYPE_CHECKING:
    from urdf_usd.converter.diagnostics import Location
    from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh


def mesh_notes(
    name: str, mesh: PolygonMesh, location: Location | None
) -> tuple[Diagnostic, ...]:
    """Say what was left out of a mesh, and how its axes were taken.

    Args:
        name: Of the file.
        mesh: What is in it.
        location: Where the URDF uses it first.
    """
    notes = [
        Diagnostic("mesh-partial", f"mesh {name!r}: {sentence}", location)
        for sentence in mesh.skipped
    ]
    if mesh.ignored_up_axis:
        message = f"mesh {name!r} says {mesh.ignored_up_axis}; its axes are kept"
        notes.append(Diagnostic("mesh-up-axis", message, location))
    return tuple(notes)
