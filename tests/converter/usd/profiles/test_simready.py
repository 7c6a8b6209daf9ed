"""What SimReady Foundation requires of robots, besides what all assets have."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tests.converter.simulation.robots import write_description
from tests.converter.usd.authored import applied
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.conversion import with_description
from urdf_usd.converter.options import Layout
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.simulation.description import load_description

_GIVEN = (
    ("author", "A. Maker"),
    ("asset_license", "Apache-2.0"),
    ("usd_date_generated", "2026-11-23"),
    ("category", "robot arm"),
)
_SIMREADY = ConvertOptions(profile=Profile.SIMREADY, metadata=_GIVEN)


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    """Root layer of the whole robot."""
    return convert(write_whole_robot(tmp_path), tmp_path / "usd", _SIMREADY).root_layer


def test_interface_has_metadata(asset: Path) -> None:
    """SR.004: mass in kilograms, size in metres; SR.001 some of it twice."""
    data = Sdf.Layer.FindOrOpen(str(asset)).customLayerData
    nested = data["SimReady_Metadata"]
    stage = Usd.Stage.Open(str(asset))
    lower, upper = UsdGeom.ModelAPI(stage.GetDefaultPrim()).GetExtentsHint()

    assert nested.pop("mass") == pytest.approx(4.5 + 1.5 + 0.5 + 0.25)
    assert nested.pop("asset_extents") == upper - lower
    assert nested == {
        **dict(_GIVEN),
        "asset_name": "whole robot",
        "asset_type": "robot",
        "qcode": "Q11012",
        "rigid_body_count": 4,
        "source_file": "whole.urdf",
    }
    assert data["asset_name"] == "whole robot"
    assert data["usd_date_generated"] == "2026-11-23"


def test_missing_metadata_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a date there is no date: equal inputs give equal assets."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    options = ConvertOptions(profile=Profile.SIMREADY, metadata=(("author", "me"),))
    found = convert(write_whole_robot(tmp_path), tmp_path / "usd", options).diagnostics

    (message,) = [d.message for d in found if d.rule == "metadata-missing"]
    assert message == (
        "SimReady requires metadata that is not known; add "
        "--metadata asset_license=... --metadata usd_date_generated=..."
    )


def test_date_is_that_of_the_reproducible_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """https://reproducible-builds.org/specs/source-date-epoch/."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "951782400")
    options = ConvertOptions(profile=Profile.SIMREADY)
    asset = convert(write_whole_robot(tmp_path), tmp_path / "usd", options).root_layer

    data = Sdf.Layer.FindOrOpen(str(asset)).customLayerData
    assert data["usd_date_generated"] == "2000-02-29"


def test_newton_knows_its_colliders_and_articulation(asset: Path) -> None:
    """NEWTON.COL.001 and NEWTON.BA.001, with what Newton assumes by itself."""
    stage = Usd.Stage.Open(str(asset))
    prims = list(stage.Traverse())
    meshes = [
        prim for prim in prims if prim.IsA(UsdGeom.Mesh) and prim.HasAPI(UsdPhysics.CollisionAPI)
    ]
    (root,) = [prim for prim in prims if prim.HasAPI(UsdPhysics.ArticulationRootAPI)]

    assert meshes
    assert all("NewtonMeshCollisionAPI" in applied(prim) for prim in meshes)
    assert "NewtonArticulationRootAPI" in applied(root)
    assert root.GetAttribute("newton:selfCollisionEnabled").Get() is True


def test_every_mesh_has_normals_of_its_faces(asset: Path) -> None:
    """VG.027: the same as the right-hand rule gives, as the file has none."""
    stage = Usd.Stage.Open(str(asset))
    meshes = [UsdGeom.Mesh(p) for p in stage.Traverse() if p.IsA(UsdGeom.Mesh)]

    assert len(meshes) == 3
    for mesh in meshes:
        normals = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")
        points = np.array(mesh.GetPointsAttr().Get(), np.float64)
        corners = points[np.array(mesh.GetFaceVertexIndicesAttr().Get())]
        a, b, c = (corners.reshape(-1, 3, 3)[:, i] for i in range(3))
        expected = np.cross(b - a, c - a)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        assert normals.GetInterpolation() == "uniform"
        np.testing.assert_allclose(np.array(normals.Get()), expected, atol=1e-6)


_TWO_SIDES = """\
v 0 0 0
v 2 0 0
v 0 2 0
v 0 0 0.1
vn 0 0 {normal}
vn 1 0 0
f 1//1 2//1 3//1
f 1//2 3//2 4//2
"""


@pytest.mark.parametrize("normal", [1, -1])
def test_normals_against_the_faces_are_replaced(tmp_path: Path, normal: int) -> None:
    """VG.029: the large face decides."""
    (tmp_path / "sides.obj").write_text(_TWO_SIDES.format(normal=normal))
    (tmp_path / "sides.urdf").write_text(
        '<robot name="sides"><link name="a"><visual><geometry>'
        '<mesh filename="sides.obj"/></geometry></visual></link></robot>'
    )
    conversion = convert(tmp_path / "sides.urdf", tmp_path / "usd", _SIMREADY)

    stage = Usd.Stage.Open(str(conversion.root_layer))
    (mesh,) = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    normals = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals").ComputeFlattened()
    assert set(normals) == {Gf.Vec3f(0, 0, 1), Gf.Vec3f(1, 0, 0)}
    reported = [d for d in conversion.diagnostics if d.rule == "normals-opposite"]
    assert len(reported) == (normal < 0)


