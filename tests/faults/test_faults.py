"""Faults are caught by their checks; a good USD fails none. `UPDATE_RECORDS=1` stores findings."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest
from msgspec import structs

from tests.faults import sensitivity as s
from tests.faults.fault import FAULTS, PARTS_MISSING, REFUSED, ROBOTS
from tests.faults.schema_faults import PRIM, STAGE, family_schemas, schema_faults
from tests.tools.documentation.coverage import physics_attributes
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.execution.run import check
from urdf_usd.converter import Profile
from urdf_usd.reports.records.record import Verdict

OWN = ("oblique_arm", "drifter")
_FINDINGS = Path(__file__).parent / "findings.json"


def test_faults_have_distinct_ids_and_name_existing_checks() -> None:
    known = {check.id for check in (*CHECKS, *SIMULATION_CHECKS)} | {PARTS_MISSING, REFUSED}

    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert {check for fault in FAULTS for check in fault.detected_by} <= known


def test_faults_are_caught_on_the_first_of_our_own_robots_with_a_place(tmp_path: Path) -> None:
    """With the same findings as before: they name what is wrong, and by how much."""
    pending, missed = {fault.id: fault for fault in FAULTS}, []
    findings: dict[str, str] = {}
    profiles = dict.fromkeys(fault.profile for fault in FAULTS)
    for robot, profile in (*product(OWN, profiles), *product(s.MJCF_NAMES, [s.MJCF])):
        folder = tmp_path / robot / profile
        folder.mkdir(parents=True)
        trials = s.Trials(robot, profile, folder)
        assert trials.raised == ()
        for fault in [fault for fault in trials.faults() if fault.id in pending]:
            for trial in trials.seed(fault):
                missed += [trial] if trial.outcome == s.MISSED else []
                if trial.outcome != s.EQUIVALENT:
                    pending.pop(fault.id, None)
                    findings.setdefault(fault.id, trial.finding)

    assert missed == []
    assert list(pending) == []
    if os.environ.get("UPDATE_RECORDS"):
        _FINDINGS.write_text(json.dumps(findings, indent=1, sort_keys=True) + "\n")
    assert findings == json.loads(_FINDINGS.read_text())


@pytest.mark.parametrize("robot", s.MJCF_NAMES)
def test_usds_of_mjcf_are_exact_and_have_the_same_faults_caught(robot: str, tmp_path: Path) -> None:
    """A part of the groups; all of them by the session sensitivity."""
    trials = s.Trials(robot, s.MJCF, tmp_path)
    groups = ("mass.", "described.", "setting.", "mimic.", "look.materialx", "collider.", "time.")
    chosen = [fault for fault in trials.faults() if fault.id.startswith(groups)]
    found = [trial for fault in chosen for trial in trials.seed(fault)]

    assert check(ROBOTS / f"{robot}.xml", ROBOTS / f"{robot}.usda").verdict is Verdict.EXACT
    assert [trial for trial in found if trial.outcome != s.CAUGHT] == []
    assert len(found) > 25


@pytest.mark.parametrize("flattened", [False, True])
@pytest.mark.parametrize("profile", Profile)
def test_types_instances_and_surroundings_are_judged_in_every_profile(
    profile: Profile, tmp_path: Path, *, flattened: bool
) -> None:
    names = ("type.", "scene.instance", "scene.pinned", "scene.locked", "value.radius")
    chosen = [fault for fault in FAULTS if fault.id.startswith(names)]
    trials = s.Trials("oblique_arm", profile.value, tmp_path, flattened=flattened)
    found = [trial for fault in chosen for trial in trials.seed(fault)]

    assert trials.raised == ()
    assert [trial for trial in found if trial.outcome != s.CAUGHT] == []
    assert {"type.mass-double", "scene.instance", "scene.locked"} <= {one.fault for one in found}


def test_every_property_of_the_registry_is_changed(tmp_path: Path) -> None:
    trials = s.Trials("oblique_arm", "generic", tmp_path)
    faults = schema_faults(trials.stage)
    keys = {fault.key for fault in faults}
    massive = "Xform (NewtonMassAPI, PhysicsMassAPI, PhysicsRigidBodyAPI)"
    own = {name for schema in family_schemas() for name in physics_attributes([schema])}

    assert len(own) > 100
    assert own - {name for fault in faults for name, _ in fault.values} == set()
    assert len(keys) == len(faults)
    assert keys == {fault.key for fault in schema_faults(trials.stage)}
    assert {
        "PhysicsJoint: type of a PhysicsFixedJoint",
        "PhysicsScene: added with values",
        f"PhysicsMassAPI: removed from a {massive}",
        "PhysicsMassAPI: applied to a Material",
        f"{PRIM}: {massive} instanceable",
        f"{STAGE}: kilogramsPerUnit doubled",
    } <= keys
    for fault in faults:
        assert trials.changed(fault.apply), fault.key


def test_generated_change_is_caught_equivalent_or_missed(tmp_path: Path) -> None:
    trials = s.Trials("oblique_arm", "generic", tmp_path)
    expected = {
        "PhysicsMassAPI: physics:mass doubled": (s.CAUGHT, ("PhysicsMassAPI physics:mass",)),
        "PhysicsMassAPI: physics:density one": (s.EQUIVALENT, ()),
        # Of a material that is bound to a collider: others make no difference.
        "PhysicsMaterialAPI: physics:dynamicFriction one": (
            s.CAUGHT,
            ("PhysicsMaterialAPI physics:dynamicFriction",),
        ),
        "stage metadata: metersPerUnit doubled": (s.CAUGHT, ()),
        "PhysicsScene: added": (s.EQUIVALENT, ()),
    }
    faults = {one.key: one for one in schema_faults(trials.stage) if one.key in expected}
    found = {key: trials.seed_schema(fault) for key, fault in faults.items()}

    assert {key: (one.outcome, one.changed) for key, one in found.items()} == expected


_CHECKS = tuple(check.id for check in (*CHECKS, *SIMULATION_CHECKS))
_TRIAL = s.Trial("mass.total", "a", "/a", _CHECKS, s.CAUGHT)
_UNREAD = s.Trial("PhysicsMassAPI", "a", "/a", (), s.EQUIVALENT, "doubled", ("mass",))


def test_problems_are_what_is_missed_raised_wrongly_or_not_read() -> None:
    missed = structs.replace(_TRIAL, outcome=s.MISSED, failed=_CHECKS[1:])
    read = structs.replace(_UNREAD, failed=("mass.total",))

    assert s.problems({}, [_TRIAL, _UNREAD, read]) == []
    assert s.problems({"a": ("limits.upper",)}, [missed, _UNREAD]) == [
        "a: false alarm: limits.upper",
        "mass.total : missed on a, /a",
        "mass: no check reads it",
        f"{_CHECKS[0]}: no fault fails it",
    ]
