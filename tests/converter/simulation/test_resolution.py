"""From settings files, elements of a URDF and an SRDF to the settings of a robot."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.converter.simulation.robots import (
    hinge_inertia,
    write_described,
    write_description,
    write_urdf,
)
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.simulation.resolution import (
    ContactMaterial,
    JointDrive,
    Simulation,
    resolve,
)
from urdf_usd.converter.simulation.settings import load_settings
from urdf_usd.converter.urdf.parse import parse

_SRDF = """\
<robot name="two">
  <group name="arm"><joint name="hinge"/></group>
  <group_state group="arm" name="ready">
    <joint name="hinge" value="0.5"/><joint name="ball" value="1 0 0 0"/>
    <joint name="lost" value="1"/>
  </group_state>
  <group_state group="hand" name="open"><joint name="slide" value="0.3"/></group_state>
  <group_state group="arm" name="open"><joint name="hinge" value="0.1"/></group_state>
  <disable_collisions link1="tool" link2="base" reason="Never"/>
  <disable_collisions link1="tool" link2="ghost"/>
  <disable_default_collisions link="finger"/>
  <enable_collisions link1="finger" link2="base"/>
</robot>
"""


def _resolved(
    folder: Path,
    text: str,
    srdf: str = _SRDF,
    write: Callable[[Path], Path] = write_urdf,
) -> tuple[Simulation, list[Diagnostic]]:
    (folder / "two.srdf").write_text(srdf, encoding="utf-8")
    robot = parse(write(folder)).robot
    description = load_settings(write_description(folder, text))
    notes: list[Diagnostic] = []
    return resolve(description, robot, robot, notes), notes


def _drive(joint: str, *gains: float, **targets: float) -> JointDrive:
    return JointDrive(joint, *gains, **targets)


@pytest.mark.parametrize(
    ("text", "expected", "reported"),
    [
        pytest.param(
            """\
[[joints]]
match = "*"
stiffness = 100
damping = 9
armature = 0.1
[[joints]]
match = "slide"
damping = 3
""",
            {
                "drives": (_drive("hinge", 100.0, 9.0), _drive("slide", 100.0, 3.0)),
                "armatures": (("hinge", 0.1), ("slide", 0.1), ("follower", 0.1)),
            },
            ["robot.toml:1 description-coupled"],
            id="later tables override single keys, followers have no drive",
        ),
        pytest.param(
            """\
[[joints]]
match = "slide"
stiffness = 5
[pose.joints]
slide = 0.1
""",
            {
                "drives": (_drive("slide", 5.0, 0.0, target_position=0.1),),
                "positions": (("slide", 0.1), ("follower", pytest.approx(-2 * 0.1 + 0.05))),
            },
            [],
            id="a follower starts where its leader puts it, a drive follows the initial position",
        ),
        pytest.param(
            """\
[[joints]]
match = "*"
stiffness = 100
damping = 9
[[joints]]
match = "hinge"
control = "velocity"
target = 2
[[joints]]
match = "slide"
control = "none"
""",
            {"drives": (_drive("hinge", 0.0, 9.0, target_velocity=2.0),)},
            ["robot.toml:1 description-coupled"],
            id="velocity control has no stiffness",
        ),
        pytest.param(
            """\
[[joints]]
match = ["hinge", "elbow*"]
control = "position"
damping = 2
[[joints]]
match = "slide"
stiffness = 2
target = 0.7
[pose.joints]
hinge = 3
""",
            {"drives": (_drive("slide", 2.0, 0.0, target_position=0.7),)},
            [
                "robot.toml:10 description-limit",
                "robot.toml:2 description-unmatched",
                "robot.toml:1 description-gains",
                "robot.toml:5 description-limit",
            ],
            id="what matches nothing or has no effect is reported",
        ),
        pytest.param(
            """\
