"""Faults are caught by their checks, and a good USD fails none."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from tests.faults.fault import PARTS_MISSING, REFUSED
from tests.faults.sensitivity import Report, measure, render
from tests.faults.trials import CAUGHT, EQUIVALENT, FAULTS, MISSED, Trial, Trials
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.converter import Profile

OWN = ("drifter", "oblique_arm")


def test_faults_have_distinct_ids_and_name_existing_checks() -> None:
    known = {check.id for check in (*CHECKS, *SIMULATION_CHECKS)} | {PARTS_MISSING, REFUSED}

    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert {check for fault in FAULTS for check in fault.detected_by} <= known


def test_every_fault_of_our_own_robots_is_caught(tmp_path: Path) -> None:
    """They have a place for each fault, and each check fails for one of them."""
    caught, failed, others = set(), set(), []
    for robot in OWN:
        for profile in dict.fromkeys(fault.profile for fault in FAULTS):
            folder = tmp_path / robot / profile
            folder.mkdir(parents=True)
            trials = Trials(robot, profile, folder)
            assert trials.raised == ()
            for fault in (fault for fault in FAULTS if fault.profile == profile):
                for trial in trials.seed(fault):
                    failed |= {*trial.failed}
                    caught |= {trial.fault} if trial.outcome == CAUGHT else set()
                    others += [trial] if trial.outcome == MISSED else []

    assert others == []
    assert caught == {fault.id for fault in FAULTS}
    # Whatever changes where a robot comes to rest fails another check as well.
    assert {check.id for check in (*CHECKS, *SIMULATION_CHECKS)} - failed <= {"dynamics.rollout"}


@pytest.mark.parametrize("flattened", [False, True])
@pytest.mark.parametrize("profile", Profile)
def test_types_instances_and_surroundings_are_judged_in_every_profile(
    profile: Profile, tmp_path: Path, *, flattened: bool
) -> None:
    """Those that a profile has no place for are left out."""
    names = ("type.", "scene.instance", "scene.pinned", "scene.locked", "value.radius")
    chosen = [fault for fault in FAULTS if fault.id.startswith(names)]
    trials = Trials("oblique_arm", profile.value, tmp_path, flattened=flattened)  # type: ignore[arg-type]
    found = [trial for fault in chosen for trial in trials.seed(fault)]

    assert trials.raised == ()
    assert [trial for trial in found if trial.outcome != CAUGHT] == []
    assert {"type.mass-double", "scene.instance", "scene.locked"} <= {one.fault for one in found}


def test_generated_change_is_caught_equivalent_or_missed(tmp_path: Path) -> None:
    """Properties that a table explains need no check."""
    trials = Trials("oblique_arm", "generic", tmp_path)
    keys = {
        "PhysicsMassAPI: physics:mass doubled",
        "PhysicsMassAPI: physics:density one",
        "stage metadata: metersPerUnit doubled",
        "PhysicsScene: added",
    }
    found = {f"{one.fault}: {one.title}": one for one in trials.seed_schemas(keys)}

    assert {key: trial.outcome for key, trial in found.items()} == {
        "PhysicsMassAPI: physics:mass doubled": CAUGHT,
        "PhysicsMassAPI: physics:density one": EQUIVALENT,
        "stage metadata: metersPerUnit doubled": CAUGHT,
        "PhysicsScene: added": EQUIVALENT,
    }
    assert found["PhysicsMassAPI: physics:mass doubled"].properties == ("physics:mass",)
    assert found["PhysicsMassAPI: physics:density one"].properties == ()


_TRIALS = tuple(Trial(fault.id, "a", "/a", ("mass.total",), CAUGHT) for fault in FAULTS)
_SCHEMA = Trial("PhysicsMassAPI", "a", "/a", ("mass.total",), CAUGHT, "doubled", ("physics:mass",))
_REPORT = Report(("a",), (), _TRIALS, (_SCHEMA,))


def _first(**changes: object) -> tuple[Trial, ...]:
    return (structs.replace(_TRIALS[0], **changes), *_TRIALS[1:])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"trials": _first(outcome=MISSED)}, f"{FAULTS[0].id} : missed on a, /a"),
        ({"trials": _first(outcome=EQUIVALENT)}, f"{FAULTS[0].id}: no place to seed it"),
        ({"raised": (("a", ("limits.upper",)),)}, "a: false alarm: limits.upper"),
        (
            {"schema_trials": (structs.replace(_SCHEMA, failed=(), outcome=EQUIVALENT),)},
            "physics:mass: no check reads it",
        ),
    ],
)
def test_report_fails_and_says_why(changes: dict[str, object], problem: str) -> None:
    assert _REPORT.problems == []
    report = structs.replace(_REPORT, **changes)

    assert report.problems == [problem]
    assert f"✗ {problem}" in render(report)


@pytest.mark.corpus
def test_every_fault_of_the_default_sample_is_caught() -> None:
    assert measure().problems == []
