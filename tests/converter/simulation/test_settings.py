"""From settings files, elements of a URDF and an SRDF to settings, or errors.

What the files in ``settings.txt`` become is stored there, see :mod:`tests.stored_cases`. The
option of a case is the robot: with elements that settings can name, or without mass.
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import jsonschema
import pytest
from msgspec import json, structs

from tests.converter.simulation.robots import write_described, write_description, write_urdf
from tests.stored_cases import OPTIONS, Case, check_outcomes, write_files
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.options import (
    BodyNesting,
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ConvertOptions,
    Profile,
)
from urdf_usd.converter.robot.model import Base
from urdf_usd.converter.simulation.resolution import Simulation, resolve
from urdf_usd.converter.simulation.settings import (
    SettingsTables,
    load_settings,
    schema,
    with_settings,
)
from urdf_usd.converter.urdf.parse import parse

_STORED = Path(__file__).with_name("settings.txt")
_JOINT = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
_MASSLESS = f'<robot name="two"><link name="a"/><link name="b"/>{_JOINT}</robot>'


def _write_massless(folder: Path) -> Path:
    return write_files({"two.urdf": _MASSLESS}, folder)


_ROBOTS = {"": write_urdf, "described": write_described, "massless": _write_massless}


def _resolved(file: Path, robot: str = "") -> tuple[Simulation, list[Diagnostic]]:
    parsed = parse(_ROBOTS[robot](file.parent)).robot
    notes: list[Diagnostic] = []
    return resolve(load_settings(file), parsed, parsed, notes), notes


def _outcome(case: Case, folder: Path) -> str:
    file = write_files(case, folder)
    try:
        found, notes = _resolved(file, case.get(OPTIONS, "").strip())
    except ConversionError as error:
        lines = [str(one) for one in error.diagnostics]
    else:
        lines = [str(one) for one in notes]
        for field in structs.fields(found):
            value = getattr(found, field.name)
            rows = value if isinstance(value, tuple) else [value]
            if value != field.default:
                lines += [f"{field.name}: {json.encode(row).decode()}" for row in rows]
    return "\n".join(lines).replace(f"{folder}/", "")


def test_settings_are_as_stored(tmp_path: Path) -> None:
    check_outcomes(_STORED, _outcome, tmp_path)


@pytest.mark.parametrize("slide", [0.0, 0.3])
def test_natural_frequency_becomes_gains_at_the_initial_pose(tmp_path: Path, slide: float) -> None:
    """With I = inertia about the hinge and armature: k = I w^2, d = 2 z I w."""
    text = f"""\
[[joints]]
match = "hinge"
natural_frequency = 2.5
damping_ratio = 0.6
armature = 0.07
[pose.joints]
slide = {slide}
"""

    (drive,) = _resolved(write_description(tmp_path, text))[0].drives

    arm = 0.03 + 2 * 0.3**2
    tool = 0.003 + 0.5 * (0.6 + slide) ** 2
    finger = 0.004 + 0.25 * (0.1**2 + (0.6 - 2 * slide + 0.05) ** 2)
    inertia = arm + tool + finger + 0.07
    rate = 2 * math.pi * 2.5
    assert drive.stiffness == pytest.approx(inertia * rate**2, rel=1e-12)
    assert drive.damping == pytest.approx(2 * 0.6 * inertia * rate, rel=1e-12)


_EVERYTHING = """\
base = "fixed"
profile = "physx"
self_collision = true
joints = [
  { match = ["shoulder*", "elbow"], control = "position", natural_frequency = 3, armature = 0.1 },
  { match = "wheel_?", control = "velocity", damping = 2.5 },
]
pose = { state = "arm/ready", joints = { elbow = 1.5 } }
filters = { srdf = "robot.srdf", parent_child = true, overlap = true, pairs = [["a", "b"]] }
colliders = { default = "hull", links = { "wheel_*" = "primitives" }, tolerance = "2%" }
inertia = { missing = "geometry", density = 700 }
sources = { ros2_control = true, transmissions = true, gazebo = true }
"""


def test_every_key_is_read_and_in_the_json_schema(tmp_path: Path) -> None:
    (tmp_path / "robot.srdf").write_text("<robot name='r'/>", encoding="utf-8")
    validator = jsonschema.Draft202012Validator(schema())

    found = load_settings(write_description(tmp_path, _EVERYTHING))

    given = tomllib.loads(_EVERYTHING)
    read = json.decode(json.encode(found.tables))
    for key, value in given.items():
        if isinstance(value, dict):
            assert read[key] | value == read[key]
        elif not isinstance(value, list):
            assert read[key] == value
    assert [table.patterns for table in found.tables.joints] == [
        ("shoulder*", "elbow"),
        ("wheel_?",),
    ]
    assert set(given) == set(SettingsTables.__struct_fields__) - {"links"}
    assert found.attached == (("robot.srdf", b"<robot name='r'/>"),)
    assert validator.is_valid(given)
    assert not validator.is_valid({"joint": []})
    assert not validator.is_valid({"joints": [{"match": "*", "stiffness": -1}]})


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=r"absent\.toml cannot be read"):
        load_settings(tmp_path / "absent.toml")


def test_description_chooses_base_and_profile(tmp_path: Path) -> None:
    """Options other than the defaults override it."""
    text = 'base = "floating"\nprofile = "physx"\ncolliders = { default = "hull" }'
    description = load_settings(write_description(tmp_path, text))

    found = with_settings(ConvertOptions(), description)
    rules = ColliderRules((ColliderRule.parse("wheel*=mesh"),))
    own = with_settings(ConvertOptions(profile=Profile.ROS, colliders=rules), description)

    assert (found.base.value, found.profile) == (Base.FLOATING.value, Profile.PHYSX)
    assert own.profile is Profile.ROS
    kinds = [own.colliders.kind_of(link) for link in ("wheel_left", "arm")]
    assert kinds == [ColliderKind.MESH, ColliderKind.HULL]
    with pytest.raises(ConversionError, match=r"robot\.toml:2:1: .*nested"):
        with_settings(ConvertOptions(bodies=BodyNesting.NESTED), description)
