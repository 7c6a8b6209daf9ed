from pathlib import Path

import pytest

from urdf_usd.conformance.engines.protocol import Request, UnsupportedError
from urdf_usd.conformance.engines.urdfdom import UrdfdomEngine
from urdf_usd.conformance.observation.robot import Configurations, Observation, Quantity

TREE = """<?xml version="1.0" encoding="{encoding}"?>
<robot name="r"><link name="base"/><link name="größe"/><link name="a b"/>
  <joint name="j 1" type="fixed"><parent link="base"/><child link="größe"/></joint>
  <joint name="j2" type="fixed"><parent link="base"/><child link="a b"/></joint></robot>"""
CYCLE = """<robot name="r"><link name="a"/>
  <joint name="j" type="fixed"><parent link="a"/><child link="a"/></joint></robot>"""
ITSELF = """<robot name="r"><link name="a"/><link name="b"/>
  <joint name="i" type="fixed"><parent link="a"/><child link="b"/></joint>
  <joint name="j" type="fixed"><parent link="b"/><child link="b"/></joint></robot>"""
UNDEFINED = """<robot name="r"><link name="a"/>
  <joint name="j" type="fixed"><parent link="world"/><child link="a"/></joint></robot>"""


def observe(file: Path) -> Observation:
    return UrdfdomEngine().observe(Request(str(file), Configurations((), (), ("zero",))))


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_urdfdom_states_the_tree(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(TREE.format(encoding=encoding), encoding=encoding)

    observation = observe(file)

    assert observation.states == {Quantity.LINKS, Quantity.JOINTS}
    assert observation.root == "base"
    assert {link.name for link in observation.links} == {"a b", "base", "größe"}
    assert {(j.name, j.parent, j.child) for j in observation.joints} == {
        ("j 1", "base", "größe"),
        ("j2", "base", "a b"),
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (UNDEFINED, "parent link [world] of joint [j] not found"),
        (CYCLE, "No root link found"),
        (ITSELF, "2 root links"),
    ],
)
def test_refusal_has_the_words_of_urdfdom(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(text)

    with pytest.raises(UnsupportedError) as raised:
        observe(file)
    assert reason in str(raised.value)
