"""Rows of docs/dev/mapping.md, in their order, on a robot with oblique numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Kind, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade
from scipy.spatial.transform import Rotation

from urdf_usd.converter import convert

_URDF = """<robot name="7 axes/arm">
  <material name="red paint"><color rgba="0.5 0.25 0 0.5"/></material>
  <link name="base">
    <inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="2.5"/>
      <inertia ixx="0.3" ixy="0.02" ixz="-0.01" iyy="0.25" iyz="0.03" izz="0.2"/>
    </inertial>
    <visual name="shell"><origin xyz="0.1 0.2 -0.3" rpy="0.3 -0.2 0.7"/>
      <geometry><box size="0.2 0.4 0.6"/></geometry>
      <material name="red paint"/></visual>
    <visual><geometry><cylinder radius="0.2" length="0.7"/></geometry></visual>
    <visual><geometry><sphere radius="0.15"/></geometry></visual>
    <visual><geometry><capsule radius="0.1" length="0.5"/></geometry></visual>
    <visual><origin xyz="1 2 3"/>
      <geometry><mesh filename="part.obj" scale="1 2 0.5"/></geometry></visual>
    <collision name="hull"><origin rpy="0 0.3 0"/>
      <geometry><mesh filename="part.obj"/></geometry></collision>
    <collision><geometry><box size="1 2 3"/></geometry></collision>
  </link>
  <link name="tool frame"/>
  <link name="arm">
    <inertial><mass value="1.5"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial>
  </link>
  <joint name="mount" type="fixed"><parent link="base"/><child link="tool frame"/>
    <origin xyz="0.3 0 0.1" rpy="0 0 0.5"/></joint>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0.5 -0.1 0.4" rpy="0.2 0.3 -0.4"/><axis xyz="0 0 1"/>
    <limit lower="-1.2" upper="0.7" effort="30" velocity="2"/></joint>
</robot>
"""
_OBJ = """v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0.5 0.5 1
vt 0.1 0.2
vt 0.9 0.3
vt 0.4 0.8
f 4 3 2 1
f 1/1 2/2 5/3
f 2/1 3/2 5/3
"""


@pytest.fixture(scope="module")
def asset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root layer of the converted robot."""
    folder = tmp_path_factory.mktemp("mapping")
    (folder / "part.obj").write_text(_OBJ)
    (folder / "arm.urdf").write_text(_URDF)
    return convert(folder / "arm.urdf", folder / "asset").root_layer


@pytest.fixture
def stage(asset: Path) -> Usd.Stage:
    """The composed stage."""
    return Usd.Stage.Open(str(asset))


def link(stage: Usd.Stage, *names: str) -> Usd.Prim:
    """Return the prim of a link or shape."""
    path = stage.GetDefaultPrim().GetPath().AppendChild("Geometry")
    for name in names:
        path = path.AppendChild(name)
    return stage.GetPrimAtPath(path)


def test_attributes_have_no_time_samples(stage: Usd.Stage) -> None:
    """URDF has no time: every value is a default."""
    for prim in stage.Traverse():
        for attribute in prim.GetAuthoredAttributes():
            assert attribute.GetNumTimeSamples() == 0


def test_default_prim_is_a_component_with_the_robots_name(stage: Usd.Stage) -> None:
    """In assetInfo, and as display name if a prim cannot have it."""
    prim = stage.GetDefaultPrim()
    model = Usd.ModelAPI(prim)

    assert prim.IsA(UsdGeom.Xform)
    assert model.GetAssetName() == prim.GetDisplayName() == "7 axes/arm"
    assert Sdf.Path.IsValidIdentifier(prim.GetName())
    assert model.GetKind() == Kind.Tokens.component


