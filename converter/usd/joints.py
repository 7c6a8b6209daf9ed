"""Joints: frames, limits, and what is kept under ``urdf:``.

A joint's frame on the child side is the child link's frame turned so that one of its
axes is the joint's axis; on the parent side it is the same frame at position zero, seen
from the parent's body, which may lie several welded frames up.
"""

from __future__ import annotations

from math import degrees, isinf
from typing import TYPE_CHECKING, assert_never

from pxr import Gf, UsdPhysics

from converter.model import (
    IDENTITY,
    Continuous,
    Fixed,
    Floating,
    Planar,
    Pose,
    Prismatic,
    Revolute,
    Spherical,
)
from converter.rigid import compose, inverse, rest_poses, turn_onto
from converter.usd.custom import write_flag, write_number, write_text
from converter.usd.names import show_name
from converter.usd.siblings import define_together
from converter.usd.storage import FARTHEST, limit, single

if TYPE_CHECKING:
    from pxr import Usd

    from converter.embodiment import Embodiment
    from converter.model import Joint, JointKind, Range, Vec3, Vec4
    from converter.topology import Tree
    from converter.usd.prims import Prims

# UsdPhysics locks an axis whose low limit is above its high one. Infinite values do
# not lock: OpenUSD's parser reads them as "no limit".
_LOCKED = (1.0, -1.0)
_FREE = (float("-inf"), float("inf"))


def author_joints(
    stage: Usd.Stage, tree: Tree, embodiment: Embodiment, prims: Prims
) -> None:
    """Write every joint that connects bodies, and keep the names of those that do not.

    Raises:
        AuthoringError: A number is beyond float32.
    """
    rest = rest_poses(tree)
    joints = [tree.parent_joint.get(name) for name in tree.links]
    defined = [
        (prims.joint[joint.name], _schema(joint.kind))
        for joint in joints
        if joint and joint.name in prims.joint
    ]
    define_together(stage, defined)
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        if joint is None:
            continue
        path = prims.joint.get(joint.name)
        if path is None:
            prim = stage.GetPrimAtPath(prims.link[name])
            write_text(prim, "joint:name", joint.name)
        else:
            prim = stage.GetPrimAtPath(path)
            show_name(prim, joint.name)
            _author_frames(prim, joint, rest, embodiment, prims)
            _author_freedom(prim, joint.kind)
        write_text(prim, "joint:type", type(joint.kind).__name__.lower())
        if joint.dont_collapse:
            write_flag(prim, "joint:dont_collapse")
        _author_gaps(prim, joint)
    if prims.anchor is not None:
        anchor = UsdPhysics.FixedJoint.Define(stage, prims.anchor)
        anchor.CreateBody0Rel().SetTargets([prims.robot])
        anchor.CreateBody1Rel().SetTargets([prims.link[tree.root]])
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
        case Planar() | Floating():
            return "PhysicsJoint"
        case _:
            assert_never(kind)


def _author_frames(
    prim: Usd.Prim,
    joint: Joint,
    rest: dict[str, Pose],
    embodiment: Embodiment,
    prims: Prims,
) -> None:
    usd_joint = UsdPhysics.Joint(prim)
    origin = joint.origin
    body0 = embodiment.body_of[joint.parent]
    if body0 is None:
        # The default prim stands for the world; the root link lies at its origin.
        usd_joint.CreateBody0Rel().SetTargets([prims.robot])
        origin = compose(rest[joint.parent], origin)
    else:
        usd_joint.CreateBody0Rel().SetTargets([prims.link[body0]])
        if body0 != joint.parent:
            to_body = compose(inverse(rest[body0]), rest[joint.parent])
            origin = compose(to_body, origin)
    usd_joint.CreateBody1Rel().SetTargets([prims.link[joint.child]])
    if body0 != joint.parent:
        write_text(prim, "joint:parent", joint.parent)
    turn = IDENTITY
    if isinstance(joint.kind, (Revolute, Continuous, Prismatic, Planar)):
        turn = Pose(quat_wxyz=_turn(joint.kind.axis, origin.quat_wxyz))
    of_parent = compose(origin, turn)
    _author_pose(usd_joint, 0, of_parent, f"the origin of joint {joint.name!r}")
    _author_pose(usd_joint, 1, turn, f"the axis of joint {joint.name!r}")


