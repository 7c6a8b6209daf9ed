"""Custom ``urdf:`` attributes, for data of URDF without a schema in OpenUSD.

Values keep the units of URDF (SI, radians), in double precision.
"""

from __future__ import annotations

from pxr import Sdf, Vt

from urdf_usd.converter.usd.writer.specs import KINDS, UNIFORM, write

# Principal moments and axes (wxyz) of the inertia of a link that is merged into a body.
LINK_MOMENTS = "inertial:diagonalInertia"
LINK_AXES = "inertial:principalAxes"
_KINDS = {bool: KINDS.Bool, float: KINDS.Double, str: KINDS.String, tuple: KINDS.DoubleArray}


def write_urdf(
    prim: Sdf.PrimSpec, name: str, value: bool | float | str | tuple[float, ...] | None
) -> None:
    """Author ``urdf:<name>``; an absent value leaves no attribute."""
    if value is not None:
        kind = _KINDS[type(value)]
        stored = Vt.DoubleArray(list(value)) if isinstance(value, tuple) else value
        write(prim, f"urdf:{name}", stored, kind, UNIFORM, custom=True)
