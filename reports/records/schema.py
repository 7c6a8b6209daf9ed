"""The JSON Schema of records, for other programs.

``urdf-usd doctor --schema KIND`` prints it; ``docs/schema`` has it as files.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import msgspec
from msgspec import Struct

from urdf_usd.reports.records import record, results, suite_case
from urdf_usd.reports.records.record import SCHEMA_VERSION

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# By the name in commands and file names.
RECORDS: dict[str, type[Struct]] = {
    "history": results.HistoryEntry,
    "robot": record.RobotRecord,
    "summary": record.RunSummary,
    "case": suite_case.Case,
}
_STRUCTS: dict[str, type[Struct]] = {
    name: value
    for module in (results, record, suite_case)
    for name, value in vars(module).items()
    if inspect.isclass(value) and value.__module__ == module.__name__ and issubclass(value, Struct)
}
# JSON has no numbers for these.
_BEYOND = {"enum": ["inf", "-inf", "nan"]}
_FIELD = re.compile(r"    (\w+): ")


def record_schema(kind: str) -> dict[str, Any]:
    (root,), definitions = msgspec.json.schema_components(
        (RECORDS[kind],), ref_template="#/$defs/{name}"
    )
    schema: dict[str, Any] = {
        "$schema": DIALECT,
        "title": f"urdf-usd {kind} record {SCHEMA_VERSION}",
        **root,
        "$defs": {name: _described(name, value) for name, value in definitions.items()},
    }
    widened: dict[str, Any] = {key: _widened(value) for key, value in schema.items()}
    return widened


def schema_text(kind: str) -> str:
    """Return the schema as it is published."""
    encoded = msgspec.json.encode(record_schema(kind))
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def _described(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """Add the comments above and behind fields as descriptions of the properties."""
    struct = _STRUCTS.get(name)
    if struct is None:
        return definition
    comments: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        above: list[str] = []
        for line in inspect.getsource(base).splitlines() if base in _STRUCTS.values() else ():
            code, _, comment = line.partition("  # ")
            if line.startswith("    # "):
                above.append(line.removeprefix("    # "))
            elif field := _FIELD.match(code):
                comments[field[1]] = " ".join((*above, comment)).strip()
                above = []
    names = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    properties = {
        key: value | ({"description": text} if (text := comments.get(field)) else {})
        for field, key in names
        for value in [definition["properties"][key]]
    }
    return definition | {"properties": properties}


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
