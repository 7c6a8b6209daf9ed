"""A stage and the URDF names of its parts."""

from __future__ import annotations

from msgspec import Struct
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.links import WORLD, LinkPrims
from urdf_usd.conformance.engines.openusd.settings.schema_attributes import (
    schema_attribute,
)
from urdf_usd.conformance.engines.openusd.stage import Physics, urdf_name
from urdf_usd.conformance.observation.robot import (
    SettingKind,
    UnexpectedSetting,
)

_QUATERNION_SIZE = 4
SHOWN = frozenset({UsdGeom.Tokens.default_, UsdGeom.Tokens.render})
"""Purposes that renderers show."""


class Parts(Struct, frozen=True, eq=False):
    """A stage, and the URDF names of its parts."""

    physics: Physics
    links: LinkPrims

    def subject(self, prim: Usd.Prim) -> str:
        """Return the joint or the link that a prim is part of, else the robot."""
        path = str(prim.GetPath())
        if path in self.physics.joints:
            return f"joint {urdf_name(prim)}"
        above = []
        while prim and not prim.IsPseudoRoot():
            if link := self.links.by_path.get(str(prim.GetPath())):
                above.append(link)
            prim = prim.GetParent()
        # An Xform below a body may be no link.
        nearest = next((link for link in above if link.is_body), above[0] if above else None)
        return f"link {nearest.name}" if nearest else "robot"

    def setting(
        self, kind: SettingKind, prim: Usd.Prim, name: str, implied: str, value: object
    ) -> UnexpectedSetting:
        """Return a setting from the value of a property."""
        actual = f"{value:.6g}" if isinstance(value, float) else str(value)
        return UnexpectedSetting(
            kind,
            self.subject(prim),
            f"{name} is {actual}, not {implied}",
            implied,
            actual,
            attribute=schema_attribute(name),
        )

    def body_of(self, collider: str) -> str:
        """Return the body of a collider, or WORLD."""
        shape = self.physics.shapes.get(collider)
        return str(shape.rigidBody) if shape and shape.collisionEnabled else WORLD


def is_shown(prim: Usd.Prim) -> bool:
    """Whether renderers show a prim."""
    image = UsdGeom.Imageable(prim)
    return image.ComputePurpose() in SHOWN and image.ComputeVisibility() != UsdGeom.Tokens.invisible


def collides(prim: Usd.Prim) -> bool:
    """Whether a prim is an enabled collider."""
    return (
        prim.HasAPI(UsdPhysics.CollisionAPI)
        and UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is not False
    )


def short(value: object) -> object:
    """Return a value for a message: of long arrays the number of elements."""
    if isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "__len__") and len(value) > _QUATERNION_SIZE:
        return f"an array of {len(value)}"
    return str(value)
