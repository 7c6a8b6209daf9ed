"""Sensitivity of the harness: detected faults over several robots."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from urdf_usd.conformance.execution.workers.pool import WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.mutation.catalogue import FAULTS
from urdf_usd.conformance.mutation.experiment import (
    Plan,
    RobotTrials,
    SchemaTrial,
    Trial,
    run_schema_trials,
    run_trials,
)
from urdf_usd.conformance.mutation.fault import Fault
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import resolve_robot

_OWN = Path(__file__).parent / "robots"
# Together they have every joint type, couplings, both kinds of base, massless links,
# meshes and primitives; our own robots have features that the corpus lacks.
ROBOTS = (
    "drifter",
    "oblique_arm",
    "pybullet:cartpole.urdf",
    "pybullet:cube_rotate.urdf",
    "pybullet:pendulum5.urdf",
    "pybullet:husky/husky.urdf",
    "pybullet:racecar/racecar.urdf",
    "pybullet:kuka_iiwa/model.urdf",
    "pybullet:franka_panda/panda.urdf",
    "pybullet:xarm/xarm6_with_gripper.urdf",
    "pybullet:laikago/laikago_toes_zup_lores.urdf",
    "pybullet:quadruped/spirit40newer.urdf",
    "pybullet:r2d2.urdf",
)
# Relative tolerance of the smallest size: resolution of the search, and float32.
_SLACK = 1.1
# Number of tasks per robot if all places are tried.
_SHARDS = 4
_TIME_LIMIT = 900.0

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class TrialError(Exception):
    """The trials of a robot failed; the message names the robot and the reason."""


class KindResult(Struct, frozen=True):
    """Results of one kind of fault.

    Attributes:
        fault: Identifier.
        title: Title of the fault.
        seeded: Number of places in which it was seeded.
        caught: Number of those in which it was detected.
        robots: Number of robots.
        equivalent: Number of places in which it is equivalent.
        checks: Number of failures by check; aimed checks first, then by frequency.
        quantity: The changed quantity, if the size is variable.
        unit: Unit of the size.
        tolerance: Largest size that may pass.
        smallest: Least and largest of the smallest detected sizes over all searches.
        missed: Robots and parts in which it was not detected.
        simulators: Simulators that read a USD with it, and whether their results
            differ from the URDF because of it.
    """

    fault: str
    title: str
    seeded: int
    caught: int
    robots: int
    equivalent: int
    checks: tuple[tuple[str, int], ...]
    quantity: str | None
    unit: str | None
    tolerance: float | None
    smallest: tuple[float, float] | None
    missed: tuple[tuple[str, str], ...]
    simulators: tuple[tuple[str, bool], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it was seeded, and detected everywhere above its tolerance."""
        sharp = (
            self.tolerance is None
            or self.smallest is None
            or self.smallest[1] <= _SLACK * self.tolerance
        )
        return 0 < self.seeded == self.caught and sharp


class SchemaResult(Struct, frozen=True):
    """Results of the seeds that one schema generates.

    Attributes:
        schema: The schema, or a group of metadata.
        seeded: Number of seeds.
        caught: Number of those that a check caught.
        harmless: Why others make no difference, with their numbers.
        checks: Number of failures by check, by frequency.
        missed: Robot, prim and change of the rest.
    """

    schema: str
    seeded: int
    caught: int
    harmless: tuple[tuple[str, int], ...]
    checks: tuple[tuple[str, int], ...]
    missed: tuple[tuple[str, str, str], ...]


