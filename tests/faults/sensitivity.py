"""Seed faults into good USDs, and report which are caught.

Each fault, and each change that schemas generate, is seeded at one place of one robot, or at every
place of every robot; into USDs of URDF, and into USDs of MJCF where these have a place. Fails if a
fault is missed, a good USD fails a check, a check fails for no fault, or nothing reads a property.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import msgspec
from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from tests.faults import shape_faults, structure_faults  # noqa: F401  they add faults
from tests.faults.fault import FAULTS, PARTS_MISSING, REFUSED, ROBOTS, Fault, Place, Robot
from tests.faults.schema_faults import STAGE, SchemaFault, schema_faults
from tests.faults.value_faults import description_of
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.descriptions import read_as_mjcf
from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.settings import harmless_reason
from urdf_usd.conformance.engines.protocol import Observed, Request, UnsupportedError
from urdf_usd.conformance.engines.reference import ReferenceEngine, structure
from urdf_usd.conformance.expectations import requested_settings
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.simulation.settings import load_settings, with_settings
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports.records.record import Grade

# Robots in MJCF, with good USDs that mujoco-usd-converter made and that were corrected by hand.
MJCF_NAMES = ("oblique_neck", "free_cart")
# Our own have features that the corpus lacks, and are small. Together they have every joint type,
# couplings, both kinds of base, massless links, meshes and primitives.
NAMES = (
    *MJCF_NAMES,
    *("oblique_arm", "drifter"),
    *("pybullet:cartpole.urdf", "pybullet:cube_rotate.urdf", "pybullet:pendulum5.urdf"),
    *("pybullet:r2d2.urdf", "pybullet:husky/husky.urdf", "pybullet:racecar/racecar.urdf"),
    *("pybullet:kuka_iiwa/model.urdf", "pybullet:franka_panda/panda.urdf"),
    *("pybullet:xarm/xarm6_with_gripper.urdf", "pybullet:laikago/laikago_toes_zup_lores.urdf"),
    "pybullet:quadruped/spirit40newer.urdf",
)
# In place of a profile.
MJCF = "mjcf"
# Profiles in which properties of schemas are seeded, and whether those of registered ones.
_SCHEMA_PROFILES = {"generic": True, "physx": False, "mujoco": False, MJCF: True}
# Properties of schemas that no generated change shows to be read, and what does, or why.
_UNSHOWN = {
    "PhysicsJoint physics:collisionEnabled": "setting.neighbours",
    "PhysicsJoint physics:excludeFromArticulation": "topology.joint-excluded",
    "PhysicsCollisionGroup physics:filteredGroups": "setting.grouped",
    "PhysicsCollisionGroup physics:invertFilteredGroups": "setting.inverted",
    "PhysicsCollisionGroup physics:mergeGroup": "setting.merged",
    "PhysicsFilteredPairsAPI physics:filteredPairs": "setting.filtered",
    "NewtonNeuralControlAPI newton:modelPath": "its actuator fails a check itself",
}
CAUGHT, MISSED, EQUIVALENT = "caught", "missed", "equivalent"


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


class Trials:
    """A good USD of a robot in one profile, and its changed USDs."""

    def __init__(self, robot: str, profile: str, folder: Path, *, flattened: bool = False) -> None:
        self.name, self.profile, self._folder = robot, profile, folder
        if profile == MJCF:
            source, usd = (str(ROBOTS / f"{robot}{ending}") for ending in (".xml", ".usda"))
            self._chosen = configurations(mjcf_joints(source))
            expected = observe_mjcf(source, self._chosen)
        else:
            source = str(resolve_robot(robot).path if ":" in robot else ROBOTS / f"{robot}.urdf")
            self._chosen = configurations(structure(parse(source).robot))
            expected = ReferenceEngine().observe(Request(source, self._chosen))
            options = ConvertOptions(physics_variants=profile == "mujoco")
            if profile == "described":
                (folder / "robot.toml").write_text(description_of(expected), encoding="utf-8")
                description = load_settings(folder / "robot.toml")
                options = with_settings(options, description)
                requested = requested_settings(description, source, expected)
                expected = structs.replace(expected, simulation=requested)
            elif profile != "mujoco":
                options = ConvertOptions(profile=Profile(profile))
            usd = str(convert(source, folder / "good", options).root_layer)
        if profile == "mujoco":
            layer = Sdf.Layer.FindOrOpen(usd)
            layer.GetPrimAtPath(f"/{layer.defaultPrim}").variantSelections["Physics"] = profile
            layer.Save()
        if flattened:
            Usd.Stage.Open(usd).Export(str(folder / "flat.usda"))
            usd = str(folder / "flat.usda")
        # It keeps the layers of the asset open.
        self.stage = Usd.Stage.Open(usd)
        base = expected.base or OpenusdEngine().observe(Request(usd, self._chosen)).base
        self._expected = structs.replace(expected, base=base)
        named = zip(self._chosen.joints, self._chosen.positions, strict=True)
        positions = {name: given[:, 0] for name, given in named if given.shape[1] == 1}
        self.robot = Robot.of(self.stage, self._expected, positions)
        unchanged = self._overlay()
        self._clean = unchanged.GetRootLayer().ExportToString()
        # Largest difference by check and number of values.
        self._results: dict[tuple[str, int], float] = {}
        self.raised = tuple(self._judge(unchanged)[0])

    def _overlay(self) -> Usd.Stage:
        """Return a new stage that references the good one."""
        stage = Usd.Stage.CreateInMemory("overlay.usda")
        UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.GetStageMetersPerUnit(self.stage))
        UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(self.stage))
        UsdPhysics.SetStageKilogramsPerUnit(stage, UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        stage.SetDefaultPrim(stage.DefinePrim(self.robot.root))
        stage.GetDefaultPrim().GetReferences().AddReference(self.stage.GetRootLayer().identifier)
        return stage

    def changed(self, edit: Callable[[Usd.Stage], object]) -> Usd.Stage | None:
        """Return a changed stage, or None if the edit authors nothing."""
        stage = self._overlay()
        edit(stage)
        return stage if stage.GetRootLayer().ExportToString() != self._clean else None

    def _judge(self, stage: Usd.Stage) -> tuple[dict[str, str], bool]:
        """Return the checks that fail, with their first findings, and whether all else is equal."""
        path = self._folder / "changed.usda"
        stage.GetRootLayer().Export(str(path))
        # MuJoCo, which computes the equations of motion, warns of invalid values.
        with warnings.catch_warnings(action="ignore"):
            try:
                observed = OpenusdEngine().observe(Request(str(path), self._chosen))
            except UnsupportedError:
                return {REFUSED: ""}, False
        if self.profile == MJCF:
            observed = read_as_mjcf(self._expected, observed, self._chosen)
        # Other engines of the source only affect values on which they contradict this one.
        source = {REFERENCE: Observed(self._expected)}
        judged = judge(source, Observed(observed), requested=self._expected.simulation)
        failed = {
            check.id: f"{check.findings[0].subject} | {check.findings[0].message}"
            for check in judged.checks
            if check.grade is Grade.FAILS
        }
        failed |= {PARTS_MISSING: ""} if observed.missing else {}
        # A USD need not keep the words of shapes.
        compared = (check for check in judged.checks if check.id != "structure.words")
        results = {(check.id, check.compared): check.worst or 0.0 for check in compared}
        self._results = self._results or results
        if failed or results.keys() != self._results.keys():
            return failed, False
        is_close = partial(math.isclose, rel_tol=5e-4, abs_tol=1e-5)
        return failed, all(map(is_close, results.values(), self._results.values()))

    def faults(self) -> Iterator[Fault]:
        """Yield the faults of the table that may have a place."""
        profiles = ("generic", "described") if self.profile == MJCF else (self.profile,)
        return (fault for fault in FAULTS if fault.profile in profiles)

    def seed(self, fault: Fault, *, every: bool = False) -> Iterator[Trial]:
        """Seed a fault at every place, or until one is not equivalent, in each of its sizes."""

        def edited(place: Place) -> Usd.Stage | None:
            return self.changed(lambda stage: fault.edit(place.on(stage)))

        places = list(fault.places(self.robot))
        places = places if every else places[len(places) // 2 :] + places[: len(places) // 2]
        # Relative to the largest size that may pass. The smaller one, on our own robots, shows that
        # a fault is not caught far above its tolerance alone.
        sizes = (2.0, 1.1) if fault.tolerance and ":" not in self.name else (2.0,)
        for size in sizes:
            for place in places:
                stage = edited(structs.replace(place, size=size * (fault.tolerance or 0.0)))
                if not stage:
                    continue
                failed, is_same = self._judge(stage)
                finding = next((failed[one] for one in fault.detected_by if one in failed), None)
                is_caught = finding is not None or not (fault.detected_by or failed)
                outcome = CAUGHT if is_caught else MISSED
                outcome = EQUIVALENT if fault.equivalent and is_same else outcome
                where = self.name, place.path
                yield Trial(fault.id, *where, tuple(failed), outcome, finding=finding or "")
                if not every and outcome != EQUIVALENT:
                    break

    def seed_schema(self, fault: SchemaFault) -> Trial:
        """Change the USD as a schema generates it."""
        failed, is_same = self._judge(self.changed(fault.apply) or self._overlay())
        harmful = [name for name, value in fault.values if not harmless_reason(name, value)]
        is_same = (is_same and fault.schema != STAGE) or bool(fault.values and not harmful)
        outcome = CAUGHT if failed else EQUIVALENT if is_same else MISSED
        changed = tuple(f"{fault.schema.partition(':')[0]} {name}" for name in harmful)
        where = self.name, fault.path
        return Trial(fault.schema, *where, tuple(failed), outcome, fault.title, changed)


def problems(raised: dict[str, tuple[str, ...]], trials: list[Trial]) -> list[str]:
    """Return why the harness is not sensitive enough; nothing if it is."""
    read = {name for trial in trials if trial.failed for name in trial.changed}
    single = (trial for trial in trials if not trial.title.endswith(" with values"))
    unread = {name for trial in single for name in trial.changed} - read - _UNSHOWN.keys()
    checks = {check.id for check in (*CHECKS, *SIMULATION_CHECKS)}
    # Whatever changes where a robot comes to rest fails another check as well.
    unfailed = checks - {check for trial in trials for check in trial.failed} - {"dynamics.rollout"}
    return [
        *(f"{robot}: false alarm: {', '.join(failed)}" for robot, failed in raised.items()),
        *(
            f"{trial.fault} {trial.title}: missed on {trial.robot}, {trial.subject}"
            for trial in trials
            if trial.outcome == MISSED
        ),
        *(f"{name}: no check reads it" for name in sorted(unread)),
        *(f"{check}: no fault fails it" for check in sorted(unfailed)),
    ]


def _seed(
    robot: str, done: set[str], full: bool, profile: str
) -> tuple[tuple[str, ...], list[Trial]]:
    """Return the checks that fail on the good USD, and trials of what is not done."""
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(robot, profile, Path(folder))
        faults = [one for one in trials.faults() if one.id not in done]
        found = [trial for fault in faults for trial in trials.seed(fault, every=full)]
        if profile in _SCHEMA_PROFILES and (full or profile != MJCF):
            generated = schema_faults(trials.stage, registered=_SCHEMA_PROFILES[profile])
            found += [trials.seed_schema(one) for one in generated if one.key not in done]
        return trials.raised, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=NAMES, help="the first are preferred")
    parser.add_argument("--full", action="store_true", help="at every place of every robot")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all trials")
    given = parser.parse_args()
    found: dict[str, list[Trial]] = {"trials": [], "mjcf_trials": [], "schema_trials": []}
    raised: dict[str, tuple[str, ...]] = {}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for robot in given.robots:
            table = found["mjcf_trials" if robot in MJCF_NAMES else "trials"]
            generated = found["schema_trials"]
            # What made no difference is tried on the next robot; a generated change only as long
            # as nothing has read its properties.
            read = {name for trial in generated if trial.failed for name in trial.changed}
            done = {
                f"{trial.fault}: {trial.title}" if trial.title else trial.fault
                for trial in (*table, *generated)
                if not given.full
                if trial.outcome != EQUIVALENT or (trial.title and not {*trial.changed} - read)
            }
            own = {fault.profile for fault in FAULTS}
            used = [MJCF] if robot in MJCF_NAMES else sorted(own)
            seed = partial(_seed, robot, done, given.full)
            for profile, (failed, trials) in zip(used, pool.map(seed, used), strict=True):
                raised |= {f"{robot} ({profile})": failed} if failed else {}
                table += [trial for trial in trials if not trial.title]
                generated += [trial for trial in trials if trial.title]
    failures = problems(raised, [trial for trials in found.values() for trial in trials])
    if given.json:
        document = msgspec.json.encode({"problems": failures, "raised": raised, **found})
        given.json.write_bytes(msgspec.json.format(document, indent=1) + b"\n")
    for problem in failures:
        print("✗", problem)
    for name, trials in found.items():
        kinds = len({trial.fault for trial in trials})
        outcomes = Counter(trial.outcome for trial in trials)
        counts = (f"{outcomes[outcome]} {outcome}" for outcome in (CAUGHT, MISSED, EQUIVALENT))
        print(f"{name.replace('_', ' ')} of {kinds} kinds: {', '.join(counts)}")
    print(f"{len(given.robots)} robots, {len(raised)} false alarms")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
