"""Massless links, welded groups and bases become the right bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

from tests.converter.strategies import robots
from urdf_usd.converter.diagnostics import AuthoringError
from urdf_usd.converter.robot.bodies import (
    INVENTED_MASS,
    Base,
    BaseOption,
    BodyAssignment,
    MasslessOption,
    assign_bodies,
)
from urdf_usd.converter.robot.kinematics import rest_transforms
from urdf_usd.converter.robot.model import (
    Box,
    Collision,
    Continuous,
    Fixed,
    Floating,
    Inertial,
    Joint,
    JointKind,
    Link,
    Pose,
    Robot,
)
from urdf_usd.converter.robot.rigid import quat_wxyz_from_rpy
from urdf_usd.converter.robot.spatial import inertia_tensor, rotation_from_quat_wxyz
from urdf_usd.converter.robot.topology import build_tree

_HEAVY = Inertial(
    2.0,
    Pose((0.1, 0.2, 0.3), quat_wxyz_from_rpy((0.4, 0.5, 0.6))),
    (0.10, 0.01, 0.02, 0.12, 0.03, 0.15),
)
_MOVES = Continuous((0.0, 0.6, 0.8))
_STEP = Pose((0.3, -0.1, 0.2), quat_wxyz_from_rpy((0.1, 0.7, -0.3)))


def _robot(
    masses: dict[str, Inertial | None], *joints: tuple[str, str, JointKind]
) -> Robot:
    return Robot(
        "r",
        tuple(Link(name, inertial) for name, inertial in masses.items()),
        tuple(Joint(p + c, p, c, kind, _STEP) for p, c, kind in joints),
    )


def _bodies(robot: Robot, base: BaseOption = BaseOption.AUTO) -> BodyAssignment:
    return assign_bodies(build_tree(robot), base)


def test_a_massless_link_behind_a_fixed_joint_is_a_frame_of_its_parents_body() -> None:
    """Frames on frames belong to the same body."""
    robot = _robot(
        {"a": _HEAVY, "b": None, "c": None}, ("a", "b", Fixed()), ("b", "c", Fixed())
    )

    body_assignment = _bodies(robot)

    assert body_assignment.body_of == {"a": "a", "b": "a", "c": "a"}
    assert body_assignment.bodies[0].mass == 2.0
    assert {d.rule for d in body_assignment.diagnostics} == {"link-massless"}


def test_a_welded_massive_link_stays_a_body_of_its_own() -> None:
    """Per-link masses survive wherever USD can hold them."""
    robot = _robot({"a": _HEAVY, "b": _HEAVY}, ("a", "b", Fixed()))

    assert _bodies(robot).body_of == {"a": "a", "b": "b"}


@pytest.mark.parametrize("head_moves", [False, True])
def test_a_massless_head_takes_the_mass_of_its_welded_group(
    head_moves: bool,
) -> None:
    """The composite is worked out from point sums, not from the code under test."""
    masses: dict[str, Inertial | None] = {"h": None, "b": _HEAVY, "c": _HEAVY}
    joints = [("h", "b", Fixed()), ("b", "c", Fixed())]
    robot = _robot(masses, *joints)
    if head_moves:
        robot = _robot({"r": _HEAVY, **masses}, ("r", "h", _MOVES), *joints)

    body_assignment = _bodies(robot)

    body = body_assignment.bodies[-1]
    assert body.link == "h"
    assert body_assignment.lumped == {"b", "c"}
    rest = rest_transforms(build_tree(_robot(masses, *joints)))
    points = np.concatenate([_point_masses(_HEAVY, rest[name]) for name in "bc"])
    weight = points[:, 0].sum()
    center = points[:, 0] @ points[:, 1:] / weight
    arms = points[:, 1:] - center
    tensor = np.einsum("k,ki,ki->", points[:, 0], arms, arms) * np.eye(3)
    tensor -= np.einsum("k,ki,kj->ij", points[:, 0], arms, arms)
    assert body.mass == pytest.approx(weight)
    np.testing.assert_allclose(body.center, center, atol=1e-14)
    np.testing.assert_allclose(inertia_tensor(body.inertia), tensor, atol=1e-14)


def _point_masses(inertial: Inertial, rest: np.ndarray) -> np.ndarray:
    """Six points (m, x, y, z) in the root frame with the mass properties given."""
    moments, axes = np.linalg.eigh(inertia_tensor(inertial.inertia))
    # Second moments of mass along the axes from the principal moments.
    seconds = moments.sum() / 2 - moments
    arms = np.sqrt(seconds / (2 * inertial.mass / 6))[:, None] * axes.T
    rotation = rotation_from_quat_wxyz(inertial.origin.quat_wxyz)
    local = inertial.origin.position + np.concatenate([arms, -arms]) @ rotation.T
    world = rest[:3, 3] + local @ rest[:3, :3].T
    return np.column_stack([np.full(6, inertial.mass / 6), world])


_WELDED = (("a", "b"), ("b", "c"), ("c", "d"))


@pytest.mark.parametrize(
    ("kept", "light", "bodies"),
    [
        ("", "", {"a": "abcd"}),
        ("c", "", {"a": "ab", "c": "cd"}),
        ("bd", "", {"a": "a", "b": "bc", "d": "d"}),
        # A massless link at a joint that stays heads the mass that merges behind it.
        ("c", "c", {"a": "ab", "c": "cd"}),
        # Without any mass behind it, it is a frame whatever its joint says.
        ("d", "d", {"a": "abcd"}),
        ("", "a", {"a": "abcd"}),
    ],
)
def test_merging_makes_one_body_of_what_is_welded_up_to_joints_that_stay(
    kept: str, light: str, bodies: dict[str, str]
) -> None:
    """``kept`` are children of joints that say dont_collapse."""
    robot = Robot(
        "r",
        tuple(Link(name, None if name in light else _HEAVY) for name in "abcd"),
        tuple(
            Joint(p + c, p, c, Fixed(), _STEP, dont_collapse=c in kept)
            for p, c in _WELDED
        ),
    )

    body_assignment = assign_bodies(build_tree(robot), merge_fixed=True)

    expected = {name: head for head, members in bodies.items() for name in members}
    assert body_assignment.body_of == expected
    assert sum(body.mass for body in body_assignment.bodies) == pytest.approx(
        2.0 * (4 - len(light))
    )


def test_merging_keeps_a_body_at_the_joint_to_the_world() -> None:
    """The base of an arm stays a body: it is held, not dissolved."""
    robot = _robot(
        {"world": None, "a": None, "b": _HEAVY},
        ("world", "a", Fixed()),
        ("a", "b", Fixed()),
    )

    body_assignment = assign_bodies(build_tree(robot), merge_fixed=True)

    assert body_assignment.body_of == {"world": None, "a": "a", "b": "a"}
    assert body_assignment.base is Base.FIXED


@given(robots())
def test_merging_keeps_the_mass_and_never_splits_what_was_one_body(
    robot: Robot,
) -> None:
    """Bodies after merging are unions of bodies before."""
    tree = build_tree(robot)
    apart, merged = assign_bodies(tree), assign_bodies(tree, merge_fixed=True)

    assert len(merged.bodies) <= len(apart.bodies)
    assert sum(b.mass for b in merged.bodies) == pytest.approx(
        sum(b.mass for b in apart.bodies)
    )
    for one in tree.links:
        for other in tree.links:
            if apart.body_of[one] is not None is not apart.body_of[other] and (
                apart.body_of[one] == apart.body_of[other]
            ):
                assert merged.body_of[one] == merged.body_of[other]


def test_a_moving_group_without_mass_receives_a_harmless_one() -> None:
    """Less than a millionth of the robot, whatever the number of such links."""
    robot = _robot(
        {"a": _HEAVY, "b": None, "c": None}, ("a", "b", _MOVES), ("b", "c", _MOVES)
    )

    body_assignment = _bodies(robot)

    invented = [body for body in body_assignment.bodies if body.link != "a"]
    assert sum(body.mass for body in invented) == pytest.approx(2.0 * INVENTED_MASS)
    assert all(body.inertia[0] > 0 for body in invented)
    rules = [d.rule for d in body_assignment.diagnostics]
    assert rules == ["link-regularised", "link-regularised"]


def test_a_moving_group_without_mass_can_be_made_an_error() -> None:
    """The error names the link."""
    robot = _robot({"a": _HEAVY, "b": None}, ("a", "b", _MOVES))

    with pytest.raises(AuthoringError, match="'b' moves and has no mass"):
        assign_bodies(build_tree(robot), massless=MasslessOption.ERROR)


def test_a_mass_too_small_for_float32_counts_as_none() -> None:
    """USD would store zero, which means: compute a mass from the colliders."""
    dust = Inertial(1e-60, Pose(), (0.0,) * 6)
    robot = _robot({"a": _HEAVY, "b": dust}, ("a", "b", Fixed()))

    assert _bodies(robot).body_of["b"] == "a"


@pytest.mark.parametrize(
    "inertia",
    [(0.0,) * 6, (0.0, 0.0, 2.4e-35, 0.0, 0.0, 0.0), (1e-18, 0, 0, 1e-18, 0, -1e-18)],
)
def test_zero_inertia_of_a_massive_link_is_replaced_and_reported(
    inertia: tuple[float, float, float, float, float, float],
) -> None:
    """Zero would mean: compute an inertia from the colliders; rounding means zero."""
    point = Inertial(3.0, Pose((0.5, 0.0, 0.0)), inertia)

    body_assignment = _bodies(_robot({"a": point}))

    assert [d.rule for d in body_assignment.diagnostics] == ["inertia-regularised"]
    received = np.linalg.eigvalsh(inertia_tensor(body_assignment.bodies[0].inertia))
    assert 0 < received[0] <= received[-1] < 1e-5 * 3.0 * 0.5**2


def test_the_inertia_of_a_speck_is_kept() -> None:
    """A solder ball of 0.3 mm on an arm of a metre has an inertia of its own."""
    mass = 8500 * 4 / 3 * np.pi * 0.15e-3**3
    moment = 0.4 * mass * 0.15e-3**2
    speck = Inertial(mass, Pose((1.0, 0.0, 0.0)), (moment, 0, 0, moment, 0, moment))

    body_assignment = _bodies(_robot({"a": speck}))

    assert not body_assignment.diagnostics
    assert body_assignment.bodies[0].inertia == speck.inertia


@pytest.mark.parametrize("moment", [0.0, -3e-16, 2e-15])
def test_a_thin_rod_receives_inertia_about_its_own_axis(moment: float) -> None:
    """Engines divide by it, and Newton raises less than a millionth."""
    turn = Rotation.from_euler("xyz", (0.3, -0.7, 1.1)).as_matrix()
    tensor = turn @ np.diag([moment, 0.5, 0.5]) @ turn.T
    a, b, c, d, e, f = tensor[np.triu_indices(3)]

    body_assignment = _bodies(_robot({"a": Inertial(3.0, Pose(), (a, b, c, d, e, f))}))

    assert [d.rule for d in body_assignment.diagnostics] == ["inertia-regularised"]
    received = turn.T @ inertia_tensor(body_assignment.bodies[0].inertia) @ turn
    np.testing.assert_allclose(received, np.diag([1e-6, 0.5, 0.5]), atol=1e-12)


@pytest.mark.parametrize(
    "inertia", [(1.0, 0, 0, 1.0, 0, 3.0), (-1.0, 0, 0, 1.0, 0, 1.0)]
)
def test_an_impossible_inertia_is_kept_and_reported(
    inertia: tuple[float, float, float, float, float, float],
) -> None:
    """A + B < C, or a negative moment."""
    body_assignment = _bodies(_robot({"a": Inertial(1.0, Pose(), inertia)}))

    assert body_assignment.bodies[0].inertia == inertia
    assert [d.rule for d in body_assignment.diagnostics] == ["inertia-implausible"]


@pytest.mark.parametrize(
    ("masses", "kind", "option", "base", "owner"),
    [
        ({"world": None, "a": _HEAVY}, Fixed(), "auto", Base.FIXED, None),
        ({"world": None, "a": _HEAVY}, Fixed(), "floating", Base.FLOATING, "world"),
        ({"world": None, "a": _HEAVY}, Floating(), "auto", Base.FLOATING, None),
        ({"world": None, "a": _HEAVY}, _MOVES, "auto", Base.FIXED, "world"),
        ({"world": _HEAVY, "a": _HEAVY}, Fixed(), "auto", Base.FLOATING, "world"),
        ({"base": _HEAVY, "a": _HEAVY}, _MOVES, "auto", Base.FLOATING, "base"),
        ({"base": _HEAVY, "a": _HEAVY}, _MOVES, "fixed", Base.FIXED, "base"),
        ({"base": None, "a": _HEAVY}, _MOVES, "fixed", Base.FIXED, "base"),
        ({"base": None, "a": _HEAVY}, Fixed(), "fixed", Base.FIXED, None),
        ({"base": None, "a": _HEAVY}, _MOVES, "auto", Base.FLOATING, "base"),
        ({"base": None, "a": None}, Fixed(), "auto", Base.STATIC, None),
        ({"base": None, "a": None}, Fixed(), "fixed", Base.STATIC, None),
        ({"base": None, "a": None}, Fixed(), "floating", Base.FLOATING, "base"),
    ],
)
def test_the_base_follows_the_option_and_the_world_link(
    masses: dict[str, Inertial | None],
    kind: JointKind,
    option: str,
    base: Base,
    owner: str | None,
) -> None:
    """``owner`` is the body that carries the root link."""
    root, child = masses

    body_assignment = _bodies(_robot(masses, (root, child, kind)), BaseOption(option))

    assert body_assignment.base is base
    assert body_assignment.body_of[root] == owner


def test_fixing_a_world_in_which_the_robot_floats_is_said_to_fix_nothing() -> None:
    """Whoever asks for a fixed base would not expect a free one."""
    robot = _robot({"world": None, "drone": _HEAVY}, ("world", "drone", Floating()))

    fixed, left_open = (
        {d.rule for d in _bodies(robot, option).diagnostics}
        for option in (BaseOption.FIXED, BaseOption.AUTO)
    )

    assert "base-floats" in fixed
    assert "base-floats" not in left_open


def test_a_fixed_base_with_two_arms_stays_one_articulation() -> None:
    """A massless base that holds several branches is a body, held by the world."""
    masses = {"base": None, "mount": None, "left": _HEAVY, "right": _HEAVY}
    arms = [("base", "left", _MOVES), ("mount", "right", _MOVES)]
    robot = _robot(masses, ("base", "mount", Fixed()), *arms)

    body_assignment = _bodies(robot, BaseOption.FIXED)

    assert body_assignment.base is Base.FIXED
    assert body_assignment.body_of["base"] == body_assignment.body_of["mount"] == "base"
    assert [d.rule for d in body_assignment.diagnostics].count("base-regularised") == 1


def test_a_fixed_base_with_two_arms_takes_the_mass_that_is_welded_to_it() -> None:
    """Nothing is invented beside a mass that is there."""
    masses = {"base": None, "mount": _HEAVY, "left": _HEAVY, "right": _HEAVY}
    arms = [("base", "left", _MOVES), ("mount", "right", _MOVES)]
    robot = _robot(masses, ("base", "mount", Fixed()), *arms)

    body_assignment = _bodies(robot, BaseOption.FIXED)

    assert body_assignment.bodies[0].link == "base"
    assert body_assignment.bodies[0].mass == 2.0
    assert body_assignment.lumped == {"mount"}


def test_a_fixed_base_without_mass_is_a_body_of_harmless_mass() -> None:
    """No joint that moves ends at the world; less than a millionth is added."""
    masses = {"base": None, "mount": None, "arm": _HEAVY, "hand": None}
    robot = _robot(
        masses,
        ("base", "mount", Fixed()),
        ("mount", "arm", _MOVES),
        ("arm", "hand", _MOVES),
    )

    body_assignment = _bodies(robot, BaseOption.FIXED)

    assert body_assignment.body_of == {
        "base": "base",
        "mount": "base",
        "arm": "arm",
        "hand": "hand",
    }
    (base,) = (body for body in body_assignment.bodies if body.link == "base")
    assert 0 < sum(body.mass for body in body_assignment.bodies) - _HEAVY.mass < 2e-6
    assert 0 < base.inertia[0] <= base.mass * 0.1**2
    rules = {d.rule: d.message for d in body_assignment.diagnostics}
    assert "'base' is the fixed base and has no mass" in rules["base-regularised"]
    assert "'hand' moves and has no mass" in rules["link-regularised"]


def test_the_link_that_the_world_holds_by_a_weld_is_the_base() -> None:
    """The world itself stays a frame, and the joint of the URDF holds the base."""
    masses = {"world": None, "base": None, "mount": None, "arm": _HEAVY}
    robot = _robot(
        masses,
        ("world", "base", Fixed()),
        ("base", "mount", Fixed()),
        ("mount", "arm", _MOVES),
    )

    body_assignment = _bodies(robot)

    assert body_assignment.base is Base.FIXED
    assert body_assignment.body_of == {
        "world": None,
        "base": "base",
        "mount": "base",
        "arm": "arm",
    }


def test_a_base_takes_the_mass_of_what_is_welded_to_it_below_the_world() -> None:
    """KDL's habit: a frame without mass, and its inertia in a link of its own."""
    masses = {"world": None, "base": None, "inertia": _HEAVY, "arm": _HEAVY}
    robot = _robot(
        masses,
        ("world", "base", Fixed()),
        ("base", "inertia", Fixed()),
        ("base", "arm", _MOVES),
    )

    body_assignment = _bodies(robot)

    assert body_assignment.body_of["world"] is None
    assert body_assignment.body_of["inertia"] == "base"
    assert [body.mass for body in body_assignment.bodies] == [2.0, 2.0]


