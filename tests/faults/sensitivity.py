"""Seed faults into good USDs, and report which are caught.

``python -m tests.faults.sensitivity`` seeds each fault, and each change that schemas generate, at
one place of one robot; ``--full`` at every place of every robot. Faults are seeded into USDs of
URDF, and again into USDs of MJCF where these have a place. It fails if a fault is missed, if a good
USD fails a check, if a check fails for no fault, or if nothing reads a property of a schema.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import msgspec
from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from tests.faults import shape_faults, structure_faults  # noqa: F401  they add faults
from tests.faults.fault import FAULTS, PARTS_MISSING, REFUSED, ROBOTS, Fault, Robot
from tests.faults.schema_faults import STAGE, SchemaFault, schema_faults
from tests.faults.value_faults import description_of
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.settings import harmless_reason
from urdf_usd.conformance.engines.protocol import Observed, Request, Side, UnsupportedError
from urdf_usd.conformance.engines.reference import ReferenceEngine, structure
from urdf_usd.conformance.execution.mjcf import read_as_mjcf
from urdf_usd.conformance.observation.robot import Configurations, Observation
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.requested_settings import requested_settings
from urdf_usd.conformance.verdict.judged import DECIDING
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.conversion import with_settings
from urdf_usd.converter.simulation.settings import load_settings
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports.records.record import CheckRecord, Grade

# Our own have features that the corpus lacks, and are small. Together they have every joint type,
# couplings, both kinds of base, massless links, meshes and primitives.
NAMES = (
    "oblique_arm",
    "drifter",
    "pybullet:cartpole.urdf",
    "pybullet:cube_rotate.urdf",
    "pybullet:pendulum5.urdf",
    "pybullet:r2d2.urdf",
    "pybullet:husky/husky.urdf",
    "pybullet:racecar/racecar.urdf",
    "pybullet:kuka_iiwa/model.urdf",
    "pybullet:franka_panda/panda.urdf",
    "pybullet:xarm/xarm6_with_gripper.urdf",
    "pybullet:laikago/laikago_toes_zup_lores.urdf",
    "pybullet:quadruped/spirit40newer.urdf",
)
# Robots in MJCF, with good USDs that mujoco-usd-converter made and that were corrected by hand; in
# place of a profile, and the profiles whose faults are seeded into them.
MJCF_NAMES = ("oblique_neck", "free_cart")
MJCF = "mjcf"
_OF_MJCF = ("generic", "described")
# Profiles in which properties of schemas are seeded, and whether those of registered ones.
_SCHEMA_PROFILES = {"generic": True, "physx": False, "mujoco": False, MJCF: True}
# Properties of schemas that no generated change shows to be read, and what does, or why.
_UNSHOWN = {
    "PhysicsJoint physics:collisionEnabled": "setting.neighbours",
    "PhysicsJoint physics:excludeFromArticulation": "topology.joint-excluded",
    "PhysicsCollisionGroup physics:filteredGroups": "setting.grouped",
    "PhysicsCollisionGroup physics:invertFilteredGroups": "setting.group-inverted",
    "PhysicsCollisionGroup physics:mergeGroup": "setting.groups-merged",
    "PhysicsFilteredPairsAPI physics:filteredPairs": "setting.filtered",
    "NewtonNeuralControlAPI newton:modelPath": "its actuator fails a check itself",
}
# Whatever changes where a robot comes to rest fails another check as well.
_UNFAILED = {"dynamics.rollout"}
CAUGHT, MISSED, EQUIVALENT = "caught", "missed", "equivalent"
# Sizes of faults, relative to the largest one that may pass. Our own robots have the smaller
# one as well, which shows that a fault is not caught far above its tolerance alone.
_SIZES, _SHARP = (2.0,), (2.0, 1.1)
# Largest number of places that are tried until a USD is not equivalent.
_TRIES = 12
# Processes that convert a robot in one profile, and seed a part of the faults.
_SHARDS = 2


class Trial(Struct, frozen=True):
    """One fault in one place of one robot."""

    fault: str  # its id; for a generated one its schema
    robot: str
    subject: str
    failed: tuple[str, ...]  # checks
    outcome: str
    title: str = ""  # of a generated change
    changed: tuple[str, ...] = ()  # properties that may matter, with the schema that defines them
    finding: str = ""  # first finding of the first check that detects it

    @property
    def key(self) -> str:
        """Identifies the fault or change on all robots."""
        return f"{self.fault}: {self.title}" if self.title else self.fault


class _Good(Struct, frozen=True, eq=False):
    """A good USD, and what its source says."""

    usd: str
    expected: Observation
    chosen: Configurations
    requested: SimulationObservation | None = None
    side: Side = Side.URDF


def _good_of_urdf(robot: str, profile: str, folder: Path) -> _Good:
    urdf = str(resolve_robot(robot).path if ":" in robot else ROBOTS / f"{robot}.urdf")
    # Repairable text is accepted, as by `convert`.
    chosen = configurations(structure(parse(urdf).robot))
    expected = ReferenceEngine().observe(Request(urdf, chosen))
    requested = None
    options = ConvertOptions(physics_variants=profile == "mujoco")
    if profile == "described":
        file = folder / "robot.toml"
        file.write_text(description_of(expected), encoding="utf-8")
        description = load_settings(file)
        options = with_settings(options, description)
        requested = requested_settings(description, urdf, expected)
    elif profile != "mujoco":
        options = ConvertOptions(profile=Profile(profile))
    usd = str(convert(urdf, folder / "good", options).root_layer)
    if profile == "mujoco":
        layer = Sdf.Layer.FindOrOpen(usd)
        layer.GetPrimAtPath(f"/{layer.defaultPrim}").variantSelections["Physics"] = profile
        layer.Save()
    return _Good(usd, expected, chosen, requested)


def _good_of_mjcf(robot: str) -> _Good:
    mjcf, usd = (str(ROBOTS / f"{robot}{ending}") for ending in (".xml", ".usda"))
    chosen = configurations(mjcf_joints(mjcf))
    expected = observe_mjcf(mjcf, chosen)
    return _Good(usd, expected, chosen, expected.simulation, Side.MJCF)


class Trials:
    """A good USD of a robot in one profile, and its changed USDs."""

    def __init__(self, robot: str, profile: str, folder: Path, *, flattened: bool = False) -> None:
        self.name, self.profile, self._folder = robot, profile, folder
        good = _good_of_mjcf(robot) if profile == MJCF else _good_of_urdf(robot, profile, folder)
        if flattened:
            usd = str(folder / "flat.usda")
            Usd.Stage.Open(good.usd).Export(usd)
            good = structs.replace(good, usd=usd)
        self._good = good
        # It keeps the layers of the asset open.
        self.stage = Usd.Stage.Open(good.usd)
        unchanged = self._overlay()
        self._clean = unchanged.GetRootLayer().ExportToString()
        observed = self._observe(unchanged)
        assert observed is not None, f"{robot}: the good USD is refused"
        self._base = good.expected.base or observed.base
        named = zip(good.chosen.joints, good.chosen.positions, strict=True)
        positions = {name: given[:, 0] for name, given in named if given.shape[1] == 1}
        self.robot = Robot.of(self.stage, good.expected, observed.base, positions)
        self.raised = tuple(self._failed(observed))
        self._results = self._judged(observed)

    def _overlay(self) -> Usd.Stage:
        """Return a new stage that references the good one."""
        stage = Usd.Stage.CreateInMemory("overlay.usda")
        UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.GetStageMetersPerUnit(self.stage))
        UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(self.stage))
        UsdPhysics.SetStageKilogramsPerUnit(stage, UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        default = stage.DefinePrim(self.stage.GetDefaultPrim().GetPath())
        default.GetReferences().AddReference(self._good.usd)
        stage.SetDefaultPrim(default)
        return stage

    def _observe(self, stage: Usd.Stage) -> Observation | None:
        """Observe a stage; None if the engine refuses it."""
        path, good = self._folder / "changed.usda", self._good
        stage.GetRootLayer().Export(str(path))
        # MuJoCo, which computes the equations of motion, warns of invalid values.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                observed = OpenusdEngine().observe(Request(str(path), good.chosen))
            except UnsupportedError:
                return None
            finally:
                path.unlink()
        is_mjcf = good.side is Side.MJCF
        return read_as_mjcf(good.expected, observed, good.chosen) if is_mjcf else observed

    def _checks(self, observation: Observation) -> tuple[CheckRecord, ...]:
        good, decides = self._good, DECIDING[self._good.side]
        # Other engines of the source only affect values on which they contradict this one.
        return judge(
            {decides: Observed(good.expected)},
            Observed(observation),
            expected_base=self._base,
            requested=good.requested,
            decides=decides,
        ).checks

    def _failed(self, observation: Observation | None) -> dict[str, str]:
        """Return the checks that fail, with their first findings."""
        if observation is None:
            return {REFUSED: ""}
        failed = {
            check.id: f"{check.findings[0].subject} | {check.findings[0].message}"
            for check in self._checks(observation)
            if check.grade is Grade.FAILS
        }
        return failed | ({PARTS_MISSING: ""} if observation.missing else {})

    def _judged(self, observation: Observation) -> dict[str, tuple[int, float]]:
        """Return how many values each check compares, and their largest difference."""
        return {
            check.id: (check.compared, check.worst or 0.0)
            for check in self._checks(observation)
            # A USD need not keep the words of shapes.
            if check.id != "structure.words"
        }

    def _is_same(self, changed: Observation | None) -> bool:
        """Whether the checks see no difference to the good USD."""
        results = self._judged(changed) if changed else {}
        return results.keys() == self._results.keys() and all(
            results[check][0] == compared
            and math.isclose(results[check][1], worst, rel_tol=5e-4, abs_tol=1e-5)
            for check, (compared, worst) in self._results.items()
        )

    def faults(self) -> Iterator[Fault]:
        """Yield the faults of the table that may have a place."""
        profiles = _OF_MJCF if self.profile == MJCF else (self.profile,)
        return (fault for fault in FAULTS if fault.profile in profiles)

    def seed(self, fault: Fault, *, every: bool = False) -> Iterator[Trial]:
        """Seed a fault at one place, or at every place, in each of its sizes.

        A place in which it authors nothing is none.
        """
        places = list(fault.places(self.robot))
        places = places if every else places[len(places) // 2 :] + places[: len(places) // 2]
        sizes = _SIZES if ":" in self.name else _SHARP
        for size in sizes if fault.tolerance else sizes[:1]:
            stage, tried = self._overlay(), 0
            for place in places:
                prim = stage.GetPrimAtPath(place.path)
                fault.edit(structs.replace(place, prim=prim, size=size * (fault.tolerance or 0.0)))
                if stage.GetRootLayer().ExportToString() == self._clean:
                    continue
                changed = self._observe(stage)
                failed = self._failed(changed)
                caught_by = [check for check in fault.detected_by if check in failed]
                outcome = CAUGHT if caught_by or not (fault.detected_by or failed) else MISSED
                if fault.equivalent and not failed and self._is_same(changed):
                    outcome = EQUIVALENT
                finding = failed[caught_by[0]] if caught_by else ""
                where = self.name, place.path
                yield Trial(fault.id, *where, tuple(failed), outcome, finding=finding)
                stage, tried = self._overlay(), tried + 1
                if not every and (outcome != EQUIVALENT or tried == _TRIES):
                    break

    def schema_faults(self) -> tuple[SchemaFault, ...]:
        registered = _SCHEMA_PROFILES.get(self.profile)
        return () if registered is None else schema_faults(self.stage, registered=registered)

    def seed_schema(self, fault: SchemaFault) -> Trial:
        """Change the USD as a schema generates it."""
        stage = self._overlay()
        fault.apply(stage)
        changed = self._observe(stage)
        failed = tuple(self._failed(changed))
        harmless = {name: harmless_reason(name, value) for name, value in fault.values}
        schema = fault.schema.partition(":")[0]
        properties = tuple(f"{schema} {name}" for name, why in harmless.items() if not why)
        makes_none = harmless and all(harmless.values())
        is_same = makes_none or (fault.schema != STAGE and not failed and self._is_same(changed))
        outcome = CAUGHT if failed else EQUIVALENT if is_same else MISSED
        return Trial(fault.schema, self.name, fault.path, failed, outcome, fault.title, properties)


class Report(Struct, frozen=True):
    """All trials: of the table of faults, of the same in MJCF, and of generated changes."""

    robots: tuple[str, ...]
    raised: tuple[tuple[str, tuple[str, ...]], ...]  # checks that fail on good USDs
    trials: tuple[Trial, ...]
    schema_trials: tuple[Trial, ...]
    mjcf_trials: tuple[Trial, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Why the harness is not sensitive enough; nothing if it is."""
        every = (*self.trials, *self.mjcf_trials, *self.schema_trials)
        seeded = {trial.fault for trial in every if trial.outcome != EQUIVALENT}
        read = {name for one in self.schema_trials if one.failed for name in one.changed}
        single = (one for one in self.schema_trials if not one.title.endswith(" with values"))
        seen = {name for one in single for name in one.changed}
        failed = {check for one in every for check in one.failed}
        checks = {check.id for check in (*CHECKS, *SIMULATION_CHECKS)}
        return [
            *(f"{robot}: false alarm: {', '.join(checks)}" for robot, checks in self.raised),
            *(
                f"{trial.fault} {trial.title}: missed on {trial.robot}, {trial.subject}"
                for trial in every
                if trial.outcome == MISSED
            ),
            *(f"{one.id}: no place to seed it" for one in FAULTS if one.id not in seeded),
            *(f"{name}: no check reads it" for name in sorted(seen - read - _UNSHOWN.keys())),
            *(f"{check}: no fault fails it" for check in sorted(checks - failed - _UNFAILED)),
        ]


