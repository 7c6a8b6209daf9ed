"""Lists and names of Isaac Sim's robot schema agree with the robot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.engines.usd_observations import body, joint, observe_stage, stage
from urdf_usd.conformance.observation.robot import SettingKind

_LINKS = ("base", "arm", "hand")
_JOINTS = ("shoulder", "wrist")
_MASS = "float physics:mass = 2\nfloat3 physics:diagonalInertia = (1, 1, 1)\n"


def _settings(
    folder: Path,
    links: tuple[str, ...] = _LINKS,
    joints: tuple[str, ...] = _JOINTS,
    content: str = "",
    *,
    unlabelled: str = "",
    hand: str = "",
) -> list[tuple[str, str]]:
    """Return subjects and messages for a chain of three links."""
    lists = {"robotLinks": links, "robotJoints": joints}
    text = ""
    for name, names in lists.items():
        paths = ", ".join(f"</robot/{one}>" for one in names)
        text += f"rel isaac:physics:{name} = [{paths}]\n"
    for link in _LINKS:
        label = () if link == unlabelled else ("IsaacLinkAPI",)
        inside = _MASS + (hand if link == "hand" else "")
        text += body(link, inside, ("PhysicsMassAPI", *label))
    for name, sides in zip(_JOINTS, (_LINKS[:2], _LINKS[1:]), strict=True):
        label = () if name == unlabelled else ("IsaacJointAPI",)
        text += joint("PhysicsRevoluteJoint", name, "", (sides[0], sides[1]), label)
    path = stage(folder, text + content, 'metersPerUnit = 1\n    upAxis = "Z"')
    schemas = '(prepend apiSchemas = ["IsaacRobotAPI", "PhysicsArticulationRootAPI"])'
    whole = path.read_text()
    path.write_text(whole.replace('Xform "robot"', f'Xform "robot" {schemas}'))
    found = observe_stage(path).unexpected
    assert found is not None
    return [(one.subject, one.message) for one in found if one.kind is SettingKind.ARTICULATION]


@pytest.mark.parametrize("joints", [(), _JOINTS])
@pytest.mark.parametrize("links", [(), _LINKS])
def test_whole_lists_and_empty_ones_agree(
    tmp_path: Path, links: tuple[str, ...], joints: tuple[str, ...]
) -> None:
    """Isaac Sim finds the parts of an empty list by the joints."""
    content = 'string isaac:namespace = ""\ntoken isaac:robotType = "Aerial"'

    assert _settings(tmp_path, links, joints, content) == []


@pytest.mark.parametrize(
    ("links", "joints", "setting"),
    [
        (("base", "hand"), _JOINTS, ("link arm", "isaac:physics:robotLinks lacks it")),
        (_LINKS, ("wrist",), ("joint shoulder", "isaac:physics:robotJoints lacks it")),
        (
            ("arm", "base", "hand"),
            _JOINTS,
            ("link arm", "isaac:physics:robotLinks has it before base, which carries it"),
        ),
        (
            _LINKS,
            ("wrist", "shoulder"),
            ("joint wrist", "isaac:physics:robotJoints has it before shoulder, which carries it"),
        ),
        (
            (*_LINKS, "ghost"),
            _JOINTS,
            ("robot", "isaac:physics:robotLinks lists /robot/ghost, which does not exist"),
        ),
    ],
)
def test_wrong_lists_are_found(
    tmp_path: Path, links: tuple[str, ...], joints: tuple[str, ...], setting: tuple[str, str]
) -> None:
    assert _settings(tmp_path, links, joints) == [setting]


@pytest.mark.parametrize("part", ["link arm", "joint wrist"])
def test_entries_without_schema_do_not_count(tmp_path: Path, part: str) -> None:
    """Isaac Sim skips them."""
    (found,) = _settings(tmp_path, unlabelled=part.split()[1])

    assert found[0] == part
    assert found[1].endswith("lacks it")


def test_namespace_and_other_names_are_found(tmp_path: Path) -> None:
    found = _settings(
        tmp_path,
        content='string isaac:namespace = "left"',
        hand='string isaac:nameOverride = "claw"',
    )

    assert found == [
        ("robot", "isaac:namespace is left, not empty"),
        ("link hand", "isaac:nameOverride is claw, not hand"),
    ]
