"""A robot of a hinge and a slide, and settings files beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

_DATA = Path(__file__).parents[2] / "data/assets"


def write_urdf(folder: Path) -> Path:
    return Path(shutil.copyfile(_DATA / "two.urdf", folder / "two.urdf"))


def write_described(folder: Path) -> Path:
    """Write the robot with elements that settings can name."""
    return Path(shutil.copyfile(_DATA / "described.urdf", folder / "two.urdf"))


def write_description(folder: Path, text: str) -> Path:
    file = folder / "robot.toml"
    file.write_text(text, encoding="utf-8")
    return file
