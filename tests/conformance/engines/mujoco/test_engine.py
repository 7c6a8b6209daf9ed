"""Observations of MuJoCo, and its deviations from the URDF."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.conformance.engines import oblique_arm
from tests.conformance.engines.deviation_files import (
    AXIS,
    FLOATING,
    ORIGIN,
    TURN,
    assert_floating_pose,
    hinge,
    last_pose,
    observe,
    text,
)
from tests.conformance.engines.oblique_arm import request, rotation_about
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import AbstentionError, Available, Request
from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointType,
    Observation,
)

_AXIS = np.array(AXIS)


def _observe(name: str, folder: Path, **positions: object) -> Observation:
    return observe(MujocoEngine(), name, folder, **positions)


def test_version_is_available_without_a_robot() -> None:
    """MuJoCo is a requirement of the project."""
    assert isinstance(MujocoEngine().availability(), Available)


@pytest.mark.parametrize(
    "name", ["reversed-limits", "absent-bounds", "upper-bound-alone", "zero-range"]
)
def test_odd_limits_are_read_as_unlimited(name: str, tmp_path: Path) -> None:
    """MuJoCo limits a joint only if both bounds are present and lower < upper."""
    joint = hinge(_observe(name, tmp_path))

    assert (joint.lower, joint.upper) == (-math.inf, math.inf)
    assert joint.type is JointType.CONTINUOUS
    assert joint.note is not None


def test_warning_of_the_engine_becomes_a_note(tmp_path: Path) -> None:
    """MuJoCo warns that it ignores equal limits."""
    observation = _observe("zero-range", tmp_path)

    assert any("equal lower and upper limits" in note for note in observation.notes)


def test_warnings_write_no_log_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo's default is a log file in the working directory."""
    monkeypatch.chdir(tmp_path)

    _observe("zero-range", tmp_path)

    assert [file.name for file in tmp_path.iterdir()] == ["robot.urdf"]


def test_zero_effort_is_read_as_unlimited(tmp_path: Path) -> None:
    """MuJoCo limits the force only if the effort is positive."""
    assert hinge(_observe("zero-effort", tmp_path)).effort is None


def test_magnitude_of_a_negative_effort_is_read(tmp_path: Path) -> None:
    """The force range of MuJoCo is symmetric."""
    assert hinge(_observe("negative-effort", tmp_path)).effort == 7


def test_limits_of_a_continuous_joint_are_ignored(tmp_path: Path) -> None:
    """As the URDF specification requires."""
    joint = hinge(_observe("continuous-with-bounds", tmp_path))

    assert joint.type is JointType.CONTINUOUS
    assert joint.upper == math.inf


@pytest.mark.parametrize("name", ["implausible-inertia", "zero-inertia"])
def test_placeholder_for_a_refused_inertia_is_not_reported(name: str, tmp_path: Path) -> None:
    """Mass and centre of mass are those of the file; other links are unaffected."""
    observation = _observe(name, tmp_path, hinge=[0.0, 0.5])
    base, arm = observation.links

    assert base.mass is not None
    assert base.mass.inertia is not None
    assert arm.mass is not None
    assert arm.mass.mass == 2
    assert arm.mass.center == pytest.approx((0.1, 0.2, 0.3))
    assert arm.mass.inertia is None
    assert any(note.startswith("MuJoCo rejects") and "arm" in note for note in observation.notes)
    expected = TURN @ rotation_about(AXIS, 0.5)
    np.testing.assert_allclose(last_pose(observation, "arm")[1], expected, atol=1e-14)


def test_only_links_with_refused_inertia_get_placeholders(
    tmp_path: Path,
) -> None:
    """Independent of their position in the file."""
    sound = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    flat = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="9"/>'
    refused = {0, 3, 4, 10}
    links = "".join(
        f'<link name="l{i}"><inertial><mass value="{i + 1}"/>'
        f"{flat if i in refused else sound}</inertial></link>"
        for i in range(11)
    )
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(10)
    )
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{links}{joints}</robot>')

    nowhere = Configurations((), (), ("zero",))
    seen = MujocoEngine().observe(Request(str(path), nowhere))

    without = {link.name for link in seen.links if link.mass and not link.mass.inertia}
    assert without == {f"l{i}" for i in refused}
    assert any(note.endswith("l0, l10, l3, l4.") for note in seen.notes)


