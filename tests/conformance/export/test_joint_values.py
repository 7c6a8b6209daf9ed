"""Efforts, velocities, damping, friction and couplings come from schemas, then ``urdf:``."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdPhysics

from tests.converter.usd.authored import author
from tests.converter.usd.profiles.joint_samples import chain
from tests.converter.usd.scenes import Scene, joint_of, rules_of
from urdf_usd.conformance.export.files import export
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.model import Joint, Mimic

DEGREE = math.pi / 180
TURN, SLIDE = UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint
_TYPES = Sdf.ValueTypeNames
_PHYSX = ("PhysxJointAPI", "PhysxJointAxisAPI:angular")


def _pair(
    kinds: tuple[type[UsdPhysics.Joint], type[UsdPhysics.Joint]] = (TURN, TURN), length: float = 1.0
) -> tuple[Scene, Usd.Prim]:
    """Return a scene with the joints ``lead`` and ``it``, and the prim of the second."""
    scene = Scene(length=length)
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    # PhysX couples revolute joints with limits alone.
    limits = {"LowerLimit": -1.0, "UpperLimit": 1.0}
    scene.joint(kinds[0], "/r/lead", ("/r/a", "/r/b"), **limits)
    return scene, scene.joint(kinds[1], "/r/it", ("/r/b", "/r/c"), **limits).GetPrim()


def _author(prim: Usd.Prim, schemas: tuple[str, ...], values: dict[str, object]) -> None:
    """Apply schemas; author numbers, texts, and paths as relationships."""
    for schema in schemas:
        prim.AddAppliedSchema(schema)
    for name, value in values.items():
        if isinstance(value, str) and value.startswith("/"):
            prim.CreateRelationship(name).SetTargets([value])
        else:
            kind = _TYPES.Token if isinstance(value, str) else _TYPES.Float
            if name.startswith(("urdf:", "mjc:")) and isinstance(value, float):
                kind = _TYPES.Double
            prim.CreateAttribute(name, kind).Set(value)


def _numbers(joint: Joint) -> dict[str, float | None]:
    dynamics = joint.dynamics
    return {
        "effort": joint.effort,
        "velocity": joint.velocity,
        "damping": dynamics.damping if dynamics else None,
        "friction": dynamics.friction if dynamics else None,
    }


@pytest.mark.parametrize(
    ("kind", "schemas", "values", "expected"),
    [
        # Degrees; an axis with its own schema ignores that of the joint.
        (
            TURN,
            _PHYSX,
            {
                "physxJoint:maxJointVelocity": 10.0,
                "physxJointAxis:angular:maxJointVelocity": 90.0,
                "physxJointAxis:angular:viscousFrictionCoefficient": 0.02,
                "physxJointAxis:angular:dynamicFrictionEffort": 0.5,
                "physxJoint:jointFriction": 0.9,
            },
            {"velocity": math.pi / 2, "damping": 0.02 / DEGREE, "friction": 0.5},
        ),
        (SLIDE, ("PhysxJointAPI",), {"physxJoint:maxJointVelocity": 0.75}, {"velocity": 0.75}),
        # Fallbacks of a schema are no values.
        (TURN, ("NewtonJointAPI",), {}, {}),
        # A schema counts if it differs from the double of the conversion.
        (
            TURN,
            (),
            {"newton:velocityLimit": math.degrees(1.2), "urdf:limit:velocity": 1.2},
            {"velocity": 1.2},
        ),
        (
            TURN,
            (),
            {"newton:velocityLimit": math.degrees(3.4), "urdf:limit:velocity": 1.2},
            {"velocity": 3.4},
        ),
        (
            TURN,
            ("PhysicsDriveAPI:angular",),
            {"drive:angular:physics:maxForce": 12.5},
            {"effort": 12.5},
        ),
        (TURN, ("PhysicsDriveAPI:angular",), {"drive:angular:physics:maxForce": math.inf}, {}),
        # MuJoCo's range of the force, of which URDF has the larger bound, if it is in effect.
        *(
            (
                TURN,
                (),
                {
                    "mjc:actuatorfrcrange:min": low,
                    "mjc:actuatorfrcrange:max": high,
                    "mjc:actuatorfrclimited": limited,
                },
                {} if effort is None else {"effort": effort},
            )
            for limited, low, high, effort in (
                ("auto", -3.0, 3.0, 3.0),
                ("true", -3.0, 3.0, 3.0),
                ("false", -3.0, 3.0, None),
                ("auto", 0.0, 0.0, None),
                ("auto", -3.0, 5.0, 5.0),
            )
        ),
        # Newton's importer takes the smaller limit.
        (
            TURN,
            ("PhysicsDriveAPI:angular",),
            {
                "drive:angular:physics:maxForce": 2.0,
                "mjc:actuatorfrcrange:min": -3.0,
                "mjc:actuatorfrcrange:max": 3.0,
            },
            {"effort": 2.0},
        ),
    ],
)
def test_numbers_of_schemas_are_in_si_units(
    kind: type[UsdPhysics.Joint],
    schemas: tuple[str, ...],
    values: dict[str, object],
    expected: dict[str, float],
) -> None:
    scene, prim = _pair((TURN, kind))
    _author(prim, schemas, values)

    found = _numbers(joint_of(scene.read(), "it"))

    assert {name: value for name, value in found.items() if value is not None} == pytest.approx(
        expected
    )


def test_numbers_of_mujoco_are_in_radians_and_units_of_the_stage() -> None:
    scene, prim = _pair((TURN, SLIDE), length=0.01)
    coupling = {"mjc:target": "/r/lead", "mjc:coef0": 30.0, "mjc:coef1": 5.0, "mjc:damping": 3.0}
    _author(prim, ("MjcEqualityJointAPI",), coupling)
    lead = scene.stage.GetPrimAtPath("/r/lead")
    _author(lead, (), {"mjc:damping": 20000.0, "mjc:frictionloss": 10000.0})

    sliding, turning = (joint_of(scene.read(), name) for name in ("it", "lead"))

    assert sliding.mimic is not None
    assert sliding.mimic.joint == "lead"
    assert (sliding.mimic.offset, sliding.mimic.multiplier) == pytest.approx((0.3, 0.05))
    # Force over speed is mass over time; torques have a square of length.
    assert _numbers(sliding)["damping"] == pytest.approx(3.0)
    assert _numbers(turning)["damping"] == pytest.approx(2.0)
    assert _numbers(turning)["friction"] == pytest.approx(1.0)


_PHYSX_MIMIC = {
    "physxMimicJoint:rotX:referenceJoint": "/r/lead",
    "physxMimicJoint:rotX:gearing": 0.5,
    "physxMimicJoint:rotX:offset": 30.0,
}


@pytest.mark.parametrize(
    ("kinds", "schema", "values", "expected"),
    [
        # Degrees or centimetres, with opposite signs.
        *(
            (kinds, "PhysxMimicJointAPI:rotX", _PHYSX_MIMIC, expected)
            for kinds, expected in (
                ((TURN, TURN), (-0.5, -30 * DEGREE)),
                ((SLIDE, SLIDE), (-0.5, -0.3)),
                ((TURN, SLIDE), (-0.5 * 0.01 / DEGREE, -0.3)),
                ((SLIDE, TURN), (-0.5 * DEGREE / 0.01, -30 * DEGREE)),
            )
        ),
        (
            (TURN, TURN),
            "NewtonMimicAPI",
            {"newton:mimicJoint": "/r/lead", "newton:mimicCoef0": 90.0, "newton:mimicCoef1": -0.5},
            (-0.5, math.pi / 2),
        ),
        # Without the schema, or a polynomial, which URDF does not have.
        ((TURN, TURN), "", {"mjc:target": "/r/lead", "mjc:coef1": 2.0}, None),
        (
            (TURN, TURN),
            "MjcEqualityJointAPI",
            {"mjc:target": "/r/lead", "mjc:coef1": 2.0, "mjc:coef2": 1.0},
            None,
        ),
    ],
)
def test_couplings_of_schemas_are_read(
    kinds: tuple[type[UsdPhysics.Joint], type[UsdPhysics.Joint]],
    schema: str,
    values: dict[str, object],
    expected: tuple[float, float] | None,
) -> None:
    scene, prim = _pair(kinds, length=0.01)
    scene.stage.GetPrimAtPath("/r/lead").SetDisplayName("lead er")
    _author(prim, (schema,) if schema else (), values)

    mimic = joint_of(scene.read(), "it").mimic

    if expected is None:
        assert mimic is None
    else:
        assert mimic is not None
        assert mimic.joint == "lead er"
        assert (mimic.multiplier, mimic.offset) == pytest.approx(expected)


@pytest.mark.parametrize("profile", Profile)
def test_mimic_chain_is_restored_unless_a_schema_was_edited(
    tmp_path: Path, profile: Profile
) -> None:
    """Schemas refer to the first joint of the chain; simulators read the schema."""
    stage = author(tmp_path, *chain(), profile=profile)

    def mimics() -> dict[str, Mimic | None]:
        return {joint.name: joint.mimic for joint in read_stage(stage).robot.joints}

    before = mimics()
    assert before["second"] == Mimic("first", -0.5, 0.1)
    assert before["third"] == Mimic("second", 0.8, -0.2)
    third = stage.GetPrimAtPath("/r/Physics/third")
    if profile is Profile.GENERIC:
        third.GetAttribute("newton:mimicCoef1").Set(0.75)
        edited = mimics()["third"]
        assert edited is not None
        assert (edited.joint, edited.multiplier) == ("first", 0.75)
        third.GetAttribute("newton:mimicEnabled").Set(False)
        assert mimics()["third"] == before["third"]


@pytest.mark.parametrize(
    ("drive", "spring", "bias", "is_reported"),
    [
        (100.0, None, None, True),
        (None, 3.0, None, True),
        # The force of a motor is its control alone.
        (None, None, "none", False),
        (None, None, "affine", True),
    ],
)
def test_gains_are_reported(
    drive: float | None, spring: float | None, bias: str | None, is_reported: bool
) -> None:
    """Those of drives, and of springs and servos of MuJoCo."""
    scene, prim = _pair()
    if drive is not None:
        UsdPhysics.DriveAPI.Apply(prim, "angular").CreateStiffnessAttr(drive)
    if spring is not None:
        _author(prim, (), {"mjc:stiffness": spring})
    if bias is not None:
        actuator = scene.stage.DefinePrim("/r/actuator", "MjcActuator")
        _author(actuator, (), {"mjc:target": "/r/it", "mjc:biasType": bias})
        actuator.CreateAttribute("mjc:biasPrm", _TYPES.DoubleArray).Set([0.0, -9.0, 0.0])

    assert rules_of(scene.read()) == ["joint-drive-dropped"] * is_reported


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
_VALUES = {
    "limit": ("lower", "upper", "effort"),
    "dynamics": ("damping", "friction"),
    "mimic": ("multiplier", "offset", "joint"),
}


def _values(urdf: Path) -> dict[str, dict[str, float]]:
    """Return the numbers of the joints, and the joint that each follows."""
    found: dict[str, dict[str, float]] = {}
    for joint in ET.parse(urdf).getroot().findall("joint"):
        numbers = found[joint.get("name", "")] = {}
        for tag, names in _VALUES.items():
            element = joint.find(tag)
            for name in names:
                text = None if element is None else element.get(name)
                if text is not None and name == "joint":
                    numbers[f"follows {text}"] = 1.0
                elif text is not None:
                    numbers[name] = float(text)
    return found


def test_export_of_the_variant_for_mujoco_has_the_values_of_the_urdf(tmp_path: Path) -> None:
    """Of its schemas alone, without data of the conversion and drives."""
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        for name in "abcde"
    )
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(f'<robot name="r">{links}{_JOINTS}</robot>')
    asset = convert(urdf, tmp_path / "usd", ConvertOptions(physics_variants=True)).root_layer
    for file in asset.parent.rglob("*.usda"):
        layer = Sdf.Layer.FindOrOpen(str(file))
        paths: list[Sdf.Path] = []
        layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
        for path in paths:
            if path.IsPropertyPath() and path.name.startswith(("urdf:", "drive:")):
                prim = layer.GetPrimAtPath(path.GetPrimPath())
                prim.RemoveProperty(layer.GetPropertyAtPath(path))
        layer.Save()

    export(asset, tmp_path / "again.urdf", variants=(VariantChoice("Physics", "mujoco"),))

    # The schema has no value for friction that the URDF does not state.
    again, original = _values(tmp_path / "again.urdf"), _values(urdf)
    assert again == {name: pytest.approx(one) for name, one in original.items()}
