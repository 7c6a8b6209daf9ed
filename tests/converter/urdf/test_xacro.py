"""Expansion of xacro files; what is expanded is in ``xacro.txt``, see test_reading."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree as ET

import pytest

from urdf_usd.conformance.descriptions import read_robot
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.urdf.parse import parse, standalone_urdf
from urdf_usd.converter.urdf.xacro import expand

Write: TypeAlias = Callable[..., Path]

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
VARIABLE = "ROBOT_TEST_VARIABLE"
_ARM = (
    '<xacro:property name="length" value="0.5"/>'
    '<xacro:macro name="arm" params="name">'
    '<link name="${name}"/><joint name="${name}_joint" type="fixed">'
    '<parent link="base"/><child link="${name}"/>'
    '<origin xyz="0 0 ${2 * length}"/></joint></xacro:macro>'
    '<link name="base"/><xacro:arm name="left"/>'
)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the inside of a robot; a variable is secret."""
    monkeypatch.setenv(VARIABLE, "hunter2")

    def write_text(inside: str, name: str = "r.xacro", text: str = "{}\n{}</robot>") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(HEAD, inside), encoding="utf-8")
        return file

    return write_text


def _refuse(file: Path) -> Diagnostic:
    with pytest.raises(SourceError) as caught:
        expand(str(file), {}, {})
    (found,) = (d for d in caught.value.diagnostics if d.severity == "error")
    assert "hunter2" not in str(caught.value)
    return found


def test_allowed_variables_are_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    file = write(f'<link name="$(env {VARIABLE})-$(optenv ROS_DISTRO none)"/>')

    expansion = expand(str(file), {}, {}, environment=(VARIABLE,))

    assert '<link name="hunter2-jazzy"/>' in expansion.text
    assert not expansion.diagnostics
    unset = write('<link name="$(env NO_SUCH_VARIABLE)"/>')
    with pytest.raises(SourceError, match=r"'NO_SUCH_VARIABLE' is not set"):
        expand(str(unset), {}, {}, environment=("NO_SUCH_VARIABLE",))


@pytest.mark.parametrize("kind", ["device", "pipe", "large"])
@pytest.mark.parametrize(
    "use",
    ["<link name=\"${{xacro.load_yaml('{}')}}\"/>", '<xacro:include filename="{}"/>'],
)
def test_only_regular_files_of_limited_size_are_read(
    write: Write, tmp_path: Path, kind: str, use: str
) -> None:
    part = tmp_path / "part"
    if kind == "device":
        part.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(part)
    else:
        part.touch()
        os.truncate(part, (64 << 20) + 1)
    file = write(use.format(part))

    found = _refuse(file)

    assert str(part) in found.message
    assert found.location == Location(str(file), 2, 1)


def test_engines_get_the_expansion(write: Write, tmp_path: Path) -> None:
    urdf, expanded = write('<link name="a"/><xacro:gripper/>', "s.urdf"), tmp_path / "x" / "r.urdf"
    complete = read_robot(str(write(_ARM, "r.urdf")), {}, {}, (), expanded)
    incomplete = read_robot(str(urdf), {}, {}, (), tmp_path / "s.urdf")

    assert complete.path == expanded
    assert b'name="left"' in expanded.read_bytes()
    assert incomplete.path == urdf


def test_standalone_file_has_absolute_paths_and_the_name_of_its_source(write: Write) -> None:
    mesh = write("", "bot/meshes/a.stl")
    image = write("", "other/images/b.png")
    source = write(
        """<link name="a"><visual><geometry>
<mesh filename="../meshes/a.stl" scale="1 2 3"/></geometry><material name="m">
<texture filename="package://images/b.png"/></material></visual><visual><geometry>
<mesh filename="package://no/c.stl"/></geometry></visual></link>""",
        "bot/urdf/bot.urdf.xacro",
        "<robot>{1}</robot>",
    )

    robot = ET.fromstring(standalone_urdf(str(source), {"images": str(image.parent)}, {}))

    meshes = [mesh.get("filename") for mesh in robot.iter("mesh")]
    assert meshes == [str(mesh), "package://no/c.stl"]
    assert [texture.get("filename") for texture in robot.iter("texture")] == [str(image)]
    assert robot.get("name") == "bot"
    assert parse(source).robot.name == "bot"
