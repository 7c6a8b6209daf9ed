"""The closed list of rules: each is broken by a file, and the page lists them all."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from converter import ConvertOptions, convert
from converter.diagnostics import ConversionError, Diagnostic
from converter.rules import RULES, Severity
from converter.rules.page import rules_page
from converter.usd.read import read_usd
from tests.converter.rules.smallest_files import (
    SMALLEST_FILES,
    A,
    SmallestFile,
    robot,
)
from tests.converter.rules.smallest_stages import SMALLEST_STAGES

_TESTS = Path(__file__).parents[2]
# These concern what a file says, not where it lies or how it is run.
_BY_TEXT = [rule for rule in SMALLEST_FILES if rule != "file-missing"]
_ELSEWHERE = sorted(set(RULES) - set(SMALLEST_FILES) - set(SMALLEST_STAGES))


def _converted(case: SmallestFile, folder: Path) -> tuple[Diagnostic, ...]:
    """Return everything that is said of a file."""
    file = folder / "robot.urdf"
    if case.content is not None:
        content = case.content
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, data in case.beside.items():
        (folder / name).write_bytes(data)
    try:
        return convert(file, folder / "usd", case.options).diagnostics
    except ConversionError as error:
        return error.diagnostics


@pytest.mark.parametrize("rule", SMALLEST_FILES)
def test_the_smallest_file_that_breaks_a_rule_is_told_so(
    rule: str, tmp_path: Path
) -> None:
    """Once, with its place, and an output only if nothing is an error."""
    found = _converted(SMALLEST_FILES[rule], tmp_path)

    assert [d.rule for d in found].count(rule) == 1
    errors = [d.rule for d in found if d.severity is Severity.ERROR]
    assert errors == ([rule] if RULES[rule].severity is Severity.ERROR else [])
    assert (tmp_path / "usd").exists() == (not errors)


@pytest.mark.parametrize(
    "rule", [r for r in _BY_TEXT if RULES[r].severity is Severity.WARNING]
)
def test_every_warning_is_an_error_on_demand(rule: str, tmp_path: Path) -> None:
    """And then nothing is written."""
    case = SMALLEST_FILES[rule]
    strict = SmallestFile(case.content, case.beside, ConvertOptions(strict=True))

    found = _converted(strict, tmp_path)

    assert rule in {d.rule for d in found}
    assert not (tmp_path / "usd").exists()


@pytest.mark.parametrize("rule", SMALLEST_STAGES)
def test_the_smallest_stage_that_breaks_a_rule_is_told_so(
    rule: str, tmp_path: Path
) -> None:
    """Once, and read all the same unless that is an error."""
    file = tmp_path / "robot.usda"
    file.write_text(SMALLEST_STAGES[rule], encoding="utf-8")
    try:
        found = read_usd(file).diagnostics
    except ConversionError as error:
        found = error.diagnostics

    assert [d.rule for d in found].count(rule) == 1
    errors = [d.rule for d in found if d.severity is Severity.ERROR]
    assert errors == ([rule] if RULES[rule].severity is Severity.ERROR else [])


def test_a_full_disk_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is left of the attempt."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", fail)

    found = _converted(SmallestFile(robot(A)), tmp_path)

    assert [d.rule for d in found] == ["target-unwritable"]
    assert [path.name for path in tmp_path.iterdir()] == ["robot.urdf"]


@pytest.mark.parametrize("rule", _ELSEWHERE)
def test_every_other_rule_is_broken_in_another_test(rule: str) -> None:
    """Rules on xacro and on the places of files need more than one file."""
    texts = (path.read_text(encoding="utf-8") for path in _TESTS.rglob("test_*.py"))

    assert any(re.search(rf"[\"\[]{rule}\b", text) for text in texts)


def test_the_page_of_rules_is_up_to_date() -> None:
    """``python -m converter.rules > docs/rules.md`` makes it so."""
    page = _TESTS.parent / "docs/rules.md"

    assert page.read_text(encoding="utf-8") == rules_page()


def test_identifiers_and_sentences_have_one_form() -> None:
    """Lower case with hyphens; a sentence, and what to do about it."""
    for rule in RULES.values():
        assert rule.id.replace("-", "").isalpha()
        assert rule.id == rule.id.lower()
        for text in (rule.summary, rule.remedy):
            assert (
                text[0].isupper() or not text[0].isalpha() or text.startswith("xacro")
            )
            assert text.endswith((".", ">."))
