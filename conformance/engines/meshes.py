"""Mesh files: a library, or a reader of ours, for each format.

No format is read by the same library as in the converter. OBJ, glTF and text STL are read by
trimesh, COLLADA by pycollada. Binary STL is a list of fixed records, read here, and PLY has a
reader of ours: trimesh rejects binary files with polygons of several sizes, and reorders those
of text files. docs/dev/decisions.md lists what these libraries misread.
"""

from __future__ import annotations

import io
import re
import struct
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
from msgspec import Struct, structs
from trimesh.exchange.obj import load_obj

from urdf_usd.conformance.engines.mesh_materials import (
    LARGEST_MESH,
    FileMaterial,
    ImageFile,
    decoded,
    read_bounded,
    read_libraries,
)
from urdf_usd.conformance.engines.mesh_parts import (
    FaceGroup,
    LoadedMesh,
    MeshPart,
    UnreadMeshError,
    joined_parts,
    reading_by,
)
from urdf_usd.conformance.engines.mesh_scenes import read_dae, read_gltf, read_scene
from urdf_usd.conformance.engines.surfaces import Array, Indices, fan_places, fans

_HEAD = 4096
# Formats of trimesh that expand when they are read.
_ARCHIVES = frozenset({"3mf", "bz2", "gz", "tar", "tgz", "xz", "zip"})
# Number of meshes in the cache: more than most robots have.
_KEPT = 64
_LARGEST = float(np.finfo(np.float32).max)
_STL_HEADER = 84
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("points", "<f4", 9), ("attribute", "<u2")])
# A line in a comment is not continued, as in MuJoCo and PyBullet.
_COMMENT_OR_CONTINUED = re.compile(r"(#[^\n]*+)|\\\n")
_COMMENT = re.compile(r"#[^\n]*")
_INDEX_ZERO = re.compile(r"(?<!\d)0+(?!\d)")
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
# Kinds of rows that corners of an OBJ file refer to, in the order of their indices.
_ROWS = ("v", "vt", "vn")
# Format characters of the module struct, by the names in headers of PLY, old and new.
_TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H"}
_TYPES |= {"int": "i", "uint": "I", "float": "f", "double": "d"}
_TYPES |= {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H"}
_TYPES |= {"int32": "i", "uint32": "I", "float32": "f", "float64": "d"}
_BYTE_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
_IMAGES = re.compile(rb"^comment[ \t]+TextureFile[ \t]+([^\r\n]+)", re.MULTILINE)
# Names of texture coordinates of vertices, v upwards, as of MeshLab, Blender and others.
_COORDINATES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))


def load_mesh(path: str) -> LoadedMesh:
    """Read a mesh file, whose format is detected by its content where possible.

    The last files are cached: a robot is compared, then drawn.

    Returns:
        The mesh; its arrays are not to be written to.

    Raises:
        UnreadMeshError: It cannot be read, or holds no triangle.
    """
    try:
        state = Path(path).stat()
        mesh, libraries, names = _load_mesh(path, state.st_mtime_ns, state.st_size)
        if not names:
            return mesh
        # Libraries may change while the file does not.
        materials = read_libraries(libraries, names, str(Path(path).parent))
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error
    return _completed(mesh, materials)


# Measures of a mesh are kept by its identity.
@lru_cache(maxsize=_KEPT)
def _completed(mesh: LoadedMesh, materials: tuple[FileMaterial, ...]) -> LoadedMesh:
    return structs.replace(mesh, materials=materials)


