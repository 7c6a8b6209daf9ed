"""Values in the schemas of MuJoCo are read, as the variant ``mujoco`` has them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdPhysics

from tests.converter.usd.scenes import Scene, joint_of
from urdf_usd.conformance.export.files import export
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.model import Mimic

# Followers of a joint of the same type, of another type, and of a follower.
_JOINTS = """\
<joint name="turn" type="revolute"><parent link="a"/><child link="b"/>
  <axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="12.5" velocity="1"/>
  <dynamics damping="0.7" friction="0.3"/></joint>
<joint name="slide" type="prismatic"><parent link="b"/><child link="c"/>
  <axis xyz="1 0 0"/><limit lower="0" upper="0.5" effort="40" velocity="1"/>
  <dynamics damping="5" friction="0"/>
  <mimic joint="turn" multiplier="0.25" offset="0.1"/></joint>
<joint name="spin" type="continuous"><parent link="c"/><child link="d"/>
  <axis xyz="0 1 0"/><limit effort="0" velocity="1"/>
  <mimic joint="turn" multiplier="-2" offset="0.5"/></joint>
<joint name="locked" type="revolute"><parent link="d"/><child link="e"/>
  <axis xyz="0 1 0"/><limit lower="0" upper="0" effort="3" velocity="1"/></joint>
