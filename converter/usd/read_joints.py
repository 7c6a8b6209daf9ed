"""Joints as connections between bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from pxr import Gf, Sdf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.spatial import inverse_transform, rotation_from_quat_wxyz
from urdf_usd.converter.usd.read_motions import is_floating
from urdf_usd.converter.usd.spanning import WORLD, Edge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from urdf_usd.converter.urdf.findings import Findings
    from urdf_usd.converter.usd.placement import Placement

Matrix: TypeAlias = "NDArray[np.float64]"
# Prims and what OpenUSD's physics parser says of them, by kind.
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


@dataclass(frozen=True, slots=True, eq=False)
class Connection:
    """A joint that URDF could have.

    Attributes:
        prim: The joint.
        description: What OpenUSD's parser says of it.
        bodies: Bodies on side 0 and 1; None for the world.
        frames: (4, 4) joint frame in the frame of either body, or in the frame of the
            robot for the world [m].
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
        # A joint of ours that floats is excluded because it holds nothing.
        excluded = bool(self.description.excludeFromArticulation)
        return excluded and not is_floating(self.prim)


def read_connections(
    descriptions: Descriptions, placement: Placement, robot: Sdf.Path
) -> Findings[tuple[Connection, ...]]:
    """Read all joints that hold bodies, in stage order.

    Args:
        descriptions: What OpenUSD's parser says of the stage.
        placement: Where prims are.
        robot: Prim whose frame stands for the world's.
    """
    for kind in _OTHER_JOINTS:
        for path in descriptions.get(kind, ((), ()))[0]:
            yield Diagnostic("joint-not-urdf", f"joint {path} is no joint of URDF")
    found = [
        description
        for kind in _JOINTS
        for description in descriptions.get(kind, ((), ()))[1]
    ]
    order = {
        prim.GetPath(): index for index, prim in enumerate(placement.stage.Traverse())
    }
    found.sort(key=lambda description: order.get(description.primPath, -1))
    connections = []
    for description in found:
        prim = placement.stage.GetPrimAtPath(description.primPath)
        if not (description.jointEnabled or is_floating(prim)):
            message = f"joint {prim.GetPath()} is switched off"
            yield Diagnostic("joint-disabled", message)
        elif description.body0 == description.body1:
            message = f"joint {prim.GetPath()} holds nothing to anything else"
            yield Diagnostic("joint-not-urdf", message)
        else:
            connections.append(_connection(prim, description, placement, robot))
    return tuple(connections)


def _connection(
    prim: Usd.Prim,
    description: UsdPhysics.JointDesc,
    placement: Placement,
    robot: Sdf.Path,
) -> Connection:
    sides = (
        (
            description.body0,
            description.localPose0Position,
            description.localPose0Orientation,
        ),
        (
            description.body1,
            description.localPose1Position,
            description.localPose1Orientation,
        ),
    )
    frames = []
    for body, position, orientation in sides:
        # The parser has applied the scale of what the joint is attached to.
        frame = _transform(placement.units.length * np.array(position), orientation)
        if not body:
            # The parser states it in the world, whatever prim the joint names there.
            frame = inverse_transform(placement.frame(robot)) @ frame
        frames.append(frame)
    return Connection(
        prim=prim,
        description=description,
        bodies=(description.body0 or None, description.body1 or None),
        frames=(frames[0], frames[1]),
    )


def _transform(position: Matrix, orientation: Gf.Quatf) -> Matrix:
    transform = np.eye(4)
    w, (x, y, z) = orientation.GetReal(), orientation.GetImaginary()
    transform[:3, :3] = rotation_from_quat_wxyz((w, x, y, z))
    transform[:3, 3] = position
    return transform
