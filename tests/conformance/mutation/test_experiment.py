"""Faults are caught by their checks, and a good USD fails none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pybullet_data
import pytest
from msgspec import structs
from pxr import Usd, UsdPhysics, Vt

from urdf_usd.conformance import mutation
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.comparers import COMPARERS
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import (
    Availability,
    Available,
    Request,
    Side,
)
from urdf_usd.conformance.engines.reference.engine import ReferenceEngine, structure
from urdf_usd.conformance.mutation import experiment
from urdf_usd.conformance.mutation.catalogue import FAULTS
from urdf_usd.conformance.mutation.experiment import (
    Plan,
    RobotTrials,
    run_schema_trials,
    run_trials,
)
from urdf_usd.conformance.mutation.fault import (
    PARTS_MISSING,
    REFUSED,
    ProfileName,
    Seed,
)
from urdf_usd.conformance.mutation.good_asset import open_asset
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.tolerance.comparison import Compared, Description, Difference
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.urdf.parse import parse

OWN = Path(mutation.__file__).parent / "robots"
PENDULUM = Path(pybullet_data.getDataPath()) / "pendulum5.urdf"
# Derived from values that other checks compare, or not decided by a USD alone.
UNAIMED = {
    "mass.group.mass",
    "mass.group.center",
    "mass.group.inertia",
    "dynamics.inertia_matrix",
    "dynamics.bias",
    "dynamics.rollout",
}


def _run_trials(
    urdf: Path, folder: Path, faults: Iterable[str] | None = None, places: int = 1
) -> RobotTrials:
    only = None if faults is None else frozenset(faults)
    return run_trials(urdf.stem, str(urdf), str(folder), Plan(places, frozenset(), only))


def _trials_by_profile(urdf: Path, folder: Path) -> dict[ProfileName, experiment._Trials]:
    profiles = dict.fromkeys(fault.profile for fault in FAULTS)
    return experiment._trials_by_profile(str(urdf), str(folder), profiles)


def test_faults_have_distinct_names_and_name_existing_checks() -> None:
    """At least forty kinds."""
    known = {check.id for check in (*CHECKS, *SIMULATION_CHECKS)}
    known |= {PARTS_MISSING, REFUSED}

    assert len(FAULTS) >= 40
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert len({fault.title for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert fault.aims
        assert set(fault.aims) <= known


def test_every_check_is_the_aim_of_a_fault() -> None:
    """Otherwise its sensitivity would not be measured."""
    aims = {aim for fault in FAULTS for aim in fault.aims}

    checks = (*CHECKS, *SIMULATION_CHECKS)
    assert {check.id for check in checks} - aims <= UNAIMED


@pytest.mark.parametrize("robot", ["drifter", "oblique_arm"])
def test_every_fault_of_an_oblique_robot_is_caught(robot: str, tmp_path: Path) -> None:
    """At one place per kind; the unchanged USD has no findings."""
    found = _run_trials(OWN / f"{robot}.urdf", tmp_path)

    assert found.raised == ()
    assert [trial for trial in found.trials if not trial.caught] == []
    assert len(found.trials) > 80


def test_own_robots_have_a_place_for_every_fault(tmp_path: Path) -> None:
    """Together."""
    seeded: Counter[str] = Counter()
    for robot in ("drifter", "oblique_arm"):
        folder = tmp_path / robot
        folder.mkdir()
        trials_of = _trials_by_profile(OWN / f"{robot}.urdf", folder)
        for fault in FAULTS:
            seeds = fault.seeds(trials_of[fault.profile].asset)
            seeded[fault.id] += sum(not seed.equivalent for seed in seeds)

    # A leader of the same kind, a mass that is a sphere's: what only others have.
    assert {fault.id for fault in FAULTS if not seeded[fault.id]} == set()


def _seed(seed: Seed, good: Usd.Stage) -> None:
    seed.apply(good, 0.0)


@pytest.mark.parametrize("urdf", [PENDULUM, OWN / "oblique_arm.urdf"], ids=["5", "arm"])
def test_equivalent_fault_fails_no_check(urdf: Path, tmp_path: Path) -> None:
    """The fault is equivalent by its construction."""
    trials_of = _trials_by_profile(urdf, tmp_path)
    equivalent = [
        (fault.id, trials_of[fault.profile], partial(experiment._apply, seed, 0.0))
        for fault in FAULTS
        for seed in fault.seeds(trials_of[fault.profile].asset)
        if seed.equivalent
    ]
    raised = {
        fault: failed
        for fault, robot_trials, edit in equivalent
        if (failed := robot_trials.failed(robot_trials.write("equivalent", edit)))
    }

    assert raised == {}
    assert equivalent


def test_base_without_body_fails_the_world_check_and_leaves_a_mass(
    tmp_path: Path,
) -> None:
    """The pendulum is connected to the world, which has no mass."""
    found = _run_trials(PENDULUM, tmp_path, ["base.dissolved"])

    assert [(trial.subject, trial.failed) for trial in found.trials] == [
        ("link world", ("structure.world", "dynamics.bodies"))
    ]


def test_check_without_comparison_misses_its_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its faults are reported as missed."""
    monkeypatch.setitem(COMPARERS, "structure.mimic", lambda *_: Compared(()))
    found = _run_trials(OWN / "oblique_arm.urdf", tmp_path, ["mimic.dropped", "mass.halved"])

    assert {trial.fault: trial.caught for trial in found.trials} == {
        "mimic.dropped": False,
        "mass.halved": True,
    }


