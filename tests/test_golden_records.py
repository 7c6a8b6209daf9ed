"""Records of small robots are as stored.

``UPDATE_RECORDS=1 pytest tests/test_golden_records.py`` writes the files of the folder
``golden``; their changes are part of the change that is reviewed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pxr import Gf, Usd

from tests.conformance.direct import examine_here, examine_pair_here
from tests.zoo import ROBOTS, Zoo
from urdf_usd.converter import ConvertOptions, Profile
from urdf_usd.converter.options import Layout
from urdf_usd.reports.records.record import Grade, RobotRecord
from urdf_usd.reports.records.results import record_json

_STORED = Path(__file__).with_name("golden")
# PyBullet crashes on the file with two roots, and with it a process without workers.
_DEVIATIONS = [
    urdf
    for urdf in sorted(Path(__file__).parent.glob("data/deviations/*.urdf"))
    if urdf.stem != "two-roots"
]


def _notes(notes: Iterable[dict[str, Any]]) -> list[str]:
    return [
        f"{note['severity']} {note['rule']} {note['line']}:{note['column']} {note['message']}"
        for note in notes
    ]


def _digest(record: RobotRecord) -> dict[str, Any]:
    """Return what a reader of a report sees of a record, without numbers of exact values."""
    plain = json.loads(record_json(record))
    checks: dict[str, dict[str, Any]] = {}
    for check in plain["checks"]:
        shown = [check["compared"], *(finding["message"] for finding in check["findings"])]
        if check["reason"]:
            shown.append(check["reason"])
        of_grade = checks.setdefault(check["grade"], {})
        of_grade[check["id"]] = shown if len(shown) > 1 else shown[0]
    absent = checks.pop(Grade.NOT_APPLICABLE, {})
    facts = ("verdict", "reason", "links", "joints", "degrees_of_freedom", "total_mass", "base")
    return {
        **{fact: plain[fact] for fact in facts},
        "diagnostics": _notes(plain["diagnostics"]),
        "lint": _notes(plain["lint"]),
        "engines": {engine["name"]: engine["status"] for engine in plain["engines"]},
        "checks": {**checks, "not applicable": " ".join(sorted(absent))},
        "deviations": [
            f"{one['id']} {one['check']}: {', '.join(one['subjects'])}"
            for one in plain["deviations"]
        ],
        "coverage": [
            f"{one['count']} {one['part']}: {one['fate']}, {one['where']}"
            for one in plain["ledger"]
        ],
    }


def _is_as_stored(record: RobotRecord, name: str) -> None:
    file = _STORED / f"{name}.json"
    current = json.dumps(_digest(record), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_RECORDS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(current, encoding="utf-8")

    assert current.splitlines() == file.read_text("utf-8").splitlines()


@pytest.mark.parametrize("robot", [robot for robot in ROBOTS if robot != "laikago"])
def test_record_of_robot(robot: str, zoo: Zoo) -> None:
    _is_as_stored(zoo.record(robot), robot)


@pytest.mark.parametrize("urdf", _DEVIATIONS, ids=lambda urdf: urdf.stem)
def test_record_of_file_on_which_engines_deviate(urdf: Path, tmp_path: Path) -> None:
    _is_as_stored(examine_here(urdf, tmp_path), urdf.stem)


# Mistakes in a USD of the robot oblique_arm: prim, attribute, wrong value. None deactivates the
# prim.
_ARM = "/oblique_arm/Geometry/world/base_0/_1st_arm"
_JOINTS = "/oblique_arm/Physics"
_MISTAKES: dict[str, tuple[str, str, object]] = {
    "axis-reversed": (f"{_JOINTS}/slide", "physics:localRot0", None),
    "body-moved": (f"{_ARM}/slide", "xformOp:translate", Gf.Vec3d(0.12, 0.03, -0.06)),
    "collider-larger": (f"{_ARM}/forearm/collision", "radius", 0.1),
    "collider-lost": (f"{_ARM}/collision", "", None),
    "colour": ("/oblique_arm/Materials/rust/PreviewSurface", "inputs:opacity", 1.0),
    "couplings-lost": (f"{_JOINTS}/finger_b", "newton:mimicEnabled", False),
    "damping": (f"{_JOINTS}/slide", "newton:damping", 2.6),
    "joint-lost": (f"{_JOINTS}/elbow", "", None),
    "link-lost": (f"{_ARM}/forearm/hand/camera", "", None),
    "limit-radians": (f"{_JOINTS}/shoulder", "physics:upperLimit", 1.75),
    "mass-grams": (f"{_ARM}/forearm", "physics:mass", 750.0),
    "moments": (f"{_ARM}", "physics:diagonalInertia", Gf.Vec3f(0.02, 0.0137, 0.0201)),
    "up-axis": ("", "upAxis", "Y"),
    "units": ("", "metersPerUnit", 0.01),
    "visual-lost": (f"{_ARM}/visual", "", None),
}


@pytest.mark.parametrize("mistake", _MISTAKES)
def test_record_of_wrong_usd(mistake: str, zoo: Zoo, tmp_path: Path) -> None:
    path, name, value = _MISTAKES[mistake]
    usd = zoo.copy(tmp_path / "usd", "oblique_arm", ConvertOptions(layout=Layout.SINGLE))
    stage = Usd.Stage.Open(str(usd))
    prim = stage.GetPrimAtPath(path or "/")
    if not path:
        stage.SetMetadata(name, value)
    elif mistake == "axis-reversed":
        for end in ("physics:localRot0", "physics:localRot1"):
            rotation = prim.GetAttribute(end)
            assert rotation.Set(rotation.Get() * Gf.Quatf(0, 1, 0, 0))
    elif name:
        assert prim.GetAttribute(name).Set(value)
    else:
        prim.SetActive(False)
    stage.Save()

    _is_as_stored(examine_pair_here(ROBOTS["oblique_arm"], usd), f"wrong-{mistake}")


@pytest.mark.parametrize("profile", [*Profile])
def test_record_of_profile(profile: Profile, zoo: Zoo) -> None:
    options = ConvertOptions(profile=profile)
    _is_as_stored(zoo.record("oblique_arm", options), f"profile-{profile}")
