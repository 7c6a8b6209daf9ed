"""Sensitivity of the harness: detected faults over several robots."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from urdf_usd.conformance.execution.workers.pool import WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.mutation.catalogue import FAULTS
from urdf_usd.conformance.mutation.experiment import (
    Plan,
    RobotTrials,
    Trial,
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


class TrialError(Exception):
    """The trials of a robot failed; the message names the robot and the reason."""


@dataclass(frozen=True, slots=True)
class KindResult:
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


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Results of all faults.

    Attributes:
        kinds: One per kind of fault.
        robots: Robots with trials.
        raised: Robots whose unchanged USD fails checks, with those checks.
    """

    kinds: tuple[KindResult, ...]
    robots: tuple[str, ...]
    raised: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def passed(self) -> bool:
        """Whether all faults were detected, without false positives."""
        return not self.raised and all(kind.passed for kind in self.kinds)


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
            smallest size; otherwise one place per kind and robot, and one search.
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
                Plan(
                    None, frozenset(scaled), frozenset(f.id for f in FAULTS[i::_SHARDS])
                )
                for i in range(_SHARDS)
            ]
            tasks = [(robot, plan) for robot in robots for plan in shards]
            first = runner.run_trials(tasks)
            searches: tuple[RobotTrials, ...] = ()
        else:
            tasks = [(robot, Plan(1, frozenset())) for robot in robots]
            first = runner.run_trials(tasks)
            searches = runner.run_trials(
                [
                    (robot, Plan(1, faults, faults))
                    for robot, faults in _on_fastest(first, scaled)
                ]
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
        return summary(first, searches, simulated)


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


@dataclass(frozen=True, slots=True)
class _TrialRunner:
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
        with (
            ThreadPoolExecutor(self.jobs) as threads,
            WorkerPool() as pool,
        ):
            futures = [
                threads.submit(self._run_trials, pool, robot, plan)
                for robot, plan in tasks
            ]
            return tuple(future.result() for future in futures)

    def _run_trials(self, pool: WorkerPool, robot: str, plan: Plan) -> RobotTrials:
        folder = tempfile.mkdtemp(dir=self.folder)
        ending = pool.call(
            run_trials, robot, str(_urdf(robot)), folder, plan, timeout=_TIME_LIMIT
        )
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
) -> Sensitivity:
    """Summarise the results by kind of fault.

    Args:
        runs: Trials that are counted.
        searches: Trials of which only the smallest sizes are used.
        simulated: Trials of which only the simulators are used.
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
    )


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
        missed=tuple(
            (trial.robot, trial.subject) for trial in trials if not trial.caught
        ),
        simulators=simulators,
    )
