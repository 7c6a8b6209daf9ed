"""Materials of mesh files of any format; without numpy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct, structs


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
    """Sampling of a texture.

    The texture is sampled at ``rotate(coordinates * scale, rotation) + translation``;
    its lower left corner is (0, 0), its upper right corner (1, 1).

    Attributes:
        components: ``rgb``, or one of ``r``, ``g``, ``b`` and ``a``.
        wrap_s: Wrap mode in the horizontal direction.
        wrap_t: Wrap mode in the vertical direction.
        coordinates: Number of the set of texture coordinates, from 0.
        scale: Factors of the coordinates.
        rotation: Counter-clockwise turn of the coordinates [rad].
        translation: Offset of the coordinates.
        gain: Linear factors of the texture's components.
    """

    components: str = "rgb"
    wrap_s: Wrap = Wrap.REPEAT
    wrap_t: Wrap = Wrap.REPEAT
    coordinates: int = 0
    scale: tuple[float, float] = (1.0, 1.0)
    rotation: float = 0.0
    translation: tuple[float, float] = (0.0, 0.0)
    gain: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)

    @property
    def moves(self) -> bool:
        """Whether the texture coordinates are transformed."""
        return (self.scale, self.rotation, self.translation) != (
            (1.0, 1.0),
            0.0,
            (0.0, 0.0),
        )


PLAIN_SAMPLING = Sampling()


class MeshTexture(Struct, frozen=True):
    """A texture of a material.

    Attributes:
        reference: File reference as written, relative to the mesh file's folder; for an
            embedded image its name.
        content: The embedded image file, if any.
        sampling: Its sampling.
    """

    reference: str
    content: bytes | None = None
    sampling: Sampling = PLAIN_SAMPLING


class MeshMaterial(Struct, frozen=True):
    """A material of a mesh file, with the inputs of USD's preview surface.

    Attributes:
        name: As in the file; names may repeat.
        color: Diffuse colour, sRGB components in [0, 1]; None if none is given.
        opacity: One is opaque.
        emissive: Emitted colour, sRGB components in [0, 1].
        metallic: From 0 to 1; None if not given.
        roughness: From 0 to 1; None if not given.
        ior: Index of refraction; None if not given.
        cutoff: Opacity threshold of cut-outs; None for blending.
        double_sided: Whether both sides of the surface are visible.
        shows_corners: Whether vertex colours replace the colour.
        textures: Textures by slot; each replaces the value of its slot.
    """

    name: str
    color: tuple[float, float, float] | None = None
    opacity: float = 1.0
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    metallic: float | None = None
    roughness: float | None = None
    ior: float | None = None
    cutoff: float | None = None
    double_sided: bool = False
    shows_corners: bool = False
    textures: tuple[tuple[Slot, MeshTexture], ...] = ()

    @property
    def has_color(self) -> bool:
        """Whether it has a colour, an emission or a texture of these."""
        shown = {Slot.COLOR, Slot.EMISSION}
        return (
            self.color is not None
            or any(self.emissive)
            or any(slot in shown for slot, _ in self.textures)
        )


def visible(opacity: float) -> float:
    """Return an opacity in (0, 1].

    Zero is read as one: exporters that confuse opacity and transparency are common, for
    MTL and COLLADA.
    """
    return min(opacity, 1.0) if opacity > 0 else 1.0


def with_opacity(
    textures: Iterable[tuple[Slot, MeshTexture]], opacity: float
) -> tuple[tuple[Slot, MeshTexture], ...]:
    """Multiply the opacity texture, if any, by an opacity."""
    gain = (opacity, opacity, opacity, opacity)
    return tuple(
        (
            slot,
            structs.replace(texture, sampling=structs.replace(texture.sampling, gain=gain)),
        )
        if slot is Slot.OPACITY
        else (slot, texture)
        for slot, texture in textures
    )


def unit_color(components: Sequence[float]) -> tuple[float, float, float]:
    """Clamp the first three components of a colour to [0, 1]; NaN becomes zero."""
    red, green, blue = (min(max(0.0, float(c)), 1.0) for c in components[:3])
    return red, green, blue
