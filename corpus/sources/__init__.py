"""Sources of robots, one module each; a source is imported on first use.

``locate(target)`` returns one robot or raises ``UnavailableError``. A source that is a
corpus has ``names()``: the targets that ``locate`` accepts, listed without
network access.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.corpus.sources import (
        description_catalogue,
        description_modules,
        example_robots,
        feature_suite,
        files,
        pybullet_assets,
        written_list,
    )

__all__ = [
    "description_catalogue",
    "description_modules",
    "example_robots",
    "feature_suite",
    "files",
    "pybullet_assets",
    "written_list",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
