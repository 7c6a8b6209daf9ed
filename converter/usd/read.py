"""From a USD articulation to a robot, by what OpenUSD's physics parser reports.

Read are stages in metres, kilograms and Z up whose joints lie at the origin of their
child body, as URDF has it. Rigid bodies become links; so do frames that a conversion
marked as links. A fixed base without a link of its own hangs on a ``world`` link.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics

from converter.diagnostics import Diagnostic, StageError
from converter.model import Fixed, Joint, Link, Robot
from converter.spatial import inverse_transform, pose_from_transform
from converter.usd.custom import read_text
from converter.usd.read_joints import (
    JOINT_DESCRIPTIONS,
    joint_kind,
    local_transform,
    read_gaps,
)
from converter.usd.read_links import read_inertial, read_shapes

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float64]"

# A joint frame nearer than this to its child's origin is at it [m].
_AT_ORIGIN = 1e-7


def read_usd(path: str | os.PathLike[str]) -> Robot:
    """Read a robot from a USD file.

    Mesh shapes name the prim they are, since USD keeps no mesh files.

    Raises:
        StageError: The stage cannot be opened, or holds no robot that URDF could
            express.
    """
    try:
        stage = Usd.Stage.Open(str(path))
    except Tf.ErrorException as error:
        message = f"{path} cannot be opened: {str(error).splitlines()[-1].strip()}"
        raise StageError((Diagnostic("stage-unreadable", message),)) from error
    return read_stage(stage)


def read_stage(stage: Usd.Stage) -> Robot:
    """Read a robot from an open stage; see :func:`read_usd`.

    Raises:
        StageError: The stage holds no robot that URDF could express.
    """
    _require_units(stage)
    root = stage.GetDefaultPrim()
    if not root:
        _refuse("the stage has no default prim")
    descriptions = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, [root.GetPath()])
    link_prims = _link_prims(root, descriptions)
    names = _link_names(link_prims)
    joints: list[Joint] = []
    for kind in JOINT_DESCRIPTIONS:
        for _, description in zip(*descriptions.get(kind, ((), ())), strict=True):
            joint = _read_joint(stage, description, names)
            if joint is not None:
                joints.append(joint)
    joints += _frame_joints(stage, names, {joint.child for joint in joints})
    links = [_read_link(stage, path, name, names) for path, name in names.items()]
    robot_name = root.GetDisplayName() or root.GetName()
    defined = set(names.values())
    # The world is no prim: it appears when a joint holds a body to it.
    worlds = {joint.parent for joint in joints} - defined
    links += [Link(name) for name in sorted(worlds)]
    return Robot(robot_name, tuple(links), tuple(joints))


def _refuse(message: str) -> None:
    raise StageError((Diagnostic("stage-structure", message),))


def _require_units(stage: Usd.Stage) -> None:
    meters = UsdGeom.GetStageMetersPerUnit(stage)
    kilograms = UsdPhysics.GetStageKilogramsPerUnit(stage)
    up = UsdGeom.GetStageUpAxis(stage)
    if (meters, kilograms, up) != (1.0, 1.0, UsdGeom.Tokens.z):
        message = f"the stage has {meters} m and {kilograms} kg per unit, {up} up"
        raise StageError((Diagnostic("stage-units", message),))


def _link_prims(
    root: Usd.Prim, descriptions: dict[UsdPhysics.ObjectType, tuple[object, object]]
) -> list[Usd.Prim]:
    """Bodies, and frames that are marked as links, in stage order."""
    none: tuple[list[Sdf.Path], list[object]] = ([], [])
    bodies = set(descriptions.get(UsdPhysics.ObjectType.RigidBody, none)[0])  # type: ignore[call-overload]  # paths, in an untyped library
    return [
        prim
        for prim in Usd.PrimRange(root)
        if prim.GetPath() in bodies or read_text(prim, "link") is not None
    ]


def _link_names(prims: list[Usd.Prim]) -> dict[Sdf.Path, str]:
    names = {prim.GetPath(): prim.GetDisplayName() or prim.GetName() for prim in prims}
    if not names:
        _refuse("the stage has no rigid body and no link")
    if len(set(names.values())) < len(names):
        # Names of a flat list may repeat where the tree tells prims apart.
        return {path: str(path.name) for path in names}
    return names


def _link_of(path: Sdf.Path, names: dict[Sdf.Path, str]) -> Sdf.Path | None:
    """Nearest link at or above a path."""
    while path != Sdf.Path.absoluteRootPath:
        if path in names:
            return path
        path = path.GetParentPath()
    return None


def _read_joint(
    stage: Usd.Stage,
    description: UsdPhysics.JointDesc,
    names: dict[Sdf.Path, str],
) -> Joint | None:
    prim = stage.GetPrimAtPath(description.primPath)
    kind = joint_kind(prim, description)
    if kind is None:
        return None
    if not description.body1:
        _refuse(f"joint {prim.GetPath()} has no child body")
    child = names[description.body1]
    to_child = local_transform(
        description.localPose1Position, description.localPose1Orientation
    )
    if not isinstance(kind, Fixed) and np.abs(to_child[:3, 3]).max() > _AT_ORIGIN:
        _refuse(f"joint {prim.GetPath()} does not lie at the origin of its child")
    origin = local_transform(
        description.localPose0Position, description.localPose0Orientation
    ) @ inverse_transform(to_child)
    parent, parent_path = _parent_link(prim, description, names)
    if parent_path is not None:
        base = description.body0 or description.rel0
        origin = inverse_transform(_relative(stage, parent_path, base)) @ origin
    return Joint(
        prim.GetDisplayName() or prim.GetName(),
        parent,
        child,
        kind,
        pose_from_transform(origin),
        **read_gaps(prim),
    )


def _parent_link(
    prim: Usd.Prim, description: UsdPhysics.JointDesc, names: dict[Sdf.Path, str]
) -> tuple[str, Sdf.Path | None]:
    """Parent link of a joint, and its prim if it is not the parent body itself."""
    by_name = {name: path for path, name in names.items()}
    said = read_text(prim, "joint:parent")
    if said in by_name:
        return said, by_name[said]
    if description.body0:
        return names[description.body0], None
    name = "world"
    while name in by_name:
        name += "_"
    return name, None


def _relative(stage: Usd.Stage, path: Sdf.Path, base: Sdf.Path) -> Matrix:
    """Transform of a prim into the frame of another, without scale."""
    cache = UsdGeom.XformCache()

    def world(place: Sdf.Path) -> Gf.Matrix4d:
        prim = stage.GetPrimAtPath(place) if place else stage.GetPseudoRoot()
        return cache.GetLocalToWorldTransform(prim)

    matrix = world(path) * world(base).GetInverse()
    # Gf transforms row vectors.
    return np.array(matrix.RemoveScaleShear()).T


def _frame_joints(
    stage: Usd.Stage, names: dict[Sdf.Path, str], jointed: set[str]
) -> list[Joint]:
    """Fixed joints towards frames, which USD expresses by prim nesting alone."""
    joints = []
    for path, name in names.items():
        parent = _link_of(path.GetParentPath(), names)
        prim = stage.GetPrimAtPath(path)
        joint_name = read_text(prim, "joint:name")
        if name in jointed or parent is None or joint_name is None:
            continue
        pose = pose_from_transform(_relative(stage, path, parent))
        joint = Joint(joint_name, names[parent], name, Fixed(), pose)
        joints.append(replace(joint, **read_gaps(prim)))
    return joints


def _read_link(
    stage: Usd.Stage, path: Sdf.Path, name: str, names: dict[Sdf.Path, str]
) -> Link:
    prim = stage.GetPrimAtPath(path)
    visuals, collisions = read_shapes(
        [
            (shape, pose_from_transform(_relative(stage, shape.GetPath(), path)))
            for shape in Usd.PrimRange(prim)
            if shape.IsA(UsdGeom.Gprim) and _link_of(shape.GetPath(), names) == path
        ]
    )
    return Link(name, read_inertial(prim), visuals, collisions)
