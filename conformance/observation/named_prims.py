"""Prims that are candidates for the links and joints of a URDF."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.conformance.observation.robot import JointType


class NamedPrim(Struct, frozen=True):
    """A prim that is a candidate for a link."""

    path: str  # prim path
    name: str  # display name, else prim name
    is_body: bool  # whether it is a rigid body, rather than a frame or a plain Xform


class NamedJoint(Struct, frozen=True):
    """A joint prim."""

    path: str  # prim path
    name: str  # display name, else prim name
    # paths of the bodies that it connects; empty for the world. The one nearer to the base comes
    # first.
    ends: tuple[str, str]
    type: JointType | None  # kind of motion; None if URDF has no such type


class NamedPrims(Struct, frozen=True):
    """Candidates for links and joints in a USD."""

    links: tuple[NamedPrim, ...]  # bodies, and frames that may be links
    joints: tuple[NamedJoint, ...]  # joints between them
