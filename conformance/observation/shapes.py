"""Shapes of links: support function, surface, volume, appearance.

A surface is described by measures that do not depend on how it is cut into prims and
faces, without points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, structs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Vec3: TypeAlias = tuple[float, float, float]


class Role(StrEnum):
    """What a shape is for."""

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
    """The surface of a shape, in the link frame.

    Attributes:
        support: Support function per direction of ``DIRECTIONS`` [m].
        area: [m^2].
        edges: Sum of the lengths of all sides of all triangles [m]; zero if there are
            none. It bounds the effect of rounding of points on the area.
        oriented_area: Sum of areas along outward normals [m^2]; zero if it is closed.
        volume: Signed volume of the cones from the link's origin over all faces, which
            is the volume that a closed surface encloses [m^3].
        center: Centroid of the surface [m].
        triangles: Number of triangles with three distinct corners, polygons counted as
            fans; zero for primitives, and if it is not known.
        support_alone: Whether only the support function is known, as of the points of a
            convex hull; the other measures are zero.
    """

    support: tuple[float, ...]
    area: float
    edges: float
    oriented_area: Vec3
    volume: float
    center: Vec3
    triangles: int
    support_alone: bool = False

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

    Attributes:
        moments: Integrals of u, v, u^2, v^2, u x, u y, u z, v x, v y and v z.
        center: Integrals of x, y and z [m^3].
        oriented: Sum of the signed areas of triangles in texture coordinates, positive
            if they are counter-clockwise seen from outside.
        unsigned: Sum of the same areas without sign.
    """

    moments: tuple[float, ...]
    center: Vec3
    oriented: float
    unsigned: float

    def plus(self, other: Mapping) -> Mapping:
        """Return the integrals over this part and another one."""
        x, y, z = (a + b for a, b in zip(self.center, other.center, strict=True))
        sums = zip(self.moments, other.moments, strict=True)
        return Mapping(
            tuple(a + b for a, b in sums),
            (x, y, z),
            self.oriented + other.oriented,
            self.unsigned + other.unsigned,
        )


class Shading(Struct, frozen=True):
    """Normals of a mesh, in the link frame, as means over its area.

    Attributes:
        stated: Whether the file has normals; without, they are those of the faces.
        facing: Mean cosine of the angle to the outward normal of the face, [-1, 1].
        against: Part of the area on whose faces the cosine is negative, in [0, 1].
        mean: Mean normal.
        problem: Why the normals cannot be used.
    """

    stated: bool
    facing: float
    against: float
    mean: Vec3
    problem: str | None = None


class Appearance(Struct, frozen=True):
    """Colour, opacity, textures and other properties of a part of a surface.

    Attributes:
        area: Of that part [m^2].
        color: Linear RGB in [0, 1]; of a textured part, what the image is multiplied
            with. None if absent or ambiguous.
        opacity: In [0, 1]; None if ambiguous.
        texture: SHA-256 of the image that gives the colour of every point: of its
            pixels, or of the bytes of a JPEG.
        image: Name of that file.
        image_sha256: Of the bytes of that file; only where a USD is read.
        mask: Likewise, of the image that gives the opacity of every point.
        problem: Why a referenced image cannot be used.
        properties: Names of other inputs of the surface's shader and of its textures
            whose values differ from the fallback, with these values, sorted. Numbers
            are compared with a tolerance, texts as they are.
        unread: Names of inputs that the file may define and that the engine does not
            read; ``*`` stands for all of them.
        mapping: Texture coordinates of the colour texture; None if unknown.
        center: Centroid of the part in the link frame [m]; None if it is all of the
            surface.
    """

    area: float
    color: Vec3 | None
    opacity: float | None = 1.0
    texture: str | None = None
    image: str | None = None
    image_sha256: str | None = None
    mask: str | None = None
    problem: str | None = None
    properties: tuple[tuple[str, tuple[float, ...] | str], ...] = ()
    unread: frozenset[str] = frozenset()
    mapping: Mapping | None = None
    center: Vec3 | None = None


def merge_appearances(appearances: Iterable[Appearance]) -> tuple[Appearance, ...]:
    """Merge parts of equal appearance, wherever they are."""
    parts: dict[Appearance, list[Appearance]] = {}
    for appearance in appearances:
        kind = structs.replace(appearance, area=0.0, mapping=None, center=None)
        parts.setdefault(kind, []).append(appearance)
    return tuple(
        structs.replace(
            kind,
            area=math.fsum(part.area for part in same),
            mapping=merge_mappings(part.mapping for part in same),
            center=_common_center(same),
        )
        for kind, same in parts.items()
    )


def _common_center(parts: Sequence[Appearance]) -> Vec3 | None:
    """Return the centroid of several parts; None if that of one is unknown."""
    area = math.fsum(part.area for part in parts)
    centers = [part.center for part in parts if part.center]
    if len(centers) < len(parts) or not area:
        return None
    x, y, z = (
        math.fsum(part.area * center[axis] for part, center in zip(parts, centers, strict=True))
        / area
        for axis in range(3)
    )
    return x, y, z


def merge_mappings(mappings: Iterable[Mapping | None]) -> Mapping | None:
    """Add texture coordinates of several parts; None if those of one are unknown."""
    merged = None
    for mapping in mappings:
        if mapping is None:
            return None
        merged = merged.plus(mapping) if merged else mapping
    return merged


class ShapeObservation(Struct, frozen=True):
    """One shape of a link.

    Attributes:
        link: URDF name of the link, in whose frame the shape is stated.
        role: What it is for.
        source: Identifier in the file, such as a prim path; unique.
        name: Name in the file: a mesh file's reference, a prim's name.
        kind: Kind of shape.
        size: Edge lengths of a box; radius and length along Z, without caps, of a
            cylinder or capsule; radius of a sphere [m]. Empty for others.
        position: Origin of the shape's own frame [m].
        surface: None if it cannot be stated.
        appearances: Of visuals, if known: one per part of equal appearance, whose areas
            add up to the surface's.
        problem: Why something cannot be stated, or is replaced by a bounding shape.
        pieces: Number of groups that its mesh file consists of. Each is a shape of its
            own if it collides.
        corners: Of the largest face in its mesh file.
        stated: Whether the engine can state this shape. If not, the shapes of the link
            in this role are not compared with this engine.
        shading: Normals of a visual mesh; None if the engine does not read them.
        hull: Whether it collides as the convex hull of its surface.
        hull_volume: Of the convex hull of a mesh that collides [m^3]; None if the
            engine does not compute it.
    """

    link: str
    role: Role
    source: str
    name: str
    kind: ShapeKind
    size: tuple[float, ...] = ()
    position: Vec3 = (0.0, 0.0, 0.0)
    surface: Surface | None = None
    appearances: tuple[Appearance, ...] = ()
    problem: str | None = None
    pieces: int = 1
    corners: int = 3
    stated: bool = True
    shading: Shading | None = None
    hull: bool = False
    hull_volume: float | None = None


class Drawing(Struct, frozen=True, eq=False):
    """One shape in one role with all its points, for drawing only.

    Attributes:
        source: As in
            :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`; likewise
            the link, the role, the kind and the size.
        matrix: (4, 4) from the shape's own frame to the link's [m]; it may scale.
        points: (N, 3) of a mesh in its own frame.
        triangles: (M, 3) indices of points.
    """

    source: str
    link: str
    role: Role
    kind: ShapeKind
    size: tuple[float, ...]
    matrix: NDArray[np.float64]
    points: NDArray[np.float64]
    triangles: NDArray[np.integer]
