"""What simulators read from the assets of every profile.

python -m tests.tools.consumers [CORPUS…] [--sample N] [--out FILE]

Converts robots with every profile, reads the assets in PhysX and Newton, and writes a
table: for how many robots a simulator computes each quantity as the URDF defines it.
Exits with 1 if a robot does not conform, or if a required simulator read none.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from urdf_usd.conformance.execution.run import run
from urdf_usd.conformance.options import RunOptions
from urdf_usd.converter import ConvertOptions, Profile
from urdf_usd.corpus import Resolved, resolve_corpora
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.summary import EngineMatrix, Outcome, engine_matrix

_SIMULATORS = {"newton-usd": "Newton", "physx": "PhysX"}
_ENGINES = ("mujoco", *_SIMULATORS)
_QUANTITIES = (
    "structure.types",
    "structure.base",
    "structure.mimic",
    "kinematics.position",
    "kinematics.rotation",
    "mass.link.mass",
    "mass.link.center",
    "mass.link.inertia",
    "mass.total",
    "limits.lower",
    "limits.upper",
    "limits.effort",
    "limits.velocity",
    "dynamics.damping",
    "dynamics.friction",
    "dynamics.inertia_matrix",
    "dynamics.bias",
    "dynamics.rollout",
)
_INTRODUCTION = """\
# What simulators read

Of {robots} robots, on how many a simulator computes a quantity as the URDF defines it,
of those for which it reports the quantity, by profile of the asset. A dash: it reports
the quantity for none, because the asset has no schema for it or the simulator has no
such quantity. Known deviations are listed in the report of a run. `nox -s consumers`
writes this table.
"""
_NO_FAULT = frozenset({Verdict.UNREADABLE, Verdict.NOT_AVAILABLE})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--sample", type=int, help="robots, spread over the corpora")
    parser.add_argument("--out", type=Path, help="file of the table")
    options = parser.parse_args()
    sources = _sample(resolve_corpora(options.corpus), options.sample)
    matrices = {}
    failed = False
    for profile in Profile:
        records = _observe(sources, profile)
        for record in records:
            if not record.verdict.agrees and record.verdict not in _NO_FAULT:
                failed = True
                _print(f"{profile}: {record.id}: {record.verdict}: {record.reason}")
        missing = _without_robots(records)
        failed |= bool(missing)
        for engine in missing:
            _print(f"{profile}: {engine} read no robot")
        matrices[profile] = engine_matrix(records)
    table = _table(matrices, len(sources))
    if options.out:
        options.out.write_text(table, encoding="utf-8")
    _print(table)
    sys.exit(failed)


def _sample(sources: Sequence[Resolved], count: int | None) -> Sequence[Resolved]:
    """Return robots at equal distances in the list."""
    if not count or count >= len(sources):
        return sources
    return [sources[index * len(sources) // count] for index in range(count)]


def _observe(sources: Sequence[Resolved], profile: Profile) -> list[RobotRecord]:
    records: list[RobotRecord] = []
    options = RunOptions(convert=ConvertOptions(profile=profile), engines=_ENGINES)
    with tempfile.TemporaryDirectory() as folder:
        run(sources, folder, options, progress=records.append)
    return records


def _without_robots(records: Sequence[RobotRecord]) -> list[str]:
    read = Counter(
        engine.name
        for record in records
        for engine in record.engines
        if engine.status == "observed"
    )
    return [engine for engine in _SIMULATORS if not read[engine]]


def _table(matrices: dict[Profile, EngineMatrix], robots: int) -> str:
    columns = [(profile, engine) for profile in matrices for engine in _SIMULATORS]
    names = " | ".join(f"{profile}: {_SIMULATORS[name]}" for profile, name in columns)
    lines = [
        _INTRODUCTION.format(robots=robots),
        f"| quantity | {names} |",
        "|---|" + "---|" * len(columns),
    ]
    for check in _QUANTITIES:
        titles = (each.titles.get(check) for each in matrices.values())
        title = next((title for title in titles if title), check)
        cells = (_cell(matrices[profile], check, name) for profile, name in columns)
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(matrix: EngineMatrix, check: str, engine: str) -> str:
    counts = matrix.counts.get((check, engine), {})
    total = sum(counts.values()) - counts.get(Outcome.NOT_REPORTED, 0)
    return f"{counts.get(Outcome.EQUAL, 0)}/{total}" if total else "\N{EN DASH}"


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
