"""Source lines that reports show with diagnostics."""

from __future__ import annotations

import os
from pathlib import Path

from urdf_usd.conformance.execution.record import source_lines


def test_lines_are_counted_as_by_compilers(tmp_path: Path) -> None:
    """From one, with any line end, without surrounding blanks."""
    file = tmp_path / "arm.urdf"
    file.write_bytes(b"<robot>\r\n  <link name='a'/>\r\n\xff</robot>")
    places = [(str(file), number) for number in (0, 1, 2, 3, 4)]
    found = source_lines(places)
    assert found == {
        (str(file), 1): "<robot>",
        (str(file), 2): "<link name='a'/>",
        (str(file), 3): "\ufffd</robot>",
    }


def test_long_line_is_cut(tmp_path: Path) -> None:
    """Some tools write a URDF in one line."""
    file = tmp_path / "long.urdf"
    file.write_text("x" * 100_000, encoding="utf-8")
    (text,) = source_lines([(str(file), 1)]).values()
    assert len(text) == 240
    assert text.endswith("…")


def test_paths_without_a_readable_file_have_no_lines(tmp_path: Path) -> None:
    """Folders, removed files, invalid names and endless devices."""
    names = (str(tmp_path), str(tmp_path / "gone"), "a\0b", os.devnull, "/dev/zero")
    assert source_lines([(name, 1) for name in names]) == {}
    assert Path(os.devnull).exists()
