"""The JSON Schema of records, for other programs.

``python -m urdf_usd.reports.records.schema DIRECTORY`` writes what ``docs/schema``
holds.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import msgspec

from urdf_usd.reports.records.history import HistoryEntry
from urdf_usd.reports.records.record import SCHEMA_VERSION, RobotRecord, RunSummary
from urdf_usd.reports.records.suite_case import Case

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# By the name in commands and file names.
RECORDS: dict[str, type[msgspec.Struct]] = {
    "history": HistoryEntry,
    "robot": RobotRecord,
    "summary": RunSummary,
    "case": Case,
}
# JSON has no numbers for these.
_BEYOND = {"enum": ["inf", "-inf", "nan"]}


def record_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of record.

    Args:
        kind: A key of ``RECORDS``.
    """
    record = RECORDS[kind]
    (root,), definitions = msgspec.json.schema_components((record,), ref_template="#/$defs/{name}")
    schema: dict[str, Any] = {
        "$schema": DIALECT,
        "title": f"urdf-usd {kind} record {SCHEMA_VERSION}",
        **root,
        "$defs": dict(definitions),
    }
    widened: dict[str, Any] = {key: _widened(value) for key, value in schema.items()}
    return widened


def schema_text(kind: str) -> str:
    """Return the schema as it is published."""
    encoded = msgspec.json.encode(record_schema(kind))
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def write_schemas(directory: Path) -> None:
    """Write all schemas, under names that carry the version."""
    directory.mkdir(parents=True, exist_ok=True)
    for kind in RECORDS:
        path = directory / f"{kind}-{SCHEMA_VERSION}.json"
        path.write_text(schema_text(kind), encoding="utf-8", newline="\n")


def _widened(value: object) -> object:
    """Allow text for numbers that are not finite, wherever a number is allowed."""
    if isinstance(value, list):
        return [_widened(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: _widened(item) for key, item in value.items()}
    if isinstance(text := value.get("description"), str):
        # From Python 3.13 on, docstrings have no indentation.
        inner["description"] = inspect.cleandoc(text)
    if value.get("type") != "number":
        return inner
    return {"anyOf": [inner, _BEYOND]}


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
