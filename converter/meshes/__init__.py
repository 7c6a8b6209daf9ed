"""Readers of mesh files: STL, OBJ, COLLADA, glTF and PLY.

All return a :class:`PolygonMesh` or raise :class:`MeshError`. Names are imported on
first use, because robots without meshes need no numpy.
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
    """Import a name of the package."""
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACE[name]), name)
