"""Conversion of URDF to OpenUSD, and checks that the result conforms.

These names are the public interface. Each is imported at its first use, so that reading
a URDF imports neither OpenUSD nor an engine.

Example:
    >>> from urdf_usd import check, convert
    >>> asset = convert("pybullet:r2d2.urdf", "r2d2")  # doctest: +SKIP
    >>> check("pybullet:r2d2.urdf", asset.root_layer)  # doctest: +SKIP
    <RobotRecord 'pybullet--r2d2': exact>
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.conformance.export.files import Export, export
    from urdf_usd.conformance.export.reading import StageReading, read_usd
    from urdf_usd.conformance.options import CheckOptions, RunOptions
    from urdf_usd.converter.conversion import Conversion
    from urdf_usd.converter.diagnostics import (
        ConversionError,
        Diagnostic,
        Location,
        Severity,
        SourceError,
    )
    from urdf_usd.converter.options import ConvertOptions, Profile
    from urdf_usd.converter.robot.model import Robot
    from urdf_usd.converter.simulation.settings import SettingsFile, load_settings, with_settings
    from urdf_usd.converter.urdf.parse import Parsed
    from urdf_usd.corpus.robots import CorpusError
    from urdf_usd.reports.records.record import (
        Grade,
        RobotRecord,
        RunSummary,
        Verdict,
    )
    from urdf_usd.robots import check, convert, read_urdf, run

__all__ = [
    "CheckOptions",
    "Conversion",
    "ConversionError",
    "ConvertOptions",
    "CorpusError",
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
    "SettingsFile",
    "Severity",
    "SourceError",
    "StageReading",
    "Verdict",
    "check",
    "convert",
    "export",
    "load_settings",
    "read_urdf",
    "read_usd",
    "run",
    "with_settings",
]

_MODULES = {
    "urdf_usd.reports.records.record": (
        "Grade",
        "RobotRecord",
        "RunSummary",
        "Verdict",
    ),
    "urdf_usd.conformance.options": ("CheckOptions", "RunOptions"),
    "urdf_usd.converter.conversion": (
        "Conversion",
        "ConvertOptions",
    ),
    "urdf_usd.converter.diagnostics": (
        "ConversionError",
        "Diagnostic",
        "Location",
        "Severity",
        "SourceError",
    ),
    "urdf_usd.conformance.export.files": ("Export", "export"),
    "urdf_usd.converter.robot.model": ("Robot",),
    "urdf_usd.converter.options": ("Profile",),
    "urdf_usd.converter.simulation.settings": ("SettingsFile", "load_settings", "with_settings"),
    "urdf_usd.converter.urdf.parse": ("Parsed",),
    "urdf_usd.conformance.export.reading": ("StageReading", "read_usd"),
    "urdf_usd.corpus.robots": ("CorpusError",),
    "urdf_usd.robots": ("check", "convert", "read_urdf", "run"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
