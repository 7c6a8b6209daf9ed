"""Who reads an asset."""

from __future__ import annotations

from enum import StrEnum


class Profile(StrEnum):
    """The simulator that an asset speaks to, beside UsdPhysics and ``urdf:``.

    Attributes:
        GENERIC: None in particular: UsdPhysics and ``urdf:`` attributes are all.
        NEWTON: Newton, through newton-usd-schemas.
        PHYSX: PhysX, through the schemas of Omniverse Physics, which Isaac Sim reads.
    """

    GENERIC = "generic"
    NEWTON = "newton"
    PHYSX = "physx"
