"""Options of conversions and of reading USDs that need no OpenUSD to be named."""

from __future__ import annotations

from dataclasses import dataclass
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
        ISAAC: Those of Omniverse Physics and, in other variants, Newton's, with the
            robot schema and the layers of Isaac Sim 6.2.
    """

    GENERIC = "generic"
    USDPHYSICS = "usdphysics"
    PHYSX = "physx"
    ROS = "ros"
    SIMREADY = "simready"
    ISAAC = "isaac"

    @property
    def needs_layers(self) -> bool:
        """Whether the profile prescribes the files of an asset."""
        return self in {Profile.ROS, Profile.SIMREADY, Profile.ISAAC}

    @property
    def is_for_physx(self) -> bool:
        """Whether PhysX is the simulator of the profile."""
        return self in {Profile.PHYSX, Profile.ISAAC}


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """A variant to select in a USD that is read.

    Attributes:
        variant_set: Name of the variant set.
        variant: Name of the variant.
        prim: Path of the prim; None for the default prim or, if that has no such set,
            the only prim that has one.
    """

    variant_set: str
    variant: str
    prim: str | None = None

    @classmethod
    def parse(cls, text: str) -> VariantChoice:
        """Read ``[PRIM:]SET=NAME``, where PRIM is an absolute path.

        Raises:
            ValueError: The text has another form.
        """
        place, equals, variant = text.partition("=")
        prim, _, variant_set = place.rpartition(":")
        if not (equals and variant_set and variant) or (
            prim and not prim.startswith("/")
        ):
            raise ValueError(f"{text!r} is not [PRIM:]SET=NAME")
        return cls(variant_set, variant, prim or None)

    def __str__(self) -> str:
        """Return the form that :meth:`parse` reads."""
        prim = "" if self.prim is None else f"{self.prim}:"
        return f"{prim}{self.variant_set}={self.variant}"
