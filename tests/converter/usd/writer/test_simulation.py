"""The layer of simulation settings."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdPhysics, UsdShade

from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd.converter.conversion import convert, with_description
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import BodyNesting, ConvertOptions, Layout, Profile
from urdf_usd.converter.robot.body_options import Base
from urdf_usd.converter.simulation.description import load_description

_TEXT = """\
base = "fixed"
self_collision = false
[[joints]]
match = "*"
stiffness = 400
damping = 40
armature = 0.1
limit_stiffness = 5e4
[[joints]]
match = "slide"
control = "velocity"
target = 0.2
[pose.joints]
hinge = 0.5
"""
_DEGREE = math.radians(1.0)


def _options(folder: Path, **options: object) -> ConvertOptions:
    description = load_description(write_description(folder, _TEXT))
    return with_description(ConvertOptions(**options), description)  # type: ignore[arg-type]


def _converted(folder: Path, **options: object) -> Usd.Stage:
    chosen = _options(folder, **options)
    layer = convert(write_urdf(folder), folder / "out", chosen).root_layer
    return Usd.Stage.Open(str(layer))


@pytest.mark.parametrize("layout", Layout)
def test_drives_are_written_per_degree_in_every_layout(tmp_path: Path, layout: Layout) -> None:
    """Gains of a revolute joint are per degree in UsdPhysics; limits stay."""
    stage = _converted(tmp_path, layout=layout)

    hinge = UsdPhysics.DriveAPI.Get(stage.GetPrimAtPath("/two/Physics/hinge"), "angular")
    assert hinge.GetStiffnessAttr().Get() == pytest.approx(400 * _DEGREE)
    assert hinge.GetDampingAttr().Get() == pytest.approx(40 * _DEGREE)
    assert hinge.GetTargetPositionAttr().Get() == pytest.approx(0.5 / _DEGREE)
    assert hinge.GetMaxForceAttr().Get() == 50.0
    assert hinge.GetTypeAttr().Get() == UsdPhysics.Tokens.force
    slide = UsdPhysics.DriveAPI.Get(stage.GetPrimAtPath("/two/Physics/slide"), "linear")
    assert slide.GetStiffnessAttr().Get() == 0.0
    assert slide.GetDampingAttr().Get() == pytest.approx(40)
    assert slide.GetTargetVelocityAttr().Get() == pytest.approx(0.2)


def test_settings_are_in_a_layer_of_their_own(tmp_path: Path) -> None:
    """All other layers are byte for byte those without a description."""
    urdf = write_urdf(tmp_path)
    options = _options(tmp_path)
    convert(urdf, tmp_path / "with", options)
    convert(urdf, tmp_path / "without", ConvertOptions(base=options.base))

    def content(folder: str) -> dict[str, bytes]:
        root = tmp_path / folder
        files = (file for file in root.rglob("*") if file.is_file())
        return {str(file.relative_to(root)): file.read_bytes() for file in files}

    described, plain = content("with"), content("without")
    assert described.keys() - plain.keys() == {"payload/Simulation.usda"}
    different = {name for name in plain if described[name] != plain[name]}
    assert different == {"payload/Contents.usda"}
    contents = Sdf.Layer.FindOrOpen(str(tmp_path / "with/payload/Contents.usda"))
    names = list(contents.subLayerPaths)
    assert names.index("./Simulation.usda") < names.index("./Physics.usda")


def test_description_chooses_base_and_profile(tmp_path: Path) -> None:
    """Options other than the defaults override it."""
    text = 'base = "floating"\nprofile = "physx"'
    description = load_description(write_description(tmp_path, text))

    found = with_description(ConvertOptions(), description)
    own = with_description(ConvertOptions(profile=Profile.ROS), description)

    assert (found.base.value, found.profile) == (Base.FLOATING.value, Profile.PHYSX)
    assert own.profile is Profile.ROS
    with pytest.raises(ConversionError, match=r"robot\.toml:2:1: .*nested"):
        with_description(ConvertOptions(bodies=BodyNesting.NESTED), description)


@pytest.mark.parametrize(
    ("profile", "armature", "collisions"),
    [
        (Profile.GENERIC, ["newton:armature"], "newton:selfCollisionEnabled"),
        (
            Profile.PHYSX,
            ["physxJoint:armature", "physxJointAxis:angular:armature"],
            "physxArticulation:enabledSelfCollisions",
        ),
    ],
)
def test_armature_and_initial_state_are_in_the_schemas_of_the_profile(
    tmp_path: Path, profile: Profile, armature: list[str], collisions: str
) -> None:
    """Newton reads its own attribute of the state, PhysX PhysicsJointStateAPI."""
    stage = _converted(tmp_path, profile=profile)

    hinge = stage.GetPrimAtPath("/two/Physics/hinge")
    for name in armature:
        assert hinge.GetAttribute(name).Get() == pytest.approx(0.1)
    state = hinge.GetAttribute("state:angular:physics:position")
    assert state.Get() == pytest.approx(0.5 / _DEGREE)
    own = hinge.GetAttribute("newton:angular:position")
    assert own.HasAuthoredValue() is (profile is Profile.GENERIC)
    assert stage.GetDefaultPrim().GetAttribute(collisions).Get() is False


def test_profile_without_schemas_reports_what_it_leaves_out(tmp_path: Path) -> None:
    """Every effort limit is in a drive, as some joints have one."""
    options = _options(tmp_path, profile=Profile.USDPHYSICS)
    conversion = convert(write_urdf(tmp_path), tmp_path / "out", options)

    lost = [one for one in conversion.diagnostics if one.rule == "description-lost"]
    assert [one.message.split()[0] for one in lost] == [
        "armature",
        "limit_stiffness",
        "self_collision",
    ]
    stage = Usd.Stage.Open(str(conversion.root_layer))
    follower = stage.GetPrimAtPath("/two/Physics/follower")
    drive = UsdPhysics.DriveAPI.Get(follower, "linear")
    assert drive.GetMaxForceAttr().Get() == 20.0
    assert drive.GetStiffnessAttr().Get() == 0.0


def test_settings_in_disabled_variants_are_reported(tmp_path: Path) -> None:
    """The variant has them: its attribute is read after selecting it."""
    options = _options(tmp_path, profile=Profile.SIMREADY, physics_variants=True)
    conversion = convert(write_urdf(tmp_path), tmp_path / "out", options)

    rule = "description-variants"
    found = [one.message for one in conversion.diagnostics if one.rule == rule]
    assert [message.split()[0] for message in found] == [
        "armature",
        "limit_stiffness",
        "self_collision",
    ]
    stage = Usd.Stage.Open(str(conversion.root_layer))
    hinge = stage.GetPrimAtPath("/two/Physics/hinge")
    assert not hinge.GetAttribute("newton:armature")
    stage.GetDefaultPrim().GetVariantSet("Newton").SetVariantSelection("Enabled")
    hinge = stage.GetPrimAtPath("/two/Physics/hinge")
    assert hinge.GetAttribute("newton:armature").Get() == pytest.approx(0.1)


@pytest.mark.parametrize("options", [{"physics_variants": True}, {"profile": Profile.ISAAC}])
def test_variants_have_settings_in_the_schemas_of_their_simulator(
    tmp_path: Path, options: dict[str, object]
) -> None:
    """Drives and the initial state, of UsdPhysics, are in all variants."""
    stage = _converted(tmp_path, **options)
    robot = stage.GetDefaultPrim()
    seen = {}
    for variant in ("newton", "physx", "physics"):
        robot.GetVariantSet("Physics").SetVariantSelection(variant)
        hinge = next(one for one in stage.Traverse() if one.GetName() == "hinge")
        drive = UsdPhysics.DriveAPI.Get(hinge, "angular")
        assert drive.GetStiffnessAttr().Get() == pytest.approx(400 * _DEGREE)
        state = hinge.GetAttribute("state:angular:physics:position")
        assert state.Get() == pytest.approx(0.5 / _DEGREE)
        names = {
            attribute.GetName()
            for prim in stage.Traverse()
            for attribute in prim.GetAuthoredAttributes()
        }
        parts = "armature", "limitStiffness", "elfCollision"
        seen[variant] = {n for n in names if any(part in n for part in parts)}

    assert seen == {
        "newton": {
            "newton:armature",
            "newton:limitStiffness",
            "newton:selfCollisionEnabled",
        },
        "physx": {
            "physxJoint:armature",
            "physxJointAxis:angular:armature",
            "physxJointAxis:linear:armature",
            "physxArticulation:enabledSelfCollisions",
        },
        "physics": set(),
    }


def test_springs_at_limits_are_written_per_degree(tmp_path: Path) -> None:
    """In the schema of Newton; limits of PhysX are hard."""
    stage = _converted(tmp_path)

    hinge, slide = (
        stage.GetPrimAtPath(f"/two/Physics/{name}").GetAttribute("newton:limitStiffness")
        for name in ("hinge", "slide")
    )
    assert hinge.Get() == pytest.approx(5e4 * _DEGREE)
    assert slide.Get() == pytest.approx(5e4)
    physx = _options(tmp_path, profile=Profile.PHYSX)
    conversion = convert(write_urdf(tmp_path), tmp_path / "physx", physx)
    lost = [one for one in conversion.diagnostics if one.rule == "description-lost"]
    assert [one.message.split()[0] for one in lost] == ["limit_stiffness"]


_MATERIALS = """\
[[links]]
match = "*"
static_friction = 0.9
dynamic_friction = 0.6
[[links]]
match = "tool"
restitution = 0.2
"""


@pytest.mark.parametrize("profile", Profile)
def test_contact_materials_are_bound_to_colliders_alone(tmp_path: Path, profile: Profile) -> None:
    """Links with the same values share one; for physics alone."""
    description = load_description(write_description(tmp_path, _MATERIALS))
    options = with_description(ConvertOptions(profile=profile), description)
    layer = convert(write_urdf(tmp_path), tmp_path / "out", options).root_layer

    stage = Usd.Stage.Open(str(layer))
    found = []
    names = set()
    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.CollisionAPI):
            continue
        binding = UsdShade.MaterialBindingAPI(prim)
        bound = binding.GetDirectBinding("physics").GetMaterial()
        material = UsdPhysics.MaterialAPI(bound)
        names.add(bound.GetPath())
        values = (
            material.GetStaticFrictionAttr().Get(),
            material.GetDynamicFrictionAttr().Get(),
            material.GetRestitutionAttr().Get(),
        )
        found.append(values)
    plain, soft = (0.9, 0.6, 0.0), (0.9, 0.6, 0.2)
    assert len(names) == 2
    expected = [plain, plain, soft]
    assert sorted(found) == [pytest.approx(row) for row in expected]
