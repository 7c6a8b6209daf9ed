"""Elements of joints."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from urdf_usd.converter.diagnostics import (
    Diagnostic,
    SourceError,
)
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.robot.model import (
    UNLIMITED,
    Calibration,
    Continuous,
    Dynamics,
    Fixed,
    Floating,
    Joint,
    JointKind,
    Mimic,
    Planar,
    Prismatic,
    Range,
    Revolute,
    SafetyController,
    Spherical,
)
from urdf_usd.converter.urdf.parse import Parsed

Read = Callable[[str], Parsed]
Refuse = Callable[[str], tuple[Diagnostic, ...]]

_OBLIQUE = (2 / 7, -3 / 7, 6 / 7)  # 2² + 3² + 6² = 7²


def _joint(parsed: Parsed) -> Joint:
    (joint,) = parsed.robot.joints
    return joint


def _rules(parsed: Parsed) -> list[str]:
    return [diagnostic.rule for diagnostic in parsed.diagnostics]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("revolute", Revolute(_OBLIQUE, Range(-0.5, 1.5))),
        ("prismatic", Prismatic(_OBLIQUE, Range(-0.5, 1.5))),
        ("continuous", Continuous(_OBLIQUE)),
        ("planar", Planar(_OBLIQUE)),
        ("fixed", Fixed()),
        ("floating", Floating()),
        ("spherical", Spherical()),
    ],
)
def test_every_type_has_its_attributes(read_joint: Read, name: str, kind: JointKind) -> None:
    """Effort and velocity belong to all joints, limits to two types."""
    parsed = read_joint(
        f'type="{name}"><axis xyz="2 -3 6"/>'
        '<limit lower="-0.5" upper="1.5" effort="0" velocity="3"/>'
    )

    joint = _joint(parsed)

    assert joint.kind == kind
    assert (joint.effort, joint.velocity) == (0.0, 3.0)


@pytest.mark.parametrize("name", ["continuous", "planar", "floating", "spherical"])
def test_limits_without_a_meaning_are_noted(read_joint: Read, name: str) -> None:
    """Some engines apply them."""
    parsed = read_joint(f'type="{name}"><limit lower="-3" upper="3"/>')

    assert "joint-limit-ignored" in _rules(parsed)


def test_limits_of_a_fixed_joint_are_ignored(read_joint: Read) -> None:
    """Exporters write them for every joint."""
    assert _rules(read_joint('type="fixed"><limit lower="0" upper="0"/>')) == []


def test_spherical_joint_is_an_extension(read_joint: Read) -> None:
    """Of Bullet and MuJoCo."""
    assert _rules(read_joint('type="spherical">')) == ["joint-type-extension"]


@pytest.mark.parametrize(
    ("written", "axis"),
    [
        ("", (1.0, 0.0, 0.0)),
        ("<axis/>", (1.0, 0.0, 0.0)),
        ('<axis xyz="0 0 -2"/>', (0.0, 0.0, -1.0)),
        ('<axis xyz="-0.0 1e-200 -0.0"/>', (0.0, 1.0, 0.0)),
        ('<axis xyz="-1e300 0 0"/>', (-1.0, 0.0, 0.0)),
        ('<axis xyz="0.6 0 0.8"/>', (0.6, 0.0, 0.8)),
    ],
)
def test_axes_are_unit_vectors(
    read_joint: Read, written: str, axis: tuple[float, float, float]
) -> None:
    """Exact along coordinate axes of any length, and without -0.0."""
    kind = _joint(read_joint(f'type="continuous">{written}')).kind

    assert isinstance(kind, Continuous)
    assert kind.axis == axis
    assert all(math.copysign(1.0, c) == 1.0 for c in kind.axis if c == 0.0)


def test_zero_axis_is_an_error_only_where_it_is_used(read_joint: Read, refuse: Refuse) -> None:
    """Fixed joints often have one."""
    assert _rules(read_joint('type="fixed"><axis xyz="0 0 0"/>')) == []

    found = refuse(
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/>\n'
        '<axis xyz="0 0 0"/><limit lower="0" upper="1"/></joint></robot>'
    )

    assert [(d.rule, d.location and d.location.line) for d in found] == [("joint-axis-zero", 2)]


@pytest.mark.parametrize(
    ("limit", "allowed", "rules"),
    [
        ("", UNLIMITED, ["joint-limit-missing"]),
        ("<limit/>", Range(0.0, 0.0), ["joint-limit-incomplete"]),
        ('<limit upper="2"/>', Range(0.0, 2.0), ["joint-limit-incomplete"]),
        ('<limit lower="-2"/>', Range(-2.0, 0.0), ["joint-limit-incomplete"]),
        ('<limit lower="1" upper="-1"/>', Range(1.0, -1.0), ["joint-limit-reversed"]),
        ('<limit lower="0" upper="0"/>', Range(0.0, 0.0), []),
        ('<limit lower="-inf" upper="INF"/>', UNLIMITED, []),
        ('<limit lower="-1e16" upper="1e16"/>', Range(-1e16, 1e16), []),
        ('<limit lower="x" upper="2"/>', Range(0.0, 2.0), ["number-invalid"]),
    ],
)
def test_limits_are_kept_as_written(
    read_joint: Read, limit: str, allowed: Range, rules: list[str]
) -> None:
    """An absent bound is zero, an absent limit is none; unusual values are reported."""
    parsed = read_joint(f'type="prismatic">{limit}')

    assert _joint(parsed).kind == Prismatic((1.0, 0.0, 0.0), allowed)
    assert _rules(parsed) == rules


@pytest.mark.parametrize(
    "limit",
    [
        'lower="inf" upper="1"',
        'lower="0" upper="-inf"',
        'lower="0" upper="1" effort="-inf"',
        'lower="nan" upper="1"',
    ],
)
def test_infinity_of_the_wrong_sign_is_an_error(read_joint: Read, limit: str) -> None:
    """It does not mean unlimited."""
    with pytest.raises(SourceError, match=r"\[number-nonfinite\]"):
        read_joint(f'type="revolute"><limit {limit}/>')


def test_absent_effort_and_velocity_differ_from_zero(read_joint: Read) -> None:
    """Zero is a declared value, infinity declares no limit."""
    absent = _joint(read_joint('type="continuous"><limit/>'))
    zero = _joint(read_joint('type="continuous"><limit effort="0" velocity="0"/>'))
    unlimited = _joint(read_joint('type="continuous"><limit effort="inf"/>'))

    assert (absent.effort, absent.velocity) == (None, None)
    assert (zero.effort, zero.velocity) == (0.0, 0.0)
    assert (unlimited.effort, unlimited.velocity) == (math.inf, None)


def test_negative_magnitudes_are_kept_and_reported(read_joint: Read) -> None:
    """A fixed joint has no use for them."""
    inside = '<limit effort="-3" velocity="-2"/><dynamics damping="-1" friction="0"/>'
    parsed = read_joint(f'type="continuous">{inside}')
    joint = _joint(parsed)

    assert (joint.effort, joint.velocity, joint.dynamics) == (-3, -2, Dynamics(-1, 0))
    assert [d.message for d in parsed.diagnostics] == [
        "effort of joint 'j' is negative (-3) and written as a urdf: attribute only",
        "velocity of joint 'j' is negative (-2) and written as a urdf: attribute only",
        "damping of joint 'j' is negative (-1) and written as a urdf: attribute only",
    ]
    assert not read_joint(f'type="fixed">{inside}').diagnostics


def test_other_elements_of_a_joint_are_read(read_joint: Read) -> None:
    """Absent values are None."""
    joint = _joint(
        read_joint(
            'type="continuous"><dynamics damping="0.5"/>'
            '<safety_controller k_velocity="2" soft_lower_limit="-1"/>'
            '<calibration falling="0.25"/>'
        )
    )

    assert joint.dynamics == Dynamics(damping=0.5, friction=None)
    assert joint.safety == SafetyController(k_velocity=2.0, soft_lower_limit=-1.0)
    assert joint.calibration == Calibration(falling=0.25)


def _chain(*joints: tuple[str, str, str]) -> str:
    """Return a chain of links; each joint has a name, a type and a mimic."""
    text = '<robot name="r"><link name="l0"/>'
    for number, (name, kind, mimic) in enumerate(joints):
        text += (
            f'\n<joint name="{name}" type="{kind}">{mimic}<limit lower="0" upper="1"/>'
            f'<parent link="l{number}"/><child link="l{number + 1}"/></joint>'
            f'<link name="l{number + 1}"/>'
        )
    return text + "</robot>"


def _mimics(parsed: Parsed) -> dict[str, Mimic | None]:
    return {joint.name: joint.mimic for joint in parsed.robot.joints}


def test_mimic_chains_are_kept(read: Read) -> None:
    """Also if the follower precedes its leader."""
    parsed = read(
        _chain(
            ("a", "prismatic", '<mimic joint="b" multiplier="-2" offset="0.25"/>'),
            ("b", "revolute", '<mimic joint="c"/>'),
            ("c", "revolute", ""),
        )
    )

    assert parsed.diagnostics == ()
    assert _mimics(parsed) == {
        "a": Mimic("b", -2.0, 0.25),
        "b": Mimic("c", 1.0, 0.0),
        "c": None,
    }


@pytest.mark.parametrize(
    ("joints", "dropped", "rule"),
    [
        ([("a", "revolute", "z"), ("b", "revolute", "")], "a", "mimic-target-missing"),
        ([("a", "revolute", "a"), ("b", "revolute", "")], "a", "mimic-loop"),
        ([("a", "revolute", "b"), ("b", "fixed", "")], "a", "mimic-fixed"),
        ([("a", "fixed", "b"), ("b", "revolute", "")], "a", "mimic-fixed"),
        ([("a", "revolute", "b"), ("b", "planar", "")], "a", "mimic-fixed"),
        (
            [("a", "revolute", "b"), ("b", "revolute", "c"), ("c", "revolute", "a")],
            "c",
            "mimic-loop",
        ),
    ],
)
def test_invalid_mimics_are_dropped(
    read: Read, joints: list[tuple[str, str, str]], dropped: str, rule: str
) -> None:
    """With one warning each; the others are kept."""
    parsed = read(
        _chain(
            *(
                (name, kind, leader and f'<mimic joint="{leader}"/>')
                for name, kind, leader in joints
            )
        )
    )

    found = [d for d in parsed.diagnostics if d.severity is Severity.WARNING]
    assert [d.rule for d in found] == [rule]
    assert f"joint {dropped!r}" in found[0].message
    assert _mimics(parsed) == {
        name: Mimic(leader) if leader and name != dropped else None for name, _, leader in joints
    }
