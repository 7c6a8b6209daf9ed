"""What is read from the small files in ``reading.txt`` and ``xacro.txt``: robots, and diagnostics.

See :mod:`tests.stored_cases`; options are JSON.
"""

from __future__ import annotations

import json
import locale
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from tests.converter.urdf.conftest import Read
from tests.stored_cases import OPTIONS, Case, check_outcomes, write_files
from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.xacro import expand

# Xacro files must not read the first.
_VARIABLES = {"ROBOT_TEST_VARIABLE": "hunter2", "ROS_DISTRO": "jazzy"}


def _shown(value: object) -> str:
    """Return a value without fields that have their defaults, and without locations."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if not isinstance(value, Struct):
        return repr(value)
    fields = [
        f"{field.name}={_shown(content)}"
        for field in structs.fields(value)
        if field.name != "location" and (content := getattr(value, field.name)) != field.default
    ]
    return f"{type(value).__name__}({', '.join(fields)})"


def _outcome(case: Case, folder: Path) -> str:
    file = write_files(case, folder)
    options: dict[str, Any] = {"packages": {}, "arguments": {}}
    options |= json.loads(case.get(OPTIONS, "{}"))
    options["packages"] = {name: str(folder / path) for name, path in options["packages"].items()}
    lines: list[object] = []
    if file.suffix == ".xacro":
        try:
            expansion = expand(str(file), **options)
        except SourceError:
            pass  # reported below
        else:
            lines += ["expansion:", expansion.text, *map(str, expansion.origins)]
            lines += [f"reads {path}" for path in expansion.files]
    diagnostics: tuple[Diagnostic, ...]
    try:
        parsed = parse(file, **options)
    except SourceError as error:
        diagnostics = error.diagnostics
    else:
        robot, diagnostics = parsed.robot, parsed.diagnostics
        lines += [structs.replace(robot, links=(), joints=()), *robot.links, *robot.joints]
    found = [*map(str, diagnostics), *(x if isinstance(x, str) else _shown(x) for x in lines)]
    return "\n".join(found).replace(f"{folder}{os.sep}", "")


@pytest.mark.parametrize("stored", ["reading", "xacro"])
def test_small_files_are_read_as_stored(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _VARIABLES.items():
        monkeypatch.setenv(name, value)
    check_outcomes(Path(__file__).with_name(f"{stored}.txt"), _outcome, tmp_path)


# What depends on more than the text


def test_rotations_are_about_fixed_axes(read_link: Read) -> None:
    angle = "1.5707963267948966"
    link = read_link(
        f'<inertial><origin rpy="{angle} 0 {angle}"/><mass value="5"/></inertial>'
    ).robot.links[0]

    assert link.inertial
    assert link.inertial.origin.quat_wxyz == pytest.approx((0.5, 0.5, 0.5, 0.5), abs=1e-15)


def test_files_next_to_the_urdf_are_found(read_link: Read, tmp_path: Path) -> None:
    for name in ("m.stl", "t.png"):
        (tmp_path / name).touch()

    parsed = read_link(
        '<visual><geometry><mesh filename="m.stl"/></geometry><material name="m">'
        '<texture filename="t.png"/></material></visual>'
    )

    (visual,) = parsed.robot.links[0].visuals
    assert parsed.diagnostics == ()
    assert visual.geometry == MeshFile("m.stl", str(tmp_path / "m.stl"))
    assert visual.material
    assert visual.material.texture_path == str(tmp_path / "t.png")


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *((name, "file-missing") for name in ("missing.urdf", "empty.urdf/no.urdf", "\0")),
        *((name, "file-unreadable") for name in (".", "/dev/null")),
        ("empty.urdf", "file-empty"),
        ("text.urdf", "xml-syntax"),
        ("sparse.urdf", "file-size"),
    ],
)
def test_file_that_is_not_urdf_is_one_diagnostic(tmp_path: Path, name: str, rule: str) -> None:
    (tmp_path / "empty.urdf").touch()
    (tmp_path / "text.urdf").write_text("a robot", encoding="utf-8")
    with (tmp_path / "sparse.urdf").open("wb") as sparse:
        sparse.truncate(1 << 40)

    with pytest.raises(SourceError) as caught:
        parse(tmp_path / name)

    (found,) = caught.value.diagnostics
    assert (found.rule, str(found.location)) == (rule, f"{tmp_path / name}:1:1")


def _joint(name: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/>'
        f'<child link="{child}"/>{inside}</joint>'
    )


def test_tree_below_a_root_option_is_read_alone(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    links = "".join(f'<link name="{name}"/>' for name in "abcde")
    loop = _joint("i", "d", "e") + _joint("k", "e", "d")
    follower = _joint("j", "b", "c", '<mimic joint="i"/>')
    text = f'<robot name="r">{links}{loop}{_joint("h", "a", "b")}{follower}</robot>'
    file.write_text(text, encoding="utf-8")

    parsed = parse(file, root="b")

    assert [link.name for link in parsed.robot.links] == ["b", "c"]
    assert [joint.name for joint in parsed.robot.joints] == ["j"]
    assert [d.rule for d in parsed.diagnostics] == ["mimic-target-missing"]
    for root, rule in (("z", "root-unknown"), ("d", "tree-loop")):
        with pytest.raises(SourceError, match=rf"\[{rule}\]"):
            parse(file, root=root)


def test_robots_that_differ_only_in_custom_data_are_equal(read: Read) -> None:
    one = read('<robot name="r"><link name="a"/></robot>').robot
    two = read('<robot name="r" x="1"><link name="a"><y/></link></robot>').robot

    assert one == two
    assert bool(two.custom)
    assert not one.custom


def test_locale_with_decimal_comma_has_no_effect(read_link: Read) -> None:
    previous = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        break
    try:
        link = read_link('<inertial><mass value="1.5"/></inertial>').robot.links[0]
    finally:
        locale.setlocale(locale.LC_NUMERIC, previous)

    assert link.mass == 1.5
