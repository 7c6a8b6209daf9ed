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
from urdf_usd.converter.robot.bodies import BodyAssignment, assign_bodies
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
