"""What records say of files: text without local paths, and lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from urdf_usd.conformance.execution.record import (
    diagnostic_records,
    folder_names,
    portable,
    portable_path,
)
from urdf_usd.converter.diagnostics import Diagnostic, Location

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