def test_links_are_nested_xforms_below_the_geometry_scope(stage: Usd.Stage) -> None:
    """Joints are in a scope of their own."""
    robot = stage.GetDefaultPrim()
    scopes = ("Geometry", "Physics", "Materials")
    for scope in scopes:
        assert robot.GetChild(scope).GetTypeName() == "Scope"
    for names in (("base",), ("base", "arm"), ("base", "tool_frame")):
        assert link(stage, *names).GetTypeName() == "Xform"
    bodies = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)]
    assert [prim.GetName() for prim in bodies] == ["base", "arm"]
    assert [p.GetName() for p in robot.GetChild("Physics").GetChildren()] == ["elbow"]


def test_massless_fixed_link_is_an_xform_without_body(
    stage: Usd.Stage,
) -> None:
    """At the pose of its fixed joint."""
    frame = link(stage, "base", "tool_frame")

    assert frame.GetDisplayName() == "tool frame"
    assert not frame.HasAPI(UsdPhysics.RigidBodyAPI)
    assert not frame.HasAPI(UsdPhysics.MassAPI)
    assert_pose(frame, (0.3, 0, 0.1), (0, 0, 0.5))


def assert_pose(prim: Usd.Prim, xyz: tuple[float, ...], rpy: tuple[float, ...]) -> None:
    """Assert a local pose; URDF's angles are scipy's extrinsic xyz."""
    matrix = np.array(UsdGeom.Xformable(prim).GetLocalTransformation())
    turn = matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=1, keepdims=True)
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    np.testing.assert_allclose(matrix[3, :3], xyz, atol=1e-12)
    np.testing.assert_allclose(turn.T, expected, atol=1e-7)


def test_poses_are_double_precision_xform_ops(stage: Usd.Stage) -> None:
    """Translate and orient on the prim itself; scale only where it is not one."""
    ops = {
        op.GetOpType(): op.GetPrecision()
        for op in UsdGeom.Xformable(link(stage, "base", "shell")).GetOrderedXformOps()
    }

    assert list(ops) == [
        UsdGeom.XformOp.TypeTranslate,
        UsdGeom.XformOp.TypeOrient,
        UsdGeom.XformOp.TypeScale,
    ]
    assert ops[UsdGeom.XformOp.TypeTranslate] == UsdGeom.XformOp.PrecisionDouble
    arm = UsdGeom.Xformable(link(stage, "base", "arm")).GetOrderedXformOps()
    assert len(arm) == 2
    assert_pose(link(stage, "base", "arm"), (0.5, -0.1, 0.4), (0.2, 0.3, -0.4))
    assert_pose(link(stage, "base", "shell"), (0.1, 0.2, -0.3), (0.3, -0.2, 0.7))


def test_inertial_is_mass_centre_and_principal_axes(
    stage: Usd.Stage,
) -> None:
    """Moments and axes give the tensor of the URDF, rotated by its rpy."""
    mass = UsdPhysics.MassAPI(link(stage, "base"))

    assert mass.GetMassAttr().Get() == 2.5
    center = mass.GetCenterOfMassAttr().Get()
    np.testing.assert_allclose(center, (0.1, -0.2, 0.3), rtol=1e-6)
    turn = np.array(Gf.Matrix3d(Gf.Quatd(mass.GetPrincipalAxesAttr().Get()))).T
    moments = np.diag(mass.GetDiagonalInertiaAttr().Get())
    own = Rotation.from_euler("xyz", (0.4, -0.5, 0.6)).as_matrix()
    tensor = [[0.3, 0.02, -0.01], [0.02, 0.25, 0.03], [-0.01, 0.03, 0.2]]
    found = turn @ moments @ turn.T
    np.testing.assert_allclose(found, own @ tensor @ own.T, atol=1e-7)


def test_unnamed_shapes_are_named_after_their_element(stage: Usd.Stage) -> None:
    """With numbers; each shape is a prim without an Xform around it."""
    found = {
        prim.GetName(): str(prim.GetTypeName())
        for prim in link(stage, "base").GetChildren()
        if prim.IsA(UsdGeom.Gprim)
    }

    assert found == {
        "shell": "Cube",
        "visual": "Cylinder",
        "visual_1": "Sphere",
        "visual_2": "Capsule",
        "visual_3": "Mesh",
        "hull": "Mesh",
        "collision": "Cube",
    }