def test_false_positive_on_good_usd_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails on the good USD."""
    alarm = Difference("robot", "robot", math.inf, partial(Description, "wolf"))
    monkeypatch.setitem(COMPARERS, "limits.lower", lambda *_: Compared((alarm,)))

    assert _run_trials(PENDULUM, tmp_path, []).raised == ("limits.lower",)


def test_smallest_detected_size_is_the_tolerance(tmp_path: Path) -> None:
    """The shift of a frame displaces its link by as much."""
    faults = frozenset({"joint.pos0-shifted", "mass.scaled", "body.shifted"})
    urdf = OWN / "oblique_arm.urdf"
    found = run_trials("arm", str(urdf), str(tmp_path), Plan(1, faults, faults))
    sizes = {trial.fault: trial.smallest for trial in found.trials}

    assert sizes["joint.pos0-shifted"] == pytest.approx(1e-5, rel=0.02)
    assert sizes["body.shifted"] == pytest.approx(1e-5, rel=0.02)
    assert sizes["mass.scaled"] == pytest.approx(1e-4, rel=0.02)


@dataclass(frozen=True)
class _Simulator:
    """Reads a USD as the judged engine does, or the good USD in place of each."""

    name: str
    reads_changes: bool
    side: Side = Side.USD

    def availability(self) -> Availability:
        return Available("1")

    def observe(self, request: Request) -> Observation:
        if not self.reads_changes:
            good = Path(request.path).with_name("good.usda")
            request = structs.replace(request, path=str(good))
        return structs.replace(OpenusdEngine().observe(request), engine=self.name)


def test_simulators_show_faults_that_they_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault is shown by results that differ from the URDF because of it."""
    simulators = (
        _Simulator("attentive", reads_changes=True),
        _Simulator("blind", reads_changes=False),
    )
    monkeypatch.setattr(experiment, "engines", lambda: simulators)
    plan = Plan(1, frozenset(), frozenset({"mass.halved"}), simulators=True)
    found = run_trials("5", str(PENDULUM), str(tmp_path), plan)

    assert [trial.simulators for trial in found.trials] == [(("attentive", True), ("blind", False))]


