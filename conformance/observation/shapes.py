"""What an engine states about the shapes of links: reach, surface, volume, look.

No points: a surface is told by what is the same however it is cut into prims and faces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from urdf_usd.conformance.observation.pickling import Carried

if TYPE_CHECKING:
    from collections.abc import Iterable

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


@dataclass(frozen=True, slots=True)
class Surface(Carried):
    """The surface of a shape, in the link frame.

    Attributes:
        support: Per direction of ``DIRECTIONS``, how far the shape reaches [m].
        area: [m^2].
        edges: Sum of the lengths of all sides of all triangles [m]; zero if there are
            none. It says how much rounding of points can do to the area.
        oriented_area: Sum of areas along outward normals [m^2]; zero if it is closed.
        volume: Signed volume of the cones from the link's origin over all faces, which
            is the volume that a closed surface encloses [m^3].
        center: Centre of the surface, as if it were of thin sheet [m].
        triangles: Number of triangles with three distinct corners, polygons counted as
            fans; zero for primitives, and if it is not known.
    """

    support: tuple[float, ...]
    area: float
    edges: float
    oriented_area: Vec3
    volume: float
    center: Vec3
    triangles: int

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


@dataclass(frozen=True, slots=True)
class Look(Carried):
    """How a part of a surface looks.

    Attributes:
        area: Of that part [m^2].
        color: Linear RGB in [0, 1]; of a textured part, what the image is multiplied
            with. None if nothing says, or it cannot be decided.
        opacity: In [0, 1]; None if it cannot be decided.
        texture: SHA-256 of the image file that gives the colour of every point.
        image: Name of that file.
        mask: SHA-256 of the image file that gives the opacity of every point.
        problem: Why an image that is named cannot be shown.
    """

    area: float
    color: Vec3 | None
    opacity: float | None = 1.0
    texture: str | None = None
    image: str | None = None
    mask: str | None = None
    problem: str | None = None


def merged(looks: Iterable[Look]) -> tuple[Look, ...]:
    """Make one of parts that look alike."""
    areas: dict[Look, float] = {}
    for look in looks:
        kind = replace(look, area=0.0)
        areas[kind] = areas.get(kind, 0.0) + look.area
    return tuple(replace(kind, area=area) for kind, area in areas.items())


@dataclass(frozen=True, slots=True)
class ShapeObservation(Carried):
    """One shape of a link.

    Attributes:
        link: URDF name of the link, in whose frame the shape is stated.
        role: What it is for.
        source: What stands for it in the file, such as a prim path; no two shapes share
            one.
        name: What it is called there: a mesh file's reference, a prim's name.
        kind: Kind of shape.
        size: Edge lengths of a box; radius and length along Z, without caps, of a
            cylinder or capsule; radius of a sphere [m]. Empty for others.
        position: Origin of the shape's own frame [m].
        surface: None if it cannot be stated.
        looks: Of visuals, if they can be stated: parts that look alike, their areas
            adding up to the surface's.
        problem: Why something cannot be stated, or is not what it seems.
        pieces: Number of objects and groups that its mesh file consists of.
        corners: Of the largest face in its mesh file.
        stated: Whether this engine has anything to say. If not, the shapes that the
            link has in this role are not compared with it.
    """

    link: str
    role: Role
    source: str
    name: str
    kind: ShapeKind
    size: tuple[float, ...] = ()
    position: Vec3 = (0.0, 0.0, 0.0)
    surface: Surface | None = None
    looks: tuple[Look, ...] = ()
    problem: str | None = None
    pieces: int = 1
    corners: int = 3
    stated: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """One shape in one role; nothing is compared with it.

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