def test_primitives_have_the_sizes_of_the_urdf(stage: Usd.Stage) -> None:
    """A box is a scaled cube of edge one; round shapes are along Z."""
    cube = UsdGeom.Cube(link(stage, "base", "shell"))
    assert cube.GetSizeAttr().Get() == 1.0
    scale = cube.GetPrim().GetAttribute("xformOp:scale").Get()
    np.testing.assert_allclose(scale, (0.2, 0.4, 0.6), rtol=1e-6)
    np.testing.assert_allclose(cube.GetExtentAttr().Get(), [[-0.5] * 3, [0.5] * 3])
    cylinder = UsdGeom.Cylinder(link(stage, "base", "visual"))
    capsule = UsdGeom.Capsule(link(stage, "base", "visual_2"))
    sphere = UsdGeom.Sphere(link(stage, "base", "visual_1"))
    for shape, sizes in ((cylinder, (0.2, 0.7)), (capsule, (0.1, 0.5))):
        assert shape.GetAxisAttr().Get() == "Z"
        assert (shape.GetRadiusAttr().Get(), shape.GetHeightAttr().Get()) == sizes
    assert sphere.GetRadiusAttr().Get() == 0.15


def test_colliders_are_guides_with_collision_schemas(stage: Usd.Stage) -> None:
    """Meshes are convex hulls; visuals have neither."""
    for name, is_mesh in (("hull", True), ("collision", False)):
        prim = link(stage, "base", name)
        assert UsdGeom.Imageable(prim).GetPurposeAttr().Get() == "guide"
        assert prim.HasAPI(UsdPhysics.CollisionAPI)
        assert prim.HasAPI(UsdPhysics.MeshCollisionAPI) == is_mesh
    hull = UsdPhysics.MeshCollisionAPI(link(stage, "base", "hull"))
    assert hull.GetApproximationAttr().Get() == "convexHull"
    visual = link(stage, "base", "visual_3")
    assert not visual.HasAPI(UsdPhysics.CollisionAPI)
    assert UsdGeom.Imageable(visual).ComputePurpose() == "default"


def test_mesh_is_a_reference_with_pose_and_scale(asset: Path, stage: Usd.Stage) -> None:
    """Its polygons are in the library, right-handed and without subdivision."""
    prim = link(stage, "base", "visual_3")
    (spec, *_) = prim.GetPrimStack()
    (reference,) = spec.referenceList.prependedItems
    assert reference.assetPath == "./GeometryLibrary.usdc"
    assert tuple(prim.GetAttribute("xformOp:scale").Get()) == (1, 2, 0.5)
    library = Usd.Stage.Open(str(asset.parent / "payload/GeometryLibrary.usdc"))
    root = library.GetDefaultPrim()
    assert (root.GetName(), root.GetTypeName()) == ("Geometry", "Scope")
    assert root.GetSpecifier() == Sdf.SpecifierClass
    (one,) = root.GetAllChildren()
    assert reference.primPath == one.GetPath()
    mesh = UsdGeom.Mesh(one)
    assert mesh.GetSubdivisionSchemeAttr().Get() == "none"
    assert mesh.GetOrientationAttr().Get() == "rightHanded"
    assert list(mesh.GetFaceVertexCountsAttr().Get()) == [4, 3, 3]
    assert not UsdGeom.Xformable(one).GetOrderedXformOps()


def test_texture_coordinates_of_obj_are_not_flipped(stage: Usd.Stage) -> None:
    """V is up in both formats; corners without texture coordinate get the origin."""
    primvar = UsdGeom.PrimvarsAPI(link(stage, "base", "visual_3")).GetPrimvar("st")

    corners = [[0, 0]] * 4 + [[0.1, 0.2], [0.9, 0.3], [0.4, 0.8]] * 2
    assert primvar.GetTypeName() == "texCoord2f[]"
    np.testing.assert_allclose(primvar.ComputeFlattened(), corners, rtol=1e-6)