def test_colliders_are_hidden(asset: Path) -> None:
    """VG.008: meshes of visuals and colliders coincide. Hidden ones still collide."""
    stage = Usd.Stage.Open(str(asset))
    for prim in stage.Traverse():
        image = UsdGeom.Gprim(prim)
        if image:
            hidden = image.ComputeVisibility() == UsdGeom.Tokens.invisible
            assert hidden == prim.HasAPI(UsdPhysics.CollisionAPI)


@pytest.mark.parametrize("variants", [False, True])
def test_physics_is_authored_in_layers_of_physics(tmp_path: Path, *, variants: bool) -> None:
    """RC.005: by the names of their files, also what a description adds."""
    file = write_description(tmp_path, '[[links]]\nmatch = "*"\nstatic_friction = 0.8\n')
    options = with_description(
        structs.replace(_SIMREADY, physics_variants=variants), load_description(file)
    )
    root = convert(write_whole_robot(tmp_path), tmp_path / "usd", options).root_layer
    stage = Usd.Stage.Open(str(root))

    layers = {
        spec.layer.identifier
        for prim in stage.Traverse()
        for attribute in prim.GetAttributes()
        if attribute.GetName().startswith("physics:")
        for spec in attribute.GetPropertyStack()
    }

    assert {Path(layer).relative_to(root.parent).as_posix() for layer in layers} == {
        "payload/physics.usda",
        "payload/simulation_physics.usda",
    }
    assert all(re.search(r"physics\.usd[ac]?$", layer) for layer in layers)


def test_robot_schema_follows_the_type_of_the_robot(tmp_path: Path) -> None:
    """RC.007 to RC.009: a type that is given; without it the asset is neutral."""
    fixed = structs.replace(_SIMREADY, base=BaseOption.FIXED)
    typed = structs.replace(fixed, metadata=(*_GIVEN, ("robot_type", "Manipulator")))
    urdf = write_whole_robot(tmp_path)
    paths = []
    for name, options in (("neutral", fixed), ("typed", typed)):
        root = convert(urdf, tmp_path / name, options).root_layer
        stage = Usd.Stage.Open(str(root))
        robot = stage.GetDefaultPrim()
        joints = robot.GetRelationship("isaac:physics:robotJoints").GetTargets()
        paths.append([stage.GetPrimAtPath(path) for path in joints])
        kind = robot.GetAttribute("isaac:robotType").Get()
        assert kind == (None if name == "neutral" else "Manipulator")
        assert ("IsaacRobotAPI" in applied(robot)) == (name == "typed")

    neutral, listed = paths
    assert neutral == []
    (anchor,) = UsdPhysics.Joint(listed[0]).GetBody0Rel().GetTargets()
    assert not stage.GetPrimAtPath(anchor).HasAPI(UsdPhysics.RigidBodyAPI)
    assert len(listed) == len([prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)])


def test_thumbnail_shows_the_robot(asset: Path) -> None:
    """SR.002: a PNG of 256 x 256 pixels with its own header and colours."""
    pixels = _pixels(asset.parent / ".thumbs/256x256/whole_robot.usda.png")
    covered = (pixels != 255).any(axis=2)
    ys, xs = np.nonzero(covered)
    assert max(np.ptp(xs), np.ptp(ys)) == pytest.approx(0.9 * 256, abs=3)
    # The cylinder has no material, the part is red and textured, the panel blue.
    red, blue = (pixels[..., i] - pixels[..., 2 - i] for i in (0, 2))
    assert (red[covered] > 60).any()
    assert (blue[covered] > 60).any()


def _pixels(file: Path) -> NDArray[np.int64]:
    with Image.open(file) as image:
        assert (image.format, image.size, image.mode) == ("PNG", (256, 256), "RGB")
        return np.asarray(image, np.int64)


def test_conversion_is_repeatable_and_replaced(asset: Path, tmp_path: Path) -> None:
    """The thumbnail and the robot schema belong to the asset."""
    folder = asset.parent

    def contents() -> dict[str, bytes]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    first = contents()
    convert(tmp_path / "whole.urdf", folder, _SIMREADY)
    assert contents() == first
    typed = structs.replace(_SIMREADY, metadata=(("robot_type", "Humanoid"),))
    convert(tmp_path / "whole.urdf", folder, typed)
    assert "payload/Robot.usda" in contents()
    convert(tmp_path / "whole.urdf", folder)
    assert not (folder / ".thumbs").exists()


def test_robot_without_meshes_and_mass_is_reported(tmp_path: Path) -> None:
    """VG.MESH.001 and RB.001 require a mesh and a body, which nothing invents."""
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        '<robot name="r"><link name="a"><visual><geometry><sphere radius="1"/>'
        "</geometry></visual></link></robot>"
    )

    found = convert(urdf, tmp_path / "usd", _SIMREADY).diagnostics

    assert {"mesh-required", "body-required"} <= {one.rule for one in found}


def test_robot_that_moves_lacks_no_body(tmp_path: Path) -> None:
    """RB.001 requires a rigid body."""
    urdf = write_whole_robot(tmp_path)

    found = convert(urdf, tmp_path / "usd", _SIMREADY).diagnostics

    assert "body-required" not in {one.rule for one in found}


def test_options_that_the_profile_excludes_are_refused() -> None:
    """Other layouts, and metadata for other profiles."""
    with pytest.raises(ValueError, match="prescribes layers"):
        ConvertOptions(profile=Profile.SIMREADY, layout=Layout.USDZ)
    with pytest.raises(ValueError, match="has no metadata"):
        ConvertOptions(metadata=_GIVEN)
