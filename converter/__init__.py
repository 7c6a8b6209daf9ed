"""URDF to OpenUSD, and back again.

Names are loaded when they are first asked for: reading URDF needs no OpenUSD, and
writing USD nothing of what reading it needs.

Example:
    >>> from converter import convert
    >>> convert("robot.urdf", "robot_usd").root_layer  # doctest: +SKIP
    PosixPath('robot_usd/robot.usda')
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converter.conversion import Conversion, ConvertOptions, convert
    from converter.diagnostics import (
        ConversionError,
        Diagnostic,
        Location,
    )
    from converter.exporting import Export, export
    from converter.model import Robot
    from converter.profile import Profile
    from converter.rules import Severity
    from converter.urdf.parse import Parsed
    from converter.urdf.parse import parse as read_urdf
    from converter.usd.read import StageReading, read_usd

__all__ = [
    "Conversion",
    "ConversionError",
    "ConvertOptions",
    "Diagnostic",
    "Export",
    "Location",
    "Parsed",
    "Profile",
    "Robot",
    "Severity",
    "StageReading",
    "convert",
    "export",
    "read_urdf",
    "read_usd",
]

_PLACES = {
    "converter.conversion": ("Conversion", "ConvertOptions", "convert"),
    "converter.diagnostics": ("ConversionError", "Diagnostic", "Location"),
    "converter.exporting": ("Export", "export"),
    "converter.model": ("Robot",),
    "converter.profile": ("Profile",),
    "converter.rules": ("Severity",),
    "converter.urdf.parse": ("Parsed", "read_urdf"),
    "converter.usd.read": ("StageReading", "read_usd"),
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names}
_CALLED = {"read_urdf": "parse"}


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_PLACE[name]), _CALLED.get(name, name))
    globals()[name] = value
    return value
