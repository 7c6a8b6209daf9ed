"""Mesh files as the harness reads them.

No format is read by the same library as in the converter: COLLADA is read by pycollada; glTF, PLY
and other formats by trimesh, which reads them as they are. OBJ and binary STL, which trimesh
misreads in several forms, are lists of numbers that are read here. A file that uses something
which a library is known to leave out or misread is not read.
"""

from __future__ import annotations

import io
import json
import re
import struct
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import collada
import numpy as np
import trimesh
from lxml import etree
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_materials import (
    LARGEST_MESH,
    FileMaterial,
    ImageFile,
    Json,
    dae_material,
    decoded,
    gltf_material,
    mtl_materials,
    read_bounded,
)
from urdf_usd.conformance.engines.statements import Array
from urdf_usd.conformance.engines.surfaces import Indices, fans, moved

_HEAD = 4096
_LONGEST_REASON = 200
# Formats of trimesh that expand when they are read.
_ARCHIVES = frozenset({"3mf", "bz2", "gz", "tar", "tgz", "xz", "zip"})
# Number of meshes in the cache: more than most robots have.
_KEPT = 64
_STL_HEADER = 84
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("points", "<f4", 9), ("attribute", "<u2")])
# Start of a line that goes on in the next; one in a comment does not, as in MuJoCo and PyBullet.
_CONTINUED = re.compile(r"^([^#\n]*)\\\n", re.MULTILINE)
_LARGEST = float(np.finfo(np.float32).max)
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
_IMAGES = re.compile(rb"^comment[ \t]+TextureFile[ \t]+([^\r\n]+)", re.MULTILINE)

# Children of a node of COLLADA that define its surfaces.
_INSTANCES = frozenset({"instance_controller", "instance_geometry", "instance_node"})
_SHOWN = (collada.scene.ControllerNode, collada.scene.GeometryNode, collada.scene.Node)
_NAMESPACE = "http://www.collada.org/2005/11/COLLADASchema"
# Of axes in single precision.
_AXIS_TOLERANCE = 1e-5
_ENTITIES = tuple("<!ENTITY".encode(code) for code in ("ascii", "utf-16-le", "utf-16-be"))

_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
# Modes of primitives of glTF that trimesh reads: points, lines, triangles and strips of these.
_TRIANGLES, _READ = 4, frozenset({0, 1, 4, 5})
_COMPRESSIONS = frozenset(
    {"EXT_meshopt_compression", "KHR_draco_mesh_compression", "KHR_meshopt_compression"}
)
# Exceptions that a document raises which violates the specification.
_MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error)
# Number of a set of texture coordinates other than the first, or their transform.
_MOVED_IMAGE = re.compile(r'"texCoord": [1-9]|KHR_texture_transform')


class UnreadMeshError(Exception):
    """A mesh file cannot be read; the message says why, in one line."""


class LoadedMesh(Struct, frozen=True, eq=False):
    points: Array  # (N, 3) [m]
    triangles: Indices  # (M, 3) indices of points, counter-clockwise seen from outside
    material_of: Indices  # (M) index of the material of each triangle; -1 for none
    materials: tuple[FileMaterial, ...] = ()
    has_normals: bool | None = None  # whether the file has normals; None if that is not read
    # (M, 3, 3) of the corners of triangles, of any length; None unless all have one
    normals: NDArray[np.float32] | None = None
    # (M, 3, 2) texture coordinates of the corners of triangles with v up, NaN where there are
    # none or the reader does not state them; None without any
    coordinates: NDArray[np.float32] | None = None
    corners: int = 3  # of the largest face of an OBJ file; three for others
    # Groups of an OBJ file that has several with faces; each collides as its own convex hull.
    groups: tuple[LoadedMesh, ...] = ()

    @property
    def pieces(self) -> int:
        """Number of groups that have faces; one for formats without groups."""
        return len(self.groups) or 1


class MeshPart(Struct, frozen=True, eq=False):
    points: Array  # (N, 3) in the part's own frame and unit
    triangles: Indices  # (M, 3) indices of points
    transform: Array  # (4, 4) from there to the file's frame [m]
    material: int = -1  # index of the material; -1 for none
    normals: NDArray[np.floating] | None = None  # (M, 3, 3) of corners, in the part's own frame
    coordinates: NDArray[np.floating] | None = None  # (M, 3, 2) texture coordinates of corners
    group: int = 0


