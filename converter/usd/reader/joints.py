"""Joints as connections between bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.robot.spatial import inverse_transform, rotation_from_quat_wxyz
from urdf_usd.converter.usd.reader.motions import is_floating
from urdf_usd.converter.usd.reader.spanning import WORLD, Edge, spanning_tree
from urdf_usd.converter.usd.reader.transforms import PrimTransforms

Matrix: TypeAlias = "NDArray[np.float64]"
# Prims and their descriptions by OpenUSD's physics parser, by type.
Descriptions: TypeAlias = "Mapping[UsdPhysics.ObjectType, tuple[list[Any], list[Any]]]"

_KINDS = UsdPhysics.ObjectType
_JOINTS = (
    _KINDS.FixedJoint,
    _KINDS.RevoluteJoint,
    _KINDS.PrismaticJoint,
    _KINDS.SphericalJoint,
    _KINDS.D6Joint,
)
_OTHER_JOINTS = (_KINDS.DistanceJoint, _KINDS.CustomJoint)


class Connection(Struct, frozen=True, eq=False):
    """A joint between two bodies, or a body and the world.

    Attributes:
        prim: The joint.
        description: Its description by OpenUSD's physics parser.
        bodies: Bodies on side 0 and 1; None for the world.
        frames: (4, 4) joint frame in each body, or in the robot prim for the world [m].
    """

    prim: Usd.Prim
    description: UsdPhysics.JointDesc
    bodies: tuple[Sdf.Path | None, Sdf.Path | None]
    frames: tuple[Matrix, Matrix]

    @property
    def edge(self) -> Edge:
        """The bodies by name."""
        first, second = (WORLD if path is None else str(path) for path in self.bodies)
        return Edge(first, second, closes=self._closes)

    @property
    def _closes(self) -> bool:
        # Floating joints are excluded too, but close no loop.
        excluded = bool(self.description.excludeFromArticulation)
        return excluded and not is_floating(self.prim, self.description)


def read_connections(
    descriptions: Descriptions, transforms: PrimTransforms, robot: Sdf.Path
) -> Findings[tuple[Connection, ...]]:
    """Read all joints of bodies, in stage order.

    A disabled joint without limits is a floating joint, unless other joints connect its
    bodies.

    Args:
        descriptions: Output of OpenUSD's physics parser.
        transforms: Transforms of the stage's prims.
        robot: Prim whose frame is used as the world frame.
    """
    for kind in _OTHER_JOINTS:
        for path in descriptions.get(kind, ((), ()))[0]:
            message = f"the type of joint {path} does not exist in URDF; omitted"
            yield Diagnostic("joint-not-urdf", message)
    found = [description for kind in _JOINTS for description in descriptions.get(kind, ((), ()))[1]]
    order = {prim.GetPath(): index for index, prim in enumerate(transforms.stage.Traverse())}
    found.sort(key=lambda description: order.get(description.primPath, -1))
    rigid = frozenset(descriptions.get(_KINDS.RigidBody, ((), ()))[0])
    connections = []
    for description in found:
        prim = transforms.stage.GetPrimAtPath(description.primPath)
        if not (description.jointEnabled or is_floating(prim, description)):
            yield _disabled(prim)
            continue
        sides = _sides(description)
        if absent := [side.body for side in sides if _is_absent(side, rigid, transforms)]:
            message = f"joint {prim.GetPath()} connects {absent[0]}; omitted"
            yield Diagnostic("joint-body-outside", message)
            continue
        for side in sides:
            if side.target and not transforms.stage.GetPrimAtPath(side.target):
                message = f"joint {prim.GetPath()} has no target {side.target}"
                yield Diagnostic("joint-target-missing", message)
        connection = _connection(prim, description, rigid, transforms, robot)
        if connection.bodies[0] == connection.bodies[1]:
            message = f"joint {prim.GetPath()} connects a body to itself; omitted"
            yield Diagnostic("joint-not-urdf", message)
        else:
            connections.append(connection)
    return (yield from _effective(connections))


def _effective(connections: Sequence[Connection]) -> Findings[tuple[Connection, ...]]:
    """Omit disabled joints whose bodies other joints connect."""
    effective = [one for one in connections if one.description.jointEnabled]
    for connection in connections:
        if not connection.description.jointEnabled:
            edge = connection.edge
            reached = spanning_tree(edge.first, [one.edge for one in effective])
            if edge.second in {step.child for step in reached}:
                yield _disabled(connection.prim)
            else:
                effective.append(connection)
    return tuple(one for one in connections if one in effective)


def _disabled(prim: Usd.Prim) -> Diagnostic:
    message = f"joint {prim.GetPath()} is disabled; omitted"
    return Diagnostic("joint-disabled", message)


class _Side(Struct, frozen=True, eq=False):
    """One side of a joint, from OpenUSD's physics parser.

    Attributes:
        target: Target of the relationship; empty for none.
        body: Rigid body at or above it; otherwise the outermost prim with a collision,
            which is static; otherwise empty for the world.
        position: Of the joint frame in the body, scaled [stage units].
        orientation: Of the joint frame in the body.
    """

    target: Sdf.Path
    body: Sdf.Path
    position: Gf.Vec3f
    orientation: Gf.Quatf


def _sides(description: UsdPhysics.JointDesc) -> tuple[_Side, _Side]:
    return (
        _Side(
            description.rel0,
            description.body0,
            description.localPose0Position,
            description.localPose0Orientation,
        ),
        _Side(
            description.rel1,
            description.body1,
            description.localPose1Position,
            description.localPose1Orientation,
        ),
    )


def _is_absent(side: _Side, rigid: frozenset[Sdf.Path], transforms: PrimTransforms) -> bool:
    """Return whether a side is a rigid body outside the simulated robot."""
    if not side.body or side.body in rigid:
        return False
    prim = transforms.stage.GetPrimAtPath(side.body)
    stands = Usd.PrimDefaultPredicate(prim) or prim.IsInstanceProxy()
    return bool(prim.HasAPI(UsdPhysics.RigidBodyAPI)) or not stands


def _connection(
    prim: Usd.Prim,
    description: UsdPhysics.JointDesc,
    rigid: frozenset[Sdf.Path],
    transforms: PrimTransforms,
    robot: Sdf.Path,
) -> Connection:
    bodies: list[Sdf.Path | None] = []
    frames = []
    for side in _sides(description):
        frame = _transform(transforms.units.length * np.array(side.position), side.orientation)
        if side.body in rigid:
            bodies.append(side.body)
        else:
            # Without any body or collider, the parser states the frame in the world.
            static = transforms.frame(side.body) if side.body else np.eye(4)
            frame = inverse_transform(transforms.frame(robot)) @ static @ frame
            bodies.append(None)
        frames.append(frame)
    return Connection(
        prim=prim,
        description=description,
        bodies=(bodies[0], bodies[1]),
        frames=(frames[0], frames[1]),
    )


def _transform(position: Matrix, orientation: Gf.Quatf) -> Matrix:
    transform = np.eye(4)
    w, (x, y, z) = orientation.GetReal(), orientation.GetImaginary()
    transform[:3, :3] = rotation_from_quat_wxyz((w, x, y, z))
    transform[:3, 3] = position
    return transform
