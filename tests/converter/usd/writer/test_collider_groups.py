"""Export of collision meshes of several groups, which are one convex collider each."""

from __future__ import annotations

from pathlib import Path

from pxr import Usd, UsdGeom, UsdPhysics

from tests.converter.usd.composed import composed
from urdf_usd.conformance.export.assets import export
from urdf_usd.converter import convert

_MESH = Path(__file__).parents[3] / "data/assets/groups.obj"


def test_export_joins_groups_and_converts_to_the_same_asset(tmp_path: Path) -> None:
    """One <collision>, whose OBJ has the same groups; if one is moved, each has an origin."""
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        '<robot name="r"><link name="a"><collision name="frame 1" note="kept">'
        '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><geometry>'
        f'<mesh filename="{_MESH}" scale="0.5 1.5 2"/></geometry></collision></link></robot>'
    )
    usd = convert(urdf, tmp_path / "asset").root_layer
    stage = Usd.Stage.Open(str(usd))

    back = export(usd, tmp_path / "back/r.urdf")
    again = convert(back.urdf, tmp_path / "again").root_layer

    ((collision,),) = (link.collisions for link in back.robot.links)
    assert collision.name == "frame 1"
    assert [one.value for one in collision.custom.attributes] == ["kept"]
    assert composed(Usd.Stage.Open(str(again))) == composed(stage)

    _, moved, *_ = (prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.CollisionAPI))
    UsdGeom.Xformable(moved).AddTranslateOp().Set((0.0, 0.0, 1.0))
    stage.Save()
    (link,) = export(usd, tmp_path / "moved.urdf").robot.links
    assert len(link.collisions) == 3
