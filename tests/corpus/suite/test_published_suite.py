"""Versions of the feature suite that are published do not change."""

from __future__ import annotations

import hashlib

import jsonschema
import msgspec
import pytest

from tests.corpus.suite.suite_cases import all_cases
from urdf_usd.converter.diagnostics import RULES
from urdf_usd.corpus import installed
from urdf_usd.reports.records.schema import record_schema

# SHA-256 of the names and bytes of all files. A published version is never changed: a
# correction is a new version, which starts as a copy.
PUBLISHED = {"2026.12": "edb0bc0c04b6c420fbe60476f888504fa5b263abae3de31396603f86573e36d5"}


@pytest.mark.parametrize("version", installed.suite_versions())
def test_published_versions_are_frozen(version: str) -> None:
    if not installed.suite_manifest(version)["published"]:
        assert version not in PUBLISHED
        return
    folder = installed.SUITE / version
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{name} {content}\n".encode())

    assert digest.hexdigest() == PUBLISHED[version]


def test_suite_has_150_cases_in_chapters() -> None:
    version = installed.suite_versions()[-1]
    folder = installed.SUITE / version
    chapters = [one["name"] for one in installed.suite_manifest(version)["chapters"]]
    robots = all_cases()
    urdfs = {path.relative_to(folder).with_suffix("") for path in folder.rglob("*.urdf")}

    assert len(robots) >= 150
    assert {name.as_posix() for name in urdfs} == {robot.name for robot in robots}
    assert {robot.name.partition("/")[0] for robot in robots} == set(chapters)


def test_cases_follow_the_published_schema() -> None:
    validator = jsonschema.Draft202012Validator(record_schema("case"))
    for robot in all_cases():
        assert robot.source.case is not None
        content = msgspec.json.decode(robot.source.case.text)
        assert not list(validator.iter_errors(content)), robot.name


def test_cases_name_rules_that_exist() -> None:
    known = {rule.id for rule in RULES.values()}
    for robot in all_cases():
        expected = robot.case.expected
        assert {*expected.diagnostics} <= known, robot.name
        assert robot.case.shows.endswith("."), robot.name
        assert robot.case.clause, robot.name
        stated = msgspec.to_builtins(expected)
        assert stated, robot.name
