"""Robot schema of Isaac Sim 6.2 (isaacsim-robot-schema), in a layer of its own.

Links and joints are listed as Isaac Sim finds them: depth first from the base, all joints of a
link before those of the next. Frames without content below a link are sites, and follow it. The
joint that fixes the base is the first one (SimReady, RC.009).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pxr import Sdf, Usd

from urdf_usd.converter.robot.model import Floating
from urdf_usd.converter.usd.writer.specs import KINDS, Prims, apply, over, write

# Metadata with which an asset has the robot schema, also of SimReady.
ROBOT_TYPE, LICENSE = "robot_type", "asset_license"
# Version of an asset whose URDF is in no versioned package.
UNVERSIONED = "0.0.0"
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
    """Write the schemas of the robot, its links, frames and joints."""
    robot = over(layer, prims.robot)
    apply(robot, "IsaacRobotAPI")
    if version != UNVERSIONED:
        write(robot, "isaac:version", version)
    if kind := metadata.get(ROBOT_TYPE):
        write(robot, "isaac:robotType", kind, KINDS.Token)
    if metadata.get(LICENSE) in _LICENSES:
        write(robot, "isaac:license", metadata[LICENSE], KINDS.Token)
    links, joints = _order(prims, stage)
    sites = _sites(prims, stage, custom)
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
        _label(layer, path, names.get(path, path.name), "IsaacJointAPI", "isaac:NameOverride")
    for key, paths in (("robotLinks", listed), ("robotJoints", joints)):
        relationship = Sdf.RelationshipSpec(robot, f"isaac:physics:{key}", custom=False)
        # Not explicit, as in Isaac Sim: other layers can add parts.
        relationship.targetPathList.prependedItems = paths


def _order(prims: Prims, stage: Usd.Stage) -> tuple[Sequence[str], list[Sdf.Path]]:
    """Return the links with bodies depth first, and the paths of joints as found.

    Joints of a body are in the order of the stage, also those whose parent in the URDF
    is a link that was merged into the body.
    """
    tree, body_of = prims.tree, prims.bodies.body_of
    by_path = {prims.joint[j.name]: j for j in tree.parent_joint.values() if j.name in prims.joint}
    below = defaultdict(list)
    for child in stage.GetPrimAtPath(prims.physics).GetChildren():
        if joint := by_path.get(child.GetPath()):
            below[body_of[joint.parent]].append(joint)
    joints = [prims.anchor] if prims.anchor is not None else []
    # None stands for links that are fixed to the world. Bodies that no joint connects
    # to the base follow.
    links: dict[str | None, None] = {}
    roots = [name for name in tree.links if body_of[name] == name]
    pending = [*reversed(roots), body_of[tree.root]]
    while pending:
        body = pending.pop()
        if body not in links:
            links[body] = None
            joints += [prims.joint[joint.name] for joint in below[body]]
            pending += [body_of[joint.child] for joint in reversed(below[body])]
    return [body for body in links if body is not None], joints


def _sites(
    prims: Prims, stage: Usd.Stage, custom: Sdf.Layer | None
) -> dict[Sdf.Path, list[Sdf.Path]]:
    """Return the frames directly below a body without anything below them.

    Without joints, Isaac Sim looks for bodies alone.
    """
    tree, body_of = prims.tree, prims.bodies.body_of
    joints = (joint for joint in tree.parent_joint.values() if joint.name in prims.joint)
    if prims.anchor is None and all(isinstance(joint.kind, Floating) for joint in joints):
        return {}
    bodies = {prims.link[name] for name in tree.links if body_of[name] == name}
    found: dict[Sdf.Path, list[Sdf.Path]] = {}
    for name in tree.links:
        path = prims.link[name]
        data = custom.GetPrimAtPath(path) if custom is not None else None
        is_frame = path not in bodies and path.GetParentPath() in bodies
        below = (data and data.nameChildren) or stage.GetPrimAtPath(path).GetChildren()
        if is_frame and not below:
            found.setdefault(path.GetParentPath(), []).append(path)
    return found


def _label(layer: Sdf.Layer, path: Sdf.Path, name: str, schema: str, attribute: str) -> None:
    """Apply a schema, with the name in the URDF if the prim has another one."""
    spec = over(layer, path)
    apply(spec, schema)
    if path.name != name:
        write(spec, attribute, name)