@lru_cache(maxsize=_KEPT)
def _load_mesh(
    path: str, changed: int, size: int
) -> tuple[LoadedMesh, tuple[str, ...], tuple[str, ...]]:
    """Read a mesh file; a changed file is read again.

    Returns:
        The mesh; and of an OBJ file the arguments of ``mtllib``, line by line, and the names
        of its materials.
    """
    del changed, size
    file = Path(path)
    content = read_bounded(file, LARGEST_MESH)
    form, folder = _format(content, file), str(file.parent)
    libraries: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    match form:
        case "obj":
            mesh, libraries, names = _read_obj(content)
        case "stl":
            mesh = _read_binary_stl(content)
        case "ply":
            mesh = _read_ply(content, folder)
        case "dae":
            mesh = read_dae(content, folder)
        case "glb" | "gltf":
            mesh = read_gltf(content, folder)
        case _ if form in _ARCHIVES:
            raise UnreadMeshError("it is an archive")
        case _:
            # STL as text, and formats that the converter does not read.
            parts = read_scene(content, form, folder)[1]
            mesh = joined_parts(part for _, part in parts)
            mesh = structs.replace(mesh, has_coordinates=False, has_normals=None)
    return _finite(mesh), libraries, names


def _format(content: bytes, file: Path) -> str:
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"glTF"):
        return "glb"
    if head.startswith(b"ply"):
        return "ply"
    if head.startswith(b"<") and b"COLLADA" in head:
        return "dae"
    count = int.from_bytes(content[_STL_HEADER - 4 : _STL_HEADER], "little")
    if len(content) == _STL_HEADER + _STL_TRIANGLE.itemsize * count:
        return "stl"
    if head[:5].lower() == b"solid" and b"\0" not in head:
        return "stl_ascii"
    return file.suffix.lower().removeprefix(".")


def _finite(mesh: LoadedMesh) -> LoadedMesh:
    """Leave out triangles with a corner that is not finite in single precision."""
    # False for NaN as well.
    if mesh.points.min() >= -_LARGEST and mesh.points.max() <= _LARGEST:
        return mesh
    finite = np.abs(mesh.points) <= _LARGEST
    kept = finite[mesh.triangles].all(axis=(1, 2))
    if not kept.any():
        raise UnreadMeshError("no triangle is finite")
    groups = []
    for group in mesh.groups:
        inside = (np.abs(group.points) <= _LARGEST)[group.triangles].all(axis=(1, 2))
        if inside.any():
            used, corners = np.unique(group.triangles[inside], return_inverse=True)
            groups.append(FaceGroup(group.points[used], corners.reshape(-1, 3)))
    return structs.replace(
        mesh,
        points=np.where(finite, mesh.points, 0.0),
        triangles=mesh.triangles[kept],
        material_of=mesh.material_of[kept],
        normals=None if mesh.normals is None else mesh.normals[kept],
        coordinates=None if mesh.coordinates is None else mesh.coordinates[kept],
        groups=tuple(groups),
    )


def _read_binary_stl(content: bytes) -> LoadedMesh:
    """Read the triangles of a file; what follows them is ignored, as by MuJoCo and PyBullet."""
    count = int.from_bytes(content[_STL_HEADER - 4 : _STL_HEADER], "little")
    if not count:
        raise UnreadMeshError("it holds no triangles")
    if len(content) < _STL_HEADER + _STL_TRIANGLE.itemsize * count:
        raise UnreadMeshError(f"it is shorter than {count} triangles")
    corners = np.frombuffer(content, _STL_TRIANGLE, count, _STL_HEADER)["points"].reshape(-1, 3)
    # Merge corners of the same bits, six for each point of a closed surface. Integers of
    # 64 bits are sorted much faster than rows of three numbers.
    x, y, z = np.ascontiguousarray(corners).view(np.uint32).astype(np.uint64).T
    half = np.uint64(32)
    _, number = np.unique(x << half | y, return_inverse=True)
    keys = number.astype(np.uint64) << half | z
    _, first, point_of = np.unique(keys, return_index=True, return_inverse=True)
    # Points stay in the order of the file.
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    # Its normals are those of the faces, and many files leave them zero.
    return LoadedMesh(
        corners[first[order]].astype(np.float64),
        place[point_of].reshape(-1, 3),
        np.full(count, -1),
        has_normals=False,
    )


class _Faces(Struct, frozen=True):
    """What the faces of one block of an OBJ file have in common."""

    material: int  # -1 for none
    group: int  # every ``o`` or ``g`` begins one
    form: str  # of the corners, without digits


