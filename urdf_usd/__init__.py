"""URDF to OpenUSD, and the proof that the result conforms.

The names here are the public interface; each is imported when it is first used, so that
reading a URDF loads neither OpenUSD nor an engine.

Example:
    >>> from urdf_usd import check, convert
    >>> asset = convert("robot.urdf", "robot_usd")  # doctest: +SKIP
    >>> check("robot.urdf", asset.root_layer).verdict  # doctest: +SKIP
    <Verdict.EXACT: 'exact'>
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.conformance.record import Grade, RobotRecord, RunSummary, Verdict
    from urdf_usd.conformance.run import CheckOptions, RunOptions, check, run
    from urdf_usd.converter.conversion import Conversion, ConvertOptions, convert
    from urdf_usd.converter.diagnostics import (
        ConversionError,
        Diagnostic,
        Location,
        SourceError,
    )
    from urdf_usd.converter.exporting import Export, export
    from urdf_usd.converter.model import Robot
    from urdf_usd.converter.profile import Profile
    from urdf_usd.converter.rules import Severity
    from urdf_usd.converter.urdf.parse import Parsed
    from urdf_usd.converter.urdf.parse import parse as read_urdf
    from urdf_usd.converter.usd.read import StageReading, read_usd

__all__ = [
    "CheckOptions",
    "Conversion",
    "ConversionError",
    "ConvertOptions",
    "Diagnostic",
    "Export",
    "Grade",
    "Location",
    "Parsed",
    "Profile",
    "Robot",
    "RobotRecord",
    "RunOptions",
    "RunSummary",
    "Severity",
    "SourceError",
    "StageReading",
    "Verdict",
    "check",
    "convert",
    "export",
    "read_urdf",
    "read_usd",
    "run",
]

_MODULES = {
    "urdf_usd.conformance.record": ("Grade", "RobotRecord", "RunSummary", "Verdict"),
    "urdf_usd.conformance.run": ("CheckOptions", "RunOptions", "check", "run"),
    "urdf_usd.converter.conversion": ("Conversion", "ConvertOptions", "convert"),
    "urdf_usd.converter.diagnostics": (
        "ConversionError",
        "Diagnostic",
        "Location",
        "SourceError",
    ),
    "urdf_usd.converter.exporting": ("Export", "export"),
    "urdf_usd.converter.model": ("Robot",),
    "urdf_usd.converter.profile": ("Profile",),
    "urdf_usd.converter.rules": ("Severity",),
    "urdf_usd.converter.urdf.parse": ("Parsed", "read_urdf"),
    "urdf_usd.converter.usd.read": ("StageReading", "read_usd"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
_NAME_IN_MODULE = {"read_urdf": "parse"}


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_MODULE_OF[name])
    value: object = getattr(module, _NAME_IN_MODULE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return __all__