def _seed(
    robot: str, profile: str, done: AbstractSet[str], shard: int, *, held: bool, full: bool
) -> tuple[tuple[str, ...], list[Trial]]:
    """Seed what is not done yet; also return the checks that fail on the good USD.

    Either the faults and the generated changes of prims that have the schema (``held``), or the
    other generated changes.
    """
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(robot, profile, Path(folder))
        faults = [one for one in trials.faults() if held and one.id not in done]
        seeded = [one for fault in faults[shard::_SHARDS] for one in trials.seed(fault, every=full)]
        generated = trials.schema_faults() if full or profile != MJCF else ()
        generated = tuple(one for one in generated if one.held is held and one.key not in done)
        return trials.raised, [*seeded, *map(trials.seed_schema, generated[shard::_SHARDS])]


def measure(
    robots: Sequence[str] = (*MJCF_NAMES, *NAMES), *, jobs: int = 2, full: bool = False
) -> Report:
    """Seed faults into good USDs.

    Where a fault of the table makes no difference, the next robot is tried; where a generated
    change makes none, as long as nothing has read its properties.

    Args:
        robots: Own robots by name, others by reference; the first ones are preferred.
        jobs: Number of processes.
        full: Whether to seed at every place of every robot.
    """
    trials: dict[bool, list[Trial]] = {True: [], False: []}  # by whether the source is an MJCF
    raised: dict[str, tuple[str, ...]] = {}
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for held, robot in product((True, False), robots):
            is_mjcf = robot in MJCF_NAMES
            profiles = (MJCF,) if is_mjcf else dict.fromkeys(fault.profile for fault in FAULTS)
            own = trials[is_mjcf]
            read = {name for trial in own if trial.failed for name in trial.changed}
            done = {
                trial.key
                for trial in own
                if trial.outcome != EQUIVALENT or (trial.title and not {*trial.changed} - read)
            }
            tasks = [
                (profile, pool.submit(_seed, robot, profile, seen, shard, held=held, full=full))
                for seen in [frozenset() if full else frozenset(done)]
                for profile in profiles
                if held or (profile in _SCHEMA_PROFILES and (full or not is_mjcf))
                for shard in range(_SHARDS)
            ]
            for profile, task in tasks:
                failed, found = task.result()
                own += found
                raised |= {f"{robot} ({profile})": failed} if failed else {}
    generated = (trial for own in trials.values() for trial in own if trial.title)
    table, again = (tuple(one for one in trials[kind] if not one.title) for kind in (False, True))
    return Report(tuple(robots), tuple(raised.items()), table, tuple(generated), again)


