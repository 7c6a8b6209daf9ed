"""Trials of one robot: seed each fault, and judge the changed USD."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, structs
from pxr import Sdf, Usd

from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    AbstentionError,
    Available,
    Engine,
    Observed,
    Outcome,
    Request,
    Side,
)
from urdf_usd.conformance.engines.reference.engine import ReferenceEngine, structure
from urdf_usd.conformance.engines.registry import engines
from urdf_usd.conformance.execution.workers.serving import (
    Completed,
    attempt,
)
from urdf_usd.conformance.mutation.catalogue import FAULTS
from urdf_usd.conformance.mutation.fault import (
    PARTS_MISSING,
    REFUSED,
    Fault,
    ProfileName,
    Scale,
    Seed,
)
from urdf_usd.conformance.mutation.generated.harmless import harmless_because
from urdf_usd.conformance.mutation.generated.schema_faults import schema_seeds
from urdf_usd.conformance.mutation.generated.seeds import SchemaSeed
from urdf_usd.conformance.mutation.good_asset import GoodAsset, open_asset, overlay
from urdf_usd.conformance.mutation.simulation_faults import description_of
from urdf_usd.conformance.observation.robot import Configurations, Observation
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.promises.description import read_promise
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.conversion import with_description
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import Grade

# Range of the search for the smallest detected size, and its bisection steps.
_SMALLEST = 1e-2
_STEPS = 10
# Name of the unchanged USD.
_GOOD = "good"
_DESCRIBED = "described"
# An asset with a variant per simulator, with that of MuJoCo selected.
_MUJOCO = "mujoco"


class Trial(Struct, frozen=True):
    """One fault in one place.

    Attributes:
        fault: Identifier of the fault.
        robot: Name of the robot.
        subject: The changed part.
        failed: Checks that failed.
        caught: Whether a check that the fault aims at is among them.
        smallest: Smallest detected size, if searched for.
        simulators: Simulators that read the USD, and whether they compute something
            from it that the URDF does not say, or refuse it.
    """

    fault: str
    robot: str
    subject: str
    failed: tuple[str, ...]
    caught: bool
    smallest: float | None = None
    simulators: tuple[tuple[str, bool], ...] = ()


class RobotTrials(Struct, frozen=True):
    """All trials of one robot.

    Attributes:
        robot: Its name.
        raised: Checks that fail on the unchanged USD; none should.
        trials: One per fault and place.
        equivalent: Identifiers of faults, once per place where they are equivalent.
        schema_seeds: Keys of the seeds that schemas generate for the robot.
    """

    robot: str
    raised: tuple[str, ...]
    trials: tuple[Trial, ...]
    equivalent: tuple[str, ...]
    schema_seeds: tuple[str, ...] = ()


class SchemaTrial(Struct, frozen=True):
    """One seed that a schema generates.

    Attributes:
        schema: The schema, or a group of metadata.
        edit: The change in a few words.
        robot: Name of the robot.
        path: Path of the changed prim.
        failed: Checks that failed; none if it was not caught.
        reason: Why it is harmless; None if it was caught or missed.
    """

    schema: str
    edit: str
    robot: str
    path: str
    failed: tuple[str, ...]
    reason: str | None


class Plan(Struct, frozen=True):
    """Selection of faults and places.

    Attributes:
        places: Largest number of places per fault; None for all.
        measured: Identifiers of faults whose smallest size is searched for.
        faults: Identifiers of faults; None for all.
        simulators: Whether the installed simulators read the changed USDs as well.
    """

    places: int | None
    measured: frozenset[str]
    faults: frozenset[str] | None = None
    simulators: bool = False


def run_trials(robot: str, urdf: str, folder: str, plan: Plan) -> RobotTrials:
    """Seed faults into the USDs of a robot, one USD per profile.

    Args:
        robot: Name of the robot in the result.
        urdf: Its URDF.
        folder: Empty folder for USDs.
        plan: What to seed.

    Raises:
        ConversionError: The URDF cannot be converted.
    """
    faults = [fault for fault in FAULTS if plan.faults is None or fault.id in plan.faults]
    profiles = dict.fromkeys(("generic", *(fault.profile for fault in faults)))
    trials_of = _trials_by_profile(urdf, folder, profiles)
    raised = [
        check
        for robot_trials in trials_of.values()
        for check in robot_trials.failed(robot_trials.write(_GOOD, None))
    ]
    simulators = {
        profile: tuple(
            (engine, robot_trials.differing(engine, robot_trials.path(_GOOD)))
            for engine in (installed_simulators() if plan.simulators else ())
        )
        for profile, robot_trials in trials_of.items()
    }
    trials = []
    equivalent = []
    for fault in faults:
        robot_trials = trials_of[fault.profile]
        seeds = tuple(fault.seeds(robot_trials.asset))
        equivalent += [fault.id for seed in seeds if seed.equivalent]
        chosen = tuple(_spread([s for s in seeds if not s.equivalent], plan.places))
        measured = chosen[len(chosen) // 2 :][:1] if fault.id in plan.measured else ()
        trials += [
            _simulated(
                _trial(robot_trials, robot, fault, seed, measure=seed in measured),
                robot_trials,
                simulators[fault.profile],
            )
            for seed in chosen
        ]
    return RobotTrials(
        robot,
        tuple(dict.fromkeys(raised)),
        tuple(trials),
        tuple(equivalent),
        tuple(seed.key for _, seed in _schema_seeds(trials_of)),
    )


def run_schema_trials(
    robot: str, urdf: str, folder: str, keys: frozenset[str]
) -> tuple[SchemaTrial, ...]:
    """Change the USDs of a robot as schemas generate it.

    Args:
        robot: Name of the robot in the result.
        urdf: Its URDF.
        folder: Empty folder for USDs.
        keys: Keys of the seeds.

    Raises:
        ConversionError: The URDF cannot be converted.
    """
    trials_of = _trials_by_profile(urdf, folder, tuple(_SEEDED))
    good = {
        profile: Usd.Stage.Open(robot_trials.write(_GOOD, None))
        for profile, robot_trials in trials_of.items()
    }
    done = []
    for number, (profile, seed) in enumerate(_schema_seeds(trials_of)):
        if seed.key not in keys:
            continue
        # A new name, as OpenUSD keeps layers that are open.
        usd = trials_of[profile].write(f"schema_{number}", seed.apply)
        failed = trials_of[profile].failed(usd)
        reason = None
        if not failed:
            reason = harmless_because(seed, good[profile], Usd.Stage.Open(usd))
        done.append(SchemaTrial(seed.schema, seed.edit, robot, seed.path, failed, reason))
        Path(usd).unlink()
    return tuple(done)


# Whether registered schemas, or those that are not, are seeded into a profile.
_SEEDED: Mapping[ProfileName, bool] = {
    "generic": True,
    "physx": False,
    "mujoco": False,
}


def _schema_seeds(
    trials_of: Mapping[ProfileName, _Trials],
) -> Iterator[tuple[ProfileName, SchemaSeed]]:
    for profile, registered in _SEEDED.items():
        if profile in trials_of:
            stage = trials_of[profile].asset.stage
            for seed in schema_seeds(stage, registered=registered):
                yield profile, seed


def _spread(seeds: Sequence[Seed], most: int | None) -> Iterator[Seed]:
    """Choose places evenly over the robot; the middle one for a single place."""
    count = len(seeds) if most is None else min(most, len(seeds))
    return (seeds[(2 * step + 1) * len(seeds) // (2 * count)] for step in range(count))


def _trial(robot_trials: _Trials, robot: str, fault: Fault, seed: Seed, *, measure: bool) -> Trial:
    size = fault.scale.seeded if fault.scale else 0.0
    edit = partial(_apply, seed, size)
    failed = robot_trials.failed(robot_trials.write(fault.id, edit))
    caught = _detected(fault, failed)
    smallest = None
    if measure and caught and fault.scale:
        smallest = _smallest(robot_trials, fault, seed, fault.scale)
    return Trial(fault.id, robot, seed.subject, failed, caught, smallest)


def installed_simulators() -> tuple[Engine, ...]:
    """Return the installed engines that simulate a USD, sorted by name."""
    judged = OpenusdEngine().name
    return tuple(
        engine
        for engine in engines()
        if engine.side is Side.USD
        and engine.name != judged
        and isinstance(engine.availability(), Available)
    )


def _simulated(
    trial: Trial,
    robot_trials: _Trials,
    simulators: Iterable[tuple[Engine, frozenset[str]]],
) -> Trial:
    """Add which simulators compute something else than from the good USD.

    Args:
        trial: The trial, whose USD is written.
        robot_trials: The robot.
        simulators: Simulators, and the checks in which the good USD differs.
    """
    usd = robot_trials.path(trial.fault)
    return structs.replace(
        trial,
        simulators=tuple(
            (engine.name, not robot_trials.differing(engine, usd) <= good)
            for engine, good in simulators
        ),
    )


def _apply(seed: Seed, size: float, stage: Usd.Stage) -> None:
    seed.apply(stage, size)


def _detected(fault: Fault, failed: Collection[str]) -> bool:
    return any(aim in failed for aim in fault.aims)


def _smallest(robot_trials: _Trials, fault: Fault, seed: Seed, scale: Scale) -> float:
    """Search the smallest detected size by bisection of its logarithm."""
    caught, missed = scale.seeded, _SMALLEST * scale.tolerance
    for _ in range(_STEPS):
        size = math.sqrt(caught * missed)
        usd = robot_trials.write(fault.id, partial(_apply, seed, size))
        if _detected(fault, robot_trials.failed(usd)):
            caught = size
        else:
            missed = size
    return caught


class _Trials(Struct, frozen=True, eq=False):
    """One robot in one profile, for trials.

    Attributes:
        asset: Its good USD.
        spec: Reference observation of the URDF.
        configurations: The compared configurations.
        folder: Folder of changed USDs.
        promise: What the robot description file states, if the USD has one.
    """

    asset: GoodAsset
    spec: Observation
    configurations: Configurations
    folder: Path
    promise: SimulationObservation | None = None

    def write(self, name: str, edit: Callable[[Usd.Stage], None] | None) -> str:
        """Write a changed USD, or the good one; return its path."""
        stage = overlay(self.asset)
        if edit:
            edit(stage)
        path = self.path(name)
        stage.GetRootLayer().Export(path)
        return path

    def path(self, name: str) -> str:
        """Return the path of a changed USD."""
        return str(self.folder / f"{name}.usda")

    def failed(self, usd: str) -> tuple[str, ...]:
        """Judge a USD; return the checks that fail.

        Without other URDF engines: they only affect values on which they contradict
        the reference.
        """
        outcome = self.outcome(usd)
        if isinstance(outcome, Abstained):
            return (REFUSED,)
        judgement = judge(
            {"reference": Observed(self.spec)},
            outcome,
            expected_base=self.asset.base,
            promise=self.promise,
        )
        failed = [check.id for check in judgement.checks if check.grade is Grade.FAILS]
        if isinstance(outcome, Observed) and outcome.observation.missing:
            failed.append(PARTS_MISSING)
        return tuple(failed)

    def differing(self, simulator: Engine, usd: str) -> frozenset[str]:
        """Return the checks in which a simulator's reading differs from the URDF."""
        outcome = self.outcome(usd)
        match attempt(self.outcome, usd, simulator):
            case Completed(Observed() as simulated):
                pass
            # A crash is reported as a refusal, as in a run.
            case _:
                return frozenset({REFUSED})
        judgement = judge(
            {"reference": Observed(self.spec)},
            outcome,
            simulators=(simulated,),
            expected_base=self.asset.base,
            promise=self.promise,
        )
        return frozenset(
            check.id
            for check in judgement.checks
            for difference in check.differences
            if difference.engine == simulator.name and difference.unequal
        )

    def outcome(self, usd: str, engine: Engine | None = None) -> Outcome:
        """Read a USD, by the engine that is judged unless another is given."""
        request = Request(usd, self.configurations)
        # MuJoCo, which computes the equations of motion, warns of invalid values.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return Observed((engine or OpenusdEngine()).observe(request))
            except AbstentionError as abstention:
                return Abstained(str(abstention))


