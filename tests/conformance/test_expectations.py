"""Cases of the feature suite: every value that is changed is noticed; their outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.corpus.suite.suite_cases import all_cases
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Request, Unsupported
from urdf_usd.conformance.expectations import (
    compare_case,
    compare_readings,
    configurations_of,
    judge_case,
)
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.reports.records.record import CaseOutcome, CaseReadingRecord, Difference
from urdf_usd.reports.records.suite_case import Expected

CASES = {robot.name: robot for robot in all_cases()}
# Cases that state every kind of value.
VARIED = (
    "document/single-link document/robot-name frames/chain inertial/no-inertial-moving "
    "inertial/welded-link inertial/rotated-products joints/axis-oblique joints/planar-oblique "
    "limits/revolute limits/effort limits/velocity-prismatic limits/effort-absent "
    "limits/damping-and-friction limits/infinite-on-one-side mimic/negative-multiplier "
    "mimic/of-a-missing-joint structure/fixed-base-with-origin structure/one-articulation "
    "geometry/several-shapes geometry/visual-alone geometry/rotated-about-three-axes "
    "meshes/scale-and-rotation materials/of-an-obj materials/opacity materials/texture "
)


def _observe(name: str, expected: Expected, folder: Path) -> Observation:
    source = CASES[name].source
    packages = tuple((package, str(path)) for package, path in source.packages)
    asset = convert(source.path, folder, ConvertOptions(packages=packages))
    request = Request(str(asset.root_layer), configurations_of(expected))
    return OpenusdEngine().observe(request)


def _changed(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  plain data
    """Yield copies of plain data in which one value is changed, and where."""
    match value:
        case dict():
            for key, item in value.items():
                inner = _changed(item, (*path, key))
                yield from ((at, {**value, key: one}) for at, one in inner)
        case list() | tuple():
            for index, item in enumerate(value):
                for at, one in _changed(item, (*path, index)):
                    yield at, [*value[:index], one, *value[index + 1 :]]
        case bool():
            return
        case _:
            yield "/".join(map(str, path)), _other(value, path[-1])


def _other(value: object, key: str | int) -> object:
    """Return another value, beyond all tolerances."""
    match value:
        case int():
            return value + 1
        case float():
            return value + max(0.01 * abs(value), 2e-3)
        case "inf" | "-inf":
            return 1.5
        case "fixed" | "floating":
            return "static"
        case None:
            return _OTHER[key]
        case str() if key in {"type", "kind"}:
            return "spherical" if key == "type" else "capsule"
        case _:
            return f"other {value}"


# In place of values that must be absent.
_OTHER: dict[str | int, object] = {
    "effort": 3.0,
    "color": [0.1, 0.2, 0.3],
    "mimic": {"joint": "a", "multiplier": 1.0, "offset": 0.0},
}
# Keys of poses are compared at other configurations; names of links are of the case.
_INPUT = ("/q/", "/root", "/diagnostics/", "/links/0", "/links/1", "/links/2")


@pytest.mark.parametrize("name", VARIED.split())
def test_each_changed_value_fails(name: str, tmp_path: Path) -> None:
    expected = CASES[name].case.expected
    observation = _observe(name, expected, tmp_path)
    plain = msgspec.to_builtins(expected)

    found = compare_case(expected, observation)
    assert found.compared
    assert not found.failures
    for where, changed in _changed(plain):
        if where.endswith("mass_below") or any(part in f"/{where}" for part in _INPUT):
            continue
        wrong = msgspec.convert(changed, Expected)
        assert compare_case(wrong, observation).failures, where


def test_harmless_mass_has_to_be_small(tmp_path: Path) -> None:
    name = "inertial/no-inertial-moving"
    expected = CASES[name].case.expected
    small = msgspec.structs.replace(expected.bodies[0], mass_below=1e-9)
    wrong = msgspec.structs.replace(expected, bodies=(small,))

    (failure,) = compare_case(wrong, _observe(name, expected, tmp_path)).failures
    assert failure.expected == "positive, below 1e-09"


def test_parts_that_are_missing_are_named(tmp_path: Path) -> None:
    name = "limits/revolute"
    observation = _observe(name, CASES[name].case.expected, tmp_path)
    content = {
        "links": ["base", "arm"],
        "dofs": [],
        "joints": {"k": {"type": "revolute"}},
        "bodies": [{"links": ["base", "arm"], "mass": 2}],
        "poses": [{"links": {"arm": {"position": [0, 0, 0]}}}],
        "colliders": {"base": [{"kind": "box"}]},
    }

    found = compare_case(msgspec.convert(content, Expected), observation)

    assert [(one.subject, one.actual) for one in found.failures] == [
        ("link base", 0),
        ("link arm", "absent"),
        ("joint k", "absent"),
        ("joint j", "revolute"),
    ]


def test_visual_may_be_split(tmp_path: Path) -> None:
    name = "geometry/several-shapes"
    observation = _observe(name, CASES[name].case.expected, tmp_path)
    # Boxes of 0.1 x 0.2 x 0.3 and 0.1 x 0.2 x 0.4, at heights of 0.2 and 0.6.
    both = {"lower": [-0.05, -0.1, 0.05], "upper": [0.05, 0.1, 0.8], "area": 0.5}

    def failures(**values: object) -> int:
        content = {"visuals": {"base": [both | values]}}
        expected = msgspec.convert(content, Expected)
        return len(compare_case(expected, observation).failures)

    assert failures() == 0
    assert failures(area=0.28)
    assert failures(upper=[0.05, 0.1, 0.35])
    assert failures(kind="box")


MASS = "link tip: mass 3, expected 2"
OFF = Difference(subject="link tip", message=MASS, expected=2.0, actual=3.0)
GOOD = CaseReadingRecord(engine="openusd", compared=4)
WRONG = CaseReadingRecord(engine="openusd", compared=4, failures=(OFF,) * 5)
UNREAD = CaseReadingRecord(engine="openusd", reason="no default prim")
SIMULATOR = CaseReadingRecord(engine="newton-usd", compared=4, failures=(OFF,))
ANY = Expected()
REFUSED = Expected(refused=True, diagnostics=("tree-roots",))
REPORTED = Expected(diagnostics=("mesh-missing",))
_O, _WRITTEN = CaseOutcome, "a USD was written of a file that must be refused"


@pytest.mark.parametrize(
    ("expected", "readings", "refusal", "rules", "outcome", "reason"),
    [
        (ANY, (GOOD, SIMULATOR), None, None, _O.PASS, ""),
        (ANY, (WRONG,), None, None, _O.FAIL, f"{MASS}; {MASS}; {MASS}; and 2 more"),
        (ANY, (), "no joints", None, _O.REFUSED_WRONGLY, "no joints"),
        (ANY, (), None, None, _O.CRASHED, "signal 11"),
        (ANY, (UNREAD,), None, None, _O.CRASHED, "the USD cannot be read: no default prim"),
        (REFUSED, (), "two roots", {"tree-roots"}, _O.REFUSED, ""),
        (REFUSED, (), "two roots", None, _O.REFUSED, ""),
        (REFUSED, (), "two roots", {"other"}, _O.FAIL, "not reported: tree-roots"),
        (REFUSED, (), None, None, _O.CRASHED, "signal 11"),
        (REFUSED, (GOOD,), None, None, _O.FAIL, _WRITTEN),
        (REPORTED, (GOOD,), None, {"mesh-missing"}, _O.PASS, ""),
        (REPORTED, (GOOD,), None, None, _O.PASS, ""),
        (REPORTED, (GOOD,), None, set(), _O.FAIL, "not reported: mesh-missing"),
    ],
)
def test_outcome(
    expected: Expected,
    readings: tuple[CaseReadingRecord, ...],
    refusal: str | None,
    rules: set[str] | None,
    outcome: CaseOutcome,
    reason: str,
) -> None:
    found = judge_case(
        expected, readings, refusal=refusal, written=bool(readings), crash="signal 11", rules=rules
    )

    assert found == (outcome, reason)


def test_engines_without_an_observation_have_a_reason() -> None:
    outcomes: dict[str, Outcome] = {
        "newton-usd": Unsupported("a cycle"),
        "physx": Crashed("signal 11"),
        "odd": Observed(Observation("odd", None, "a", frozenset(), (), ())),
    }

    assert compare_readings(ANY, outcomes) == (
        CaseReadingRecord(engine="newton-usd", reason="a cycle"),
        CaseReadingRecord(engine="physx", reason="signal 11"),
        CaseReadingRecord(engine="odd", reason="no frame of the root"),
    )
