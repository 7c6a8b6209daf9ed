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
from urdf_usd.converter.robot.model import Continuous, Inertial, Pose

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


def _with_number(place: str, number: str) -> str:
    """Replace the last number of a text of the stage."""
    head, separator = place.rpartition(" ")[:2]
    return _edited(place, f"{head}{separator}{number}")


def _edited(old: str, new: str) -> str:
    assert old in _ROBOT

    return _ROBOT.replace(old, new, 1)


def _refusals(text: str, folder: Path) -> tuple[str, str]:
    """Return why both readers refuse a stage."""
    file = folder / "doubtful.usda"
    file.write_text(text)
    with pytest.raises(StageError) as refused:
        read_usd(file)
    with pytest.raises(InvalidFileError) as invalid:
        OpenusdEngine().observe(Request(str(file), _AT_REST))
    assert {found.rule for found in refused.value.diagnostics} == {"stage-value"}
    return str(refused.value), str(invalid.value)


def test_stage_without_faults_is_read(tmp_path: Path) -> None:
    file = tmp_path / "robot.usda"
    file.write_text(_ROBOT)

    assert len(read_usd(file).robot.links) == 2
    assert not OpenusdEngine().observe(Request(str(file), _AT_REST)).missing


@pytest.mark.parametrize("place", _NUMBERS)
def test_nan_is_refused_and_names_prim_and_layer(tmp_path: Path, place: str) -> None:
    for message in _refusals(_with_number(place, "nan"), tmp_path):
        assert _NUMBERS[place] in message
        assert str(tmp_path / "doubtful.usda") in message


def test_transform_that_is_nan_is_named_once(tmp_path: Path) -> None:
    file = tmp_path / "r.usda"
    file.write_text(
        _with_number("translate = (0, 0, 1", "nan").replace(
            "translate = (0, 0, nan)", 'translate = (0, 0, nan)\ndef Xform "below" {}'
        )
    )

    with pytest.raises(StageError) as refused:
        read_usd(file)

    (found,) = refused.value.diagnostics
    assert found.message.startswith("/robot/arm has no finite transform in ")


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_mesh_point_that_is_not_finite_names_the_attribute(tmp_path: Path, number: str) -> None:
    mesh = (
        f'def Mesh "part" {{\npoint3f[] points = [(0,0,0), (1,0,0), (0,1,{number})]\n'
        "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\n}\n"
    )
    file = tmp_path / "r.usda"
    file.write_text(_edited('def Cube "box"', f'{mesh}def Cube "box"'))

    with pytest.raises(StageError, match=r"/robot/base/part\.points") as refused:
        read_usd(file)

    assert [one.rule for one in refused.value.diagnostics] == ["stage-value"]


def test_unit_beyond_float32_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.usda"
    file.write_text(_edited("metersPerUnit = 1", "metersPerUnit = 1e39"))

    with pytest.raises(StageError, match="metersPerUnit is 1e\\+39"):
        read_usd(file)


def test_value_that_becomes_nan_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.usda"
    file.write_text(_ROBOT)
    inertial = Inertial(float("nan"), Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))

    def computed(*_: object) -> dict[str, Inertial]:
        return {"/robot/base": inertial, "/robot/arm": inertial}

    monkeypatch.setattr("urdf_usd.conformance.export.reading.read_inertials", computed)

    with pytest.raises(StageError, match="values of link 'base' are not a number"):
        read_usd(file)


def test_infinite_limits_of_another_schema_are_ignored(tmp_path: Path) -> None:
    text = _edited("PhysicsRevoluteJoint", "PhysicsSphericalJoint").replace(
        "float physics:lowerLimit = -90", "float3 physics:lowerLimit = (-inf, -inf, -inf)"
    )
    file = tmp_path / "r.usda"
    file.write_text(text)

    assert len(read_usd(file).robot.joints) == 1


@pytest.mark.parametrize("place", [p for p in _NUMBERS if p not in _LIMITS])
@pytest.mark.parametrize("number", ["inf", "-inf"])
def test_infinity_is_refused_where_it_has_no_meaning(
    tmp_path: Path, place: str, number: str
) -> None:
    for message in _refusals(_with_number(place, number), tmp_path):
        assert _NUMBERS[place] in message


