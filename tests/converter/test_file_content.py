"""Reading files of any size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from urdf_usd.converter.file_content import MIB, read_file


def test_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345678")

    assert read_file(file, 8) == b"12345678"
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "no", 8)


def test_larger_file_is_refused_without_reading(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)

    with pytest.raises(OSError, match="it is larger than 64 MiB"):
        read_file(file, 64 * MIB)


@pytest.mark.parametrize("device", ["/dev/zero", os.devnull, "pipe"])
def test_devices_and_pipes_are_refused_without_blocking(tmp_path: Path, device: str) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="not a regular file"):
        read_file(tmp_path / device, 20)


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="not Linux")
def test_file_with_stated_size_zero_is_read_up_to_the_limit() -> None:
    assert read_file(Path("/proc/self/status"), MIB).startswith(b"Name:")
    with pytest.raises(OSError, match="larger"):
        read_file(Path("/proc/self/maps"), 20)
