"""Shapes with all their points, for whoever draws them in the same process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from urdf_usd.conformance.observation.shapes import Role, ShapeKind


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
