"""What a material shows, whatever shaders it is shown with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pxr import Gf, Sdf, UsdShade

from urdf_usd.converter.meshes.mesh_material import PLAIN_SAMPLING, Sampling, Slot

if TYPE_CHECKING:
    from pxr import Usd

    from urdf_usd.converter.robot.model import Vec3, Vec4

BLACK = (0.0, 0.0, 0.0)
# UsdPreviewSurface's own diffuse colour: shown where a texture is lost and there is no
# colour to fall back on.
GREY = (0.18, 0.18, 0.18)
_ROUGHNESS = 0.5


@dataclass(frozen=True, slots=True)
class Texture:
    """An image of the asset on a surface.

    Attributes:
        asset: Asset path, relative to the library layer.
        sampling: How it lies on the surface, and what is taken of it.
    """

    asset: str
    sampling: Sampling = PLAIN_SAMPLING


@dataclass(frozen=True, slots=True)
class Appearance:
    """What a material shows.

    Attributes:
        name: In its file, or None.
        color: sRGB components in [0, 1], or None.
        opacity: One is opaque.
        emissive: sRGB components in [0, 1].
        metallic: From 0 to 1, or None.
        roughness: From 0 to 1, or None.
        cutoff: Opacity below which a point is not there; None where opacities blend.
        shows_corners: Whether the surface's own colours are its colour.
        textures: Images, each in place of the value that goes with its slot.
    """

    name: str | None
    color: Vec3 | None = None
    opacity: float = 1.0
    emissive: Vec3 = BLACK
    metallic: float | None = None
    roughness: float | None = None
    cutoff: float | None = None
    shows_corners: bool = False
    textures: tuple[tuple[Slot, Texture], ...] = ()

    @property
    def images(self) -> tuple[tuple[Texture, bool, tuple[Slot, ...]], ...]:
        """Images that have to be read, which may serve several slots.

        Returns:
            Each with whether its numbers are colours of screens, and its slots. The
            alpha of an image is none, so it can be taken of either kind.
        """
        found: dict[tuple[Texture, bool], list[Slot]] = {}
        for slot, texture in self.textures:
            whole = replace(
                texture, sampling=replace(texture.sampling, components="rgb")
            )
            is_color = slot.is_color or (
                texture.sampling.components == "a" and (whole, True) in found
            )
            found.setdefault((whole, is_color), []).append(slot)
        return tuple((*key, tuple(slots)) for key, slots in found.items())

    def components(self, slot: Slot) -> str:
        """Return which of its image's components a slot shows."""
        return dict(self.textures)[slot].sampling.components

    def fallback(self, slots: tuple[Slot, ...]) -> Vec4:
        """Return the linear value of an image that is lost."""
        if Slot.COLOR in slots:
            red, green, blue = linear(self.color or GREY)
            return red, green, blue, self.opacity
        if Slot.EMISSION in slots:
            return (*linear(self.emissive), 1.0)
        if Slot.NORMAL in slots:
            return 0.0, 0.0, 1.0, 1.0
        values = {
            Slot.OPACITY: self.opacity,
            Slot.ROUGHNESS: _ROUGHNESS if self.roughness is None else self.roughness,
            Slot.METALNESS: self.metallic or 0.0,
            Slot.OCCLUSION: 1.0,
        }
        rgba = [1.0, 1.0, 1.0, 1.0]
        for slot in slots:
            rgba["rgba".index(self.components(slot))] = values[slot]
        red, green, blue, alpha = rgba
        return red, green, blue, alpha


def linear(color: Vec3) -> Vec3:
    """Return the linear components of an sRGB colour, as ``colors`` does of many."""
    red, green, blue = (
        encoded / 12.92
        if encoded <= 0.04045  # noqa: PLR2004  the standard's threshold
        else ((encoded + 0.055) / 1.055) ** 2.4
        for encoded in color
    )
    return red, green, blue


def coordinates_name(number: int) -> str:
    """Name the primvar of a set of texture coordinates."""
    return f"st{number or ''}"


def define_shader(
    material: UsdShade.Material, name: str, identifier: str
) -> UsdShade.Shader:
    """Define a shader below a material."""
    prim: Usd.Prim = material.GetPrim()
    shader = UsdShade.Shader.Define(prim.GetStage(), prim.GetPath().AppendChild(name))
    shader.CreateIdAttr(identifier)
    return shader


def set_input(
    shader: UsdShade.Shader, name: str, kind: Sdf.ValueTypeName, value: object
) -> UsdShade.Input:
    """Give an input of a shader a value, or connect it if the value is an output."""
    made = shader.CreateInput(name, kind)
    if isinstance(value, UsdShade.Output):
        made.ConnectToSource(value)
    else:
        made.Set(value)
    return made


def color_value(color: Vec3) -> Gf.Vec3f:
    """Return an sRGB colour as USD stores it."""
    return Gf.Vec3f(*linear(color))
