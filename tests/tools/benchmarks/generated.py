"""Robots with meshes of any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_STL_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])
# Files larger than 256 MiB are refused.
LARGEST_STL = 5_000_000


def write_mesh_robot(folder: Path, triangles: int) -> Path:
    """Write a robot whose STL files have about this many triangles in total."""
    files = -(-triangles // LARGEST_STL)
    shapes = []
    for number in range(files):
        (folder / f"{number}.stl").write_bytes(_sheet(triangles // files, number))
        mesh = f'<geometry><mesh filename="{number}.stl"/></geometry>'
        shapes.append(f"<visual>{mesh}</visual>")
    path = folder / "sheets.urdf"
    path.write_text(f'<robot name="sheets"><link name="a">{"".join(shapes)}</link></robot>')
    return path


def _sheet(triangles: int, number: int) -> bytes:
    """Write a wavy sheet as binary STL."""
    points, faces = sheet(max(1, int((triangles / 2) ** 0.5)))
    records = np.zeros(len(faces), _STL_RECORD)
    points[:, 2] += number
    records["corners"] = points[faces]
    return bytes(80) + len(faces).to_bytes(4, "little") + records.tobytes()


def sheet(cells: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return points and triangles of a wavy square with this many cells per side."""
    x, y = np.meshgrid(np.linspace(0, 1, cells + 1), np.linspace(0, 2, cells + 1))
    points = np.stack([x, y, np.sin(7 * x) * np.cos(5 * y)], axis=-1).reshape(-1, 3)
    row = cells + 1
    corner = (np.arange(cells)[:, None] * row + np.arange(cells)).ravel()
    halves = (
        (corner, corner + 1, corner + row + 1),
        (corner, corner + row + 1, corner + row),
    )
    return points, np.concatenate([np.stack(half, axis=1) for half in halves])