# The last ones, as a robot is compared, then drawn.
@lru_cache(maxsize=_KEPT)
def load_mesh(path: str) -> LoadedMesh:
    """Read a mesh file, whose format is detected by its content where possible.

    The arrays of the mesh are not to be written to. A file that cannot be read, or holds no
    triangle, raises UnreadMeshError.
    """
    file = Path(path)
    try:
        content = read_bounded(file, LARGEST_MESH)
        form, folder = _format(content, file), str(file.parent)
        match form:
            case "obj":
                return _read_obj(content, file.parent)
            case "stl":
                return _read_binary_stl(content)
            case "ply":
                return _read_ply(content, folder)
            case "dae":
                return _read_dae(content, folder)
            case "glb" | "gltf":
                return _read_gltf(content, folder)
            case _ if form in _ARCHIVES:
                raise UnreadMeshError("it is an archive")
        # STL as text, and formats that the converter does not read.
        mesh = _joined(part for _, part in _read_scene(content, form, folder)[1])
        return structs.replace(mesh, coordinates=None, has_normals=None)
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error


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


def _joined(parts: Iterable[MeshPart]) -> LoadedMesh:
    """Join parts; a mirroring transform keeps the outside of a part outside.

    Triangles with a corner that is not finite in single precision are left out.
    """
    placed = [_placed(part) for part in parts if len(part.triangles)]
    placed = [part for part in placed if len(part.triangles)]
    if not placed:
        raise UnreadMeshError("it holds no triangles")
    starts = np.cumsum([0, *(len(part.points) for part in placed)])
    normals = [part.normals for part in placed if part.normals is not None]
    coordinates = [
        np.full((len(part.triangles), 3, 2), np.nan)
        if part.coordinates is None
        else part.coordinates
        for part in placed
    ]
    mapped = any(part.coordinates is not None for part in placed)
    groups: dict[int, list[MeshPart]] = {}
    for part in placed:
        groups.setdefault(part.group, []).append(part)
    has_all = len(normals) == len(placed)
    return LoadedMesh(
        points=np.concatenate([part.points for part in placed]),
        triangles=np.concatenate(
            [part.triangles + start for part, start in zip(placed, starts, strict=False)]
        ),
        material_of=np.concatenate([np.full(len(p.triangles), p.material) for p in placed]),
        has_normals=has_all or (None if normals else False),
        normals=np.concatenate(normals).astype(np.float32) if has_all else None,
        coordinates=np.concatenate(coordinates).astype(np.float32) if mapped else None,
        groups=tuple(map(_joined, groups.values())) if len(groups) > 1 else (),
    )


def _placed(part: MeshPart) -> MeshPart:
    if part.triangles.min() < 0 or part.triangles.max() >= len(part.points):
        raise UnreadMeshError("a face refers to a missing vertex")
    points = moved(part.points, part.transform)
    finite: NDArray[np.bool_] = np.all(np.abs(points) <= _LARGEST, axis=1)
    if not finite.all():
        kept = finite[part.triangles].all(axis=1)
        used, corners = np.unique(part.triangles[kept], return_inverse=True)
        points = points[used]
        part = structs.replace(
            part,
            triangles=corners.reshape(-1, 3),
            normals=None if part.normals is None else part.normals[kept],
            coordinates=None if part.coordinates is None else part.coordinates[kept],
        )
    linear, normals = part.transform[:3, :3], part.normals
    sign = np.sign(np.linalg.det(linear))
    order = slice(None, None, -1 if sign < 0.0 else 1)
    if normals is not None:
        # Rows of cofactors, which are the inverse transpose times the determinant.
        cofactors = np.cross(np.roll(linear, -1, axis=0), np.roll(linear, -2, axis=0))
        normals = normals[:, order].astype(np.float64) @ (cofactors * sign).T
    return structs.replace(
        part,
        points=points,
        triangles=part.triangles[:, order],
        transform=np.eye(4),
        normals=normals,
        coordinates=None if part.coordinates is None else part.coordinates[:, order],
    )


