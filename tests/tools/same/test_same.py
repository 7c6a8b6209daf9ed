"""Differences that are put into outcomes by hand are reported under their headings."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tools.same.__main__ import differences, printed

_LAYER = '#usda 1.0\ndef Xform "arm"\n{\n    double mass = %s\n    rel body = </arm/link>\n}\n'


def _write(folder: Path, grade: str, mass: str, status: int, outcome: str, page: str) -> Path:
    record = {
        "verdict": grade,
        "reason": page,
        "environment": page,
        "lint": [{"rule": f"limit-{grade}"}],
        "checks": [{"id": "mass.total", "grade": grade, "compared": status}],
    }
    files = {
        "corpora/report/results/arm.json": json.dumps(record),
        "corpora/report/results/leg.json": json.dumps(record),
        "corpora/report/assets/arm.usda": _LAYER % mass,
        "corpora/report/assets/arm.stl": mass,
        "corpora/report/index.html": page,
        "options/physx/status.json": json.dumps({"exit_status": status}),
        "faults/faults.json": json.dumps({"faults": [{"id": "grams", "outcome": outcome}]}),
    }
    if status:
        files["options/physx/report/assets/new.usda"] = _LAYER % mass
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def test_differences_are_reported_by_kind_and_renamed_values_are_none(tmp_path: Path) -> None:
    former = _write(tmp_path / "former", "exact", "2.5", 0, "caught", "a page")
    same = _write(tmp_path / "same", "exact", "2.5", 0, "caught", "a page")
    renamed = _write(tmp_path / "renamed", "near", "2.5", 0, "caught", "a page")
    other = _write(tmp_path / "other", "close", "2.25", 2, "missed", "another")
    names = {"exact": "near", "limit-exact": "limit-near"}
    parts = ("corpora", "options", "faults")

    assert list(differences(former, same, {}, parts)) == []
    assert list(differences(former, renamed, names, parts)) == []
    assert list(differences(former, renamed, {}, parts))
    found = list(differences(former, other, {}, parts))
    kinds = {"verdicts", "grades", "values compared", "rule ids", "files", "text"}
    assert {one.kind for one in found} == kinds | {"exit statuses", "faults"}
    lines = "\n".join(printed(found, texts=False))
    assert "corpora: report/results/arm.json (+1 more): verdict: 'exact' -> 'close'" in lines
    assert "/arm.mass default: '2.5' -> '2.25'" in lines
    assert "exit_status: 0 -> 2" in lines
    assert "arm.stl: other bytes" in lines
    assert "only now" in lines
