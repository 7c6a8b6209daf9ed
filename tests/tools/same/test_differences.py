"""Differences that are put into outcomes by hand are reported under their headings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tools.same.differences import Names, differences, printed

RECORD = {
    "verdict": "exact",
    "reason": "all checks are exact",
    "environment": {"numpy": "2.0"},
    "diagnostics": [{"rule": "mesh-missing", "message": "no file"}],
    "lint": [{"rule": "limit-absent", "message": "no limit"}],
    "engines": [{"name": "mujoco", "status": "observed"}],
    "checks": [
        {"id": "limits.lower", "grade": "exact", "compared": 6, "worst": 1e-9},
        {"id": "mass.total", "grade": "close", "compared": 1, "worst": 1e-6},
    ],
    "deviations": [{"id": "zero-effort", "engine": "mujoco", "check": "limits.effort"}],
}
FAULTS = {
    "raised": {},
    "faults": [
        {"id": "mass.grams", "seeded": 3, "caught": 3, "checks": {"mass.total": 3}},
        {"id": "limit.radians", "seeded": 2, "caught": 2, "checks": {}},
    ],
}
LAYER = """#usda 1.0
(
    defaultPrim = "arm"
)

def Xform "arm"
{
    double physics:mass = %s
    rel physics:body0 = </arm/link>
    def Material "paint"
    {
        token outputs:surface.connect = </arm/paint/shader.outputs:surface>
    }
}
"""
UNCHANGED = Names({}, {}, {})
PARTS = ("corpora", "commands", "faults")


@pytest.fixture
def outcomes(tmp_path: Path) -> tuple[Path, Path]:
    """Write the same outcomes twice."""
    for name in ("former", "current"):
        folder = tmp_path / name
        files = {
            "corpora/report/results/arm.json": json.dumps(RECORD),
            "corpora/report/assets/arm/arm.usda": LAYER % "2.5",
            "corpora/report/assets/arm/Textures/moss.png": "PNG",
            "corpora/report/index.html": f"a page of {name}",
            "commands/00 convert/status.json": '{"exit_status": 0}',
            "commands/00 convert/stdout.txt": "arm.usda\n",
            "commands/01 export/out/arm.urdf": "<robot/>",
            "faults/faults.json": json.dumps(FAULTS),
        }
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return tmp_path / "former", tmp_path / "current"


def edit(file: Path, change: Callable[[Any], None]) -> None:
    """Change a JSON file in place."""
    value = json.loads(file.read_text(encoding="utf-8"))
    change(value)
    file.write_text(json.dumps(value), encoding="utf-8")


def test_equal_outcomes_have_no_differences(outcomes: tuple[Path, Path]) -> None:
    found = list(differences(*outcomes, UNCHANGED, PARTS))

    assert found == []
    assert list(printed(found, texts=True)) == ["\nno differences"]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("verdicts", lambda r: r.update(verdict="close")),
        ("grades", lambda r: r["checks"][1].update(grade="exact")),
        ("grades", lambda r: r["checks"].pop()),
        ("values compared", lambda r: r["checks"][0].update(compared=5)),
        ("rule ids", lambda r: r["diagnostics"].append({"rule": "mesh-missing"})),
        ("rule ids", lambda r: r["lint"].clear()),
        ("engines", lambda r: r["engines"][0].update(status="crashed")),
        ("deviations", lambda r: r["deviations"][0].update(id="unexplained")),
        ("text", lambda r: r.update(reason="all is well")),
    ],
)
def test_change_of_a_record_is_reported(
    outcomes: tuple[Path, Path], kind: str, change: Callable[[Any], None]
) -> None:
    former, current = outcomes
    edit(current / "corpora/report/results/arm.json", change)

    kinds = {d.kind for d in differences(former, current, UNCHANGED, PARTS)}

    assert kind in kinds
    assert kinds <= {kind, "text", "values compared"}


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f["faults"][0].update(caught=2),
        lambda f: f["faults"][0]["checks"].update({"mass.total": 2}),
        lambda f: f["faults"].pop(),
        lambda f: f["raised"].update({"arm": ["mass.total"]}),
    ],
)
def test_change_of_caught_faults_is_reported(
    outcomes: tuple[Path, Path], change: Callable[[Any], None]
) -> None:
    former, current = outcomes
    edit(current / "faults/faults.json", change)

    kinds = {d.kind for d in differences(former, current, UNCHANGED, PARTS)}

    assert kinds == {"faults"}


def test_changed_opinion_of_a_layer_is_named(outcomes: tuple[Path, Path]) -> None:
    former, current = outcomes
    layer = current / "corpora/report/assets/arm/arm.usda"
    layer.write_text(LAYER % "2.25", encoding="utf-8")

    (difference,) = differences(former, current, UNCHANGED, PARTS)

    assert difference.kind == "files"
    assert difference.detail == "/arm.physics:mass default: 2.5 -> 2.25"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("corpora/report/assets/arm/Textures/moss.png", "files"),
        ("commands/01 export/out/arm.urdf", "files"),
        ("commands/00 convert/stdout.txt", "text"),
    ],
)
def test_other_bytes_of_a_file_are_reported(
    outcomes: tuple[Path, Path], path: str, kind: str
) -> None:
    former, current = outcomes
    (current / path).write_text("other", encoding="utf-8")

    (difference,) = differences(former, current, UNCHANGED, PARTS)

    assert difference.kind == kind


def test_absent_file_and_exit_status_are_reported(outcomes: tuple[Path, Path]) -> None:
    former, current = outcomes
    shutil.rmtree(current / "corpora/report/assets/arm/Textures")
    status = current / "commands/00 convert/status.json"
    edit(status, lambda s: s.update(exit_status=2))

    found = list(differences(former, current, UNCHANGED, PARTS))

    assert [(d.kind, d.detail) for d in found] == [
        ("files", "only formerly"),
        ("exit statuses", "exit_status: 0 -> 2"),
    ]


def test_renamed_fields_and_values_are_no_differences(
    outcomes: tuple[Path, Path],
) -> None:
    former, current = outcomes
    record = current / "corpora/report/results/arm.json"
    text = record.read_text(encoding="utf-8")
    text = text.replace('"compared"', '"count"').replace("limits.lower", "limits.low")
    record.write_text(text, encoding="utf-8")
    names = Names({"compared": "count"}, {"limits.lower": "limits.low"}, {})

    assert list(differences(former, current, UNCHANGED, PARTS))
    assert list(differences(former, current, names, PARTS)) == []


def test_equal_differences_of_several_robots_are_one_line(
    outcomes: tuple[Path, Path],
) -> None:
    former, current = outcomes
    for folder in (former, current):
        results = folder / "corpora/report/results"
        shutil.copy(results / "arm.json", results / "leg.json")
    for name in ("arm", "leg"):
        edit(
            current / f"corpora/report/results/{name}.json",
            lambda r: r.update(verdict="close"),
        )

    lines = list(printed(list(differences(former, current, UNCHANGED, PARTS)), texts=False))

    assert lines == [
        "\nverdicts: 2",
        "  corpora: report/results/arm.json (+1 more): verdict: 'exact' -> 'close'",
        "\n2 differences",
    ]
