"""USDZ packages, read by zipfile and OpenUSD."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf

from urdf_usd.converter.usd.writer.layouts import write_package


def _write(folder: Path, contents: list[bytes]) -> Path:
    files = []
    for number, content in enumerate(contents):
        # Names of every length, some of them in folders, some beyond ASCII.
        name = f"{'ä' if number % 3 == 1 else 'x'}{'y' * number}.bin"
        file = folder / ("deep" if number % 2 else ".") / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        files.append(file)
    write_package(folder / "p.usdz", folder, files)
    return folder / "p.usdz"


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=9))
def test_files_are_aligned_to_64_bytes(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    """Stored without compression and encryption."""
    package = _write(tmp_path_factory.mktemp("package"), contents)

    raw = package.read_bytes()
    with zipfile.ZipFile(package) as archive:
        assert archive.testzip() is None
        members = archive.infolist()
    assert len(members) == len(contents)
    for member, content in zip(members, contents, strict=True):
        name, extra = (
            raw[member.header_offset + 26 :][:2],
            raw[member.header_offset + 28 :][:2],
        )
        start = member.header_offset + 30
        start += int.from_bytes(name, "little") + int.from_bytes(extra, "little")
        assert start % 64 == 0
        assert raw[start : start + len(content)] == content
        assert member.compress_type == zipfile.ZIP_STORED
        assert member.flag_bits & 0x1 == 0


def test_openusd_reads_the_files_of_a_package(tmp_path: Path) -> None:
    """The padding is not read as another extra field."""
    layer = Sdf.Layer.CreateNew(str(tmp_path / "a.usda"))
    layer.defaultPrim = "r"
    layer.Save()
    (tmp_path / "Textures").mkdir()
    (tmp_path / "Textures/b.png").write_bytes(b"\x89PNG")

    write_package(
        tmp_path / "p.usdz",
        tmp_path,
        [tmp_path / "a.usda", tmp_path / "Textures/b.png"],
    )

    read = Sdf.ZipFile.Open(str(tmp_path / "p.usdz"))
    assert read.GetFileNames() == ["a.usda", "Textures/b.png"]
    info = read.GetFileInfo("Textures/b.png")
    assert (info.dataOffset % 64, info.size) == (0, 4)
    assert (info.compressionMethod, info.encrypted) == (0, False)
    assert Sdf.Layer.FindOrOpen(str(tmp_path / "p.usdz")).defaultPrim == "r"


def test_package_above_the_zip_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)

    with pytest.raises(OSError, match="may not exceed 2 GiB"):
        _write(tmp_path, [bytes(80), bytes(80)])
