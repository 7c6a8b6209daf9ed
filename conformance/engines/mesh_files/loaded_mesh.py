"""What is known of a mesh file once it is read, whatever its format.

The readers of single formats, ``*_files``, return it. None shares a library with the
converter's reader of the same format; tests/test_imports.py has the table.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from urdf_usd.conformance.engines.surfaces import moved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from urdf_usd.conformance.engines.mesh_files.materials import FileMaterial

    Array: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.integer]

_LONGEST_REASON = 200


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


@dataclass(frozen=True, slots=True, eq=False)
class MeshPart:
    """Triangles that are moved alike.

    Attributes:
        points: (N, 3) in the part's own frame and unit.
        triangles: (M, 3) indices of points.
        transform: (4, 4) from there to the file's frame [m].
        material: Which of the file's materials they have; -1 for none.
    """

    points: Array
    triangles: Indices
    transform: Array
    material: int = -1


def joined_parts(parts: Iterable[MeshPart]) -> LoadedMesh:
    """Join parts; a mirroring transform turns none inside out.

    Raises:
        UnreadMeshError: There is no triangle.
    """
    points, triangles, wearing = [], [], []
    start = 0
    for part in parts:
        faces = part.triangles
        if np.linalg.det(part.transform[:3, :3]) < 0.0:
            faces = faces[:, ::-1]
        points.append(moved(part.points, part.transform))
        triangles.append(faces + start)
        wearing.append(np.full(len(faces), part.material))
        start += len(part.points)
    if not sum(map(len, triangles)):
        raise UnreadMeshError("it holds no triangles")
    return LoadedMesh(
        points=np.concatenate(points),
        triangles=np.concatenate(triangles),
        wearing=np.concatenate(wearing),
    )


@contextmanager
def reading_by(library: str) -> Iterator[None]:
    """Make whatever a library raises the reason for which a file is not read.

    Only what the library does, or what goes through its objects, belongs inside.

    Args:
        library: Its name.

    Raises:
        UnreadMeshError: The library raised; the message has the library, the type of
            the error and what it says.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            # numpy's, where a text of numbers is read up to what is none.
            warnings.filterwarnings("error", "string or file could not be read")
            yield
    except UnreadMeshError:
        raise
    # Libraries raise anything on damaged files, and that is an outcome.
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"{library} raises {said}"
        raise UnreadMeshError(reason[:_LONGEST_REASON]) from error
