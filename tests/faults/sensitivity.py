"""Seed faults into good USDs, and report which are caught.

``python -m tests.faults.sensitivity`` seeds each fault, and each change that schemas generate, at
one place of one robot; ``--full`` at every place of every robot. It fails if a fault is missed,
if a good USD fails a check, if a check fails for no fault, or if nothing reads a property of a
schema.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.faults.fault import ProfileName
from tests.faults.trials import CAUGHT, EQUIVALENT, FAULTS, MISSED, Trial, Trials
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS

# Our own have features that the corpus lacks, and are small. Together they have every joint type,
# couplings, both kinds of base, massless links, meshes and primitives.
ROBOTS = (
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
_PROFILES = tuple(dict.fromkeys(fault.profile for fault in FAULTS))
# Properties of schemas that no generated change shows to be read, and what does, or why.
_UNSHOWN = {
    "physics:excludeFromArticulation": "topology.joint-excluded",
    "physics:filteredGroups": "setting.grouped",
    "physics:invertFilteredGroups": "setting.group-inverted",
    "physics:mergeGroup": "setting.groups-merged",
    "newton:modelPath": "it is of the control of an actuator, which fails a check itself",
}
# Whatever changes where a robot comes to rest fails another check as well.
_UNFAILED = {"dynamics.rollout"}
# Faults that one process seeds into a robot that it converts.
_BATCH = 50


class Report(Struct, frozen=True):
    """All trials: of the table of faults, and of the changes that schemas generate."""

    robots: tuple[str, ...]
    raised: tuple[tuple[str, tuple[str, ...]], ...]  # checks that fail on good USDs
    trials: tuple[Trial, ...]
    schema_trials: tuple[Trial, ...]

    @property
    def problems(self) -> list[str]:
        """Why the harness is not sensitive enough; nothing if it is."""
        seeded = {trial.fault for trial in self.trials if trial.outcome != EQUIVALENT}
        read = {name for one in self.schema_trials if one.failed for name in one.properties}
        seen = {name for one in self.schema_trials for name in one.properties}
        failed = {check for one in (*self.trials, *self.schema_trials) for check in one.failed}
        checks = {check.id for check in (*CHECKS, *SIMULATION_CHECKS)}
        return [
            *(f"{robot}: false alarm: {', '.join(checks)}" for robot, checks in self.raised),
            *(
                f"{trial.fault} {trial.title}: missed on {trial.robot}, {trial.subject}"
                for trial in (*self.trials, *self.schema_trials)
                if trial.outcome == MISSED
            ),
            *(f"{one.id}: no place to seed it" for one in FAULTS if one.id not in seeded),
            *(f"{name}: no check reads it" for name in sorted(seen - read - _UNSHOWN.keys())),
            *(f"{check}: no fault fails it" for check in sorted(checks - failed - _UNFAILED)),
        ]


class _Offer(Struct, frozen=True):
    """What a robot in one profile has places for."""

    robot: str
    profile: ProfileName
    raised: tuple[str, ...]
    faults: tuple[str, ...]  # ids
    generated: tuple[tuple[str, bool], ...]  # keys, and whether the prims have the schemas


def _offer(robot: str, profile: ProfileName) -> _Offer:
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(robot, profile, Path(folder))
        faults = (fault for fault in FAULTS if fault.profile == profile and trials.has(fault))
        generated = tuple((fault.key, fault.held) for fault in trials.schema_faults())
        return _Offer(robot, profile, trials.raised, tuple(fault.id for fault in faults), generated)


def _seed(robot: str, profile: ProfileName, names: Collection[str], *, every: bool) -> list[Trial]:
    """Seed faults of a table by id, and generated ones by key."""
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(robot, profile, Path(folder))
        faults = (fault for fault in FAULTS if fault.id in names)
        seeded = [trial for fault in faults for trial in trials.seed(fault, every=every)]
        return [*seeded, *trials.seed_schemas(names)]


def measure(robots: Sequence[str] = ROBOTS, *, jobs: int = 2, full: bool = False) -> Report:
    """Seed faults into good USDs.

    Args:
        robots: Own robots by name, others by reference; the first ones are preferred.
        jobs: Number of processes.
        full: Whether to seed at every place of every robot.
    """
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        tasks = [(robot, profile) for robot in robots for profile in _PROFILES]
        offers = [one.result() for one in [pool.submit(_offer, *task) for task in tasks]]
        choices: dict[tuple[ProfileName, str], list[str]] = {}
        for held in (True, False):
            for offer in offers:
                names = [key for key, has in offer.generated if has is held]
                for name in (*names, *(offer.faults if held else ())):
                    choices.setdefault((offer.profile, name), []).append(offer.robot)
        trials: list[Trial] = []
        while choices:
            chosen: dict[tuple[str, ProfileName], list[str]] = {}
            for (profile, name), able in choices.items():
                for robot in able if full else able[:1]:
                    chosen.setdefault((robot, profile), []).append(name)
            futures = [
                pool.submit(_seed, *task, names[start : start + _BATCH], every=full)
                for task, names in chosen.items()
                for start in range(0, len(names), _BATCH)
            ]
            made = [trial for future in futures for trial in future.result()]
            trials += made
            # Where a fault of the table makes no difference, the next robot is tried; where a
            # generated change makes none, as long as nothing has read its properties.
            done = {trial.fault for trial in made if trial.outcome != EQUIVALENT}
            read = {name for trial in trials if trial.failed for name in trial.properties}
            faults = {fault.id for fault in FAULTS} - done
            faults |= {
                f"{trial.fault}: {trial.title}"
                for trial in made
                if trial.title and trial.outcome == EQUIVALENT and {*trial.properties} - read
            }
            choices = {
                (profile, name): able[1:]
                for (profile, name), able in choices.items()
                if name in faults and able[1:] and not full
            }
    return Report(
        tuple(robots),
        tuple((f"{one.robot} ({one.profile})", one.raised) for one in offers if one.raised),
        tuple(trial for trial in trials if not trial.title),
        tuple(trial for trial in trials if trial.title),
    )


def render(report: Report) -> str:
    """Return the report as Markdown."""
    lines = [
        "| fault | outcome | robot | failed checks |",
        "|---|---|---|---|",
        *(
            f"| {one.fault} | {one.outcome} | {one.robot} | {', '.join(one.failed)} |"
            for one in report.trials
        ),
        "",
        *(f"✗ {problem}" for problem in report.problems),
    ]
    for trials, what in (
        (report.trials, f"faults of {len(FAULTS)} kinds"),
        (report.schema_trials, "generated changes"),
    ):
        outcomes = Counter(trial.outcome for trial in trials)
        lines.append(
            f"{'✗' if outcomes[MISSED] else '✓'} {outcomes[CAUGHT]} of "
            f"{outcomes.total() - outcomes[EQUIVALENT]} {what} caught, "
            f"{outcomes[EQUIVALENT]} equivalent, {outcomes[MISSED]} missed"
        )
    sign = "✗" if report.raised else "✓"
    lines.append(f"{sign} {len(report.robots)} robots, {len(report.raised)} false alarms")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=ROBOTS)
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
