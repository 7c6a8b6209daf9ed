"""STL files that tests write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_RECORD = np.dtype([("points", "<f4", (4, 3)), ("attribute", "<u2")])
_BOX_SIDES = (
    ((0, 2, 3), (0, 3, 1)),
    ((4, 5, 7), (4, 7, 6)),
    ((0, 1, 5), (0, 5, 4)),
    ((2, 6, 7), (2, 7, 3)),
    ((0, 4, 6), (0, 6, 2)),
    ((1, 3, 7), (1, 7, 5)),
)


def write_box(path: Path, edges: tuple[float, float, float]) -> None:
    """Write a box with one corner at the origin."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    faces = [face for side in _BOX_SIDES for face in side]
    _write(path, (corners * edges)[np.array(faces)])


def write_fan(path: Path, triangles: int) -> None:
    """Write a cone of many triangles, 0.2 m wide and 0.1 m high."""
    turn = np.linspace(0.0, 2.0 * np.pi, triangles + 1)
    rim = np.stack([0.1 * np.cos(turn), 0.1 * np.sin(turn), 0.0 * turn], axis=1)
    tip = np.broadcast_to([0.0, 0.0, 0.1], (triangles, 3))
    _write(path, np.stack([rim[:-1], rim[1:], tip], axis=1))


def _write(path: Path, triangles: NDArray[np.float64]) -> None:
    records = np.zeros(len(triangles), dtype=_RECORD)
    records["points"][:, 1:] = triangles
    count = np.uint32(len(triangles)).tobytes()
    path.write_bytes(bytes(80) + count + records.tobytes())
