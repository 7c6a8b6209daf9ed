"""Simulation settings files: their format and its errors."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from tests.converter.simulation.robots import write_description
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.simulation.settings import (
    load_settings,
    schema,
)

_EVERYTHING = """\
base = "fixed"
profile = "physx"
self_collision = true

[[joints]]
match = ["shoulder*", "elbow"]
control = "position"
natural_frequency = 3
damping_ratio = 0.7
armature = 0.1
target = 0.5

[[joints]]
match = "wheel_?"
control = "velocity"
damping = 2.5

[pose]
state = "arm/ready"

[pose.joints]
elbow = 1.5

[filters]
srdf = "robot.srdf"
parent_child = true
overlap = true
pairs = [
  ["a", "b"],
  ["c", "d"]
]

[colliders]
default = "hull"
links = { "wheel_*" = "primitives" }
tolerance = "2%"

[inertia]
missing = "geometry"
density = 700

[sources]
ros2_control = true
transmissions = true
gazebo = true
"""


def _errors(folder: Path, text: str) -> list[str]:
    file = write_description(folder, text)
    with pytest.raises(ConversionError) as caught:
        load_settings(file)
    return [
        f"{found.location.line}:{found.location.column} {found.rule} {found.message}"
        for found in caught.value.diagnostics
        if found.location
    ]


def test_every_key_is_read(tmp_path: Path) -> None:
    """Integers count as numbers, and one pattern as a list of one."""
    (tmp_path / "robot.srdf").write_text("<robot name='r'/>", encoding="utf-8")

    found = load_settings(write_description(tmp_path, _EVERYTHING))

    tables = found.tables
    first, second = tables.joints
    assert first.patterns == ("shoulder*", "elbow")
    assert (first.natural_frequency, first.damping_ratio) == (3.0, 0.7)
    assert second.patterns == ("wheel_?",)
    assert second.stiffness is None
    assert tables.pose.joints == {"elbow": 1.5}
    assert tables.filters.pairs == (("a", "b"), ("c", "d"))
    assert tables.colliders.links == {"wheel_*": "primitives"}
    assert tables.inertia is not None
    assert tables.inertia.density == 700.0
    assert tables.sources.gazebo
    assert found.attached == (("robot.srdf", b"<robot name='r'/>"),)


def test_json_schema_accepts_what_is_read(tmp_path: Path) -> None:
    """And refuses unknown keys and values out of range, as the reader does."""
    import tomllib

    validator = jsonschema.Draft202012Validator(schema())

    assert validator.is_valid(tomllib.loads(_EVERYTHING))
    assert not validator.is_valid({"joint": []})
    assert not validator.is_valid({"joints": [{"match": "*", "stiffness": -1}]})
    del tmp_path


def test_unknown_keys_are_all_refused_with_suggestions(tmp_path: Path) -> None:
    """At their lines and columns."""
    text = '[[joints]]\nmatch = "a"\n  stifness = 3\n[filter]\nsrdf = "x"\n'

    assert _errors(tmp_path, text) == [
        "3:3 description-key 'stifness' is not known here (did you mean 'stiffness'?)",
        "4:1 description-key 'filter' is not known here (did you mean 'filters'?)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[[joints]]\nmatch = "a"\n[[joints]]\nmatch = "b"\nstiffness = "9"',
            "5:1 description-value 'stiffness': expected `float`, got `str`",
        ),
        (
            '[[joints]]\nmatch = "a"\ndamping = -1',
            "3:1 description-value 'damping': expected `float` >= 0.0",
        ),
        (
            '[colliders]\ntolerance = "wide"',
            "2:1 description-value 'wide' is neither metres nor a percentage",
        ),
        (
            '[colliders]\ndefault = "hulls"',
            "2:1 description-value 'default': invalid enum value 'hulls'",
        ),
        (
            "[inertia]\ndensity = 0",
            "2:1 description-value 'density': expected `float` > 0.0",
        ),
        (
            '# base = 1\nbase = "fixd"',
            "2:1 description-value 'base': invalid enum value 'fixd'",
        ),
        (
            '[[joints]]\nmatch = "a"\nstiffness = 4\nnatural_frequency = 2',
            "4:1 description-value 'stiffness' and 'natural_frequency' exclude each",
        ),
        (
            '[[joints]]\nmatch = "a"\ncontrol = "velocity"\nstiffness = 4',
            "4:1 description-value 'stiffness' has no effect with control = 'velocity'",
        ),
        (
            '[[joints]]\nmatch = "a"\nstiffness = inf',
            "3:1 description-value 'stiffness' is inf, not a finite number",
        ),
        (
            "[pose.joints]\na = nan",
            "2:1 description-value position of 'a' is nan, not a finite number",
        ),
        ("[[joints]\n", "1:9 description-syntax expected ']]' at the end of an array"),
    ],
)
def test_wrong_value_is_refused_at_its_place(tmp_path: Path, text: str, expected: str) -> None:
    """One line per problem."""
    (found,) = _errors(tmp_path, text)

    assert found.startswith(expected)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """Of the description and of what it names."""
    with pytest.raises(ConversionError, match=r"absent\.toml cannot be read"):
        load_settings(tmp_path / "absent.toml")
    file = write_description(tmp_path, '[filters]\nsrdf = "absent.srdf"')
    with pytest.raises(ConversionError, match=r"absent\.srdf cannot be read"):
        load_settings(file)
