"""Wavefront OBJ files, read by tinyobjloader.

Of the libraries that were compared, only tinyobjloader keeps polygons, the order of the
file, and relative indices: trimesh 5.2 and assimp-py 1.2 triangulate, trimesh counts
relative indices from the end of the file, and meshio 5.3 treats them as absolute.

It reads malformed numbers as zero or up to the fault, so that such lines are refused
beforehand. It refuses comments behind faces, which the format allows, and takes the
missing index of ``1//`` from the next corner; both are removed. Its numpy accessors are
wrong under numpy 2 in the wheels of 2.0.0rc13; its lists are used.

Invalid normals, texture coordinates (v up, as in USD), colours and materials are
ignored; faces are kept.

Each ``o`` or ``g`` statement with a name begins a group of faces, as in PyBullet, also
if the name was used before; ``usemtl`` begins none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import tinyobjloader
from numpy.typing import NDArray

from urdf_usd.converter.meshes.corner_values import (
    CornerValues,
    SiblingReader,
    corner_values,
    face_normals,
    fill_missing,
    read_only,
    unit_vectors,
)
from urdf_usd.converter.meshes.obj.materials import in_one_word, in_utf8, read_libraries
from urdf_usd.converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    SurfaceAttributes,
    build_mesh,
    check_indices,
)

# Patterns start with a line end, which is ten times as fast as a multi-line anchor.
# Points, lines and weights: the library refuses the file if one is invalid. Names of
# objects and groups: it uses a kilobyte for each.
_NO_SURFACE = re.compile(rb"\n[ \t]*+(?:g|l|o|p|vw)[ \t][^\n]*")
_GROUP = re.compile(rb"\n[ \t]*+[go][ \t]([^\n]*)")
# A face with fewer corners is left out by the library.
_FACE = re.compile(rb"\n[ \t]*+f(?:[ \t]++[^\s]++){3}")
_NUMBER = rb"[ \t]++[+-]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?+\d++)?+(?=\s)"
_MISREAD_VERTEX = re.compile(rb"\n[ \t]*+v(?=\s)(?!(?:" + _NUMBER + rb"){3})[^\n]*")
# Non-finite numbers as printed by C libraries, which tinyobjloader reads as zero.
_NOT_FINITE = re.compile(
    rb"(?<=[ \t])[+-]?(?:nan(?:\([a-z]*\))?|inf(?:inity)?|1\.#(?:ind|inf|[qs]nan)\d*)"
    rb"(?=\s|$)",
    re.IGNORECASE,
)
# Indices with ten digits may overflow 32 bits; the library ends a line at a NUL.
_INDEX = rb"/[^\s/\0]++"
_MISREAD_FACE = re.compile(
    rb"\n[ \t]*+f(?=\s)(?:[ \t]++[+-]?+\d{1,9}+"
    rb"(?:" + _INDEX + rb"(?:" + _INDEX + rb")?+|/" + _INDEX + rb")?+(?=\s))*+"
    rb"[ \t]*+[^\s][^\n]*"
)
# A line in a comment is not continued, as in MuJoCo and PyBullet.
_COMMENT_OR_CONTINUED = re.compile(rb"(#[^\n]*+)|\\\n")
_MOST_SLASHES = 2
_SHOWN = 40


def read_obj(
    data: bytes,
    read_sibling: SiblingReader = lambda _: None,
    *,
    attributes: bool = True,
) -> PolygonMesh:
    """Read all faces of an OBJ file as one mesh [m].

    Args:
        data: The file.
        read_sibling: Gives the material libraries that the file names.
        attributes: Whether to take what faces have besides their shape.

    Raises:
        MeshError: A number is malformed, an index is out of range, or no face is left.
    """
    # tinyobjloader supports neither byte order marks nor continued lines.
    text = b"\n%b\n" % in_utf8(data)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\\" in text:
        text = _COMMENT_OR_CONTINUED.sub(lambda found: found[1] or b" ", text)
    if _MISREAD_FACE.search(text):
        text = _MISREAD_FACE.sub(_indices_alone, text)
        _refuse(
            _MISREAD_FACE.search(text), "a face refers to something that is no vertex"
        )
    groups = _groups(text) if attributes else ()
    text = _NO_SURFACE.sub(b"\n", text)
    if _MISREAD_VERTEX.search(text):
        text = _MISREAD_VERTEX.sub(_in_digits, text)
        _refuse(_MISREAD_VERTEX.search(text), "a vertex is not three numbers")
    libraries, absent = read_libraries(text, read_sibling)
    config = tinyobjloader.ObjReaderConfig()
    config.triangulate = False
    reader = tinyobjloader.ObjReader()
    # All libraries are passed as one text, for which one mtllib line is needed.
    if not reader.ParseFromString(
        b"mtllib all\n" + (in_one_word(text) if libraries.text else text),
        libraries.text,
        config,
    ):
        raise MeshError(f"its OBJ is broken: {' '.join(reader.Error().split())}")
    parsed = reader.GetAttrib()
    shapes = [shape.mesh for shape in reader.GetShapes()]
    points = _rows(parsed.vertices, 3)
    counts = _integers(shape.num_face_vertices for shape in shapes)
    indices = _integers(shape.vertex_indices() for shape in shapes)
    check_indices(len(points), counts, indices)
    if not attributes:
        return build_mesh(points, counts, indices, skipped=absent)
    seen = SurfaceAttributes(
        normals=_normals(parsed, shapes, _Faces(points, counts, indices)),
        texture_coordinates=fill_missing(
            _rows(parsed.texcoords, 2),
            _integers(shape.texcoord_indices() for shape in shapes),
            np.zeros(2),
        ),
        colors=_colors(parsed, indices),
        face_materials=_integers(shape.material_ids for shape in shapes),
        materials=tuple(
            libraries.material(str(found.name)) for found in reader.GetMaterials()
        ),
        face_groups=_face_groups(groups, len(counts)),
        groups=tuple(name for name, _ in groups),
    )
    return build_mesh(points, counts, indices, skipped=absent, attributes=seen)


def _groups(text: bytes) -> tuple[tuple[str, int], ...]:
    """Return name and number of faces of the groups that have faces, if several."""
    parts = _GROUP.split(text)
    statements = len(parts) // 2
    if not statements or (statements == 1 and not _FACE.search(parts[0])):
        return ()
    # Faces before the first statement are a group without a name.
    named = zip((b"", *parts[1::2]), parts[::2], strict=True)
    groups = [(name, part) for name, part in named if _FACE.search(part)]
    if len(groups) == 1:
        return ()
    return tuple(
        (name.strip().decode("utf-8", "replace"), len(_FACE.findall(part)))
        for name, part in groups
    )


def _face_groups(
    groups: tuple[tuple[str, int], ...], count: int
) -> NDArray[np.int32] | None:
    """Return the (F,) group of each face; None if there are not several.

    Raises:
        MeshError: The groups do not add up to the number of faces.
    """
    if not groups:
        return None
    sizes = [size for _, size in groups]
    if sum(sizes) != count:
        raise MeshError(f"its groups have {sum(sizes)} faces, and it has {count}")
    return read_only(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))


def _in_digits(vertex: re.Match[bytes]) -> bytes:
    """Write non-finite numbers in digits, without comment; keep other faults."""
    written = _NOT_FINITE.sub(b"1e999", vertex[0]).partition(b"#")[0]
    return vertex[0] if _MISREAD_VERTEX.match(written + b"\n") else written


def _indices_alone(face: re.Match[bytes]) -> bytes:
    """Remove the comment of a face, and slashes without an index."""
    corners = face[0].partition(b"#")[0].split()
    return b"\n" + b" ".join(
        corner.rstrip(b"/") if corner.count(b"/") <= _MOST_SLASHES else corner
        for corner in corners
    )


class _Faces(NamedTuple):
    points: NDArray[np.float64]
    counts: NDArray[np.int32]
    indices: NDArray[np.int32]


def _normals(
    attributes: tinyobjloader.attrib_t,
    shapes: Iterable[tinyobjloader.mesh_t],
    faces: _Faces,
) -> CornerValues | None:
    if not attributes.normals or _dangling(faces):
        return None
    normals = unit_vectors(_rows(attributes.normals, 3))
    indices = _integers(shape.normal_indices() for shape in shapes)
    if ((indices >= 0) & (indices < len(normals))).all():
        return corner_values(normals, indices)
    return fill_missing(normals, indices, face_normals(*faces))


def _colors(
    attributes: tinyobjloader.attrib_t, indices: NDArray[np.int32]
) -> CornerValues | None:
    """Return vertex colours; None if all are white, the default of the library."""
    colors = _rows(attributes.colors, 3)
    if not (colors != 1.0).any():
        return None
    return corner_values(np.clip(colors, 0.0, 1.0), indices)


def _dangling(faces: _Faces) -> bool:
    """Return whether an index is out of range, which build_mesh reports."""
    indices = faces.indices
    return not len(indices) or indices.max() >= len(faces.points)


def _rows(numbers: list[float], width: int) -> NDArray[np.float64]:
    return np.fromiter(numbers, np.float64, len(numbers)).reshape(-1, width)


def _integers(lists: Iterable[list[int]]) -> NDArray[np.int32]:
    # Faster than np.array, which looks for nested lists.
    arrays = [np.fromiter(one, np.int32, len(one)) for one in lists]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int32)


def _refuse(line: re.Match[bytes] | None, reason: str) -> None:
    if line:
        shown = line[0].strip()[:_SHOWN].decode(errors="replace")
        raise MeshError(f"{reason}: {shown!r}")