def _read_obj(content: bytes) -> tuple[LoadedMesh, tuple[str, ...], tuple[str, ...]]:
    """Read a file by trimesh, with statements in an order and a form that it reads correctly.

    trimesh mixes faces with different forms of indices but equal counts, reads ``usemtl`` in
    comments, ignores indented statements and those with tabs, joins groups of one name, and
    misreads negative indices and the index 0.

    Raises:
        UnreadMeshError: A statement is invalid, or there is no triangle.
    """
    rows: dict[str, list[str]] = {kind: [] for kind in _ROWS}
    blocks: dict[_Faces, list[str]] = {}
    libraries: dict[str, None] = {}
    names: dict[str, int] = {}
    material, group, lines, form = -1, 0, list[str](), None
    for line in _statements(content):
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
    return _obj_mesh(rows, blocks), tuple(libraries), tuple(names)


def _statements(content: bytes) -> list[str]:
    """Return statements of an OBJ file without indentation and tabs; names may have a ``#``."""
    text = decoded(content).replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
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


def _obj_mesh(rows: dict[str, list[str]], blocks: dict[_Faces, list[str]]) -> LoadedMesh:
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
    groups: dict[int, list[MeshPart]] = {}
    for number, block in enumerate(blocks):
        mesh = read[str(number)]
        polygons = np.asarray(mesh["faces"])
        if mesh["vertices"].shape[1] != 3:
            raise UnreadMeshError("a vertex is not 3 numbers")
        triangles = fans(np.full(len(polygons), polygons.shape[1]), polygons.reshape(-1))
        normals, uv = mesh.get("vertex_normals"), getattr(mesh["visual"], "uv", None)
        if len(triangles):
            part = MeshPart(
                mesh["vertices"],
                triangles,
                np.eye(4),
                block.material,
                normals=None if normals is None else normals[triangles],
                coordinates=None if uv is None else uv[triangles],
            )
            groups.setdefault(block.group, []).append(part)
    pieces = [joined_parts(parts) for parts in groups.values()] if len(groups) > 1 else []
    return structs.replace(
        joined_parts(part for parts in groups.values() for part in parts),
        corners=corners,
        groups=tuple(FaceGroup(piece.points, piece.triangles) for piece in pieces),
    )


# The values of a row of a PLY file by name of the property; of a list, all of its items.
_Row = dict[str, tuple[float, ...]]


class _Element(Struct, frozen=True):
    """An element in the header of a PLY file."""

    name: str
    rows: int
    # Name, type, and type of the length of a list or None.
    properties: list[tuple[str, str, str | None]]


def _read_ply(content: bytes, folder: str) -> LoadedMesh:
    """Read points, polygons as fans of triangles, images and texture coordinates.

    Of the libraries on PyPI, plyfile and pymeshlab are licensed under the GPL, which no
    requirement of every installation may be. The format defines neither axes nor units, nor
    textures: images and texture coordinates are stated as by MeshLab, Blender and others.

    Raises:
        UnreadMeshError: The file is damaged, has no triangle, or a face refers to a missing vertex.
    """
    try:
        elements = _ply_rows(content)
        vertices, faces = elements.get("vertex", []), elements.get("face", [])
        points = np.array([[row[axis][0] for axis in "xyz"] for row in vertices], np.float64)
        rows = [row["vertex_index" if "vertex_index" in row else "vertex_indices"] for row in faces]
        corners = np.array([corner for row in rows for corner in row], np.int64)
        counts = np.array([len(row) for row in rows], np.int64)
        coordinates = _ply_coordinates(vertices, faces, corners, counts)
        image_of = np.array([row.get("texnumber", (0,))[0] for row in faces], np.int64)
    except (ArithmeticError, LookupError, ValueError, struct.error) as error:
        message = " ".join(str(error).split())
        raise UnreadMeshError(f"its PLY is broken: {message}") from error
    if "face" not in elements:
        raise UnreadMeshError("it holds no faces")
    triangles = fans(counts, corners)
    if not len(triangles):
        raise UnreadMeshError("it holds no triangles")
    if corners.min() < 0 or corners.max() >= len(points):
        raise UnreadMeshError("a face refers to a missing vertex")
    named = _IMAGES.findall(content.partition(b"end_header")[0])
    names = [name.decode("utf-8", "replace").strip() for name in named]
    image_of[(image_of < 0) | (image_of >= len(names))] = -1
    has_coordinates = coordinates is not None
    return LoadedMesh(
        points,
        triangles,
        np.repeat(image_of, np.maximum(counts - 2, 0)),
        materials=tuple(FileMaterial(image=ImageFile(name, folder)) for name in names),
        has_coordinates=has_coordinates,
        coordinates=coordinates[fan_places(counts)].astype(np.float32)
        if coordinates is not None
        else None,
    )


