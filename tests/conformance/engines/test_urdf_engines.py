"""What engines read in a URDF, where they depart from it, and what they state of that.

Rows name a file in tests/data/deviations.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conformance.engines import oblique_arm
from tests.conformance.engines.deviation_files import (
    AXIS,
    FLOATING,
    ORIGIN,
    QUAT_MATRIX,
    SHIFT,
    TURN,
    hinge,
    last_pose,
    observe,
    text,
)
from tests.conformance.engines.oblique_arm import URDF, configurations, request, rotation_about
from tests.conformance.engines.optional_engines import ENGINES, installed
from urdf_usd.conformance.engines import protocol, registry
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.observation import robot as obs

_REQUIRED = ("mujoco", "pybullet")
_EXACT = ("reference", *_REQUIRED)
_NAMES = [*_EXACT, *(name for name, make in ENGINES.items() if make().side is protocol.Side.URDF)]
_ROUNDING = 20 * obs.SINGLE_PRECISION
_INF = math.inf
_SOUND = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
_FREE: dict[str, Any] = {"type": obs.JointType.CONTINUOUS, "lower": -_INF, "upper": _INF}


def _engine(name: str) -> protocol.Engine:
    return installed(registry.engine(name))


def _read(engine: str, folder: Path, urdf: str, **positions: object) -> obs.Observation:
    return _engine(engine).observe(request(folder, urdf, **positions))


def _observe(engine: str, name: str, folder: Path, **positions: object) -> obs.Observation:
    return observe(_engine(engine), name, folder, **positions)


@pytest.fixture(params=_NAMES)
def arm(request: pytest.FixtureRequest, tmp_path: Path) -> obs.Observation:
    """The oblique arm, as each engine reads it."""
    return oblique_arm.observe_arm(_engine(request.param), tmp_path)


def _rounding(observation: obs.Observation) -> float:
    """Return the rounding of twenty operations on numbers of the order of one."""
    return 20 * max(observation.precision, obs.DOUBLE_PRECISION)


def test_names_root_and_frames_are_those_of_the_file(arm: obs.Observation) -> None:
    """Engines lump, reorder and rename links."""
    oblique_arm.assert_structure(arm)
    oblique_arm.assert_frames(arm, atol=1e-13 if arm.engine in _EXACT else _rounding(arm))
    assert arm.engine == "reference" or any("Shapes" in note for note in arm.notes)


def test_mass_is_in_the_link_frame(arm: obs.Observation) -> None:
    """With products of inertia; that of the root is neither fused nor lost."""
    masses = {link.name: link.mass for link in arm.links if link.name not in arm.defaulted}
    mass, base, slack = masses["arm"], masses["base"], _rounding(arm)

    assert mass is not None
    assert mass.mass == pytest.approx(2.25, rel=slack)
    assert mass.center == pytest.approx((-0.05, 0.15, 0.25), abs=slack)
    atol = 1e-14 if arm.engine in _EXACT else slack
    assert mass.inertia == pytest.approx(oblique_arm.ARM_INERTIA, abs=atol)
    assert sum(each.mass for each in masses.values() if each) == pytest.approx(10.5)
    assert base is not None
    assert arm.engine == "pinocchio" or base.mass == pytest.approx(7.5)


def test_limits_and_dynamics_are_those_of_the_file(arm: obs.Observation) -> None:
    """Quantities that the engine does not have are left out."""
    shoulder, elbow = (oblique_arm.joint_named(arm, name) for name in ("shoulder", "elbow"))

    assert (shoulder.lower, shoulder.upper) == (-1.25, 0.75)
    assert (elbow.lower, elbow.upper) == (-0.2, 0.4)
    velocities = (3.5, 0.8) if obs.Quantity.VELOCITY in arm.states else (None, None)
    assert (shoulder.velocity, elbow.velocity) == velocities
    assert (obs.Quantity.VELOCITY in arm.states) == (arm.engine != "mujoco")
    if obs.Quantity.EFFORT in arm.states:
        assert (shoulder.effort, elbow.effort) == (12, 55)
    assert shoulder.damping == 0.7
    couples = arm.engine in {"reference", "mujoco", "newton"}
    assert (obs.Quantity.MIMIC in arm.states) is couples
    assert elbow.mimic == (obs.MimicObservation("shoulder", -0.2, 0.05) if couples else None)
    if arm.engine in _EXACT:
        assert shoulder.friction == 0.3
        assert shoulder.axis == pytest.approx(np.array([1, -2, 3]) / np.sqrt(14))
        assert elbow.axis == pytest.approx((-0.48, 0.6, 0.64))


@pytest.mark.parametrize(
    ("engine", "name", "expected"),
    [
        # MuJoCo limits a joint only if both bounds are present and lower < upper.
        *(
            ("mujoco", name, _FREE)
            for name in ("reversed-limits", "absent-bounds", "upper-bound-alone", "zero-range")
        ),
        ("mujoco", "continuous-with-bounds", _FREE),
        # It limits the force only if the effort is positive; its range is symmetric.
        ("mujoco", "zero-effort", {"effort": None}),
        ("mujoco", "negative-effort", {"effort": 7}),
        ("mujoco", "missing-mimic-leader", {"mimic": None}),
        ("mujoco", "planar-joint", {"type": obs.JointType.PLANAR, "axis": pytest.approx(AXIS)}),
        # PyBullet reads lower > upper as unlimited; absent bounds are 0 and -1.
        ("pybullet", "reversed-limits", _FREE),
        ("pybullet", "absent-bounds", _FREE),
        ("pybullet", "zero-range", {"type": obs.JointType.REVOLUTE, "lower": 0, "upper": 0}),
        ("pybullet", "upper-bound-alone", {"lower": 0, "upper": 1.5}),
        (
            "pybullet",
            "continuous-with-bounds",
            {"type": obs.JointType.REVOLUTE, "lower": -1, "upper": 2},
        ),
        (
            "pybullet",
            "absent-limit",
            {
                "type": obs.JointType.REVOLUTE,
                "lower": None,
                "upper": None,
                "effort": None,
                "velocity": None,
                "axis": pytest.approx(AXIS),
            },
        ),
        ("pybullet", "absent-effort", {"effort": 0, "velocity": 0}),
        ("pybullet", "axis-length", {"axis": pytest.approx((0, 0, 1))}),
        ("pybullet", "planar-joint", {"type": obs.JointType.PLANAR}),
        ("pybullet", "floating-joint", {"type": obs.JointType.FIXED}),
        ("pybullet", "repeated-axis", {"axis": pytest.approx(AXIS)}),
        # Drake crashes on reversed limits, and refuses a file for such a coupling.
        ("drake", "reversed-limits", {"lower": -_INF, "upper": _INF}),
        ("drake", "missing-mimic-leader", {"mimic": None}),
        ("drake", "planar-joint", {"type": obs.JointType.PLANAR}),
        # Pinocchio refuses files without effort; what is in them is stated.
        ("pinocchio", "absent-effort", {"effort": None, "velocity": None, "lower": -1, "upper": 2}),
        ("pinocchio", "absent-limit", {"effort": None, "velocity": None}),
        (
            "pinocchio",
            "continuous-with-bounds",
            {"type": obs.JointType.CONTINUOUS, "lower": None, "upper": None},
        ),
        ("pinocchio", "floating-joint", {"type": obs.JointType.FLOATING}),
        # Newton's own default is a million.
        ("newton", "absent-effort", {"effort": None, "velocity": None}),
        ("newton", "planar-joint", {"type": obs.JointType.PLANAR}),
    ],
)
def test_joint_is_stated_as_the_engine_reads_it(
    engine: str, name: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    joint = hinge(_observe(engine, name, tmp_path))

    assert {field: getattr(joint, field) for field in expected} == expected
    # What the engine does not distinguish is noted.
    if engine in _REQUIRED and joint.type is obs.JointType.CONTINUOUS:
        assert joint.note is not None


@pytest.mark.parametrize(
    ("engine", "name", "note"),
    [
        ("mujoco", "zero-range", "equal lower and upper limits"),
        ("mujoco", "missing-mimic-leader", "<mimic>"),
        ("mujoco", "implausible-inertia", "MuJoCo rejects mass or inertia"),
        ("mujoco", "inner-world", "renamed"),
        ("pybullet", "absent-limit", "hinge"),
        ("drake", "reversed-limits", "hinge"),
        ("drake", "joint-friction", "Drake warns"),
        ("drake", "floating-joint", "floating"),
        ("pinocchio", "absent-effort", "hinge"),
        ("pinocchio", "absent-limit", "hinge"),
        ("newton", "implausible-inertia", "Newton warns"),
    ],
)
def test_change_and_warning_become_notes(engine: str, name: str, note: str, tmp_path: Path) -> None:
    assert any(note in each for each in _observe(engine, name, tmp_path).notes)


@pytest.mark.parametrize(
    ("engine", "name", "reason"),
    [
        ("mujoco", "floating-inner-joint", "free joint can only be used on top level"),
        ("mujoco", "number-punctuation", "bad format in attribute 'xyz'"),
        ("mujoco", "number-count", "attribute 'xyz' has too much data"),
        ("mujoco", "repeated-axis", "repeated element: 'axis'"),
        ("mujoco", "spherical-limits", "range\\[0\\] should be 0 in ball joint"),
        ("mujoco", "self-mimic", "repeated in equality constraint"),
        ("mujoco", "two-roots", "2 root links"),
        ("drake", "number-count", "Expected 3 values for attribute xyz"),
        ("drake", "spherical-limits", "unrecognized type: 'spherical'"),
        ("drake", "two-roots", "2 root links"),
        ("pinocchio", "number-punctuation", "Unable to parse component \\[0.07,\\]"),
        ("pinocchio", "spherical-limits", "no known type \\[spherical\\]"),
        ("pinocchio", "two-roots", "Two root links found"),
        ("newton", "number-punctuation", "could not convert string to float: '0.07,'"),
        ("newton", "spherical-limits", "Unsupported joint type: spherical"),
        ("newton", "self-mimic", "Cyclic URDF mimic joints"),
    ],
)
def test_refusal_gives_the_reason_of_the_engine(
    engine: str, name: str, reason: str, tmp_path: Path
) -> None:
    """In one line, without lines of the copy and source positions."""
    with pytest.raises(protocol.UnsupportedError, match=reason) as refusal:
        _observe(engine, name, tmp_path)

    for part in ("\n", ", line", "literal-string", ".cpp"):
        assert part not in str(refusal.value)


_SLID = 0.7 * np.cross(AXIS, [1, 0, 0]) - 0.3 * np.cross(AXIS, [0, 0, 1])
_QUAT = [math.cos(0.45), *(math.sin(0.45) * np.array(AXIS))]
_PLANAR = [[0, 0, 0, 0], [*_SLID, -0.8]]
_SPHERICAL = [[1, 0, 0, 0], _QUAT]
_ABOUT_Z = np.array([[0.28, -0.96, 0.0], [0.96, 0.28, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("engine", "name", "positions", "shift", "turn", "atol"),
    [
        # Displacement in the joint frame first, then the turn about the axis.
        ("mujoco", "planar-joint", _PLANAR, _SLID, rotation_about(AXIS, -0.8), 1e-14),
        ("drake", "planar-joint", _PLANAR, _SLID, rotation_about(AXIS, -0.8), 1e-14),
        # Newton's does not turn, and Pinocchio's has the axis z.
        ("newton", "planar-joint", _PLANAR, _SLID, np.eye(3), _ROUNDING),
        (
            "pinocchio",
            "planar-joint",
            [[0, 0, 0, 0], [0.7, -0.3, 0.4, -0.8]],
            np.array([0.7, -0.3, 0]),
            rotation_about((0, 0, 1), -0.8),
            1e-14,
        ),
        # PyBullet's is offset by the centre of mass, and is read only at zero.
        ("pybullet", "planar-joint", None, -np.array([0.1, 0.2, 0.3]), np.eye(3), 1e-14),
        # MuJoCo's free joint holds a world pose.
        *(
            (engine, "floating-joint", FLOATING, SHIFT, QUAT_MATRIX, atol)
            for engine, atol in (("mujoco", 1e-14), ("pinocchio", 1e-14), ("newton", _ROUNDING))
        ),
        # PyBullet: scalar last, about inertial axes.
        ("pybullet", "spherical-limits", _SPHERICAL, np.zeros(3), rotation_about(AXIS, 0.9), 1e-14),
        # Pinocchio's coordinates are cosine and sine.
        (
            "pinocchio",
            "continuous-with-bounds",
            [0.0, 2.5],
            np.zeros(3),
            rotation_about(AXIS, 2.5),
            1e-14,
        ),
        # PyBullet refuses a revolute joint without limits.
        ("pybullet", "absent-limit", [0.0, 0.5], np.zeros(3), rotation_about(AXIS, 0.5), 1e-14),
        # Its displacement is scaled by the length of the axis (0, 0, 2).
        ("pybullet", "axis-length", [0.0, 0.3], np.array([0, 0, 0.6]), np.eye(3), 1e-14),
        # Placeholders for a refused inertia do not change poses.
        *(
            ("mujoco", name, [0.0, 0.5], np.zeros(3), rotation_about(AXIS, 0.5), 1e-14)
            for name in ("implausible-inertia", "zero-inertia")
        ),
    ],
)
def test_child_is_where_the_joint_puts_it(
    engine: str,
    name: str,
    positions: object,
    shift: NDArray[np.float64],
    turn: NDArray[np.float64],
    atol: float,
    tmp_path: Path,
) -> None:
    """Displacement and rotation in the frame of the joint."""
    at = {} if positions is None else {"hinge": positions}
    position, rotation = last_pose(_observe(engine, name, tmp_path, **at), "arm")

    np.testing.assert_allclose(position, ORIGIN + TURN @ shift, atol=atol)
    np.testing.assert_allclose(rotation, TURN @ turn, atol=atol)


def test_spherical_joint_of_mujoco_takes_its_quaternion(tmp_path: Path) -> None:
    """It refuses limits of such a joint."""
    urdf = text("spherical-limits").replace('<limit lower="-0.5" upper="0.5"/>', "")

    rotation = last_pose(_read("mujoco", tmp_path, urdf, hinge=_SPHERICAL), "arm")[1]

    np.testing.assert_allclose(rotation, TURN @ rotation_about(AXIS, 0.9), atol=1e-14)


@pytest.mark.parametrize(
    ("engine", "turn"), [("mujoco", np.eye(3)), ("pybullet", np.eye(3)), ("pinocchio", _ABOUT_Z)]
)
def test_origin_quaternion_is_read_by_pinocchio_alone(
    engine: str, turn: NDArray[np.float64], tmp_path: Path
) -> None:
    """0.6 k + 0.8: a rotation about z, with cosine 0.28 and sine 0.96."""
    rotation = last_pose(_observe(engine, "quaternion-origin", tmp_path), "arm")[1]

    np.testing.assert_allclose(rotation, turn, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "position"),
    [("number-punctuation", (0.07, -0.5, 0.6)), ("number-count", (0.4, -0.5, 0.6))],
)
def test_malformed_vectors_are_read_by_pybullet(
    name: str, position: tuple[float, ...], tmp_path: Path
) -> None:
    """It splits at spaces and reads the first three numbers."""
    assert last_pose(_observe("pybullet", name, tmp_path), "arm")[0] == pytest.approx(position)


@pytest.mark.parametrize(
    ("engine", "name", "positions", "links"),
    [
        ("pybullet", "planar-joint", {"hinge": [[0, 0, 0, 0], [0.1, 0.2, 0, 0.5]]}, 1),
        ("pybullet", "floating-joint", {"hinge": FLOATING}, 1),
        # The joint has no name in Drake's model.
        ("drake", "floating-joint", {"hinge": FLOATING}, 1),
        ("mujoco", "massless-link", {"ghost": [0.0, 1.0]}, 1),
        # A joint at zero may be missing from the engine's model.
        ("mujoco", "massless-link", {"ghost": [0.0, 0.0]}, 2),
    ],
)
def test_frames_below_a_joint_that_cannot_be_set_are_not_stated(
    engine: str, name: str, positions: dict[str, object], links: int, tmp_path: Path
) -> None:
    observation = _observe(engine, name, tmp_path, **positions)

    assert observation.frames is not None
    assert observation.frames.links[0] == observation.root
    assert len(observation.frames.links) == links
    assert any("cannot set joint" in note for note in observation.notes) is (links == 1)


@pytest.mark.parametrize(
    ("engine", "name", "mass", "inertia"),
    [
        # PyBullet's default, but for a link called world; A + B < C becomes zero.
        ("pybullet", "massless-link", 1, (1, 0, 0, 1, 0, 1)),
        ("pybullet", "implausible-inertia", 2, (0, 0, 0, 0, 0, 0)),
        # MuJoCo compiles placeholders, which are not stated.
        ("mujoco", "implausible-inertia", 2, None),
        ("mujoco", "zero-inertia", 2, None),
        ("mujoco", "massless-moving-link", None, None),
        ("mujoco", "massless-link", None, None),
    ],
)
def test_mass_is_stated_as_the_engine_reads_it(
    engine: str, name: str, mass: float | None, inertia: tuple[float, ...] | None, tmp_path: Path
) -> None:
    observation = _observe(engine, name, tmp_path)
    base, arm = observation.links

    assert base.mass is not None
    assert base.mass.inertia is not None
    assert (arm.mass.mass if arm.mass else None) == mass
    assert (arm.mass.inertia if arm.mass else None) == (inertia and pytest.approx(inertia))
    invents = (engine, name) == ("pybullet", "massless-link")
    assert observation.defaulted == (("arm",) if invents else ())


def test_pybullet_gives_a_link_called_world_no_mass(tmp_path: Path) -> None:
    observation = _observe("pybullet", "floating-joint", tmp_path)

    assert observation.links[0].name == "world"
    assert observation.links[0].mass is None
    assert observation.defaulted == ()


def test_small_products_of_inertia_are_lost_by_pybullet(tmp_path: Path) -> None:
    """Its diagonalisation stops at 1e-5 of the trace."""
    base = _observe("pybullet", "small-products", tmp_path).links[0].mass

    assert base is not None
    assert base.inertia is not None
    assert base.inertia == pytest.approx((1, 5e-6, 3.5e-6, 2, -2.5e-6, 2.5), abs=5.5e-5)
    assert base.inertia[2] == pytest.approx(0, abs=1e-9)
    assert base.inertia[4] == pytest.approx(0, abs=1e-9)


_MASS = '<mass value="2"/>'


@pytest.mark.parametrize(
    ("engine", "inertials", "mass", "has_inertia"),
    [
        ("mujoco", [_MASS], 2, False),
        ("mujoco", [f'{_MASS}<inertia ixx="1" iyy="1" izz="1"/>'], 2, False),
        ("mujoco", [_SOUND], None, False),
        ("mujoco", [_MASS + _SOUND, _MASS + _SOUND], None, False),
        ("pinocchio", [_MASS], 2, False),
        ("pinocchio", [f'{_MASS}<inertia ixx="1" iyy="1" izz="1"/>'], 2, False),
        # Unlike the others, PyBullet accepts two.
        ("pybullet", [_MASS + _SOUND, f'<mass value="5"/>{_SOUND}'], 2, True),
    ],
)
def test_incomplete_inertial_omits_only_the_missing_values(
    engine: str, inertials: list[str], mass: float | None, *, has_inertia: bool, tmp_path: Path
) -> None:
    """Engines refuse the unprepared file."""
    content = "".join(f"<inertial>{one}</inertial>" for one in inertials)
    found = _read(engine, tmp_path, f'<robot name="r"><link name="a">{content}</link></robot>')

    stated = found.links[0].mass
    assert (stated.mass if stated else None) == mass
    assert bool(stated and stated.inertia) is has_inertia


def test_only_links_with_refused_inertia_get_placeholders(tmp_path: Path) -> None:
    """Independent of their position in the file."""
    refused = {0, 3, 4, 10}
    flat = _SOUND.replace('izz="1"', 'izz="9"')
    links = "".join(
        f'<link name="l{i}"><inertial><mass value="{i + 1}"/>'
        f"{flat if i in refused else _SOUND}</inertial></link>"
        for i in range(11)
    )
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(10)
    )
    seen = _read("mujoco", tmp_path, f'<robot name="r">{links}{joints}</robot>')

    without = {link.name for link in seen.links if link.mass and not link.mass.inertia}
    assert without == {f"l{i}" for i in refused}
    assert any(note.endswith("l0, l10, l3, l4.") for note in seen.notes)


@pytest.mark.parametrize("engine", ["mujoco", "drake"])
def test_root_named_world_keeps_name_mass_and_pose(engine: str, tmp_path: Path) -> None:
    """MuJoCo merges it into its world body; Drake discards the mass of any such link."""
    urdf = URDF.replace('"base"', '"world"')
    at = {"shoulder": oblique_arm.SHOULDER, "elbow": oblique_arm.ELBOW}
    observation = _read(engine, tmp_path, urdf, **at)
    world = next(link for link in observation.links if link.name == "world")
    positions, _ = oblique_arm.expected_frames()

    assert observation.root == "world"
    assert world.mass is not None
    assert world.mass.mass == 7.5
    np.testing.assert_allclose(last_pose(observation, "tip")[0], positions[-1, -1], atol=1e-13)


def test_inner_link_named_world_keeps_its_parent(tmp_path: Path) -> None:
    """MuJoCo makes it the root of an unprepared file."""
    observation = _observe("mujoco", "inner-world", tmp_path)

    assert observation.root == "base"
    assert {(j.name, j.parent, j.child) for j in observation.joints} == {
        ("mount", "base", "world"),
        ("hinge", "world", "arm"),
    }
    np.testing.assert_allclose(last_pose(observation, "world")[0], ORIGIN, atol=1e-14)


@pytest.mark.parametrize("content", ["base a", "world a"])
def test_pinocchio_states_welded_links_as_one_body(content: str, tmp_path: Path) -> None:
    """Under the link at the head of the rigid group, unless that is the world."""
    head, _ = content.split()
    inertial = f'<inertial><origin xyz="0.1 0 0"/><mass value="{{}}"/>{_SOUND}</inertial>'
    urdf = f"""<robot name="r"><link name="{head}"/>
    <link name="a">{inertial.format(2)}</link><link name="b">{inertial.format(6)}</link>
    <joint name="first" type="fixed"><parent link="{head}"/><child link="a"/></joint>
    <joint name="second" type="fixed"><origin xyz="0.4 0.8 -1.2"/>
      <parent link="a"/><child link="b"/></joint></robot>"""
    observation = _read("pinocchio", tmp_path, urdf)
    bodies = {link.name: link.body for link in observation.links}
    (stated,) = (link for link in observation.links if link.mass)

    first = "a" if head == "world" else head
    assert bodies == {head: None if head == "world" else head, "a": first, "b": first}
    assert stated.name == first
    assert stated.mass is not None
    assert stated.mass.mass == 8
    assert stated.mass.center == pytest.approx((0.4, 0.6, -0.9))


@pytest.mark.parametrize("element", ["<mimic/>", "<safety_controller/>", "<dynamics/>"])
def test_incomplete_element_of_a_joint_does_not_make_pinocchio_refuse(
    element: str, tmp_path: Path
) -> None:
    urdf = f"""<robot name="r"><link name="a"/><link name="b"/>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/>{element}
    </joint></robot>"""
    observation = _read("pinocchio", tmp_path, urdf)

    assert [joint.name for joint in observation.joints] == ["j"]
    assert any("left out" in note for note in observation.notes)


def test_names_with_slashes_are_kept(tmp_path: Path) -> None:
    """Newton puts the robot's name and a slash before every name."""
    urdf = """<robot name="a/b"><link name="a/b/c"/><link name="d"/>
    <joint name="a/j" type="continuous"><parent link="a/b/c"/><child link="d"/></joint>
    </robot>"""
    observation = _read("newton", tmp_path, urdf)

    assert [link.name for link in observation.links] == ["a/b/c", "d"]
    assert [joint.name for joint in observation.joints] == ["a/j"]
    assert observation.robot == "a/b"


