"""Mesh files of URDF robots, read into one type.

STL, OBJ and COLLADA become a :class:`PolygonMesh`; what cannot be read raises
:class:`MeshError` with a reason in one line. Names are loaded when they are first
asked for: a robot without meshes needs none of them, but has materials.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.converter.meshes.polygon_mesh import MeshError, PolygonMesh
    from urdf_usd.converter.meshes.read import read_mesh

__all__ = ["MeshError", "PolygonMesh", "read_mesh"]

_PLACE = {
    "MeshError": "urdf_usd.converter.meshes.polygon_mesh",
    "PolygonMesh": "urdf_usd.converter.meshes.polygon_mesh",
    "read_mesh": "urdf_usd.converter.meshes.read",
}


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACE[name]), name)
