"""Colliders of bodies at rest, as solids in the world."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.conformance.observation.shapes import ShapeKind


class Solid(Struct, frozen=True):
    """A collider in the world; a mesh counts as its convex hull."""

    link: str  # URDF name of the link whose body has it
    kind: ShapeKind  # kind of shape, along Z for a cylinder and a capsule
    # half edges of a box; radius of a sphere; radius and half length of a cylinder or the straight
    # part of a capsule; empty for a mesh [m]
    size: tuple[float, ...]
    position: tuple[float, float, float]  # origin in the world [m]
    rotation: tuple[float, ...]  # rows of the matrix from the shape's frame to the world
    # Coordinates of the points of a mesh, in the world, one after the other [m]
    points: tuple[float, ...] = ()
