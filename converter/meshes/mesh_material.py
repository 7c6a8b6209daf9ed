"""What a mesh file says of its materials, in any format.

Nothing but values: robots without meshes have materials too, and need no arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Wrap(StrEnum):
    """What an image shows beyond its edges."""

    REPEAT = "repeat"
    MIRROR = "mirror"
    CLAMP = "clamp"
    BLACK = "black"


class Slot(StrEnum):
    """What an image says about a surface."""

    COLOR = "color"
    EMISSION = "emission"
    OPACITY = "opacity"
    METALNESS = "metalness"
    ROUGHNESS = "roughness"
    NORMAL = "normal"
    OCCLUSION = "occlusion"

    @property
    def is_color(self) -> bool:
        """Whether its numbers are encoded as those of screens are (sRGB)."""
        return self in {Slot.COLOR, Slot.EMISSION}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an image lies on a surface, and what is taken of it.

    It is looked up at ``turn(coordinates * scale, rotation) + translation``, where its
    lower left corner is (0, 0) and its upper right one (1, 1).

    Attributes:
        components: ``rgb``, or one of ``r``, ``g``, ``b`` and ``a``.
        wrap_s: Beyond the left and right edge.
        wrap_t: Beyond the upper and lower edge.
        coordinates: Which of the surface's sets of texture coordinates, from 0.
        scale: Factors of the coordinates.
        rotation: Counter-clockwise turn of the coordinates [rad].
        translation: What is added to the coordinates.
        gain: Factors of the image's components, as linear numbers.
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
        """Whether coordinates are changed before the image is looked up."""
        return (self.scale, self.rotation, self.translation) != (
            (1.0, 1.0),
            0.0,
            (0.0, 0.0),
        )


PLAIN_SAMPLING = Sampling()


@dataclass(frozen=True, slots=True)
class MeshTexture:
    """An image on a surface.

    Attributes:
        reference: File as the mesh file writes it, relative to the mesh file's folder;
            for an image inside the mesh file a name for it.
        content: The image file, if it is inside the mesh file.
        sampling: How it lies on the surface.
    """

    reference: str
    content: bytes | None = field(default=None, repr=False)
    sampling: Sampling = PLAIN_SAMPLING


@dataclass(frozen=True, slots=True)
class MeshMaterial:
    """A material of a mesh file, as far as USD's preview surface and URDF know it.

    Attributes:
        name: As in the file; names may repeat.
        color: Diffuse colour, sRGB components in [0, 1]; None if none is given.
        opacity: One is opaque.
        emissive: Emitted colour, sRGB components in [0, 1].
        metallic: From 0 to 1; None if not given.
        roughness: From 0 to 1; None if not given.
        cutoff: Opacity from which on a point is there, and below which it is not; None
            where opacities blend.
        double_sided: Whether both sides of the surface are to be seen.
        shows_corners: Whether the colours of the surface's corners are its colour.
        textures: Images, each in place of the number that goes with its slot.
    """

    name: str
    color: tuple[float, float, float] | None = None
    opacity: float = 1.0
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    metallic: float | None = None
    roughness: float | None = None
    cutoff: float | None = None
    double_sided: bool = False
    shows_corners: bool = False
    textures: tuple[tuple[Slot, MeshTexture], ...] = ()

    @property
    def has_color(self) -> bool:
        """Whether it gives a surface any colour."""
        shown = {Slot.COLOR, Slot.EMISSION}
        return (
            self.color is not None
            or any(self.emissive)
            or any(slot in shown for slot, _ in self.textures)
        )


def visible(opacity: float) -> float:
    """Return an opacity in (0, 1].

    Zero is read as one: nobody ships invisible parts, but exporters that mix up opacity
    and transparency are common, for MTL and COLLADA alike.
    """
    return min(opacity, 1.0) if opacity > 0 else 1.0


def with_opacity(
    textures: Iterable[tuple[Slot, MeshTexture]], opacity: float
) -> tuple[tuple[Slot, MeshTexture], ...]:
    """Make an opacity a factor of the image of opacities, if there is one."""
    gain = (opacity, opacity, opacity, opacity)
    return tuple(
        (slot, replace(texture, sampling=replace(texture.sampling, gain=gain)))
        if slot is Slot.OPACITY
        else (slot, texture)
        for slot, texture in textures
    )


def unit_color(components: Sequence[float]) -> tuple[float, float, float]:
    """Clamp the first three components of a colour to [0, 1]; NaN becomes zero."""
    red, green, blue = (min(max(0.0, float(c)), 1.0) for c in components[:3])
    return red, green, blue
