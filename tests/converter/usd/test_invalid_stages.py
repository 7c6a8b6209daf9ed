"""Stages with invalid values or missing layers.

``export`` refuses them, naming prim and layer; the engine of ``check`` reports invalid
values, and reads a stage with missing layers with a diagnostic for each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import InvalidFileError, Request
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.robot.model import (
    Continuous,
    Inertial,
    JointKind,
    Pose,
    Revolute,
    Spherical,
)

_AT_REST = Configurations((), (), ("zero",))
_ROBOT = """#usda 1.0
(
    defaultPrim = "robot"
    kilogramsPerUnit = 1
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 2
        float physics:density = 0
        point3f physics:centerOfMass = (0.1, 0.2, 0.3)
        float3 physics:diagonalInertia = (0.1, 0.2, 0.25)
        quatf physics:principalAxes = (1, 0, 0, 0)
        def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            double size = 0.2
        }
    }
    def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        double3 xformOp:translate = (0, 0, 1)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1
        point3f physics:centerOfMass = (0, 0, 0)
        float3 physics:diagonalInertia = (0.1, 0.1, 0.1)
        quatf physics:principalAxes = (1, 0, 0, 0)
    }
    def PhysicsRevoluteJoint "joint" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
    {
        uniform token physics:axis = "Z"
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
        point3f physics:localPos0 = (0, 0, 1)
        quatf physics:localRot0 = (1, 0, 0, 0)
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
        float drive:angular:physics:maxForce = 5
        double urdf:limit:velocity = 1
    }
}
"""
# The text that is replaced, and the prim or metadata in messages.
_NUMBERS = {
    "metersPerUnit = 1": "metersPerUnit",
    "kilogramsPerUnit = 1": "kilogramsPerUnit",
    "mass = 2": "/robot/base.physics:mass",
    "density = 0": "/robot/base.physics:density",
    "(0.1, 0.2, 0.3": "/robot/base.physics:centerOfMass",
    "(0.1, 0.2, 0.25": "/robot/base.physics:diagonalInertia",
    "principalAxes = (1, 0, 0, 0": "/robot/base.physics:principalAxes",
    "size = 0.2": "/robot/base/box.size",
    "translate = (0, 0, 1": "/robot/arm",
    "localPos0 = (0, 0, 1": "/robot/joint.physics:localPos0",
    "localRot0 = (1, 0, 0, 0": "/robot/joint.physics:localRot0",
    "lowerLimit = -90": "/robot/joint.physics:lowerLimit",
    "upperLimit = 90": "/robot/joint.physics:upperLimit",
    "maxForce = 5": "/robot/joint.drive:angular:physics:maxForce",
    "velocity = 1": "/robot/joint.urdf:limit:velocity",
}
# Infinity means that there is no limit.
_LIMITS = ("lowerLimit = -90", "upperLimit = 90", "maxForce = 5", "velocity = 1")


def _edited(old: str, new: str) -> str:
    assert old in _ROBOT

    return _ROBOT.replace(old, new, 1)


def _with_number(place: str, number: str) -> str:
    """Replace the last number of a text of the stage."""
    return _edited(place, f"{place.rpartition(' ')[0]} {number}")


def _file(folder: Path, text: str) -> Path:
    file = folder / "doubtful.usda"
    file.write_text(text)
    return file


_NOT_NUMBERS = [(_with_number(place, "nan"), _NUMBERS[place]) for place in _NUMBERS]
_INFINITE = [
    (_with_number(place, number), _NUMBERS[place])
    for place in _NUMBERS
    for number in ("inf", "-inf")
    if place not in _LIMITS
]
_UNITS = [
    (_with_number(f"{unit} = 1", number), unit)
    for unit in ("metersPerUnit", "kilogramsPerUnit")
    for number in ("0", "-1")
]
# OpenUSD composes any token.
_AXES = [
    (_edited('axis = "Z"', f'axis = "{axis}"'), "/robot/joint.physics:axis")
    for axis in ("Q", "z", "", "-Z")
]
# Without a default, the fallback of the schema would be read.
_SAMPLED = [
    (_edited(f"{name} = {value}", f"{name}.timeSamples = {{1: {value}}}"), "no default value")
    for name, value in (
        ("mass", "2"),
        ("translate", "(0, 0, 1)"),
        ("lowerLimit", "-90"),
        ("size", "0.2"),
    )
]
# Products overflow, and a rotation cannot be factored from it.
_HUGE = _edited(
    'xformOpOrder = ["xformOp:translate"]',
    'xformOpOrder = ["xformOp:translate", "xformOp:scale"]\n'
    "        double3 xformOp:scale = (1e200, 1e200, 1e200)",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [*_NOT_NUMBERS, *_INFINITE, *_UNITS, *_AXES, *_SAMPLED, (_HUGE, "/robot/arm")],
)
def test_value_without_meaning_is_refused_by_both(tmp_path: Path, text: str, expected: str) -> None:
    """Messages name prim and layer."""
    file = _file(tmp_path, text)
    with pytest.raises(StageError) as refused:
        read_usd(file)
    with pytest.raises(InvalidFileError) as invalid:
        OpenusdEngine().observe(Request(str(file), _AT_REST))

    assert {found.rule for found in refused.value.diagnostics} == {"stage-value"}
    for message in (str(refused.value), str(invalid.value)):
        assert expected in message
        assert str(file) in message


_MESH = (
    'def Mesh "part" {{\npoint3f[] points = [(0,0,0), (1,0,0), (0,1,{})]\n'
    'int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\n}}\ndef Cube "box"'
)
_ONCE = _with_number("translate = (0, 0, 1", "nan").replace(
    "(0, 0, nan)", '(0, 0, nan)\ndef Xform "below" {}'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Not for prims below.
        (_ONCE, "/robot/arm has no finite transform in "),
        # The mesh would be left out otherwise.
        (_edited('def Cube "box"', _MESH.format("nan")), "/robot/base/part.points"),
        (_edited('def Cube "box"', _MESH.format("inf")), "/robot/base/part.points"),
        # Products of units and values would overflow.
        (_edited("metersPerUnit = 1", "metersPerUnit = 1e39"), "metersPerUnit is 1e+39"),
        # Composition accepts both stages.
        (_edited('["xformOp:translate"]', '["xformOp:none"]'), "/robot/arm"),
        (
            _edited("rel physics:body1 = </robot/arm>", 'string physics:body1 = "x"'),
            "/robot/joint.physics:body1> is not a relationship",
        ),
    ],
)
def test_export_refuses_with_one_line(tmp_path: Path, text: str, expected: str) -> None:
    """Without source files of OpenUSD."""
    with pytest.raises(StageError) as refused:
        read_usd(_file(tmp_path, text))

    (found,) = refused.value.diagnostics
    assert expected in found.message
    assert "\n" not in str(refused.value)
    assert ".cpp" not in str(refused.value)


def test_value_that_becomes_nan_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No URDF has one, even if the computation of a mass is at fault."""
    inertial = Inertial(float("nan"), Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))

    def computed(*_: object) -> dict[str, Inertial]:
        return {"/robot/base": inertial, "/robot/arm": inertial}

    monkeypatch.setattr("urdf_usd.conformance.export.reading.read_inertials", computed)

    with pytest.raises(StageError, match="values of link 'base' are not a number"):
        read_usd(_file(tmp_path, _ROBOT))


