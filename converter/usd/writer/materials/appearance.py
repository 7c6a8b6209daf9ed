"""Appearance of materials, independent of shader networks."""

from __future__ import annotations

from msgspec import Struct, structs
from pxr import Gf, Sdf

from urdf_usd.converter.meshes.mesh_material import PLAIN_SAMPLING, Sampling, Slot
from urdf_usd.converter.robot.model import Vec3, Vec4
from urdf_usd.converter.usd.writer.specs import define

BLACK = (0.0, 0.0, 0.0)
# Default diffuse colour of UsdPreviewSurface; fallback of textures without colour.
GREY = (0.18, 0.18, 0.18)
_ROUGHNESS = 0.5
_KINDS = Sdf.ValueTypeNames


class Texture(Struct, frozen=True):
    """A texture of the asset.

    Attributes:
        asset: Asset path, relative to the library layer.
        sampling: Texture coordinates, wrapping and components.
    """

    asset: str
    sampling: Sampling = PLAIN_SAMPLING


class Appearance(Struct, frozen=True):
    """Appearance of a material.

    Attributes:
        name: Name in its file, or None.
        color: sRGB components in [0, 1], or None.
        opacity: One is opaque.
        emissive: sRGB components in [0, 1].
        metallic: From 0 to 1, or None.
        roughness: From 0 to 1, or None.
        ior: Index of refraction, or None.
        cutoff: Opacity threshold of cut-outs; None for blending.
        shows_corners: Whether vertex colours replace the colour.
        textures: Textures by slot; each replaces the value of its slot.
    """

    name: str | None
    color: Vec3 | None = None
    opacity: float = 1.0
    emissive: Vec3 = BLACK
    metallic: float | None = None
    roughness: float | None = None
    ior: float | None = None
    cutoff: float | None = None
    shows_corners: bool = False
    textures: tuple[tuple[Slot, Texture], ...] = ()

    @property
    def images(self) -> tuple[tuple[Texture, bool, tuple[Slot, ...]], ...]:
        """Texture reads, each with its slots; one read may serve several slots.

        Returns:
            Each with whether it is sRGB-encoded, and its slots. Alpha is never encoded,
            so that it can be taken from either kind.
        """
        slots_by_use: dict[tuple[Texture, bool], list[Slot]] = {}
        for slot, texture in self.textures:
            whole = structs.replace(
                texture, sampling=structs.replace(texture.sampling, components="rgb")
            )
            is_color = slot.is_color or (
                texture.sampling.components == "a" and (whole, True) in slots_by_use
            )
            slots_by_use.setdefault((whole, is_color), []).append(slot)
        return tuple((*key, tuple(slots)) for key, slots in slots_by_use.items())

    def components(self, slot: Slot) -> str:
        """Return the components of the texture of a slot."""
        return dict(self.textures)[slot].sampling.components

    def fallback(self, slots: tuple[Slot, ...]) -> Vec4:
        """Return the linear fallback value of a missing texture."""
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


# Largest sRGB component that is encoded linearly.
_LINEAR_ENCODED = 0.04045


def linear(color: Vec3) -> Vec3:
    """Return the linear components of an sRGB colour; without numpy."""
    red, green, blue = (
        encoded / 12.92 if encoded <= _LINEAR_ENCODED else ((encoded + 0.055) / 1.055) ** 2.4
        for encoded in color
    )
    return red, green, blue


def coordinates_name(number: int) -> str:
    """Return the primvar name of a set of texture coordinates."""
    return f"st{number or ''}"


def define_shader(material: Sdf.PrimSpec, name: str, identifier: str) -> Sdf.PrimSpec:
    """Define a shader below a material; one that is there is returned."""
    shader = define(material.layer, material.path.AppendChild(name), "Shader")
    kind = _attribute(shader, "info:id", _KINDS.Token, Sdf.VariabilityUniform)
    kind.default = identifier
    return shader


def set_input(
    shader: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName, value: object
) -> Sdf.AttributeSpec:
    """Give an input of a shader a value, or connect it if the value is an output."""
    input_ = _attribute(shader, f"inputs:{name}", kind)
    if isinstance(value, Sdf.AttributeSpec):
        input_.connectionPathList.explicitItems = [value.path]
    else:
        input_.default = value
    return input_


def create_output(shader: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName) -> Sdf.AttributeSpec:
    """Return an output of a shader, which is created if necessary."""
    return _attribute(shader, f"outputs:{name}", kind)


def connect_surface(material: Sdf.PrimSpec, surface: Sdf.AttributeSpec, context: str = "") -> None:
    """Connect the surface of a material, in a render context or in all."""
    name = f"outputs:{context}:surface" if context else "outputs:surface"
    output = _attribute(material, name, _KINDS.Token)
    output.connectionPathList.explicitItems = [surface.path]


def _attribute(
    spec: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
) -> Sdf.AttributeSpec:
    """Return an attribute, which is created if necessary.

    Shaders of several textures may share one that reads their coordinates.
    """
    existing = spec.attributes.get(name)
    if existing is not None:
        return existing
    return Sdf.AttributeSpec(spec, name, kind, variability)


def color_value(color: Vec3) -> Gf.Vec3f:
    """Convert an sRGB colour to a linear ``GfVec3f``."""
    return Gf.Vec3f(*linear(color))
