"""Text without the paths of this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from urdf_usd.conformance.execution.portable_text import (
    folder_names,
    portable,
    portable_path,
)


def test_a_folder_becomes_its_name_and_the_rest_stays() -> None:
    """What the text is about is still there."""
    text = portable(
        "cannot open /data/robots/arm/meshes/a.stl (in /data/robots/arm)",
        folder_names({"<robot>": Path("/data/robots/arm")}),
    )

    assert text == "cannot open <robot>/meshes/a.stl (in <robot>)"


def test_an_empty_name_leaves_a_relative_path() -> None:
    """Diagnostics are relative to the robot's folder."""
    assert (
        portable("/data/arm/a.urdf", folder_names({"": Path("/data/arm")})) == "a.urdf"
    )


def test_a_folder_whose_name_only_begins_alike_is_kept() -> None:
    """/data/arm is not /data/arm2."""
    assert (
        portable("/data/arm2/x", folder_names({"": Path("/data/arm")}))
        == "/data/arm2/x"
    )


def test_of_nested_folders_the_inner_one_counts() -> None:
    """Whatever the order in which they are given."""
    folders = {"<out>": Path("/data"), "<robot>": Path("/data/arm")}

    assert portable("/data/arm/x /data/y", folder_names(folders)) == "<robot>/x <out>/y"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (Path(tempfile.gettempdir()) / "x.urdf", "<temporary>/x.urdf"),
        (Path(pytest.__file__), "<python>/"),
        (Path.home() / ".cache" / "x", "~/.cache/x"),
    ],
)
def test_folders_of_the_machine_are_named(path: Path, expected: str) -> None:
    """Temporary files, the installation and the home folder differ everywhere."""
    assert portable(str(path), folder_names({})).startswith(expected)


def test_addresses_of_objects_are_left_out() -> None:
    """They differ in every process."""
    assert portable("<Stage at 0x7f0012ab34cd>", folder_names({})) == "<Stage at 0x…>"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/robots/arm/arm.urdf", "arm.urdf"),
        ("/robots/meshes/a.stl", "../meshes/a.stl"),
        ("/ws/desc/meshes/a.stl", "package://desc/meshes/a.stl"),
        ("/elsewhere/a.stl", "<outside>/a.stl"),
    ],
)
def test_a_path_outside_all_folders_keeps_its_last_part_alone(
    path: str, expected: str
) -> None:
    """A record says nothing of the machine."""
    folders = {
        "": Path("/robots/arm"),
        "..": Path("/robots"),
        "package://desc": Path("/ws/desc"),
    }

    assert portable_path(path, folder_names(folders)) == expected
