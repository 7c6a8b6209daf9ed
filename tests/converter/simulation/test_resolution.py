"""From description files to the settings of a robot."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.converter.simulation.robots import (
    hinge_inertia,
    write_description,
    write_urdf,
)
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.converter.simulation.resolution import resolve
from urdf_usd.converter.simulation.sources import ContactMaterial, JointDrive, Simulation
from urdf_usd.converter.urdf.parse import parse


def _resolved(folder: Path, text: str) -> tuple[Simulation, tuple[Diagnostic, ...]]:
    robot = parse(write_urdf(folder)).robot
    description = load_description(write_description(folder, text))
    notes: list[Diagnostic] = []
    return resolve(description, robot, robot, notes), tuple(notes)


def _rules(found: tuple[Diagnostic, ...]) -> list[tuple[str, int]]:
    return [(one.rule, one.location.line) for one in found if one.location]


def test_later_tables_override_single_keys(tmp_path: Path) -> None:
    """A natural frequency replaces both gains."""
    text = """\
[[joints]]
match = "*"
stiffness = 100
damping = 9
armature = 0.1
[[joints]]
match = "slide"
damping = 3
"""

    found, diagnostics = _resolved(tmp_path, text)

    assert found.drives == (
        JointDrive("hinge", 100.0, 9.0),
        JointDrive("slide", 100.0, 3.0),
    )
    assert found.armatures == (("hinge", 0.1), ("slide", 0.1), ("follower", 0.1))
    # The follower has no drive of its own.
    assert _rules(diagnostics) == [("description-coupled", 1)]


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

    found, _ = _resolved(tmp_path, text)

    inertia = hinge_inertia(slide) + 0.07
    rate = 2 * math.pi * 2.5
    (drive,) = found.drives
    assert drive.stiffness == pytest.approx(inertia * rate**2, rel=1e-12)
    assert drive.damping == pytest.approx(2 * 0.6 * inertia * rate, rel=1e-12)


def test_followers_start_where_their_leader_puts_them(tmp_path: Path) -> None:
    """At -2 * 0.1 + 0.05; the target of a drive is the initial position."""
    text = """\
[[joints]]
match = "slide"
stiffness = 5
[pose.joints]
slide = 0.1
"""

    found, _ = _resolved(tmp_path, text)

    assert dict(found.positions) == pytest.approx({"slide": 0.1, "follower": -0.15})
    assert found.drives == (JointDrive("slide", 5.0, 0.0, target_position=0.1),)


def test_velocity_control_has_no_stiffness(tmp_path: Path) -> None:
    """Also if an earlier table states one."""
    text = """\
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
"""

    found, _ = _resolved(tmp_path, text)

    assert found.drives == (JointDrive("hinge", 0.0, 9.0, target_velocity=2.0),)


def test_what_matches_nothing_or_has_no_effect_is_reported(tmp_path: Path) -> None:
    """At the line that states it."""
    text = """\
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
"""

    found, diagnostics = _resolved(tmp_path, text)

    assert [drive.joint for drive in found.drives] == ["slide"]
    assert _rules(diagnostics) == [
        ("description-limit", 10),
        ("description-unmatched", 2),
        ("description-gains", 1),
        ("description-limit", 5),
    ]


def test_natural_frequency_without_inertia_is_refused(tmp_path: Path) -> None:
    """There are no gains that would have it."""
    file = write_urdf(tmp_path)
    content = file.read_text(encoding="utf-8")
    start, end = content.index('<link name="base">'), content.index("</robot>")
    link = content[start:end]
    bare = (
        '<link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    )
    file.write_text(content.replace(link, bare), encoding="utf-8")
    robot = parse(file).robot
    text = '[[joints]]\nmatch = "j"\nnatural_frequency = 1'
    description = load_description(write_description(tmp_path, text))

    with pytest.raises(ConversionError, match="moves no inertia"):
        resolve(description, robot, robot, [])


_LINKS = """\
[[links]]
match = "*"
static_friction = 0.9
dynamic_friction = 0.6
[[links]]
match = ["arm", "t*"]
restitution = 0.2
static_friction = 1.2
"""


def test_later_tables_override_single_coefficients(tmp_path: Path) -> None:
    """Of the links with colliders; the finger has none."""
    found, diagnostics = _resolved(tmp_path, _LINKS)

    assert found.contact_materials == (
        ContactMaterial("base", 0.9, 0.6),
        ContactMaterial("arm", 1.2, 0.6, 0.2),
        ContactMaterial("tool", 1.2, 0.6, 0.2),
    )
    assert diagnostics == ()


@pytest.mark.parametrize("key", ["static_friction", "dynamic_friction"])
def test_one_coefficient_of_friction_is_both(tmp_path: Path, key: str) -> None:
    """A material of UsdPhysics without the other one would have zero."""
    found, _ = _resolved(tmp_path, f'[[links]]\nmatch = "arm"\n{key} = 0.4\n')

    assert found.contact_materials == (ContactMaterial("arm", 0.4, 0.4),)


@pytest.mark.parametrize("pattern", ["finger", "Arm", "elbow*"])
def test_pattern_without_collider_is_reported(tmp_path: Path, pattern: str) -> None:
    """With the links that have some."""
    text = f'[[links]]\nmatch = ["arm", "{pattern}"]\nstatic_friction = 0.4\n'

    found, diagnostics = _resolved(tmp_path, text)

    assert [one.link for one in found.contact_materials] == ["arm"]
    assert _rules(diagnostics) == [("description-unmatched", 2)]
    message = f"'{pattern}' matches no link with a collider; the robot has base, arm, "
    assert diagnostics[0].message == f"{message}tool"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("restitution = 0.3", "restitution' of link 'arm' needs a friction"),
        (
            "static_friction = 0.3\ndynamic_friction = 0.5",
            "static friction 0.3 of link 'arm' is less than its dynamic friction 0.5",
        ),
    ],
)
def test_impossible_contact_material_is_refused(tmp_path: Path, keys: str, message: str) -> None:
    """At its table."""
    with pytest.raises(ConversionError, match=rf"robot\.toml:1:1: .*{message}"):
        _resolved(tmp_path, f'[[links]]\nmatch = "arm"\n{keys}\n')
