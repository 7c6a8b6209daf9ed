"""What records say of a robot: its parts, lines of its files, text without local paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from urdf_usd.conformance.execution.record import (
    coverage,
    diagnostic_records,
    folder_names,
    portable,
    portable_path,
)
from urdf_usd.converter import read_urdf
from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.reports.records.record import CoverageStatus

_URDF = """<robot name="arm">
  <link name="base"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
  <link name="hand" stamp="7">
    <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
      izz="1"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
    <collision><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
  <joint name="elbow" type="continuous"><parent link="base"/><child link="hand"/>
    <axis xyz="0.6 0 0.8"/></joint>
  <transmission name="t"/>
  <gazebo reference="hand"><mu1>0.5</mu1></gazebo>
  <gazebo reference="hand"><mu2>0.6</mu2></gazebo>
</robot>
"""


def test_every_kind_of_element_is_counted(tmp_path: Path) -> None:
    """Elements that are converted, and elements kept as custom data."""
    file = tmp_path / "arm.urdf"
    file.write_text(_URDF, encoding="utf-8")

    found = {one.part: (one.count, one.fate) for one in coverage(read_urdf(file).robot)}

    assert found == {
        "link": (2, CoverageStatus.CONVERTED),
        "joint": (1, CoverageStatus.CONVERTED),
        "inertial": (1, CoverageStatus.CONVERTED),
        "visual": (1, CoverageStatus.CONVERTED),
        "collision": (2, CoverageStatus.CONVERTED),
        "<transmission>": (1, CoverageStatus.KEPT),
        "<gazebo>": (2, CoverageStatus.KEPT),
        "@stamp": (1, CoverageStatus.KEPT),
    }


_ARM = {"": Path("/data/arm")}


@pytest.mark.parametrize(
    ("text", "folders", "expected"),
    [
        ("no /data/arm/a.stl (in /data/arm)", {"<r>": Path("/data/arm")}, "no <r>/a.stl (in <r>)"),
        ("/data/arm/a.urdf", _ARM, "a.urdf"),
        ("/data/arm2/x", _ARM, "/data/arm2/x"),
        # The innermost of nested folders, in whatever order they are given.
        (
            "/data/arm/x /data/y",
            {"<out>": Path("/data"), "<r>": Path("/data/arm")},
            "<r>/x <out>/y",
        ),
        (f"{Path.home()}/.cache/x", {}, "~/.cache/x"),
        ("<Stage at 0x7f0012ab34cd>", {}, "<Stage at 0x…>"),
    ],
)
def test_text_of_records_has_no_path_of_the_machine(
    text: str, folders: dict[str, Path], expected: str
) -> None:
    assert portable(text, folder_names(folders)) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/robots/arm/arm.urdf", "arm.urdf"),
        ("/robots/meshes/a.stl", "../meshes/a.stl"),
        ("/ws/desc/meshes/a.stl", "package://desc/meshes/a.stl"),
        ("/elsewhere/a.stl", "<outside>/a.stl"),
    ],
)
def test_other_absolute_paths_are_reduced_to_their_last_component(path: str, expected: str) -> None:
    folders = {"": Path("/robots/arm"), "..": Path("/robots"), "package://desc": Path("/ws/desc")}

    assert portable_path(path, folder_names(folders)) == expected


def _quoted(file: str, line: int) -> str | None:
    found = Diagnostic("text-ignored", "ignored", Location(file, line, 1))
    return diagnostic_records([found])[0].source


def test_lines_are_counted_as_by_compilers(tmp_path: Path) -> None:
    """From one, with any line end, without surrounding blanks; long ones are cut."""
    file = tmp_path / "arm.urdf"
    file.write_bytes(b"<robot>\r\n  <link name='a'/>\r\n\xff</robot>\n" + b"x" * 100_000)

    assert [_quoted(str(file), number) for number in range(6)] == [
        None,
        "<robot>",
        "<link name='a'/>",
        "\ufffd</robot>",
        f"{'x' * 239}…",
        None,
    ]


@pytest.mark.parametrize("name", ["/", "/gone", "a\0b", os.devnull, "/dev/zero"])
def test_paths_without_a_readable_file_have_no_lines(name: str) -> None:
    assert _quoted(name, 1) is None
