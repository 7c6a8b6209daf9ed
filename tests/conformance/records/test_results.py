"""Files of run records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from urdf_usd.conformance.records.record import (
    DeviationRecord,
    RobotRecord,
    SourceRecord,
    Verdict,
)
from urdf_usd.conformance.records.results import (
    record_json,
    write_atomically,
    write_record,
)


def _record(largest: float | None) -> RobotRecord:
    return RobotRecord(
        id="arm",
        name="Ärm",
        source=SourceRecord(reference="file:arm.urdf"),
        converter="none",
        verdict=Verdict.EXACT,
        reason="",
        deviations=(
            DeviationRecord(
                engine="w",
                id="unexplained",
                cause="",
                check="c",
                subjects=("a",),
                largest=largest,
            ),
        ),
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        (0.1, 0.1),
        (1e-300, 1e-300),
        (None, None),
    ],
)
def test_numbers_that_json_lacks_are_written_as_text(
    value: float | None, expected: float | str | None
) -> None:
    """A strict parser reads every record."""

    def refuse(text: str) -> None:
        raise AssertionError(text)

    plain = json.loads(record_json(_record(value)), parse_constant=refuse)

    assert plain["deviations"][0]["largest"] == expected


def test_record_is_written_atomically(tmp_path: Path) -> None:
    """No temporary file remains, and the folder is created."""
    path = tmp_path / "results" / "arm.json"

    write_record(_record(1.0), path)
    first = path.read_bytes()
    write_record(_record(1.0), path)

    assert path.read_bytes() == first
    assert json.loads(first)["name"] == "Ärm"
    assert [entry.name for entry in path.parent.iterdir()] == ["arm.json"]


def test_failed_write_keeps_the_former_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former file is complete."""
    path = tmp_path / "arm.json"
    write_atomically(path, b"old")

    def fail(_: object, __: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")

    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["arm.json"]
