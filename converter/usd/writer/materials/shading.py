"""Which shader networks a material has."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from urdf_usd.converter.usd.writer.materials.openpbr import write_openpbr
from urdf_usd.converter.usd.writer.materials.preview_surface import (
    write_preview_surface,
)

if TYPE_CHECKING:
    from pxr import UsdShade

    from urdf_usd.converter.usd.writer.materials.looks import Look


class MaterialNetworks(StrEnum):
    """Which shader networks a material has."""

    PREVIEW = "preview"
    OPENPBR = "openpbr"


def write_networks(
    material: UsdShade.Material, look: Look, networks: MaterialNetworks
) -> None:
    """Give a material its shaders.

    ``OPENPBR`` adds a MaterialX network for its render context; consumers without
    MaterialX take the preview surface, which is always there.
    """
    write_preview_surface(material, look)
    if networks is MaterialNetworks.OPENPBR:
        write_openpbr(material, look)
