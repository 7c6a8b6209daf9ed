"""Write the table of all measured versions.

python -m tests.tools.benchmarks.history [FOLDER] > docs/dev/benchmarks.md

Reads the files that pytest-benchmark saved, and states each subject as a ratio to the
reference of its group in the same run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# Subject and reference of each group, by their functions.
RATIOS = {
    "test_converting_a_robot": "test_opening_the_asset",
    "test_converting": "test_copying_the_bytes",
    "test_starting_cold[convert]": "test_starting_cold[imports alone]",
    "test_checking": "test_loading_in_one_process",
    "test_examining_a_robot": "test_loading_a_robot",
    "test_reading_a_mesh": "test_reading_a_mesh_with_trimesh",
}
TITLES = {
    "test_converting_a_robot": "conversion / opening and flattening the asset",
    "test_converting": "conversion / reading and writing its bytes",
    "test_starting_cold[convert]": "`convert` / its imports, cold",
    "test_checking": "`check` / loading in all libraries, cold",
    "test_examining_a_robot": "robot of a run / loading in all libraries",
    "test_reading_a_mesh": "mesh / trimesh on the same bytes",
}
FOLDER = Path("docs/dev/benchmarks")
_HEAD = """\
# Benchmarks by version

`nox -s bench` measures each subject and its reference in one run, saves the results
with a description of the machine in `docs/dev/benchmarks/`, and writes this table. Values
are ratios of the shortest times; [performance.md](performance.md) explains the
subjects, and where the time goes.
"""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    files = sorted(folder.rglob("*.json"))
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    sys.stdout.write(document([file.stem for file in files], runs))


def document(names: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> str:
    """Write the document.

    Args:
        names: Of the runs: a number and a version, as pytest-benchmark makes them.
        runs: Their content.
    """
    found = [dict(ratios(run)) for run in runs]
    titles = [name.partition("_")[2] for name in names]
    rows = list(dict.fromkeys(row for run in found for row in run))
    lines = [_HEAD, _row(["subject / reference", "of", *titles])]
    lines.append(_row(["---", "---", *["---:"] * len(titles)]))
    for kind, group in rows:
        values = [run.get((kind, group)) for run in found]
        cells = ["" if value is None else f"{value:.2f}" for value in values]
        lines.append(_row([TITLES[kind], f"`{group}`", *cells]))
    lines += ["", "| version | measured | processors | Python |", "|---|---|---|---|"]
    for title, run in zip(titles, runs, strict=True):
        machine = run["machine_info"]
        processor = machine["cpu"].get("brand_raw", machine["machine"])
        number = machine["cpu"].get("count", "?")
        python = machine["python_version"]
        day = run["datetime"].partition("T")[0]
        lines.append(_row([title, day, f"{number} of {processor}", python]))
    return "\n".join([*lines, ""])


def ratios(run: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the ratios of a run, by the function of the subject and the group."""
    shortest = {
        (one["group"], one["name"]): float(one["stats"]["min"]) for one in run["benchmarks"]
    }
    for (group, name), seconds in shortest.items():
        for subject, reference in RATIOS.items():
            if subject != name and subject != name.partition("[")[0]:
                continue
            parameters = "" if "[" in reference else name[len(subject) :]
            other = shortest.get((group, reference + parameters))
            if other:
                yield (subject, group), seconds / other


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