def test_material_is_a_bound_local_reference(asset: Path, stage: Usd.Stage) -> None:
    """To a library prim, named as in the URDF; colours are linear."""
    prim = link(stage, "base", "shell")
    assert prim.HasAPI(UsdShade.MaterialBindingAPI)
    material = UsdShade.MaterialBindingAPI(prim).GetDirectBinding().GetMaterial()
    robot = stage.GetDefaultPrim().GetPath()
    assert material.GetPath() == robot.AppendPath("Materials/red_paint")
    assert material.GetPrim().GetDisplayName() == "red paint"
    (spec, *_) = material.GetPrim().GetPrimStack()
    (reference,) = spec.referenceList.prependedItems
    assert reference.assetPath == "./MaterialsLibrary.usdc"
    library = Usd.Stage.Open(str(asset.parent / "payload/MaterialsLibrary.usdc"))
    assert library.GetDefaultPrim().GetSpecifier() == Sdf.SpecifierClass
    assert library.GetDefaultPrim().GetTypeName() == "Scope"
    shader = material.ComputeSurfaceSource()[0]
    # IEC 61966-2-1 at 0.5 and 0.25.
    color = shader.GetInput("diffuseColor").Get()
    np.testing.assert_allclose(color, (0.21404114, 0.05087609, 0), rtol=1e-6)
    assert shader.GetInput("opacity").Get() == 0.5


def test_joint_connects_parent_and_child(stage: Usd.Stage) -> None:
    """Parent first; the second frame is the child's own."""
    prim = stage.GetPrimAtPath(f"{stage.GetDefaultPrim().GetPath()}/Physics/elbow")
    joint = UsdPhysics.RevoluteJoint(prim)

    assert joint.GetBody0Rel().GetTargets() == [link(stage, "base").GetPath()]
    assert joint.GetBody1Rel().GetTargets() == [link(stage, "base", "arm").GetPath()]
    place = joint.GetLocalPos0Attr().Get()
    np.testing.assert_allclose(place, (0.5, -0.1, 0.4), rtol=1e-6)
    x, y, z = joint.GetLocalRot0Attr().Get().GetImaginary()
    found = Rotation.from_quat([x, y, z, joint.GetLocalRot0Attr().Get().GetReal()])
    expected = Rotation.from_euler("xyz", (0.2, 0.3, -0.4))
    assert (found.inv() * expected).magnitude() < 1e-6
    assert tuple(joint.GetLocalPos1Attr().Get()) == (0, 0, 0)
    assert joint.GetLocalRot1Attr().Get() == Gf.Quatf(1)
    assert joint.GetAxisAttr().Get() == "Z"
    limits = (joint.GetLowerLimitAttr().Get(), joint.GetUpperLimitAttr().Get())
    assert limits == pytest.approx((math.degrees(-1.2), math.degrees(0.7)), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("revolute", "PhysicsRevoluteJoint"),
        ("continuous", "PhysicsRevoluteJoint"),
        ("prismatic", "PhysicsPrismaticJoint"),
        ("fixed", "PhysicsFixedJoint"),
        ("floating", "PhysicsJoint"),
        ("planar", "PhysicsJoint"),
    ],
)
def test_joint_types_have_usdphysics_schemas(tmp_path: Path, kind: str, schema: str) -> None:
    """All six types of URDF, between two bodies."""
    mass = (
        '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" '
        'iyz="0" izz="0.1"/></inertial>'
    )
    (tmp_path / "r.urdf").write_text(
        f'<robot name="r"><link name="a">{mass}</link><link name="b">{mass}</link>'
        f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>'
    )
    root = convert(tmp_path / "r.urdf", tmp_path / "asset").root_layer

    stage = Usd.Stage.Open(str(root))
    prim = stage.GetPrimAtPath("/r/Physics/j")

    assert prim.GetTypeName() == schema
