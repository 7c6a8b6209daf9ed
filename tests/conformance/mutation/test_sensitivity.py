"""Counts and reports of the faults that were caught or missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs
from rich.console import Console

from urdf_usd.cli.main import main
from urdf_usd.cli.sensitivity import as_json, rendered
from urdf_usd.conformance.mutation.catalogue import FAULTS
from urdf_usd.conformance.mutation.experiment import (
    RobotTrials,
    SchemaTrial,
    Trial,
)
from urdf_usd.conformance.mutation.sensitivity import (
    ROBOTS,
    SchemaResult,
    Sensitivity,
    assigned_seeds,
    measure,
    summary,
)


def _caught(robot: str) -> RobotTrials:
    """Every fault once, caught, at its tolerance."""
    trials = tuple(
        Trial(
            fault.id,
            robot,
            "link arm",
            fault.aims[:1],
            caught=True,
            smallest=fault.scale.tolerance if fault.scale else None,
        )
        for fault in FAULTS
    )
    return RobotTrials(robot, (), trials, ("joint.axis-negated",))


GOOD = _caught("a")


def _changed(found: RobotTrials, fault: str, **changes: object) -> RobotTrials:
    trials = tuple(
        structs.replace(trial, **changes) if trial.fault == fault else trial
        for trial in found.trials
    )
    return structs.replace(found, trials=trials)


def _text(found: Sensitivity) -> str:
    console = Console(width=200, highlight=False)
    with console.capture() as capture:
        console.print(rendered(found))
    return capture.get()


def test_sample_has_at_least_ten_robots() -> None:
    """Each once."""
    assert len(set(ROBOTS)) == len(ROBOTS) >= 10


def test_report_passes_if_every_fault_is_caught() -> None:
    """Counts are summed over robots."""
    found = summary([GOOD, _caught("b")])
    negated = next(kind for kind in found.kinds if kind.fault == "joint.axis-negated")

    assert found.passed
    assert found.robots == ("a", "b")
    assert (negated.seeded, negated.caught, negated.robots) == (2, 2, 2)
    assert (negated.equivalent, negated.checks) == (2, (("kinematics.position", 2),))
    assert f"{2 * len(FAULTS)} of {2 * len(FAULTS)} faults" in _text(found)


def test_missed_fault_fails_and_is_named() -> None:
    """With robot and part."""
    found = summary([GOOD, _changed(_caught("b"), "mass.halved", caught=False)])

    assert not found.passed
    assert "mass halved: missed on b, link arm" in _text(found)


def test_false_positive_fails_and_is_named() -> None:
    """A harness that fails everything would catch every fault."""
    found = summary([structs.replace(GOOD, raised=("limits.upper",))])

    assert not found.passed
    assert "a: false alarm without a fault: limits.upper" in _text(found)


def test_fault_that_fits_no_robot_fails() -> None:
    """Nothing is measured of it."""
    rest = tuple(trial for trial in GOOD.trials if trial.fault != "asset.up")
    found = summary([structs.replace(GOOD, trials=rest)])

    assert not found.passed
    assert "up axis Y: no place to seed it" in _text(found)


def test_fault_detected_only_far_above_tolerance_fails() -> None:
    """More than a fifth above the tolerance."""
    found = summary([_changed(GOOD, "mass.scaled", smallest=1.2e-4)])

    assert not found.passed
    assert "mass scaled: smallest caught size is 0.00012 relative" in _text(found)


def test_sizes_may_come_from_separate_searches() -> None:
    """Their trials are not counted twice."""
    rough = _changed(GOOD, "mass.scaled", smallest=None)
    found = summary([rough], [GOOD])
    scaled = next(kind for kind in found.kinds if kind.fault == "mass.scaled")

    assert (scaled.seeded, scaled.smallest) == (1, (1e-4, 1e-4))


def test_simulators_are_named_by_what_they_show() -> None:
    """In brackets without an effect, and without a column where none took part."""
    engines = (("newton-usd", False), ("physx", True))
    simulated = _changed(GOOD, "setting.gravity-off", simulators=engines)
    found = summary([GOOD], [], [simulated])
    kind = next(kind for kind in found.kinds if kind.fault == "setting.gravity-off")

    assert kind.simulators == engines
    assert (kind.seeded, found.passed) == (1, True)
    assert "(newton-usd), physx" in _text(found)
    assert "simulators" not in _text(summary([GOOD]))


def _seeded(robot: str, failed: tuple[str, ...], reason: str | None) -> SchemaTrial:
    return SchemaTrial("PhysicsDriveAPI:angular", "removed", robot, "/robot/hinge", failed, reason)


def test_generated_seeds_are_counted_by_schema() -> None:
    """Instances of a schema are one; harmless ones by their reason."""
    seeded = [
        _seeded("a", ("limits.effort", "dynamics.drives"), None),
        _seeded("b", ("limits.effort",), None),
        _seeded("c", (), "no target"),
    ]
    found = summary([GOOD], seeded=seeded)

    assert found.passed
    assert found.schemas == (
        SchemaResult(
            schema="PhysicsDriveAPI",
            seeded=3,
            caught=2,
            harmless=(("no target", 1),),
            checks=(("limits.effort", 2), ("dynamics.drives", 1)),
            missed=(),
        ),
    )
    assert "PhysicsDriveAPI" in _text(found)
    assert "no target (1)" in _text(found)
    assert "1 schemas: 2 caught, 1 harmless, 0 missed" in _text(found)


def test_missed_generated_seed_fails_and_is_named() -> None:
    """With robot, prim and change."""
    found = summary([GOOD], seeded=[_seeded("b", (), None)])

    assert not found.passed
    assert found.schemas[0].missed == (("b", "/robot/hinge", "removed"),)
    assert "PhysicsDriveAPI: removed: missed on b, /robot/hinge" in _text(found)


def test_each_generated_seed_is_assigned_to_one_robot_in_turn() -> None:
    """To those that have a place for it, or to all of them."""
    robots = [
        structs.replace(GOOD, robot="a", schema_seeds=("x", "y", "z")),
        structs.replace(GOOD, robot="b", schema_seeds=("x", "y")),
    ]

    assert assigned_seeds(robots, every=False) == {"a": ("x", "z"), "b": ("y",)}
    assert assigned_seeds(robots, every=True) == {"a": ("x", "y", "z"), "b": ("x", "y")}


def test_json_has_all_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit status is 1 if a fault was missed."""
    missed = summary([_changed(GOOD, "mass.halved", caught=False)])
    monkeypatch.setattr("urdf_usd.cli.sensitivity.measure", lambda **_: missed)
    file = tmp_path / "found.json"
    result = CliRunner().invoke(main, ["doctor", "--sensitivity", "--json", str(file)])
    document = json.loads(file.read_text())

    assert result.exit_code == 1
    assert document["schema_version"] == 1
    assert document["passed"] is False
    assert len(document["kinds"]) == len(FAULTS)
    assert document["robots"] == ["a"]
    assert as_json(missed) == file.read_text()


@pytest.mark.parametrize("option", ["--full", "--simulators", "--json=x.json"])
def test_options_of_the_examination_require_it(option: str) -> None:
    """They are not ignored without it."""
    result = CliRunner().invoke(main, ["doctor", option])

    assert result.exit_code == 2
    assert "need --sensitivity" in result.stderr


@pytest.mark.corpus
def test_every_fault_of_the_default_sample_is_caught() -> None:
    """As the command does without options."""
    found = measure()

    assert [kind.fault for kind in found.kinds if not kind.passed] == []
    assert [schema.missed for schema in found.schemas if schema.missed] == []
    assert found.passed