@pytest.mark.parametrize("flattened", [False, True])
@pytest.mark.parametrize("profile", Profile)
def test_types_instances_and_surroundings_are_judged_in_every_profile(
    tmp_path: Path, profile: Profile, *, flattened: bool
) -> None:
    """Those that a profile has no place for are left out."""
    urdf = str(OWN / "oblique_arm.urdf")
    sampled = configurations(structure(parse(urdf).robot))
    spec = ReferenceEngine().observe(Request(urdf, sampled))
    options = ConvertOptions(profile=profile)
    good = str(convert(urdf, tmp_path / "good", options).root_layer)
    if flattened:
        flat = str(tmp_path / "flat.usda")
        Usd.Stage.Open(good).Export(flat)
        good = flat
    engine = OpenusdEngine()
    usd = engine.observe(Request(good, sampled))
    trials = experiment._Trials(open_asset(good, spec, usd, sampled), spec, sampled, tmp_path)
    missed = []
    seeded = set()
    for fault in FAULTS:
        if fault.id.startswith(("type.", "instance.", "outside.", "value.radius")):
            for seed in list(fault.seeds(trials.asset))[:1]:
                edited = trials.write(fault.id, partial(experiment._apply, seed, 0.0))
                seeded.add(fault.id)
                if not {*fault.aims} & {*trials.failed(edited)}:
                    missed.append(fault.id)

    assert trials.failed(good) == ()
    assert missed == []
    assert {"type.mass", "type.points", "instance.default", "outside.lock"} <= seeded


def test_consistent_stage_in_grams_raises_no_alarm(tmp_path: Path) -> None:
    """Masses, inertias, forces and torques are a thousand times as large."""
    trials = _trials_by_profile(OWN / "oblique_arm.urdf", tmp_path)["generic"]

    assert trials.failed(trials.write("grams", _in_grams)) == ()


def _in_grams(stage: Usd.Stage) -> None:
    """Scale all attributes with a unit of mass."""
    UsdPhysics.SetStageKilogramsPerUnit(stage, 0.001)
    units = ("mass", "density", "nertia", "maxForce", "damping", "friction")
    for prim in stage.Traverse():
        for one in prim.GetAuthoredAttributes():
            name = one.GetName()
            if name.startswith(("physics:", "drive:", "newton:")) and (
                name.endswith(units) and not prim.HasAPI(UsdPhysics.MaterialAPI)
            ):
                value = one.Get()
                is_array = isinstance(value, Vt.DoubleArray)
                one.Set([1e3 * each for each in value] if is_array else 1e3 * value)


def test_generated_seeds_are_caught_harmless_or_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A seed is missed if its check is missing, and no reason makes it harmless."""
    monkeypatch.setitem(COMPARERS, "structure.initial", lambda *_: Compared(()))
    keys = {
        "PhysicsRigidBodyAPI: physics:velocity moved",
        "PhysicsMassAPI: physics:mass doubled",
        "PhysicsMassAPI: physics:density one",
        "stage metadata: metersPerUnit doubled",
    }
    urdf = str(OWN / "oblique_arm.urdf")
    found = {
        (trial.schema, trial.edit): (bool(trial.failed), bool(trial.reason))
        for trial in run_schema_trials("arm", urdf, str(tmp_path), frozenset(keys))
    }

    assert found == {
        ("PhysicsRigidBodyAPI", "physics:velocity moved"): (False, False),
        ("PhysicsMassAPI", "physics:mass doubled"): (True, False),
        ("PhysicsMassAPI", "physics:density one"): (False, True),
        ("stage metadata", "metersPerUnit doubled"): (True, False),
    }


def test_examination_is_deterministic(tmp_path: Path) -> None:
    """Same robot, same result."""
    faults = ["joint.axis-negated", "topology.joint-rehung", "mass.axes-turned"]
    twice = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        twice.append(_run_trials(OWN / "drifter.urdf", tmp_path / name, faults, 3))

    assert twice[0] == twice[1]
    assert len(twice[0].trials) > 3