def test_placeholder_for_a_massless_moving_link_is_not_reported(tmp_path: Path) -> None:
    """The link is reported without mass, although the compiled model has one."""
    observation = _observe("massless-moving-link", tmp_path)

    assert [link.mass is None for link in observation.links] == [False, True]


def test_massless_fixed_link_needs_no_placeholder(tmp_path: Path) -> None:
    """No change is made to the copy, so there is no note."""
    observation = _observe("massless-link", tmp_path)

    assert observation.links[1].mass is None
    assert observation.notes == ()


def test_planar_joint_moves_in_its_oblique_plane(tmp_path: Path) -> None:
    """Displacement in the joint frame, then rotation about the axis."""
    shift = 0.7 * np.cross(_AXIS, [1, 0, 0]) - 0.3 * np.cross(_AXIS, [0, 0, 1])
    observation = _observe("planar-joint", tmp_path, hinge=[[0, 0, 0, 0], [*shift, -0.8]])
    position, rotation = last_pose(observation, "arm")

    assert hinge(observation).type is JointType.PLANAR
    assert hinge(observation).axis == pytest.approx(AXIS)
    np.testing.assert_allclose(position, ORIGIN + TURN @ shift, atol=1e-14)
    np.testing.assert_allclose(rotation, TURN @ rotation_about(AXIS, -0.8), atol=1e-14)


def test_floating_joint_starts_at_its_origin(tmp_path: Path) -> None:
    """MuJoCo's free joint holds a world pose, URDF's a pose relative to the origin."""
    observation = _observe("floating-joint", tmp_path, hinge=FLOATING)

    assert observation.root == "world"
    assert hinge(observation).type is JointType.FLOATING
    assert_floating_pose(observation, atol=1e-14)


def test_spherical_joint_takes_its_quaternion(tmp_path: Path) -> None:
    """Both use scalar-first order."""
    angle = 0.9
    quat_wxyz = [math.cos(angle / 2), *(math.sin(angle / 2) * _AXIS)]
    unlimited = text("spherical-limits").replace('<limit lower="-0.5" upper="0.5"/>', "")
    observation = MujocoEngine().observe(
        request(tmp_path, unlimited, hinge=[[1, 0, 0, 0], quat_wxyz])
    )

    expected = TURN @ rotation_about(AXIS, angle)
    np.testing.assert_allclose(last_pose(observation, "arm")[1], expected, atol=1e-14)


def test_root_named_world_is_a_link(tmp_path: Path) -> None:
    """MuJoCo merges it into the world body; its mass is still reported."""
    urdf = oblique_arm.URDF.replace('"base"', '"world"')
    observation = MujocoEngine().observe(
        request(tmp_path, urdf, shoulder=oblique_arm.SHOULDER, elbow=oblique_arm.ELBOW)
    )
    world = next(link for link in observation.links if link.name == "world")
    positions, _ = oblique_arm.expected_frames()

    assert observation.root == "world"
    assert world.mass is not None
    assert world.mass.mass == 7.5
    np.testing.assert_allclose(last_pose(observation, "tip")[0], positions[-1, -1], atol=1e-13)


def test_inner_link_named_world_keeps_its_parent(tmp_path: Path) -> None:
    """MuJoCo makes it the root of an unprepared file."""
    observation = _observe("inner-world", tmp_path)

    assert observation.root == "base"
    assert {(j.name, j.parent, j.child) for j in observation.joints} == {
        ("mount", "base", "world"),
        ("hinge", "world", "arm"),
    }
    np.testing.assert_allclose(last_pose(observation, "world")[0], ORIGIN, atol=1e-14)
    assert any("renamed" in note for note in observation.notes)


def test_origin_quaternion_is_ignored(tmp_path: Path) -> None:
    """MuJoCo supports URDF 1.0 only."""
    rotation = last_pose(_observe("quaternion-origin", tmp_path), "arm")[1]

    np.testing.assert_array_equal(rotation, np.eye(3))


