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


_BODY = (
    '<inertial><mass value="0.7"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>'
)


def _massless(name: str, moment: float) -> str:
    return (
        f'<link name="{name}"><inertial><mass value="0"/><inertia ixx="{moment}" '
        f'ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/></inertial></link>'
    )


def _hinge(limit: str) -> str:
    return (
        f'<robot name="r"><link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        f'<axis xyz="0 1 0"/><limit {limit}/></joint></robot>'
    )


# Reduced robots that did not conform, most of them found by hypothesis.
_FOUND = {
    "infinite effort": _hinge('lower="-1" upper="1" effort="inf" velocity="1"'),
    "infinite velocity": _hinge('lower="-1" upper="1" effort="1" velocity="inf"'),
    "largest double as the position limits of a revolute joint": _hinge(
        'lower="-1.7976931348623157e308" upper="1.7976931348623157e308" effort="1" velocity="1"'
    ),
    "damping of a joint without a limit, which MuJoCo does not read": (
        f'<robot name="r"><link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
        f'<link name="c">{_BODY}</link>'
        '<joint name="i" type="prismatic"><parent link="a"/><child link="b"/>'
        '<dynamics damping="0.766" friction="0.3"/></joint>'
        '<joint name="j" type="floating"><parent link="b"/><child link="c"/></joint>'
        "</robot>"
    ),
    "inertia without mass, of a link that MuJoCo rejects and of another": (
        '<robot name="r"><link name="a"/><link name="b"/>'
        f"{_massless('c', 0.1)}{_massless('d', 2000.0)}"
        '<joint name="i" type="revolute"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="prismatic"><parent link="b"/><child link="c"/></joint>'
        '<joint name="k" type="fixed"><parent link="c"/><child link="d"/></joint>'
        "</robot>"
    ),
    "joint that cannot move, between links without mass": (
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/>'
        '<axis xyz="0.687 0.563 0.6794874470954058"/><limit lower="0" upper="0"/>'
        "</joint></robot>"
    ),
    "floating body at a massless link that is fixed to the world": (
        f'<robot name="r"><link name="a"/><link name="b">{_BODY}</link>'
        '<joint name="i" type="fixed"><parent link="world"/><child link="a"/></joint>'
        '<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>'
        "</robot>"
    ),
    "axis that PyBullet does not normalise, and hardly any travel": (
        f'<robot name="r"><link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
        f'<link name="c">{_BODY}</link>'
        '<joint name="i" type="prismatic"><parent link="a"/><child link="b"/>'
        '<axis xyz="1e-6 0 0"/><limit lower="-1e-5" upper="0"/></joint>'
        '<joint name="j" type="fixed"><origin xyz="0.452 0 0.077"/>'
        '<parent link="b"/><child link="c"/></joint></robot>'
    ),
    "axis that PyBullet does not normalise, of a joint that never moves": (
        f'<robot name="r"><link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
        f'<link name="c">{_BODY}</link><link name="d">{_BODY}</link>'
        f'<link name="e">{_BODY}</link>'
        '<joint name="i" type="prismatic"><origin xyz="-0.669 0 0.637"/>'
        '<parent link="a"/><child link="b"/><axis xyz="0.707 0 0.707"/>'
        '<limit lower="0.4" upper="0.4"/><mimic joint="j" offset="2.478"/></joint>'
        '<joint name="j" type="prismatic"><parent link="b"/><child link="c"/>'
        '<limit lower="0" upper="0"/><mimic joint="k" multiplier="0"/></joint>'
        '<joint name="k" type="prismatic"><parent link="b"/><child link="d"/>'
        '<limit lower="0" upper="0"/><mimic joint="j" multiplier="0"/></joint>'
        '<joint name="f" type="floating"><parent link="c"/><child link="e"/></joint>'
        "</robot>"
    ),
    **{
        f"{kind} joint with a lower limit of {lower} alone": (
            f'<robot name="r"><link name="a">{_BODY}</link>'
            f'<link name="b">{_BODY}</link><joint name="j" type="{kind}">'
            f'<parent link="a"/><child link="b"/><limit lower="{lower}"/></joint>'
            "</robot>"
        )
        for kind, lower in (("prismatic", -0.25), ("revolute", -2.0))
    },
    **{
        f"point mass in a robot with a size of {size} m": (
            '<robot name="r"><link name="a"><inertial><mass value="1.6"/><inertia '
            'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
            '<link name="b"><inertial><mass value="0.5"/>'
            f'<origin xyz="0 0 {size}"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" '
            'iyz="0" izz="0.04"/></inertial></link>'
            '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
            '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
        )
        for size in ("3e-95", "-5e-265")
    },
    "link without mass behind a prismatic joint of a fixed link": (
        f'<robot name="r"><link name="a">{_BODY}</link><link name="b"/>'
        '<joint name="i" type="fixed"><parent link="world"/><child link="a"/></joint>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    ),
    "friction of a planar joint, along axes that rounding exchanged": (
        '<robot name="r"><link name="c"><inertial>'
        '<origin xyz="-0.623 -0.228 0"/><mass value="1.65"/>'
        '<inertia ixx="0.03747777278095931" iyy="0.08115657655248514" '
        'izz="0.11863434933344444"/></inertial></link><link name="a"/>'
        '<link name="b"><inertial>'
        '<origin xyz="0 -0.195 -0.633" rpy="1.9 0 1.02"/>'
        '<mass value="1.9e-06"/>'
        '<inertia ixx="0.103" iyy="0.122" izz="0.0571"/></inertial></link>'
        '<joint name="i" type="continuous"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 1 0"/></joint>'
        '<joint name="f" type="fixed"><origin rpy="5.486 0 -1.5707963"/>'
        '<parent link="world"/><child link="a"/></joint>'
        '<joint name="j" type="planar"><parent link="b"/><child link="c"/>'
        '<axis xyz="0 -0.234 0.5619923313046401"/>'
        '<dynamics damping="4.2" friction="0.75"/></joint></robot>'
    ),
    "range of which nothing is left in single precision": (
        f'<robot name="r"><link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        '<limit lower="0" upper="2e-309" effort="1" velocity="1"/></joint></robot>'
    ),
    "massless inertia before a planar joint, along whose normal nothing moves": (
        f'<robot name="r"><link name="a"/>{_massless("b", 0.05)}'
        f'<link name="c">{_BODY}</link>'
        '<joint name="i" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="planar"><parent link="b"/><child link="c"/></joint>'
        "</robot>"
    ),
    "position limit near the smallest number of float32": _hinge(
        'lower="0" upper="1.18e-38" effort="1" velocity="1"'
    ),
    "effort limit that stands for zero in MuJoCo's schemas": (
        f'<robot name="r"><link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/>'
        '<limit lower="-1" upper="1" effort="1.175494351e-38" velocity="1"/></joint>'
        "</robot>"
    ),
    "capsule without length beside another collider": (
        f'<robot name="r"><link name="a">{_BODY}<collision><geometry>'
        '<capsule radius="0.4" length="0"/></geometry></collision></link>'
        f'<link name="b">{_BODY}<collision><geometry>'
        '<box size="0.01 0.01 0.01"/></geometry></collision></link>'
        '<link name="c"/><joint name="i" type="fixed"><parent link="c"/>'
        '<child link="a"/></joint><joint name="j" type="continuous">'
        '<parent link="c"/><child link="b"/></joint></robot>'
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
