"""Tables of what ``agreement`` measured: ``python -m tests.tools.consumers.tables FILE…``.

Writes Markdown: robots that agree by variant and simulator, with every exception; the
warnings and errors of the simulators; and the time that each takes.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

_Row: TypeAlias = Mapping[str, Any]

MASS = 1e-5
INERTIA = 1e-4
GRAVITY = 1e-4
_QUANTITIES = {
    "dofs": "degrees of freedom",
    "base": "base",
    "mass": "total mass",
    "inertia": "joint-space inertia",
    "gravity": "gravity forces",
}
# Lines about the machine and the libraries, not about an asset.
_ABOUT_MACHINE = re.compile(
    r"GPU broadphase|CPU-only mode|_warn_if_warp_build|Warp |CUDA Toolkit|Devices:"
    r'|"cpu" *: "CPU"|Kernel cache|/\.cache/warp/|^output: Module .* load on device'
)
_SOURCE = re.compile(r", FILE \S+, LINE \d+")
_PATH = re.compile(r"(?<![\w/])/[\w/.-]+")
_NUMBER = re.compile(r"(?<![A-Za-z])[-+]?\d[\d.]*(?:e[-+]?\d+)?")
_REPEATED = re.compile(r"N(?:,? N)+")
_LEVEL = re.compile(r"^output: \[(\w+)\] \[.*?\] ")


def main(paths: Sequence[str]) -> None:
    rows = [
        json.loads(line)
        for path in paths
        for line in Path(path).read_text(encoding="utf-8").splitlines()
    ]
    unreadable = sum(row["status"] == "unreadable" for row in rows)
    sys.stderr.write(f"{unreadable} files are no robots\n")
    parts = (_agreement(rows), _exceptions(rows), _messages(rows), _times(rows))
    sys.stdout.write("\n\n".join(map("\n".join, parts)) + "\n")


def agreement(row: _Row) -> dict[str, bool]:
    """Return which quantities agree, of those that can be compared.

    Args:
        row: A line of ``agreement``.
    """
    if row["status"] != "observed":
        return {}
    found = {"dofs": row["dofs"], "mass": row["mass"] <= MASS}
    # PhysX makes no articulation of a single body.
    if row["base"] in {"fixed", "floating"} and row["fixed"]:
        found["base"] = row["fixed"] == [row["base"] == "fixed"]
    if "inertia" in row:
        found["inertia"] = row["inertia"] <= INERTIA
        found["gravity"] = row["gravity"] <= GRAVITY
    return found


def _cells(rows: Iterable[_Row]) -> dict[tuple[str, str], list[_Row]]:
    cells = defaultdict(list)
    for row in rows:
        if "variant" in row and "simulator" in row:
            cells[row["variant"], row["simulator"]].append(row)
    return cells


def _agreement(rows: Sequence[_Row]) -> list[str]:
    titles = " | ".join(_QUANTITIES.values())
    lines = [
        f"| asset | simulator | robots | {titles} |",
        "|---|---|---|" + "---|" * len(_QUANTITIES),
    ]
    for (variant, simulator), own in _cells(rows).items():
        results = [agreement(row) for row in own]
        counts = []
        for name in _QUANTITIES:
            stated = [result[name] for result in results if name in result]
            counts.append(f"{sum(stated)}/{len(stated)}")
        cells = " | ".join(counts)
        lines.append(f"| {variant} | {simulator} | {len(own)} | {cells} |")
    return lines


def _exceptions(rows: Sequence[_Row]) -> list[str]:
    found: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    measured: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        place = row["robot"], row.get("simulator", "")
        measured[place].append(row.get("variant", ""))
        if row["status"] == "observed":
            values = []
            for name, equal in agreement(row).items():
                if not equal:
                    shown = row["dof_count"] if name == "dofs" else row[name]
                    number = f"{shown:.1e}" if isinstance(shown, float) else shown
                    values.append(f"{name} {number}")
            text = ", ".join(values)
        elif row["status"] in {"read", "unreadable"}:
            continue
        else:
            text = f"{row['status']}: {row['error']}"
        if text:
            found[place].setdefault(text, []).append(row.get("variant", ""))
    lines = ["| robot | simulator | difference | assets |", "|---|---|---|---|"]
    for (robot, simulator), texts in sorted(found.items()):
        for text, variants in texts.items():
            everywhere = len(variants) == len(measured[robot, simulator])
            assets = "all" if everywhere else ", ".join(variants)
            lines.append(f"| {robot} | {simulator} | {text} | {assets} |")
    return lines


def normalised(message: str) -> str | None:
    """Return a message without paths and numbers; None if it is about the machine."""
    if _ABOUT_MACHINE.search(message):
        return None
    text = _LEVEL.sub(lambda match: f"{match[1].lower()}: ", message)
    text = _NUMBER.sub("N", _PATH.sub("PATH", _SOURCE.sub("", text)))
    return _REPEATED.sub("N…", text)


def _messages(rows: Sequence[_Row]) -> list[str]:
    assets: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for row in rows:
        for message in row.get("messages", ()):
            if text := normalised(message):
                asset = row["robot"], row["variant"]
                assets[row["simulator"], text].add(asset)
    lines = ["| simulator | message | assets | robots |", "|---|---|---|---|"]
    for (simulator, text), own in sorted(assets.items(), key=lambda one: -len(one[1])):
        robots = sorted({robot for robot, _ in own})
        named = f"{len(robots)}: {', '.join(robots)}"
        lines.append(f"| {simulator} | {text} | {len(own)} | {named} |")
    return lines


def _times(rows: Sequence[_Row]) -> list[str]:
    seconds = defaultdict(list)
    for row in rows:
        if row.get("seconds") is not None:
            seconds[row["simulator"]].append(row["seconds"])
    lines = ["| simulator | assets | median [s] | mean [s] |", "|---|---|---|---|"]
    for simulator, own in seconds.items():
        median, mean = statistics.median(own), statistics.mean(own)
        lines.append(f"| {simulator} | {len(own)} | {median:.2f} | {mean:.2f} |")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
