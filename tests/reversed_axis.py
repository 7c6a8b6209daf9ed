"""A USD with one fault: a reversed joint axis."""

from __future__ import annotations

from pathlib import Path

import pybullet_data
from pxr import Gf, Usd

from urdf_usd.converter import convert

URDF = Path(pybullet_data.getDataPath(), "franka_panda", "panda.urdf")
JOINT = "panda_joint4"


def reverse_axis(folder: Path) -> Path:
    """Convert a robot, rotate both frames of a joint by half a turn, return the USD."""
    usd = convert(URDF, folder).root_layer
    stage = Usd.Stage.Open(str(usd))
    joint = stage.GetDefaultPrim().GetPrimAtPath(f"Physics/{JOINT}")
    for end in ("physics:localRot0", "physics:localRot1"):
        rotation = joint.GetAttribute(end)
        rotation.Set(rotation.Get() * Gf.Quatf(0, 0, 1, 0))
    stage.Save()
    return usd