def _turn(axis: Vec3, origin: Vec4) -> Vec4:
    """Choose the orientation of a joint's frame in the frame of its child."""
    _, turn = turn_onto(axis)
    # Coordinate axes keep plain frames: legible, and safe with consumers that read
    # the token and forget the frame.
    if sum(c != 0 for c in axis) == 1:
        return turn
    # Few joints need it, and the others no numpy.
    from converter.usd.joint_frames import finest_frame  # noqa: PLC0415

    return finest_frame(origin, turn, axis)


def _author_pose(joint: UsdPhysics.Joint, side: int, pose: Pose, what: str) -> None:
    position = Gf.Vec3f(*(single(c, what) + 0.0 for c in pose.position))
    rotation = Gf.Quatf(*pose.quat_wxyz)
    if side == 0:
        joint.CreateLocalPos0Attr(position)
        joint.CreateLocalRot0Attr(rotation)
    else:
        joint.CreateLocalPos1Attr(position)
        joint.CreateLocalRot1Attr(rotation)


def _author_freedom(prim: Usd.Prim, kind: JointKind) -> None:
    match kind:
        case Revolute():
            joint = UsdPhysics.RevoluteJoint(prim)
            joint.CreateAxisAttr(turn_onto(kind.axis)[0])
            lower, upper = _limits_deg(kind.range)
            joint.CreateLowerLimitAttr(lower)
            joint.CreateUpperLimitAttr(upper)
        case Continuous():
            UsdPhysics.RevoluteJoint(prim).CreateAxisAttr(turn_onto(kind.axis)[0])
        case Prismatic():
            slider = UsdPhysics.PrismaticJoint(prim)
            slider.CreateAxisAttr(turn_onto(kind.axis)[0])
            slider.CreateLowerLimitAttr(limit(kind.range.lower))
            slider.CreateUpperLimitAttr(limit(kind.range.upper))
        case Planar():
            _author_plane(prim, turn_onto(kind.axis)[0])
        case Floating():
            # A free body needs no joint. The prim keeps name and origin, and is
            # disabled so that no simulator spends a constraint on it.
            joint = UsdPhysics.Joint(prim)
            joint.CreateJointEnabledAttr(False)
            joint.CreateExcludeFromArticulationAttr(True)
        case Fixed() | Spherical():
            pass
        case _:
            assert_never(kind)


def _limits_deg(limits: Range) -> tuple[float, float]:
    """Convert limits to degrees, keeping a limit on one side effective.

    OpenUSD's parser disables both limits of a revolute joint if one is infinite, so a
    very large angle stands for infinity there.
    """
    lower, upper = limit(degrees(limits.lower)), limit(degrees(limits.upper))
    if isinf(lower) and isinf(upper):
        return lower, upper
    return max(lower, -FARTHEST), min(upper, FARTHEST)


def _author_plane(prim: Usd.Prim, normal: str) -> None:
    """Lock a D6 joint to a plane: move in it, turn about its normal."""
    free = {f"trans{axis}" for axis in "XYZ" if axis != normal} | {f"rot{normal}"}
    for freedom in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ"):
        # Free axes are listed too: some consumers lock what is not mentioned.
        low, high = _FREE if freedom in free else _LOCKED
        api = UsdPhysics.LimitAPI.Apply(prim, freedom)
        api.CreateLowAttr(low)
        api.CreateHighAttr(high)


def _author_gaps(prim: Usd.Prim, joint: Joint) -> None:
    """Keep what UsdPhysics has no schema for under ``urdf:``, as the URDF says it."""
    write_number(prim, "limit:effort", joint.effort)
    write_number(prim, "limit:velocity", joint.velocity)
    write_number(prim, "limit:acceleration", joint.acceleration)
    write_number(prim, "limit:deceleration", joint.deceleration)
    write_number(prim, "limit:jerk", joint.jerk)
    if joint.dynamics is not None:
        write_number(prim, "dynamics:damping", joint.dynamics.damping)
        write_number(prim, "dynamics:friction", joint.dynamics.friction)
    if safety := joint.safety:
        write_number(prim, "safety_controller:k_velocity", safety.k_velocity)
        write_number(prim, "safety_controller:k_position", safety.k_position)
        write_number(
            prim, "safety_controller:soft_lower_limit", safety.soft_lower_limit
        )
        write_number(
            prim, "safety_controller:soft_upper_limit", safety.soft_upper_limit
        )
    if calibration := joint.calibration:
        write_number(prim, "calibration:rising", calibration.rising)
        write_number(prim, "calibration:falling", calibration.falling)
    if mimic := joint.mimic:
        write_text(prim, "mimic:joint", mimic.joint)
        write_number(prim, "mimic:multiplier", mimic.multiplier)
        write_number(prim, "mimic:offset", mimic.offset)
