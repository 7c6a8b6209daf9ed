"""Mesh files of URDF robots, read into one type.

STL, OBJ and COLLADA become a :class:`PolygonMesh`; what cannot be read raises
:class:`MeshError` with a reason in one line.
"""

from converter.meshes.polygon_mesh import MeshError, PolygonMesh
from converter.meshes.read import read_mesh

__all__ = ["MeshError", "PolygonMesh", "read_mesh"]
