"""UsdPhysics: bodies, mass, colliders, joints, articulation roots; and what it has no schema for.

A joint's frame on the child side is the child link's frame turned so that one of its
axes is the joint's axis; on the parent side it is the same frame at position zero, in
the frame of the parent's body.
"""

from __future__ import annotations

from math import degrees, inf, isinf

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf

from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot import spatial
from urdf_usd.converter.usd.writer import specs
from urdf_usd.converter.usd.writer.geometry import MeshLibrary

# UsdPhysics locks an axis whose low limit is above its high one. Infinite values do
# not lock: OpenUSD's parser reads them as "no limit".
_LOCKED, _FREE = (1.0, -1.0), (-inf, inf)
_FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
# Others are generic joints.
_SCHEMAS = {
    m.Revolute: "PhysicsRevoluteJoint",
    m.Continuous: "PhysicsRevoluteJoint",
    m.Prismatic: "PhysicsPrismaticJoint",
    m.Fixed: "PhysicsFixedJoint",
    m.Spherical: "PhysicsSphericalJoint",
}
# Number of candidate rotations about the axis of a joint.
_TWISTS = 128
# Component of the bodies that are connected to the world; no link has an empty name.
_WORLD = ""


def author_bodies(
    layer: Sdf.Layer, geometry: Sdf.Layer, prims: specs.Prims, library: MeshLibrary
) -> None:
    """Apply body, mass and collider schemas to prims of the finished geometry layer."""
    tree = prims.tree
    for body in prims.bodies.bodies:
        prim = specs.over(layer, prims.link[body.link])
        specs.apply(prim, "PhysicsRigidBodyAPI")
        specs.apply(prim, "PhysicsMassAPI")
        # Also what consumers can compute.
        what = f"of link {body.link!r}"
        moments, quat_wxyz = spatial.principal_inertia(body.inertia)
        center = (specs.to_float32(c, f"the centre of mass {what}") for c in body.center)
        specs.write(prim, "physics:mass", specs.to_float32(body.mass, f"the mass {what}"))
        specs.write(prim, "physics:centerOfMass", Gf.Vec3f(*center))
        diagonal = specs.moments_to_float32(moments, f"the inertia {what}")
        specs.write(prim, "physics:diagonalInertia", Gf.Vec3f(*diagonal))
        specs.write(prim, "physics:principalAxes", Gf.Quatf(*quat_wxyz))
        own = tree.link[body.link].inertial
        if own is None:
            # A mass alone means that there is no <inertial>.
            specs.write_urdf(prim, "inertial:mass", 0.0)
            continue
        turned = spatial.rotate_inertia(own.inertia, own.origin.quat_wxyz)
        slack = 1e-12 * max(body.inertia)
        is_own = own.mass == body.mass and all(
            abs(moment - expected) <= slack + 1e-9 * abs(expected)
            for moment, expected in zip(turned, body.inertia, strict=True)
        )
        _author_inertial(prim, own, whole=not is_own)
    for name in tree.links:
        link = tree.link[name]
        if prims.bodies.body_of[name] != name:
            # Distinguishes a frame from Xforms that group shapes.
            frame = specs.over(layer, prims.link[name])
            specs.write_urdf(frame, "link", name)
            if link.inertial is not None:
                _author_inertial(frame, link.inertial, whole=True)
        for shape, path in zip(link.collisions, prims.collision[name], strict=True):
            groups = library.groups_of(shape)
            if not geometry.GetPrimAtPath(path):
                continue
            for part in [path.AppendChild(one.name) for one in groups] or [path]:
                collider = specs.over(layer, part)
                specs.apply(collider, "PhysicsCollisionAPI")
                if isinstance(shape.geometry, m.MeshFile):
                    specs.apply(collider, "PhysicsMeshCollisionAPI")
                    approximation = shape.approximation or m.Approximation.HULL
                    specs.write(collider, "physics:approximation", approximation.value)
                if groups:
                    # Joins the groups to one <collision> again when the USD is read.
                    specs.write_urdf(specs.over(layer, path), "collision", True)


def _author_inertial(prim: Sdf.PrimSpec, inertial: m.Inertial, *, whole: bool) -> None:
    """Store the inertial of a link that differs from that of its body, and what is estimated."""
    if whole:
        specs.write_urdf(prim, "inertial:mass", inertial.mass)
        specs.write_urdf(prim, "inertial:origin:position", inertial.origin.position)
        specs.write_urdf(prim, "inertial:origin:quat_wxyz", inertial.origin.quat_wxyz)
        specs.write_urdf(prim, "inertial:inertia", inertial.inertia)
    if inertial.estimated:
        specs.write_urdf(prim, "inertial:estimated", inertial.estimated.value)


