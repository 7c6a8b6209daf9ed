"""Materials of mesh files of any format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import ArrayLike, NDArray


class Wrap(StrEnum):
    """Wrap mode of a texture."""

    REPEAT = "repeat"
    MIRROR = "mirror"
    CLAMP = "clamp"
    BLACK = "black"


class Slot(StrEnum):
    """Material input that a texture is for."""

    COLOR = "color"
    EMISSION = "emission"
    OPACITY = "opacity"
    METALNESS = "metalness"
    ROUGHNESS = "roughness"
    NORMAL = "normal"
    OCCLUSION = "occlusion"

    @property
    def is_color(self) -> bool:
        """Whether its texture is sRGB-encoded."""
        return self in {Slot.COLOR, Slot.EMISSION}


class Sampling(Struct, frozen=True):
    """Sampling of a texture, at ``rotate(coordinates * scale, rotation) + translation``.

    Its lower left corner is (0, 0), its upper right corner (1, 1).
    """

    components: str = "rgb"  # or one of r, g, b and a
    wrap_s: Wrap = Wrap.REPEAT
    wrap_t: Wrap = Wrap.REPEAT
    coordinates: int = 0  # number of the set of texture coordinates
    scale: tuple[float, float] = (1.0, 1.0)
    rotation: float = 0.0  # counter-clockwise [rad]
    translation: tuple[float, float] = (0.0, 0.0)
    gain: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)  # linear, per component

    @property
    def moves(self) -> bool:
        """Whether the texture coordinates are transformed."""
        return (self.scale, self.rotation, self.translation) != ((1.0, 1.0), 0.0, (0.0, 0.0))


PLAIN_SAMPLING = Sampling()


class MeshTexture(Struct, frozen=True):
    """A texture of a material."""

    # As written, relative to the mesh file's folder; of an embedded image its name.
    reference: str
    content: bytes | None = None  # the embedded image file
    sampling: Sampling = PLAIN_SAMPLING

    def sampled(self, **changes: Any) -> MeshTexture:  # noqa: ANN401  fields of Sampling
        """Return the texture with changes of its sampling."""
        return structs.replace(self, sampling=structs.replace(self.sampling, **changes))


class MeshMaterial(Struct, frozen=True):
    """A material of a mesh file, with the inputs of USD's preview surface; None if not given.

    Colours are sRGB components in [0, 1].
    """

    name: str  # names may repeat
    color: tuple[float, float, float] | None = None
    opacity: float = 1.0
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    metallic: float | None = None
    roughness: float | None = None
    ior: float | None = None
    cutoff: float | None = None  # opacity threshold of cut-outs; None for blending
    double_sided: bool = False
    shows_corners: bool = False  # vertex colours replace the colour
    textures: tuple[tuple[Slot, MeshTexture], ...] = ()  # each replaces the value of its slot

    @property
    def has_color(self) -> bool:
        """Whether it has a colour, an emission or a texture of these."""
        is_textured = any(slot.is_color for slot, _ in self.textures)
        return is_textured or self.color is not None or any(self.emissive)


def assemble_material(
    name: str,
    color: Sequence[float] | None,
    opacity: float,
    emissive: Sequence[float] | None,
    uses: Iterable[tuple[Slot, MeshTexture | None, Mapping[str, Any]]],
    **others: Any,  # noqa: ANN401  fields of MeshMaterial
) -> MeshMaterial:
    """Build a material from colours of at least three components, and images.

    Each image comes with its slot and with the changes of its sampling for that slot.
    """
    return MeshMaterial(
        name,
        None if color is None else unit_color(color),
        opacity,
        (0.0, 0.0, 0.0) if emissive is None else unit_color(emissive),
        textures=tuple((slot, image.sampled(**use)) for slot, image, use in uses if image),
        **others,
    )


def visible(opacity: float) -> float:
    """Return an opacity in (0, 1]; zero becomes one, as exporters confuse it with transparency."""
    return min(opacity, 1.0) if opacity > 0 else 1.0


def unit(value: float) -> float:
    """Clamp to [0, 1]; NaN becomes zero."""
    return min(max(0.0, float(value)), 1.0)


def unit_color(components: Sequence[float]) -> tuple[float, float, float]:
    red, green, blue = map(unit, components[:3])
    return red, green, blue


def finite(word: str) -> float | None:
    """Return the number that a word of a file is; None for any other word."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# Colours: sRGB and linear (IEC 61966-2-1)


def linear_from_srgb(values: ArrayLike) -> NDArray[np.float64]:
    """Return the linear values of sRGB components in [0, 1]."""
    encoded = np.asarray(values, dtype=np.float64)
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def srgb_from_linear(values: ArrayLike) -> NDArray[np.float64]:
    """Return the sRGB components of linear values, which are clamped to [0, 1]."""
    linear = np.clip(np.asarray(values, dtype=np.float64), 0.0, 1.0)
    encoded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    # The formula is off by one bit there.
    return np.where(linear == 1.0, 1.0, encoded)
