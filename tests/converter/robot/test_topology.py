"""Order of trees, groups of fixed links, and faults of trees."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.converter.strategies import robots
from urdf_usd.converter.diagnostics import Location, SourceError
from urdf_usd.converter.robot.model import Continuous, Fixed, Joint, Link, Robot
from urdf_usd.converter.robot.topology import build_tree, problems, rigid_groups

_X = Continuous((1.0, 0.0, 0.0))


def _robot(links: str, *joints: tuple[str, str, str], fixed: str = "") -> Robot:
    """Robot of one-letter links; a joint whose name is in ``fixed`` is fixed."""
    return Robot(
        "r",
        tuple(Link(name, location=Location("r", ord(name), 1)) for name in links),
        tuple(
            Joint(
                name,
                parent,
                child,
                Fixed() if name in fixed else _X,
                location=Location("r", index + 1, 2),
            )
            for index, (name, parent, child) in enumerate(joints)
        ),
    )


def test_tree_order_is_parents_before_children() -> None:
    # In any document order; siblings keep the order of their joints.
    robot = _robot("dcba", ("3", "c", "d"), ("2", "a", "c"), ("1", "a", "b"))

    tree = build_tree(robot)

    assert tree.root == "a"
    assert tree.links == ("a", "c", "d", "b")


def test_rigid_groups_start_with_the_link_nearest_the_root() -> None:
    robot = _robot("abcd", ("1", "a", "b"), ("2", "b", "c"), ("3", "c", "d"), fixed="13")

    assert rigid_groups(build_tree(robot)) == (("a", "b"), ("c", "d"))


@pytest.mark.parametrize(
    ("robot", "rules"),
    [
        (_robot(""), ["robot-empty"]),
        (_robot("ab"), ["tree-roots"]),
        (_robot("abc", ("1", "a", "c"), ("2", "b", "c")), ["tree-parents"]),
        (_robot("ab", ("1", "a", "b"), ("2", "b", "a")), ["tree-loop"]),
        (_robot("a", ("1", "a", "a")), ["tree-loop"]),
        (_robot("abc", ("1", "b", "c"), ("2", "c", "b")), ["tree-loop"]),
        (_robot("aab", ("1", "a", "b")), ["name-duplicate"]),
        (_robot("abc", ("1", "a", "b"), ("1", "b", "c")), ["name-duplicate"]),
        (_robot("a", ("1", "a", "z")), ["link-undefined"]),
        (_robot("a", ("1", "z", "a")), ["link-undefined"]),
        (_robot("a", ("1", "y", "z")), ["link-undefined", "link-undefined"]),
    ],
)
def test_each_fault_of_the_tree_is_one_diagnostic_with_location(
    robot: Robot, rules: list[str]
) -> None:
    found = problems(robot)

    assert [diagnostic.rule for diagnostic in found] == rules
    if rules != ["robot-empty"]:
        assert all(diagnostic.location for diagnostic in found)
    with pytest.raises(SourceError):
        build_tree(robot)


@given(robots(), st.randoms())
def test_tree_does_not_depend_on_document_order(robot: Robot, random: Random) -> None:
    links, joints = list(robot.links), list(robot.joints)
    random.shuffle(links)
    random.shuffle(joints)
    shuffled = Robot(robot.name, tuple(links), tuple(joints))

    first, second = build_tree(robot), build_tree(shuffled)

    assert first.root == second.root
    assert first.parent_joint == second.parent_joint
    assert {frozenset(group) for group in rigid_groups(first)} == {
        frozenset(group) for group in rigid_groups(second)
    }
    for tree in (first, second):
        place = {name: index for index, name in enumerate(tree.links)}
        assert all(place[j.parent] < place[j.child] for j in robot.joints)
