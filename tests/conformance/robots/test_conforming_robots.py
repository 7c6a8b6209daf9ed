"""Small robots that conform, and USDs of them that do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from pxr import Usd, UsdPhysics

from tests.reversed_axis import JOINT, URDF, reverse_axis
from urdf_usd.cli.main import main
from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.converter import convert
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict

_BODY = """<inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
_ENDS = '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'


def _pair(joint_type: str) -> str:
    return f"""<robot name="pair"><link name="a">{_BODY}</link><link name="b">{_BODY}
      </link><joint name="j" type="{joint_type}">{_ENDS}</joint></robot>"""


# No engine can simulate a body without inertia.
_POINTS = f"""<robot name="points"><link name="a"/>
  <link name="b"><inertial><mass value="1"/></inertial></link>
  <joint name="j" type="prismatic">{_ENDS}
    <limit lower="-4" upper="4" effort="9" velocity="9"/></joint></robot>"""
# MuJoCo includes the plate's inertia; that of the pole breaks A + B >= C.
_PLATE = f"""<robot name="plate"><link name="a">{_BODY}</link>
  <link name="b"><inertial><mass value="0"/>
    <inertia ixx="0.5" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.5"/></inertial></link>
  <joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
  <link name="pole"><inertial><mass value="0.4"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.4"/></inertial></link>
  <joint name="k" type="fixed"><parent link="b"/><child link="pole"/></joint></robot>"""
# A + B = C for the last link, as for flat bodies.
_FLAT = f"""<robot name="flat"><link name="a">{_BODY}</link>
  <link name="b"><inertial><mass value="1.06"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link>
  <joint name="j" type="continuous">{_ENDS}</joint></robot>"""
# MuJoCo refuses a second inertial, so that the mass of the link is left out.
_TWICE = f"""<robot name="twice"><link name="a">{_BODY}</link>
  <link name="b">{_BODY}{_BODY.replace("1", "3")}</link>
  <joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
  <link name="c">{_BODY}{_BODY.replace("1", "3")}</link>
  <joint name="k" type="continuous"><parent link="b"/><child link="c"/></joint>
  </robot>"""
_MESHLESS = f"""<robot name="meshless"><link name="a">{_BODY}
  <visual><geometry><mesh filename="gone.stl"/></geometry></visual>
  <visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>"""


def _checked(text: str, folder: Path) -> RobotRecord:
    return check(*_converted(text, folder))


def _converted(text: str, folder: Path) -> tuple[Path, Path]:
    urdf = folder / "robot.urdf"
    urdf.write_text(text)
    return urdf, convert(urdf, folder / "usd").root_layer


def test_sums_leave_out_a_mass_that_the_engine_does_not_read(tmp_path: Path) -> None:
    record = check(*_converted(_TWICE, tmp_path), CheckOptions(engines=("mujoco",)))

    assert record.verdict.conforms, record.reason
    assert record.deviations == ()


@pytest.mark.parametrize(
    "text",
    [_pair("prismatic"), _pair("revolute"), _POINTS, _PLATE, _FLAT],
    ids=["prismatic", "revolute", "points", "plate", "flat"],
)
def test_small_robots_conform(text: str, tmp_path: Path) -> None:
    record = _checked(text, tmp_path)

    assert record.verdict.conforms, record.reason
    assert "unexplained" not in {deviation.id for deviation in record.deviations}
    for one in record.checks:
        assert (one.grade is Grade.NOT_APPLICABLE) == (one.compared == 0)


def test_halved_mass_of_a_flat_body_fails_the_round_trip_too(tmp_path: Path) -> None:
    urdf, usd = _converted(_FLAT, tmp_path)
    stage = Usd.Stage.Open(str(usd))
    body = next(prim for prim in stage.Traverse() if prim.GetName() == "b")
    mass = UsdPhysics.MassAPI(body).GetMassAttr()
    mass.Set(mass.Get() / 2)
    UsdPhysics.MassAPI(body).GetDiagonalInertiaAttr().Set((0.1, 0.2, 0.3))
    stage.Save()

    grades = {one.id: one.grade for one in check(urdf, usd).checks}

    for check_id in ("mass.link.mass", "mass.total"):
        assert grades[check_id] is Grade.FAILS
        assert grades[f"round-trip.{check_id}"] is Grade.FAILS


@pytest.mark.parametrize(("fail_on", "code"), [("fails", 0), ("incomplete", 1), ("close", 1)])
def test_asset_without_a_mesh_is_incomplete(fail_on: str, code: int, tmp_path: Path) -> None:
    files = map(str, _converted(_MESHLESS, tmp_path))
    result = CliRunner().invoke(main, ["check", *files, "--fail-on", fail_on])

    assert result.exit_code == code
    assert result.output.startswith("◐ incomplete (not counted as conforming)  meshless")
    assert "gone.stl" in result.output


def test_asset_without_a_texture_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "plate.mtl").write_text("newmtl m\nKd 1 0 0\nmap_Kd gone.png\n")
    (tmp_path / "plate.obj").write_text(
        "mtllib plate.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"
        "usemtl m\nf 1/1 2/2 3/3\n"
    )
    record = _checked(
        f"""<robot name="plain"><link name="a">{_BODY}<visual><geometry>
        <mesh filename="plate.obj"/></geometry></visual></link></robot>""",
        tmp_path,
    )

    assert record.verdict is Verdict.INCOMPLETE
    assert "gone.png" in record.reason


def test_record_names_the_link_of_a_missing_mesh(tmp_path: Path) -> None:
    record = _checked(_MESHLESS, tmp_path)
    shapes = next(one for one in record.checks if one.id == "visual.shapes")
    support = next(one for one in record.checks if one.id == "visual.support")

    assert record.verdict is Verdict.INCOMPLETE
    assert shapes.grade is Grade.NOT_COMPARABLE
    assert shapes.findings[0].subject == "link a"
    assert support.grade is Grade.EXACT


def test_reversed_axis_is_one_finding_on_its_joint(tmp_path: Path) -> None:
    record = check(URDF, reverse_axis(tmp_path / "asset"))
    kinematics = [one for one in record.checks if one.group == "kinematics"]
    findings = [finding for one in kinematics for finding in one.findings]

    assert {finding.subject for finding in findings} == {f"joint {JOINT}"}
    assert all("axis is reversed" in finding.message for finding in findings)
