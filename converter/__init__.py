"""Conversion of URDF to OpenUSD.

Names are imported on first use, because reading URDF needs no OpenUSD.

Example:
    >>> from urdf_usd.converter import convert
    >>> convert("robot.urdf", "robot_usd").root_layer  # doctest: +SKIP
    PosixPath('robot_usd/robot.usda')
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.converter.conversion import Conversion, convert
    from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, Location, Severity
    from urdf_usd.converter.options import ConvertOptions, Profile
    from urdf_usd.converter.robot.model import Robot
    from urdf_usd.converter.urdf.parse import Parsed
    from urdf_usd.converter.urdf.parse import parse as read_urdf

__all__ = [
    "Conversion",
    "ConversionError",
    "ConvertOptions",
    "Diagnostic",
    "Location",
    "Parsed",
    "Profile",
    "Robot",
    "Severity",
    "convert",
    "read_urdf",
]

_PLACES = {
    "urdf_usd.converter.conversion": ("Conversion", "convert"),
    "urdf_usd.converter.diagnostics": ("ConversionError", "Diagnostic", "Location", "Severity"),
    "urdf_usd.converter.robot.model": ("Robot",),
    "urdf_usd.converter.options": ("ConvertOptions", "Profile"),
    "urdf_usd.converter.urdf.parse": ("Parsed", "read_urdf"),
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names}
_CALLED = {"read_urdf": "parse"}


def __getattr__(name: str) -> object:
    """Import a name of the public interface."""
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_PLACE[name]), _CALLED.get(name, name))
    globals()[name] = value
    return value