def test_mimic_of_a_missing_joint_is_dropped_with_a_note(tmp_path: Path) -> None:
    """MuJoCo warns and continues."""
    observation = _observe("missing-mimic-leader", tmp_path)

    assert hinge(observation).mimic is None
    assert any("<mimic>" in note for note in observation.notes)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("floating-inner-joint", "free joint can only be used on top level"),
        ("number-punctuation", "bad format in attribute 'xyz'"),
        ("number-count", "attribute 'xyz' has too much data"),
        ("repeated-axis", "repeated element: 'axis'"),
        ("spherical-limits", "range\\[0\\] should be 0 in ball joint"),
        ("self-mimic", "repeated in equality constraint"),
        ("two-roots", "2 root links"),
    ],
)
def test_refusal_gives_the_reason_of_the_engine(name: str, reason: str, tmp_path: Path) -> None:
    """In one line, without the line number of the prepared copy."""
    with pytest.raises(AbstentionError, match=reason) as abstention:
        _observe(name, tmp_path)

    assert "\n" not in str(abstention.value)
    assert ", line" not in str(abstention.value)


@pytest.mark.parametrize(
    ("inertial", "mass"),
    [
        ('<mass value="2"/>', 2),
        ('<mass value="2"/><inertia ixx="1" iyy="1" izz="1"/>', 2),
        ('<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>', None),
    ],
)
def test_incomplete_inertial_omits_only_the_missing_values(
    inertial: str, mass: float | None, tmp_path: Path
) -> None:
    """MuJoCo refuses the unprepared file."""
    urdf = f"""<robot name="r"><link name="a"><inertial>{inertial}</inertial></link>
    </robot>"""
    link = MujocoEngine().observe(request(tmp_path, urdf)).links[0]

    assert (link.mass.mass if link.mass else None) == mass
    assert link.mass is None or link.mass.inertia is None


def test_repeated_inertial_is_not_reported(tmp_path: Path) -> None:
    """MuJoCo refuses the unprepared file."""
    one = """<inertial><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
    urdf = f'<robot name="r"><link name="a">{one}{one}</link></robot>'
    observation = MujocoEngine().observe(request(tmp_path, urdf))

    assert observation.links[0].mass is None
    assert any("Repeated <inertial>" in note for note in observation.notes)


def test_mujoco_extension_element_is_ignored(tmp_path: Path) -> None:
    """Observations describe the URDF without compiler options."""
    extension = """<mujoco><compiler balanceinertia="true" boundmass="50"
    fusestatic="true" discardvisual="false"/></mujoco></robot>"""
    urdf = oblique_arm.URDF.replace("</robot>", extension)
    observation = MujocoEngine().observe(request(tmp_path, urdf))

    assert {link.name for link in observation.links} == set(oblique_arm.LINKS)
    assert sum(link.mass.mass for link in observation.links if link.mass) == 10.5


def test_repeated_joint_name_is_refused(tmp_path: Path) -> None:
    """MuJoCo keeps such a joint but discards its name."""
    urdf = oblique_arm.URDF.replace('name="elbow"', 'name="shoulder"')

    with pytest.raises(AbstentionError):
        MujocoEngine().observe(request(tmp_path, urdf))


def test_frames_below_an_unread_joint_are_not_reported(tmp_path: Path) -> None:
    """Only the root's frame is known if a joint of the configuration is missing."""
    observation = _observe("massless-link", tmp_path, ghost=[0.0, 1.0])

    assert observation.frames is not None
    assert observation.frames.links == ("base",)
    assert any("ghost" in note for note in observation.notes)


def test_zero_configuration_needs_no_joints(tmp_path: Path) -> None:
    """A joint at zero may be missing from the engine's model."""
    observation = _observe("massless-link", tmp_path, ghost=[0.0, 0.0])

    assert observation.frames is not None
    assert observation.frames.links == ("base", "arm")


def test_mujoco_makes_one_hull_of_all_objects_of_an_obj_file() -> None:
    """A ball between the two objects of ``two-objects.obj`` touches the mesh."""
    file = Path(__file__).parents[3] / "data" / "deviations" / "two-objects.obj"
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>
  <asset><mesh name="m" file="{file}" inertia="shell"/></asset>
  <worldbody><geom type="mesh" mesh="m"/>
    <body><freejoint/><geom type="sphere" size="0.005"/></body></worldbody>
</mujoco>""")
    data = mujoco.MjData(model)
    contacts = []
    for place in ((0.16, 0.02, 0.05), (0.16, 0.2, 0.05)):
        data.qpos[:3] = place
        mujoco.mj_forward(model, data)
        contacts.append(data.ncon)

    assert contacts == [1, 0]
