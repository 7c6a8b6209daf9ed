"""The published schema of records."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.conformance.execution.run import check
from urdf_usd.converter import convert
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports.records.history import append_entry, read_history
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.records.schema import record_schema, write_schemas

_PUBLISHED = Path(__file__).parents[3] / "docs" / "schema"


@pytest.mark.parametrize("kind", ["history", "robot", "summary"])
def test_records_match_their_schema(kind: str, tmp_path: Path) -> None:
    schema = record_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    summary = samples.summary(samples.corpus())
    append_entry(tmp_path, summary, "first")
    records: dict[str, tuple[msgspec.Struct, ...]] = {
        "history": read_history(tmp_path),
        "robot": (*samples.corpus(), *samples.cases()),
        "summary": (summary,),
    }
    for record in records[kind]:
        jsonschema.validate(json.loads(record_json(record)), schema)


def test_schema_allows_infinity_and_nan_as_text() -> None:
    schema = record_schema("robot")
    robot = structs.replace(samples.robot(), total_mass=float("inf"))
    jsonschema.validate(json.loads(record_json(robot)), schema)
    wrong = json.loads(record_json(robot)) | {"total_mass": "much"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_real_record_matches_the_schema(tmp_path: Path) -> None:
    source = resolve_robot("pybullet:r2d2.urdf")
    asset = convert(source.path, tmp_path / "asset").root_layer
    record = check(source.path, asset)
    jsonschema.validate(json.loads(record_json(record)), record_schema("robot"))


def test_published_schema_is_current(tmp_path: Path) -> None:
    """`python -m urdf_usd.reports.records.schema docs/schema` writes it."""
    write_schemas(tmp_path)
    for path in tmp_path.iterdir():
        assert (_PUBLISHED / path.name).read_text("utf-8") == path.read_text("utf-8")
