"""Convex decomposition of meshes by CoACD, cached by content.

X. Wei et al., "Approximate Convex Decomposition for 3D Meshes with Collision-Aware
Concavity and Tree Search", SIGGRAPH 2022. The extra ``coacd`` installs the library.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic, Location
from urdf_usd.converter.meshes.mesh import PolygonMesh
from urdf_usd.converter.robot.solids import Indices, fan_triangles

# Concavity at which pieces are not cut further, as a fraction of the size: the default
# of the library.
THRESHOLD = 0.05
_SEED = 0
_MISSING = "CoACD is not installed: pip install urdf-usd-conformance[coacd]"


def decompose(path: str, mesh: PolygonMesh, location: Location | None) -> Path:
    """Return an OBJ file with a group for each convex piece of a mesh.

    It is in ``$URDF_USD_CACHE``, by default ``urdf-usd`` in the user's cache folder;
    the key is the content of the mesh, the version of CoACD and its parameters.

    Args:
        path: The mesh file, whose stem is that of the OBJ file.
        mesh: Its content.
        location: Location of the link.

    Raises:
        AuthoringError: CoACD is not installed, or fails.
    """
    try:
        coacd = import_module("coacd")
    except ImportError as error:
        raise _error(_MISSING, location) from error
    triangles = fan_triangles(mesh.face_counts, mesh.face_indices)
    digest = hashlib.sha256(f"{version('coacd')} {THRESHOLD} {_SEED}".encode())
    digest.update(mesh.points.astype("<f8").tobytes())
    digest.update(triangles.astype("<i4").tobytes())
    folder = _cache() / "coacd" / digest.hexdigest()
    target = folder / f"{Path(path).stem}.obj"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        part = Path(scratch) / "pieces.obj"
        former = next(iter(sorted(folder.glob("*.obj"))), None)
        if former is not None:
            shutil.copyfile(former, part)
        else:
            part.write_text(_pieces(coacd, mesh, triangles, path, location))
        # Another process may write the same file.
        part.replace(target)
    return target


def is_remeshed(mesh: PolygonMesh) -> bool:
    """Return whether CoACD replaces a mesh by a closed one, which takes it long.

    It does if an edge belongs to other than two triangles, and also if triangles
    intersect, which is not found here.
    """
    triangles = fan_triangles(mesh.face_counts, mesh.face_indices)
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    return bool((counts != 2).any())


def _pieces(
    coacd: Any,  # noqa: ANN401  # a module without types
    mesh: PolygonMesh,
    triangles: Indices,
    path: str,
    location: Location | None,
) -> str:
    """Run CoACD and return its pieces as OBJ."""
    coacd.set_log_level("error")
    pieces = coacd.run_coacd(
        coacd.Mesh(np.array(mesh.points), triangles.astype(np.int32)),
        threshold=THRESHOLD,
        seed=_SEED,
    )
    if not pieces:
        raise _error(f"CoACD finds no pieces of mesh {Path(path).name!r}", location)
    lines: list[str] = []
    start = 1
    for number, (points, faces) in enumerate(pieces, start=1):
        lines.append(f"o piece_{number:03}")
        lines += [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(points).tolist()]
        lines += [
            f"f {a + start} {b + start} {c + start}" for a, b, c in np.asarray(faces).tolist()
        ]
        start += len(points)
    return "\n".join((*lines, ""))


def _cache() -> Path:
    if given := os.environ.get("URDF_USD_CACHE"):
        return Path(given)
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above) / "urdf-usd"


def _error(message: str, location: Location | None) -> AuthoringError:
    return AuthoringError((Diagnostic("collider-decomposition", message, location),))
