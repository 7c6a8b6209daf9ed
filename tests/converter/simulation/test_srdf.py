"""SRDF: disabled pairs and named poses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.converter.simulation.resolution import resolve
from urdf_usd.converter.simulation.sources import Simulation
from urdf_usd.converter.urdf.parse import parse

_SRDF = """\
<robot name="two">
  <group name="arm"><joint name="hinge"/></group>
  <group_state group="arm" name="ready">
    <joint name="hinge" value="0.5"/><joint name="ball" value="1 0 0 0"/>
    <joint name="lost" value="1"/>
  </group_state>
  <group_state group="hand" name="open"><joint name="slide" value="0.3"/></group_state>
  <group_state group="arm" name="open"><joint name="hinge" value="0.1"/></group_state>
  <disable_collisions link1="tool" link2="base" reason="Never"/>
  <disable_collisions link1="tool" link2="ghost"/>
  <disable_default_collisions link="finger"/>
  <enable_collisions link1="finger" link2="base"/>
</robot>
"""

_ENTITY = "<!DOCTYPE r [<!ENTITY a 'b'>]><r/>"


def _resolved(
    folder: Path, text: str, srdf: str = _SRDF
) -> tuple[Simulation, tuple[Diagnostic, ...]]:
    (folder / "two.srdf").write_text(srdf, encoding="utf-8")
    robot = parse(write_urdf(folder)).robot
    description = load_description(write_description(folder, text))
    notes: list[Diagnostic] = []
    return resolve(description, robot, robot, notes), tuple(notes)


def test_disabled_pairs_and_pairs_of_joints_are_filtered(tmp_path: Path) -> None:
    """A link whose contacts are disabled by default has one that is enabled."""
    text = """\
[filters]
srdf = "two.srdf"
parent_child = true
pairs = [["tool", "finger"], ["tool", "absent"]]
"""

    found, diagnostics = _resolved(tmp_path, text)

    assert found.filtered_pairs == (
        ("arm", "base"),
        ("arm", "finger"),
        ("arm", "tool"),
        ("base", "tool"),
        ("finger", "tool"),
    )
    assert [str(one.location).rsplit("/", 1)[-1] for one in diagnostics] == [
        "two.srdf:10:3",
        "robot.toml:4:1",
    ]


def test_initial_pose_is_a_group_state(tmp_path: Path) -> None:
    """Positions of the file override it; joints that do not exist are reported."""
    text = """\
[pose]
srdf = "two.srdf"
state = "hand/open"
joints = { hinge = 0.25 }
"""

    found, _ = _resolved(tmp_path, text)
    ready, diagnostics = _resolved(tmp_path, text.replace("hand/open", "ready"))

    assert dict(found.positions) == pytest.approx({"hinge": 0.25, "slide": 0.3, "follower": -0.55})
    assert dict(ready.positions)["hinge"] == 0.25
    assert [one.rule for one in diagnostics] == ["description-unmatched"]


@pytest.mark.parametrize(
    ("text", "srdf", "message"),
    [
        ('[pose]\nstate = "open"', _SRDF, "needs an SRDF"),
        ('[pose]\nsrdf = "two.srdf"\nstate = "open"', _SRDF, "several poses 'open'"),
        ('[pose]\nsrdf = "two.srdf"\nstate = "up"', _SRDF, "no pose 'up'; it has arm"),
        ('[filters]\nsrdf = "two.srdf"', "<sdf/>", "root element is <sdf>"),
        (
            '[filters]\nsrdf = "two.srdf"',
            _SRDF.replace('"0.5"', '"half"'),
            r"two\.srdf:4:5: error: 'half' is no position",
        ),
        (
            '[filters]\nsrdf = "two.srdf"',
            "<!DOCTYPE r [<!ENTITY a 'b'>]><r/>",
            "entity",
        ),
    ],
)
def test_unusable_srdf_is_refused(tmp_path: Path, text: str, srdf: str, message: str) -> None:
    """With the place of the problem."""
    with pytest.raises(ConversionError, match=message):
        _resolved(tmp_path, text, srdf)
