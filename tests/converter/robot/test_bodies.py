"""Assignment of links to bodies, and mass properties of bodies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

from tests.converter.strategies import robots
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot import spatial
from urdf_usd.converter.robot.bodies import DEFAULTED_MASS, BodyAssignment, assign_bodies
from urdf_usd.converter.robot.dynamics import rest_transforms
from urdf_usd.converter.robot.topology import build_tree

_HEAVY = m.Inertial(
    2.0,
    m.Pose((0.1, 0.2, 0.3), spatial.quat_wxyz_from_rpy((0.4, 0.5, 0.6))),
    (0.10, 0.01, 0.02, 0.12, 0.03, 0.15),
)
_MOVES = m.Continuous((0.0, 0.6, 0.8))
_STEP = m.Pose((0.3, -0.1, 0.2), spatial.quat_wxyz_from_rpy((0.1, 0.7, -0.3)))


def _robot(
    masses: Mapping[str, m.Inertial | None], *joints: tuple[str, str, m.JointKind]
) -> m.Robot:
    return m.Robot(
        "r",
        tuple(m.Link(name, inertial) for name, inertial in masses.items()),
        tuple(m.Joint(p + c, p, c, kind, _STEP) for p, c, kind in joints),
    )


def _bodies(robot: m.Robot, base: m.BaseOption = m.BaseOption.AUTO) -> BodyAssignment:
    return assign_bodies(build_tree(robot), base)


_JOINTS: dict[str, m.JointKind] = {"-": m.Fixed(), "~": _MOVES, "|": m.Floating()}


@pytest.mark.parametrize(
    ("heavy", "joints", "option", "base", "bodies", "rules"),
    [
        # Massless links are frames of the body that they are fixed to.
        ("a", "a-b b-c", "auto", m.Base.FLOATING, "a:abc", {"link-massless"}),
        ("ab", "a-b", "auto", m.Base.FLOATING, "a:a b:b", set()),
        # A root called world without mass is the world: W.
        ("a", "W-a", "auto", m.Base.FIXED, ":W a:a", set()),
        ("a", "W-a", "floating", m.Base.FLOATING, "W:Wa", {"link-lumped"}),
        ("a", "W|a", "auto", m.Base.FLOATING, ":W a:a", set()),
        ("a", "W|a", "fixed", m.Base.FLOATING, ":W a:a", {"base-floats"}),
        ("a", "W~a", "auto", m.Base.FIXED, "W:W a:a", {"base-regularised"}),
        ("Wa", "W-a", "auto", m.Base.FLOATING, "W:W a:a", set()),
        ("ra", "r~a", "auto", m.Base.FLOATING, "r:r a:a", set()),
        ("ra", "r~a", "fixed", m.Base.FIXED, "r:r a:a", set()),
        ("a", "r~a", "fixed", m.Base.FIXED, "r:r a:a", {"base-regularised"}),
        ("a", "r-a", "fixed", m.Base.FIXED, ":r a:a", set()),
        ("a", "r~a", "auto", m.Base.FLOATING, "r:r a:a", {"link-regularised"}),
        ("", "r-a", "auto", m.Base.STATIC, ":ra", {"robot-static"}),
        ("", "r-a", "fixed", m.Base.STATIC, ":ra", {"link-massless"}),
        ("", "r-a", "floating", m.Base.FLOATING, "r:ra", {"link-massless", "link-regularised"}),
        # Several links on the base: it is one body with all that is fixed to it.
        (
            *("bc", "r-m r~b m~c", "fixed", m.Base.FIXED, "r:rm b:b c:c"),
            {"link-massless", "base-regularised"},
        ),
        ("mbc", "r-m r~b m~c", "fixed", m.Base.FIXED, "r:rm b:b c:c", {"link-lumped"}),
        (
            *("b", "W-r r-m m~b", "fixed", m.Base.FIXED, ":W r:rm b:b"),
            {"link-massless", "base-regularised"},
        ),
        # A massless root link, as KDL requires it.
        ("ib", "W-r r-i r~b", "fixed", m.Base.FIXED, ":W r:ri b:b", {"link-lumped"}),
        ("bc", "W-r r~b W|c", "fixed", m.Base.FIXED, ":W r:r b:b c:c", {"base-regularised"}),
    ],
)
def test_links_are_assigned_to_bodies(
    heavy: str, joints: str, option: str, base: m.Base, bodies: str, rules: set[str]
) -> None:
    names = dict.fromkeys(joints.translate(str.maketrans("", "", "-~| ")))
    full = {name: "world" if name == "W" else name for name in names}
    masses = {full[name]: _HEAVY if name in heavy else None for name in names}
    robot = _robot(masses, *((full[j[0]], full[j[2]], _JOINTS[j[1]]) for j in joints.split()))

    assigned = _bodies(robot, m.BaseOption(option))

    parted = [text.partition(":") for text in bodies.split()]
    expected = {full[name]: full.get(body) for body, _, members in parted for name in members}
    assert assigned.base is base
    assert assigned.body_of == expected
    assert {d.rule for d in assigned.diagnostics} == rules
    assert {body.link for body in assigned.bodies} == {*expected.values()} - {None}


@pytest.mark.parametrize("head_moves", [False, True])
def test_massless_first_link_gets_the_mass_of_its_group(
    head_moves: bool,
) -> None:
    masses: dict[str, m.Inertial | None] = {"h": None, "b": _HEAVY, "c": _HEAVY}
    joints = [("h", "b", m.Fixed()), ("b", "c", m.Fixed())]
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
    np.testing.assert_allclose(spatial.inertia_tensor(body.inertia), tensor, atol=1e-14)


def _point_masses(inertial: m.Inertial, rest: np.ndarray) -> np.ndarray:
    """Return six points (m, x, y, z) in the root frame with given mass properties."""
    moments, axes = np.linalg.eigh(spatial.inertia_tensor(inertial.inertia))
    # Second moments of mass along the axes from the principal moments.
    seconds = moments.sum() / 2 - moments
    arms = np.sqrt(seconds / (2 * inertial.mass / 6))[:, None] * axes.T
    rotation = spatial.rotation_from_quat_wxyz(inertial.origin.quat_wxyz)
    local = inertial.origin.position + np.concatenate([arms, -arms]) @ rotation.T
    world = rest[:3, 3] + local @ rest[:3, :3].T
    return np.column_stack([np.full(6, inertial.mass / 6), world])


_FIXED_CHAIN = (("a", "b"), ("b", "c"), ("c", "d"))


@pytest.mark.parametrize(
    ("kept", "light", "bodies"),
    [
        ("", "", {"a": "abcd"}),
        ("c", "", {"a": "ab", "c": "cd"}),
        ("bd", "", {"a": "a", "b": "bc", "d": "d"}),
        # A massless link on a kept joint is the frame of a body with the mass below it.
        ("c", "c", {"a": "ab", "c": "cd"}),
        # Without mass below it, it is a frame despite its joint.
        ("d", "d", {"a": "abcd"}),
        ("", "a", {"a": "abcd"}),
    ],
)
def test_merging_stops_at_joints_with_dont_collapse(
    kept: str, light: str, bodies: dict[str, str]
) -> None:
    robot = m.Robot(
        "r",
        tuple(m.Link(name, None if name in light else _HEAVY) for name in "abcd"),
        tuple(
            m.Joint(p + c, p, c, m.Fixed(), _STEP, dont_collapse=c in kept) for p, c in _FIXED_CHAIN
        ),
    )

    body_assignment = assign_bodies(build_tree(robot), merge_fixed=True)

    expected = {name: head for head, members in bodies.items() for name in members}
    assert body_assignment.body_of == expected
    assert sum(body.mass for body in body_assignment.bodies) == pytest.approx(
        2.0 * (4 - len(light))
    )


def test_merging_keeps_the_body_of_a_fixed_base() -> None:
    robot = _robot(
        {"world": None, "a": None, "b": _HEAVY},
        ("world", "a", m.Fixed()),
        ("a", "b", m.Fixed()),
    )

    body_assignment = assign_bodies(build_tree(robot), merge_fixed=True)

    assert body_assignment.body_of == {"world": None, "a": "a", "b": "a"}
    assert body_assignment.base is m.Base.FIXED


@given(robots())
def test_merging_keeps_the_total_mass_and_splits_no_body(
    robot: m.Robot,
) -> None:
    tree = build_tree(robot)
    apart, merged = assign_bodies(tree), assign_bodies(tree, merge_fixed=True)

    assert len(merged.bodies) <= len(apart.bodies)
    assert sum(b.mass for b in merged.bodies) == pytest.approx(sum(b.mass for b in apart.bodies))
    for one in tree.links:
        for other in tree.links:
            if apart.body_of[one] is not None is not apart.body_of[other] and (
                apart.body_of[one] == apart.body_of[other]
            ):
                assert merged.body_of[one] == merged.body_of[other]


def test_moving_links_without_mass_share_a_small_mass() -> None:
    robot = _robot({"a": _HEAVY, "b": None, "c": None}, ("a", "b", _MOVES), ("b", "c", _MOVES))

    body_assignment = _bodies(robot)

    defaulted = [body for body in body_assignment.bodies if body.link != "a"]
    assert sum(body.mass for body in defaulted) == pytest.approx(2.0 * DEFAULTED_MASS)
    assert all(body.inertia[0] > 0 for body in defaulted)
    rules = [d.rule for d in body_assignment.diagnostics]
    assert rules == ["link-regularised", "link-regularised"]


def test_mass_below_float32_counts_as_zero() -> None:
    # USD would store zero, which means that colliders determine the mass.
    dust = m.Inertial(1e-60, m.Pose(), (0.0,) * 6)
    robot = _robot({"a": _HEAVY, "b": dust}, ("a", "b", m.Fixed()))

    assert _bodies(robot).body_of["b"] == "a"


@pytest.mark.parametrize(
    "inertia",
    [(0.0,) * 6, (0.0, 0.0, 2.4e-35, 0.0, 0.0, 0.0), (1e-18, 0, 0, 1e-18, 0, -1e-18)],
)
def test_zero_inertia_of_a_link_with_mass_is_replaced_and_reported(
    inertia: tuple[float, float, float, float, float, float],
) -> None:
    point = m.Inertial(3.0, m.Pose((0.5, 0.0, 0.0)), inertia)

    body_assignment = _bodies(_robot({"a": point}))

    assert [d.rule for d in body_assignment.diagnostics] == ["inertia-regularised"]
    received = np.linalg.eigvalsh(spatial.inertia_tensor(body_assignment.bodies[0].inertia))
    assert 0 < received[0] <= received[-1] < 1e-5 * 3.0 * 0.5**2


@pytest.mark.parametrize("heavy", [2.0, 1e-5])
def test_tiny_point_mass_gets_an_inertia_that_newton_keeps(heavy: float) -> None:
    # Newton replaces less than 1e-10 kg m^2; at most 5e-7 of the robot's m L^2.
    links = {
        "a": m.Inertial(heavy, m.Pose(), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01)),
        "b": m.Inertial(1e-9, m.Pose(), (0.0,) * 6),
    }
    harmless = 5e-7 * (heavy + 1e-9) * float(np.dot(_STEP.position, _STEP.position))

    bodies = _bodies(_robot(links, ("a", "b", m.Fixed()))).bodies

    received = spatial.inertia_tensor(bodies[1].inertia)
    np.testing.assert_allclose(received, min(2e-10, harmless) * np.eye(3), rtol=1e-9)


def test_inertia_of_a_very_small_link_is_kept() -> None:
    # A solder ball of 0.3 mm at 1 m from the root.
    mass = 8500 * 4 / 3 * np.pi * 0.15e-3**3
    moment = 0.4 * mass * 0.15e-3**2
    speck = m.Inertial(mass, m.Pose((1.0, 0.0, 0.0)), (moment, 0, 0, moment, 0, moment))

    body_assignment = _bodies(_robot({"a": speck}))

    assert not body_assignment.diagnostics
    assert body_assignment.bodies[0].inertia == speck.inertia


@pytest.mark.parametrize("moment", [0.0, -3e-16, 2e-15])
def test_thin_rod_gets_inertia_about_its_axis(moment: float) -> None:
    # Engines divide by it; Newton raises less than a millionth.
    turn = Rotation.from_euler("xyz", (0.3, -0.7, 1.1)).as_matrix()
    tensor = turn @ np.diag([moment, 0.5, 0.5]) @ turn.T
    a, b, c, d, e, f = tensor[np.triu_indices(3)]

    body_assignment = _bodies(_robot({"a": m.Inertial(3.0, m.Pose(), (a, b, c, d, e, f))}))

    assert [d.rule for d in body_assignment.diagnostics] == ["inertia-regularised"]
    received = turn.T @ spatial.inertia_tensor(body_assignment.bodies[0].inertia) @ turn
    np.testing.assert_allclose(received, np.diag([1e-6, 0.5, 0.5]), atol=1e-12)


def test_fixed_base_without_mass_gets_a_small_mass() -> None:
    masses = {"base": None, "mount": None, "arm": _HEAVY, "hand": None}
    robot = _robot(
        masses,
        ("base", "mount", m.Fixed()),
        ("mount", "arm", _MOVES),
        ("arm", "hand", _MOVES),
    )

    body_assignment = _bodies(robot, m.BaseOption.FIXED)

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


@given(robots())
def test_fixed_base_is_the_only_body_connected_to_the_world(robot: m.Robot) -> None:
    tree = build_tree(robot)

    body_assignment = _bodies(robot, m.BaseOption.FIXED)

    at_world = [
        joint
        for joint in robot.joints
        if body_assignment.body_of[joint.parent] is None
        and body_assignment.body_of[joint.child] is not None
        and not isinstance(joint.kind, m.Floating)
    ]
    if body_assignment.body_of[tree.root] is None:
        assert all(isinstance(joint.kind, m.Fixed) for joint in at_world)
        assert len(at_world) <= 1
    else:
        assert not at_world


@given(robots())
def test_every_body_has_mass_and_the_total_is_kept(robot: m.Robot) -> None:
    for option in m.BaseOption:
        body_assignment = _bodies(robot, option)

        assert all(np.float32(body.mass) > 0 for body in body_assignment.bodies)
        assert all(np.float32(body.inertia[0]) > 0 for body in body_assignment.bodies)
        total = sum(link.mass for link in robot.links)
        written = sum(body.mass for body in body_assignment.bodies)
        assert written == pytest.approx(total, rel=1e-6, abs=1e-6)
        carriers = {body.link for body in body_assignment.bodies}
        assert set(body_assignment.body_of.values()) <= {*carriers, None}
