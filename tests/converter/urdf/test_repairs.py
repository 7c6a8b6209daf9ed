"""Repairs of a robot as a whole, and the tree below one of its links."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.converter.urdf.conftest import Read, Refuse
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.robot.model import Continuous, Link, Range, Revolute
from urdf_usd.converter.urdf.parse import parse

_A, _B, _C = (f'<link name="{name}"/>' for name in "abc")


def _joint(name: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/>'
        f'<child link="{child}"/>{inside}</joint>'
    )


def test_identical_duplicates_are_merged(read: Read) -> None:
    """Layout and order of attributes are ignored; the first keeps its position."""
    again = _joint("j", "a", "b").replace(
        'name="j" type="continuous">', '\ntype="continuous" name="j">\n'
    )

    parsed = read(f'<robot name="r">{_A}{_B}{_A}\n{_joint("j", "a", "b")}{again}</robot>')

    assert [link.name for link in parsed.robot.links] == ["a", "b"]
    assert [joint.name for joint in parsed.robot.joints] == ["j"]
    assert [d.rule for d in parsed.diagnostics] == ["part-repeated", "part-repeated"]
    assert "line 1" in parsed.diagnostics[0].message
    assert "line 2" in parsed.diagnostics[1].message


@pytest.mark.parametrize(
    ("second", "rule"),
    [
        ('<link name="a"><visual/></link>', "name-duplicate"),
        ('<link name="a">text</link>', "name-duplicate"),
        ('<link name="a" x="1"/>', "name-duplicate"),
    ],
)
def test_different_elements_of_the_same_name_are_refused(
    refuse: Refuse, second: str, rule: str
) -> None:
    """Either could be intended."""
    found = refuse(f'<robot name="r">{_A}{second}</robot>')

    assert rule in {d.rule for d in found}


def test_joint_to_a_missing_child_is_dropped(read: Read) -> None:
    """With mimics that refer to it; the rest of the robot is kept."""
    follower = _joint("k", "a", "b", '<mimic joint="j"/>')

    parsed = read(f'<robot name="r">{_A}{_B}\n{_joint("j", "b", "z")}{follower}</robot>')

    assert [joint.name for joint in parsed.robot.joints] == ["k"]
    assert [d.rule for d in parsed.diagnostics] == [
        "joint-dangling",
        "mimic-target-missing",
    ]
    assert "child link 'z'" in parsed.diagnostics[0].message


def test_joint_of_a_missing_parent_makes_its_child_a_root(refuse: Refuse, read: Read) -> None:
    """An error if there is another root."""
    dangling = _joint("j", "z", "a")

    parsed = read(f'<robot name="r">{_A}{dangling}</robot>')
    found = refuse(f'<robot name="r">{_A}{_B}{dangling}</robot>')

    assert [d.rule for d in parsed.diagnostics] == ["joint-dangling"]
    assert {d.rule for d in found} == {"joint-dangling", "tree-roots"}


@pytest.mark.parametrize("kind", ["fixed", "continuous"])
def test_undefined_world_is_added_as_an_empty_link(read: Read, kind: str) -> None:
    """As in Drake; the diagnostic has the line of the joint."""
    tie = _joint("j", "world", "a").replace("continuous", kind)

    parsed = read(f'<robot name="r">{_A}\n{tie}</robot>')

    assert [link.name for link in parsed.robot.links] == ["world", "a"]
    assert parsed.robot.links[0] == Link("world")
    (found,) = parsed.diagnostics
    assert found.rule == "world-undefined"
    assert found.location is not None
    assert found.location.line == 2
    written = read(f'<robot name="r"><link name="world"/>{_A}{tie}</robot>')
    assert parsed.robot == written.robot


def test_undefined_world_is_not_added_if_the_robot_is_a_tree_without_it(
    read: Read,
) -> None:
    """A link has one parent, and a joint to a missing child is dropped."""
    tree = f'<robot name="r">{_A}{_B}{_joint("i", "a", "b")}'

    second = read(f"{tree}{_joint('j', 'world', 'b')}</robot>")
    nowhere = read(f"{tree}{_joint('j', 'world', 'z')}</robot>")
    loop = _joint("j", "world", "a") + _joint("k", "a", "world")
    child = read(f"{tree}{loop}</robot>")

    for parsed in (second, nowhere, child):
        assert [link.name for link in parsed.robot.links] == ["a", "b"]
        assert {d.rule for d in parsed.diagnostics} == {"joint-dangling"}


def test_several_roots_are_reported_with_tree_sizes(
    refuse: Refuse,
) -> None:
    """With the option that selects one."""
    (found,) = refuse(f'<robot name="r">{_A}{_B}{_C}{_joint("j", "b", "c")}</robot>')

    assert "'a' (1 link), 'b' (2 links)" in found.message
    assert "--root LINK" in str(found)


def test_only_the_first_of_many_roots_are_listed(refuse: Refuse) -> None:
    """In a file of parts without joints."""
    links = "".join(f'<link name="l{number}"/>' for number in range(30))

    (found,) = refuse(f'<robot name="r">{links}</robot>')

    assert "30 links" in found.message
    assert "'l9' (1 link), ...; a robot" in found.message


def test_tree_below_a_root_option_is_read_alone(tmp_path: Path) -> None:
    """Faults elsewhere are ignored, and mimics of joints elsewhere are dropped."""
    file = tmp_path / "robot.urdf"
    leader = _joint("i", "d", "e")
    follower = _joint("j", "b", "c", '<mimic joint="i"/>')
    loop = '<link name="d"/><link name="e"/>' + leader + _joint("k", "e", "d")
    text = f'<robot name="r">{_A}{_B}{_C}{loop}{_joint("h", "a", "b")}{follower}</robot>'
    file.write_text(text, encoding="utf-8")

    parsed = parse(file, root="b")

    assert [link.name for link in parsed.robot.links] == ["b", "c"]
    assert [joint.name for joint in parsed.robot.joints] == ["j"]
    assert [d.rule for d in parsed.diagnostics] == ["mimic-target-missing"]
    for root, rule in (("z", "root-unknown"), ("d", "tree-loop")):
        with pytest.raises(SourceError) as caught:
            parse(file, root=root)
        assert rule in {d.rule for d in caught.value.diagnostics}


def test_joint_types_are_case_insensitive(read_joint: Read) -> None:
    """With a warning."""
    parsed = read_joint('type=" Continuous">')

    assert parsed.robot.joints[0].kind == Continuous((1.0, 0.0, 0.0))
    assert [d.rule for d in parsed.diagnostics] == ["joint-type-spelling"]


@pytest.mark.parametrize(
    ("version", "bounds"),
    [
        ("1.1", Range(0.0, 2.0)),
        ("1.2", Range(float("-inf"), 2.0)),
    ],
)
def test_absent_bound_is_zero_before_version_1_2(read: Read, version: str, bounds: Range) -> None:
    """From 1.2 on it is required, so absent is None."""
    parsed = read(
        f'<robot name="r" version="{version}">{_A}{_B}'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0 1"/><limit upper="2"/></joint></robot>'
    )

    assert parsed.robot.joints[0].kind == Revolute((0.0, 0.0, 1.0), bounds)
    assert [d.rule for d in parsed.diagnostics] == ["joint-limit-incomplete"]


def test_limits_of_version_1_2_are_read(read: Read) -> None:
    """Infinity is no limit, and absent is None."""
    parsed = read(
        f'<robot name="r" version="1.2">{_A}{_B}'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<limit acceleration="3" jerk="inf"/></joint></robot>'
    )

    joint = parsed.robot.joints[0]
    assert (joint.acceleration, joint.deceleration) == (3.0, None)
    assert joint.jerk == float("inf")
    assert parsed.diagnostics == ()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("<box/>", "<box> has no size; <box> is left out"),
        ('<box size="1 2"/>', "holds 2 of 3 numbers: '1 2'; <box> is left out"),
        ("<mesh/>", "<mesh> has no filename; <mesh> is left out"),
        ('<sphere radius="nan"/>', "is not finite: 'nan'; <sphere> is left out"),
    ],
)
def test_shape_without_size_is_omitted_and_reported_once(
    read_link: Read, shape: str, message: str
) -> None:
    """The link is kept."""
    parsed = read_link(f"<visual><geometry>{shape}</geometry></visual>")

    assert parsed.robot.links[0].visuals == ()
    (found,) = parsed.diagnostics
    assert found.rule == "element-incomplete"
    assert found.message.endswith(message)


def test_mimic_without_a_leader_is_dropped(read_joint: Read) -> None:
    """The joint is independent."""
    parsed = read_joint('type="continuous"><mimic multiplier="2"/>')

    assert parsed.robot.joints[0].mimic is None
    assert [d.rule for d in parsed.diagnostics] == ["element-incomplete"]
