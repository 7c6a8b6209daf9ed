"""Tables of rows that ``python -m tests.tools.behaviour`` wrote.

    python -m tests.tools.behaviour.table FILE.jsonl…

Writes Markdown: how many robots hold their pose, by asset and simulator; how many
simulators agree with MuJoCo; and each robot with drives that does not hold or agree.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

STATES = ("holds", "sags", "moves", "diverges", "refused")
_MUJOCO = "MuJoCo"
_WITH = "with"
# Names that a cell of the table has at most.
_NAMES = 3


def main(files: Sequence[str]) -> None:
    lines = [line for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()]
    rows = [json.loads(line) for line in lines]
    sys.stdout.write("\n".join(tables(rows)) + "\n")


def tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of all tables."""
    seen = [row for row in rows if "simulator" in row]
    counted: dict[tuple[str, str], Counter[str]] = {}
    for row in seen:
        own = counted.setdefault((row["asset"], row["simulator"]), Counter())
        own[state(row)] += 1
    yield _line("asset", "simulator", "robots", *STATES)
    yield _line(*["---"] * (3 + len(STATES)))
    for (asset, simulator), counts in counted.items():
        own_counts = (counts[one] for one in STATES)
        yield _line(asset, simulator, counts.total(), *own_counts)
    yield ""
    yield _line("simulator", "robots with drives", "agree with MuJoCo")
    yield _line("---", "---", "---")
    for simulator in sorted({row["simulator"] for row in seen} - {_MUJOCO}):
        compared = [
            agrees(row) for row in seen if (row["asset"], row["simulator"]) == (_WITH, simulator)
        ]
        known = [one for one in compared if one is not None]
        yield _line(simulator, len(known), sum(known))
    yield ""
    yield _line("robot", "simulator", "state", "joint", "offset", "gravity > effort")
    yield _line(*["---"] * 6)
    weak = {
        row["robot"]: row["weak"]
        for row in seen
        if row["asset"] == _WITH and row["simulator"] == _MUJOCO and "weak" in row
    }
    for row in seen:
        if row["asset"] == _WITH and (state(row) != "holds" or agrees(row) is False):
            yield _robot(row, weak.get(row["robot"], ()))


def state(row: Mapping[str, Any]) -> str:
    """Return the state that a row has, one of :data:`STATES`."""
    return str(row.get("state", "refused"))


def agrees(row: Mapping[str, Any]) -> bool | None:
    """Return whether a simulator moves all joints as MuJoCo, None if not compared."""
    if "missing" in row:
        return False
    if "differing" not in row:
        return None
    return not row["differing"][0] and state(row) != "diverges"


def _robot(row: Mapping[str, Any], weak: Iterable[str]) -> str:
    offsets = (("rad", 1.0, "rad"), ("m", 1e3, "mm"))
    found = [
        f"{row[f'offset_{key}'] * scale:.2g} {unit}"
        for key, scale, unit in offsets
        if row.get(f"offset_{key}") is not None
    ]
    text = state(row)
    joint = row.get("worst") or ""
    if agrees(row) is False:
        text = f"{text}, differs"
        joint = joint or _list((row.get("differing") or [row.get("missing", [])])[0])
    reason = row.get("error", "") or _list(weak)
    return _line(row["robot"], row["simulator"], text, joint, ", ".join(found), reason)


def _list(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - _NAMES} more" if len(known) > _NAMES else ""
    return ", ".join(known[:_NAMES]) + more


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main(sys.argv[1:])
