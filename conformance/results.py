"""Records as files: the same record gives the same bytes, whole or not at all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.record import RobotRecord, RunSummary


def record_json(record: RobotRecord | RunSummary) -> bytes:
    """Encode a record; numbers that JSON cannot express become text."""
    plain = _finite(msgspec.to_builtins(record))
    return msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"


def write_record(record: RobotRecord | RunSummary, path: Path) -> None:
    """Write a record, replacing a former one in one step."""
    write_atomically(path, record_json(record))


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file such that a reader sees the old or the new content, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _finite(value: Any) -> Any:  # noqa: ANN401  # any plain JSON value
    match value:
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
