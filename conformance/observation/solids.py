"""Colliders of bodies at rest, as solids in the world."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.conformance.observation.shapes import ShapeKind


class Solid(Struct, frozen=True):
    """A collider in the world; a mesh counts as its convex hull.

    Attributes:
        link: URDF name of the link whose body has it.
        kind: Kind of shape, along Z for a cylinder and a capsule.
        size: Half edges of a box; radius of a sphere; radius and half length of a
            cylinder or the straight part of a capsule; empty for a mesh [m].
        position: Origin in the world [m].
        rotation: Rows of the matrix from the shape's frame to the world.
        points: Coordinates of the points of a mesh, in the world, one after the other
            [m].
    """

    link: str
    kind: ShapeKind
    size: tuple[float, ...]
    position: tuple[float, float, float]
    rotation: tuple[float, ...]
    points: tuple[float, ...] = ()
