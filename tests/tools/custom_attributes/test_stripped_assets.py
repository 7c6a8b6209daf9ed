"""Assets without any ``urdf:`` opinion conform, unless only URDF has the value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.custom_attributes.removal import convert_pair, custom_opinions
from urdf_usd import check, read_usd
from urdf_usd.converter import ConvertOptions, Profile
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.robot.model import Floating
from urdf_usd.reports.records.record import Grade, RobotRecord

_BODY = """<inertial><origin xyz="0.1 0.2 0.3"/><mass value="1.5"/>
  <inertia ixx="0.2" ixy="0.01" ixz="0.02" iyy="0.3" iyz="0.03" izz="0.4"/>
  </inertial>"""
_PLACE = '<origin xyz="0.1 0.2 0.5" rpy="0.1 0.2 0.3"/>'


def _joint(name: str, kind: str, parent: str, child: str, content: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/>{_PLACE}{content}</joint>'
    )


_HINGE = '<axis xyz="0 0.6 0.8"/>'
_ROBOTS = {
    "frames of the world": '<link name="world"/><link name="foot"/>'
    f'<link name="base">{_BODY}</link><link name="arm">{_BODY}</link>'
    + _joint("w1", "fixed", "world", "foot")
    + _joint("w2", "fixed", "foot", "base")
    + _joint("j", "continuous", "base", "arm", _HINGE),
    "scenery": '<link name="ground"/><link name="tree"/>'
    + _joint("root", "fixed", "ground", "tree"),
    "floating joint": f'<link name="base">{_BODY}</link><link name="ball">{_BODY}'
    f'</link><link name="arm">{_BODY}</link>'
    + _joint("free", "floating", "base", "ball")
    + _joint("j", "continuous", "ball", "arm", _HINGE),
    "moving joint at the world": f'<link name="world"/><link name="arm">{_BODY}</link>'
    + _joint("j", "continuous", "world", "arm", _HINGE),
    "massless root": f'<link name="base"/><link name="arm">{_BODY}</link>'
    + _joint("j", "continuous", "base", "arm", _HINGE),
    "massless frames": f'<link name="base">{_BODY}</link><link name="flange"/>'
    f'<link name="tool">{_BODY}</link>'
    + _joint("f", "fixed", "base", "flange")
    + _joint("t", "fixed", "flange", "tool"),
    "mass below a massless root": '<link name="footprint"/><link name="sensor"/>'
    f'<link name="base">{_BODY}</link><link name="arm">{_BODY}</link>'
    + _joint("r", "fixed", "footprint", "base")
    + _joint("s", "fixed", "base", "sensor")
    + _joint("j", "continuous", "base", "arm", _HINGE),
    "reversed limits": f'<link name="base">{_BODY}</link>'
    f'<link name="arm">{_BODY}</link>'
    + _joint(
        *("j", "prismatic", "base", "arm"),
        f'{_HINGE}<limit lower="1" upper="-1" effort="1" velocity="1"/>',
    ),
}


def _pair(text: str, folder: Path, options: ConvertOptions) -> tuple[Path, Path]:
    urdf = folder / "robot.urdf"
    urdf.write_text(f'<robot name="robot">{text}</robot>')
    pair = convert_pair(str(urdf), str(folder), options)
    assert not isinstance(pair, str), pair
    return urdf, pair.stripped


def _findings(record: RobotRecord) -> list[str]:
    return [
        f"{one.id}: {finding.message}"
        for one in record.checks
        if one.grade not in {Grade.EXACT, Grade.CLOSE, Grade.NOT_APPLICABLE}
        for finding in one.findings
    ]


@pytest.mark.parametrize("base", [BaseOption.AUTO, BaseOption.FIXED])
@pytest.mark.parametrize("profile", [Profile.GENERIC, Profile.PHYSX])
@pytest.mark.parametrize("name", _ROBOTS)
def test_stripped_asset_conforms(
    name: str, profile: Profile, base: BaseOption, tmp_path: Path
) -> None:
    """Names, structure and masses do not depend on attributes of this converter."""
    options = ConvertOptions(profile=profile, base=base)
    urdf, usd = _pair(_ROBOTS[name], tmp_path, options)

    record = check(urdf, usd)

    assert custom_opinions(usd) == ()
    assert record.verdict.conforms, (record.reason, _findings(record))


def test_stripped_floating_joint_is_read_back(tmp_path: Path) -> None:
    """The prim is disabled and has no limits, which URDF calls floating."""
    _, usd = _pair(_ROBOTS["floating joint"], tmp_path, ConvertOptions())

    robot = read_usd(usd).robot

    assert {joint.name: type(joint.kind) for joint in robot.joints}["free"] is Floating


def test_removal_leaves_standard_opinions(tmp_path: Path) -> None:
    """Only custom opinions differ; custom elements are removed with their Scope."""
    text = f'<link name="a" foo="1">{_BODY}<bar x="2">text</bar></link>'
    urdf, usd = _pair(text, tmp_path, ConvertOptions())
    whole = usd.parents[1] / "whole" / usd.name
    assert custom_opinions(whole)

    first, second = read_usd(whole).robot, read_usd(usd).robot

    assert first.links == second.links
    assert first.links[0].custom.attributes
    assert not second.links[0].custom.attributes
    assert not second.links[0].custom.elements
    assert urdf.exists()
