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
    from urdf_usd.conformance.export.assets import Export as Export
    from urdf_usd.conformance.export.assets import StageReading as StageReading
    from urdf_usd.conformance.export.assets import export as export
    from urdf_usd.conformance.export.assets import read_usd as read_usd
    from urdf_usd.conformance.options import CheckOptions as CheckOptions
    from urdf_usd.conformance.options import RunOptions as RunOptions
    from urdf_usd.converter.conversion import Conversion as Conversion
    from urdf_usd.converter.diagnostics import ConversionError as ConversionError
    from urdf_usd.converter.diagnostics import Diagnostic as Diagnostic
    from urdf_usd.converter.diagnostics import Location as Location
    from urdf_usd.converter.diagnostics import Severity as Severity
    from urdf_usd.converter.diagnostics import SourceError as SourceError
    from urdf_usd.converter.options import ConvertOptions as ConvertOptions
    from urdf_usd.converter.options import Profile as Profile
    from urdf_usd.converter.robot.model import Robot as Robot
    from urdf_usd.converter.simulation.settings import SettingsFile as SettingsFile
    from urdf_usd.converter.simulation.settings import load_settings as load_settings
    from urdf_usd.converter.simulation.settings import with_settings as with_settings
    from urdf_usd.converter.urdf.parse import Parsed as Parsed
    from urdf_usd.corpus.robots import CorpusError as CorpusError
    from urdf_usd.reports.records.record import Grade as Grade
    from urdf_usd.reports.records.record import RobotRecord as RobotRecord
    from urdf_usd.reports.records.record import RunSummary as RunSummary
    from urdf_usd.reports.records.record import Verdict as Verdict
    from urdf_usd.robots import check as check
    from urdf_usd.robots import convert as convert
    from urdf_usd.robots import read_urdf as read_urdf
    from urdf_usd.robots import run as run

_NAMES = {
    "conformance.export.assets": "Export StageReading export read_usd",
    "conformance.options": "CheckOptions RunOptions",
    "converter.conversion": "Conversion",
    "converter.diagnostics": "ConversionError Diagnostic Location Severity SourceError",
    "converter.options": "ConvertOptions Profile",
    "converter.robot.model": "Robot",
    "converter.simulation.settings": "SettingsFile load_settings with_settings",
    "converter.urdf.parse": "Parsed",
    "corpus.robots": "CorpusError",
    "reports.records.record": "Grade RobotRecord RunSummary Verdict",
    "robots": "check convert read_urdf run",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = (*sorted(_MODULE_OF),)


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"urdf_usd.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__]
