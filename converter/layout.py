"""How the files of an asset are laid out."""

from __future__ import annotations

from enum import StrEnum


class Layout(StrEnum):
    """Whether an asset is a folder of layers, one layer, or one package."""

    LAYERED = "layered"
    SINGLE = "single"
    USDZ = "usdz"

    @property
    def suffix(self) -> str:
        """Suffix of the file that consumers open."""
        return {Layout.LAYERED: ".usda", Layout.SINGLE: ".usdc", Layout.USDZ: ".usdz"}[
            self
        ]