_NO_LIMITS = (
    _edited("lowerLimit = -90", "lowerLimit = -inf")
    .replace("upperLimit = 90", "upperLimit = inf")
    .replace("maxForce = 5", "maxForce = inf")
)
# A spherical joint has none; an author wrote vectors.
_OTHER_SCHEMA = _edited("PhysicsRevoluteJoint", "PhysicsSphericalJoint").replace(
    "float physics:lowerLimit = -90",
    "float3 physics:lowerLimit = (-inf, -inf, -inf)",
)
# The schema documents this infinite value as unauthored.
_NO_CENTER = _edited("(0.1, 0.2, 0.3)", "(-inf, -inf, -inf)")


@pytest.mark.parametrize(
    ("text", "kind", "rules"),
    [
        (_ROBOT, Revolute, []),
        (_NO_LIMITS, Continuous, []),
        (_OTHER_SCHEMA, Spherical, None),
        (_NO_CENTER, Revolute, ["mass-computed"]),
    ],
)
def test_infinity_is_read_where_schemas_give_it_a_meaning(
    tmp_path: Path, text: str, kind: type[JointKind], rules: list[str] | None
) -> None:
    file = _file(tmp_path, text)

    reading = read_usd(file)

    (joint,) = reading.robot.joints
    assert isinstance(joint.kind, kind)
    assert (joint.effort is None) == (kind is not Revolute)
    assert rules is None or [found.rule for found in reading.diagnostics] == rules
    assert OpenusdEngine().observe(Request(str(file), _AT_REST)).joints


_MISSING = {
    "sublayer": _edited("metersPerUnit = 1", "subLayers = [@./none.usda@]"),
    "reference": _edited('def Xform "arm" (', 'def Xform "arm" (references = @./none.usda@ '),
    "payload": _edited('def Xform "arm" (', 'def Xform "arm" (payload = @./none.usda@ '),
    "corrupt reference": _edited(
        'def Xform "arm" (', 'def Xform "arm" (references = @./corrupt.usda@ '
    ),
    "prim": _edited('def Xform "arm" (', 'def Xform "arm" (references = </none> '),
    "cycle": _edited('def Xform "arm" (', 'def Xform "arm" (references = </robot> '),
    "inherited cycle": _edited('def Xform "arm" (', 'def Xform "arm" (inherits = </robot> '),
}


@pytest.mark.parametrize("what", _MISSING)
def test_missing_part_is_an_error_of_export_and_named_by_the_engine(
    tmp_path: Path, what: str
) -> None:
    """Messages name the layer that refers to it."""
    file = tmp_path / "partial.usda"
    file.write_text(_MISSING[what].replace(" prepend", "\n prepend"))
    (tmp_path / "corrupt.usda").write_text("#usda 1.0\ndef {{{")

    with pytest.raises(StageError) as refused:
        read_usd(file)
    observed = OpenusdEngine().observe(Request(str(file), _AT_REST))

    assert {found.rule for found in refused.value.diagnostics} == {"stage-incomplete"}
    assert observed.missing
    for message in (str(refused.value), *observed.missing):
        assert "partial.usda" in message
    # An address in memory would differ in each process.
    assert "0x" not in f"{refused.value}{observed.missing}{observed.notes}"


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("/robot/none", "mimic-target-missing"),
        ("/robot/arm.physics:mass", "mimic-target-missing"),
        ("/robot/joint", "mimic-loop"),
    ],
)
def test_mimic_of_no_other_joint_is_reported(tmp_path: Path, target: str, rule: str) -> None:
    """The coupling is dropped."""
    text = _edited('"PhysicsDriveAPI:angular"', '"NewtonMimicAPI"')
    mimic = f"rel newton:mimicJoint = <{target}>\nrel physics:body0"

    reading = read_usd(_file(tmp_path, text.replace("rel physics:body0", mimic)))

    assert [found.rule for found in reading.diagnostics] == [rule]
    assert reading.robot.joints[0].mimic is None
