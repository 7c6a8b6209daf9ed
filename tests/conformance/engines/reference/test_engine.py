"""The reference engine, compared with formulas and the text of the specification."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.conformance.engines import oblique_arm
from urdf_usd.conformance.engines.protocol import Available, Side, UnsupportedError
from urdf_usd.conformance.engines.reference import ReferenceEngine, observe_robot, structure
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.converter.urdf.parse import parse

_ARM = (
    '<link name="arm"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" '
    'iyy="1" iyz="0" izz="1"/></inertial></link>'
)
_BALL = '<visual><geometry><sphere radius="1"/></geometry></visual>'


@pytest.fixture
def observation(tmp_path: Path) -> obs.Observation:
    """Return the reference observation of the oblique arm."""
    return ReferenceEngine().observe(
        oblique_arm.request(
            tmp_path, oblique_arm.URDF, shoulder=oblique_arm.SHOULDER, elbow=oblique_arm.ELBOW
        )
    )


def _observe(folder: Path, body: str) -> obs.Observation:
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r">{body}</robot>')
    robot = parse(path).robot
    return observe_robot(robot, configurations(structure(robot)))


def _joint(kind: str, parent: str = "world", inner: str = "") -> str:
    return (
        f'<joint name="j" type="{kind}"><parent link="{parent}"/><child link="arm"/>{inner}</joint>'
    )


def _framed(kind: str, inertial: str = "") -> str:
    """Return an arm at a joint of a link that is fixed to the world."""
    return (
        f'<link name="world"/><link name="frame">{inertial}</link>{_ARM}'
        '<joint name="i" type="fixed"><parent link="world"/><child link="frame"/>'
        f"</joint>{_joint(kind, 'frame')}"
    )


def test_all_quantities_are_reported(observation: obs.Observation) -> None:
    assert observation.states == frozenset(obs.Quantity)
    assert ReferenceEngine().side is Side.URDF
    assert isinstance(ReferenceEngine().availability(), Available)


def test_absent_elements_are_none(observation: obs.Observation) -> None:
    """No inertial and no dynamics: ``None``, not zero."""
    tip = next(link for link in observation.links if link.name == "tip")
    elbow = next(joint for joint in observation.joints if joint.name == "elbow")

    assert tip.mass is None
    assert elbow.damping is None
    assert elbow.mimic == obs.MimicObservation("shoulder", -0.2, 0.05)
    assert elbow.axis == pytest.approx((-0.48, 0.6, 0.64))


def test_fixed_joint_has_neither_axis_nor_limits(observation: obs.Observation) -> None:
    """Even if the file has them."""
    wrist = next(joint for joint in observation.joints if joint.name == "wrist")

    assert wrist.type is obs.JointType.FIXED
    assert (wrist.axis, wrist.lower, wrist.upper) == (None, None, None)


@pytest.mark.parametrize(
    ("body", "base"),
    [
        (f'<link name="world"/>{_ARM}{_joint("fixed")}', obs.Base.FIXED),
        (f'<link name="world"/>{_ARM}{_joint("floating")}', obs.Base.FLOATING),
        (f'<link name="world"/>{_ARM}{_joint("continuous")}', obs.Base.FIXED),
        (_framed("floating"), obs.Base.FLOATING),
        (_framed("floating", '<inertial><mass value="0.1"/></inertial>'), obs.Base.FIXED),
        (_framed("continuous"), obs.Base.FIXED),
        ('<link name="world"/>', None),
        (f'<link name="bench"/>{_ARM}{_joint("fixed", "bench")}', None),
        (f'<link name="world">{_BALL}</link>{_ARM}{_joint("fixed")}', None),
        (_ARM, None),
    ],
)
def test_only_a_massless_world_link_fixes_the_base(
    tmp_path: Path, body: str, base: obs.Base | None
) -> None:
    """URDF has no other element for it."""
    assert _observe(tmp_path, body).base is base


def test_continuous_joint_has_no_limits(tmp_path: Path) -> None:
    """``lower`` and ``upper`` of its ``<limit>`` are ignored."""
    limit = '<limit lower="-1" upper="1" effort="3" velocity="4"/>'
    body = f'<link name="world"/>{_ARM}{_joint("continuous", inner=limit)}'
    (joint,) = _observe(tmp_path, body).joints

    assert (joint.lower, joint.upper) == (None, None)
    assert (joint.effort, joint.velocity) == (3, 4)


def test_robot_without_moving_joints_has_one_configuration(tmp_path: Path) -> None:
    """Independent of the number of requested configurations."""
    origin = '<origin xyz="1 2 3" rpy="0 0 1.5"/>'
    body = f'<link name="bench"/>{_ARM}{_joint("fixed", "bench", origin)}'
    frames = _observe(tmp_path, body).frames
    assert frames is not None

    assert frames.positions.shape == (1, 2, 3)
    assert frames.positions[0, 1].tolist() == [1, 2, 3]
    assert frames.rotations[0, 1, 0, 0] == pytest.approx(math.cos(1.5))


def test_repaired_text_is_noted(tmp_path: Path) -> None:
    """Other engines may repair it differently."""
    origin = '\n<origin xyz="x 2 3"/>'
    request = oblique_arm.request(
        tmp_path,
        f'<robot name="r"><link name="bench"/>\n{_ARM}\n{_joint("fixed", "bench", origin)}</robot>',
    )

    assert ReferenceEngine().observe(request).repaired == ("j",)


@pytest.mark.parametrize(
    ("head", "rules"),
    [
        ("", ()),
        ('<?xml version="0.0"?>', ()),
        ("<!-- a -- b -->", ("xml-comment",)),
        ('\n<?xml version="1.0"?><!-- -- -->', ("xml-declaration", "xml-comment")),
    ],
)
def test_repair_shared_with_the_converter_is_noted(
    tmp_path: Path, head: str, rules: tuple[str, ...]
) -> None:
    """With the rule ids, in a note that reports show."""
    request = oblique_arm.request(tmp_path, f'{head}<robot name="r">{_ARM}</robot>')

    reading = ReferenceEngine().observe(request)

    assert reading.malformed == rules
    shared = [note for note in reading.notes if "shares the repair" in note]
    assert len(shared) == bool(rules)
    assert all(rule in shared[0] for rule in rules)


def test_quaternions_are_noted(tmp_path: Path) -> None:
    """Most engines ignore them."""
    origin = '<origin xyz="1 2 3" quat_xyzw="0.5 0.5 0.5 0.5"/>'
    request = oblique_arm.request(
        tmp_path,
        '<robot name="r" version="1.1"><link name="bench"/>'
        f"{_ARM}{_joint('fixed', 'bench', origin)}</robot>",
    )

    assert ReferenceEngine().observe(request).quaternions == ("j",)


def test_invalid_urdf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no links"):
        ReferenceEngine().observe(oblique_arm.request(tmp_path, '<robot name="r"/>'))