@pytest.mark.parametrize("unit", ["metersPerUnit = 1", "kilogramsPerUnit = 1"])
@pytest.mark.parametrize("number", ["0", "-1"])
def test_unit_that_is_not_positive_is_refused(tmp_path: Path, unit: str, number: str) -> None:
    for message in _refusals(_with_number(unit, number), tmp_path):
        assert _NUMBERS[unit] in message


def test_infinite_limits_mean_no_limit(tmp_path: Path) -> None:
    """As the schemas document."""
    text = _edited("lowerLimit = -90", "lowerLimit = -inf")
    text = text.replace("upperLimit = 90", "upperLimit = inf")
    text = text.replace("maxForce = 5", "maxForce = inf")
    file = tmp_path / "free.usda"
    file.write_text(text)

    joint = read_usd(file).robot.joints[0]

    assert isinstance(joint.kind, Continuous)
    assert joint.effort is None
    assert OpenusdEngine().observe(Request(str(file), _AT_REST)).joints


def test_fallback_of_centre_of_mass_means_unauthored(tmp_path: Path) -> None:
    """The schema documents this infinite value."""
    file = tmp_path / "fallback.usda"
    file.write_text(_edited("(0.1, 0.2, 0.3)", "(-inf, -inf, -inf)"))

    reading = read_usd(file)

    assert [found.rule for found in reading.diagnostics] == ["mass-computed"]


@pytest.mark.parametrize("axis", ["Q", "z", "", "-Z"])
def test_axis_other_than_xyz_is_refused(tmp_path: Path, axis: str) -> None:
    """OpenUSD composes any token."""
    for message in _refusals(_edited('axis = "Z"', f'axis = "{axis}"'), tmp_path):
        assert "/robot/joint.physics:axis" in message
        assert axis in message if axis else "''" in message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mass = 2", "mass.timeSamples = {1: 2}"),
        ("translate = (0, 0, 1)", "translate.timeSamples = {1: (0, 0, 1)}"),
        ("lowerLimit = -90", "lowerLimit.timeSamples = {1: -90}"),
        ("size = 0.2", "size.timeSamples = {1: 0.2}"),
    ],
)
def test_time_samples_without_default_are_refused(tmp_path: Path, old: str, new: str) -> None:
    """Without them, the fallback of the schema would be read."""
    for message in _refusals(_edited(old, new), tmp_path):
        assert "time samples and no default value" in message


def test_transform_beyond_float32_is_refused(tmp_path: Path) -> None:
    text = _edited(
        'xformOpOrder = ["xformOp:translate"]',
        'xformOpOrder = ["xformOp:translate", "xformOp:scale"]\n'
        "        double3 xformOp:scale = (1e200, 1e200, 1e200)",
    )

    for message in _refusals(text, tmp_path):
        assert "/robot/arm" in message


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
    ("old", "new", "expected"),
    [
        ('["xformOp:translate"]', '["xformOp:none"]', "/robot/arm"),
        (
            "rel physics:body1 = </robot/arm>",
            'string physics:body1 = "x"',
            "/robot/joint.physics:body1> is not a relationship",
        ),
    ],
)
def test_error_of_openusd_is_one_line_without_its_source_files(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    file = tmp_path / "odd.usda"
    file.write_text(_edited(old, new))

    with pytest.raises(StageError) as refused:
        read_usd(file)

    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)
    assert ".cpp" not in str(refused.value)


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("/robot/none", "mimic-target-missing"),
        ("/robot/arm.physics:mass", "mimic-target-missing"),
        ("/robot/joint", "mimic-loop"),
    ],
)
def test_mimic_of_no_other_joint_is_reported(tmp_path: Path, target: str, rule: str) -> None:
    text = _edited('"PhysicsDriveAPI:angular"', '"NewtonMimicAPI"')
    file = tmp_path / "mimic.usda"
    file.write_text(
        text.replace("rel physics:body0", f"rel newton:mimicJoint = <{target}>\nrel physics:body0")
    )

    reading = read_usd(file)

    assert [found.rule for found in reading.diagnostics] == [rule]
    assert reading.robot.joints[0].mimic is None
