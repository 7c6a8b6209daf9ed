"""URDF to OpenUSD, and back again.

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
from converter.exporting import Export, export
from converter.model import Robot
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
    "Robot",
    "Severity",
    "StageReading",
    "convert",
    "export",
    "read_urdf",
    "read_usd",
]