[[links]]
match = "*"
static_friction = 0.9
dynamic_friction = 0.6
[[links]]
match = ["arm", "t*"]
restitution = 0.2
static_friction = 1.2
""",
            {
                "contact_materials": (
                    ContactMaterial("base", 0.9, 0.6),
                    ContactMaterial("arm", 1.2, 0.6, 0.2),
                    ContactMaterial("tool", 1.2, 0.6, 0.2),
                )
            },
            [],
            id="later tables override single coefficients, links without collider have none",
        ),
        *(
            pytest.param(
                f'[[links]]\nmatch = "arm"\n{key} = 0.4\n',
                {"contact_materials": (ContactMaterial("arm", 0.4, 0.4),)},
                [],
                id=f"{key} alone is both",
            )
            for key in ("static_friction", "dynamic_friction")
        ),
        pytest.param(
            """\
[filters]
srdf = "two.srdf"
parent_child = true
pairs = [["tool", "finger"], ["tool", "absent"]]
""",
            {
                "filtered_pairs": (
                    *(("arm", "base"), ("arm", "finger"), ("arm", "tool")),
                    *(("base", "tool"), ("finger", "tool")),
                )
            },
            ["two.srdf:10 description-unmatched", "robot.toml:4 description-unmatched"],
            id="filters of an SRDF, of joints, and of the file",
        ),
        pytest.param(
            """\
[pose]
srdf = "two.srdf"
state = "hand/open"
joints = { hinge = 0.25 }
""",
            {"positions": (("hinge", 0.25), ("slide", 0.3), ("follower", pytest.approx(-0.55)))},
            [],
            id="positions of the file override a group state",
        ),
        pytest.param(
            '[pose]\nsrdf = "two.srdf"\nstate = "ready"\n',
            {"positions": (("hinge", 0.5), ("follower", 0.05))},
            ["two.srdf:3 description-unmatched"],
            id="joints of a group state that do not exist are reported",
        ),
    ],
)
def test_tables_of_the_file_are_settings(
    tmp_path: Path, text: str, expected: dict[str, Any], reported: list[str]
) -> None:
    found, notes = _resolved(tmp_path, text)

    assert {name: getattr(found, name) for name in expected} == expected
    assert _reported(notes) == reported


def _reported(notes: list[Diagnostic]) -> list[str]:
    return [
        f"{Path(note.location.file).name}:{note.location.line} {note.rule}"
        for note in notes
        if note.location
    ]


_GAINS = '[[joints]]\nmatch = "*"\nstiffness = 7\ndamping = 2\n[sources]\n'
_BOTH = (_drive("hinge", 7.0, 2.0), _drive("slide", 7.0, 2.0))


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (
            "",
            {"drives": _BOTH, "positions": (), "contact_materials": (), "self_collision": None},
        ),
        (
            # Velocity goes before effort; without a command interface a joint is passive. The
            # follower of the slide is at its offset.
            "ros2_control = true",
            {
                "drives": (_drive("hinge", 0.0, 2.0),),
                "positions": (("hinge", 0.4), ("follower", 0.05)),
            },
        ),
        ("transmissions = true", {"drives": (_drive("slide", 7.0, 2.0),)}),
        (
            # The finger has no collider.
            "gazebo = true",
            {
                "drives": _BOTH,
                "self_collision": True,
                "contact_materials": (
                    ContactMaterial("arm", 0.8, 0.8),
                    ContactMaterial("tool", 1.5, 1.5),
                ),
            },
        ),
        (
            # Restitution alone leaves the friction of the element.
            'gazebo = true\n[[links]]\nmatch = "arm"\nstatic_friction = 0.5\n'
            '[[links]]\nmatch = "tool"\nrestitution = 0.1\n',
            {
                "contact_materials": (
                    ContactMaterial("arm", 0.5, 0.5),
                    ContactMaterial("tool", 1.5, 1.5, 0.1),
                )
            },
        ),
    ],
)
def test_elements_of_the_urdf_count_where_the_file_names_them(
    tmp_path: Path, sources: str, expected: dict[str, object]
) -> None:
    found, notes = _resolved(tmp_path, _GAINS + sources, write=write_described)

    assert {name: getattr(found, name) for name in expected} == expected
    # UsdPhysics has neither two directions of friction nor contact stiffness.
    lost = [note.message.split()[0] for note in notes if note.rule == "description-lost"]
    assert lost == (["<kp>", "<mu2>"] if "gazebo" in sources else [])


def test_missing_elements_are_reported(tmp_path: Path) -> None:
    sources = "ros2_control = true\ntransmissions = true"

    found, notes = _resolved(tmp_path, _GAINS + sources)

    assert found.drives == _BOTH
    unmatched = [line for line in _reported(notes) if line.endswith("unmatched")]
    assert unmatched == [f"robot.toml:{line} description-unmatched" for line in (7, 6)]


@pytest.mark.parametrize("slide", [0.0, 0.3])
def test_natural_frequency_becomes_gains_at_the_initial_pose(tmp_path: Path, slide: float) -> None:
    """With I = inertia and armature: k = I w^2, d = 2 z I w."""
    text = f"""\
