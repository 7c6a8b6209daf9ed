"""The objects of glTF 2.0 that are read, with the defaults of the specification.

Names and meaning: Khronos glTF 2.0 specification, section 5. The lists of a document
hold undecoded JSON: an object is validated when it is used, so that an invalid material
does not cost a surface.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Vec2: TypeAlias = tuple[float, float]
Vec3: TypeAlias = tuple[float, float, float]
Vec4: TypeAlias = tuple[float, float, float, float]
Objects: TypeAlias = list[msgspec.Raw]


class Asset(msgspec.Struct):
    """Metadata of the document."""

    version: str = ""


class Root(msgspec.Struct, rename="camel"):
    """The document."""

    asset: Asset = msgspec.field(default_factory=Asset)
    extensions_required: list[str] = []
    scene: int = 0
    scenes: Objects = []
    nodes: Objects = []
    meshes: Objects = []
    accessors: Objects = []
    buffer_views: Objects = []
    buffers: Objects = []
    materials: Objects = []
    textures: Objects = []
    samplers: Objects = []
    images: Objects = []


class Scene(msgspec.Struct):
    """Root nodes of a scene."""

    nodes: list[int] = []


class Node(msgspec.Struct):
    """Transform of a subtree: ``matrix`` (column-major), or the other three."""

    children: list[int] = []
    mesh: int | None = None
    matrix: Annotated[list[float], msgspec.Meta(min_length=16, max_length=16)] | None = None
    rotation: Vec4 = (0.0, 0.0, 0.0, 1.0)
    """Quaternion xyzw."""
    scale: Vec3 = (1.0, 1.0, 1.0)
    translation: Vec3 = (0.0, 0.0, 0.0)


class Primitive(msgspec.Struct):
    """Geometry with one material."""

    attributes: dict[str, int] = {}
    indices: int | None = None
    material: int | None = None
    mode: int = 4


class Mesh(msgspec.Struct):
    """Primitives that share a transform."""

    primitives: list[Primitive] = []


class SparseIndices(msgspec.Struct, rename="camel"):
    """Rows that are replaced."""

    component_type: int
    buffer_view: int
    byte_offset: Count = 0


class SparseValues(msgspec.Struct, rename="camel"):
    """Values that they are replaced by."""

    buffer_view: int
    byte_offset: Count = 0


class Sparse(msgspec.Struct):
    """Replacement of some rows of an accessor."""

    count: Count
    indices: SparseIndices
    values: SparseValues


class Accessor(msgspec.Struct, rename="camel"):
    """A typed view of a part of a buffer."""

    component_type: int
    type: str
    count: Count
    buffer_view: int | None = None
    byte_offset: Count = 0
    normalized: bool = False
    sparse: Sparse | None = None
    extensions: dict[str, msgspec.Raw] = {}


class BufferView(msgspec.Struct, rename="camel"):
    """A part of a buffer."""

    buffer: int
    byte_length: Count
    byte_offset: Count = 0
    byte_stride: Count = 0


class Buffer(msgspec.Struct):
    """Bytes in a file, in a ``data:`` URI, or (without URI) in the GLB."""

    uri: str | None = None


class TextureTransform(msgspec.Struct, rename="camel"):
    """KHR_texture_transform."""

    offset: Vec2 = (0.0, 0.0)
    rotation: float = 0.0
    scale: Vec2 = (1.0, 1.0)
    tex_coord: Count | None = None


class _TextureInfoExtensions(msgspec.Struct):
    transform: TextureTransform = msgspec.field(
        name="KHR_texture_transform", default_factory=TextureTransform
    )


class TextureInfo(msgspec.Struct, rename="camel"):
    """Use of a texture by a material."""

    index: int
    tex_coord: Count = 0
    extensions: _TextureInfoExtensions = msgspec.field(default_factory=_TextureInfoExtensions)


class MetallicRoughness(msgspec.Struct, rename="camel"):
    """Metallic-roughness parameters of a material."""

    base_color_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    base_color_texture: TextureInfo | None = None
    metallic_factor: float = 1.0
    roughness_factor: float = 1.0
    metallic_roughness_texture: TextureInfo | None = None


class SpecularGlossiness(msgspec.Struct, rename="camel"):
    """KHR_materials_pbrSpecularGlossiness."""

    diffuse_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    diffuse_texture: TextureInfo | None = None
    glossiness_factor: float = 1.0


class EmissiveStrength(msgspec.Struct, rename="camel"):
    """KHR_materials_emissive_strength."""

    emissive_strength: float = 1.0


class _MaterialExtensions(msgspec.Struct):
    specular_glossiness: SpecularGlossiness | None = msgspec.field(
        name="KHR_materials_pbrSpecularGlossiness", default=None
    )
    emissive: EmissiveStrength = msgspec.field(
        name="KHR_materials_emissive_strength", default_factory=EmissiveStrength
    )


class Material(msgspec.Struct, rename="camel"):
    """A material."""

    name: str = ""
    metallic_roughness: MetallicRoughness = msgspec.field(
        name="pbrMetallicRoughness", default_factory=MetallicRoughness
    )
    normal_texture: TextureInfo | None = None
    occlusion_texture: TextureInfo | None = None
    emissive_texture: TextureInfo | None = None
    emissive_factor: Vec3 = (0.0, 0.0, 0.0)
    alpha_mode: str = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    extensions: _MaterialExtensions = msgspec.field(default_factory=_MaterialExtensions)


class _TextureExtension(msgspec.Struct):
    source: int | None = None


class Texture(msgspec.Struct):
    """An image and its sampler."""

    sampler: int | None = None
    source: int | None = None
    extensions: dict[str, _TextureExtension] = {}
    """Further formats of the image, such as EXT_texture_webp."""


class Sampler(msgspec.Struct, rename="camel"):
    """Wrap modes, as constants of OpenGL."""

    wrap_s: int = 10497
    wrap_t: int = 10497


class Image(msgspec.Struct, rename="camel"):
    """An image in a file, in a ``data:`` URI, or in a buffer view."""

    name: str = ""
    uri: str = ""
    buffer_view: int | None = None
