"""Mesh files by trimesh and pycollada, and what they say about looks.

Nothing is shared with the converter's readers. Trimesh decides nothing about axes, so
that is done here: glTF is turned upright; the up axis of a COLLADA file is not applied.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from urdf_usd.conformance.witnesses.gltf_files import read_gltf
from urdf_usd.conformance.witnesses.mtl_files import read_libraries
from urdf_usd.conformance.witnesses.surfaces import moved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from urdf_usd.conformance.witnesses.dae_files import DaeFile
    from urdf_usd.conformance.witnesses.file_materials import FileMaterial

    Array: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.integer]

_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
_INDENTED = re.compile(rb"\n\s+")
# Lines of an OBJ file, as many as are alike: a loop over single ones takes long.
_LINES = re.compile(
    rb"(?P<points>(?:v[ \t][^\n]*+\n)++)"
    rb"|(?P<faces>(?:f[ \t][^\n]*+\n)++)"
    rb"|(?P<opening>[og] [^\n]*+\n)"
    rb"|usemtl[ \t](?P<material>[^\n]*+)\n"
    rb"|mtllib[ \t](?P<library>[^\n]*+)\n"
    rb"|(?:v[nt][^\n]*+\n)++"
    rb"|[^\n]*+\n"
)
# Of a corner of a face, what follows its point.
_CORNER = re.compile(rb"/[-0-9/]*")
# A corner of a face that has texture coordinates.
_MAPPED = re.compile(rb"/(?<=[0-9]/)-?[0-9]")
_HEAD = 4096
# A few times the meshes of most robots, and no more than the largest one's.
_KEPT = 64
_STL_HEADER = 84
_LARGEST = float(np.finfo(np.float32).max)
_STL_TRIANGLE = 50


class UnreadMeshError(Exception):
    """A mesh file cannot be read; the message says why, in one line."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedMesh:
    """What a mesh file holds.

    Attributes:
        points: (N, 3) [m].
        triangles: (M, 3) indices of points, counter-clockwise seen from outside.
        wearing: (M) which of the materials a triangle has; -1 for none.
        materials: What the file says about looks.
        has_coordinates: Whether an image can lie on the surface.
        pieces: Number of named objects and groups of an OBJ file that have faces; one
            for others.
        corners: Of the largest face of an OBJ file; three for others.
    """

    points: Array
    triangles: Indices
    wearing: Indices
    materials: tuple[FileMaterial, ...] = ()
    has_coordinates: bool = False
    pieces: int = 1
    corners: int = 3


@dataclass(frozen=True, slots=True)
class _Read:
    """A mesh file, before files that it names are read.

    Attributes:
        mesh: What is in it.
        libraries: What an OBJ file says after ``mtllib``, line by line.
        names: Names of its materials in an OBJ file.
    """

    mesh: LoadedMesh
    libraries: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def load_mesh(path: str) -> LoadedMesh:
    """Read a mesh file; its content decides the format where that can be told.

    Files that were read last are kept: a robot is compared, then drawn.

    Returns:
        The mesh; its arrays are not to be written to.

    Raises:
        UnreadMeshError: It cannot be read, or holds no triangle.
    """
    try:
        state = Path(path).stat()
        read = _load_mesh(path, state.st_mtime_ns, state.st_size)
        if not read.names:
            return read.mesh
        folder = str(Path(path).parent)
        materials = read_libraries(read.libraries, read.names, folder)
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error
    return replace(read.mesh, materials=materials)


@lru_cache(maxsize=_KEPT)
def _load_mesh(path: str, changed: int, size: int) -> _Read:
    """Read a mesh file; one that changed is another."""
    del changed, size
    file = Path(path)
    try:
        content = file.read_bytes()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            read = _read(content, _format(content, file), str(file.parent))
            return replace(read, mesh=_finite(read.mesh))
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error
    # Whatever trimesh and what it calls raise on damaged files; a file that cannot be
    # read is an answer, and the process is a witness's own.
    except Exception as error:
        said = " ".join(str(error).split())[:80]
        raise UnreadMeshError(said or type(error).__name__) from error


