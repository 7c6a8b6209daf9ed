"""Decides whether a USD says what its URDF says.

Names are loaded when they are first asked for: a command that only converts needs no
engine.

Example:
    >>> from urdf_usd.conformance import check
    >>> check("robot.urdf", "robot.usda").verdict  # doctest: +SKIP
    <Verdict.EXACT: 'exact'>
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.conformance.record import Grade, RobotRecord, RunSummary, Verdict
    from urdf_usd.conformance.run import CheckOptions, RunOptions, check, run

__all__ = [
    "CheckOptions",
    "Grade",
    "RobotRecord",
    "RunOptions",
    "RunSummary",
    "Verdict",
    "check",
    "run",
]

_PLACES = {
    "urdf_usd.conformance.record": ("Grade", "RobotRecord", "RunSummary", "Verdict"),
    "urdf_usd.conformance.run": ("CheckOptions", "RunOptions", "check", "run"),
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_PLACE[name]), name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """Keeps ``run`` the function, which the module of that name would hide."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _PLACE and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
