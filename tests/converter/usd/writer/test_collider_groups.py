"""Export of collision meshes of several groups, which are one convex collider each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.export.files import export
from urdf_usd.converter import convert
from urdf_usd.converter.conversion import Conversion

_MESH = Path(__file__).parents[3] / "data/assets/groups.obj"


def _convert(folder: Path) -> tuple[Conversion, Usd.Stage]:
    urdf = folder / "r.urdf"
    urdf.write_text(
        '<robot name="r"><link name="a"><collision name="frame 1" note="kept">'
        '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><geometry>'
        f'<mesh filename="{_MESH}" scale="0.5 1.5 2"/></geometry></collision></link></robot>'
    )
    done = convert(urdf, folder / "asset")
    return done, Usd.Stage.Open(str(done.root_layer))


def _colliders(stage: Usd.Stage) -> list[Usd.Prim]:
    return [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.CollisionAPI)]


def _world_points(prim: Usd.Prim) -> np.ndarray:
    points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get())
    matrix = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0))
    world: np.ndarray = points @ matrix[:3, :3] + matrix[3, :3]
    return world


def test_export_joins_groups_and_converts_to_the_same_asset(tmp_path: Path) -> None:
    """One <collision> with custom data, and an OBJ with the same groups."""
    done, stage = _convert(tmp_path)
    back = export(done.root_layer, tmp_path / "back" / "r.urdf")
    ((collision,),) = (link.collisions for link in back.robot.links)
    again = convert(back.urdf, tmp_path / "again")
    second = Usd.Stage.Open(str(again.root_layer))

    assert collision.name == "frame 1"
    assert [one.value for one in collision.custom.attributes] == ["kept"]
    assert [p.GetPath() for p in _colliders(second)] == [p.GetPath() for p in _colliders(stage)]
    for one, other in zip(_colliders(stage), _colliders(second), strict=True):
        assert one.GetDisplayName() == other.GetDisplayName()
        np.testing.assert_array_equal(_world_points(one), _world_points(other))


def test_group_that_was_moved_is_exported_on_its_own(tmp_path: Path) -> None:
    """One mesh has one origin."""
    done, stage = _convert(tmp_path)
    UsdGeom.Xformable(_colliders(stage)[1]).AddTranslateOp().Set((0.0, 0.0, 1.0))
    stage.Save()
    (link,) = export(done.root_layer, tmp_path / "back.urdf").robot.links

    assert len(link.collisions) == 3
