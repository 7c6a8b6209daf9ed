"""Expanded files for engines that need a file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from urdf_usd.converter.urdf.markup import standalone_urdf
from urdf_usd.converter.urdf.parse import parse

NAMESPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


def _write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_mesh_paths_of_an_expanded_file_are_absolute(tmp_path: Path) -> None:
    """Textures as well; unresolved references are unchanged."""
    mesh = _write(tmp_path / "bot/meshes/a.stl")
    image = _write(tmp_path / "other/images/b.png")
    source = _write(
        tmp_path / "bot/urdf/r.xacro",
        f"""<robot name="r" {NAMESPACE}><link name="a"><visual><geometry>
<mesh filename="../meshes/a.stl" scale="1 2 3"/></geometry><material name="m">
<texture filename="package://images/b.png"/></material></visual><visual><geometry>
<mesh filename="package://no/c.stl"/></geometry></visual></link></robot>""",
    )
    packages = {"images": str(image.parent)}

    text = standalone_urdf(str(source), packages, {})

    robot = ET.fromstring(text)
    assert [mesh.get("filename") for mesh in robot.iter("mesh")] == [
        str(mesh),
        "package://no/c.stl",
    ]
    assert [texture.get("filename") for texture in robot.iter("texture")] == [str(image)]
    elsewhere = _write(tmp_path / "run/expanded/r.urdf", text.decode())
    (first, _) = parse(elsewhere).robot.links[0].visuals
    assert first.geometry.path == str(mesh)  # type: ignore[union-attr]  # it is a mesh


def test_robot_without_a_name_is_named_after_the_xacro_file(tmp_path: Path) -> None:
    """As by the reader; the expanded file has another name."""
    source = _write(tmp_path / "bot.urdf.xacro", '<robot><link name="a"/></robot>')

    text = standalone_urdf(str(source), {}, {})

    assert ET.fromstring(text).get("name") == "bot"
    assert parse(source).robot.name == "bot"