def _select(root_layer: str, name: str, variant: str) -> None:
    """Select a variant of the default prim in the root layer of an asset."""
    layer = Sdf.Layer.FindOrOpen(root_layer)
    prim = layer.GetPrimAtPath(f"/{layer.defaultPrim}")
    prim.variantSelections[name] = variant
    layer.Save()


def _trials_by_profile(
    urdf: str, folder: str, profiles: Iterable[ProfileName]
) -> dict[ProfileName, _Trials]:
    """Convert a robot once per profile, and observe its URDF."""
    # Repairable text is accepted, as by `convert`.

    sampled = configurations(structure(parse(urdf).robot))
    spec = ReferenceEngine().observe(Request(urdf, sampled))
    trials_of: dict[ProfileName, _Trials] = {}
    for profile in profiles:
        place = Path(folder, profile)
        place.mkdir()
        promise = None
        if profile == _DESCRIBED:
            text = description_of(spec)
            file = place / "robot.toml"
            file.write_text(text, encoding="utf-8")
            options = with_description(ConvertOptions(), load_description(file))
            promise = read_promise(text, spec, urdf=urdf)
        elif profile == _MUJOCO:
            options = ConvertOptions(physics_variants=True)
        else:
            options = ConvertOptions(profile=Profile(profile))
        root_layer = str(convert(urdf, place / "good", options).root_layer)
        if profile == _MUJOCO:
            _select(root_layer, "Physics", _MUJOCO)
        usd = OpenusdEngine().observe(Request(root_layer, sampled))
        asset = open_asset(root_layer, spec, usd, sampled)
        trials_of[profile] = _Trials(asset, spec, sampled, place, promise)
    return trials_of
