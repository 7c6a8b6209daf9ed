"""All measurements of a run as a Parquet table, with a row per check and engine.

Needs the extra ``parquet``; without it, the file is not written.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from importlib import metadata, util
from pathlib import Path

from urdf_usd.reports.records.record import RobotRecord

Cell = str | int | float | None

# Columns in order; ``engine`` is the URDF engine that the USD is compared with.
COLUMNS = (
    "robot",
    "converter",
    "reference",
    "verdict",
    "check",
    "group",
    "unit",
    "grade",
    "bound",
    "tolerance",
    "engine",
    "compared",
    "unequal",
    "largest",
    "subject",
)
_NUMBERS = ("bound", "tolerance", "largest")
_COUNTS = ("compared", "unequal")
# Rows per group, which bounds memory.
_GROUP = 100_000


def measurement_rows(robots: Iterable[RobotRecord]) -> Iterator[tuple[Cell, ...]]:
    """Yield a row, in the order of ``COLUMNS``, per robot, check and engine."""
    for robot in robots:
        for check in robot.checks:
            for difference in check.differences:
                yield (
                    robot.id,
                    robot.candidate,
                    robot.source.reference,
                    robot.verdict.value,
                    check.id,
                    check.group,
                    check.unit,
                    check.grade.value,
                    check.bound,
                    check.tolerance,
                    difference.engine,
                    difference.compared,
                    difference.unequal,
                    difference.largest,
                    difference.subject,
                )


def writer_version() -> str:
    """Return the version of the library that writes the table; empty if there is none.

    The library is not imported, which takes half a second.
    """
    try:
        return metadata.version("pyarrow")
    except metadata.PackageNotFoundError:
        return ""


def write_parquet(robots: Iterable[RobotRecord], path: Path) -> bool:
    """Write the table.

    Returns:
        Whether it was written; false if pyarrow is not installed.

    Raises:
        OSError: The file cannot be written.
    """
    if util.find_spec("pyarrow") is None:
        return False
    # Takes half a second to import.
    import pyarrow as pa
    from pyarrow import parquet

    kinds = dict.fromkeys(COLUMNS, pa.string())
    kinds |= dict.fromkeys(_COUNTS, pa.int64()) | dict.fromkeys(_NUMBERS, pa.float64())
    schema = pa.schema(list(kinds.items()))
    rows = measurement_rows(robots)
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(itertools.islice(rows, _GROUP)):
            arrays = [
                pa.array([_storable(cell) for cell in column], kind)
                for column, kind in zip(zip(*group, strict=True), schema.types, strict=True)
            ]
            writer.write_table(pa.table(arrays, schema=schema))
    return True


def _storable(cell: Cell) -> Cell:
    """Escape lone surrogates, which UTF-8 cannot encode."""
    if isinstance(cell, str) and not cell.isascii():
        return cell.encode("utf-8", "backslashreplace").decode("utf-8")
    return cell
