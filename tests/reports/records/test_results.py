"""Files of run records."""

from __future__ import annotations

import json
import math
import resource
from pathlib import Path

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.records.results import (
    record_json,
    write_atomically,
    write_new,
    write_record,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (0.1, 0.1),
        (1e-300, 1e-300),
        (None, None),
    ],
)
def test_numbers_that_json_lacks_are_written_as_text(
    value: float | None, expected: float | str | None
) -> None:
    """So that a strict parser reads every record."""

    def refuse(text: str) -> None:
        raise AssertionError(text)

    deviation = structs.replace(samples.DEVIATION, largest=value)
    text = record_json(samples.robot(deviations=(deviation,)))

    assert json.loads(text, parse_constant=refuse)["deviations"][0]["largest"] == expected


def test_record_is_written_atomically(tmp_path: Path) -> None:
    """No temporary file remains, and the folder is created."""
    path = tmp_path / "results" / "arm.json"
    write_record(samples.robot(name="Ärm"), path)
    first = path.read_bytes()
    write_record(samples.robot(name="Ärm"), path)

    assert path.read_bytes() == first
    assert json.loads(first)["name"] == "Ärm"
    assert [entry.name for entry in path.parent.iterdir()] == ["arm.json"]


def test_failed_write_keeps_the_former_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arm.json"
    write_atomically(path, b"old")

    def fail(_: object, __: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")

    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["arm.json"]


def test_new_file_that_cannot_be_written_does_not_remain(tmp_path: Path) -> None:
    """It would block the next try; one that exists is not touched."""
    file = tmp_path / "new.toml"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        with pytest.raises(OSError, match=r"new\.toml"):
            write_new(file, bytes(1024))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert not file.exists()
    write_new(file, b"1")
    with pytest.raises(FileExistsError):
        write_new(file, b"2")
    assert file.read_bytes() == b"1"
