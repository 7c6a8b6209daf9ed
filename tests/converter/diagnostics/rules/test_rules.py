"""The closed list of rules: the smallest input breaks each of them, and docs/rules.md lists all.

``files.txt``, ``stages.txt`` and ``descriptions.txt`` have an input for each rule.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from tests.stored_cases import stored_cases, write_files
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.examine import examine
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.worker import over_limits
from urdf_usd.conformance.export.assets import read_usd
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.conversion import DEFAULTS
from urdf_usd.converter.diagnostics import (
    LINT_RULES,
    RULES,
    SUBJECTS,
    ConversionError,
    Diagnostic,
    Severity,
    rules_page,
)
from urdf_usd.converter.options import (
    BodyNesting,
    ColliderRule,
    ColliderRules,
    InertiaOption,
    VariantChoice,
)
from urdf_usd.converter.robot.model import BaseOption, Fixed, Joint, Link, MasslessOption, Robot
from urdf_usd.converter.robot.topology import problems
from urdf_usd.converter.simulation.settings import load_settings, with_settings
from urdf_usd.converter.usd.loading import open_stage, variant_combinations
from urdf_usd.converter.usd.writer.asset import DEEPEST
from urdf_usd.corpus.resolution import resolve_robot

_FOLDER = Path(__file__).parent
_FILES, _STAGES, _DESCRIPTIONS = (
    stored_cases(_FOLDER / f"{name}.txt") for name in ("files", "stages", "descriptions")
)
_PLAIN = '<robot name="r"><link name="a"/>{}</robot>'


def _colliders(rule: str) -> ConvertOptions:
    return ConvertOptions(colliders=ColliderRules((ColliderRule.parse(rule),)))


_SIMREADY = ConvertOptions(profile=Profile.SIMREADY)
_GEOMETRY = ConvertOptions(inertia=InertiaOption.GEOMETRY)
_FIXED_BASE = ConvertOptions(base=BaseOption.FIXED)
_OPTIONS = {
    "root-unknown": ConvertOptions(root="z"),
    "base-regularised": _FIXED_BASE,
    "base-floats": _FIXED_BASE,
    "link-massless-moving": ConvertOptions(massless=MasslessOption.ERROR),
    "collider-replaced": _colliders("none"),
    "collider-rule-unused": _colliders("z=none"),
    "mass-estimated": _GEOMETRY,
    "inertia-estimated": _GEOMETRY,
    **dict.fromkeys(
        ("metadata-missing", "mesh-required", "body-required", "normals-opposite"), _SIMREADY
    ),
    "xacro-argument-unused": ConvertOptions(arguments=(("no_such_name", "1"),)),
    "description-lost": ConvertOptions(profile=Profile.USDPHYSICS),
    "description-variants": structs.replace(_SIMREADY, physics_variants=True),
}
_STAR = "".join(
    f'<link name="l{i}"/><joint name="j{i}" type="floating">'
    f'<parent link="a"/><child link="l{i}"/></joint>'
    for i in range(1001)
)
_BODY = _FILES["link-massless"]["robot.urdf"].partition("<inertial>")[2].partition("</link>")[0]
_CHAIN = "".join(
    f'<link name="l{i}"><inertial>{_BODY}</link><joint name="j{i}" type="continuous">'
    f'<parent link="{f"l{i - 1}" if i else "a"}"/><child link="l{i}"/></joint>'
    for i in range(DEEPEST)
)
# Inputs that are no small text: they are made in the folder of a test.
_MADE: dict[str, Callable[[Path], object]] = {
    "file-missing": lambda _: None,
    "file-unreadable": lambda file: file.symlink_to(file.name),
    "file-size": lambda file: file.write_bytes(bytes(64 * 2**20 + 1)),
    "robot-large": lambda file: file.write_text(_PLAIN.format(_STAR)),
    "tree-depth": lambda file: file.write_text(_PLAIN.format(_CHAIN)),
    "target-unwritable": lambda file: file.write_text(_PLAIN.format("")),
    "target-exists": lambda file: file.write_text(_PLAIN.format("")),
}
_TARGETS = {"target-unwritable": "robot.urdf/usd", "target-exists": "."}
# Each has a test: here, of export with the option --loops, or of colliders with CoACD.
_ELSEWHERE = (
    *("link-undefined", "stage-limits", "mjcf-refused"),
    *("loop-without-constraint", "collider-decomposition", "collider-remeshed"),
)
_CHOICE = (VariantChoice("v", "on"),)
# Stages that break a rule only with options, by the rule that they break without, and functions
# that open them.
_BY_OPTIONS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "asset-outside-refused": ("asset-outside", lambda usd: open_stage(usd, strict=True)),
    "variant-unknown": ("mass-unstated", lambda usd: open_stage(usd, _CHOICE)),
    "variant-combinations": (
        "variant-combinations",
        lambda usd: variant_combinations(open_stage(usd).stage),
    ),
    "variant-absent": (
        "mass-unstated",
        lambda usd: _raise(open_stage(usd, _CHOICE, optional=True).diagnostics),
    ),
}


def _raise(diagnostics: tuple[Diagnostic, ...]) -> None:
    raise ConversionError(diagnostics)


def _converted(rule: str, folder: Path, *, strict: bool = False) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of the input of a rule."""
    if rule in _MADE:
        file = folder / "robot.urdf"
        _MADE[rule](file)
    else:
        file = write_files(_FILES[rule], folder)
    options = structs.replace(_OPTIONS.get(rule, DEFAULTS), strict=strict)
    try:
        return convert(file, folder / _TARGETS.get(rule, "usd"), options).diagnostics
    except ConversionError as error:
        return error.diagnostics


