"""Changes to the copy of a URDF that an engine reads, and their notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.conformance.engines.mujoco_compilation import compile_urdf
from urdf_usd.conformance.engines.prepared_urdf import (
    Step,
    UrdfText,
    complete_limits,
    leave_out,
    leave_out_empty_dynamics,
    leave_out_idle_couplings,
    leave_out_reversed_bounds,
    prepare,
    rename_inner_link,
    rename_link,
)
from urdf_usd.conformance.engines.pybullet_loading import loaded


def _prepared(folder: Path, step: Step, joint: str, kind: str = "revolute") -> UrdfText:
    path = folder / "robot.urdf"
    path.write_text(
        f"""<robot name="r"><link name="world"/><link name="arm"/>
        <joint name="j" type="{kind}"><parent link="world"/><child link="arm"/>{joint}
        </joint></robot>"""
    )
    return prepare(str(path), (step,))


_LINK = (
    '<link name="{}"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
_TIE = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/></joint>'


def _robot(folder: Path, *parts: str) -> str:
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r">{"".join(parts)}</robot>')
    return str(path)


@pytest.mark.parametrize("kind", ["fixed", "continuous"])
def test_undefined_world_is_added_for_engines(tmp_path: Path, kind: str) -> None:
    """MuJoCo and PyBullet refuse the unmodified file; both then read its links."""
    tie = _TIE.format("j", kind, "world", "arm")

    text = prepare(_robot(tmp_path, _LINK.format("arm"), tie), ())

    assert text.notes == ("Link world, a parent of joints that is not defined, was added.",)
    assert text.without_inertial == {"world"}
    assert set(compile_urdf(text).bodies) == {"world", "arm"}
    with loaded(text) as body:
        assert body.links == ("world", "arm")


@pytest.mark.parametrize(
    "ties",
    [
        [_TIE.format("i", "fixed", "arm", "hand")],
        # The parent of ``hand`` is defined.
        [
            _TIE.format("i", "fixed", "arm", "hand"),
            _TIE.format("j", "fixed", "world", "hand"),
        ],
        [
            _TIE.format("i", "fixed", "arm", "hand"),
            _TIE.format("j", "fixed", "world", "tool"),
        ],
    ],
)
def test_undefined_world_is_not_added_as_a_second_root(tmp_path: Path, ties: list[str]) -> None:
    """The file is not modified."""
    links = _LINK.format("arm"), _LINK.format("hand")

    text = prepare(_robot(tmp_path, *links, *ties), ())

    assert text.links == {"arm", "hand"}
    assert text.notes == ()


@pytest.mark.parametrize(
    ("joint", "effort", "velocity", "limits"),
    [
        ('<limit lower="-1" upper="1" effort="2" velocity="3"/>', set(), set(), set()),
        ('<limit lower="-1" upper="1" velocity="3"/>', {"j"}, set(), set()),
        ('<limit lower="-1" upper="1" effort="2"/>', set(), {"j"}, set()),
        ("", {"j"}, {"j"}, {"j"}),
    ],
)
def test_added_limits_are_marked(
    joint: str, effort: set[str], velocity: set[str], limits: set[str], tmp_path: Path
) -> None:
    """Values of the file are still reported."""
    text = _prepared(tmp_path, complete_limits, joint)

    assert text.effort_unknown == effort
    assert text.velocity_unknown == velocity
    assert text.limits_unknown == limits
    assert bool(text.notes) == bool(effort | velocity)


def test_joints_that_need_no_limits_get_none(tmp_path: Path) -> None:
    """For example a continuous joint."""
    text = _prepared(tmp_path, complete_limits, "", "continuous")

    assert b"<limit" not in text.text
    assert text.notes == ()


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        ('lower="1" upper="-1"', False),
        ('lower="-1" upper="1"', True),
        ('lower="1"', True),
        ('lower="one" upper="two"', True),
    ],
)
def test_only_reversed_limits_are_left_out(
    *,
    bounds: str,
    left: bool,
    tmp_path: Path,
) -> None:
    """Effort and velocity are kept."""
    limit = f'<limit {bounds} effort="2" velocity="3"/>'
    text = _prepared(tmp_path, leave_out_reversed_bounds, limit)

    assert (b"lower" in text.text) is left
    assert b'effort="2"' in text.text
    assert bool(text.notes) is not left


def test_element_is_left_out_with_its_reason(tmp_path: Path) -> None:
    """The element is removed from joints only."""
    text = _prepared(tmp_path, leave_out("mimic", "it bites"), '<mimic joint="x"/>')

    assert b"mimic" not in text.text
    assert text.notes == ("<mimic> of joints was left out: it bites.",)
    assert _prepared(tmp_path, leave_out("mimic", "it bites"), "").notes == ()


@pytest.mark.parametrize(
    ("kind", "left"), [("fixed", False), ("floating", False), ("continuous", True)]
)
def test_mimic_of_a_fixed_joint_is_left_out(*, kind: str, left: bool, tmp_path: Path) -> None:
    """Newton refuses the unprepared file."""
    text = _prepared(tmp_path, leave_out_idle_couplings, '<mimic joint="elsewhere"/>', kind)

    assert (b"mimic" in text.text) is left
    assert bool(text.notes) is not left


def test_mimic_that_refers_to_a_fixed_joint_is_left_out(tmp_path: Path) -> None:
    """A fixed joint has no position."""
    weld = """</joint><link name="end"/><joint name="weld" type="fixed">
    <parent link="arm"/><child link="end"/>"""
    mimic = f'<mimic joint="weld"/>{weld}'
    text = _prepared(tmp_path, leave_out_idle_couplings, mimic)

    assert b"mimic" not in text.text
    assert any("j." in note for note in text.notes)


@pytest.mark.parametrize(
    ("dynamics", "left"),
    [("<dynamics/>", False), ('<dynamics damping="0"/>', True), ("", False)],
)
def test_empty_dynamics_are_left_out(
    *,
    dynamics: str,
    left: bool,
    tmp_path: Path,
) -> None:
    """A value of zero is kept."""
    text = _prepared(tmp_path, leave_out_empty_dynamics, dynamics)

    assert (b"dynamics" in text.text) is left


def test_root_is_renamed_only_where_necessary(tmp_path: Path) -> None:
    """Some engines treat inner links named ``world`` as their world, some any."""
    kept = _prepared(tmp_path, rename_inner_link("world"), "")
    renamed = _prepared(tmp_path, rename_link("world"), "")

    assert kept.links == {"world", "arm"}
    assert renamed.links == {"world_", "arm"}
    assert renamed.original("world_") == "world"
    assert b'<parent link="world_"/>' in renamed.text
