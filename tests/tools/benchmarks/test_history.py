"""The table over versions, from files of pytest-benchmark."""

from __future__ import annotations

from typing import Any

from tests.tools.benchmarks.history import document


def _run(day: str, **shortest: float) -> dict[str, Any]:
    return {
        "datetime": f"{day}T00:00:00+00:00",
        "machine_info": {
            "cpu": {"brand_raw": "A processor", "count": 2},
            "machine": "x86_64",
            "python_version": "3.11.7",
        },
        "benchmarks": [
            {"group": "r2d2.urdf", "name": name, "stats": {"min": seconds}}
            for name, seconds in shortest.items()
        ],
    }


def test_table_has_the_ratio_of_every_version() -> None:
    subject, reference = "test_checking[r2d2.urdf]", "test_loading_in_one_process"
    first = _run("2026-11-01", **{subject: 3.0, f"{reference}[r2d2.urdf]": 1.5})
    second = _run(
        "2026-11-02",
        **{"test_starting_cold[convert]": 3.0},
        **{"test_starting_cold[imports alone]": 2.0},
    )

    text = document(["0001_0.1.0", "0002_0.2.0"], [first, second])

    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == "| subject / reference | of | 0.1.0 | 0.2.0 |"
    assert rows[2].endswith("| `r2d2.urdf` | 2.00 |  |")
    assert rows[3].endswith("| `r2d2.urdf` |  | 1.50 |")
    assert rows[-1] == "| 0.2.0 | 2026-11-02 | 2 of A processor | 3.11.7 |"