@contextmanager
def _reading_by(library: str) -> Iterator[None]:
    """Convert any exception of a library, within the block, into the reason of a refusal."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            # numpy warns if it stops reading numbers before the end of a text.
            warnings.filterwarnings("error", "string or file could not be read")
            yield
    except UnreadMeshError:
        raise
    # Libraries raise any exception on damaged files, which is recorded as the outcome.
    except Exception as error:
        shown = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnreadMeshError(f"{library} raises {shown}"[:_LONGEST_REASON]) from error


def _read_binary_stl(content: bytes) -> LoadedMesh:
    """Read the triangles of a file; what follows them is ignored, as by MuJoCo and PyBullet."""
    count = int.from_bytes(content[_STL_HEADER - 4 : _STL_HEADER], "little")
    if len(content) < _STL_HEADER + _STL_TRIANGLE.itemsize * count:
        raise UnreadMeshError(f"it is shorter than {count} triangles")
    corners = np.frombuffer(content, _STL_TRIANGLE, count, _STL_HEADER)["points"].reshape(-1, 3)
    # Merge corners of the same bits, six for each point of a closed surface. Integers are sorted
    # much faster than rows of three numbers.
    x, y, z = np.ascontiguousarray(corners).view(np.uint32).astype(np.int64).T
    number = np.unique(x << 32 | y, return_inverse=True)[1]
    _, first, point_of = np.unique(number << 32 | z, return_index=True, return_inverse=True)
    points, triangles = corners[first].astype(np.float64), point_of.reshape(-1, 3)
    # Its normals are those of the faces, and many files leave them zero.
    return _joined([MeshPart(points, triangles, np.eye(4))])


def _read_obj(content: bytes, folder: Path) -> LoadedMesh:
    rows: dict[str, list[str]] = {"v": [], "vt": [], "vn": []}
    faces: dict[tuple[int, int, int], list[str]] = {}
    libraries: dict[str, None] = {}
    names: dict[str, int] = {}
    material, group = -1, 0
    text = decoded(content).replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    text = _CONTINUED.sub(r"\1 ", text)
    try:
        for line in text.split("\n"):
            keyword, _, words = line.lstrip().partition(" ")
            if keyword == "f":
                words = words.partition("#")[0].strip()
                if "/ " in f"{words} ":
                    words = re.sub(r"/+(?= |$)", "", words)
                if "-" in words:
                    words = _from_one(words, [len(found) for found in rows.values()])
                slashes = words.partition(" ")[0].count("/")
                faces.setdefault((material, group, slashes), []).append(words)
            elif keyword in rows:
                rows[keyword].append(words)
            elif keyword in {"o", "g"} and words.strip():
                group += 1
            elif keyword == "usemtl":
                material = names.setdefault(words.strip(), len(names))
            elif keyword == "mtllib":
                libraries[words.strip()] = None
        widths = zip(rows.values(), (3, 2, 3), strict=True)
        points, textures, normals = (_table(*columns) for columns in widths)
        parts, largest = [], 0
        for (material, group, slashes), lines in faces.items():
            counts = np.array([len(words.split()) for words in lines])
            largest = max(largest, int(counts.max()))
            text = " ".join(lines)
            forms = ["/" * slashes] * int(counts.sum()) if slashes else []
            if slashes >= len(rows) or text.translate(_WITHOUT_DIGITS).split() != forms:
                raise UnreadMeshError("the corners of a face have different or invalid indices")
            text = text.replace("//", "/0/").replace("/", " ")
            indices = np.fromstring(text, np.int64, sep=" ").reshape(-1, slashes + 1) - 1
            corners = indices[fans(counts, np.arange(len(indices)))]
            used, triangles = np.unique(corners[..., 0], return_inverse=True)
            if used.min(initial=0) < 0:
                raise UnreadMeshError("a face has the index 0 or one before the first vertex")
            columns = dict(enumerate(np.moveaxis(corners, 2, 0)))
            part = MeshPart(
                points[used],
                triangles.reshape(-1, 3),
                np.eye(4),
                material,
                _at_corners(normals, columns.get(2), 3),
                _at_corners(textures, columns.get(1), 2),
                group,
            )
            parts.append(part)
    except (IndexError, OverflowError, ValueError) as error:
        message = " ".join(f"a statement is invalid: {error}".split())
        raise UnreadMeshError(message[:_LONGEST_REASON]) from error
    mesh = structs.replace(_joined(parts), corners=largest)
    return structs.replace(mesh, materials=mtl_materials([*libraries], [*names], folder))


def _from_one(words: str, counts: list[int]) -> str:
    """Count negative indices of a face from the first row."""
    corners = (
        [
            str(count + 1 + int(index)) if index.startswith("-") else index
            for index, count in zip(corner.split("/"), counts, strict=False)
        ]
        for corner in words.split()
    )
    return " ".join(map("/".join, corners))


def _table(rows: list[str], width: int) -> Array:
    """Return the first numbers of rows, (N, width); of texture coordinates, v may be absent."""
    if not rows:
        return np.zeros((0, width))
    if width == 2:
        rows = [row.partition("#")[0].strip() for row in rows]
        rows = [row if " " in row else f"{row} 0" for row in rows]
    table: Array = np.loadtxt(rows, usecols=range(width), ndmin=2)
    return table


def _at_corners(
    values: NDArray[np.floating] | None, indices: Indices | None, width: int
) -> NDArray[np.floating] | None:
    """Return the values of corners, (M, 3, width); None without, or if some have none."""
    if values is None or indices is None or not len(values):
        return None
    rows = np.asarray(indices).reshape(-1, 3)
    if not len(rows) or rows.min() < 0 or rows.max() >= len(values):
        return None
    found: NDArray[np.floating] = np.asarray(values)[rows, :width]
    return found


def _read_ply(content: bytes, folder: str) -> LoadedMesh:
    """Read a file by trimesh, and its image as MeshLab and Blender state it in a comment."""
    mesh = _joined(part for _, part in _read_scene(content, "ply", folder)[1])
    names = _IMAGES.findall(content.partition(b"end_header")[0])
    if len(names) > 1:
        raise UnreadMeshError("trimesh does not read several images")
    shown = tuple(ImageFile(name.decode("utf-8", "replace").strip(), folder) for name in names)
    return structs.replace(
        mesh,
        has_normals=None,
        material_of=mesh.material_of + len(shown),
        materials=tuple(FileMaterial(image=image) for image in shown),
    )


def _read_dae(content: bytes, folder: str) -> LoadedMesh:
    """Read the scene of a COLLADA document; ``<up_axis>`` is not applied."""
    # pycollada switches the limits of lxml off.
    if any(mark in content for mark in _ENTITIES):
        raise UnreadMeshError("it declares entities")
    with _reading_by("pycollada"):
        # Surfaces with a material that it cannot read are kept.
        document = collada.Collada(io.BytesIO(content), ignore=[collada.common.DaeError])
        if _complete(document.xmlnode.getroot()):
            completed = io.BytesIO(etree.tostring(document.xmlnode))
            document = collada.Collada(completed, ignore=[collada.common.DaeError])
        root = document.xmlnode.getroot()
        if next(root.iter("{*}lookat", "{*}skew"), None) is not None:
            raise UnreadMeshError("pycollada misreads <lookat> and <skew>")
        positions = root.iterfind(".//{*}vertices/{*}input[@semantic='POSITION']")
        sources = {entry.get("source") for entry in positions}
        for source in root.iter("{*}source"):
            text = source.findtext("{*}float_array") or ""
            if f"#{source.get('id')}" in sources and "nan" in text.lower():
                raise UnreadMeshError("pycollada reads NaN as zero")
        scene = document.scene
        if root.find("{*}scene/{*}instance_visual_scene") is None:
            # COLLADA does not say what such a document shows; Assimp and PyBullet refuse it.
            scene = next(iter(document.scenes), None)
        if scene is None:
            raise UnreadMeshError(_with_errors("pycollada finds no scene", document))
        unit = document.assetInfo.unitmeter
        metres = np.diag([*[1.0 if unit is None else float(unit)] * 3, 1.0])
        # Of instances that pycollada can read.
        targets = {
            f"#{one.get('id')}"
            for one in root.iter("{*}geometry", "{*}controller", "{*}node")
            if not one.tag.endswith("}geometry") or one.find("{*}mesh") is not None
        }
        found = (_dae_parts(document, node, metres, targets) for node in scene.nodes)
        parts = [part for of_node in found for part in of_node]
        materials = tuple(dae_material(one.effect, folder) for one in document.materials)
    return structs.replace(_joined(parts), materials=materials)


def _complete(root: etree._Element) -> bool:
    """Add a missing namespace, and images that are named and missing; return whether any was."""
    bare = not str(root.tag).startswith("{")
    for element in root.iter(etree.Element) if bare else ():
        element.tag = f"{{{_NAMESPACE}}}{element.tag!s}"
    # Without them, pycollada leaves out all that shows a material with such an image.
    named = {one.text for one in root.iterfind(".//{*}surface/{*}init_from") if one.text}
    missing = sorted(named - {one.get("id") for one in root.iter("{*}image")})
    if not missing or root.find(".//{*}library_effects") is None:
        return bare
    space = str(root.tag).rpartition("}")[0] + "}"
    library = root.makeelement(f"{space}library_images")
    for name in missing:
        image = etree.SubElement(library, f"{space}image", id=name)
        etree.SubElement(image, f"{space}init_from").text = name
    root.insert(1, library)
    return True


def _dae_parts(
    document: collada.Collada, node: collada.scene.SceneNode, transform: Array, targets: set[str]
) -> Iterator[MeshPart]:
    """Yield surfaces; a node that pycollada misreads raises UnreadMeshError."""
    if isinstance(node, collada.scene.Node):
        _require_whole(document, node, targets)
        below = transform @ np.asarray(node.matrix, np.float64)
        for child in node.children or ():
            yield from _dae_parts(document, child, below, targets)
    elif isinstance(node, collada.scene.GeometryNode):
        yield from _dae_surfaces(document, node, node.geometry, transform)
    elif isinstance(node, collada.scene.ControllerNode):
        skin = node.controller
        if not isinstance(skin, collada.controller.Skin):
            raise UnreadMeshError("pycollada does not read morphs")
        bound = transform @ np.asarray(skin.bind_shape_matrix, np.float64)
        yield from _dae_surfaces(document, node, skin.geometry, bound)


def _require_whole(
    document: collada.Collada, node: collada.scene.SceneNode, targets: set[str]
) -> None:
    """Refuse a node of which pycollada leaves something out, or misreads it."""
    if isinstance(node, collada.scene.NodeNode):
        node = node.node
    names = [str(child.tag).rpartition("}")[2] for child in node.xmlnode]
    shown = [
        child
        for child, name in zip(node.xmlnode, names, strict=True)
        if name == "node" or (name in _INSTANCES and child.get("url") in targets)
    ]
    kept = [child for child in node.children if isinstance(child, _SHOWN)]
    if len(shown) != len(kept):
        message = f"pycollada leaves out parts of node {node.id!r}"
        raise UnreadMeshError(_with_errors(message, document))
    for one in node.transforms:
        turns = isinstance(one, collada.scene.RotateTransform) and one.angle
        if turns and abs(np.linalg.norm([one.x, one.y, one.z]) - 1.0) > _AXIS_TOLERANCE:
            raise UnreadMeshError("pycollada reads the length of a <rotate> axis as a scale")


def _with_errors(message: str, document: collada.Collada) -> str:
    errors = dict.fromkeys(" ".join(str(one.msg).split()) for one in document.errors)
    return f"{message}: {'; '.join(errors)}"[:_LONGEST_REASON] if errors else message


def _dae_surfaces(
    document: collada.Collada,
    node: collada.scene.SceneNode,
    geometry: collada.geometry.Geometry,
    transform: Array,
) -> Iterator[MeshPart]:
    numbers = {one.id: index for index, one in enumerate(document.materials)}
    bound = {one.symbol: numbers.get(one.target.id, -1) for one in node.materials}
    for primitive in geometry.primitives:
        is_polygons = isinstance(primitive, collada.polylist.Polylist)
        surface = primitive.triangleset() if is_polygons else primitive
        is_surface = isinstance(surface, collada.triangleset.TriangleSet)
        if not is_surface or surface.vertex is None or not len(surface.vertex_index):
            continue
        triangles = np.asarray(surface.vertex_index).reshape(-1, 3)
        sets = surface.sources.get("TEXCOORD") or ()
        coordinates = None
        # With several sets, the material's binding selects one.
        if len(sets) == 1:
            coordinates = _at_corners(surface.texcoordset[0], surface.texcoord_indexset[0], 2)
        if sets and coordinates is None:
            coordinates = np.full((len(triangles), 3, 2), np.nan)
        yield MeshPart(
            np.asarray(surface.vertex, np.float64),
            triangles,
            transform,
            bound.get(surface.material, -1),
            _at_corners(surface.normal, surface.normal_index, 3),
            coordinates,
        )


def _read_gltf(content: bytes, folder: str) -> LoadedMesh:
    """Read a glTF or GLB file, turned upright."""
    # trimesh's geometries are the primitives of the document, in order, without those of modes that
    # it does not support.
    is_binary = content.startswith(b"glTF")
    try:
        text, binary = content, b""
        if is_binary:
            (length,) = struct.unpack_from("<I", content, 12)
            text, binary = content[20 : 20 + length], content[28 + length :]
        document: Json = json.loads(text)
        primitives = [one for mesh in document.get("meshes", ()) for one in mesh["primitives"]]
        # What trimesh ignores or misreads.
        compressed = _COMPRESSIONS.intersection(document.get("extensionsRequired", ()))
        if compressed:
            raise UnreadMeshError(f"trimesh does not read {min(compressed)}")
        for one in primitives:
            if one.get("mode", _TRIANGLES) > max(_READ):
                raise UnreadMeshError("trimesh does not read fans of triangles")
            for number in (one["attributes"].get("POSITION"), one.get("indices")):
                accessor = {} if number is None else document["accessors"][number]
                if "sparse" in accessor or accessor.get("normalized"):
                    message = "trimesh does not read sparse or normalized accessors"
                    raise UnreadMeshError(message)
        materials = tuple(gltf_material(document, binary, folder, one) for one in primitives)
        with_normals = sum("NORMAL" in one["attributes"] for one in primitives)
        mapped = any("TEXCOORD_0" in one["attributes"] for one in primitives)
        moves_images = _MOVED_IMAGE.search(json.dumps(document.get("materials", ())))
    except _MALFORMED as error:
        message = f"its document is malformed: {type(error).__name__}: {error}"
        raise UnreadMeshError(message) from error
    has_all = 0 < with_normals == len(primitives)
    form = "glb" if is_binary else "gltf"
    count, parts = _read_scene(content, form, folder, with_normals=has_all)
    read = [n for n, one in enumerate(primitives) if one.get("mode", _TRIANGLES) in _READ]
    if count != len(read):
        raise UnreadMeshError(f"trimesh reads {count} of {len(read)} primitives")
    mesh = _joined(
        structs.replace(part, transform=_UPRIGHT @ part.transform, material=read[number])
        for number, part in parts
    )
    unread = np.full((len(mesh.triangles), 3, 2), np.nan, np.float32)
    return structs.replace(
        mesh,
        materials=materials,
        has_normals=has_all or (None if with_normals else False),
        coordinates=unread
        if mapped and (moves_images or mesh.coordinates is None)
        else mesh.coordinates,
    )


def _read_scene(
    content: bytes, form: str, folder: str, *, with_normals: bool = False
) -> tuple[int, list[tuple[int, MeshPart]]]:
    """Return the number of geometries; and the surface of each instance, with their index."""
    with _reading_by("trimesh"):
        scene = trimesh.load_scene(
            io.BytesIO(content),
            file_type=form,
            process=False,
            skip_materials=True,
            resolver=_Resolver(folder),
        )
        numbers = {name: number for number, name in enumerate(scene.geometry)}
        parts = []
        for node in scene.graph.nodes_geometry:
            transform, name = scene.graph[node]
            mesh = scene.geometry[name]
            if isinstance(mesh, trimesh.Trimesh):
                faces, uv = np.asarray(mesh.faces), getattr(mesh.visual, "uv", None)
                has_uv = uv is not None and len(uv) == len(mesh.vertices)
                part = MeshPart(
                    np.asarray(mesh.vertices, np.float64),
                    faces,
                    transform,
                    normals=mesh.vertex_normals[faces] if with_normals else None,
                    coordinates=np.asarray(uv)[faces, :2] if has_uv else None,
                )
                parts.append((numbers[name], part))
    return len(numbers), parts


class _Resolver(trimesh.resolvers.FilePathResolver):
    """Reads files that are regular and not too large."""

    def get(self, name: str) -> object:
        for spelling in (name.strip(), name.strip().lstrip("/"), Path(name).name):
            path = Path(self.parent, spelling)
            if path.exists():
                return read_bounded(path, LARGEST_MESH)
        return super().get(name)
