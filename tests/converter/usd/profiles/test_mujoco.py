"""Schemas of MuJoCo, in the variant of the physics for it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd

from urdf_usd.converter import ConvertOptions, convert

_LINK = """<link name="{}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link>"""


@pytest.mark.parametrize("at", [0.0, 1.5, -1.5])
@pytest.mark.parametrize(("kind", "unit"), [("revolute", math.radians(1.0)), ("prismatic", 1.0)])
def test_equal_limits_are_a_range_that_mujoco_accepts(
    tmp_path: Path, at: float, kind: str, unit: float
) -> None:
    """It refuses an empty one; the joint stays locked within a millionth."""
    urdf = tmp_path / "r.urdf"
    links = "".join(map(_LINK.format, "ab"))
    urdf.write_text(
        f'<robot name="r">{links}<joint name="j" type="{kind}"><parent link="a"/>'
        f'<child link="b"/><limit lower="{at}" upper="{at}" effort="1" velocity="1"/>'
        "</joint></robot>"
    )
    options = ConvertOptions(physics_variants=True)
    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd", options).root_layer))
    limits = {}
    for variant in ("newton", "mujoco"):
        physics = stage.GetDefaultPrim().GetVariantSet("Physics")
        physics.SetVariantSelection(variant)
        prim = stage.GetPrimAtPath("/r/Physics/j")
        names = ("physics:lowerLimit", "physics:upperLimit")
        limits[variant] = [prim.GetAttribute(name).Get() for name in names]

    # As Newton's importer stores them: in radians, as normal numbers of float32.
    lower, upper = (np.float32(limit * unit) for limit in limits["mujoco"])
    assert limits["newton"][0] == limits["newton"][1] == limits["mujoco"][0]
    assert np.float32(2.0**-126) <= upper - lower <= 1e-6 * max(abs(at), 1e-9)
