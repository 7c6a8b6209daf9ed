"""`urdf-usd reduce`: files, output and refusals."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from lxml import etree

from tests.urdf_usd.cli.command import DATA, urdf_usd

_MESH = (DATA / "tetrahedron.stl").read_text("utf-8")
_URDF = (DATA / "reduced.urdf").read_text("utf-8")
_LINKS = (DATA / "two_links.urdf").read_text("utf-8")


def _robot(folder: Path) -> Path:
    (folder / "meshes").mkdir()
    (folder / "meshes" / "tip.stl").write_text(_MESH, encoding="utf-8")
    urdf = folder / "arm.urdf"
    urdf.write_text(_URDF, encoding="utf-8")
    return urdf


def test_robot_is_reduced_to_the_link_with_the_wrong_mass(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    shutil.copyfile(DATA / "wrong_converter.py", program)
    out = tmp_path / "minimal"
    options = ("--engine", "mujoco", "--mass-density", "900")
    arguments = ("reduce", str(_robot(tmp_path)), str(out), *options)
    converter = f"wrong={sys.executable} {program} {{urdf}} {{out}}"

    result = urdf_usd(*arguments, "--check", "mass.link.mass", "--converter", converter)

    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [str(out / "arm.urdf")]
    reduced = etree.parse(out / "arm.urdf").getroot()
    assert [link.get("name") for link in reduced.findall("link")] == ["l1"]
    assert not reduced.findall("joint")
    (mesh,) = reduced.iter("mesh")
    assert (out / mesh.get("filename", "")).read_text().startswith("solid")
    report = (out / "report.md").read_text(encoding="utf-8")
    assert report.startswith("# wrong: check mass.link.mass fails")
    command = next(line for line in report.splitlines() if line.startswith("urdf-usd"))
    assert command == (
        "urdf-usd run arm.urdf --out report --converter "
        f"'wrong={Path(sys.executable).name} wrong.py {{urdf}} {{out}}' "
        "--mass-density 900 --engine mujoco"
    )


def test_malformed_robot_is_reduced_after_the_repair(tmp_path: Path) -> None:
    urdf, out = tmp_path / "arm.urdf", tmp_path / "minimal"
    urdf.write_text(_LINKS.replace("</robot>", '<link name="x" name="y"/><a:b/></robot>'))

    result = urdf_usd("reduce", str(urdf), str(out), "--engine", "openusd")

    assert result.exit_code == 0, result.stderr
    reduced = etree.parse(out / "arm.urdf").getroot()
    assert len(reduced.findall("link")) == 2
    assert not reduced.findall("joint")


def test_robot_is_reduced_to_what_crashes_a_converter(tmp_path: Path) -> None:
    program = DATA / "crashing_converter.py"
    urdf, out = tmp_path / "arm.urdf", tmp_path / "minimal"
    urdf.write_text(_LINKS, encoding="utf-8")
    converter = f"crashing={sys.executable} {program} {{urdf}} {{out}}"
    arguments = ("reduce", str(urdf), str(out), "--engine", "mujoco")

    result = urdf_usd(*arguments, "--converter", converter)

    assert result.exit_code == 0, result.stderr
    reduced = etree.parse(out / "arm.urdf").getroot()
    (joint,) = reduced.findall("joint")
    assert joint.get("type") == "continuous"
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "crashed" in report
    assert "SIGSEGV" in report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_URDF.replace("meshes/tip.stl", "meshes/tip.stl"), "nothing fails"),
        (_URDF.replace("</robot>", ""), "no element found"),
    ],
)
def test_robots_that_cannot_be_reduced_are_refused(text: str, message: str, tmp_path: Path) -> None:
    urdf = _robot(tmp_path)
    urdf.write_text(text, encoding="utf-8")
    out = tmp_path / "minimal"

    result = urdf_usd("reduce", str(urdf), str(out))

    assert result.exit_code == 2
    assert message in result.stderr
    assert not out.exists()
