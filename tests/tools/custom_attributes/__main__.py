"""Compare the results of checks with and without the ``urdf:`` opinions of assets.

    python -m tests.tools.custom_attributes [CORPUS…] --out FILE.jsonl
        [--variant PROFILE-BODIES-BASE]… [--engine NAME]… [--sample N] [--jobs N]

Converts every robot, removes all ``urdf:`` opinions from a copy of the asset, and
checks both assets with the same URDF and the same engines. Writes a line of JSON for
each robot and variant: both verdicts, and the checks that differ in grade or in the
number of values. Robots that the file has already are not checked again. A summary of
all differences follows on stdout.

Exits with 1 if a check gets worse for another reason than a value that only URDF can
state; docs/dev/decisions.md lists these.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.tools.custom_attributes.differences import differing_checks, is_kept_by_urdf_alone
from tests.tools.custom_attributes.removal import Pair, convert_pair
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.engines import InstalledEngine, select_engines
from urdf_usd.conformance.execution.examine import examine_in_worker
from urdf_usd.conformance.execution.job import Job, Requirements
from urdf_usd.conformance.execution.limits import processors
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.converter import ConvertOptions, Profile
from urdf_usd.converter.options import BodyNesting
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource, resolve_corpora
from urdf_usd.reports.records.record import RobotRecord

_VARIANTS = ("generic-nested-auto", "physx-flat-auto", "usdphysics-nested-auto")


def main() -> None:
    """Check all robots that the file does not have, and print the summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variant", action="append", dest="variants")
    parser.add_argument("--engine", action="append", dest="engines", default=[])
    parser.add_argument("--sample", type=int, help="robots, spread over the corpora")
    parser.add_argument("--jobs", type=int, default=processors())
    options = parser.parse_args()
    sources = [
        source for source in resolve_corpora(options.corpus) if isinstance(source, RobotSource)
    ]
    if options.sample and options.sample < len(sources):
        step = len(sources) / options.sample
        sources = [sources[int(n * step)] for n in range(options.sample)]
    done = {(row["robot"], row["variant"]) for row in _rows(options.out)}
    work = [
        (source, variant)
        for source in sources
        for variant in options.variants or _VARIANTS
        if (source.reference, variant) not in done
    ]
    with Workers() as workers, ThreadPoolExecutor(options.jobs) as threads:
        engines = select_engines(workers, options.engines)
        compared = threads.map(partial(_compared, workers, engines), work)
        for row in compared:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(row)}\n")
            sys.stderr.write(f"{row['robot']} {row['variant']} {row['verdicts']}\n")
    rows = list(_rows(options.out))
    _print_summary(rows)
    sys.exit(1 if any(map(_print_unexplained, rows)) else 0)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _compared(
    workers: Workers,
    engines: tuple[InstalledEngine, ...],
    work: tuple[RobotSource, str],
) -> dict[str, Any]:
    """Check both assets of a robot; return a row."""
    source, variant = work
    row: dict[str, Any] = {"robot": source.reference, "variant": variant}
    with temporary_folder() as folder:
        pair = _pair(workers, source, variant, folder)
        if isinstance(pair, str):
            return {**row, "verdicts": [], "error": pair}
        records = [
            _record(workers, source, usd, engines, pair.base) for usd in (pair.whole, pair.stripped)
        ]
    changes = []
    for change in differing_checks(*records):
        kept = is_kept_by_urdf_alone(variant.split("-")[0], change)
        changes.append({**asdict(change), "explained": kept})
    return {
        **row,
        "verdicts": [record.verdict.value for record in records],
        "reasons": [record.reason for record in records],
        "values": [sum(check.compared for check in one.checks) for one in records],
        "changes": changes,
    }


def _pair(workers: Workers, source: RobotSource, variant: str, folder: Path) -> Pair | str:
    profile, bodies, base = variant.split("-")
    options = ConvertOptions(
        profile=Profile(profile),
        bodies=BodyNesting(bodies),
        base=BaseOption(source.base or base if base == "auto" else base),
        packages=tuple((name, str(path)) for name, path in source.packages),
        arguments=tuple(source.arguments),
    )
    ending = workers.call(convert_pair, str(source.path), str(folder), options)
    return ending.reason if isinstance(ending, Crashed) else ending.value


def _record(
    workers: Workers,
    source: RobotSource,
    usd: Path,
    engines: tuple[InstalledEngine, ...],
    base: str,
) -> RobotRecord:
    required = BaseOption(base) if base in list(BaseOption) else BaseOption.AUTO
    job = Job(source, engines, usd=usd, required=Requirements(required))
    record = examine_in_worker(workers, job)
    if not isinstance(record, RobotRecord):
        raise TypeError(f"{source.reference} was read before: {record}")
    return record


def _print_summary(rows: Sequence[dict[str, Any]]) -> None:
    read = [row for row in rows if row["verdicts"]]
    _print(f"{len(read)} pairs of assets, {len(rows) - len(read)} not converted")
    verdicts = Counter((row["variant"], *row["verdicts"]) for row in read)
    for (variant, first, second), count in sorted(verdicts.items()):
        _print(f"{count:6} {variant}: {first} -> {second}")
    changes: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    for row in read:
        for change in row["changes"]:
            key = row["variant"], change["check"], *change["grades"]
            message = next(iter(change["findings"]), f"values {change['values']}")
            changes.setdefault(key, []).append((row["robot"], message))
    for (variant, check, first, second), found in sorted(changes.items()):
        robot, message = found[0]
        _print(f"{len(found):6} {variant}: {check}: {first} -> {second}")
        _print(f"         {robot}: {message}")


def _print_unexplained(row: dict[str, Any]) -> bool:
    """Print changes without an explanation; return whether there are any."""
    unexplained = [one for one in row.get("changes", ()) if not one["explained"]]
    for one in unexplained:
        message = "; ".join(one["findings"][:1])
        _print(f"unexplained: {row['robot']} {row['variant']} {one['check']}: {message}")
    return bool(unexplained)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
