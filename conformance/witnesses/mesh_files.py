"""Mesh files by trimesh, which shares nothing with the converter's readers.

It decides nothing about units and axes, so that is done here: metres; the unit of a
COLLADA file is applied and its up axis is not, and glTF is turned upright.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.witnesses.surfaces import moved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.integer]

_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
_UNIT = re.compile(r"([0-9.eE+-]+) \* meters")
# Of a corner of a face, what follows its point.
_CORNER = re.compile(rb"/[-0-9/]*")
_HEAD = 4096
# A few times the meshes of most robots, and no more than the largest one's.
_KEPT = 64
_STL_HEADER = 84
_STL_TRIANGLE = 50


class UnreadMeshError(Exception):
    """A mesh file cannot be read; the message says why, in one line."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedMesh:
    """What a mesh file holds.

    Attributes:
        points: (N, 3) [m].
        triangles: (M, 3) indices of points, counter-clockwise seen from outside.
        pieces: Number of named objects and groups of an OBJ file that have faces; one
            for others.
        corners: Of the largest face of an OBJ file; three for others.
    """

    points: Array
    triangles: Indices
    pieces: int = 1
    corners: int = 3


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
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error
    return _load_mesh(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=_KEPT)
def _load_mesh(path: str, changed: int, size: int) -> LoadedMesh:
    """Read a mesh file; one that changed is another."""
    del changed, size
    # A third of a second that robots without meshes do not need.
    import trimesh  # noqa: PLC0415

    file = Path(path)
    try:
        content = file.read_bytes()
        form = _format(content, file)
        pieces, corners = 1, 3
        if form == "obj":
            content, pieces, corners = _bare_obj(content)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            scene = trimesh.load_scene(
                io.BytesIO(content),
                file_type=form,
                process=False,
                maintain_order=True,
                skip_materials=True,
                split_objects=False,
                group_material=False,
            )
            mesh = _joined(scene, trimesh.Trimesh)
        return replace(mesh, pieces=pieces, corners=corners)
    except OSError as error:
        raise UnreadMeshError(error.strerror or str(error)) from error
    # Whatever trimesh and what it calls raise on damaged files; a file that cannot be
    # read is an answer, and the process is a witness's own.
    except Exception as error:
        said = " ".join(str(error).split())[:80]
        raise UnreadMeshError(said or type(error).__name__) from error


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


def _bare_obj(content: bytes) -> tuple[bytes, int, int]:
    """Keep points and faces, over whose normals trimesh takes seconds.

    Returns:
        What is kept, the number of pieces, and of corners of the largest face.
    """
    kept: list[bytes] = []
    pieces, corners, opened = 0, 0, True
    for line in map(bytes.lstrip, content.splitlines()):
        if line.startswith((b"f ", b"f\t")):
            pieces += opened
            opened = False
            corners = max(corners, len(line.split()) - 1)
            kept.append(line)
        elif line.startswith((b"v ", b"v\t")):
            kept.append(line)
        elif line.startswith((b"o ", b"g ")):
            opened = True
    return _CORNER.sub(b"", b"\n".join(kept)), pieces, corners


def _joined(scene: Any, surface: Any) -> LoadedMesh:  # noqa: ANN401  untyped library
    points, triangles = [], []
    start = 0
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if not isinstance(mesh, surface):
            continue
        transform = _to_metres(mesh, scene) @ transform
        faces = np.asarray(mesh.faces)
        if np.linalg.det(transform[:3, :3]) < 0.0:
            faces = faces[:, ::-1]
        placed = moved(np.asarray(mesh.vertices, np.float64), transform)
        points.append(placed)
        triangles.append(faces + start)
        start += len(placed)
    if not sum(map(len, triangles)):
        raise UnreadMeshError("it holds no triangles")
    return LoadedMesh(np.concatenate(points), np.concatenate(triangles))


def _to_metres(mesh: Any, scene: Any) -> Array:  # noqa: ANN401  untyped library
    if scene.source.file_type == "glb":
        return _UPRIGHT
    unit = _UNIT.fullmatch(str(mesh.metadata.get("units", "")))
    factor = float(unit[1]) if unit else 1.0
    return np.diag([factor, factor, factor, 1.0])
