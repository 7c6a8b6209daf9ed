"""Records of small robots are as stored in ``golden``; ``UPDATE_RECORDS=1 pytest`` writes them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pybullet_data
import pytest
from pxr import Gf, Usd

from tests.conformance.direct import examine_here, examine_pair_here
from tests.converter.simulation.robots import SETTINGS, write_described, write_description
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import Layout
from urdf_usd.converter.simulation.settings import load_settings, with_settings
from urdf_usd.reports.records.record import Grade, RobotRecord
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.records.schema import record_schema

_ROOT = Path(__file__).parents[1]
_SUITE = next((_ROOT / "corpus" / "suite").glob("*/manifest.json")).parent
_PYBULLET = Path(pybullet_data.getDataPath())
# Each for something that the others lack.
ROBOTS = {
    # Fixed base, every bounded joint, notes of every severity.
    "arm": _ROOT / "examples" / "arm.urdf",
    # Every joint type, couplings, oblique axes, rotated origins, meshes and textures.
    "oblique_arm": _ROOT / "tests" / "faults" / "robots" / "oblique_arm.urdf",
    "drifter": _ROOT / "tests" / "faults" / "robots" / "drifter.urdf",
    "joints": _ROOT / "tests" / "urdf_usd" / "cli" / "robots" / "joints.urdf",
    "cartpole": _PYBULLET / "cartpole.urdf",
    "r2d2": _PYBULLET / "r2d2.urdf",
    # Meshes as STL, COLLADA and OBJ.
    "kuka": _PYBULLET / "kuka_iiwa" / "model.urdf",
    "racecar": _PYBULLET / "racecar" / "racecar.urdf",
    "husky": _PYBULLET / "husky" / "husky.urdf",
    # Floating joint; deep tree.
    "floating": _SUITE / "joints" / "floating.urdf",
    "chain": _SUITE / "frames" / "chain-of-twenty.urdf",
    "texture": _SUITE / "materials" / "texture.urdf",
    "mimic": _SUITE / "mimic" / "two-followers.urdf",
    # A file is missing.
    "incomplete": _SUITE / "meshes" / "missing-visual.urdf",
}
_STORED = Path(__file__).with_name("golden")
# PyBullet crashes on the file with two roots, and with it a process without workers.
_SMALL = [
    urdf
    for folder in ("deviations", "robots")
    for urdf in sorted(Path(__file__).parent.glob(f"data/{folder}/*.urdf"))
    if urdf.stem != "two-roots"
]
_OBLIQUE = ROBOTS["oblique_arm"]
CASES = {
    **{name: (urdf, ConvertOptions()) for name, urdf in ROBOTS.items()},
    **{urdf.stem: (urdf, ConvertOptions()) for urdf in _SMALL},
    **{f"profile-{one}": (_OBLIQUE, ConvertOptions(profile=one)) for one in Profile},
    **{f"layout-{one}": (_OBLIQUE, ConvertOptions(layout=one)) for one in Layout},
}


def _digest(record: RobotRecord) -> dict[str, Any]:
    """Return what a reader of a report sees of a record, without numbers of exact values."""
    plain = json.loads(record_json(record))
    jsonschema.validate(plain, record_schema("robot"))
    checks: dict[str, dict[str, Any]] = {}
    for check in plain["checks"]:
        shown = [check["compared"], *(finding["message"] for finding in check["findings"])]
        if check["reason"]:
            shown.append(check["reason"])
        of_grade = checks.setdefault(check["grade"], {})
        of_grade[check["id"]] = shown if len(shown) > 1 else shown[0]
    absent = checks.pop(Grade.NOT_APPLICABLE, {})
    facts = ("verdict", "reason", "links", "joints", "degrees_of_freedom", "total_mass", "base")
    note = "{severity} {rule} {line}:{column} {message}"
    return {
        **{fact: plain[fact] for fact in facts},
        "diagnostics": [note.format(**one) for one in plain["diagnostics"]],
        "lint": [note.format(**one) for one in plain["lint"]],
        "settings": plain["description"] and plain["description"]["settings"],
        "engines": {engine["name"]: engine["status"] for engine in plain["engines"]},
        "checks": {**checks, "not applicable": " ".join(sorted(absent))},
        "deviations": [
            f"{one['id']} {one['check']}: {', '.join(one['subjects'])}"
            for one in plain["deviations"]
        ],
        "coverage": ["{count} {part}: {fate}, {where}".format(**one) for one in plain["ledger"]],
    }


def _is_as_stored(record: RobotRecord, name: str) -> None:
    file = _STORED / f"{name}.json"
    current = json.dumps(_digest(record), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_RECORDS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(current, encoding="utf-8")

    assert current.splitlines() == file.read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", CASES)
def test_record_of_robot(name: str, tmp_path: Path) -> None:
    urdf, options = CASES[name]
    record = examine_here(urdf, tmp_path, options)

    assert record.profile == options.profile
    _is_as_stored(record, name)


# Mistakes in a USD of the robot oblique_arm: prim, attribute, wrong value. Without an attribute
# the prim is deactivated.
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
    "layer-missing": ("/oblique_arm", "references", "./none.usda"),
    "mass-unit": ("", "kilogramsPerUnit", float("nan")),
    "up-axis": ("", "upAxis", "Y"),
    "units": ("", "metersPerUnit", 0.01),
    "visual-lost": (f"{_ARM}/visual", "", None),
}


@pytest.mark.parametrize("mistake", _MISTAKES)
def test_record_of_wrong_usd(mistake: str, tmp_path: Path) -> None:
    path, name, value = _MISTAKES[mistake]
    usd = convert(_OBLIQUE, tmp_path / "usd", ConvertOptions(layout=Layout.SINGLE)).root_layer
    stage = Usd.Stage.Open(str(usd))
    prim = stage.GetPrimAtPath(path or "/")
    if not path:
        stage.SetMetadata(name, value)
    elif mistake == "axis-reversed":
        for end in ("physics:localRot0", "physics:localRot1"):
            rotation = prim.GetAttribute(end)
            assert rotation.Set(rotation.Get() * Gf.Quatf(0, 1, 0, 0))
    elif name == "references":
        prim.GetReferences().AddReference(value)
    elif name:
        assert prim.GetAttribute(name).Set(value)
    else:
        prim.SetActive(False)
    stage.Save()

    _is_as_stored(examine_pair_here(_OBLIQUE, usd), f"wrong-{mistake}")


_GAINS = '[[joints]]\nmatch = "*"\nstiffness = 7\ndamping = 2\n'
_MATERIALS = """\
[[links]]
match = ["*"]
static_friction = 0.9
restitution = 0.25
[[links]]
match = "[!b]*"
dynamic_friction = 0.7
[colliders]
links = { "base" = "none" }
[sources]
gazebo = true
"""
_FILTERS = """\
[pose]
state = "ready"
[filters]
srdf = "two.srdf"
overlap = true
pairs = [["base", "finger"]]
"""
# Of the robot with elements that settings can name: it overlaps with the tool, which no joint
# connects to it.
_WIDE = (
    '<link name="finger">',
    '<link name="finger"><collision><geometry><sphere radius="0.07"/></geometry></collision>',
)
_SOURCES = f"{_GAINS}[sources]\nros2_control = true\ngazebo = true\n"
_SRDF = """<robot name="two">
  <group_state group="all" name="ready"><joint name="hinge" value="0.75"/></group_state>
  <disable_collisions link1="base" link2="tool" link1="x"/></robot>"""
# Settings file, a replacement in the URDF, and options.
_DESCRIBED: dict[str, tuple[str, tuple[str, str], dict[str, Any]]] = {
    **{f"profile-{one}": (SETTINGS, ("", ""), {"profile": one}) for one in Profile},
    "single-layer": (SETTINGS, ("", ""), {"layout": Layout.SINGLE}),
    "filters": (_FILTERS, _WIDE, {}),
    "materials": (_MATERIALS, ("", ""), {}),
    "elements": (_SOURCES, ("", ""), {}),
    "transmissions": (f"{_GAINS}[sources]\ntransmissions = true", ("", ""), {}),
    "late-declaration": (_SOURCES, ("<robot", "\n<?xml version='1.0'?><robot"), {}),
    "value-repeated": (_SOURCES, (' type="system">', ' type="system" type="x">'), {}),
    "no-number": (_SOURCES, ("<mu1>0.8</mu1>", "<mu1>0,8</mu1>"), {}),
    "negative-friction": (_SOURCES, ("<mu1>0.8</mu1>", "<mu1>-0.8</mu1>"), {}),
    "no-position": (_SOURCES, (">0.4</param>", ">zero</param>"), {}),
}


@pytest.mark.parametrize("name", _DESCRIBED)
def test_record_with_simulation_settings(name: str, tmp_path: Path) -> None:
    settings, (old, new), options = _DESCRIBED[name]
    urdf = write_described(tmp_path)
    text = urdf.read_text("utf-8")
    assert old in text
    urdf.write_text(text.replace(old, new, 1), encoding="utf-8")
    (tmp_path / "two.srdf").write_text(_SRDF, encoding="utf-8")
    description = load_settings(write_description(tmp_path, settings))
    chosen = with_settings(ConvertOptions(**options), description)

    _is_as_stored(examine_here(urdf, tmp_path / "run", chosen), f"settings-{name}")