def _read(content: bytes, form: str, folder: str) -> _Read:
    match form:
        case "stl":
            return _Read(_binary_stl(content))
        case "dae":
            # A third of a second that other robots do not need.
            from urdf_usd.conformance.witnesses.dae_files import read_dae  # noqa: PLC0415

            return _Read(_collada(read_dae(content, folder)))
        case "obj":
            bare = _bare_obj(content)
            surfaces = _surfaces(bare.text, form, folder)
            mesh = _joined(surfaces, len(bare.materials))
            mesh = replace(
                mesh,
                has_coordinates=bare.has_coordinates,
                pieces=bare.pieces,
                corners=bare.corners,
            )
            return _Read(mesh, bare.libraries, bare.materials)
        case "glb" | "gltf":
            document = read_gltf(content, folder)
            surfaces = _surfaces(document.content, form, folder)
            mesh = _joined(surfaces, len(document.materials), _UPRIGHT)
            return _Read(
                replace(
                    mesh,
                    materials=document.materials,
                    has_coordinates=document.has_coordinates,
                )
            )
        case _:
            return _Read(_joined(_surfaces(content, form, folder), 0))


def _surfaces(
    content: bytes, form: str, folder: str
) -> Iterator[tuple[str, Array, Array, Indices]]:
    """Have trimesh read a file; yield names, places, points and triangles."""
    # A third of a second that robots without meshes do not need.
    import trimesh  # noqa: PLC0415

    scene = trimesh.load_scene(
        io.BytesIO(content),
        file_type=form,
        process=False,
        skip_materials=True,
        split_objects=True,
        group_material=False,
        resolver=trimesh.resolvers.FilePathResolver(folder),
    )
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if isinstance(mesh, trimesh.Trimesh):
            points = np.asarray(mesh.vertices, np.float64)
            yield str(name), transform, points, np.asarray(mesh.faces)


def _format(content: bytes, file: Path) -> str:
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"glTF"):
        return "glb"
    if head.startswith(b"ply"):
        return "ply"
    if head.startswith(b"<") and b"COLLADA" in head:
        return "dae"
    count = int.from_bytes(content[_STL_HEADER - 4 : _STL_HEADER], "little")
    if len(content) == _STL_HEADER + _STL_TRIANGLE * count:
        return "stl"
    if head[:5].lower() == b"solid" and b"\0" not in head:
        return "stl_ascii"
    return file.suffix.lower().removeprefix(".")


def _binary_stl(content: bytes) -> LoadedMesh:
    """Read triangles alone: a scene around them takes ten times as long."""
    # A third of a second that robots without meshes do not need.
    from trimesh.exchange.stl import load_stl_binary  # noqa: PLC0415

    read = load_stl_binary(io.BytesIO(content))
    points, triangles = np.asarray(read["vertices"], np.float64), read["faces"]
    if not len(triangles):
        raise UnreadMeshError("it holds no triangles")
    return LoadedMesh(points, triangles, np.full(len(triangles), -1))


@dataclass(frozen=True, slots=True)
class _BareObj:
    """Points and faces of an OBJ file, over whose normals trimesh takes seconds.

    Attributes:
        text: Points and faces; what has one material is one object, called after the
            material's number.
        libraries: What follows ``mtllib``, line by line.
        materials: Names of materials.
        has_coordinates: Whether corners have texture coordinates.
        pieces: Number of objects and groups that have faces.
        corners: Of the largest face.
    """

    text: bytes
    libraries: tuple[str, ...]
    materials: tuple[str, ...]
    has_coordinates: bool
    pieces: int
    corners: int


