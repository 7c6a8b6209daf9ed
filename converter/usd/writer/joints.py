"""Joints: frames, limits, ``urdf:`` attributes, and articulation roots.

A joint's frame on the child side is the child link's frame turned so that one of its
axes is the joint's axis; on the parent side it is the same frame at position zero, in
the frame of the parent's body.
"""

from __future__ import annotations

from math import degrees, isinf
from typing import assert_never

from pxr import Gf, Sdf

from urdf_usd.converter.robot.model import (
    IDENTITY,
    Continuous,
    Fixed,
    Floating,
    Generic,
    Joint,
    JointKind,
    Planar,
    Pose,
    Prismatic,
    Range,
    Revolute,
    Spherical,
    Vec3,
    Vec4,
)
from urdf_usd.converter.robot.spatial import (
    compose,
    invert_pose,
    rest_poses,
    rotation_onto_axis,
)
from urdf_usd.converter.usd.urdf_attributes import write_flag, write_number, write_text
from urdf_usd.converter.usd.writer.float32 import (
    NO_LIMIT,
    finest_frame,
    limit_to_float32,
    to_float32,
)
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import (
    apply,
    define,
    over,
    relate,
    show_spec_name,
    write,
    write_new,
)

# UsdPhysics locks an axis whose low limit is above its high one. Infinite values do
# not lock: OpenUSD's parser reads them as "no limit".
_LOCKED = (1.0, -1.0)
_FREE = (float("-inf"), float("inf"))
_FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
# Component of the bodies that are connected to the world; no link has an empty name.
_WORLD = ""


def author_joints(layer: Sdf.Layer, prims: Prims) -> None:
    """Write all joints between bodies, and the names of the other joints.

    Args:
        layer: The physics layer; faster if no stage composes it yet.
        prims: The robot.

    Raises:
        AuthoringError: A number is beyond float32.
    """
    tree = prims.tree
    rest = rest_poses(tree)
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        if joint is None:
            continue
        path = prims.joint.get(joint.name)
        if path is None:
            prim = over(layer, prims.link[name])
            write_text(prim, "joint:name", joint.name)
        else:
            prim = define(layer, path, _schema(joint.kind))
            show_spec_name(prim, joint.name)
            _author_frames(prim, joint, rest, prims)
            _author_freedom(prim, joint.kind)
        write_text(prim, "joint:type", type(joint.kind).__name__.lower())
        if joint.dont_collapse:
            write_flag(prim, "joint:dont_collapse")
        _author_unsupported_attributes(prim, joint)
    if prims.anchor is not None:
        anchor = define(layer, prims.anchor, "PhysicsFixedJoint")
        relate(anchor, "physics:body0", prims.robot)
        relate(anchor, "physics:body1", prims.link[tree.root])
        _author_pose(anchor, 0, IDENTITY, "the base")
        _author_pose(anchor, 1, IDENTITY, "the base")


def _schema(kind: JointKind) -> str:
    match kind:
        case Revolute() | Continuous():
            return "PhysicsRevoluteJoint"
        case Prismatic():
            return "PhysicsPrismaticJoint"
        case Fixed():
            return "PhysicsFixedJoint"
        case Spherical():
            return "PhysicsSphericalJoint"
        case Generic(cone=(_, _)):
            return "PhysicsSphericalJoint"
        case Planar() | Floating() | Generic():
            return "PhysicsJoint"
        case _:
            assert_never(kind)


def _author_frames(prim: Sdf.PrimSpec, joint: Joint, rest: dict[str, Pose], prims: Prims) -> None:
    origin = joint.origin
    backwards = isinstance(joint.kind, Generic) and joint.kind.backwards
    parent_side, child_side = (1, 0) if backwards else (0, 1)
    targets = "physics:body0", "physics:body1"
    parent_body = prims.bodies.body_of[joint.parent]
    if parent_body is None:
        # The default prim represents the world; the root link is at its origin.
        relate(prim, targets[parent_side], prims.robot)
        origin = compose(rest[joint.parent], origin)
    else:
        relate(prim, targets[parent_side], prims.link[parent_body])
        if parent_body != joint.parent:
            to_body = compose(invert_pose(rest[parent_body]), rest[joint.parent])
            origin = compose(to_body, origin)
    relate(prim, targets[child_side], prims.link[joint.child])
    if parent_body != joint.parent:
        write_text(prim, "joint:parent", joint.parent)
    turn = IDENTITY
    if isinstance(joint.kind, (Revolute, Continuous, Prismatic, Planar)):
        turn = Pose(quat_wxyz=_turn(joint.kind.axis, origin.quat_wxyz))
    elif isinstance(joint.kind, Generic):
        turn = joint.kind.frame
    of_parent = compose(origin, turn)
    _author_pose(prim, parent_side, of_parent, f"the origin of joint {joint.name!r}")
    _author_pose(prim, child_side, turn, f"the axis of joint {joint.name!r}")


def _turn(axis: Vec3, origin: Vec4) -> Vec4:
    """Choose the orientation of a joint's frame in the frame of its child."""
    _, turn = rotation_onto_axis(axis)
    # Coordinate axes get plain frames, for consumers that ignore the joint frame.
    if sum(c != 0 for c in axis) == 1:
        return turn
    return finest_frame(origin, turn, axis)


def _author_pose(joint: Sdf.PrimSpec, side: int, pose: Pose, what: str) -> None:
    position = Gf.Vec3f(*(to_float32(c, what) + 0.0 for c in pose.position))
    rotation = Gf.Quatf(*pose.quat_wxyz)
    write(joint, f"physics:localPos{side}", position)
    write(joint, f"physics:localRot{side}", rotation)


