"""URDF to OpenUSD, and back into one robot model.

Example:
    >>> from converter import convert
    >>> convert("robot.urdf", "robot_usd").root_layer  # doctest: +SKIP
    PosixPath('robot_usd/robot.usda')
"""

from converter.conversion import Conversion, ConvertOptions, convert
from converter.diagnostics import (
    ConversionError,
    Diagnostic,
    Location,
)
from converter.model import Robot
from converter.rules import Severity

__all__ = [
    "Conversion",
    "ConversionError",
    "ConvertOptions",
    "Diagnostic",
    "Location",
    "Robot",
    "Severity",
    "convert",
]
