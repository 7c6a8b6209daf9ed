"""Where robots come from: one module per source.

Each has ``locate(target, announce)``, which returns one robot or raises
``UnavailableError``, and, where the source is a corpus of its own, ``names()``, the
targets that ``locate`` accepts, listed without touching the network.

A source is loaded when it is first asked: a robot in a file needs none of the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.corpus.sources import (
        description_catalogue,
        description_modules,
        example_robots,
        file,
        folder,
        pybullet_assets,
        written_list,
    )

__all__ = [
    "description_catalogue",
    "description_modules",
    "example_robots",
    "file",
    "folder",
    "pybullet_assets",
    "written_list",
]


def __getattr__(name: str) -> object:
    """Load a source."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
