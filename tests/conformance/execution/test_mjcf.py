"""A USD against the MJCF that it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.conformance.execution.run import check
from urdf_usd.conformance.execution.sources import mjcf_inputs
from urdf_usd.corpus.files import Format, robot_format
from urdf_usd.reports.records.record import RobotRecord, Verdict

_MJCF = """<!-- <robot/> --><mujoco model="neck">
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="trunk" pos="0 0 0.5">
      <geom type="box" size="0.1 0.2 0.3" mass="4"/>
      <body name="head" pos="0 0 0.4">
        <joint name="yaw" axis="0 0 1" range="-90 60" damping="0.2"/>
        <joint name="nod" axis="0 1 0" pos="0.03 0 0" range="-30 45"/>
        <inertial pos="0.02 0 0.1" mass="2" diaginertia="0.01 0.02 0.015"/>
        <geom type="sphere" size="0.1" pos="0 0 0.1"/>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="yaw" kp="20"/></actuator>
</mujoco>
"""
# Density and inertia of the box: 1/3 m (b^2 + c^2) with half edges.
_USD = """#usda 1.0
(
    defaultPrim = "neck"
    kilogramsPerUnit = 1
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "neck"
{
    def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
    {
        float physics:staticFriction = 1
        float physics:dynamicFriction = 1
    }
    def Xform "trunk" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI",
        "PhysicsArticulationRootAPI", "NewtonArticulationRootAPI"])
    {
        uniform bool newton:jointsAddMobility = 1
        double3 xformOp:translate = (0, 0, 0.5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 4
        point3f physics:centerOfMass = (0, 0, 0)
        float3 physics:diagonalInertia = (0.17333333, 0.13333333, 0.06666667)
        quatf physics:principalAxes = (1, 0, 0, 0)
        def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
        {
            double size = 2
            rel material:binding:physics = </neck/rubber>
            color3f[] primvars:displayColor = [(0.21404114, 0.21404114, 0.21404114)]
            float3 xformOp:scale = (0.1, 0.2, 0.3)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }
        def PhysicsFixedJoint "hold"
        {
            rel physics:body1 = </neck/trunk>
            point3f physics:localPos0 = (0, 0, 0.5)
        }
        def Xform "head" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
        {
            double3 xformOp:translate = (0, 0, 0.4)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            float physics:mass = 2
            point3f physics:centerOfMass = (0.02, 0, 0.1)
            float3 physics:diagonalInertia = (0.01, 0.02, 0.015)
            quatf physics:principalAxes = (1, 0, 0, 0)
            def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
            {
                double radius = 0.1
                rel material:binding:physics = </neck/rubber>
                color3f[] primvars:displayColor = [(0.21404114, 0.21404114, 0.21404114)]
                double3 xformOp:translate = (0, 0, 0.1)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
            def PhysicsRevoluteJoint "yaw" (prepend apiSchemas = ["NewtonJointAPI"])
            {
                rel physics:body0 = </neck/trunk>
                rel physics:body1 = </neck/trunk/head>
                uniform token physics:axis = "Z"
                point3f physics:localPos0 = (0, 0, 0.4)
                float physics:lowerLimit = -90
                float physics:upperLimit = 60
                float newton:damping = 0.0034906585
            }
            def PhysicsRevoluteJoint "nod"
            {
                rel physics:body0 = </neck/trunk>
                rel physics:body1 = </neck/trunk/head>
                uniform token physics:axis = "Y"
                point3f physics:localPos0 = (0.03, 0, 0.4)
                point3f physics:localPos1 = (0.03, 0, 0)
                float physics:lowerLimit = -30
                float physics:upperLimit = 45
            }
        }
    }
}
"""


def _files(folder: Path, usd: str = _USD, mjcf: str = _MJCF) -> tuple[Path, Path]:
    files = folder / "neck.xml", folder / "neck.usda"
    for file, text in zip(files, (mjcf, usd), strict=True):
        file.write_text(text)
    return files


def _failed(record: RobotRecord) -> set[str]:
    return {one.id for one in record.checks if one.grade.severity > 1 and one.findings}


def test_usd_with_joints_in_series_equals_its_mjcf(tmp_path: Path) -> None:
    record = check(*_files(tmp_path))

    assert record.verdict is Verdict.EXACT, record.reason
    assert record.reason.endswith("; one engine read the MJCF")
    assert record.uncompared == {"actuators": 1}
    assert record.formats == ("mjcf", "usd")
    assert not record.deviations
    sides = {engine.name: engine.side for engine in record.engines}
    assert (sides["mujoco-mjcf"], sides["openusd"]) == ("mjcf", "usd")
    compared = {one.id: one.compared for one in record.checks}
    assert compared["limits.lower"] == 2
    assert compared["dynamics.inertia_matrix"] > 0
    assert compared["simulation.contacts"] > 0


@pytest.mark.parametrize(
    ("right", "wrong", "caught"),
    [
        ("upperLimit = 60", "upperLimit = 61", "limits.upper"),
        ("newton:damping = 0.0034906585", "newton:damping = 0.2", "dynamics.damping"),
        ("newton:jointsAddMobility = 1", "newton:jointsAddMobility = 0", "structure.links"),
        ('Joint "nod"', 'Joint "tilt"', "structure.joints"),
        ("dynamicFriction = 1", "dynamicFriction = None", "simulation.contacts"),
        (
            "upperLimit = 45",
            "upperLimit = 45\n quatf physics:localRot0 = (2, 0, 0, 0)",
            "structure.values",
        ),
        ("upperLimit = 45", "upperLimit = 45\n uniform double mjc:margin = 0.5", "dynamics.joints"),
    ],
)
def test_wrong_values_are_caught(right: str, wrong: str, caught: str, tmp_path: Path) -> None:
    assert right in _USD

    record = check(*_files(tmp_path, _USD.replace(right, wrong)))

    assert record.verdict is Verdict.FAILS
    assert caught in _failed(record)


def test_command_says_what_is_not_compared(tmp_path: Path) -> None:
    mjcf, usd = map(str, _files(tmp_path))
    page = tmp_path / "neck.html"

    result = urdf_usd("check", mjcf, usd, "--html", page)

    assert result.exit_code == 0, result.output
    assert "Not compared: actuators (1)" in result.output
    assert "URDF" not in result.output
    assert "actuators (1)" in page.read_text()


def test_refused_mjcf_ends_with_its_reason(tmp_path: Path) -> None:
    mjcf, usd = map(str, _files(tmp_path, mjcf="<mujoco><worldbody/></mujoco>"))

    result = urdf_usd("check", mjcf, usd)

    assert result.exit_code == 2
    assert "neck.xml:1:1: error: the MJCF has no body." in result.output


def test_inputs_are_includes_meshes_and_textures(tmp_path: Path) -> None:
    robot = tmp_path / "robot.xml"
    robot.write_text(
        "<mujoco><compiler meshdir='m' texturedir='t'/><include file='parts/arm.xml'/></mujoco>"
    )
    for name in ("parts/arm.xml", "m/arm.stl", "t/wood.png"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    (tmp_path / "parts/arm.xml").write_text(
        "<mujoco><asset><mesh file='arm.stl'/><mesh file='none.stl'/>"
        "<texture file='wood.png'/></asset></mujoco>"
    )

    names = [Path(file.path).relative_to(tmp_path).as_posix() for file in mjcf_inputs(robot)]

    assert names == ["robot.xml", "parts/arm.xml", "m/arm.stl", "t/wood.png"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<?xml version='1.0'?>\n<!-- <robot> -->\n<mujoco/>", Format.MJCF),
        ("<!DOCTYPE mujoco [<!ENTITY a 'b'>]><mujoco/>", Format.MJCF),
        ("<robot name='r'><mujoco/></robot>", Format.URDF),
        ("<mujocoinclude/>", Format.URDF),
        ("#usda 1.0", Format.URDF),
    ],
)
def test_root_element_decides_the_format(text: str, expected: Format, tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(text)

    assert robot_format(file) is expected


_REPORT = ("index.html", "junit.xml", "summary.md", "badge.json", "badge.svg", "findings.sarif")


def test_report_of_a_run_does_not_say_urdf(tmp_path: Path) -> None:
    for folder in ("robots", "usds/neck"):
        (tmp_path / folder).mkdir(parents=True)
    mjcf, usd = _files(tmp_path, _USD.replace("physics:mass = 2", "physics:mass = 2.1"))
    mjcf.rename(tmp_path / "robots/neck.xml")
    usd.rename(tmp_path / "usds/neck/neck.usda")
    out, ready = tmp_path / "out", f"ready=folder:{tmp_path / 'usds'}"

    result = urdf_usd("run", f"mjcf:{tmp_path / 'robots'}", "--converter", ready, "--out", out)

    assert result.exit_code == 1, result.output
    files = [*(out / "robots").glob("*.html"), *(out / name for name in _REPORT)]
    texts = {file.name: file.read_text() for file in files}
    for name, text in {"terminal": result.output, **texts}.items():
        assert "URDF" not in text, name
    assert "expected (MJCF):" in texts["junit.xml"]
