"""Repairs of files; the robot does not change.

Repairs of the files in ``fixes.txt``, and the files after them, are stored there, see
:mod:`tests.stored_cases`; the first have the names of the rules that are repaired.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.stored_cases import Case, check_outcomes, stored_cases, write_files
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.lint.fixes import FIXES, FixError, apply_edits, fix_file
from urdf_usd.converter.lint.linting import lint
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import RobotSource, resolve_corpora

_STORED = Path(__file__).with_name("fixes.txt")


def _rules(file: Path) -> frozenset[str]:
    return frozenset(finding.rule for finding in lint(file).findings)


def _robot(file: Path) -> Robot | None:
    try:
        return parse(file).robot
    except SourceError:
        return None


def _outcome(case: Case, folder: Path) -> str:
    file = write_files(case, folder)
    before, broken = _robot(file), _rules(file)
    content, repairs = fix_file(file, {}, broken)
    file.write_bytes(content)
    repaired = {repair.rule for repair in repairs}
    assert repaired == broken & set(FIXES) - _rules(file)
    assert _robot(file) == before or repaired == {"path-backslash"}
    lines = [f"{one.location}: {one.message} [{one.rule}]" for one in repairs]
    text = content.decode().replace("\r", "\\r")
    return "\n".join([*lines, text]).replace(f"{folder}/", "").rstrip("\n")


def test_files_are_repaired_as_stored(tmp_path: Path) -> None:
    check_outcomes(_STORED, _outcome, tmp_path)


def test_every_repair_has_a_case() -> None:
    assert set(FIXES) <= set(stored_cases(_STORED))


def test_only_selected_rules_are_repaired(tmp_path: Path) -> None:
    file = write_files(stored_cases(_STORED)["bytes outside of repairs are kept"], tmp_path)

    _, found = fix_file(file, {}, frozenset({"color-range"}))

    assert [repair.rule for repair in found] == ["color-range"]


@pytest.mark.parametrize(
    ("data", "edits", "edited"),
    [
        (
            '<r x="é"/>'.encode(),
            [((1, 1), "name", "<\"&'>é")],
            '<r name="&lt;&quot;&amp;&apos;>&#233;" x="é"/>'.encode(),
        ),
        # The last of several edits counts.
        (
            b'<r x="1"><s y="2"/></r>',
            [((1, 1), "x", "3"), ((1, 10), "y", "4"), ((1, 1), "x", "5")],
            b'<r x="5"><s y="4"/></r>',
        ),
        # A byte order mark, and a wrong version.
        (
            b'\xef\xbb\xbf<?xml version="0.0" ?>\n<r x="1"/>',
            [(None, "version", "1.0"), ((2, 1), "x", "2")],
            b'\xef\xbb\xbf<?xml version="1.0" ?>\n<r x="2"/>',
        ),
    ],
)
def test_edits_are_applied(
    data: bytes, edits: list[tuple[tuple[int, int] | None, str, str]], edited: bytes
) -> None:
    assert apply_edits(data, edits) == edited


def test_text_that_is_not_utf_8_is_not_edited() -> None:
    with pytest.raises(FixError):
        apply_edits(b"<r>\xff</r>", [])


def test_file_whose_xml_is_repaired_is_not_edited(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text('<robot name="r"><link name="a&a"/></robot>', encoding="utf-8")

    with pytest.raises(FixError, match="is not escaped"):
        fix_file(file, {}, frozenset(FIXES))


@pytest.mark.corpus
def test_repairs_do_not_change_real_robots(tmp_path: Path) -> None:
    changed = 0
    for robot in resolve_corpora(["pybullet"]):
        assert isinstance(robot, RobotSource)
        # A copy finds none of the meshes, before as after.
        file = tmp_path / robot.path.name
        shutil.copyfile(robot.path, file)
        try:
            before = parse(file).robot
            content, _ = fix_file(file, {}, _rules(file))
        except (SourceError, FixError):
            continue
        changed += content != file.read_bytes()
        file.write_bytes(content)
        assert parse(file).robot == before
    assert changed > 20