class Sensitivity(Struct, frozen=True):
    """Results of all faults.

    Attributes:
        kinds: One per kind of fault.
        robots: Robots with trials.
        raised: Robots whose unchanged USD fails checks, with those checks.
        schemas: One per schema with generated seeds.
    """

    kinds: tuple[KindResult, ...]
    robots: tuple[str, ...]
    raised: tuple[tuple[str, tuple[str, ...]], ...]
    schemas: tuple[SchemaResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all faults were detected, without false positives."""
        return (
            not self.raised
            and all(kind.passed for kind in self.kinds)
            and not any(schema.missed for schema in self.schemas)
        )


def measure(
    *,
    full: bool = False,
    jobs: int = 2,
    robots: Sequence[str] = ROBOTS,
    simulators: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Sensitivity:
    """Seed faults into good USDs and count the detected ones.

    Args:
        full: Whether to try every place of every robot, each with a search for the
            smallest size, and every generated seed on every robot; otherwise one place
            per kind and robot, one search, and each generated seed on one robot.
        jobs: Number of worker processes.
        robots: Own robots by name, others by reference.
        simulators: Whether the installed simulators read one USD per kind of fault
            that they are expected to show.
        progress: Called with the name of a robot whenever a task of it is done.

    Raises:
        TrialError: The trials of a robot failed.
        UnavailableError: A robot is not installed.
    """
    scaled = [fault.id for fault in FAULTS if fault.scale]
    with temporary_folder() as work:
        runner = _TrialRunner(work, jobs, progress or (lambda _: None))
        if full:
            shards = [
                Plan(None, frozenset(scaled), frozenset(f.id for f in FAULTS[i::_SHARDS]))
                for i in range(_SHARDS)
            ]
            tasks = [(robot, plan) for robot in robots for plan in shards]
            first = runner.run_trials(tasks)
            searches: tuple[RobotTrials, ...] = ()
        else:
            tasks = [(robot, Plan(1, frozenset())) for robot in robots]
            first = runner.run_trials(tasks)
            searches = runner.run_trials(
                [(robot, Plan(1, faults, faults)) for robot, faults in _on_fastest(first, scaled)]
            )
        simulated: tuple[RobotTrials, ...] = ()
        if simulators:
            shown = [fault.id for fault in FAULTS if fault.simulated]
            simulated = runner.run_trials(
                [
                    (robot, Plan(1, frozenset(), faults, simulators=True))
                    for robot, faults in _on_fastest(first, shown)
                ]
            )
        seeded = runner.run_schema_trials(
            _shards(assigned_seeds(first, every=full), _SHARDS if full else 1)
        )
        return summary(first, searches, simulated, seeded)


def assigned_seeds(done: Iterable[RobotTrials], *, every: bool) -> dict[str, tuple[str, ...]]:
    """Choose the generated seeds of each robot: all, or each on one robot in turn.

    Args:
        done: Trials of robots, with the keys of their seeds.
        every: Whether each robot has all of its seeds.
    """
    robots_of: dict[str, list[str]] = {}
    for result in done:
        for key in result.schema_seeds:
            if result.robot not in robots_of.setdefault(key, []):
                robots_of[key].append(result.robot)
    chosen: dict[str, list[str]] = {}
    for turn, (key, robots) in enumerate(robots_of.items()):
        for robot in robots if every else [robots[turn % len(robots)]]:
            chosen.setdefault(robot, []).append(key)
    return {robot: tuple(keys) for robot, keys in chosen.items()}


def _shards(keys_of: Mapping[str, Sequence[str]], shards: int) -> list[tuple[str, frozenset[str]]]:
    return [
        (robot, frozenset(keys[shard::shards]))
        for robot, keys in keys_of.items()
        for shard in range(shards)
    ]


def _on_fastest(
    done: Iterable[RobotTrials], faults: Sequence[str]
) -> list[tuple[str, frozenset[str]]]:
    """Choose the fastest robot for each fault, among those in which it is caught."""
    quickest = sorted(done, key=lambda result: len(result.trials))
    chosen: dict[str, set[str]] = {}
    for fault in faults:
        for result in quickest:
            if any(trial.fault == fault and trial.caught for trial in result.trials):
                chosen.setdefault(result.robot, set()).add(fault)
                break
    return [(robot, frozenset(faults)) for robot, faults in chosen.items()]


class _TrialRunner(Struct, frozen=True):
    """Runs trials in worker processes.

    Attributes:
        folder: Parent of one folder per task.
        jobs: Number of worker processes.
        progress: Called with a robot's name whenever a task of it is done.
    """

    folder: Path
    jobs: int
    progress: Callable[[str], None]

    def run_trials(self, tasks: Sequence[tuple[str, Plan]]) -> tuple[RobotTrials, ...]:
        """Run the trials of robots; results are in the order of the tasks."""
        return self._run(run_trials, tasks)

    def run_schema_trials(
        self, tasks: Sequence[tuple[str, frozenset[str]]]
    ) -> tuple[SchemaTrial, ...]:
        """Run generated seeds of robots, by their keys."""
        results = self._run(run_schema_trials, tasks)
        return tuple(trial for trials in results for trial in trials)

    def _run(
        self,
        function: Callable[[str, str, str, _Task], _Result],
        tasks: Sequence[tuple[str, _Task]],
    ) -> tuple[_Result, ...]:
        with (
            ThreadPoolExecutor(self.jobs) as threads,
            WorkerPool() as pool,
        ):
            futures = [
                threads.submit(self._call, pool, function, robot, task) for robot, task in tasks
            ]
            return tuple(future.result() for future in futures)

    def _call(
        self,
        pool: WorkerPool,
        function: Callable[[str, str, str, _Task], _Result],
        robot: str,
        task: _Task,
    ) -> _Result:
        folder = tempfile.mkdtemp(dir=self.folder)
        ending = pool.call(function, robot, str(_urdf(robot)), folder, task, timeout=_TIME_LIMIT)
        if not isinstance(ending, Completed):
            raise TrialError(f"{robot}: {ending.reason}")
        self.progress(robot)
        return ending.value


def _urdf(robot: str) -> Path:
    return resolve_robot(robot).path if ":" in robot else _OWN / f"{robot}.urdf"


def summary(
    runs: Iterable[RobotTrials],
    searches: Iterable[RobotTrials] = (),
    simulated: Iterable[RobotTrials] = (),
    seeded: Iterable[SchemaTrial] = (),
) -> Sensitivity:
    """Summarise the results by kind of fault, and by schema.

    Args:
        runs: Trials that are counted.
        searches: Trials of which only the smallest sizes are used.
        simulated: Trials of which only the simulators are used.
        seeded: Trials of generated seeds.
    """
    done = tuple(runs)
    trials = [trial for result in done for trial in result.trials]
    sized = [*trials, *(trial for result in searches for trial in result.trials)]
    shown: dict[str, dict[str, bool]] = {}
    for trial in (trial for result in simulated for trial in result.trials):
        for engine, differs in trial.simulators:
            engines = shown.setdefault(trial.fault, {})
            engines[engine] = engines.get(engine, False) or differs
    equivalent = Counter(fault for result in done for fault in result.equivalent)
    raised = {result.robot: result.raised for result in done if result.raised}
    return Sensitivity(
        kinds=tuple(
            _kind(
                fault,
                [trial for trial in trials if trial.fault == fault.id],
                [t.smallest for t in sized if t.fault == fault.id and t.smallest],
                equivalent[fault.id],
                tuple(shown.get(fault.id, {}).items()),
            )
            for fault in FAULTS
        ),
        robots=tuple(dict.fromkeys(result.robot for result in done)),
        raised=tuple(raised.items()),
        schemas=tuple(_schemas(seeded)),
    )


def _schemas(trials: Iterable[SchemaTrial]) -> Iterator[SchemaResult]:
    """Summarise generated seeds by schema; instances of a schema are one."""
    grouped: dict[str, list[SchemaTrial]] = {}
    for trial in trials:
        grouped.setdefault(trial.schema.split(":")[0], []).append(trial)
    for schema in sorted(grouped):
        group = grouped[schema]
        checks = Counter(check for trial in group for check in trial.failed)
        reasons = Counter(trial.reason for trial in group if trial.reason)
        yield SchemaResult(
            schema=schema,
            seeded=len(group),
            caught=sum(bool(trial.failed) for trial in group),
            harmless=tuple(sorted(reasons.items(), key=_by_count)),
            checks=tuple(sorted(checks.items(), key=_by_count)),
            missed=tuple(
                (trial.robot, trial.path, trial.edit)
                for trial in group
                if not (trial.failed or trial.reason)
            ),
        )


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    name, count = item
    return -count, name


def _kind(
    fault: Fault,
    trials: Sequence[Trial],
    sizes: Sequence[float],
    equivalent: int,
    simulators: tuple[tuple[str, bool], ...],
) -> KindResult:
    checks = Counter(check for trial in trials for check in trial.failed)
    scale = fault.scale

    def rank(item: tuple[str, int]) -> tuple[bool, int, str]:
        check, count = item
        return check not in fault.aims, -count, check

    return KindResult(
        fault=fault.id,
        title=fault.title,
        seeded=len(trials),
        caught=sum(trial.caught for trial in trials),
        robots=len({trial.robot for trial in trials}),
        equivalent=equivalent,
        checks=tuple(sorted(checks.items(), key=rank)),
        quantity=scale.quantity if scale else None,
        unit=scale.unit if scale else None,
        tolerance=scale.tolerance if scale else None,
        smallest=(min(sizes), max(sizes)) if sizes else None,
        missed=tuple((trial.robot, trial.subject) for trial in trials if not trial.caught),
        simulators=simulators,
    )