def render(report: Report) -> str:
    """Return the report as Markdown."""
    lines = ["| fault | outcome | robot | failed checks |", "|---|---|---|---|"]
    lines += [
        f"| {one.fault} | {one.outcome} | {one.robot} | {', '.join(one.failed)} |"
        for one in (*report.trials, *report.mjcf_trials)
    ]
    lines += ["", *(f"✗ {problem}" for problem in report.problems)]
    for trials, what in (
        (report.trials, "faults of {} kinds"),
        (report.mjcf_trials, "faults of {} kinds in USDs of MJCF"),
        (report.schema_trials, "generated changes"),
    ):
        outcomes = Counter(trial.outcome for trial in trials)
        lines.append(
            f"{'✗' if outcomes[MISSED] else '✓'} {outcomes[CAUGHT]} of "
            f"{outcomes.total() - outcomes[EQUIVALENT]} "
            f"{what.format(len({trial.fault for trial in trials}))} caught, "
            f"{outcomes[EQUIVALENT]} equivalent, {outcomes[MISSED]} missed"
        )
    sign = "✗" if report.raised else "✓"
    lines.append(f"{sign} {len(report.robots)} robots, {len(report.raised)} false alarms")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=(*MJCF_NAMES, *NAMES))
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--full", action="store_true", help="at every place of every robot")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all trials")
    given = parser.parse_args()
    report = measure(given.robots, jobs=given.jobs, full=given.full)
    if given.json:
        document = {"problems": report.problems} | msgspec.to_builtins(report)
        given.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(render(report))
    return bool(report.problems)


if __name__ == "__main__":
    sys.exit(main())
