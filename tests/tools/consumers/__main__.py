"""What simulators read from the assets of every profile.

Converts robots with every profile, reads the assets in PhysX and Newton, and writes a
table: for how many robots a simulator computes each quantity as the URDF defines it.
Exits with 1 if a robot does not conform, or if a required simulator read none.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.tools.corpora import corpus_parser, robots, table
from urdf_usd.conformance.execution.run import run
from urdf_usd.conformance.options import RunOptions
from urdf_usd.converter import ConvertOptions, Profile
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.summary import EngineMatrix, Outcome, engine_matrix

_SIMULATORS = {"newton-usd": "Newton", "physx": "PhysX"}
_ENGINES = ("mujoco", *_SIMULATORS)
_QUANTITIES = (
    *("structure.types", "structure.base", "structure.mimic"),
    *("kinematics.position", "kinematics.rotation"),
    *("mass.link.mass", "mass.link.center", "mass.link.inertia", "mass.total"),
    *("limits.lower", "limits.upper", "limits.effort", "limits.velocity"),
    *("dynamics.damping", "dynamics.friction", "dynamics.inertia_matrix"),
    *("dynamics.bias", "dynamics.rollout"),
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
    parser = corpus_parser(__doc__, "pybullet")
    parser.add_argument("--out", type=Path, help="file of the table")
    options = parser.parse_args()
    sources = robots(options)
    matrices, problems = {}, []
    for profile in Profile:
        records: list[RobotRecord] = []
        with tempfile.TemporaryDirectory() as folder:
            run_options = RunOptions(convert=ConvertOptions(profile=profile), engines=_ENGINES)
            run(sources, folder, run_options, progress=records.append)
        problems += [
            f"{profile}: {one.id}: {one.verdict}: {one.reason}"
            for one in records
            if not one.verdict.agrees and one.verdict not in _NO_FAULT
        ]
        engines = {
            engine.name for one in records for engine in one.engines if engine.status == "observed"
        }
        problems += [f"{profile}: {name} read no robot" for name in _SIMULATORS.keys() - engines]
        matrices[profile] = engine_matrix(records)
    text = _INTRODUCTION.format(robots=len(sources)) + _table(matrices)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    print(*problems, text, sep="\n")
    sys.exit(bool(problems))


def _table(matrices: dict[Profile, EngineMatrix]) -> str:
    columns = [(profile, engine) for profile in matrices for engine in _SIMULATORS]
    heads = [f"{profile}: {_SIMULATORS[name]}" for profile, name in columns]
    titles = {id: title for matrix in matrices.values() for id, title in matrix.titles.items()}
    rows = [
        (titles.get(check, check), *(_cell(matrices[one], check, name) for one, name in columns))
        for check in _QUANTITIES
    ]
    return "\n".join(table(("quantity", *heads), rows)) + "\n"


def _cell(matrix: EngineMatrix, check: str, engine: str) -> str:
    counts = matrix.counts.get((check, engine), {})
    total = sum(counts.values()) - counts.get(Outcome.NOT_REPORTED, 0)
    return f"{counts.get(Outcome.EQUAL, 0)}/{total}" if total else "\N{EN DASH}"


if __name__ == "__main__":
    main()
