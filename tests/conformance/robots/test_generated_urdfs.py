"""Robots that hypothesis generates as URDF text conform, or are refused with a rule."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.conformance.direct import examine_here
from tests.conformance.urdf_texts import urdf_texts
from urdf_usd.reports.records.record import Verdict

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


def _require_conforming(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder, "robot.urdf")
        urdf.write_text(text, encoding="utf-8")
        record = examine_here(urdf, Path(folder, "out"))
    if record.verdict is Verdict.UNREADABLE:
        assert any(found.severity == "error" for found in record.diagnostics)
        return
    assert record.verdict.conforms, record.reason


_MASS = '<mass value="0.7"/><inertia ixx="0.02" iyy="0.03" izz="0.04"/>'
_MOTOR = 'effort="1" velocity="1"'


def _robot(links: dict[str, str], *joints: str) -> str:
    """Return a URDF; the content of a link is that of its inertial unless it begins with !."""

    def link(name: str, content: str) -> str:
        inside = f"<inertial>{content}</inertial>" if content else ""
        return f'<link name="{name}">{content[1:] if content.startswith("!") else inside}</link>'

    parts = [link(name, content) for name, content in links.items()]
    return f'<robot name="r">{"".join(parts)}{"".join(joints)}</robot>'


def _joint(joint_type: str, ends: str, content: str = "") -> str:
    """Return a joint such as ``a>b``, which is called like its child."""
    parent, child = ends.split(">")
    return (
        f'<joint name="{child}" type="{joint_type}"><parent link="{parent}"/>'
        f'<child link="{child}"/>{content}</joint>'
    )


def _hinge(limit: str, joint_type: str = "revolute") -> str:
    joint = _joint(joint_type, "a>b", f'<axis xyz="0 1 0"/><limit {limit}/>')
    return _robot({"a": _MASS, "b": _MASS}, joint)


def _massless(moment: float) -> str:
    return f'<mass value="0"/><inertia ixx="{moment}" iyy="{moment}" izz="{moment}"/>'


def _points(size: str) -> str:
    point = '<mass value="1.6"/><inertia ixx="0" iyy="0" izz="0"/>'
    body = f'<origin xyz="0 0 {size}"/>{_MASS}'
    limit = f'<limit lower="-1" upper="1" {_MOTOR}/>'
    return _robot({"a": point, "b": body}, _joint("revolute", "a>b", limit))


def _collider(shape: str) -> str:
    return f"!<inertial>{_MASS}</inertial><collision><geometry>{shape}</geometry></collision>"


_LARGEST = "1.7976931348623157e308"
_SHORT_AXIS, _TILTED = '<axis xyz="1e-6 0 0"/>', '<axis xyz="0.707 0 0.707"/>'
_NOWHERE = '<limit lower="0" upper="0"/>'
_THREE, _FIVE = dict.fromkeys("abc", _MASS), dict.fromkeys("abcde", _MASS)
_THIN = (
    '<origin xyz="-0.623 -0.228 0"/><mass value="1.65"/>'
    '<inertia ixx="0.03747777278095931" iyy="0.08115657655248514" izz="0.11863434933344444"/>'
)
_LIGHT = (
    '<origin xyz="0 -0.195 -0.633" rpy="1.9 0 1.02"/><mass value="1.9e-06"/>'
    '<inertia ixx="0.103" iyy="0.122" izz="0.0571"/>'
)
# Reduced robots that did not conform, most of them found by hypothesis.
_FOUND = {
    "infinite effort": _hinge('lower="-1" upper="1" effort="inf" velocity="1"'),
    "infinite velocity": _hinge('lower="-1" upper="1" effort="1" velocity="inf"'),
    "largest double as limits": _hinge(f'lower="-{_LARGEST}" upper="{_LARGEST}" {_MOTOR}'),
    "damping of a joint without a limit, which MuJoCo does not read": _robot(
        _THREE,
        _joint("prismatic", "a>b", '<dynamics damping="0.766" friction="0.3"/>'),
        _joint("floating", "b>c"),
    ),
    "inertia without mass, of a link that MuJoCo rejects and of another": _robot(
        {"a": "", "b": "", "c": _massless(0.1), "d": _massless(2000.0)},
        _joint("revolute", "a>b"),
        _joint("prismatic", "b>c"),
        _joint("fixed", "c>d"),
    ),
    "joint that cannot move, between links without mass": _robot(
        {"a": "", "b": ""},
        _joint("prismatic", "a>b", f'<axis xyz="0.687 0.563 0.6794874470954058"/>{_NOWHERE}'),
    ),
    "floating body at a massless link that is fixed to the world": _robot(
        {"a": "", "b": _MASS}, _joint("fixed", "world>a"), _joint("floating", "a>b")
    ),
    "axis that PyBullet does not normalise, and hardly any travel": _robot(
        _THREE,
        _joint("prismatic", "a>b", f'{_SHORT_AXIS}<limit lower="-1e-5" upper="0"/>'),
        _joint("fixed", "b>c", '<origin xyz="0.452 0 0.077"/>'),
    ),
    "axis that PyBullet does not normalise, of a joint that never moves": _robot(
        _FIVE,
        _joint(
            "prismatic",
            "a>b",
            f'<origin xyz="-0.669 0 0.637"/>{_TILTED}<limit lower="0.4" upper="0.4"/>'
            '<mimic joint="c" offset="2.478"/>',
        ),
        _joint("prismatic", "b>c", f'{_NOWHERE}<mimic joint="d" multiplier="0"/>'),
        _joint("prismatic", "b>d", f'{_NOWHERE}<mimic joint="c" multiplier="0"/>'),
        _joint("floating", "c>e"),
    ),
    "lower limit alone, prismatic": _hinge('lower="-0.25"', "prismatic"),
    "lower limit alone, revolute": _hinge('lower="-2.0"'),
    "point mass in a tiny robot": _points("3e-95"),
    "point mass in a robot of no size": _points("-5e-265"),
    "link without mass behind a prismatic joint of a fixed link": _robot(
        {"a": _MASS, "b": ""},
        _joint("fixed", "world>a"),
        _joint("prismatic", "a>b", f'<limit lower="-1" upper="1" {_MOTOR}/>'),
    ),
    "friction of a planar joint, along axes that rounding exchanged": _robot(
        {"c": _THIN, "a": "", "b": _LIGHT},
        _joint("continuous", "a>b", '<axis xyz="0 1 0"/>'),
        _joint("fixed", "world>a", '<origin rpy="5.486 0 -1.5707963"/>'),
        _joint(
            "planar",
            "b>c",
            '<axis xyz="0 -0.234 0.5619923313046401"/><dynamics damping="4.2" friction="0.75"/>',
        ),
    ),
    "range without width in float32": _hinge(f'lower="0" upper="2e-309" {_MOTOR}'),
    "massless inertia before a planar joint, along whose normal nothing moves": _robot(
        {"a": "", "b": _massless(0.05), "c": _MASS}, _joint("fixed", "a>b"), _joint("planar", "b>c")
    ),
    "limit near the smallest number of float32": _hinge(f'lower="0" upper="1.18e-38" {_MOTOR}'),
    "effort limit that stands for zero in MuJoCo's schemas": _hinge(
        'lower="-1" upper="1" effort="1.175494351e-38" velocity="1"', "prismatic"
    ),
    "capsule without length beside another collider": _robot(
        {
            "a": _collider('<capsule radius="0.4" length="0"/>'),
            "b": _collider('<box size="0.01 0.01 0.01"/>'),
            "c": "",
        },
        _joint("fixed", "c>a"),
        _joint("continuous", "c>b"),
    ),
}


@pytest.mark.parametrize("text", _FOUND.values(), ids=_FOUND)
def test_robots_that_were_generated_before_conform(text: str) -> None:
    _require_conforming(text)


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW,
)
@given(urdf_texts(most_links=5))
def test_generated_robots_conform(text: str) -> None:
    _require_conforming(text)


@pytest.mark.corpus
@settings(max_examples=2000, deadline=None, print_blob=True, suppress_health_check=_SLOW)
@given(urdf_texts())
def test_large_sample_of_generated_robots_conforms(text: str) -> None:
    _require_conforming(text)
