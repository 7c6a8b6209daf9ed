"""Reduced documents fail as the given one, and have nothing that is not needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.conformance.urdf_texts import urdf_texts
from urdf_usd.conformance.reduction import document_text, read_document, reduce_document

_ARM = b"""<?xml version="1.0"?>
<robot name="arm">
  <!-- the base -->
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"><inertial><mass value="4"/></inertial></link>
  <link name="upper"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
  <link name="lower">
    <inertial><origin xyz="0 0 0.123456"/><mass value="2.345678"/></inertial>
    <collision><geometry><mesh filename="lower.stl"/></geometry></collision>
  </link>
  <link name="hand"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="wrist" type="revolute"><parent link="lower"/><child link="hand"/>
    <mimic joint="elbow" multiplier="2"/></joint>
</robot>
"""


def _reduced(text: bytes, fails: Callable[[bytes], bool], parallel: int = 1) -> bytes:
    def test(texts: Sequence[bytes]) -> list[bool]:
        return [fails(each) for each in texts]

    document = document_text(read_document(text))
    *_, (smallest, _) = [(document, 0), *reduce_document(document, test, parallel)]
    return smallest


def _compact(text: bytes) -> bytes:
    return etree.tostring(read_document(text))


def _has(path: str) -> Callable[[bytes], bool]:
    return lambda text: bool(etree.fromstring(text).xpath(path))


def _robot(content: str) -> str:
    return f'<robot><link name="l1">{content}</link></robot>'


_MASS = '<inertial><mass value="{}"/></inertial>'
_CONTINUOUS = (
    '<robot><joint name="j1" type="continuous"><parent link="upper"/>'
    '<child link="lower"/><axis/></joint></robot>'
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/robot", "<robot/>"),
        ("//collision//mesh", _robot("<collision><geometry><mesh/></geometry></collision>")),
        ("//joint[@type='continuous']/axis", _CONTINUOUS),
        # 2.345678, rounded to 2.35 and then to 2.4
        ("//mass[@value > 2.3 and @value < 3]", _robot(_MASS.format("2.4"))),
        ("//link[.//mass/@value > 3.9]", _robot(_MASS.format("4"))),
    ],
)
def test_only_what_the_failure_needs_is_left(path: str, expected: str) -> None:
    assert _compact(_reduced(_ARM, _has(path))) == expected.encode()


def _has_mesh_below_mass(text: bytes) -> bool:
    robot = etree.fromstring(text)
    parents = {
        end.get("link"): parent.get("link")
        for joint in robot.findall("joint")
        for end in joint.iter("child")
        for parent in joint.iter("parent")
    }
    massive = set(robot.xpath("link[.//mass/@value > 3.9]/@name"))
    name = next(iter(robot.xpath("link[.//mesh]/@name")), None)
    if name not in parents:
        return False
    while name in parents:
        name = parents.pop(name)
    return name in massive


def test_links_between_two_that_matter_are_removed() -> None:
    reduced = etree.fromstring(_reduced(_ARM, _has_mesh_below_mass))
    assert len(reduced.findall("link")) == 2
    (joint,) = reduced.findall("joint")
    assert joint.get("type") == "fixed"


@settings(deadline=None, max_examples=15)
@given(text=urdf_texts(), data=st.data())
def test_reductions_fail_and_do_not_depend_on_parallel_tests(
    text: str, data: st.DataObject
) -> None:
    document = document_text(read_document(text.encode()))
    tags = sorted({str(e.tag) for e in read_document(document).iter(etree.Element)})
    fails = _has(f"//{data.draw(st.sampled_from(tags))}")
    reduced = _reduced(document, fails)
    assert fails(reduced)
    assert len(reduced) <= len(document)
    assert _reduced(document, fails, parallel=3) == reduced
