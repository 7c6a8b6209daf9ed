"""Custom data is kept at its owner."""

from __future__ import annotations

import pytest

from tests.converter.urdf.conftest import Read
from urdf_usd.converter.robot.model import (
    Custom,
    CustomAttribute,
    CustomElement,
    XmlElement,
)


def test_attributes_have_an_owner_and_a_path(read: Read) -> None:
    """The owner is the nearest robot, link, joint, visual or collision."""
    robot = read(
        '<robot name="r" x="0"><link name="a" x="1"><inertial x="2">'
        '<mass value="1" x="3"/></inertial><collision x="4"><geometry x="5">'
        '<sphere radius="1" x="6"/></geometry></collision></link></robot>'
    ).robot

    link = robot.links[0]
    assert robot.custom.attributes == (CustomAttribute("x", "0"),)
    assert link.custom.attributes == (
        CustomAttribute("x", "1"),
        CustomAttribute("x", "2", ("inertial",)),
        CustomAttribute("x", "3", ("inertial", "mass")),
    )
    assert link.collisions[0].custom.attributes == (
        CustomAttribute("x", "4"),
        CustomAttribute("x", "5", ("geometry",)),
        CustomAttribute("x", "6", ("geometry", "sphere")),
    )


def test_elements_are_kept_with_their_content(read: Read) -> None:
    """Order of attributes, text nodes, and links that are not links of the robot."""
    robot = read(
        '<robot name="r"><link name="a"/>'
        '<x:y b="2" a="1" xmlns:x="u"> one <link name="z"/> two </x:y></robot>'
    ).robot

    attributes = (("b", "2"), ("a", "1"), ("xmlns:x", "u"))
    inner = XmlElement("link", (("name", "z"),))
    assert robot.custom.elements == (
        CustomElement(XmlElement("x:y", attributes, "one\ntwo", (inner,))),
    )
    assert [link.name for link in robot.links] == ["a"]


def test_gazebo_elements_belong_to_their_reference(read: Read) -> None:
    """A link before a joint of the same name; unknown references stay at the robot."""
    text = "".join(f'<gazebo reference="{name}"><n>{name}</n></gazebo>' for name in "abjz")
    robot = read(
        f'<robot name="r">{text}<link name="a"/><link name="b"/>'
        '<joint name="a" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<link name="c"/><joint name="j" type="fixed"><parent link="b"/>'
        '<child link="c"/></joint></robot>'
    ).robot

    def texts(custom: Custom) -> list[str]:
        return [element.content.children[0].text for element in custom.elements]

    assert {link.name: texts(link.custom) for link in robot.links} == {
        "a": ["a"],
        "b": ["b"],
        "c": [],
    }
    assert {joint.name: texts(joint.custom) for joint in robot.joints} == {
        "a": [],
        "j": ["j"],
    }
    assert texts(robot.custom) == ["z"]


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("fixed", ["axis xyz", "limit lower", "limit upper"]),
        ("spherical", ["axis xyz", "limit lower", "limit upper"]),
        ("planar", ["limit lower", "limit upper"]),
        ("continuous", ["limit lower", "limit upper"]),
        ("prismatic", []),
    ],
)
def test_attributes_without_meaning_for_a_joint_type_are_kept(
    read_joint: Read, kind: str, kept: list[str]
) -> None:
    """Axes of joints without one, limits of joints without a range."""
    joint = read_joint(
        f'type="{kind}"><axis xyz="0 1 0"/><limit lower="-1." upper="2."/>'
    ).robot.joints[0]

    found = {
        " ".join((*attribute.within, attribute.name)): attribute.value
        for attribute in joint.custom.attributes
    }
    written = {"axis xyz": "0 1 0", "limit lower": "-1.", "limit upper": "2."}
    assert found == {name: written[name] for name in kept}


def test_elements_of_newer_versions_are_kept(read_joint: Read) -> None:
    """They have no effect, as in urdfdom."""
    joint = read_joint(
        'type="continuous"><origin quat_xyzw="0 0 0.6 0.8"/><limit jerk="3"/>'
    ).robot.joints[0]

    assert joint.jerk is None
    assert joint.custom.attributes == (
        CustomAttribute("quat_xyzw", "0 0 0.6 0.8", ("origin",)),
        CustomAttribute("jerk", "3", ("limit",)),
    )


def test_custom_data_of_an_omitted_shape_belongs_to_the_link(read_link: Read) -> None:
    """For example PyBullet's ground plane."""
    link = read_link(
        '<collision x="1"><geometry><plane normal="0 0 1"/></geometry></collision>'
    ).robot.links[0]

    plane = XmlElement("plane", (("normal", "0 0 1"),))
    assert link.custom == Custom(
        (CustomAttribute("x", "1", ("collision",)),),
        (CustomElement(plane, ("collision", "geometry")),),
    )


def test_unused_material_is_kept(read: Read) -> None:
    """A used one is converted, and its custom data belongs to the robot."""
    robot = read(
        '<robot name="r" version="1.1">'
        '<material name="used" x="1"><color rgba="1 0 0 1" y="2"/></material>'
        '<material name="spare"><color rgba="0 1 0 1"/></material>'
        '<link name="a"><visual><geometry><sphere radius="1"/></geometry>'
        '<material name="used"/></visual></link></robot>'
    ).robot

    color = XmlElement("color", (("rgba", "0 1 0 1"),))
    spare = XmlElement("material", (("name", "spare"),), "", (color,))
    assert robot.custom == Custom(
        (
            CustomAttribute("version", "1.1"),
            CustomAttribute("x", "1", ("material", "used")),
            CustomAttribute("y", "2", ("material", "used", "color")),
        ),
        (CustomElement(spare),),
    )


def test_robots_that_differ_only_in_custom_data_are_equal(read: Read) -> None:
    """Custom data has no physical meaning."""
    one = read('<robot name="r"><link name="a"/></robot>').robot
    two = read('<robot name="r" x="1"><link name="a"><y/></link></robot>').robot

    assert one == two
    assert bool(two.custom)
    assert not one.custom
