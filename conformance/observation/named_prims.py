"""Prims that are candidates for the links and joints of a URDF."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.conformance.observation.robot import JointType


class NamedPrim(Struct, frozen=True):
    """A prim that is a candidate for a link.

    Attributes:
        path: Prim path.
        name: Display name, else prim name.
        is_body: Whether it is a rigid body, rather than a frame or a plain Xform.
    """

    path: str
    name: str
    is_body: bool


class NamedJoint(Struct, frozen=True):
    """A joint prim.

    Attributes:
        path: Prim path.
        name: Display name, else prim name.
        ends: Paths of the bodies that it connects; empty for the world. The one nearer
            to the base comes first.
        type: Kind of motion; None if URDF has no such type.
    """

    path: str
    name: str
    ends: tuple[str, str]
    type: JointType | None


class NamedPrims(Struct, frozen=True):
    """Candidates for links and joints in a USD.

    Attributes:
        links: Bodies, and frames that may be links.
        joints: Joints between them.
    """

    links: tuple[NamedPrim, ...]
    joints: tuple[NamedJoint, ...]
