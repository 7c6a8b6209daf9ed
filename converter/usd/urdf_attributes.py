"""Custom ``urdf:`` attributes, for data of URDF without a schema in OpenUSD.

Values keep the units of URDF (SI, radians), in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Sdf, Vt

from urdf_usd.converter.robot.model import Vec6
from urdf_usd.converter.usd.writer.specs import write_new

if TYPE_CHECKING:
    from pxr import Usd

# Principal moments and axes (wxyz) of the inertia of a link that is merged into a body.
LINK_MOMENTS = "inertial:diagonalInertia"
LINK_AXES = "inertial:principalAxes"
_NUMBERS = (Vt.DoubleArray, Vt.FloatArray, Vt.IntArray)


def write_number(prim: Sdf.PrimSpec, name: str, value: float | None) -> None:
    """Author ``urdf:<name>`` as a double; an absent value leaves no attribute."""
    if value is None:
        return
    _write(prim, name, Sdf.ValueTypeNames.Double, value)


def write_flag(prim: Sdf.PrimSpec, name: str) -> None:
    """Author ``urdf:<name>`` as true."""
    _write(prim, name, Sdf.ValueTypeNames.Bool, True)


def write_text(prim: Sdf.PrimSpec, name: str, value: str) -> None:
    """Author ``urdf:<name>`` as a string."""
    _write(prim, name, Sdf.ValueTypeNames.String, value)


def write_numbers(prim: Sdf.PrimSpec, name: str, values: Vec6 | tuple[float, ...]) -> None:
    """Author ``urdf:<name>`` as an array of doubles."""
    array = Vt.DoubleArray(list(values))
    _write(prim, name, Sdf.ValueTypeNames.DoubleArray, array)


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


def _write(prim: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName, value: object) -> None:
    name = f"urdf:{name}"
    write_new(prim, name, kind, value, Sdf.VariabilityUniform, custom=True)