def _bare_obj(content: bytes) -> _BareObj:
    kept: list[bytes] = []
    libraries: list[bytes] = []
    materials: dict[bytes, int] = {}
    pieces, corners, opened, has_coordinates = 0, 0, True, False
    text = b"\n%b\n" % content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for lines in _LINES.finditer(_INDENTED.sub(b"\n", text), 1):
        match lines.lastgroup:
            case "points":
                kept.append(lines[0])
            case "faces":
                pieces += opened
                opened = False
                faces = lines[0]
                words = max(map(len, map(bytes.split, faces.splitlines())))
                corners = max(corners, words - 1)
                if b"/" in faces:
                    has_coordinates |= _MAPPED.search(faces) is not None
                    faces = _CORNER.sub(b"", faces)
                kept.append(faces)
            case "opening":
                opened = True
            case "material":
                name = lines["material"].strip()
                number = materials.setdefault(name, len(materials))
                kept.append(b"o %d\n" % number)
            case "library":
                libraries.append(lines["library"].strip())
    if materials:
        kept.insert(0, b"o -1\n")
    return _BareObj(
        text=b"".join(kept),
        libraries=tuple(map(_name, dict.fromkeys(libraries))),
        materials=tuple(map(_name, materials)),
        has_coordinates=has_coordinates,
        pieces=pieces,
        corners=corners,
    )


def _name(written: bytes) -> str:
    try:
        return written.decode()
    except UnicodeDecodeError:
        return written.decode("latin-1")


def _joined(
    surfaces: Iterable[tuple[str, Array, Array, Indices]],
    materials: int,
    turn: Array | None = None,
) -> LoadedMesh:
    """Join surfaces that are called after their materials' numbers, or otherwise.

    What trimesh has no name for it calls after the file's folder.
    """
    number_of = {str(number): number for number in range(materials)}
    placed = [
        _placed(
            points,
            faces,
            transform if turn is None else turn @ transform,
            number_of.get(name, -1),
        )
        for name, transform, points, faces in surfaces
    ]
    return _whole(placed)


def _collada(document: DaeFile) -> LoadedMesh:
    parts = [
        _placed(part.points, part.triangles, part.transform, part.material)
        for part in document.parts
    ]
    return replace(
        _whole(parts),
        materials=document.materials,
        has_coordinates=any(part.has_coordinates for part in document.parts),
    )


def _placed(
    points: Array, triangles: Indices, transform: Array, material: int
) -> tuple[Array, Indices, Indices]:
    """Return points [m], triangles that stay outwards, and the material of each."""
    if np.linalg.det(transform[:3, :3]) < 0.0:
        triangles = triangles[:, ::-1]
    return moved(points, transform), triangles, np.full(len(triangles), material)


def _finite(mesh: LoadedMesh) -> LoadedMesh:
    """Leave out triangles with a corner that is not finite in single precision."""
    # Of a number that is none, no comparison holds.
    if mesh.points.min() >= -_LARGEST and mesh.points.max() <= _LARGEST:
        return mesh
    with np.errstate(over="ignore"):
        finite = np.isfinite(mesh.points.astype(np.float32))
    kept = np.logical_and.reduce(finite[mesh.triangles], axis=(1, 2))
    if not kept.any():
        raise UnreadMeshError("no triangle is finite")
    return replace(
        mesh,
        points=np.where(finite, mesh.points, 0.0),
        triangles=mesh.triangles[kept],
        wearing=mesh.wearing[kept],
    )


def _whole(parts: Iterable[tuple[Array, Indices, Indices]]) -> LoadedMesh:
    points, triangles, wearing = [], [], []
    start = 0
    for placed, faces, worn in parts:
        points.append(placed)
        triangles.append(faces + start)
        wearing.append(worn)
        start += len(placed)
    if not sum(map(len, triangles)):
        raise UnreadMeshError("it holds no triangles")
    return LoadedMesh(
        points=np.concatenate(points),
        triangles=np.concatenate(triangles),
        wearing=np.concatenate(wearing),
    )