@pytest.mark.parametrize("engine", ["pybullet", "newton"])
def test_robot_without_a_name_stays_without(engine: str, tmp_path: Path) -> None:
    """Engines refuse the unprepared file; the added name is not stated."""
    urdf = URDF.replace('<robot name="oblique_arm">', "<robot>")
    observation = _read(engine, tmp_path, urdf)

    assert observation.robot is None
    assert len(observation.links) == 4


@pytest.mark.parametrize("engine", _REQUIRED)
def test_version_is_available_without_a_robot(engine: str) -> None:
    assert isinstance(registry.engine(engine).availability(), protocol.Available)


def test_warnings_of_mujoco_write_no_log_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    _observe("mujoco", "zero-range", tmp_path)

    assert [file.name for file in tmp_path.iterdir()] == ["robot.urdf"]


def test_extension_element_of_mujoco_is_ignored(tmp_path: Path) -> None:
    extension = """<mujoco><compiler balanceinertia="true" boundmass="50"
    fusestatic="true" discardvisual="false"/></mujoco></robot>"""
    observation = _read("mujoco", tmp_path, URDF.replace("</robot>", extension))

    assert {link.name for link in observation.links} == set(oblique_arm.LINKS)
    assert sum(link.mass.mass for link in observation.links if link.mass) == 10.5


