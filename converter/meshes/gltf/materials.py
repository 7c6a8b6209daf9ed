"""The materials of a glTF document.

Metallic-roughness materials are read completely; of specular-glossiness materials the
colour and the glossiness. Colours are linear; v points down from the upper edge of an
image. An invalid material raises an error, and its surface is kept without material.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from urllib.parse import unquote

from msgspec import structs

from urdf_usd.converter.colors import srgb_from_linear
from urdf_usd.converter.meshes.gltf import schema
from urdf_usd.converter.meshes.gltf.document import Accessors, GltfDocument, data_of
from urdf_usd.converter.meshes.mesh_material import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
    unit_color,
)

Gain = tuple[float, float, float, float]

# Constants of OpenGL.
_WRAPS = {33071: Wrap.CLAMP, 33648: Wrap.MIRROR, 10497: Wrap.REPEAT}
_NO_GAIN = (1.0, 1.0, 1.0, 1.0)


def read_material(document: GltfDocument, accessors: Accessors, index: int) -> MeshMaterial:
    """Read a material of the document.

    Raises:
        MeshError: It is invalid, or one of its images is missing.
    """
    material = document.get("materials", index, schema.Material)
    textures = _Textures(document, accessors)
    pbr, glossy = material.metallic_roughness, material.extensions.specular_glossiness
    if glossy is not None:
        factor = glossy.diffuse_factor
        color = textures.read(glossy.diffuse_texture)
        metallic, roughness = 0.0, 1.0 - glossy.glossiness_factor
        data = None
    else:
        factor = pbr.base_color_factor
        color = textures.read(pbr.base_color_texture)
        metallic, roughness = pbr.metallic_factor, pbr.roughness_factor
        data = textures.read(pbr.metallic_roughness_texture)
    # Emission is clamped to one, as colours are.
    strength = material.extensions.emissive.emissive_strength
    red, green, blue = (_unit(part * strength) for part in material.emissive_factor)
    emissive = red, green, blue
    emissive_texture = textures.read(material.emissive_texture)
    red, green, blue, alpha = map(_unit, factor)
    blends = material.alpha_mode in {"BLEND", "MASK"}
    occlusion = textures.read(material.occlusion_texture)
    normal = textures.read(material.normal_texture)
    # Uses of one image differ only in the component, so that it is read once.
    base_gain = (red, green, blue, alpha)
    data_gain = (1.0, _unit(roughness), _unit(metallic), 1.0)
    slots = (
        (Slot.COLOR, _component(color, "rgb", base_gain)),
        (Slot.OPACITY, _component(color, "a", base_gain) if blends else None),
        (Slot.EMISSION, _component(emissive_texture, "rgb", (*emissive, 1.0))),
        (Slot.ROUGHNESS, _component(data, "g", data_gain)),
        (Slot.METALNESS, _component(data, "b", data_gain)),
        (Slot.NORMAL, _component(normal, "rgb", _NO_GAIN)),
        (Slot.OCCLUSION, _component(occlusion, "r", _NO_GAIN)),
    )
    is_mask = material.alpha_mode == "MASK"
    return MeshMaterial(
        name=material.name,
        color=_encoded((red, green, blue)),
        opacity=alpha if blends else 1.0,
        emissive=_encoded(emissive),
        metallic=_unit(metallic),
        roughness=_unit(roughness),
        cutoff=_unit(material.alpha_cutoff) if is_mask else None,
        double_sided=material.double_sided,
        textures=tuple((slot, one) for slot, one in slots if one is not None),
    )


class _Textures:
    """Reads the textures of a document."""

    def __init__(self, document: GltfDocument, accessors: Accessors) -> None:
        self._document = document
        self._accessors = accessors

    def read(self, info: schema.TextureInfo | None) -> MeshTexture | None:
        """Return a texture; without content if its image is in another file."""
        if info is None:
            return None
        texture = self._document.get("textures", info.index, schema.Texture)
        sampler = schema.Sampler()
        if texture.sampler is not None:
            sampler = self._document.get("samplers", texture.sampler, schema.Sampler)
        source = texture.source
        if source is None:
            # The image is only there in a format that an extension adds.
            others = texture.extensions.values()
            source = next((one.source for one in others), None)
        return structs.replace(self._image(source), sampling=_sampling(info, sampler))

    def _image(self, index: int | None) -> MeshTexture:
        image = self._document.get("images", index, schema.Image)
        content = data_of(image.uri)
        if content is None and image.buffer_view is not None:
            content = self._accessors.view(image.buffer_view)
        if content is None:
            return MeshTexture(unquote(image.uri))
        return MeshTexture(image.name or f"image_{index}", content)


def _component(texture: MeshTexture | None, components: str, gain: Gain) -> MeshTexture | None:
    if texture is None:
        return None
    sampling = structs.replace(texture.sampling, components=components, gain=gain)
    return structs.replace(texture, sampling=sampling)


def _sampling(info: schema.TextureInfo, sampler: schema.Sampler) -> Sampling:
    """Convert from v down, with the origin at the upper left corner, to v up.

    KHR_texture_transform looks the image up at R S (u, v) + t. With v = 1 - v', the
    rotation of the scaled coordinates changes its sign, and the translation becomes
    (t_u + s_v sin, 1 - t_v - s_v cos).
    """
    transform = info.extensions.transform
    angle = transform.rotation
    (across, up), (right, down) = transform.scale, transform.offset
    own = transform.tex_coord
    return Sampling(
        wrap_s=_WRAPS.get(sampler.wrap_s, Wrap.REPEAT),
        wrap_t=_WRAPS.get(sampler.wrap_t, Wrap.REPEAT),
        coordinates=info.tex_coord if own is None else own,
        scale=(across, up),
        rotation=angle,
        translation=(
            right + up * math.sin(angle),
            1.0 - down - up * math.cos(angle),
        ),
    )


def _encoded(linear: Sequence[float]) -> tuple[float, float, float]:
    return unit_color(srgb_from_linear(linear).tolist())


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
