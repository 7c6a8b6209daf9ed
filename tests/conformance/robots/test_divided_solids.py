"""Colliders that a USD divides differently than the URDF."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import trimesh
from pxr import Usd, UsdGeom, UsdPhysics

from tests.conformance.direct import examine_pair_here
from urdf_usd.converter import convert
from urdf_usd.reports.records.record import Grade

_SIZE = (0.6, 0.5, 0.3)
_MASS = """<inertial><mass value="2"/><inertia ixx="0.02" ixy="0.001" ixz="0"
  iyy="0.03" iyz="0" izz="0.04"/></inertial>"""


def _slabs(gap: float) -> str:
    """Write an OBJ file of two slabs that are groups; together they are a block."""
    ends = (-0.3, -0.1, 0.3)
    text, count = "", 0
    for number, (low, high) in enumerate(pairwise(ends)):
        slab = trimesh.creation.box((high - low - number * gap, *_SIZE[1:]))
        slab.apply_translation(((low + high + number * gap) / 2, 0, 0))
        text += f"o slab{number}\n"
        text += "".join(f"v {x} {y} {z}\n" for x, y, z in slab.vertices.tolist())
        for a, b, c in slab.faces.tolist():
            text += f"f {a + count + 1} {b + count + 1} {c + count + 1}\n"
        count += len(slab.vertices)
    return text


@pytest.mark.parametrize(("gap", "grade"), [(0.0, Grade.CLOSE), (0.01, Grade.FAILS)])
def test_one_box_for_two_groups_is_the_same_solid_without_a_gap(
    tmp_path: Path, gap: float, grade: Grade
) -> None:
    (tmp_path / "block.obj").write_text(_slabs(gap))
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        f'<robot name="r"><link name="trunk">{_MASS}<collision><geometry>'
        '<mesh filename="block.obj"/></geometry></collision></link></robot>'
    )
    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd").root_layer))
    stage.GetPrimAtPath("/r/Geometry/trunk/collision").SetActive(False)
    cube = UsdGeom.Cube.Define(stage, "/r/Geometry/trunk/block")
    cube.GetSizeAttr().Set(1.0)
    cube.AddScaleOp().Set(_SIZE)
    cube.GetPurposeAttr().Set(UsdGeom.Tokens.guide)
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    stage.Save()

    record = examine_pair_here(urdf, Path(stage.GetRootLayer().realPath))

    (check,) = (each for each in record.checks if each.id == "collision.shapes")
    assert check.grade is grade, check.findings
    assert ("the same solid" in check.findings[0].message) is (grade is Grade.CLOSE)