def _ply_coordinates(
    vertices: list[_Row], faces: list[_Row], corners: Indices, counts: Indices
) -> Array | None:
    """Return (C, 2) texture coordinates of the corners of faces, NaN where absent."""
    if any(row.get("texcoord") for row in faces):
        values: list[float] = []
        for row, count in zip(faces, counts.tolist(), strict=True):
            given = row.get("texcoord", ())
            values += given if len(given) == 2 * count else [np.nan] * (2 * count)
        return np.array(values).reshape(-1, 2)
    for names in _COORDINATES:
        if vertices and all(name in vertices[0] for name in names):
            of_vertices = np.array([[row[name][0] for name in names] for row in vertices])
            return of_vertices[np.clip(corners, 0, len(vertices) - 1)]
    return None


def _ply_rows(content: bytes) -> dict[str, list[_Row]]:
    """Return the rows of every element; a damaged file raises errors of Python."""
    head, mark, body = content.partition(b"end_header")
    if not mark:
        raise ValueError("the header does not end")
    form = ""
    elements: list[_Element] = []
    for line in head.decode("latin-1").splitlines():
        match line.split():
            case ["format", form, _]:
                pass
            case ["element", name, number]:
                elements.append(_Element(name, int(number), []))
            case ["property", "list", length, kind, name]:
                elements[-1].properties.append((name, _TYPES[kind], _TYPES[length]))
            case ["property", kind, name]:
                elements[-1].properties.append((name, _TYPES[kind], None))
    if form == "ascii":
        lines = iter([line.split() for line in body.splitlines() if line.strip()])
        return {element.name: _ply_text(lines, element) for element in elements}
    # One line end follows: CR LF, LF or CR.
    body = body[2:] if body.startswith(b"\r\n") else body[1:]
    order, start = _BYTE_ORDERS[form], 0
    found: dict[str, list[_Row]] = {}
    for element in elements:
        rows = found.setdefault(element.name, [])
        for _ in range(element.rows if element.properties else 0):
            row: _Row = {}
            for name, kind, count_type in element.properties:
                count = 1
                if count_type:
                    (count,) = struct.unpack_from(order + count_type, body, start)
                    start += struct.calcsize(order + count_type)
                row[name] = struct.unpack_from(f"{order}{count}{kind}", body, start)
                start += struct.calcsize(f"{order}{count}{kind}")
            rows.append(row)
    return found


def _ply_text(lines: Iterator[list[bytes]], element: _Element) -> list[_Row]:
    rows: list[_Row] = []
    for words in islice(lines, element.rows):
        row: _Row = {}
        start = 0
        for name, _, length in element.properties:
            count = int(words[start]) if length else 1
            start += bool(length)
            row[name] = tuple(map(float, words[start : start + count]))
            start += count
        if start != len(words):
            raise ValueError(f"a row has {len(words)} numbers, expected {start}")
        rows.append(row)
    if len(rows) < element.rows:
        raise ValueError(f"{element.rows} rows of {element.name}, but {len(rows)} follow")
    return rows
