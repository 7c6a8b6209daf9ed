"""Transforms of prims in SI units; handles the stage's units and up axis.

Matrices act on column vectors, unlike those of Gf. A *frame* is a prim's transform
without scale; the scale is applied to the content of the prim.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.converter.robot.spatial import inverse_transform

Matrix: TypeAlias = "NDArray[np.float64]"

# Tolerance of orthogonality.
_ROUNDING = 1e-9
# Rotates Y onto Z.
_STANDING = np.array(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, -1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)


class Units(Struct, frozen=True):
    """Units of a stage.

    Attributes:
        length: [m].
        mass: [kg].
    """

    length: float
    mass: float

    @property
    def inertia(self) -> float:
        """Unit of inertia [kg m^2], and of torque [N m]."""
        return self.mass * self.length**2

    @property
    def force(self) -> float:
        """Unit of force [N]; the unit of time is the second."""
        return self.mass * self.length


class PrimTransforms(Struct, frozen=True, eq=False):
    """Computes transforms of prims.

    Attributes:
        stage: The stage.
        units: Units of the stage.
        upright: (4, 4) rotation from Z up to the stage's up axis; None if that is Z.
        cache: Computed transforms.
    """

    stage: Usd.Stage
    units: Units
    upright: Matrix | None
    cache: UsdGeom.XformCache

    def transform(self, path: Sdf.Path) -> Matrix:
        """Return the (4, 4) transform of a prim to the world [m], scale included."""
        prim = self.stage.GetPrimAtPath(path)
        return self._metric(self.cache.GetLocalToWorldTransform(prim))

    def frame(self, path: Sdf.Path) -> Matrix:
        """Return the (4, 4) frame of a prim in the world [m], without scale."""
        return rigid_part(self.transform(path))

    def upright_frame(self, path: Sdf.Path) -> Matrix:
        """Return the (4, 4) frame with Z up in a prim's frame, for a stage with Y up.

        The identity if the prim's Z axis points up more than its Y axis: robots that
        were converted from Z up are often rotated at their root prim.
        """
        if self.upright is None:
            return np.eye(4)
        up = self.frame(path)[1, :3]
        return np.eye(4) if up[2] > up[1] else self.upright

    def scale_matrix(self, path: Sdf.Path) -> Matrix:
        """Return the (3, 3) scale from a prim's local coordinates to its frame [m]."""
        whole = self.transform(path)
        return (inverse_transform(rigid_part(whole)) @ whole)[:3, :3]

    def within(self, path: Sdf.Path, frame_of: Sdf.Path) -> Matrix:
        """Return the (4, 4) transform of a prim into the frame of another [m].

        If one prim is below the other, transforms above both are not used, so that
        local values are returned exactly.
        """
        inner, outer = map(self.stage.GetPrimAtPath, (path, frame_of))
        if not path.HasPrefix(frame_of):
            return inverse_transform(self.frame(frame_of)) @ self.transform(path)
        local, reset = self.cache.ComputeRelativeTransform(inner, outer)
        if reset:
            return inverse_transform(self.frame(frame_of)) @ self.transform(path)
        matrix = _columns(local)
        scale_matrix = self.scale_matrix(frame_of)
        length = self.units.length
        if np.abs(scale_matrix - length * np.eye(3)).max() <= _ROUNDING * length:
            scale_matrix = length * np.eye(3)
        matrix[:3] = scale_matrix @ matrix[:3]
        return matrix

    def _metric(self, matrix: Gf.Matrix4d) -> Matrix:
        metric = _columns(matrix)
        metric[:3] *= self.units.length
        return metric


def prim_transforms(stage: Usd.Stage) -> PrimTransforms:
    """Read a stage's units and its up axis."""
    units = Units(
        float(UsdGeom.GetStageMetersPerUnit(stage)),
        float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
    )
    stands = UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y
    upright = _STANDING if stands else None
    return PrimTransforms(stage, units, upright, UsdGeom.XformCache())


def rigid_part(transform: Matrix) -> Matrix:
    """Return the rotation and translation of a (4, 4) transform that may also scale.

    A mirroring transform is read as a negative scale along all three axes, the way Gf
    factors it.
    """
    mirror = -1.0 if np.linalg.det(transform[:3, :3]) < 0 else 1.0
    linear = mirror * transform[:3, :3]
    rotation = linear
    if not _is_rotation(rotation):
        rotation = linear / (np.cbrt(np.linalg.det(linear)) or 1.0)
    if not _is_rotation(rotation):
        left, _, right = np.linalg.svd(linear)
        rotation = left @ right
    rigid = np.eye(4)
    rigid[:3, :3] = rotation
    rigid[:3, 3] = transform[:3, 3]
    return rigid


def _is_rotation(linear: Matrix) -> bool:
    return bool(np.abs(linear.T @ linear - np.eye(3)).max() <= _ROUNDING)


def _columns(matrix: Gf.Matrix4d) -> Matrix:
    return np.array(matrix, dtype=np.float64).T.copy()
