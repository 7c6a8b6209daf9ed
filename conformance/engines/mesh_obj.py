"""OBJ files by trimesh, with statements in an order and a form that it reads correctly.

trimesh mixes faces with different forms of indices but equal counts, reads ``usemtl`` in comments,
ignores indented statements and those with tabs, joins groups of one name, and misreads negative
indices and the index 0.
"""

from __future__ import annotations

import io
import re
from collections import Counter

import numpy as np
from msgspec import Struct, structs
from trimesh.exchange.obj import load_obj

from urdf_usd.conformance.engines.loaded_mesh import (
    FaceGroup,
    LoadedMesh,
    MeshPart,
    UnreadMeshError,
    joined_parts,
    reading_by,
)
from urdf_usd.conformance.engines.surfaces import fans

# A line in a comment is not continued, as in MuJoCo and PyBullet.
_COMMENT_OR_CONTINUED = re.compile(r"(#[^\n]*+)|\\\n")
_COMMENT = re.compile(r"#[^\n]*")
_INDEX_ZERO = re.compile(r"(?<!\d)0+(?!\d)")
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
# Kinds of rows that corners refer to, in the order of their indices.
_ROWS = ("v", "vt", "vn")


class ObjFile(Struct, frozen=True):
    """An OBJ file, before the libraries that it names are read; others have none."""

    mesh: LoadedMesh  # materials of triangles are indices of names
    libraries: tuple[str, ...] = ()  # arguments of ``mtllib``, line by line
    names: tuple[str, ...] = ()  # of its materials


class _Faces(Struct, frozen=True):
    """What the faces of one block have in common; every ``o`` or ``g`` begins a group."""

    material: int  # -1 for none
    group: int
    form: str  # of the corners, without digits


def read_obj(content: bytes) -> ObjFile:
    """Read a file; polygons are fans of triangles.

    Raises:
        UnreadMeshError: A statement is invalid, or there is no triangle.
    """
    rows: dict[str, list[str]] = {kind: [] for kind in _ROWS}
    blocks: dict[_Faces, list[str]] = {}
    libraries: dict[str, None] = {}
    names: dict[str, int] = {}
    material, group, lines, form = -1, 0, list[str](), None
    for line in _lines(content):
        keyword, _, words = line.partition(" ")
        if keyword == "f":
            words = words.strip()
            if "-" in words or _INDEX_ZERO.search(words):
                words = _from_one(words, [len(rows[kind]) for kind in _ROWS])
            if (shape := words.translate(_WITHOUT_DIGITS)) != form:
                form = shape
                lines = blocks.setdefault(_Faces(material, group, form), [])
            lines.append(words)
        elif keyword in rows:
            # trimesh shortens all texture coordinates to the shortest.
            single = keyword == "vt" and " " not in words.strip()
            rows[keyword].append(f"{words} 0" if single else words)
        elif keyword in {"o", "g"} and words.strip():
            group, form = group + 1, None
        elif keyword == "usemtl":
            material, form = names.setdefault(words.strip(), len(names)), None
        elif keyword == "mtllib":
            libraries[words.strip()] = None
    return ObjFile(_mesh(rows, blocks), tuple(libraries), tuple(names))


def _lines(content: bytes) -> list[str]:
    """Return statements without indentation and tabs; names may have a ``#``."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    if "\\\n" in text:
        text = _COMMENT_OR_CONTINUED.sub(lambda match: match[1] or " ", text)
    lines = text.split("\n")
    if "\n " in text or text.startswith(" "):
        lines = [line.lstrip() for line in lines]
    if "#" not in text:
        return lines
    return [
        _COMMENT.sub("", line) if "#" in line and line.startswith(("f", "v")) else line
        for line in lines
    ]


def _from_one(words: str, counts: list[int]) -> str:
    """Count negative indices from the first row; leave out an index 0 except of a point."""
    corners = []
    for corner in words.split():
        indices = []
        for written, count in zip(corner.split("/"), counts, strict=False):
            try:
                index = int(written or 0)
            except ValueError as error:
                raise UnreadMeshError("an index of a face is not a number") from error
            index = index + count + 1 if index < 0 else index
            if index < 0 or (index == 0 and written.startswith("-")):
                raise UnreadMeshError("a face has an index before the first vertex")
            indices.append(str(index) if index else "")
        if not indices[0]:
            raise UnreadMeshError("a face has the index 0, but indices begin at 1")
        corners.append("/".join(indices).rstrip("/"))
    return " ".join(corners)


def _mesh(rows: dict[str, list[str]], blocks: dict[_Faces, list[str]]) -> LoadedMesh:
    statements = [f"\n{kind} " + f"\n{kind} ".join(rows[kind]) for kind in _ROWS if rows[kind]]
    corners = 0
    for number, (block, lines) in enumerate(blocks.items()):
        count = len(lines[0].split())
        forms = Counter(block.form.split())
        if "///" in block.form:
            raise UnreadMeshError("a corner of a face has more than three indices")
        if len(forms) > 1 or (forms and forms.total() != count):
            message = "trimesh does not read faces whose corners have different indices"
            raise UnreadMeshError(message)
        corners = max(corners, count)
        statements.append(f"\no {number}\nf " + "\nf ".join(lines))
    with reading_by("trimesh"):
        text = io.BytesIO("".join(statements).encode())
        read = load_obj(text, split_objects=True, skip_materials=True).get("geometry", {})
    if not read:
        raise UnreadMeshError("it holds no triangles")
    parts, groups = [], dict[int, list[MeshPart]]()
    for number, block in enumerate(blocks):
        mesh = read[str(number)]
        polygons = np.asarray(mesh["faces"])
        if mesh["vertices"].shape[1] != 3:
            raise UnreadMeshError("a vertex is not 3 numbers")
        triangles = fans(np.full(len(polygons), polygons.shape[1]), polygons.reshape(-1))
        normals, uv = mesh.get("vertex_normals"), getattr(mesh["visual"], "uv", None)
        part = MeshPart(
            mesh["vertices"],
            triangles,
            np.eye(4),
            block.material,
            normals=None if normals is None else normals[triangles],
            coordinates=None if uv is None else uv[triangles],
        )
        parts.append(part)
        if len(triangles):
            groups.setdefault(block.group, []).append(part)
    parts = [part for part in parts if len(part.triangles)]
    with_normals = sum(part.normals is not None for part in parts)
    return structs.replace(
        joined_parts(parts),
        has_coordinates=any(part.coordinates is not None for part in parts),
        has_normals=True if with_normals == len(parts) else None if with_normals else False,
        corners=corners,
        groups=tuple(map(_group, groups.values())) if len(groups) > 1 else (),
    )


def _group(parts: list[MeshPart]) -> FaceGroup:
    mesh = joined_parts(parts)
    return FaceGroup(mesh.points, mesh.triangles)
