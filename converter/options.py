"""Options of a conversion that need no OpenUSD to be named."""

from __future__ import annotations

from enum import StrEnum


class Layout(StrEnum):
    """Files of an asset: a folder of layers, one layer, or one package."""

    LAYERED = "layered"
    SINGLE = "single"
    USDZ = "usdz"

    @property
    def suffix(self) -> str:
        """Suffix of the root layer or package."""
        suffixes = {Layout.LAYERED: ".usda", Layout.SINGLE: ".usdc"}
        return suffixes.get(self, ".usdz")


class BodyNesting(StrEnum):
    """Whether body prims are nested along the kinematic tree or are siblings."""

    NESTED = "nested"
    FLAT = "flat"


class MaterialNetworks(StrEnum):
    """Shader networks of materials.

    Attributes:
        PREVIEW: UsdPreviewSurface.
        OPENPBR: UsdPreviewSurface, and OpenPBR in the render context of MaterialX.
    """

    PREVIEW = "preview"
    OPENPBR = "openpbr"


class Profile(StrEnum):
    """Schemas that are used in addition to UsdPhysics.

    Attributes:
        GENERIC: Newton's (newton-usd-schemas), which Newton and PhysX read.
        USDPHYSICS: None; UsdPhysics and ``urdf:`` attributes only.
        PHYSX: Those of Omniverse Physics, for Isaac Sim 5 and 6.
        ROS: Newton's, and those of REP 158, in layers of their own.
        SIMREADY: Newton's, and what SimReady Foundation requires of robots.
    """

    GENERIC = "generic"
    USDPHYSICS = "usdphysics"
    PHYSX = "physx"
    ROS = "ros"
    SIMREADY = "simready"

    @property
    def needs_layers(self) -> bool:
        """Whether the profile prescribes the files of an asset."""
        return self in {Profile.ROS, Profile.SIMREADY}
