"""Frames and axis of a joint as authored, and the child poses that follow from them.

They distinguish faults from equivalent edits, such as the conjugation of a half turn.
The code is independent of the tested engine.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdPhysics
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.mutation.good_asset import JointSite

AXES = ("X", "Y", "Z")
# Smallest displacement of a link by a fault [m, rad].
_MATTERS = 5e-5


class JointFrames(Struct, frozen=True, eq=False):
    """The frames and the axis of a joint, as authored.

    Attributes:
        positions: Two (3,) origins, in body 0 and in body 1.
        turns: The two rotations.
        axis: Index of the coordinate axis.
        motion: ``angular``, ``linear`` or ``none``.
        swapped: Whether body 0 is the child.
    """

    positions: tuple[NDArray[np.float64], NDArray[np.float64]]
    turns: tuple[Rotation, Rotation]
    axis: int
    motion: str
    swapped: bool = False

    def child_poses(self, positions: NDArray[np.float64]) -> tuple[NDArray[np.float64], Rotation]:
        """Return (K, 3) origins and K rotations of the child in its parent."""
        along = np.eye(3)[self.axis]
        angles = positions if self.motion == "angular" else np.zeros_like(positions)
        slides = positions if self.motion == "linear" else np.zeros_like(positions)
        sign = -1.0 if self.swapped else 1.0
        first, second = (1, 0) if self.swapped else (0, 1)
        spin = Rotation.from_rotvec(sign * angles[:, None] * along)
        rotation = self.turns[first] * spin * self.turns[second].inv()
        moved = self.turns[first].apply(sign * slides[:, None] * along)
        origin = self.positions[first] + moved
        return origin - rotation.apply(self.positions[second]), rotation

    def displaces(self, other: JointFrames, positions: NDArray[np.float64]) -> bool:
        """Whether the child has a different pose at some position."""
        here, there = self.child_poses(positions), other.child_poses(positions)
        shift = np.linalg.norm(here[0] - there[0], axis=1).max()
        turn = (here[1].inv() * there[1]).magnitude().max()
        return bool(max(shift, turn) > _MATTERS)


def read_frames(site: JointSite) -> JointFrames:
    """Read the frames and the axis of a joint."""
    joint = UsdPhysics.Joint(site.prim)
    motion, axis = "none", 0
    for schema, kind in (
        (UsdPhysics.RevoluteJoint, "angular"),
        (UsdPhysics.PrismaticJoint, "linear"),
    ):
        if site.prim.IsA(schema):
            motion, axis = kind, AXES.index(schema(site.prim).GetAxisAttr().Get())
    return JointFrames(
        positions=(
            np.array(joint.GetLocalPos0Attr().Get(), np.float64),
            np.array(joint.GetLocalPos1Attr().Get(), np.float64),
        ),
        turns=(
            _rotation(joint.GetLocalRot0Attr().Get()),
            _rotation(joint.GetLocalRot1Attr().Get()),
        ),
        axis=axis,
        motion=motion,
    )


def write_frames(prim: Usd.Prim, frames: JointFrames) -> None:
    """Write the frames and the axis of a joint."""
    joint = UsdPhysics.Joint(prim)
    first, second = (Gf.Vec3f(*position.tolist()) for position in frames.positions)
    joint.CreateLocalPos0Attr(first)
    joint.CreateLocalPos1Attr(second)
    joint.CreateLocalRot0Attr(quaternion(frames.turns[0]))
    joint.CreateLocalRot1Attr(quaternion(frames.turns[1]))
    if frames.motion != "none":
        prim.GetAttribute("physics:axis").Set(AXES[frames.axis])
    if frames.swapped:
        ends = joint.GetBody0Rel(), joint.GetBody1Rel()
        targets = [end.GetTargets() for end in ends]
        ends[0].SetTargets(targets[1])
        ends[1].SetTargets(targets[0])


def turned(frames: JointFrames, side: int, turn: Rotation) -> JointFrames:
    """Return a copy whose frame on one side is rotated about its own axes."""
    turns = list(frames.turns)
    turns[side] = turns[side] * turn
    return structs.replace(frames, turns=(turns[0], turns[1]))


def shifted(frames: JointFrames, side: int, shift: NDArray[np.float64]) -> JointFrames:
    """Return a copy whose origin on one side is moved along the body's axes."""
    positions = list(frames.positions)
    positions[side] = positions[side] + shift
    return structs.replace(frames, positions=(positions[0], positions[1]))


def quaternion(turn: Rotation) -> Gf.Quatf:
    """Return a rotation in float32."""
    return Gf.Quatf(*turn.as_quat(scalar_first=True).tolist())


def _rotation(quat: Gf.Quatf) -> Rotation:
    return Rotation.from_quat((quat.GetReal(), *quat.GetImaginary()), scalar_first=True)
