"""Programs of this folder: comparison of versions, exports of USDs of others, fuzzing, waivers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from pxr import UsdPhysics

from tests.converter.usd.scenes import Scene
from tests.tools.consumers.foreign import Outcome, outcome, page
from tests.tools.fuzz.targets import MUTATIONS, TARGETS
from tests.tools.same.__main__ import differences, printed
from tests.tools.validation.__main__ import is_waived

CASES = Path(__file__).parents[1] / "data/fuzz"
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
        "faults/faults.json": json.dumps({"trials": [{"fault": "grams", "outcome": outcome}]}),
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
    kinds = {"verdict", "checks * grade", "checks * compared", "lint * rule", "files", "text"}
    assert {one.kind for one in found} == kinds | {"exit_status", "*trials * outcome"}
    lines = "\n".join(printed(found, texts=False))
    assert "corpora: report/results/arm.json (+1 more): verdict: 'exact' -> 'close'" in lines
    assert "/arm.mass default: '2.5' -> '2.25'" in lines
    assert "exit_status: 0 -> 2" in lines
    assert "arm.stl: other bytes" in lines
    assert "only now" in lines


def _saved(scene: Scene, folder: Path) -> Path:
    usd = folder / "scene.usda"
    scene.stage.Export(str(usd))
    return usd


def test_first_robot_of_several_is_exported(tmp_path: Path) -> None:
    scene = Scene()
    for pair in ("ab", "cd"):
        first, second = (f"/r/{name}" for name in pair)
        UsdPhysics.ArticulationRootAPI.Apply(scene.body(first))
        scene.body(second)
        scene.joint(UsdPhysics.RevoluteJoint, f"/r/{pair}", (first, second))

    found = outcome("scene", _saved(scene, tmp_path), tmp_path / "out", None)

    assert found == Outcome("scene", 2, 2, joints=1, mujoco=1, notes=("`--root /r/a`",))


def test_stage_without_robot_is_counted_but_not_listed(tmp_path: Path) -> None:
    empty = outcome("new/empty", _saved(Scene(), tmp_path), tmp_path / "out", None)
    other = Outcome("new/other", 0, joints=3, physx=2, mujoco=3)

    text = page([empty, other])

    assert "Of 2 files, 1 have no rigid body (1 of new)." in text
    assert "report degrees of freedom of 1; 1 differ." in text
    assert "`new/other`" in text
    assert "`new/empty`" not in text


@pytest.mark.parametrize(
    ("target", "case"),
    [(name, file.name) for name in TARGETS for file in sorted((CASES / name).iterdir())],
)
def test_readers_return_a_value_or_their_error_also_of_damaged_files(
    target: str, case: str
) -> None:
    data = (CASES / target / case).read_bytes()
    TARGETS[target](data)
    chance = random.Random(case)
    for _ in range(40):
        TARGETS[target](chance.choice(MUTATIONS[target])(data, chance))


def test_every_target_has_cases_and_mutations() -> None:
    assert set(TARGETS) == set(MUTATIONS) == {path.name for path in CASES.iterdir()}


def test_waiver_covers_only_its_message_and_cause() -> None:
    impossible = frozenset({"inertia-implausible"})
    text = "diagonalInertia elements must be positive, prim path: /r/a"

    assert is_waived("RigidBodyChecker", text, impossible)
    assert not is_waived("RigidBodyChecker", text, frozenset())
    assert not is_waived("RigidBodyChecker", "nested bodies", impossible)
    assert not is_waived("ColliderChecker", text, impossible)
    assert is_waived("ManifoldChecker", "2 edges are non-manifold.", frozenset())
    normals = "Both normals and primvar:normals exist."
    assert not is_waived("NormalsExistChecker", normals, frozenset())
