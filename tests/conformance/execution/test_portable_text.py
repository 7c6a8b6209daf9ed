"""Text without paths of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.conformance.execution.portable_text import (
    folder_names,
    portable,
    portable_path,
)


def test_folder_is_replaced_by_its_name() -> None:
    """The rest of the path is kept."""
    text = portable(
        "cannot open /data/robots/arm/meshes/a.stl (in /data/robots/arm)",
        folder_names({"<robot>": Path("/data/robots/arm")}),
    )

    assert text == "cannot open <robot>/meshes/a.stl (in <robot>)"


def test_empty_name_leaves_a_relative_path() -> None:
    """Diagnostics are relative to the robot's folder."""
    assert portable("/data/arm/a.urdf", folder_names({"": Path("/data/arm")})) == "a.urdf"


def test_folder_with_the_same_prefix_is_kept() -> None:
    """/data/arm is not part of /data/arm2."""
    assert portable("/data/arm2/x", folder_names({"": Path("/data/arm")})) == "/data/arm2/x"


def test_innermost_of_nested_folders_is_replaced() -> None:
    """In whatever order they are given."""
    folders = {"<out>": Path("/data"), "<robot>": Path("/data/arm")}

    assert portable("/data/arm/x /data/y", folder_names(folders)) == "<robot>/x <out>/y"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (Path(pytest.__file__), "<python>/"),
        (Path.home() / ".cache" / "x", "~/.cache/x"),
    ],
)
def test_folders_of_the_machine_are_replaced(path: Path, expected: str) -> None:
    """The installation and the home folder differ between machines."""
    assert portable(str(path), folder_names({})).startswith(expected)


def test_addresses_of_objects_are_removed() -> None:
    """They differ between processes."""
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
def test_other_absolute_paths_are_reduced_to_their_last_component(path: str, expected: str) -> None:
    """Records must not contain paths of the machine."""
    folders = {
        "": Path("/robots/arm"),
        "..": Path("/robots"),
        "package://desc": Path("/ws/desc"),
    }

    assert portable_path(path, folder_names(folders)) == expected
