"""Reference pages: the Python interface, checks and records."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import urdf_usd
from tests.tools.documentation.text import escaped, page, prose, split_docstring, table
from urdf_usd.conformance.checks.catalogue import (
    CHECKS,
    ROUND_TRIP_CHECKS,
    SIMULATION_CHECKS,
)
from urdf_usd.conformance.checks.check import Check
from urdf_usd.reports.records.record import SCHEMA_VERSION
from urdf_usd.reports.records.schema import RECORDS, record_schema

_UNITS = {"": "equality", "1": "ratio"}


def python_page() -> str:
    """Return the page of all public names; mkdocstrings fills it from docstrings."""
    names = urdf_usd.__all__
    classes = [name for name in names if inspect.isclass(getattr(urdf_usd, name))]
    functions = [name for name in names if name not in classes]
    return page(
        "# Python",
        "All public names are in the module `urdf_usd`. Each is imported at its first "
        "use: reading a URDF imports neither OpenUSD nor an engine.",
        "## Functions",
        *(f"::: urdf_usd.{name}" for name in functions),
        "## Classes",
        *(f"::: urdf_usd.{name}" for name in classes),
    )


def checks_page() -> str:
    """Return the page of all checks."""
    return page(
        "# Checks",
        "Quantities that are compared, with the identifiers that records, baselines "
        "and reports use. Identifiers are stable and never get another meaning. The "
        "unit is that of differences.",
        *_check_lists((*CHECKS, *SIMULATION_CHECKS)),
        "## round-trip",
        "The USD is exported to URDF again, and the same engine reads both URDFs, so "
        "that its own deviations cancel. The same quantities are compared:",
        table(
            ("check", "repeats"),
            ((f"`{one.id}`", f"`{one.direct}`") for one in ROUND_TRIP_CHECKS),
        ),
    )


def _check_lists(checks: tuple[Check, ...]) -> Iterator[str]:
    for group, own in groupby(checks, lambda check: check.group):
        yield f"## {group}"
        yield "\n\n".join(
            f"`{check.id}`\n:   *{escaped(check.title)}*, "
            f"{_UNITS.get(check.unit, check.unit)}: {escaped(check.clause)}"
            for check in own
        )


def records_page() -> str:
    """Return the page of all types of records, from their JSON Schemas."""
    schemas = {kind: record_schema(kind) for kind in RECORDS}
    types: dict[str, dict[str, Any]] = {}
    for schema in schemas.values():
        types |= schema["$defs"]
    rows = (
        (
            f"`{kind}`",
            _link(schema["$ref"]),
            f"[{kind}-{SCHEMA_VERSION}.json](../schema/{kind}-{SCHEMA_VERSION}.json)",
        )
        for kind, schema in schemas.items()
    )
    return page(
        "# Schemas of records",
        "Files that other programs can read: `results/<id>.json` has a *robot*, "
        "`summary.json` a *summary*, the folder of `--history` a *history*, and the "
        "feature suite a *case*. `urdf-usd doctor --schema KIND` prints the JSON Schema. "
        "Numbers that are not finite are the texts `inf`, `-inf` and `nan`.",
        table(("kind", "type", "JSON Schema"), rows),
        *(block for name in sorted(types) for block in _type(name, types[name])),
    )


def _type(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {name}"
    about, fields = split_docstring(schema.get("description", ""))
    yield prose(about)
    if "enum" in schema:
        yield "Values: " + ", ".join(f"`{one}`" for one in schema["enum"]) + "."
        return
    required = set(schema.get("required", ()))
    yield table(
        ("field", "meaning", "type", "required"),
        (
            (
                f"`{field}`",
                prose(_meaning(value) or fields.get(field, "")),
                _type_text(value),
                "yes" if field in required else "",
            )
            for field, value in schema["properties"].items()
        ),
    )


def _meaning(value: Mapping[str, Any]) -> str:
    """Return the description of a field, or of the number that it may be."""
    found = (one.get("description") for one in (value, *value.get("anyOf", ())))
    return next(filter(None, found), "")


def _type_text(value: Mapping[str, Any]) -> str:  # one per kind
    """Return a type of JSON Schema in words."""
    match value:
        case {"$ref": reference}:
            return _link(reference)
        case {"anyOf": kinds}:
            return " or ".join(dict.fromkeys(_type_text(one) for one in kinds))
        case {"enum": values}:
            return " or ".join(f"`{one}`" for one in values)
        case {"type": "array", "prefixItems": parts}:
            texts = dict.fromkeys(_type_text(one) for one in parts)
            return f"array of {len(parts)}: {', '.join(texts)}"
        case {"type": "array", "items": items}:
            return f"array of {_type_text(items)}"
        case {"type": "object", "additionalProperties": items}:
            return f"object of {_type_text(items)}"
        case _:
            return str(value.get("type", "any"))


def _link(reference: str) -> str:
    name = reference.rpartition("/")[2]
    return f"[{name}](#{name.lower()})"