def author_joints(layer: Sdf.Layer, prims: specs.Prims) -> None:
    """Write all joints between bodies, and the names of the other joints."""
    tree = prims.tree
    rest = spatial.rest_poses(tree)
    for joint in (tree.parent_joint[name] for name in tree.links[1:]):
        if joint.name in prims.joint:
            schema = _SCHEMAS.get(type(joint.kind), "PhysicsJoint")
            prim = specs.define(layer, prims.joint[joint.name], schema)
            specs.show_spec_name(prim, joint.name)
            _author_frames(prim, joint, rest, prims)
            _author_freedom(prim, joint.kind)
        else:
            prim = specs.over(layer, prims.link[joint.child])
            specs.write_urdf(prim, "joint:name", joint.name)
        specs.write_urdf(prim, "joint:type", type(joint.kind).__name__.lower())
        specs.write_urdf(prim, "joint:dont_collapse", joint.dont_collapse or None)
        for value in ("effort", "velocity", "acceleration", "deceleration", "jerk"):
            specs.write_urdf(prim, f"limit:{value}", getattr(joint, value))
        parts: dict[str, object] = {"dynamics": joint.dynamics, "safety_controller": joint.safety}
        parts |= {"calibration": joint.calibration, "mimic": joint.mimic}
        for element, part in parts.items():
            for value in getattr(part, "__struct_fields__", ()):
                specs.write_urdf(prim, f"{element}:{value}", getattr(part, value))
    if prims.anchor is not None:
        anchor = specs.define(layer, prims.anchor, "PhysicsFixedJoint")
        for side, body in enumerate((prims.robot, prims.link[tree.root])):
            _author_side(anchor, side, body, m.IDENTITY, "the base")


def _author_frames(
    prim: Sdf.PrimSpec, joint: m.Joint, rest: dict[str, m.Pose], prims: specs.Prims
) -> None:
    origin = joint.origin
    parent_body = prims.bodies.body_of[joint.parent]
    if parent_body is None:
        # The default prim represents the world; the root link is at its origin.
        origin = spatial.compose(rest[joint.parent], origin)
    elif parent_body != joint.parent:
        origin = spatial.compose(
            spatial.compose(spatial.invert_pose(rest[parent_body]), rest[joint.parent]), origin
        )
    if parent_body != joint.parent:
        specs.write_urdf(prim, "joint:parent", joint.parent)
    turn, sides = m.IDENTITY, (0, 1)
    if isinstance(joint.kind, (m.Revolute, m.Continuous, m.Prismatic, m.Planar)):
        turn = m.Pose(quat_wxyz=_joint_frame(joint.kind.axis, origin.quat_wxyz))
    elif isinstance(joint.kind, m.Generic):
        turn = joint.kind.frame
        sides = (1, 0) if joint.kind.backwards else sides
    body = prims.robot if parent_body is None else prims.link[parent_body]
    what = f"of joint {joint.name!r}"
    _author_side(prim, sides[0], body, spatial.compose(origin, turn), f"the origin {what}")
    _author_side(prim, sides[1], prims.link[joint.child], turn, f"the axis {what}")


def _author_side(joint: Sdf.PrimSpec, side: int, body: Sdf.Path, pose: m.Pose, what: str) -> None:
    specs.relate(joint, f"physics:body{side}", body)
    position = Gf.Vec3f(*(specs.to_float32(c, what) + 0.0 for c in pose.position))
    specs.write(joint, f"physics:localPos{side}", position)
    specs.write(joint, f"physics:localRot{side}", Gf.Quatf(*pose.quat_wxyz))


