"""Shapes as PyBullet reads them in a URDF: primitives, and how visuals are coloured.

PyBullet states of a mesh its file and scale, which say nothing of its surface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.statements import vec3
from urdf_usd.conformance.engines.surfaces import primitive_surface
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where kind, dimensions, position and orientation are in a row of either function.
_KIND, _SIZE, _POSITION, _QUAT_XYZW = 2, 3, 5, 6


def state_link(
    engine: Any,  # noqa: ANN401  untyped engine
    link: str,
    role: Role,
    rows: tuple[tuple[Any, ...], ...],
) -> Iterator[ShapeObservation]:
    """State the shapes of a link that has no inertial, so that poses are in its frame.

    Args:
        engine: The ``pybullet`` module.
        link: URDF name.
        role: What the shapes are for.
        rows: What ``getCollisionShapeData`` or ``getVisualShapeData`` says of it.
    """
    for index, row in enumerate(rows):
        kind, size = _primitive(engine, row[_KIND], row[_SIZE])
        transform = np.eye(4)
        transform[:3, :3] = Rotation.from_quat(row[_QUAT_XYZW]).as_matrix()
        transform[:3, 3] = row[_POSITION]
        # A shape without extent is none to everybody else.
        sized = bool(size) and min(size) > 0
        surface = primitive_surface(kind, size, transform) if sized else None
        yield ShapeObservation(
            link=link,
            role=role,
            source=f"{link} {role} {index}",
            name=kind.value,
            kind=kind,
            size=size,
            position=vec3(row[_POSITION]),
            surface=surface,
            stated=surface is not None,
        )


def _primitive(
    engine: Any,  # noqa: ANN401  untyped engine
    kind: int,
    size: tuple[float, float, float],
) -> tuple[ShapeKind, tuple[float, ...]]:
    """Return kind and size; PyBullet states lengths before radii."""
    length, radius, _ = size
    return {
        engine.GEOM_BOX: (ShapeKind.BOX, size),
        engine.GEOM_SPHERE: (ShapeKind.SPHERE, size[:1]),
        engine.GEOM_CYLINDER: (ShapeKind.CYLINDER, (radius, length)),
        engine.GEOM_CAPSULE: (ShapeKind.CAPSULE, (radius, length)),
    }.get(kind, (ShapeKind.OTHER, ()))