def _assert_reported(rule: str, found: tuple[Diagnostic, ...]) -> list[str]:
    """Assert that the rule is reported once, and no error of another one; return the errors."""
    errors = [d.rule for d in found if d.severity is Severity.ERROR]
    assert [d.rule for d in found].count(rule) == 1
    assert errors == ([rule] if RULES[rule].severity is Severity.ERROR else [])
    return errors


@pytest.mark.parametrize("rule", [*_FILES, *_MADE])
def test_smallest_file_that_breaks_a_rule_is_reported(rule: str, tmp_path: Path) -> None:
    errors = _assert_reported(rule, _converted(rule, tmp_path))

    assert bool(list(tmp_path.rglob("*.usd*"))) == (not errors)


@pytest.mark.parametrize("rule", [r for r in _FILES if RULES[r].severity is Severity.WARNING])
def test_strict_option_makes_every_warning_an_error(rule: str, tmp_path: Path) -> None:
    found = _converted(rule, tmp_path, strict=True)

    assert rule in {d.rule for d in found}
    assert not (tmp_path / "usd").exists()


@pytest.mark.parametrize("rule", [rule for rule in _STAGES if rule not in _BY_OPTIONS])
def test_smallest_stage_that_breaks_a_rule_is_reported(rule: str, tmp_path: Path) -> None:
    file = write_files(_STAGES[rule], tmp_path)
    try:
        found = read_usd(file).diagnostics
    except ConversionError as error:
        found = error.diagnostics

    _assert_reported(rule, found)


@pytest.mark.parametrize("rule", _BY_OPTIONS)
def test_smallest_stage_that_breaks_a_rule_with_an_option_is_reported(
    rule: str, tmp_path: Path
) -> None:
    case, opened = _BY_OPTIONS[rule]
    file = write_files(_STAGES[case], tmp_path)

    with pytest.raises(ConversionError) as caught:
        opened(file)

    assert [d.rule for d in caught.value.diagnostics] == [rule]


@pytest.mark.parametrize("rule", _DESCRIPTIONS)
def test_smallest_description_that_breaks_a_rule_is_reported(rule: str, tmp_path: Path) -> None:
    # The first has a robot, and no description.
    robot = _DESCRIPTIONS["description-unreadable"]
    write_files({**robot, **_DESCRIPTIONS[rule]}, tmp_path)
    try:
        options = _OPTIONS.get(rule, DEFAULTS)
        options = with_settings(options, load_settings(tmp_path / "robot.toml"))
        found = convert(tmp_path / "robot.urdf", tmp_path / "usd", options).diagnostics
    except ConversionError as error:
        found = error.diagnostics

    errors = _assert_reported(rule, found)
    assert (tmp_path / "usd").exists() == (not errors)


def test_robot_that_is_too_deep_is_converted_with_flat_bodies(tmp_path: Path) -> None:
    _MADE["tree-depth"](tmp_path / "robot.urdf")

    options = ConvertOptions(bodies=BodyNesting.FLAT)
    usd = convert(tmp_path / "robot.urdf", tmp_path / "usd", options).root_layer

    assert len(read_usd(usd).robot.links) == DEEPEST + 1


def test_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", fail)

    found = _converted("element-unknown", tmp_path)

    assert "target-unwritable" in [d.rule for d in found]
    assert [path.name for path in tmp_path.iterdir()] == ["robot.urdf"]


def test_joint_without_a_link_is_reported() -> None:
    # A URDF with such a joint is read without it.
    robot = Robot("r", (Link("a"),), (Joint("j", "a", "z", Fixed()),))

    assert [d.rule for d in problems(robot)] == ["link-undefined"]


def test_usd_over_the_time_limit_is_reported() -> None:
    late = over_limits("arm.usda", Crashed("no answer after 5 s"))

    assert late
    assert late.rule == "stage-limits"
    assert late.message == "arm.usda cannot be composed and read: no answer after 5 s"


def test_mjcf_that_is_refused_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text("<mujoco/>")
    job = Job(resolve_robot(str(file)), usd=tmp_path / "robot.usda")

    with pytest.raises(ConversionError) as caught:
        examine(job, {})

    assert [d.rule for d in caught.value.diagnostics] == ["mjcf-refused"]


def test_every_rule_has_one_smallest_input() -> None:
    rules = [*_FILES, *_MADE, *_STAGES, *_DESCRIPTIONS, *_ELSEWHERE]
    rules += [rule for rule in _BY_OPTIONS if rule not in _STAGES]

    assert sorted(rules) == sorted(set(RULES) - set(LINT_RULES))


def test_documented_rules_are_up_to_date() -> None:
    page = _FOLDER.parents[3] / "docs/rules.md"

    assert page.read_text(encoding="utf-8") == rules_page()


def test_identifiers_and_sentences_have_the_same_form() -> None:
    for rule in (rule for rules in SUBJECTS.values() for rule in rules):
        assert rule.id.replace("-", "").isalpha()
        assert rule.id == rule.id.lower()
        for text in (rule.summary, rule.remedy):
            assert text[0].isupper() or not text[0].isalpha() or text.startswith("xacro")
            assert text.endswith((".", ">."))
