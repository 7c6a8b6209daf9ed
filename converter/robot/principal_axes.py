"""Principal axes of inertia."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.converter.robot.model import Vec3, Vec4, Vec6

# More than the error of a tensor that was turned, relative to its largest moment.
_ROUNDING = 2.0**-48


def principal_inertia(inertia: Vec6) -> tuple[Vec3, Vec4]:
    """Diagonalise inertia; what is diagonal already keeps its numbers and their order.

    Products that are no more than rounding count as zero: of a body that is alike along
    several axes, the directions of the principal ones would be noise.

    Returns:
        The three principal moments [kg m^2], and the quaternion wxyz that turns vectors
        along the principal axes into the frame of the inertia.
    """
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    rounding = _ROUNDING * max(abs(ixx), abs(iyy), abs(izz))
    if max(abs(ixy), abs(ixz), abs(iyz)) <= rounding:
        return (ixx + 0.0, iyy + 0.0, izz + 0.0), (1.0, 0.0, 0.0, 0.0)
    # Half of all robots have such inertia, and do without numpy.
    from urdf_usd.converter.robot import spatial  # noqa: PLC0415

    moments, axes = spatial.principal_inertia(spatial.inertia_tensor(inertia))
    return moments, spatial.quat_wxyz_from_rotation(axes)
