"""A robot of a hinge and a slide, and settings files beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

_DATA = Path(__file__).parents[2] / "data/assets"
# Every kind of setting of the two joints.
SETTINGS = """\
base = "fixed"
self_collision = false
[[joints]]
match = "*"
stiffness = 400
damping = 40
armature = 0.1
limit_stiffness = 3e4
limit_damping = 200
[[joints]]
match = "h[!a]nge"
natural_frequency = 2.5
[pose.joints]
hinge = -0.5
slide = 0.2
"""


def write_urdf(folder: Path) -> Path:
    return Path(shutil.copyfile(_DATA / "two.urdf", folder / "two.urdf"))


def write_described(folder: Path) -> Path:
    """Write the robot with elements that settings can name."""
    return Path(shutil.copyfile(_DATA / "described.urdf", folder / "two.urdf"))


def write_description(folder: Path, text: str) -> Path:
    file = folder / "robot.toml"
    file.write_text(text, encoding="utf-8")
    return file
