"""Mass properties of convex hulls, from the compiler of MuJoCo.

Both have Qhull, but scipy.spatial takes as long to import as everything else that an
engine does with a small robot, and MuJoCo is loaded wherever engines run.
"""

from __future__ import annotations

from typing import TypeAlias

import mujoco
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mujoco.compilation import compiled_quietly
from urdf_usd.conformance.engines.rotations import matrices

Array: TypeAlias = NDArray[np.float64]


class HullProperties(Struct, frozen=True, eq=False):
    """A convex hull of density one.

    Attributes:
        volume: [m^3].
        center: (3,) centre of mass [m].
        inertia: (3, 3) about the centre of mass [m^5].
    """

    volume: float
    center: Array
    inertia: Array


def hull_properties(points: Array) -> HullProperties | None:
    """Return the mass properties of the convex hull of points.

    They are computed in double precision from points in single precision, after the
    centre of the bounding box is moved to the origin.

    Args:
        points: (N, 3) [m].

    Returns:
        None if MuJoCo finds no volume: the points lie in a plane, are fewer than four,
        or are not finite.
    """
    if not len(points) or not np.isfinite(points).all():
        return None
    lower, upper = points.min(axis=0), points.max(axis=0)
    middle, size = (lower + upper) / 2.0, float((upper - lower).max())
    if not 0.0 < size < np.inf:
        return None
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="hull")
    mesh.uservert = ((points - middle) / size).astype(np.float32).reshape(-1)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    body = spec.worldbody.add_body()
    geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="hull", density=1.0)
    # It collides with nothing, which would need its hull for another purpose.
    geom.contype = geom.conaffinity = 0
    try:
        model = compiled_quietly(spec)
    except ValueError:
        return None
    axes = matrices(model.body_iquat[1])
    return HullProperties(
        volume=float(model.body_mass[1]) * size**3,
        center=middle + size * model.body_ipos[1],
        inertia=(axes * model.body_inertia[1]) @ axes.T * size**5,
    )
