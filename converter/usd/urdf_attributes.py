"""Custom ``urdf:`` attributes, for data of URDF without a schema in OpenUSD.

Values keep the units of URDF (SI, radians), in double precision.
"""

from __future__ import annotations

from pxr import Sdf, Usd, Vt

from urdf_usd.converter.usd.writer.specs import KINDS, UNIFORM, write

# Principal moments and axes (wxyz) of the inertia of a link that is merged into a body.
LINK_MOMENTS = "inertial:diagonalInertia"
LINK_AXES = "inertial:principalAxes"
_NUMBERS = (Vt.DoubleArray, Vt.FloatArray, Vt.IntArray)
_KINDS = {bool: KINDS.Bool, float: KINDS.Double, str: KINDS.String, tuple: KINDS.DoubleArray}


def write_urdf(
    prim: Sdf.PrimSpec, name: str, value: bool | float | str | tuple[float, ...] | None
) -> None:
    """Author ``urdf:<name>``; an absent value leaves no attribute."""
    if value is not None:
        kind = _KINDS[type(value)]
        stored = Vt.DoubleArray(list(value)) if isinstance(value, tuple) else value
        write(prim, f"urdf:{name}", stored, kind, UNIFORM, custom=True)


def read_flag(prim: Usd.Prim, name: str) -> bool:
    """Return whether ``urdf:<name>`` is true."""
    return prim.GetAttribute(f"urdf:{name}").Get() is True


def read_number(prim: Usd.Prim, name: str) -> float | None:
    """Return ``urdf:<name>``, or None if it is absent or no number."""
    value = prim.GetAttribute(f"urdf:{name}").Get()
    return float(value) if isinstance(value, int | float) else None


def read_numbers(prim: Usd.Prim, name: str, count: int) -> tuple[float, ...] | None:
    """Return ``urdf:<name>``, or None if absent or not ``count`` numbers."""
    value = prim.GetAttribute(f"urdf:{name}").Get()
    if not isinstance(value, _NUMBERS) or len(value) != count:
        return None
    return tuple(float(number) for number in value)


def read_text(prim: Usd.Prim, name: str) -> str | None:
    """Return ``urdf:<name>``, or None if it is absent."""
    value = prim.GetAttribute(f"urdf:{name}").Get()
    return None if value is None else str(value)
