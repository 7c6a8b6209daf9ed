"""The materials of a glTF document, whose colours are linear and whose v points down.

Metallic-roughness materials are read as they are, and the older ones of specular and
glossiness as far as their colour goes. What is wrong with a material costs no surface.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from urdf_usd.converter.colors import srgb_from_linear
from urdf_usd.converter.meshes.gltf.document import data_of
from urdf_usd.converter.meshes.gltf.json_values import (
    EMPTY,
    count,
    inner,
    integer,
    member,
    number,
    numbers,
    text,
)
from urdf_usd.converter.meshes.mesh_material import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
    unit_color,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.converter.meshes.gltf.document import Document, Numbers
    from urdf_usd.converter.meshes.gltf.json_values import Object

    Gain = tuple[float, float, float, float]

_WRAPS = {33071: Wrap.CLAMP, 33648: Wrap.MIRROR, 10497: Wrap.REPEAT}
_REPEAT = 10497
_NO_GAIN = (1.0, 1.0, 1.0, 1.0)
_TRANSFORM = "KHR_texture_transform"
_GLOSSY = "KHR_materials_pbrSpecularGlossiness"


def read_material(document: Document, content: Numbers, index: int) -> MeshMaterial:
    """Read a material of the document.

    Raises:
        MeshError: It is against the schema.
    """
    material = member(document.root, "materials", index)
    surface = inner(material, "pbrMetallicRoughness")
    glossy = inner(inner(material, "extensions"), _GLOSSY)
    images = _Images(document, content)
    if glossy:
        factor = numbers(glossy, "diffuseFactor", _NO_GAIN)
        color = images.texture(glossy, "diffuseTexture")
        metallic, roughness = 0.0, 1.0 - number(glossy, "glossinessFactor", 1.0)
        data = None
    else:
        factor = numbers(surface, "baseColorFactor", _NO_GAIN)
        color = images.texture(surface, "baseColorTexture")
        metallic = number(surface, "metallicFactor", 1.0)
        roughness = number(surface, "roughnessFactor", 1.0)
        data = images.texture(surface, "metallicRoughnessTexture")
    emissive = _emission(material)
    glow = images.texture(material, "emissiveTexture")
    red, green, blue, alpha = (_unit(component) for component in factor)
    blends = text(material, "alphaMode") in {"BLEND", "MASK"}
    cuts = text(material, "alphaMode") == "MASK"
    shades = images.texture(material, "occlusionTexture")
    bumps = images.texture(material, "normalTexture")
    # Those of one image agree in all but the component, so that it is read once.
    base_gain = (red, green, blue, alpha)
    data_gain = (1.0, _unit(roughness), _unit(metallic), 1.0)
    textures = (
        (Slot.COLOR, _taken(color, "rgb", base_gain)),
        (Slot.OPACITY, _taken(color, "a", base_gain) if blends else None),
        (Slot.EMISSION, _taken(glow, "rgb", (*emissive, 1.0))),
        (Slot.ROUGHNESS, _taken(data, "g", data_gain)),
        (Slot.METALNESS, _taken(data, "b", data_gain)),
        (Slot.NORMAL, _taken(bumps, "rgb", _NO_GAIN)),
        (Slot.OCCLUSION, _taken(shades, "r", _NO_GAIN)),
    )
    return MeshMaterial(
        name=text(material, "name"),
        color=_encoded((red, green, blue)),
        opacity=alpha if blends else 1.0,
        emissive=_encoded(emissive),
        metallic=_unit(metallic),
        roughness=_unit(roughness),
        cutoff=_unit(number(material, "alphaCutoff", 0.5)) if cuts else None,
        double_sided=material.get("doubleSided") is True,
        textures=tuple((slot, one) for slot, one in textures if one is not None),
    )


class _Images:
    """Textures of a document."""

    def __init__(self, document: Document, content: Numbers) -> None:
        self._document = document
        self._content = content

    def texture(self, parent: Object, key: str) -> MeshTexture | None:
        """Return a texture; its image is without content if that cannot be read."""
        if key not in parent:
            return None
        use = inner(parent, key)
        root = self._document.root
        texture = member(root, "textures", integer(use, "index"))
        sampler = EMPTY
        if "sampler" in texture:
            sampler = member(root, "samplers", integer(texture, "sampler"))
        source = integer(texture, "source")
        if source is None:
            # It has another form for readers of an extension.
            others = inner(texture, "extensions").values()
            source = next(
                (integer(one, "source") for one in others if isinstance(one, dict)),
                None,
            )
        image = self._image(source)
        return replace(image, sampling=_sampling(use, sampler))

    def _image(self, index: int | None) -> MeshTexture:
        image = member(self._document.root, "images", index)
        uri = text(image, "uri")
        inside = data_of(uri)
        if inside is None and "bufferView" in image:
            inside = self._content.view(integer(image, "bufferView"))
        if inside is None:
            return MeshTexture(unquote(uri))
        return MeshTexture(text(image, "name") or f"image_{index}", inside)


def _taken(
    texture: MeshTexture | None, components: str, gain: Gain
) -> MeshTexture | None:
    if texture is None:
        return None
    sampling = replace(texture.sampling, components=components, gain=gain)
    return replace(texture, sampling=sampling)


def _sampling(use: Object, sampler: Object) -> Sampling:
    """Translate from v down, with the origin at the upper left corner, to v up.

    The image is looked up at R S (u, v) + t. With v = 1 - v' that is, for v', the
    opposite turn of the scaled coordinates, and another translation.
    """
    moved = inner(inner(use, "extensions"), _TRANSFORM)
    angle = number(moved, "rotation", 0.0)
    across, up = numbers(moved, "scale", (1.0, 1.0))
    right, down = numbers(moved, "offset", (0.0, 0.0))
    sine, cosine = math.sin(angle), math.cos(angle)
    return Sampling(
        wrap_s=_wrap(sampler, "wrapS"),
        wrap_t=_wrap(sampler, "wrapT"),
        coordinates=count(moved, "texCoord", count(use, "texCoord")),
        scale=(across, up),
        rotation=angle,
        translation=(right + up * sine, 1.0 - down - up * cosine),
    )


def _wrap(sampler: Object, key: str) -> Wrap:
    return _WRAPS.get(integer(sampler, key, _REPEAT) or _REPEAT, Wrap.REPEAT)


def _emission(material: Object) -> tuple[float, float, float]:
    """Return the linear emission, which no strength raises beyond one."""
    extension = inner(inner(material, "extensions"), "KHR_materials_emissive_strength")
    strength = number(extension, "emissiveStrength", 1.0)
    factor = numbers(material, "emissiveFactor", (0.0, 0.0, 0.0))
    red, green, blue = (_unit(component * strength) for component in factor)
    return red, green, blue


def _encoded(linear: Sequence[float]) -> tuple[float, float, float]:
    return unit_color(srgb_from_linear(linear).tolist())


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
