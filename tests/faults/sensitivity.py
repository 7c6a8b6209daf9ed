"""Seed faults into good USDs of several robots, and report which are caught.

``python -m tests.faults.sensitivity`` seeds each fault at one place of each robot, and each
change that schemas generate on one robot; ``--full`` seeds all at every place. It fails if a
fault is missed, if a good USD fails a check, or if nothing reads a property of a schema.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from tests.faults.fault import ProfileName
from tests.faults.trials import CAUGHT, EQUIVALENT, FAULTS, MISSED, Trial, Trials
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Available, Engine, Side
from urdf_usd.conformance.engines.registry import engines
from urdf_usd.converter.scratch import temporary_folder

# Together they have every joint type, couplings, both kinds of base, massless links, meshes
# and primitives; our own robots have features that the corpus lacks.
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
_PROFILES = tuple(dict.fromkeys(fault.profile for fault in FAULTS))
# Checks of which no simulator computes anything.
_UNSIMULATED = ("visual.", "simulation.", "reader.", "structure.words", "structure.values")
# Properties of schemas that no generated change shows to be read, and what does, or why.
_UNSHOWN = {
    "physics:filteredGroups": "setting.grouped",
    "physics:invertFilteredGroups": "setting.group-inverted",
    "physics:mergeGroup": "setting.groups-merged",
    "newton:modelPath": "it is of the control of an actuator, which fails a check itself",
}
_MOST = 2


class Report(Struct, frozen=True):
    """All trials: of the table of faults, and of the changes that schemas generate."""

    robots: tuple[str, ...]
    raised: tuple[tuple[str, tuple[str, ...]], ...]  # checks that fail on good USDs
    trials: tuple[Trial, ...]
    schema_trials: tuple[Trial, ...]
    simulators: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...] = ()

    @property
    def problems(self) -> list[str]:
        """Why the harness is not sensitive enough; nothing if it is."""
        seeded = {trial.fault for trial in self.trials if trial.outcome == CAUGHT}
        lost = {trial.fault for trial in self.trials if trial.outcome == MISSED}
        read = {name for one in self.schema_trials if one.failed for name in one.properties}
        seen = {name for one in self.schema_trials for name in one.properties}
        quiet = seen - read - _UNSHOWN.keys()
        return [
            *(f"{robot}: false alarm: {', '.join(checks)}" for robot, checks in self.raised),
            *(
                f"{trial.fault} {trial.title}: missed on {trial.robot}, {trial.subject}"
                for trial in (*self.trials, *self.schema_trials)
                if trial.outcome == MISSED
            ),
            *(
                f"{fault.id}: no place to seed it"
                for fault in FAULTS
                if fault.id not in seeded | lost
            ),
            *(f"{name}: no check reads it" for name in sorted(quiet)),
        ]


_Task: TypeAlias = tuple[str, ProfileName]
_Shown: TypeAlias = tuple[str, tuple[tuple[str, bool], ...]]


@contextmanager
def _trials(robot: str, profile: ProfileName) -> Iterator[Trials]:
    folder = Path(tempfile.mkdtemp())
    try:
        yield Trials(robot, profile, folder)
    finally:
        shutil.rmtree(folder)


class _Seeded(Struct, frozen=True):
    raised: tuple[str, ...]
    trials: tuple[Trial, ...]
    generated: tuple[tuple[str, bool], ...]  # keys, and whether the prims have the schemas


def _seed(robot: str, profile: ProfileName, *, every: bool) -> _Seeded:
    """Seed the faults of a profile."""
    with _trials(robot, profile) as trials:
        faults = [fault for fault in FAULTS if fault.profile == profile]
        seeded = tuple(trial for fault in faults for trial in trials.seed(fault, every=every))
        generated = tuple((fault.key, fault.held) for fault in trials.schema_faults())
        return _Seeded(trials.raised, seeded, generated)


def _seed_schemas(robot: str, profile: ProfileName, keys: Collection[str]) -> tuple[Trial, ...]:
    with _trials(robot, profile) as trials:
        return tuple(trials.seed_schemas(keys))


def _simulate(robot: str, profile: ProfileName, ids: Collection[str]) -> tuple[_Shown, ...]:
    """Return which simulators show faults."""
    with _trials(robot, profile) as trials:
        engines, faults = simulators(), (fault for fault in FAULTS if fault.id in ids)
        return tuple((fault.id, tuple(trials.shown(fault, engines))) for fault in faults)


def simulators() -> tuple[Engine, ...]:
    """Return the installed engines that simulate a USD."""
    return tuple(
        engine
        for engine in engines()
        if engine.side is Side.USD
        and engine.name != OpenusdEngine().name
        and isinstance(engine.availability(), Available)
    )


def measure(
    robots: Sequence[str] = ROBOTS, *, jobs: int = 2, full: bool = False, simulated: bool = False
) -> Report:
    """Seed faults into good USDs.

    Args:
        robots: Own robots by name, others by reference.
        jobs: Number of processes.
        full: Whether to seed at every place, and what schemas generate on every robot.
        simulated: Whether the installed simulators read one USD per kind of fault.
    """
    tasks: list[_Task] = [(robot, profile) for robot in robots for profile in _PROFILES]
    with (
        temporary_folder() as work,
        ProcessPoolExecutor(jobs, get_context("spawn"), _work_in, (str(work),)) as pool,
    ):
        futures = [pool.submit(_seed, *task, every=full) for task in tasks]
        seeded = {task: future.result() for task, future in zip(tasks, futures, strict=True)}
        trials = tuple(trial for result in seeded.values() for trial in result.trials)
        generated = [
            pool.submit(_seed_schemas, *task, keys)
            for task, keys in _assigned(seeded, every=full).items()
        ]
        shown = [
            pool.submit(_simulate, *task, ids)
            for task, ids in (_simplest(trials).items() if simulated else ())
        ]
        return Report(
            tuple(robots),
            tuple(
                (f"{robot} ({profile})", result.raised)
                for (robot, profile), result in seeded.items()
                if result.raised
            ),
            trials,
            tuple(chain.from_iterable(future.result() for future in generated)),
            tuple(chain.from_iterable(future.result() for future in shown)),
        )


def _work_in(folder: str) -> None:
    tempfile.tempdir = folder


def _assigned(seeded: Mapping[_Task, _Seeded], *, every: bool) -> dict[_Task, list[str]]:
    """Choose the generated changes of each robot: all, or each on one robot in turn.

    Those come first on which the changed prims have the schemas.
    """
    tasks_of: dict[tuple[ProfileName, str], dict[_Task, bool]] = {}
    for task, result in seeded.items():
        for key, held in result.generated:
            tasks_of.setdefault((task[1], key), {})[task] = held
    chosen: dict[_Task, list[str]] = {}
    for turn, ((_, key), tasks) in enumerate(tasks_of.items()):
        best = [task for task, held in tasks.items() if held] or [*tasks]
        for task in tasks if every else [best[turn % len(best)]]:
            chosen.setdefault(task, []).append(key)
    return chosen


def _simplest(seeded: Sequence[Trial]) -> dict[_Task, list[str]]:
    """Choose the robot with the fewest trials for each fault that simulators may show."""
    size = Counter(trial.robot for trial in seeded)
    chosen: dict[_Task, list[str]] = {}
    for fault in FAULTS:
        robots = {one.robot for one in seeded if one.fault == fault.id and one.outcome == CAUGHT}
        if robots and fault.detected_by and not fault.detected_by[0].startswith(_UNSIMULATED):
            robot = min(robots, key=lambda name: size[name])
            chosen.setdefault((robot, fault.profile), []).append(fault.id)
    return chosen


# The report, as Markdown.


def render(report: Report) -> str:
    names = [fault.id for fault in FAULTS]
    shown = dict(report.simulators)
    lines = [
        *_table("fault", report.trials, names, shown),
        *_table("changes of", report.schema_trials, sorted({_of(t) for t in report.schema_trials})),
        *(f"✗ {problem}" for problem in report.problems),
    ]
    for trials, what in (
        (report.trials, f"faults of {len(names)} kinds"),
        (report.schema_trials, "generated changes"),
    ):
        outcomes = Counter(trial.outcome for trial in trials)
        seeded = outcomes.total() - outcomes[EQUIVALENT]
        sign = "✗" if outcomes[MISSED] else "✓"
        lines.append(
            f"{sign} {outcomes[CAUGHT]} of {seeded} {what} caught, "
            f"{outcomes[EQUIVALENT]} equivalent, {outcomes[MISSED]} missed"
        )
    sign = "✗" if report.raised else "✓"
    lines.append(f"{sign} {len(report.robots)} robots, {len(report.raised)} false alarms")
    return "\n".join(lines)


def _of(trial: Trial) -> str:
    """Return a fault, or a schema without an instance."""
    return trial.fault.partition(":")[0]


def _table(
    subject: str,
    trials: Iterable[Trial],
    names: Iterable[str],
    shown: dict[str, tuple[tuple[str, bool], ...]] | None = None,
) -> Iterator[str]:
    grouped: dict[str, list[Trial]] = {}
    for trial in trials:
        grouped.setdefault(_of(trial), []).append(trial)
    yield f"| {subject} | caught | robots | equivalent | by | simulators |"
    yield "|---|--:|--:|--:|---|---|"
    for name in names:
        group = grouped.get(name, [])
        outcomes = Counter(trial.outcome for trial in group)
        checks = Counter(check for trial in group for check in trial.failed).most_common()
        more = f" +{len(checks) - _MOST}" if len(checks) > _MOST else ""
        # Simulators that do not show a fault are in brackets.
        engines = [
            engine if shows else f"({engine})" for engine, shows in (shown or {}).get(name, ())
        ]
        cells = (
            name,
            f"{outcomes[CAUGHT]}/{outcomes[CAUGHT] + outcomes[MISSED]}",
            str(len({trial.robot for trial in group})),
            str(outcomes[EQUIVALENT] or ""),
            ", ".join(check for check, _ in checks[:_MOST]) + more,
            ", ".join(engines),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=ROBOTS)
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--full", action="store_true", help="at every place of every robot")
    parser.add_argument("--simulators", action="store_true", help="which simulators show a fault")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all trials")
    given = parser.parse_args()
    report = measure(given.robots, jobs=given.jobs, full=given.full, simulated=given.simulators)
    if given.json:
        document = {"problems": report.problems} | msgspec.to_builtins(report)
        given.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(render(report))
    return bool(report.problems)


if __name__ == "__main__":
    sys.exit(main())