def test_what_floats_in_the_world_leaves_the_base_below_it() -> None:
    """A ball that lies beside an arm hangs on the world, not on the arm's base."""
    masses = {"world": None, "base": None, "arm": _HEAVY, "ball": _HEAVY}
    robot = _robot(
        masses,
        ("world", "base", Fixed()),
        ("base", "arm", _MOVES),
        ("world", "ball", Floating()),
    )

    body_assignment = _bodies(robot)

    assert body_assignment.body_of == {
        "world": None,
        "base": "base",
        "arm": "arm",
        "ball": "ball",
    }


def test_a_fixed_base_without_mass_is_no_error() -> None:
    """Only links that move are: what the world holds needs no mass to move."""
    robot = _robot({"base": None, "a": _HEAVY}, ("base", "a", _MOVES))

    body_assignment = assign_bodies(
        build_tree(robot), BaseOption.FIXED, MasslessOption.ERROR
    )

    assert [body.link for body in body_assignment.bodies] == ["base", "a"]
    with pytest.raises(AuthoringError, match="'base' moves"):
        assign_bodies(build_tree(robot), BaseOption.FLOATING, MasslessOption.ERROR)


@given(robots())
def test_a_fixed_base_is_one_body_that_the_world_welds(robot: Robot) -> None:
    """Whatever the masses: no other body of the robot ends at the world."""
    tree = build_tree(robot)

    body_assignment = _bodies(robot, BaseOption.FIXED)

    at_world = [
        joint
        for joint in robot.joints
        if body_assignment.body_of[joint.parent] is None
        and body_assignment.body_of[joint.child] is not None
        and not isinstance(joint.kind, Floating)
    ]
    if body_assignment.body_of[tree.root] is None:
        assert all(isinstance(joint.kind, Fixed) for joint in at_world)
        assert len(at_world) <= 1
    else:
        assert not at_world


def test_a_world_link_with_a_shape_is_a_part_of_the_robot() -> None:
    """Only a bare link named world stands for the world."""
    table = Link("world", None, (), (Collision(None, Pose(), Box((1.0, 1.0, 0.1))),))
    robot = Robot("r", (table, Link("a", _HEAVY)), (Joint("j", "world", "a", Fixed()),))

    assert _bodies(robot).base is Base.FLOATING


@given(robots())
def test_every_body_has_mass_and_the_total_is_kept(robot: Robot) -> None:
    """No body is left for a consumer to invent a mass for."""
    for option in BaseOption:
        body_assignment = _bodies(robot, option)

        assert all(np.float32(body.mass) > 0 for body in body_assignment.bodies)
        assert all(np.float32(body.inertia[0]) > 0 for body in body_assignment.bodies)
        total = sum(link.mass for link in robot.links)
        written = sum(body.mass for body in body_assignment.bodies)
        assert written == pytest.approx(total, rel=1e-6, abs=1e-6)
        carriers = {body.link for body in body_assignment.bodies}
        assert set(body_assignment.body_of.values()) <= {*carriers, None}