def _author_freedom(joint: Sdf.PrimSpec, kind: JointKind) -> None:
    match kind:
        case Revolute():
            lower, upper = _limits(kind.range, degrees(1.0))
            write(joint, "physics:axis", rotation_onto_axis(kind.axis)[0])
            write(joint, "physics:lowerLimit", lower)
            write(joint, "physics:upperLimit", upper)
        case Continuous():
            write(joint, "physics:axis", rotation_onto_axis(kind.axis)[0])
        case Prismatic():
            write(joint, "physics:axis", rotation_onto_axis(kind.axis)[0])
            write(joint, "physics:lowerLimit", limit_to_float32(kind.range.lower))
            write(joint, "physics:upperLimit", limit_to_float32(kind.range.upper))
        case Planar():
            _author_plane(joint, rotation_onto_axis(kind.axis)[0])
        case Generic():
            _author_axes(joint, kind)
        case Floating():
            # Stores name and origin; disabled, because a free body needs no joint.
            write(joint, "physics:jointEnabled", False)
            write(joint, "physics:excludeFromArticulation", True)
        case Fixed() | Spherical():
            pass
        case _:
            assert_never(kind)


def _limits(limits: Range, unit: float) -> tuple[float, float]:
    """Convert limits to another unit; a limit on one side only stays effective.

    OpenUSD's parser disables both limits of a revolute joint if one is infinite, so
    that a very large angle is used instead.
    """
    lower, upper = (limit_to_float32(end * unit) for end in (limits.lower, limits.upper))
    if isinf(lower) and isinf(upper):
        return lower, upper
    return max(lower, -NO_LIMIT), min(upper, NO_LIMIT)


def _author_plane(joint: Sdf.PrimSpec, normal: str) -> None:
    """Limit a D6 joint to translation in a plane and rotation about its normal."""
    free = {f"trans{axis}" for axis in "XYZ" if axis != normal} | {f"rot{normal}"}
    for freedom in _FREEDOMS:
        # Free axes are authored too: some consumers lock axes without limits.
        _author_limits(joint, freedom, _FREE if freedom in free else _LOCKED)


def _author_limits(joint: Sdf.PrimSpec, freedom: str, limits: tuple[float, float]) -> None:
    apply(joint, f"PhysicsLimitAPI:{freedom}")
    for bound, value in zip(("low", "high"), limits, strict=True):
        write_new(joint, f"limit:{freedom}:physics:{bound}", Sdf.ValueTypeNames.Float, value)


def _author_axes(joint: Sdf.PrimSpec, kind: Generic) -> None:
    """Write limits and largest forces of a D6 joint, or the cone of a spherical one."""
    if kind.cone is not None:
        write(joint, "physics:axis", kind.axes[-1].token[-1])
        for name, angle in zip(("0", "1"), kind.cone, strict=True):
            write(joint, f"physics:coneAngle{name}Limit", limit_to_float32(angle))
    axes = {axis.token: axis for axis in kind.axes}
    for freedom in _FREEDOMS:
        axis = axes.get(freedom)
        if kind.cone is None:
            unit = 1.0 if freedom.startswith("trans") else degrees(1.0)
            limits = _LOCKED if axis is None else _limits(axis.range, unit)
            _author_limits(joint, freedom, limits)
        if axis is not None and axis.effort is not None:
            apply(joint, f"PhysicsDriveAPI:{freedom}")
            name = f"drive:{freedom}:physics:maxForce"
            write_new(joint, name, Sdf.ValueTypeNames.Float, limit_to_float32(axis.effort))


def _author_unsupported_attributes(prim: Sdf.PrimSpec, joint: Joint) -> None:
    """Author values without UsdPhysics schema as ``urdf:`` attributes, in SI units."""
    for name in ("effort", "velocity", "acceleration", "deceleration", "jerk"):
        write_number(prim, f"limit:{name}", getattr(joint, name))
    for element, part in (
        ("dynamics", joint.dynamics),
        ("safety_controller", joint.safety),
        ("calibration", joint.calibration),
    ):
        for name in part.__struct_fields__ if part else ():
            write_number(prim, f"{element}:{name}", getattr(part, name))
    if mimic := joint.mimic:
        write_text(prim, "mimic:joint", mimic.joint)
        write_number(prim, "mimic:multiplier", mimic.multiplier)
        write_number(prim, "mimic:offset", mimic.offset)


def articulation_roots(prims: Prims) -> list[Sdf.Path]:
    """Return the prims that are marked as the roots of articulations.

    A floating base is marked on its root body. A fixed one is marked on the default
    prim, an ancestor of the joint to the world, or on that joint if there are free
    bodies; on the body itself, OpenUSD's parser reports a floating articulation. A body
    without joints is no articulation. Each subtree below a floating joint is a separate
    articulation.
    """
    tree, body_of = prims.tree, prims.bodies.body_of
    component: dict[str, str] = {}
    held: list[Sdf.Path] = []
    articulated: dict[str, None] = {}
    for name in tree.links:
        if body_of[name] != name:
            continue
        joint = tree.parent_joint.get(name)
        path = prims.anchor if joint is None else prims.joint[joint.name]
        if path is None or (joint is not None and isinstance(joint.kind, Floating)):
            component[name] = name
            continue
        parent = None if joint is None else body_of[joint.parent]
        component[name] = _WORLD if parent is None else component[parent]
        if parent is None:
            held.append(path)
        moves = joint is not None and not isinstance(joint.kind, Fixed)
        if parent is not None or moves:
            articulated[component[name]] = None
    floating = [prims.link[name] for name in articulated if name != _WORLD]
    if _WORLD not in articulated:
        return floating
    # The default prim would include free bodies.
    alone = set(component.values()) == {_WORLD}
    return [prims.robot] if alone else [*held, *floating]
