"""The closed list of rules: a file breaks each of them, and docs/rules.md lists all."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from tests.converter.diagnostics.rules.smallest_descriptions import (
    SMALLEST_DESCRIPTIONS,
)
from tests.converter.diagnostics.rules.smallest_files import (
    SMALLEST_FILES,
    A,
    SmallestFile,
    robot,
)
from tests.converter.diagnostics.rules.smallest_stages import (
    SMALLEST_STAGES,
    body,
    stage,
    variants,
)
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.usd_reading import over_limits
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter import convert
from urdf_usd.converter.conversion import with_description
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.diagnostics.rules import LINT_RULES, RULES, SUBJECTS, Severity, rules_page
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.model import Fixed, Joint, Link, Robot
from urdf_usd.converter.robot.topology import problems
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.converter.usd.loading import open_stage, variant_combinations

_TESTS = Path(__file__).parents[3]
# A URDF whose joint refers to no link is read without that joint.
_BY_ROBOT = {"link-undefined": Robot("r", (Link("a"),), (Joint("j", "a", "z", Fixed()),))}
_BY_LIMITS = ("stage-limits",)
# Reported by export with the option --loops; see test_export_loops.py.
_BY_EXPORT = ("loop-without-constraint",)
# Reported with or without CoACD; see tests/converter/test_colliders.py.
_BY_LIBRARY = ("collider-decomposition", "collider-remeshed")
_CHOICE = (VariantChoice("v", "on"),)
# Stages that break a rule only with options, and functions that open them.
_BY_OPTIONS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "asset-outside-refused": (
        SMALLEST_STAGES["asset-outside"],
        lambda usd: open_stage(usd, strict=True),
    ),
    "variant-unknown": (stage(body("a")), lambda usd: open_stage(usd, _CHOICE)),
    "variant-combinations": (
        variants(7),
        lambda usd: variant_combinations(open_stage(usd).stage),
    ),
    "variant-absent": (
        stage(body("a")),
        lambda usd: _raise(open_stage(usd, _CHOICE, optional=True).diagnostics),
    ),
}
_BY_TEXT = [
    rule
    for rule, case in SMALLEST_FILES.items()
    if case.content is not None and case.target == "usd"
]


def _converted(case: SmallestFile, folder: Path) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of a file."""
    written = dict(case.other_files)
    if case.content is not None:
        content = case.content
        text = content if isinstance(content, bytes) else content.encode()
        written[case.name] = text
    for name, data in written.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    if case.name == "loop":
        (folder / "loop").symlink_to("loop")
    try:
        return convert(folder / case.name, folder / case.target, case.options).diagnostics
    except ConversionError as error:
        return error.diagnostics


@pytest.mark.parametrize("rule", SMALLEST_FILES)
def test_smallest_file_that_breaks_a_rule_is_reported(rule: str, tmp_path: Path) -> None:
    found = _converted(SMALLEST_FILES[rule], tmp_path)

    assert [d.rule for d in found].count(rule) == 1
    errors = [d.rule for d in found if d.severity is Severity.ERROR]
    assert errors == ([rule] if RULES[rule].severity is Severity.ERROR else [])
    assert bool(list(tmp_path.rglob("*.usd*"))) == (not errors)


@pytest.mark.parametrize("rule", [r for r in _BY_TEXT if RULES[r].severity is Severity.WARNING])
def test_strict_option_makes_every_warning_an_error(rule: str, tmp_path: Path) -> None:
    case = SMALLEST_FILES[rule]

    strict = structs.replace(case.options, strict=True)

    found = _converted(replace(case, options=strict), tmp_path)

    assert rule in {d.rule for d in found}
    assert not (tmp_path / "usd").exists()


@pytest.mark.parametrize("rule", SMALLEST_STAGES)
def test_smallest_stage_that_breaks_a_rule_is_reported(rule: str, tmp_path: Path) -> None:
    file = tmp_path / "robot.usda"
    file.write_text(SMALLEST_STAGES[rule], encoding="utf-8")
    try:
        found = read_usd(file).diagnostics
    except ConversionError as error:
        found = error.diagnostics

    assert [d.rule for d in found].count(rule) == 1
    errors = [d.rule for d in found if d.severity is Severity.ERROR]
    assert errors == ([rule] if RULES[rule].severity is Severity.ERROR else [])


def _raise(diagnostics: tuple[Diagnostic, ...]) -> None:
    raise ConversionError(diagnostics)


@pytest.mark.parametrize("rule", _BY_OPTIONS)
def test_smallest_stage_that_breaks_a_rule_with_an_option_is_reported(
    rule: str, tmp_path: Path
) -> None:
    text, opened = _BY_OPTIONS[rule]
    file = tmp_path / "robot.usda"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConversionError) as caught:
        opened(file)

    assert [d.rule for d in caught.value.diagnostics] == [rule]


@pytest.mark.parametrize("rule", SMALLEST_DESCRIPTIONS)
def test_smallest_description_that_breaks_a_rule_is_reported(rule: str, tmp_path: Path) -> None:
    case = SMALLEST_DESCRIPTIONS[rule]
    urdf, file = tmp_path / "robot.urdf", tmp_path / "robot.toml"
    urdf.write_text(case.urdf, encoding="utf-8")
    if case.text is not None:
        file.write_text(case.text, encoding="utf-8")
    (tmp_path / "robot.srdf").write_text(case.srdf, encoding="utf-8")
    try:
        options = with_description(case.options, load_description(file))
        found = convert(urdf, tmp_path / "usd", options).diagnostics
    except ConversionError as error:
        found = error.diagnostics

    assert [d.rule for d in found].count(rule) == 1
    errors = [d.rule for d in found if d.severity is Severity.ERROR]
    assert errors == ([rule] if RULES[rule].severity is Severity.ERROR else [])
    assert (tmp_path / "usd").exists() == (not errors)


def test_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", fail)

    found = _converted(SmallestFile(robot(A)), tmp_path)

    assert [d.rule for d in found] == ["target-unwritable"]
    assert [path.name for path in tmp_path.iterdir()] == ["robot.urdf"]


@pytest.mark.parametrize("rule", _BY_ROBOT)
def test_smallest_robot_model_that_breaks_a_rule_is_reported(rule: str) -> None:
    assert [d.rule for d in problems(_BY_ROBOT[rule])] == [rule]


def test_usd_over_the_time_limit_is_reported() -> None:
    late = over_limits("arm.usda", Crashed("no answer after 5 s"))

    assert late.rule in _BY_LIMITS
    assert late.message == "arm.usda cannot be composed and read: no answer after 5 s"


def test_every_rule_has_one_smallest_input() -> None:
    tables = (
        SMALLEST_FILES,
        SMALLEST_DESCRIPTIONS,
        SMALLEST_STAGES,
        _BY_ROBOT,
        _BY_LIMITS,
        _BY_OPTIONS,
        _BY_EXPORT,
        _BY_LIBRARY,
    )

    assert sorted(rule for table in tables for rule in table) == sorted(
        set(RULES) - set(LINT_RULES)
    )


def test_documented_rules_are_up_to_date() -> None:
    page = _TESTS.parent / "docs/rules.md"

    assert page.read_text(encoding="utf-8") == rules_page()


def test_identifiers_and_sentences_have_the_same_form() -> None:
    for rule in (rule for rules in SUBJECTS.values() for rule in rules):
        assert rule.id.replace("-", "").isalpha()
        assert rule.id == rule.id.lower()
        for text in (rule.summary, rule.remedy):
            assert text[0].isupper() or not text[0].isalpha() or text.startswith("xacro")
            assert text.endswith((".", ">."))
