"""Growth of the cost of a conversion with links and with triangles.

python -m tests.tools.benchmarks.growth

Every robot is converted in a separate process, so that its peak memory is measured. The
last column is the cost per link or triangle, relative to the smallest robot of the same
kind: about one if the cost is linear.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

# Kinds of robots and their sizes. A chain needs flat bodies: nested ones are deeper
# than OpenUSD composes.
KINDS = {
    "links in a tree": (125, 500, 2000, 5000),
    "links below one": (125, 500, 2000, 5000),
    "links in a chain": (125, 500, 2000, 5000),
    "triangles (STL)": (10_000, 100_000, 1_000_000, 10_000_000, 20_000_000),
}
_CHILDREN = {"links in a tree": 4, "links below one": 10**6, "links in a chain": 1}


class Cost(NamedTuple):
    """Processor time [s] and peak memory [MiB] of a conversion."""

    cpu: float
    peak: float


def main() -> None:
    """Measure one robot, or all of them, each in a separate process."""
    if len(sys.argv) > 1:
        kind, size = sys.argv[1], int(sys.argv[2])
        sys.stdout.write(" ".join(map(str, measure(kind, size))))
        return
    headings = ("number", "time", "for each", "peak memory", "growth")
    table = Table("", *headings)
    for kind, sizes in KINDS.items():
        first = None
        for size in sizes:
            command = (sys.executable, "-m", "tests.tools.benchmarks.growth", kind, str(size))
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            cost = Cost(*map(float, printed.split()[-2:]))
            each = cost.cpu / size
            first = first or each
            table.add_row(
                kind,
                f"{size:,}",
                f"{cost.cpu:.2f} s",
                f"{each * 1e6:,.2f} us",
                f"{cost.peak:,.0f} MiB",
                f"{each / first:.2f}",
            )
    Console().print(table)


def measure(kind: str, size: int) -> Cost:
    """Convert a robot of some size, after a small one."""
    # Imported here: modules that the parent has loaded would count for the child.
    from tests.tools.benchmarks.generated import (
        tree_urdf,
        write_mesh_robot,
    )
    from urdf_usd.converter import ConvertOptions, convert
    from urdf_usd.converter.options import BodyNesting

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        small = folder / "small.urdf"
        small.write_text(tree_urdf(3, 1))
        convert(small, folder / "warm")
        nesting = BodyNesting.NESTED
        if kind in _CHILDREN:
            path = folder / "tree.urdf"
            path.write_text(tree_urdf(size, _CHILDREN[kind]))
            if _CHILDREN[kind] == 1:
                nesting = BodyNesting.FLAT
        else:
            path = write_mesh_robot(folder, size)
        start = time.process_time()
        convert(path, folder / "usd", ConvertOptions(bodies=nesting))
        spent = time.process_time() - start
    return Cost(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
