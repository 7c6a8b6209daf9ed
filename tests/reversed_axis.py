"""A USD with one fault: a reversed joint axis."""

from __future__ import annotations

from pathlib import Path

import pybullet_data
from pxr import Gf, Sdf

from urdf_usd.converter import convert

URDF = Path(pybullet_data.getDataPath(), "franka_panda", "panda.urdf")
JOINT = "panda_joint4"


def reverse_axis(folder: Path) -> Path:
    """Convert a robot, rotate both frames of a joint by half a turn, return the USD."""
    asset = convert(URDF, folder)
    layer = Sdf.Layer.FindOrOpen(str(folder / "payload" / "Physics.usda"))
    turned: list[str] = []

    def turn(path: Sdf.Path) -> None:
        if path.name != JOINT or not path.IsPrimPath():
            return
        for end in ("physics:localRot0", "physics:localRot1"):
            rotation = layer.GetAttributeAtPath(path.AppendProperty(end))
            rotation.default = rotation.default * Gf.Quatf(0, 0, 1, 0)
            turned.append(end)

    layer.Traverse("/", turn)
    if len(turned) != 2:
        raise ValueError(f"{JOINT} is not where it was")
    layer.Save()
    return asset.root_layer
