"""Colliders of a stage at the authored poses of its bodies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pxr import Usd, UsdGeom

from urdf_usd.conformance.engines.openusd.links import find_links
from urdf_usd.conformance.engines.openusd.settings.parts import Parts
from urdf_usd.conformance.engines.openusd.stage import (
    captured_diagnostics,
    read_physics,
)
from urdf_usd.conformance.observation.shapes import ShapeKind
from urdf_usd.conformance.observation.solids import Solid

# Turns Z to the axis of a shape: columns are the images of X, Y and Z.
_TURNS = {
    "X": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "Y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "Z": np.eye(3),
}


def rest_solids(usd: str) -> tuple[Solid, ...]:
    """Return the enabled colliders of all bodies that are links.

    Args:
        usd: Root layer of a stage that was observed, in SI units.
    """
    with captured_diagnostics():
        physics = read_physics(usd, partial=True, usable=True)
        parts = Parts(physics, find_links(physics))
        return tuple(_solids(parts))


def _solids(parts: Parts) -> Iterator[Solid]:
    cache = UsdGeom.XformCache()
    for path in parts.physics.shapes:
        link = parts.links.by_path.get(parts.body_of(path))
        if link is None:
            continue
        prim = parts.physics.stage.GetPrimAtPath(path)
        matrix = np.array(cache.GetLocalToWorldTransform(prim)).T
        if solid := _solid(prim, link.name, matrix):
            yield solid


def _solid(prim: Usd.Prim, link: str, matrix: np.ndarray) -> Solid | None:
    """Return a collider.

    Args:
        prim: Its prim.
        link: Name of its link.
        matrix: (4, 4) from its frame to the world, for column vectors.
    """
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    turn = matrix[:3, :3] / scale

    def number(name: str) -> float:
        return float(prim.GetAttribute(name).Get())

    kind = ShapeKind.MESH
    size: tuple[float, ...] = ()
    points: tuple[float, ...] = ()
    name = prim.GetTypeName()
    if name == "Cube":
        kind, size = ShapeKind.BOX, tuple((number("size") / 2 * scale).tolist())
    elif name == "Sphere":
        kind, size = ShapeKind.SPHERE, (number("radius") * float(scale[0]),)
    elif name in {"Cylinder", "Capsule"}:
        kind = ShapeKind.CYLINDER if name == "Cylinder" else ShapeKind.CAPSULE
        size = (
            number("radius") * float(scale[0]),
            number("height") / 2 * float(scale[0]),
        )
        turn = turn @ _TURNS[prim.GetAttribute("axis").Get()]
    else:
        authored = np.array(prim.GetAttribute("points").Get() or (), float)
        if not len(authored):
            return None
        placed = authored @ matrix[:3, :3].T + matrix[:3, 3]
        points = tuple(placed.ravel().tolist())
    x, y, z = matrix[:3, 3].tolist()
    return Solid(link, kind, size, (x, y, z), tuple(turn.ravel().tolist()), points)