def test_repeated_joint_name_is_refused(tmp_path: Path) -> None:
    """MuJoCo keeps such a joint but discards its name."""
    with pytest.raises(protocol.UnsupportedError):
        _read("mujoco", tmp_path, URDF.replace('name="elbow"', 'name="shoulder"'))


def test_reason_that_pybullet_prints_is_stated(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its exception has none. Nothing is printed."""
    with pytest.raises(protocol.UnsupportedError, match="sideways") as refusal:
        _read("pybullet", tmp_path, URDF.replace('type="revolute"', 'type="sideways"'))
    sys.stdout.flush()

    assert "\n" not in str(refusal.value)
    assert "BulletUrdfImporter" not in str(refusal.value)
    assert capfd.readouterr() == ("", "")


def test_pybullet_keeps_nothing_of_former_robots(tmp_path: Path) -> None:
    """All are loaded into one world, also those that it refuses partway; it caches files."""
    first = _read("pybullet", tmp_path, URDF)
    heavier = _read("pybullet", tmp_path, URDF.replace('value="7.5"', 'value="9.5"'))
    _observe("pybullet", "planar-joint", tmp_path)
    with pytest.raises(protocol.UnsupportedError):
        _read("pybullet", tmp_path, URDF.replace('type="revolute"', 'type="sideways"'))
    again = _read("pybullet", tmp_path, URDF)

    assert heavier.links[0].mass is not None
    assert heavier.links[0].mass.mass == 9.5
    assert (again.links, again.joints) == (first.links, first.joints)
    assert first.frames is not None
    assert again.frames is not None
    np.testing.assert_array_equal(again.frames.positions, first.frames.positions)
    np.testing.assert_array_equal(again.frames.rotations, first.frames.rotations)


def test_long_lines_are_read(tmp_path: Path) -> None:
    """PyBullet breaks lines after 1023 characters, within a word."""
    urdf = " ".join(URDF.split())
    assert len(urdf) > 1023

    assert len(_read("pybullet", tmp_path, urdf).links) == 4


def test_long_robot_is_read_without_frames(tmp_path: Path) -> None:
    """PyBullet reports the poses of at most 128 links."""
    links = [f'<link name="l{i}"><inertial>{_MASS}{_SOUND}</inertial></link>' for i in range(140)]
    joints = [
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(139)
    ]
    urdf = f'<robot name="r">{"".join(links + joints)}</robot>'
    observation = _read("pybullet", tmp_path, urdf)

    assert len(observation.links) == 140
    assert observation.frames is None
    assert obs.Quantity.FRAMES not in observation.states
    assert any("no poses" in note for note in observation.notes)


def test_zero_axis_leaves_out_poses(tmp_path: Path) -> None:
    """PyBullet states quaternions that are not a number below such a joint."""
    urdf = """<robot name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
        <axis xyz="0 0 0"/><limit lower="0" upper="0"/></joint></robot>"""
    observation = _read("pybullet", tmp_path, urdf)

    assert observation.frames is None
    assert any("not finite" in note for note in observation.notes)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'<robot name="r"><link name="a"></robot>', "not well-formed XML"),
        (b"", "not XML"),
        (b"robot:\n  link: a\n", "not"),
        (b"<sdf/>", "root element is sdf"),
        (None, "No such file"),
    ],
)
def test_text_that_is_not_urdf_is_refused(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    """The engine is not called."""
    path = tmp_path / "robot.urdf"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(protocol.UnsupportedError, match=reason):
        PybulletEngine().observe(protocol.Request(str(path), configurations()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<?xml version="1.0"?>', '<?xml version="0.0"?>'),
        ('<?xml version="1.0"?>', '<?xml version="1"?>'),
        ('<?xml version="1.0"?>', '\n\n<?xml version="1.0"?>'),
        ('<link name="tip"/>', '<xacro:property name="a"/><link name="tip"/>'),
        ('<link name="tip"/>', '<!-- a -- b --><link name="tip"/>'),
        ("</robot>\n", "</robot>\n\0"),
    ],
)
def test_harmless_xml_errors_are_repaired(before: str, after: str, tmp_path: Path) -> None:
    """No element is ambiguous, and other engines accept the file; a note is added."""
    urdf = URDF.replace(before, after)
    assert urdf != URDF
    observation = MujocoEngine().observe(request(tmp_path, urdf))

    assert len(observation.links) == 4
    assert any("The copy leaves out" in note for note in observation.notes)
    assert observation.links[0].mass is not None
    assert observation.links[0].mass.mass == 7.5


@pytest.mark.parametrize(
    ("module", "distribution", "expected"),
    [
        (
            "surely_no_module",
            "no-engine",
            protocol.Unavailable("no-engine is not installed", "pip install 'newton>=1.8'"),
        ),
        # As for one built from source; any module serves as the example.
        ("json", "no-distribution", protocol.Available("no-distribution of unknown version")),
        ("numpy", "numpy", protocol.Available(f"numpy {np.__version__}")),
    ],
)
def test_optional_engine_gives_its_version_or_the_install_command(
    module: str, distribution: str, expected: object
) -> None:
    assert protocol.optional_engine(module, distribution, "newton") == expected
