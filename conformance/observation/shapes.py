"""Shapes of links: support function, surface, volume, appearance.

A surface is described by measures that do not depend on how it is cut into prims and
faces, without points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from functools import reduce
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

Vec3: TypeAlias = tuple[float, float, float]


class Role(StrEnum):
    COLLISION = "collision"
    VISUAL = "visual"


class ShapeKind(StrEnum):
    """Kinds of shape; a primitive that is stretched into none of these is OTHER."""

    BOX = "box"
    CYLINDER = "cylinder"
    CAPSULE = "capsule"
    SPHERE = "sphere"
    MESH = "mesh"
    OTHER = "other shape"


DOUBLE_SIDED = "doubleSided"
"""Property of an appearance: both sides of faces are shown."""


def _directions(count: int) -> tuple[Vec3, ...]:
    """Return both ways along each axis, and a sphere of directions, evenly spread."""
    golden = math.pi * (3.0 - math.sqrt(5.0))
    spread = []
    for step in range(count):
        z = 1.0 - (2.0 * step + 1.0) / count
        across = math.sqrt(1.0 - z * z)
        turn = golden * step
        spread.append((across * math.cos(turn), across * math.sin(turn), z))
    return (
        *((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        *((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)),
        *spread,
    )


# Unit vectors in the link frame. The first six bound a shape along the axes.
DIRECTIONS = _directions(128)


class Surface(Struct, frozen=True):
    """The surface of a shape, in the link frame."""

    support: tuple[float, ...]  # support function per direction of ``DIRECTIONS`` [m]
    area: float  # [m^2]
    edges: float  # sum of the sides of all triangles [m], which bounds rounding of the area
    oriented_area: Vec3  # sum of areas along outward normals [m^2]; zero if it is closed
    volume: float  # signed, of the cones from the link's origin over all faces [m^3]
    center: Vec3  # centroid of the surface [m]
    triangles: int  # those with distinct corners, polygons as fans; zero for primitives, if unknown
    support_alone: bool = False  # whether the other measures are unknown, and zero

    @property
    def lower(self) -> Vec3:
        """Least coordinates [m]."""
        x, y, z = self.support[3:6]
        return -x, -y, -z

    @property
    def upper(self) -> Vec3:
        """Greatest coordinates [m]."""
        x, y, z = self.support[:3]
        return x, y, z


class Mapping(Struct, frozen=True):
    """Texture coordinates over a part of a surface, as integrals over its area.

    They do not depend on how the surface is cut into faces; u and v are linear on each
    triangle. Positions are in the link frame.
    """

    moments: tuple[float, ...]  # integrals of u, v, u^2, v^2, u x, u y, u z, v x, v y and v z
    center: Vec3  # integrals of x, y and z [m^3]
    # sum of the signed areas of triangles in texture coordinates, positive if they are counter-
    # clockwise seen from outside
    oriented: float
    unsigned: float  # sum of the same areas without sign

    def plus(self, other: Mapping) -> Mapping:
        """Return the integrals over this part and another one."""
        x, y, z = (a + b for a, b in zip(self.center, other.center, strict=True))
        sums = tuple(a + b for a, b in zip(self.moments, other.moments, strict=True))
        areas = self.oriented + other.oriented, self.unsigned + other.unsigned
        return Mapping(sums, (x, y, z), *areas)


class Shading(Struct, frozen=True):
    """Normals of a mesh, in the link frame, as means over its area."""

    stated: bool  # whether the file has normals; without, they are those of the faces
    facing: float  # mean cosine of the angle to the outward normal of the face, [-1, 1]
    against: float  # part of the area on whose faces the cosine is negative, in [0, 1]
    mean: Vec3  # mean normal
    problem: str | None = None  # why the normals cannot be used


class Appearance(Struct, frozen=True):
    """Colour, opacity, textures and other properties of a part of a surface."""

    area: float  # of that part [m^2]
    # linear RGB in [0, 1], or what the image is multiplied with; None if absent or ambiguous
    color: Vec3 | None
    opacity: float | None = 1.0  # in [0, 1]; None if ambiguous
    texture: str | None = None  # SHA-256 of the pixels of the colour image, or of a JPEG's bytes
    image: str | None = None  # name of that file
    image_sha256: str | None = None  # of the bytes of that file; only where a USD is read
    mask: str | None = None  # likewise, of the image that gives the opacity of every point
    problem: str | None = None  # why a referenced image cannot be used
    # other inputs of the shader and its textures that differ from the fallback, sorted
    properties: tuple[tuple[str, tuple[float, ...] | str], ...] = ()
    unread: frozenset[str] = frozenset()  # inputs that the engine does not read; ``*`` for all
    mapping: Mapping | None = None  # texture coordinates of the colour texture; None if unknown
    center: Vec3 | None = None  # centroid in the link frame [m]; None if it is all of the surface


def merge_appearances(appearances: Iterable[Appearance]) -> tuple[Appearance, ...]:
    """Merge parts of equal appearance, wherever they are."""
    parts: dict[Appearance, list[Appearance]] = {}
    for appearance in appearances:
        kind = structs.replace(appearance, area=0.0, mapping=None, center=None)
        parts.setdefault(kind, []).append(appearance)
    merged = []
    for kind, same in parts.items():
        area = math.fsum(part.area for part in same)
        # Unknown if that of one part is.
        known = [part.mapping for part in same if part.mapping]
        mapping = reduce(Mapping.plus, known) if len(known) == len(same) else None
        centers = [part.center for part in same if part.center]
        center = None
        if len(centers) == len(same) and area:
            x, y, z = (
                math.fsum(x.area * c[axis] for x, c in zip(same, centers, strict=True)) / area
                for axis in range(3)
            )
            center = x, y, z
        merged.append(structs.replace(kind, area=area, mapping=mapping, center=center))
    return tuple(merged)


class ShapeObservation(Struct, frozen=True):
    link: str  # URDF name of the link, in whose frame the shape is stated
    role: Role  # what it is for
    source: str  # identifier in the file, such as a prim path; unique
    name: str  # name in the file: a mesh file's reference, a prim's name
    kind: ShapeKind  # kind of shape
    # edges of a box; radius, and length along Z without caps; empty for others [m]
    size: tuple[float, ...] = ()
    position: Vec3 = (0.0, 0.0, 0.0)  # origin of the shape's own frame [m]
    surface: Surface | None = None  # None if it cannot be stated
    appearances: tuple[Appearance, ...] = ()  # of a visual, if known: one per part of equal one
    problem: str | None = None  # why something cannot be stated, or is replaced by a bounding shape
    pieces: int = 1  # groups of its mesh file, each of which collides by itself
    corners: int = 3  # of the largest face in its mesh file
    stated: bool = True  # if not, shapes of the link in this role are not compared with this engine
    # normals of a visual mesh; None if the engine does not read them
    shading: Shading | None = None
    hull: bool = False  # whether it collides as the convex hull of its surface
    hull_volume: float | None = None  # of a mesh that collides [m^3]; None if not computed


class Drawing(Struct, frozen=True, eq=False):
    """One shape in one role with all its points, for drawing only."""

    # as in :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`; likewise the link,
    # the role, the kind and the size
    source: str
    link: str
    role: Role
    kind: ShapeKind
    size: tuple[float, ...]
    matrix: NDArray[np.float64]  # (4, 4) from the shape's own frame to the link's [m]; it may scale
    points: NDArray[np.float64]  # (N, 3) of a mesh in its own frame
    triangles: NDArray[np.integer]  # (M, 3) indices of points


class Solid(Struct, frozen=True, eq=False):
    """A collider in the world; a mesh counts as its convex hull."""

    link: str  # URDF name of the link whose body has it
    kind: ShapeKind  # kind of shape, along Z for a cylinder and a capsule
    # half edges of a box; radius of a sphere; radius and half length of a cylinder or the straight
    # part of a capsule; empty for a mesh [m]
    size: tuple[float, ...]
    position: tuple[float, float, float]  # origin in the world [m]
    rotation: tuple[float, ...]  # rows of the matrix from the shape's frame to the world
    points: NDArray[np.float64]  # (N, 3) of a mesh, in the world [m]
