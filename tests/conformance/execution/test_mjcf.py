"""A USD against the MJCF that it was made from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.fault import ROBOTS
from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.conformance.descriptions import mjcf_inputs
from urdf_usd.conformance.execution.run import check
from urdf_usd.corpus.files import Format, robot_format
from urdf_usd.reports.records.record import Verdict


def _files(folder: Path, right: str = "", wrong: str = "") -> tuple[Path, Path]:
    """Copy a robot with joints in series, and a USD of it with one wrong value."""
    mjcf, usd = folder / "oblique_neck.xml", folder / "oblique_neck.usda"
    for name in (mjcf.name, "wedge.obj"):
        shutil.copy(ROBOTS / name, folder)
    text = (ROBOTS / usd.name).read_text()
    assert right in text
    usd.write_text(text.replace(right, wrong))
    return mjcf, usd


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
    assert compared["limits.lower"] == 4
    assert compared["dynamics.inertia_matrix"] > 0
    assert compared["simulation.contacts"] > 0


@pytest.mark.parametrize(
    ("right", "wrong", "caught"),
    [
        ("upperLimit = 60", "upperLimit = 61", "limits.upper"),
        ("newton:damping = 0.0034906585", "newton:damping = 0.2", "dynamics.damping"),
        ("newton:jointsAddMobility = 1", "newton:jointsAddMobility = 0", "structure.links"),
        ('Joint "swivel"', 'Joint "tilt"', "structure.joints"),
        ("dynamicFriction = 0.8", "dynamicFriction = None", "simulation.contacts"),
        ("localRot1 = (0.30290547,", "localRot1 = (2,", "structure.values"),
        ("upperLimit = 45", "upperLimit = 45\n uniform double mjc:margin = 0.5", "dynamics.joints"),
    ],
)
def test_wrong_values_are_caught(right: str, wrong: str, caught: str, tmp_path: Path) -> None:
    record = check(*_files(tmp_path, right, wrong))

    assert record.verdict is Verdict.FAILS
    assert caught in {one.id for one in record.checks if one.grade.severity > 1 and one.findings}


def test_command_says_what_is_not_compared(tmp_path: Path) -> None:
    page = tmp_path / "neck.html"

    result = urdf_usd("check", *_files(tmp_path), "--html", page)

    assert result.exit_code == 0, result.output
    assert "Not compared: actuators (1)" in result.output
    assert "URDF" not in result.output
    assert "actuators (1)" in page.read_text()


def test_refused_mjcf_ends_with_its_reason(tmp_path: Path) -> None:
    mjcf, usd = _files(tmp_path)
    mjcf.write_text("<mujoco><worldbody/></mujoco>")

    result = urdf_usd("check", mjcf, usd)

    assert result.exit_code == 2
    assert "oblique_neck.xml:1:1: error: the MJCF has no body." in result.output


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


def test_report_of_a_run_does_not_say_urdf(tmp_path: Path) -> None:
    _files(tmp_path, "physics:mass = 4.5", "physics:mass = 4.6")
    out, ready = tmp_path / "out", f"ready=folder:{tmp_path}"

    result = urdf_usd("run", f"mjcf:{tmp_path}", "--converter", ready, "--out", out)

    assert result.exit_code == 1, result.output
    names = ("index.html", "junit.xml", "summary.md", "badge.json", "badge.svg", "findings.sarif")
    texts = {file.name: file.read_text() for file in map(out.joinpath, names)}
    (page,) = (out / "robots").glob("*.html")
    for name, text in {"terminal": result.output, "page": page.read_text(), **texts}.items():
        assert "URDF" not in text, name
    assert "expected (MJCF):" in texts["junit.xml"]