[[joints]]
match = "hinge"
natural_frequency = 2.5
damping_ratio = 0.6
armature = 0.07
[pose.joints]
slide = {slide}
"""

    (drive,) = _resolved(tmp_path, text)[0].drives

    inertia = hinge_inertia(slide) + 0.07
    rate = 2 * math.pi * 2.5
    assert drive.stiffness == pytest.approx(inertia * rate**2, rel=1e-12)
    assert drive.damping == pytest.approx(2 * 0.6 * inertia * rate, rel=1e-12)


@pytest.mark.parametrize("pattern", ["finger", "Arm", "elbow*"])
def test_pattern_without_collider_is_reported(tmp_path: Path, pattern: str) -> None:
    text = f'[[links]]\nmatch = ["arm", "{pattern}"]\nstatic_friction = 0.4\n'

    found, (note,) = _resolved(tmp_path, text)

    assert [material.link for material in found.contact_materials] == ["arm"]
    assert _reported([note]) == ["robot.toml:2 description-unmatched"]
    message = f"'{pattern}' matches no link with a collider; the robot has base, arm, tool"
    assert note.message == message


def _write_massless(folder: Path) -> Path:
    file = folder / "two.urdf"
    file.write_text(
        '<robot name="two"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    return file


_FILTERS = '[filters]\nsrdf = "two.srdf"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[links]]\nmatch = "arm"\nrestitution = 0.3', r"toml:1:1: .*'arm' needs a friction"),
        (
            '[[links]]\nmatch = "arm"\nstatic_friction = 0.3\ndynamic_friction = 0.5',
            r"toml:1:1: .*static friction 0.3 of link 'arm' is less than its dynamic friction 0.5",
        ),
        ('[pose]\nstate = "open"', "needs an SRDF"),
        ('[pose]\nsrdf = "two.srdf"\nstate = "open"', "several poses 'open'"),
        ('[pose]\nsrdf = "two.srdf"\nstate = "up"', "no pose 'up'; it has arm"),
    ],
)
def test_impossible_settings_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        _resolved(tmp_path, text)


def test_natural_frequency_without_inertia_is_refused(tmp_path: Path) -> None:
    text = '[[joints]]\nmatch = "j"\nnatural_frequency = 1'

    with pytest.raises(ConversionError, match="moves no inertia"):
        _resolved(tmp_path, text, write=_write_massless)


@pytest.mark.parametrize(
    ("srdf", "message"),
    [
        ("<sdf/>", "root element is <sdf>"),
        (_SRDF.replace('"0.5"', '"half"'), r"two\.srdf:4:5: error: 'half' is no position"),
        ("<!DOCTYPE r [<!ENTITY a 'b'>]><r/>", "entity"),
    ],
)
def test_unusable_srdf_is_refused(tmp_path: Path, srdf: str, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        _resolved(tmp_path, _FILTERS, srdf)
