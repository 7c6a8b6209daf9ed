"""Small robots that conform, and USDs of them that do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from pxr import Usd, UsdPhysics

from urdf_usd.cli.main import main
from urdf_usd.conformance.execution.run import check
from urdf_usd.converter import convert
from urdf_usd.reports.records.record import Grade

_ROBOTS = Path(__file__).parents[2] / "data/robots"


def test_halved_mass_of_a_flat_body_fails_the_round_trip_too(tmp_path: Path) -> None:
    urdf = _ROBOTS / "flat.urdf"
    usd = convert(urdf, tmp_path).root_layer
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
    urdf = _ROBOTS / "without-mesh.urdf"
    usd = convert(urdf, tmp_path).root_layer
    result = CliRunner().invoke(main, ["check", str(urdf), str(usd), "--fail-on", fail_on])

    assert result.exit_code == code
    assert result.output.startswith("◐ incomplete (not counted as conforming)  meshless")
    assert "gone.stl" in result.output
