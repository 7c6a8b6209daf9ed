"""Wavefront OBJ: the polygons of all objects and groups.

tinyobjloader reads the file. Of the libraries that were tried, it alone keeps polygons,
the order of the file, and relative indices that count from their own line: trimesh 5.2
and assimp-py 1.2 cut polygons into triangles, trimesh counts relative indices from the
end of the file and meshio 5.3 takes them for absolute ones.

It takes damaged numbers for zero or for what stands before the damage, so lines that it
would misread are refused before it sees them. Its numpy accessors, in the wheels of
2.0.0rc13, repeat the first number under numpy 2: the lists are right.

Only ``v`` and ``f`` matter for the surface: colours after a position, materials and
their libraries do not.
"""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
import tinyobjloader

from converter.meshes.polygon_mesh import MeshError, PolygonMesh, build_mesh

# Points, lines and weights: the library gives up the file for one that is dangling.
_NO_SURFACE = re.compile(rb"^[ \t]*+(?:l|p|vw)[ \t][^\n]*", re.MULTILINE)
_NUMBER = rb"[ \t]++[+-]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?+\d++)?+(?=\s|$)"
_MISREAD_VERTEX = re.compile(
    rb"^[ \t]*+v(?=\s|$)(?!(?:" + _NUMBER + rb"){3})[^\n]*", re.MULTILINE
)
# Ten digits may exceed the 32 bits of an index, and would wrap around; a line ends for
# the library with the first NUL.
_MISREAD_FACE = re.compile(
    rb"^[ \t]*+f(?=\s|$)(?:[ \t]++[+-]?+\d{1,9}+(?:/[^\s/\0]*+){0,2}+(?=\s|$))*+"
    rb"[ \t]*+[^\s][^\n]*",
    re.MULTILINE,
)
_SHOWN = 40


def read_obj(data: bytes) -> PolygonMesh:
    """Read all faces of an OBJ file as one mesh [m].

    Raises:
        MeshError: A number is malformed, an index is out of range, or no face is left.
    """
    # The library takes a byte order mark for the name of the first line, and knows no
    # continued lines.
    text = b"\n".join(data.removeprefix(b"\xef\xbb\xbf").splitlines()) + b"\n"
    text = _NO_SURFACE.sub(b"", text.replace(b"\\\n", b" "))
    _refuse(_MISREAD_VERTEX.search(text), "a vertex is not three numbers")
    _refuse(_MISREAD_FACE.search(text), "a face refers to something that is no vertex")
    config = tinyobjloader.ObjReaderConfig()
    config.triangulate = False
    reader = tinyobjloader.ObjReader()
    if not reader.ParseFromString(text, "", config):
        raise MeshError(f"its OBJ is broken: {' '.join(reader.Error().split())}")
    shapes = [shape.mesh for shape in reader.GetShapes()]
    counts = chain.from_iterable(shape.num_face_vertices for shape in shapes)
    indices = chain.from_iterable(shape.vertex_indices() for shape in shapes)
    return build_mesh(
        np.array(reader.GetAttrib().vertices, dtype=np.float64).reshape(-1, 3),
        np.fromiter(counts, dtype=np.int64),
        np.fromiter(indices, dtype=np.int64),
    )


def _refuse(line: re.Match[bytes] | None, reason: str) -> None:
    if line:
        shown = line[0].strip()[:_SHOWN].decode(errors="replace")
        raise MeshError(f"{reason}: {shown!r}")
