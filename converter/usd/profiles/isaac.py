"""Robot schema of Isaac Sim 6.2 (isaacsim-robot-schema), in a layer of its own.

Links and joints are listed in the order in which Isaac Sim finds them: depth first from
the base, and all joints of a link before those of the next. Frames without content
below a link are sites, and follow it. The joint that fixes the base is the first one
(SimReady, RC.009).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pxr import Sdf, Usd

from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.usd.writer.interface import UNVERSIONED
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import apply, over, write_new

ROBOT_TYPE = "robot_type"
LICENSE = "asset_license"
# Values of isaac:robotType besides the fallback, which is no type.
ROBOT_TYPES = (
    "End Effector",
    "Manipulator",
    "Humanoid",
    "Wheeled",
    "Holonomic",
    "Quadruped",
    "Mobile Manipulators",
    "Aerial",
)
# Values of isaac:license besides the fallback, which stands for all others.
_LICENSES = frozenset(
    {
        *("MIT", "Apache-2.0", "GPL-3.0", "LGPL-3.0", "BSD-3-Clause", "BSD-2-Clause"),
        *("ISC", "MPL-2.0", "EPL-2.0", "CC0-1.0", "Unlicense"),
    }
)


def author_robot_schema(  # noqa: PLR0917  # one parameter per input
    layer: Sdf.Layer,
    stage: Usd.Stage,
    tree: Tree,
    body_assignment: BodyAssignment,
    prims: Prims,
    version: str,
    metadata: Mapping[str, str],
) -> None:
    """Write the schemas of the robot, its links, frames and joints.

    Args:
        layer: Layer that gets overs.
        stage: The asset without that layer.
        tree: The robot.
        body_assignment: Its bodies.
        prims: Paths of all prims.
        version: Version of the asset.
        metadata: Type and licence of the robot, by name, if they are known.
    """
    robot = over(layer, prims.robot)
    apply(robot, "IsaacRobotAPI")
    if version != UNVERSIONED:
        write_new(robot, "isaac:version", Sdf.ValueTypeNames.String, version)
    token = Sdf.ValueTypeNames.Token
    if kind := metadata.get(ROBOT_TYPE):
        write_new(robot, "isaac:robotType", token, kind)
    if metadata.get(LICENSE) in _LICENSES:
        write_new(robot, "isaac:license", token, metadata[LICENSE])
    links, joints = _order(tree, prims)
    sites = _sites(tree, body_assignment, prims)
    for parent in (prims.robot, prims.geometry, prims.physics, *sites):
        # The layer is weaker than those of physics, and would define the order.
        for child in stage.GetPrimAtPath(parent).GetChildren():
            over(layer, child.GetPath())
    listed: list[Sdf.Path] = []
    for name in links:
        if body_assignment.body_of[name] == name:
            path = prims.link[name]
            _label(layer, path, name, "IsaacLinkAPI", "isaac:nameOverride")
            listed += [path, *sites.get(path, ())]
    for path in (path for found in sites.values() for path in found):
        apply(over(layer, path), "IsaacSiteAPI")
    names = {path: name for name, path in prims.joint.items()}
    for path in joints:
        name = names.get(path, path.name)
        _label(layer, path, name, "IsaacJointAPI", "isaac:NameOverride")
    _list(robot, "isaac:physics:robotLinks", listed)
    _list(robot, "isaac:physics:robotJoints", joints)


def _order(tree: Tree, prims: Prims) -> tuple[list[str], list[Sdf.Path]]:
    """Return the links depth first, and the paths of the joints as they are found."""
    links: list[str] = []
    joints = [prims.anchor] if prims.anchor is not None else []
    pending = [tree.root]
    while pending:
        name = pending.pop()
        links.append(name)
        below = tree.child_joints[name]
        joints += [prims.joint[one.name] for one in below if one.name in prims.joint]
        pending += [joint.child for joint in reversed(below)]
    return links, joints


def _sites(
    tree: Tree, body_assignment: BodyAssignment, prims: Prims
) -> dict[Sdf.Path, list[Sdf.Path]]:
    """Return the frames directly below a body without shapes or frames below them."""
    occupied = {path.GetParentPath() for path in prims.link.values()}
    bodies = {
        prims.link[name] for name in tree.links if body_assignment.body_of[name] == name
    }
    found: dict[Sdf.Path, list[Sdf.Path]] = {}
    for name in tree.links:
        path = prims.link[name]
        bare = not (path in occupied or prims.visual[name] or prims.collision[name])
        if bare and path not in bodies and path.GetParentPath() in bodies:
            found.setdefault(path.GetParentPath(), []).append(path)
    return found


def _label(
    layer: Sdf.Layer, path: Sdf.Path, name: str, schema: str, attribute: str
) -> None:
    """Apply a schema, with the name in the URDF if the prim has another one."""
    spec = over(layer, path)
    apply(spec, schema)
    if path.name != name:
        write_new(spec, attribute, Sdf.ValueTypeNames.String, name)


def _list(robot: Sdf.PrimSpec, name: str, paths: Sequence[Sdf.Path]) -> None:
    relationship = Sdf.RelationshipSpec(robot, name, custom=False)
    # Not explicit, as in Isaac Sim: other layers can add parts.
    relationship.targetPathList.prependedItems = list(paths)