def _joint_frame(axis: m.Vec3, origin: m.Vec4) -> m.Vec4:
    """Return the quaternion wxyz of a joint's frame in the child with the smallest rounding error.

    The joint frame may be rotated about the axis, a unit vector in the child's frame, on both
    sides without changing the motion. The error of the stored quaternions depends on that
    rotation: the error of the child's orientation in the parent, ``origin``, and of the axis.
    """
    _, frame = spatial.rotation_onto_axis(axis)
    # Coordinate axes get plain frames, for consumers that ignore the joint frame.
    if sum(c != 0 for c in axis) == 1:
        return frame
    child, turn = spatial.rotation_from_quat_wxyz(origin), spatial.rotation_from_quat_wxyz(frame)
    angles = np.linspace(0.0, 2 * np.pi, _TWISTS, endpoint=False, dtype=np.float64)
    twists = spatial.rotation_about(axis, angles) @ turn

    def stored(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
        quats = spatial.quats_wxyz_from_rotations(rotations).astype(np.float32)
        return spatial.rotations_from_quats_wxyz(quats.astype(np.float64))

    parents, children = stored(child @ twists), stored(twists)
    turned = parents @ children.transpose(0, 2, 1) - child
    tilted = children @ (turn.T @ axis) - axis
    errors = np.linalg.norm(turned, axis=(1, 2)) + np.linalg.norm(tilted, axis=1)
    return spatial.quat_wxyz_from_rotation(twists[int(np.argmin(errors))])


def _author_freedom(joint: Sdf.PrimSpec, kind: m.JointKind) -> None:
    """Write the axis, limits and largest forces of a joint, in degrees or metres."""
    if isinstance(kind, (m.Revolute, m.Continuous, m.Prismatic)):
        specs.write(joint, "physics:axis", spatial.rotation_onto_axis(kind.axis)[0])
    if isinstance(kind, m.Floating):
        # Stores name and origin; disabled, because a free body needs no joint.
        specs.write(joint, "physics:jointEnabled", False)
        specs.write(joint, "physics:excludeFromArticulation", True)
    if isinstance(kind, (m.Revolute, m.Prismatic)):
        lower, upper = map(specs.limit_to_float32, (kind.range.lower, kind.range.upper))
        if isinstance(kind, m.Revolute):
            lower, upper = _limits(kind.range, degrees(1.0))
        specs.write(joint, "physics:lowerLimit", lower)
        specs.write(joint, "physics:upperLimit", upper)
    if isinstance(kind, m.Planar):
        normal = spatial.rotation_onto_axis(kind.axis)[0]
        free = {f"trans{axis}" for axis in "XYZ" if axis != normal} | {f"rot{normal}"}
        for freedom in _FREEDOMS:
            # Free axes are authored too: some consumers lock axes without limits.
            _author_limits(joint, freedom, _FREE if freedom in free else _LOCKED)
    if not isinstance(kind, m.Generic):
        return
    axes = {axis.token: axis for axis in kind.axes}
    for freedom in _FREEDOMS:
        axis = axes.get(freedom)
        unit = 1.0 if freedom.startswith("trans") else degrees(1.0)
        limits = _LOCKED if axis is None else _limits(axis.range, unit)
        _author_limits(joint, freedom, limits)
        if axis is not None and axis.effort is not None:
            specs.apply(joint, f"PhysicsDriveAPI:{freedom}")
            specs.write(
                joint, f"drive:{freedom}:physics:maxForce", specs.limit_to_float32(axis.effort)
            )


def _limits(limits: m.Range, unit: float) -> tuple[float, float]:
    """Convert limits to another unit; a limit on one side only stays effective.

    OpenUSD's parser disables both limits of a revolute joint if one is infinite, so
    that a very large angle is used instead.
    """
    lower, upper = (specs.limit_to_float32(end * unit) for end in (limits.lower, limits.upper))
    if isinf(lower) and isinf(upper):
        return lower, upper
    return max(lower, -specs.NO_LIMIT), min(upper, specs.NO_LIMIT)


def _author_limits(joint: Sdf.PrimSpec, freedom: str, limits: tuple[float, float]) -> None:
    specs.apply(joint, f"PhysicsLimitAPI:{freedom}")
    for bound, value in zip(("low", "high"), limits, strict=True):
        specs.write(joint, f"limit:{freedom}:physics:{bound}", value)


def articulation_roots(prims: specs.Prims) -> list[Sdf.Path]:
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
        if path is None or (joint is not None and isinstance(joint.kind, m.Floating)):
            component[name] = name
            continue
        parent = None if joint is None else body_of[joint.parent]
        component[name] = _WORLD if parent is None else component[parent]
        if parent is None:
            held.append(path)
        moves = joint is not None and not isinstance(joint.kind, m.Fixed)
        if parent is not None or moves:
            articulated[component[name]] = None
    floating = [prims.link[name] for name in articulated if name != _WORLD]
    if _WORLD not in articulated:
        return floating
    # The default prim would include free bodies.
    alone = set(component.values()) == {_WORLD}
    return [prims.robot] if alone else [*held, *floating]
