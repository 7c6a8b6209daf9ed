"""Robot schema of Isaac Sim 6.2 (isaacsim-robot-schema), in a layer of its own.

Links and joints are listed in the order in which Isaac Sim finds them: depth first from
the base, and all joints of a link before those of the next. Frames without content
below a link are sites, and follow it. The joint that fixes the base is the first one
(SimReady, RC.009).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pxr import Sdf, Usd

from urdf_usd.converter.robot.model import Floating, Joint
from urdf_usd.converter.usd.profiles import ROBOT_TYPE
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import apply, over, write_new

LICENSE = "asset_license"
# Version of an asset whose URDF is in no versioned package.
UNVERSIONED = "0.0.0"
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


def author_robot_schema(
    layer: Sdf.Layer,
    stage: Usd.Stage,
    prims: Prims,
    version: str,
    metadata: Mapping[str, str],
    custom: Sdf.Layer | None,
) -> None:
    """Write the schemas of the robot, its links, frames and joints.

    Args:
        layer: Layer that gets overs.
        stage: The asset without that layer.
        prims: The robot.
        version: Version of the asset.
        metadata: Type and licence of the robot, by name, if they are known.
        custom: Layer of custom data, if there is one.
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
    links, joints = _order(prims, stage)
    sites = _sites(prims, stage, custom)
    if not (prims.anchor is not None or any(_articulated(prims))):
        # Without joints, Isaac Sim looks for bodies alone.
        sites = {}
    for parent in (prims.robot, prims.geometry, prims.physics, *sites):
        # The layer is weaker than those of physics, and would define the order.
        for child in stage.GetPrimAtPath(parent).GetChildren():
            over(layer, child.GetPath())
    listed: list[Sdf.Path] = []
    for name in links:
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


def _order(prims: Prims, stage: Usd.Stage) -> tuple[list[str], list[Sdf.Path]]:
    """Return the links with bodies depth first, and the paths of joints as found.

    Joints of a body are in the order of the stage, also those whose parent in the URDF
    is a link that was merged into the body.
    """
    tree, body_of = prims.tree, prims.bodies.body_of
    scope = stage.GetPrimAtPath(prims.physics)
    order = {child.GetPath(): place for place, child in enumerate(scope.GetChildren())}
    moving = [
        joint
        for below in tree.child_joints.values()
        for joint in below
        if joint.name in prims.joint
    ]
    moving.sort(key=lambda joint: order[prims.joint[joint.name]])
    below = defaultdict(list)
    for joint in moving:
        below[body_of[joint.parent]].append(joint)
    joints = [prims.anchor] if prims.anchor is not None else []
    # None stands for links that are fixed to the world. Bodies that no joint connects
    # to the base follow.
    links: dict[str | None, None] = {}
    roots = [name for name in tree.links if body_of[name] == name]
    pending = [*reversed(roots), body_of[tree.root]]
    while pending:
        body = pending.pop()
        if body in links:
            continue
        links[body] = None
        joints += [prims.joint[joint.name] for joint in below[body]]
        pending += [body_of[joint.child] for joint in reversed(below[body])]
    return [body for body in links if body is not None], joints


def _articulated(prims: Prims) -> Iterator[Joint]:
    """Return the joints with prims that belong to an articulation."""
    for below in prims.tree.child_joints.values():
        for joint in below:
            if joint.name in prims.joint and not isinstance(joint.kind, Floating):
                yield joint


def _sites(
    prims: Prims, stage: Usd.Stage, custom: Sdf.Layer | None
) -> dict[Sdf.Path, list[Sdf.Path]]:
    """Return the frames directly below a body without anything below them."""

    def is_empty(path: Sdf.Path) -> bool:
        data = custom.GetPrimAtPath(path) if custom is not None else None
        below = data.nameChildren if data is not None else ()
        return not (below or stage.GetPrimAtPath(path).GetChildren())

    links = prims.tree.links
    bodies = {prims.link[name] for name in links if prims.bodies.body_of[name] == name}
    found: dict[Sdf.Path, list[Sdf.Path]] = {}
    for name in links:
        path = prims.link[name]
        is_frame = path not in bodies and path.GetParentPath() in bodies
        if is_frame and is_empty(path):
            found.setdefault(path.GetParentPath(), []).append(path)
    return found


def _label(layer: Sdf.Layer, path: Sdf.Path, name: str, schema: str, attribute: str) -> None:
    """Apply a schema, with the name in the URDF if the prim has another one."""
    spec = over(layer, path)
    apply(spec, schema)
    if path.name != name:
        write_new(spec, attribute, Sdf.ValueTypeNames.String, name)


def _list(robot: Sdf.PrimSpec, name: str, paths: Sequence[Sdf.Path]) -> None:
    relationship = Sdf.RelationshipSpec(robot, name, custom=False)
    # Not explicit, as in Isaac Sim: other layers can add parts.
    relationship.targetPathList.prependedItems = list(paths)
