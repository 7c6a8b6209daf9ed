"""Assets with mass and inertia from shapes, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh
from msgspec import structs
from pxr import Gf, Usd, UsdPhysics

from tests.conformance.direct import examine_here, examine_pair_here
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import InertiaOption
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict

# A base with mass and no inertia, an arm without mass with an open and a closed mesh,
# a tool that is fixed to it, and a wrist with an impossible inertia.
_URDF = """<robot name="arm">
  <link name="trunk">
    <inertial><origin xyz="0.01 0.02 0.03"/><mass value="4"/></inertial>
    <collision><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.7 1.1"/>
      <geometry><box size="0.3 0.2 0.7"/></geometry></collision>
  </link>
  <link name="arm">
    <collision><origin xyz="0 0 0.2" rpy="0 0.4 0"/>
      <geometry><mesh filename="closed.stl" scale="0.5 0.6 0.7"/></geometry></collision>
    <collision><origin xyz="0 0.5 0.2"/>
      <geometry><mesh filename="open.stl" scale="0.5 0.6 -0.7"/></geometry></collision>
  </link>
  <link name="tool"><visual><geometry><sphere radius="0.07"/></geometry></visual></link>
  <link name="wrist">
    <inertial><mass value="0.5"/><inertia ixx="0.1" iyy="0.1" izz="0.5" ixy="0.01"
      ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0.1 0" rpy="1 0 0"/>
      <geometry><capsule radius="0.05" length="0.2"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute"><parent link="trunk"/><child link="arm"/>
    <origin xyz="0 0 0.5" rpy="0 0.2 0"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
  <joint name="grip" type="fixed"><parent link="arm"/><child link="tool"/>
    <origin xyz="0 0 0.4"/></joint>
  <joint name="roll" type="continuous"><parent link="tool"/><child link="wrist"/>
    <origin xyz="0.1 0 0.2"/><axis xyz="1 0 0"/></joint>
</robot>"""
_OPTIONS = ConvertOptions(inertia=InertiaOption.GEOMETRY, mass_density=1500.0)


def _robot(folder: Path) -> Path:
    outline = [(0, 0), (0.4, 0), (0.4, 0.1), (0.1, 0.1), (0.1, 0.5), (0, 0.5)]
    triangles = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    mesh = trimesh.creation.extrude_triangulation(np.array(outline), triangles, 0.2)
    mesh.export(folder / "closed.stl")
    trimesh.Trimesh(mesh.vertices, mesh.faces[1:]).export(folder / "open.stl")
    urdf = folder / "arm.urdf"
    urdf.write_text(_URDF)
    return urdf


def _grades(record: RobotRecord) -> dict[str, Grade]:
    return {check.id: check.grade for check in record.checks}


def test_estimated_mass_is_close_and_never_exact(tmp_path: Path) -> None:
    record = examine_here(_robot(tmp_path), tmp_path / "run", _OPTIONS)

    assert record.verdict is Verdict.CLOSE, record.reason
    grades = _grades(record)
    masses = ("mass.link.mass", "mass.link.center", "mass.link.inertia", "mass.total")
    assert {grades[name] for name in masses} == {Grade.CLOSE}
    (check,) = (each for each in record.checks if each.id == "mass.link.inertia")
    assert check.worst is not None
    assert check.bound is not None
    assert check.worst <= check.bound
    texts = {finding.subject: finding.message for finding in check.findings}
    assert set(texts) == {"link trunk", "link arm", "link tool", "link wrist"}
    assert texts["link arm"] == ("link arm: estimated from shapes, not stated by the URDF")
    rules = [found.rule for found in record.diagnostics]
    assert rules.count("mass-estimated") == 2
    assert rules.count("inertia-estimated") == 2


def test_density_and_option_have_to_be_those_of_the_conversion(tmp_path: Path) -> None:
    urdf = _robot(tmp_path)
    usd = convert(urdf, tmp_path / "asset", _OPTIONS).root_layer

    same = examine_pair_here(urdf, usd, options=_OPTIONS)
    other = examine_pair_here(urdf, usd, options=structs.replace(_OPTIONS, mass_density=1400.0))
    plain = examine_pair_here(urdf, usd)

    assert same.verdict is Verdict.CLOSE, same.reason
    assert _grades(other)["mass.link.mass"] is Grade.FAILS
    assert _grades(other)["mass.link.inertia"] is Grade.FAILS
    assert plain.verdict is Verdict.FAILS


def _set(name: str, change: Callable[[object], object]) -> Callable[[Usd.Prim], None]:
    def edit(prim: Usd.Prim) -> None:
        attribute = prim.GetAttribute(name)
        attribute.Set(change(attribute.Get()))

    return edit


def _turn(prim: Usd.Prim) -> None:
    turn = Gf.Quatf(0.9987, 0.0, 0.05, 0.0).GetNormalized()
    attribute = UsdPhysics.MassAPI(prim).GetPrincipalAxesAttr()
    attribute.Set(turn * attribute.Get())


@pytest.mark.parametrize(
    ("link", "edit", "check"),
    [
        ("arm", _set("physics:mass", lambda m: 1.001 * m), "mass.link.mass"),  # type: ignore[operator]  # a number
        ("trunk", _set("physics:mass", lambda m: 0.999 * m), "mass.link.mass"),  # type: ignore[operator]  # a number
        (
            "arm",
            _set("physics:centerOfMass", lambda c: c + Gf.Vec3f(0, 2e-5, 0)),
            "mass.link.center",
        ),
        (
            "trunk",
            _set("physics:diagonalInertia", lambda i: 1.001 * i),  # type: ignore[operator]  # a vector
            "mass.link.inertia",
        ),
        (
            "wrist",
            _set("physics:diagonalInertia", lambda _: Gf.Vec3f(0.1, 0.1, 0.5)),
            "mass.link.inertia",
        ),
        ("arm", _turn, "mass.link.inertia"),
    ],
    ids=["mass", "stated mass", "centre", "inertia", "stated inertia", "axes"],
)
def test_wrong_estimates_fail(
    tmp_path: Path, link: str, edit: Callable[[Usd.Prim], None], check: str
) -> None:
    urdf = _robot(tmp_path)
    usd = convert(urdf, tmp_path / "asset", _OPTIONS).root_layer
    stage = Usd.Stage.Open(str(usd))
    bodies = (p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI))
    edit(next(prim for prim in bodies if prim.GetName() == link))
    stage.GetRootLayer().Save()

    record = examine_pair_here(urdf, usd, options=_OPTIONS)

    assert record.verdict is Verdict.FAILS
    assert _grades(record)[check] is Grade.FAILS
