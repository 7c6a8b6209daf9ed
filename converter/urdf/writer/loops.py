"""Data for MuJoCo, and joints that close loops, as extensions of a URDF.

MuJoCo reads ``<compiler>`` in ``<mujoco>`` of a URDF. It does not read ``<equality>``
there (measured with version 4.0.0); the file of :func:`mjcf_text` attaches the URDF to
a model with these constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import (
    Custom,
    CustomElement,
    LoopJoint,
    Robot,
    Vec3,
    XmlElement,
)
from urdf_usd.converter.robot.rigid import compose, invert_pose, transform_point

LOOP = "usd_loop"
_MUJOCO = "mujoco"
# MuJoCo refuses moving bodies without mass; these bounds are far below those of robots
# [kg, kg m^2]. It merges links that do not move, which constraints could not name then.
_COMPILER = (("boundmass", "1e-9"), ("boundinertia", "1e-12"))
_LOOP_COMPILER = (("fusestatic", "false"),)
# Distance of the second anchor of a hinge, along its axis [m].
_LEVER = 0.1


def extend_for_mujoco(robot: Robot, loops: Sequence[LoopJoint], notes: list[Diagnostic]) -> Robot:
    """Add the settings with which MuJoCo reads the URDF, and joints that close loops.

    Settings that the robot already has are kept.

    Args:
        robot: The robot, perhaps with links without mass between joints.
        loops: Joints that close loops.
        notes: Receives diagnostics.
    """
    elements = [one for one in robot.custom.elements if not _is_former(one.content, loops)]
    found = [one for one in elements if one.content.tag == _MUJOCO]
    former = found[0].content if found else XmlElement(_MUJOCO)
    wanted = _COMPILER + (_LOOP_COMPILER if loops else ())
    compiler = next((c for c in former.children if c.tag == "compiler"), None)
    stated = dict(compiler.attributes) if compiler else {}
    attributes = tuple({**dict(wanted), **stated}.items())
    children = [XmlElement("compiler", attributes)]
    children += [one for one in former.children if one is not compiler]
    constraints: list[XmlElement] = []
    for joint in loops:
        own = equality(joint)
        constraints += own
        if not own:
            message = f"MuJoCo has no constraint like joint {joint.name!r}, a {joint.schema}"
            notes.append(Diagnostic("loop-without-constraint", message))
    if constraints:
        children = [one for one in children if one.tag != "equality"]
        children.append(XmlElement("equality", children=tuple(constraints)))
    extension = CustomElement(XmlElement(_MUJOCO, former.attributes, "", tuple(children)))
    others = [one for one in elements if not found or one is not found[0]]
    custom = Custom(
        robot.custom.attributes,
        (extension, *others, *(CustomElement(_element(joint)) for joint in loops)),
    )
    return structs.replace(robot, custom=custom)


def mjcf_text(urdf: str, robot: Robot, loops: Iterable[LoopJoint], mark: str) -> bytes:
    """Return an MJCF model that attaches the URDF and closes its loops.

    Args:
        urdf: Name of the URDF, in the folder of the model.
        robot: The robot.
        loops: Joints that close loops.
        mark: Text of a comment before the root element.
    """
    root = ET.Element(_MUJOCO, {"model": robot.name})
    assets = ET.SubElement(root, "asset")
    ET.SubElement(assets, "model", {"name": "robot", "file": urdf})
    world = ET.SubElement(root, "worldbody")
    ET.SubElement(world, "attach", {"model": "robot", "prefix": ""})
    constraints = ET.SubElement(root, "equality")
    for joint in loops:
        for one in equality(joint):
            ET.SubElement(constraints, one.tag, dict(one.attributes))
    ET.indent(root)
    return f"<!-- {mark} -->\n{ET.tostring(root, encoding='unicode')}\n".encode()


def equality(joint: LoopJoint) -> tuple[XmlElement, ...]:
    """Return MuJoCo's constraints for a joint; none if it has no equivalent.

    ``connect`` holds a point of two bodies together: one for a spherical joint, two
    along the axis for a hinge. Limits of the joint are not constrained.
    """
    bodies = tuple(zip(("body1", "body2"), joint.links, strict=True))
    first, second = joint.frames
    if joint.schema == "PhysicsFixedJoint":
        relative = compose(first, invert_pose(second))
        pose = _numbers((*relative.position, *relative.quat_wxyz))
        return (
            XmlElement(
                "weld",
                (
                    ("name", joint.name),
                    *bodies,
                    ("anchor", "0 0 0"),
                    ("relpose", pose),
                ),
            ),
        )
    anchors: list[Vec3] = []
    if joint.schema == "PhysicsSphericalJoint":
        anchors = [(0.0, 0.0, 0.0)]
    elif joint.schema == "PhysicsRevoluteJoint" and joint.axis is not None:
        x, y, z = joint.axis
        anchors = [(0.0, 0.0, 0.0), (_LEVER * x, _LEVER * y, _LEVER * z)]
    return tuple(
        XmlElement(
            "connect",
            (
                ("name", joint.name if not index else f"{joint.name}_{index + 1}"),
                *bodies,
                ("anchor", _numbers(transform_point(first, anchor))),
            ),
        )
        for index, anchor in enumerate(anchors)
    )


def _is_former(element: XmlElement, loops: Iterable[LoopJoint]) -> bool:
    names = {joint.name for joint in loops}
    return element.tag == LOOP and dict(element.attributes).get("name") in names


def _element(joint: LoopJoint) -> XmlElement:
    """Describe a joint: its prim type, links, and frame in both links."""
    attributes = [("name", joint.name), ("type", joint.schema)]
    if joint.axis is not None:
        attributes.append(("axis", _numbers(joint.axis)))
    sides = zip(joint.links, joint.frames, strict=True)
    return XmlElement(
        LOOP,
        tuple(attributes),
        children=tuple(
            XmlElement(
                f"body{side}",
                (
                    ("link", link),
                    ("xyz", _numbers(frame.position)),
                    ("quat_wxyz", _numbers(frame.quat_wxyz)),
                ),
            )
            for side, (link, frame) in enumerate(sides)
        ),
    )


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(value + 0.0).removesuffix(".0") for value in values)
