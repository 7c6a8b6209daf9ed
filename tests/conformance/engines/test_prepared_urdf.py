"""Changes to the copy of a URDF that an engine reads, and their notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.engines.engine_requests import AT_REST, request
from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.engines.pybullet import PybulletEngine

_LINK = (
    '<link name="{}"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
_TIE = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/></joint>'
_STEPS = {
    "mimic": prepared.leave_out("joint/mimic", "<mimic> was left out."),
    "idle couplings": prepared.leave_out_idle_couplings,
    "dynamics": prepared.leave_out_empty_dynamics,
    "limits": prepared.complete_limits,
    "bounds": prepared.leave_out_reversed_bounds,
}


def _robot(folder: Path, *parts: str) -> str:
    return request(folder, f'<robot name="r">{"".join(parts)}</robot>').path


@pytest.mark.parametrize("kind", ["fixed", "continuous"])
def test_undefined_world_is_added_for_engines(tmp_path: Path, kind: str) -> None:
    """MuJoCo and PyBullet refuse the unmodified file; both then read its links."""
    path = _robot(tmp_path, _LINK.format("arm"), _TIE.format("j", kind, "world", "arm"))
    copy = prepared.prepare(path, ())

    assert copy.notes == ["Link world, a parent of joints that is not defined, was added."]
    assert copy.without_inertial == {"world"}
    for engine in (MujocoEngine(), PybulletEngine()):
        reading = engine.observe(Request(path, AT_REST))
        assert {link.name for link in reading.links} == {"world", "arm"}


@pytest.mark.parametrize("more", [[], [("world", "hand")], [("world", "tool")]])
def test_undefined_world_is_not_added_as_a_second_root(
    tmp_path: Path, more: list[tuple[str, str]]
) -> None:
    """Nothing hangs on it, or only what has another parent, or what is not defined."""
    ties = [_TIE.format(n, "fixed", *ends) for n, ends in enumerate([("arm", "hand"), *more])]

    copy = prepared.prepare(_robot(tmp_path, _LINK.format("arm"), _LINK.format("hand"), *ties), ())

    assert copy.links == {"arm", "hand"}
    assert copy.notes == []


@pytest.mark.parametrize(
    ("step", "kind", "content", "kept", "noted"),
    [
        ("mimic", "revolute", '<mimic joint="x"/>', None, True),
        ("mimic", "revolute", "", None, False),
        ("idle couplings", "fixed", '<mimic joint="x"/>', None, True),
        ("idle couplings", "floating", '<mimic joint="x"/>', None, True),
        ("idle couplings", "continuous", '<mimic joint="weld"/>', None, True),
        ("idle couplings", "continuous", '<mimic joint="x"/>', "mimic", False),
        ("dynamics", "revolute", "<dynamics/>", None, True),
        ("dynamics", "revolute", '<dynamics damping="0"/>', "dynamics", False),
        ("limits", "continuous", "", None, False),
        ("limits", "revolute", "", 'effort="0"', True),
        ("bounds", "revolute", '<limit lower="1"/>', "lower", False),
        ("bounds", "revolute", '<limit lower="-1" upper="1"/>', "lower", False),
        ("bounds", "revolute", '<limit lower="one" upper="two"/>', "lower", False),
        ("bounds", "revolute", '<limit lower="2" upper="-1" effort="2"/>', '"2"/>', True),
    ],
)
def test_step_changes_a_joint_with_a_note(
    step: str, kind: str, content: str, kept: str | None, *, noted: bool, tmp_path: Path
) -> None:
    """What is kept is in the copy; without, the joint has its two links alone."""
    joint = _TIE.format("j", kind, "arm", "hand").replace("</joint>", f"{content}</joint>")
    weld = _TIE.format("weld", "fixed", "hand", "tip")
    links = [f'<link name="{name}"/>' for name in ("arm", "hand", "tip")]

    copy = prepared.prepare(_robot(tmp_path, *links, joint, weld), (_STEPS[step],))

    found = copy.robot.find("joint[@name='j']")
    assert found is not None
    assert (kept is None) == (len(found) == 2)
    assert kept is None or kept.encode() in copy.text
    assert bool(copy.notes) is noted


@pytest.mark.parametrize(
    ("limit", "marked"),
    [
        ('<limit lower="-1" upper="1" effort="2" velocity="3"/>', ""),
        ('<limit lower="-1" upper="1" velocity="3"/>', "effort"),
        ('<limit lower="-1" upper="1" effort="2"/>', "velocity"),
        ("", "effort velocity limits"),
    ],
)
def test_added_limits_are_marked(limit: str, marked: str, tmp_path: Path) -> None:
    """Values of the file are still reported."""
    joint = _TIE.format("j", "revolute", "a", "b").replace("</joint>", f"{limit}</joint>")
    path = _robot(tmp_path, '<link name="a"/><link name="b"/>', joint)

    copy = prepared.prepare(path, (prepared.complete_limits,))

    for name in ("effort", "velocity", "limits"):
        assert getattr(copy, f"{name}_unknown") == ({"j"} if name in marked.split() else set())


def test_root_is_renamed_only_where_necessary(tmp_path: Path) -> None:
    """Some engines treat inner links named ``world`` as their world, some any."""
    tie = _TIE.format("j", "fixed", "world", "arm")
    path = _robot(tmp_path, '<link name="world"/><link name="arm"/>', tie)

    kept = prepared.prepare(path, (prepared.rename_link("world", inner_only=True),))
    renamed = prepared.prepare(path, (prepared.rename_link("world"),))

    assert kept.links == {"world", "arm"}
    assert renamed.links == {"world_", "arm"}
    assert renamed.original("world_") == "world"
    assert b'<parent link="world_"/>' in renamed.text
