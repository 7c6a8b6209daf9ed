"""Collision meshes of several groups: one convex collider each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.export.files import export
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.conversion import Conversion
from urdf_usd.converter.options import Layout

# Two tetrahedra of different shape, x apart; the second has the name of the first.
_POINTS = np.array(
    [
        *(
            (0.01, -0.02, 0.0),
            (0.11, 0.0, 0.01),
            (0.09, 0.08, -0.01),
            (0.02, 0.01, 0.12),
        ),
        *(
            (0.31, -0.02, 0.05),
            (0.41, 0.0, 0.06),
            (0.39, 0.09, 0.04),
            (0.32, 0.01, 0.19),
        ),
    ]
)
_FACES = ((1, 3, 2), (1, 2, 4), (2, 3, 4), (3, 1, 4))
_ORIGIN = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/>'


def _faces(first: int) -> str:
    rows = ((corner + first for corner in face) for face in _FACES)
    return "".join("f {} {} {}\n".format(*row) for row in rows)


_VERTICES = "".join(f"v {x} {y} {z}\n" for x, y, z in _POINTS)
_OBJ = f"{_VERTICES}o left/side\n{_faces(0)}o left/side\n{_faces(4)}"


def _convert(
    folder: Path, *shapes: str, obj: str = _OBJ, layout: Layout = Layout.LAYERED
) -> tuple[Conversion, Usd.Stage]:
    (folder / "part.obj").write_text(obj)
    (folder / "same.obj").write_text(obj)
    urdf = folder / "r.urdf"
    body = "".join(shapes)
    urdf.write_text(f'<robot name="r"><link name="a">{body}</link></robot>')
    options = ConvertOptions(layout=layout)
    done = convert(urdf, folder / "asset", options)
    return done, Usd.Stage.Open(str(done.root_layer))


def _shape(element: str, scale: str = "1 1 1", file: str = "part.obj") -> str:
    geometry = f'<geometry><mesh filename="{file}" scale="{scale}"/></geometry>'
    return f"<{element}>{_ORIGIN}{geometry}</{element}>"


def _colliders(stage: Usd.Stage) -> list[Usd.Prim]:
    return [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.CollisionAPI)]


def _world_points(prim: Usd.Prim) -> np.ndarray:
    points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get())
    matrix = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0))
    world: np.ndarray = points @ matrix[:3, :3] + matrix[3, :3]
    return world


@pytest.mark.parametrize("layout", [Layout.LAYERED, Layout.SINGLE, Layout.USDZ])
@pytest.mark.parametrize("scale", [(1, 1, 1), (0.5, -1.5, 2)])
def test_each_group_of_a_collision_mesh_is_a_convex_collider(
    tmp_path: Path, scale: tuple[float, ...], layout: Layout
) -> None:
    """Below one Xform of the element's name, at the points of the file."""
    text = " ".join(map(str, scale))
    _, stage = _convert(tmp_path, _shape("collision", text), layout=layout)
    colliders = _colliders(stage)
    paths = [str(prim.GetPath()) for prim in colliders]

    assert paths == [
        "/r/Geometry/a/collision/left_side",
        "/r/Geometry/a/collision/left_side_1",
    ]
    turn = Rotation.from_euler("xyz", (0.4, -0.5, 0.6))
    for prim, own in zip(colliders, np.split(_POINTS, 2), strict=True):
        assert prim.GetDisplayName() == "left/side"
        assert UsdGeom.Imageable(prim).ComputePurpose() == UsdGeom.Tokens.guide
        approximation = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
        assert approximation == UsdPhysics.Tokens.convexHull
        expected = turn.apply(own * scale) + np.array((0.1, -0.2, 0.3))
        np.testing.assert_allclose(_world_points(prim), expected, atol=1e-6)
    assert not stage.GetPrimAtPath("/r/Geometry/a/collision").HasAPI(UsdPhysics.CollisionAPI)


def test_visual_mesh_of_several_groups_stays_one_mesh(tmp_path: Path) -> None:
    """The visual and the collider have the same file."""
    _, stage = _convert(tmp_path, _shape("visual"), _shape("collision"))
    visual = UsdGeom.Mesh(stage.GetPrimAtPath("/r/Geometry/a/visual"))

    assert len(visual.GetPointsAttr().Get()) == len(_POINTS)
    assert len(_colliders(stage)) == 2


def test_groups_of_equal_files_are_written_once(tmp_path: Path) -> None:
    """Mirrored groups are separate, as mirrored meshes are."""
    done, _ = _convert(
        tmp_path,
        _shape("collision"),
        _shape("collision", file="same.obj"),
        _shape("collision", "1 1 -2"),
    )
    library = done.root_layer.parent / "payload" / "GeometryLibrary.usdc"
    stage = Usd.Stage.Open(str(library))
    meshes = [p for p in stage.TraverseAll() if p.IsA(UsdGeom.Mesh)]

    assert len(meshes) == 4


def test_groups_that_are_not_convex_are_reported_once(tmp_path: Path) -> None:
    """An L-shaped prism fills 3/4 of 7/8 of its bounds; a tetrahedron is convex."""
    corners = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))
    points = [(x, y, z) for z in (0, 1) for x, y in corners]
    sides = [(i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6) for i in range(6)]
    faces = [(3, 2, 1, 0), (5, 4, 3, 0), (6, 7, 8, 9), (6, 9, 10, 11), *sides]
    prism = "".join(f"f {' '.join(str(corner + 9) for corner in face)}\n" for face in faces)
    vertices = "".join(f"v {x} {y} {z}\n" for x, y, z in points)
    obj = f"{_VERTICES}{vertices}o a\n{_faces(0)}o bent\n{prism}"
    done, stage = _convert(tmp_path, _shape("collision"), _shape("collision", "1 -1 1"), obj=obj)

    assert len(_colliders(stage)) == 4
    (note,) = (d for d in done.diagnostics if d.rule == "collider-concave")
    assert note.message == (
        "mesh 'part.obj': 1 of 2 groups are not convex, such as 'bent'; each collides "
        "as its convex hull"
    )


def test_export_joins_groups_and_converts_to_the_same_asset(tmp_path: Path) -> None:
    """One <collision> with custom data, and an OBJ with the same groups."""
    first = tmp_path / "first"
    first.mkdir()
    shape = _shape("collision", "0.5 1.5 2").replace(
        "<collision>", '<collision name="frame 1" note="kept">'
    )
    done, stage = _convert(first, shape)
    back = export(done.root_layer, tmp_path / "back" / "r.urdf")
    (link,) = back.robot.links
    (collision,) = link.collisions
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
    done, stage = _convert(tmp_path, _shape("collision"))
    moved = stage.GetPrimAtPath("/r/Geometry/a/collision/left_side_1")
    UsdGeom.Xformable(moved).AddTranslateOp().Set((0.0, 0.0, 1.0))
    stage.Save()
    (link,) = export(done.root_layer, tmp_path / "back.urdf").robot.links

    assert len(link.collisions) == 2
