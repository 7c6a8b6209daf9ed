"""The robot schema of Isaac Sim: lists of links and joints, and their names.

Isaac Sim reports links and joints in the order of ``isaac:physics:robotLinks`` and
``isaac:physics:robotJoints``, as far as they have its schemas, and appends those that
the lists lack. Empty lists state nothing: it finds all parts by their joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pxr import Usd

from urdf_usd.conformance.engines.openusd.joint_attributes import applied_schemas
from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.links import WORLD
from urdf_usd.conformance.engines.openusd.settings.parts import Parts
from urdf_usd.conformance.engines.openusd.stage import urdf_name
from urdf_usd.conformance.observation.robot import (
    SettingKind,
    UnexpectedSetting,
)

_LINKS = "isaac:physics:robotLinks"
_JOINTS = "isaac:physics:robotJoints"
_NAMESPACE = "isaac:namespace"
_NAMES = {
    "IsaacLinkAPI": ("isaac:nameOverride",),
    # The first is a former spelling, which Isaac Sim converts.
    "IsaacJointAPI": ("isaac:nameOverride", "isaac:NameOverride"),
}
_ROBOT = "IsaacRobotAPI"


def robot_schema_settings(
    every: Sequence[Usd.Prim], parts: Parts, joints: Sequence[Connection]
) -> Iterator[UnexpectedSetting]:
    """Yield incomplete or unordered lists, other names, and a namespace."""
    for prim in every:
        schemas = applied_schemas(prim)
        if _ROBOT in schemas:
            yield from _of_robot(prim, parts, joints)
        for schema, attributes in _NAMES.items():
            if schema in schemas:
                yield from _of_names(prim, attributes, parts)


def _of_names(
    prim: Usd.Prim, attributes: Iterable[str], parts: Parts
) -> Iterator[UnexpectedSetting]:
    for attribute in attributes:
        name = prim.GetAttribute(attribute).Get()
        if name and name != urdf_name(prim):
            yield parts.setting(SettingKind.ARTICULATION, prim, attribute, urdf_name(prim), name)


def _of_robot(
    prim: Usd.Prim, parts: Parts, joints: Sequence[Connection]
) -> Iterator[UnexpectedSetting]:
    namespace = prim.GetAttribute(_NAMESPACE).Get()
    if namespace:
        kind = SettingKind.ARTICULATION
        yield parts.setting(kind, prim, _NAMESPACE, "empty", namespace)
    inside = [
        joint
        for joint in joints
        if parts.physics.stage.GetPrimAtPath(joint.path).GetPath().HasPrefix(prim.GetPath())
    ]
    # The last joint that moves a body; a tree has one of each.
    mover = {joint.bodies[joint.child]: joint.path for joint in inside}
    links: dict[str, str] = {}
    after: dict[str, str] = {}
    for joint in inside:
        parent, child = joint.bodies[joint.parent], joint.bodies[joint.child]
        links |= {body: "IsaacLinkAPI" for body in (parent, child) if body != WORLD}
        if joint.articulated and WORLD not in (parent, child):
            after[child] = parent
    yield from _of_list(prim, _LINKS, links, after, parts)
    before = {
        joint.path: mover[joint.bodies[joint.parent]]
        for joint in inside
        if joint.articulated and joint.bodies[joint.parent] in mover
    }
    required = {joint.path: "IsaacJointAPI" for joint in inside}
    yield from _of_list(prim, _JOINTS, required, before, parts)


def _of_list(
    prim: Usd.Prim,
    name: str,
    required: dict[str, str],
    before: dict[str, str],
    parts: Parts,
) -> Iterator[UnexpectedSetting]:
    """Compare a list with the parts of a robot.

    Args:
        prim: The robot.
        name: The relationship.
        required: Schema of each part, by path.
        before: Part that has to precede another one, by path of the latter.
        parts: The stage.
    """
    stage = parts.physics.stage
    relationship = prim.GetRelationship(name)
    targets = [str(path) for path in relationship.GetTargets()] if relationship else []
    if not targets:
        return
    # A robot in the list stands for all its parts.
    robots = [
        f"{path}/"
        for path in targets
        if (other := stage.GetPrimAtPath(path)) and _ROBOT in applied_schemas(other)
    ]
    place = {
        path: number
        for number, path in enumerate(targets)
        if path not in required or required[path] in applied_schemas(stage.GetPrimAtPath(path))
    }
    for path in required:
        if path not in place and not path.startswith(tuple(robots)):
            yield _entry(parts, path, f"{name} lacks it", "listed", "not listed")
    for path, earlier in before.items():
        if path in place and earlier in place and place[path] < place[earlier]:
            other = urdf_name(stage.GetPrimAtPath(earlier))
            message = f"{name} has it before {other}, which carries it"
            yield _entry(parts, path, message, f"after {other}", f"before {other}")
    for path in targets:
        if not stage.GetPrimAtPath(path):
            message = f"{name} lists {path}, which does not exist"
            yield _entry(parts, str(prim.GetPath()), message, "no such entry", path)


def _entry(parts: Parts, path: str, message: str, expected: str, actual: str) -> UnexpectedSetting:
    subject = parts.subject(parts.physics.stage.GetPrimAtPath(path))
    kind = SettingKind.ARTICULATION
    return UnexpectedSetting(kind, subject, message, expected, actual)