"""
_VALUES = (
    ("limit", "lower"),
    ("limit", "upper"),
    ("limit", "effort"),
    ("dynamics", "damping"),
    ("dynamics", "friction"),
    ("mimic", "multiplier"),
    ("mimic", "offset"),
)


def _urdf(folder: Path) -> Path:
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        for name in "abcde"
    )
    file = folder / "robot.urdf"
    file.write_text(f'<robot name="r">{links}{_JOINTS}</robot>')
    return file


def _values(urdf: Path) -> dict[str, dict[str, float]]:
    """Return the numbers of the joints, and the joint that each follows."""
    found: dict[str, dict[str, float]] = {}
    for joint in ET.parse(urdf).getroot().findall("joint"):
        numbers = found[joint.get("name", "")] = {}
        for tag, name in _VALUES:
            element = joint.find(tag)
            if element is not None and element.get(name) is not None:
                numbers[name] = float(element.get(name, ""))
            if tag == "mimic" and element is not None:
                numbers[f"follows {element.get('joint')}"] = 1.0
    return found


def _strip(asset: Path) -> None:
    """Remove the data of the conversion, and the drives, which state efforts too."""
    for file in asset.parent.rglob("*.usda"):
        layer = Sdf.Layer.FindOrOpen(str(file))
        paths: list[Sdf.Path] = []
        layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
        for path in paths:
            if path.IsPropertyPath() and path.name.startswith(("urdf:", "drive:")):
                prim = layer.GetPrimAtPath(path.GetPrimPath())
                prim.RemoveProperty(layer.GetPropertyAtPath(path))
        layer.Save()


def test_export_of_the_variant_has_the_values_of_the_urdf(tmp_path: Path) -> None:
    """Of its schemas alone: effort, damping, friction and couplings; and limits."""
    urdf = _urdf(tmp_path)
    options = ConvertOptions(physics_variants=True)
    asset = convert(urdf, tmp_path / "usd", options).root_layer
    _strip(asset)
    chosen = VariantChoice("Physics", "mujoco")

    export(asset, tmp_path / "again.urdf", variants=(chosen,))

    again, original = _values(tmp_path / "again.urdf"), _values(urdf)
    # The schema has no value for friction that the URDF does not state.
    assert again == {name: pytest.approx(one) for name, one in original.items()}


def _joint(scene: Scene, kind: type[UsdPhysics.Joint], name: str = "it") -> Usd.Prim:
    """Return a joint from ``/r/lead`` on, in a scene with a joint ``lead``."""
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    scene.joint(UsdPhysics.RevoluteJoint, "/r/lead", ("/r/a", "/r/b"))
    return scene.joint(kind, f"/r/{name}", ("/r/b", "/r/c")).GetPrim()


def _set(prim: Usd.Prim, **values: float) -> None:
    for name, value in values.items():
        full = f"mjc:{name.replace('__', ':')}"
        prim.CreateAttribute(full, Sdf.ValueTypeNames.Double).Set(value)


def test_values_are_in_radians_and_units_of_the_stage() -> None:
    """Damping per radian or per distance; a coupling of a translation, in distance."""
    scene = Scene(length=0.01)
    prim = _joint(scene, UsdPhysics.PrismaticJoint)
    prim.AddAppliedSchema("MjcEqualityJointAPI")
    prim.CreateRelationship("mjc:target").SetTargets(["/r/lead"])
    _set(prim, coef0=30.0, coef1=5.0, damping=3.0)
    _set(scene.stage.GetPrimAtPath("/r/lead"), damping=20000.0, frictionloss=10000.0)

    sliding, turning = (joint_of(scene.read(), name) for name in ("it", "lead"))

    assert sliding.mimic is not None
    assert sliding.mimic.joint == "lead"
    numbers = (sliding.mimic.offset, sliding.mimic.multiplier)
    assert numbers == pytest.approx((0.3, 0.05))
    # Force over speed is mass over time; torques have a square of length.
    assert sliding.dynamics is not None
    assert sliding.dynamics.damping == pytest.approx(3.0)
    assert turning.dynamics is not None
    assert turning.dynamics.damping == pytest.approx(2.0)
    assert turning.dynamics.friction == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("limited", "bounds", "effort"),
    [
        (None, (-3.0, 3.0), 3.0),
        ("true", (-3.0, 3.0), 3.0),
        ("false", (-3.0, 3.0), None),
        (None, (0.0, 0.0), None),
        (None, (-3.0, 5.0), 5.0),
    ],
)
def test_range_of_the_force_is_the_effort(
    limited: str | None, bounds: tuple[float, float], effort: float | None
) -> None:
    """Unless it is not in effect, as MuJoCo decides; of two bounds the larger."""
    scene = Scene()
    prim = _joint(scene, UsdPhysics.RevoluteJoint)
    _set(prim, actuatorfrcrange__min=bounds[0], actuatorfrcrange__max=bounds[1])
    if limited:
        kind = Sdf.ValueTypeNames.Token
        prim.CreateAttribute("mjc:actuatorfrclimited", kind).Set(limited)

    assert joint_of(scene.read(), "it").effort == effort


@pytest.mark.parametrize(
    ("schema", "values"),
    [(False, {"coef1": 2.0}), (True, {"coef1": 2.0, "coef2": 1.0})],
)
def test_other_equalities_are_no_mimic(schema: bool, values: dict[str, float]) -> None:
    """Without the schema, or with a polynomial that URDF does not have."""
    scene = Scene()
    prim = _joint(scene, UsdPhysics.RevoluteJoint)
    if schema:
        prim.AddAppliedSchema("MjcEqualityJointAPI")
    prim.CreateRelationship("mjc:target").SetTargets(["/r/lead"])
    _set(prim, **values)

    assert joint_of(scene.read(), "it").mimic is None


def test_smaller_limit_of_drive_and_range_is_the_effort() -> None:
    """As Newton's importer takes it."""
    scene = Scene()
    prim = _joint(scene, UsdPhysics.RevoluteJoint)
    UsdPhysics.DriveAPI.Apply(prim, "angular").CreateMaxForceAttr(2.0)
    _set(prim, actuatorfrcrange__min=-3.0, actuatorfrcrange__max=3.0)

    assert joint_of(scene.read(), "it").effort == 2.0


def test_coupling_is_that_of_the_schema(tmp_path: Path) -> None:
    """Edited values precede the custom attributes of the conversion."""
    options = ConvertOptions(physics_variants=True)
    asset = convert(_urdf(tmp_path), tmp_path / "usd", options).root_layer
    stage = Usd.Stage.Open(str(asset))
    stage.GetDefaultPrim().GetVariantSet("Physics").SetVariantSelection("mujoco")
    stage.GetPrimAtPath("/r/Physics/spin").GetAttribute("mjc:coef1").Set(3.0)
    joints = {joint.name: joint for joint in read_stage(stage).robot.joints}

    assert joints["slide"].mimic == Mimic("turn", 0.25, 0.1)
    assert joints["spin"].mimic == Mimic("turn", 3.0, 0.5)
    assert joints["spin"].effort == 0.0
