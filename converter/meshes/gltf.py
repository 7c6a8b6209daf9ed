"""glTF 2.0, binary or text: the surfaces of the scene as one mesh [m].

glTF is Y up by its specification; positions are rotated to Z up, as in Drake and
Gazebo. Its v coordinate points down from the upper edge of an image and is flipped.
Colours are linear. Metallic-roughness materials are read completely; of
specular-glossiness materials the colour and the glossiness.

trimesh 5.2 is not used because it rounds colours to 255 steps and drops wrap modes,
texture transforms, further sets of texture coordinates, emission and double-sidedness.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias, TypeVar
from urllib.parse import unquote

import msgspec
import numpy as np
from msgspec import Meta, Struct, field
from numpy.typing import NDArray

from urdf_usd.converter.colors import linear_from_srgb, srgb_from_linear
from urdf_usd.converter.meshes.mesh import (
    CornerValues,
    Matrix,
    MeshError,
    PolygonMesh,
    SiblingReader,
    SurfacePart,
    check_indices,
    corner_values,
    join_parts,
    reversed_corners,
    transform_normals,
    transform_vectors,
)
from urdf_usd.converter.meshes.mesh_materials import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
    unit,
    unit_color,
)

_MAGIC = b"glTF"
_HEADER = struct.Struct("<4sII")
_CHUNK = struct.Struct("<I4s")
_VERSION = 2
_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
# Nodes can multiply or be cyclic.
_MOST_NODES = 100_000
_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
_UNREADABLE_EXTENSIONS = {
    "KHR_draco_mesh_compression": "is compressed with Draco",
    "EXT_meshopt_compression": "is compressed with meshoptimizer",
    "KHR_meshopt_compression": "is compressed with meshoptimizer",
}
# Prefixes of required extensions that are read, or that do not change a surface.
_ACCEPTED_EXTENSIONS = (
    "KHR_materials_",
    "KHR_texture_",
    "EXT_texture_",
    "MSFT_texture_",
    "KHR_mesh_quantization",
    "KHR_lights_",
    "KHR_animation_",
    "KHR_xmp",
    "KHR_node_visibility",
)
# Constants of OpenGL.
_REPEAT = 10497
_WRAPS = {33071: Wrap.CLAMP, 33648: Wrap.MIRROR, _REPEAT: Wrap.REPEAT}

# What is read of a document, with the names and defaults of the specification (section 5).
# Its lists hold undecoded JSON: an object is validated when it is used, so that an invalid
# material does not cost a surface.

_Count: TypeAlias = Annotated[int, Meta(ge=0)]
_Vec2: TypeAlias = tuple[float, float]
_Vec3: TypeAlias = tuple[float, float, float]
_Vec4: TypeAlias = tuple[float, float, float, float]
_Objects: TypeAlias = list[msgspec.Raw]
_Object = TypeVar("_Object", bound=Struct)


class _Asset(Struct):
    version: str = ""


class _Root(Struct, rename="camel"):
    asset: _Asset = field(default_factory=_Asset)
    extensions_required: list[str] = []
    scene: int = 0
    scenes: _Objects = []
    nodes: _Objects = []
    meshes: _Objects = []
    accessors: _Objects = []
    buffer_views: _Objects = []
    buffers: _Objects = []
    materials: _Objects = []
    textures: _Objects = []
    samplers: _Objects = []
    images: _Objects = []


class _Scene(Struct):
    nodes: list[int] = []


class _Node(Struct):
    """Transform of a subtree: ``matrix`` (column-major), or the other three."""

    children: list[int] = []
    mesh: int | None = None
    matrix: Annotated[list[float], Meta(min_length=16, max_length=16)] | None = None
    rotation: _Vec4 = (0.0, 0.0, 0.0, 1.0)  # quaternion xyzw
    scale: _Vec3 = (1.0, 1.0, 1.0)
    translation: _Vec3 = (0.0, 0.0, 0.0)


class _Primitive(Struct):
    attributes: dict[str, int] = {}
    indices: int | None = None
    material: int | None = None
    mode: int = _TRIANGLES


class _Mesh(Struct):
    primitives: list[_Primitive] = []


class _SparseIndices(Struct, rename="camel"):
    component_type: int
    buffer_view: int
    byte_offset: _Count = 0


class _SparseValues(Struct, rename="camel"):
    buffer_view: int
    byte_offset: _Count = 0


class _Sparse(Struct):
    count: _Count
    indices: _SparseIndices
    values: _SparseValues


class _Accessor(Struct, rename="camel"):
    component_type: int
    type: str
    count: _Count
    buffer_view: int | None = None
    byte_offset: _Count = 0
    normalized: bool = False
    sparse: _Sparse | None = None
    extensions: dict[str, msgspec.Raw] = {}


class _BufferView(Struct, rename="camel"):
    buffer: int
    byte_length: _Count
    byte_offset: _Count = 0
    byte_stride: _Count = 0


class _Buffer(Struct):
    uri: str | None = None  # None for the binary chunk


class _TextureTransform(Struct, rename="camel"):
    offset: _Vec2 = (0.0, 0.0)
    rotation: float = 0.0
    scale: _Vec2 = (1.0, 1.0)
    tex_coord: _Count | None = None


class _TextureUseExtensions(Struct):
    transform: _TextureTransform = field(
        name="KHR_texture_transform", default_factory=_TextureTransform
    )


class _TextureUse(Struct, rename="camel"):
    index: int
    tex_coord: _Count = 0
    extensions: _TextureUseExtensions = field(default_factory=_TextureUseExtensions)


class _MetallicRoughness(Struct, rename="camel"):
    base_color_factor: _Vec4 = (1.0, 1.0, 1.0, 1.0)
    base_color_texture: _TextureUse | None = None
    metallic_factor: float = 1.0
    roughness_factor: float = 1.0
    metallic_roughness_texture: _TextureUse | None = None


class _SpecularGlossiness(Struct, rename="camel"):
    diffuse_factor: _Vec4 = (1.0, 1.0, 1.0, 1.0)
    diffuse_texture: _TextureUse | None = None
    glossiness_factor: float = 1.0


class _EmissiveStrength(Struct, rename="camel"):
    emissive_strength: float = 1.0


class _MaterialExtensions(Struct):
    specular_glossiness: _SpecularGlossiness | None = field(
        name="KHR_materials_pbrSpecularGlossiness", default=None
    )
    emissive: _EmissiveStrength = field(
        name="KHR_materials_emissive_strength", default_factory=_EmissiveStrength
    )


class _Material(Struct, rename="camel"):
    name: str = ""
    pbr: _MetallicRoughness = field(name="pbrMetallicRoughness", default_factory=_MetallicRoughness)
    normal_texture: _TextureUse | None = None
    occlusion_texture: _TextureUse | None = None
    emissive_texture: _TextureUse | None = None
    emissive_factor: _Vec3 = (0.0, 0.0, 0.0)
    alpha_mode: str = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    extensions: _MaterialExtensions = field(default_factory=_MaterialExtensions)


class _TextureSource(Struct):
    source: int | None = None


class _Texture(Struct):
    sampler: int | None = None
    source: int | None = None
    extensions: dict[str, _TextureSource] = {}  # other formats, such as EXT_texture_webp


class _Sampler(Struct, rename="camel"):
    wrap_s: int = _REPEAT
    wrap_t: int = _REPEAT


class _Image(Struct, rename="camel"):
    name: str = ""
    uri: str = ""
    buffer_view: int | None = None


_FIELDS = {one.encode_name: one.name for one in msgspec.structs.fields(_Root)}


def read_gltf(data: bytes, read_sibling: SiblingReader = lambda _: None) -> PolygonMesh:
    """Read all surfaces of a glTF file, binary or text, as one mesh.

    Skins and morph targets are ignored.

    Args:
        data: Content of the file.
        read_sibling: Reads files that it refers to.

    Raises:
        MeshError: The file is damaged or compressed, or has no surface.
    """
    document = _Document(data, read_sibling)
    skipped: dict[str, None] = {}
    # By index and whether vertices have colours.
    materials: dict[tuple[int, bool], MeshMaterial | None] = {}
    parts: list[SurfacePart] = []
    for mesh, transform in _placed_meshes(document):
        for primitive in mesh.primitives:
            part = _place(document, primitive, transform, materials, skipped)
            if part is not None:
                parts.append(part)
    if not parts:
        raise MeshError("; ".join(("it holds no faces", *skipped)))
    used = {key: material for key, material in materials.items() if material is not None}
    return join_parts(parts, used, skipped=tuple(skipped))


class _Document:
    """Reads the objects and numbers of a file; buffers are read once."""

    def __init__(self, data: bytes, read_sibling: SiblingReader) -> None:
        """Read the JSON of a glTF file of either form.

        Raises:
            MeshError: It is damaged, of another version, or compressed.
        """
        self._read_sibling = read_sibling
        self._buffers: dict[int, bytes] = {}
        self._chunk: bytes | None = None
        if data.startswith(_MAGIC):
            data, self._chunk = _chunks(data)
        try:
            text = data.removeprefix(b"\xef\xbb\xbf")
            # Not strict: 3.0 is an integer in JSON.
            self.root = msgspec.json.decode(text, type=_Root, strict=False)
        except msgspec.ValidationError as error:
            raise MeshError(f"its glTF is invalid: {error}") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise MeshError(f"its glTF is not JSON: {error}") from error
        version = self.root.asset.version
        if version.partition(".")[0] != str(_VERSION):
            raise MeshError(f"it is glTF {version or 'of no version'}, not 2.0")
        for name in self.root.extensions_required:
            if name in _UNREADABLE_EXTENSIONS:
                reason = _UNREADABLE_EXTENSIONS[name]
                raise MeshError(f"it {reason} ({name}); export it uncompressed")
            if not name.startswith(_ACCEPTED_EXTENSIONS):
                raise MeshError(f"it requires the glTF extension {name!r}")

    def get(self, key: str, index: int | None, kind: type[_Object]) -> _Object:
        """Decode an object of one of the document's lists.

        Raises:
            MeshError: The index is out of range, or the object is invalid.
        """
        objects: _Objects = getattr(self.root, _FIELDS[key])
        if index is None or not 0 <= index < len(objects):
            raise MeshError(f"it refers to {key} {index}, of {len(objects)}")
        try:
            return msgspec.json.decode(objects[index], type=kind, strict=False)
        except (msgspec.DecodeError, RecursionError) as error:
            raise MeshError(f"{key} {index} is invalid: {error}") from error

    def rows(self, index: int) -> Matrix:
        """Return the (count, components) values of an accessor.

        Normalised integers are converted to fractions (glTF 2.0, section 3.6.2.2).

        Raises:
            MeshError: They are missing or invalid.
        """
        accessor = self.get("accessors", index, _Accessor)
        stored = self._stored(accessor)
        values: Matrix = stored.astype(np.float64)
        if stored.dtype.kind == "f" or not accessor.normalized:
            return values
        largest: int = np.iinfo(stored.dtype.str).max
        return np.maximum(values / largest, -1.0)

    def indices(self, index: int) -> NDArray[np.int64]:
        """Return the (count,) integers of an accessor.

        Raises:
            MeshError: They are missing or no integers.
        """
        values = self._stored(self.get("accessors", index, _Accessor))
        if values.dtype.kind == "f" or values.shape[1] != 1:
            raise MeshError("its indices are no integers")
        return values[:, 0].astype(np.int64)

    def view(self, index: int) -> bytes:
        """Return the bytes of a buffer view.

        Raises:
            MeshError: They are missing.
        """
        view = self.get("bufferViews", index, _BufferView)
        if view.buffer not in self._buffers:
            self._buffers[view.buffer] = self._buffer(view.buffer)
        end = view.byte_offset + view.byte_length
        if end > len(self._buffers[view.buffer]):
            raise MeshError("a part of a buffer lies beyond its end")
        return self._buffers[view.buffer][view.byte_offset : end]

    def _buffer(self, index: int) -> bytes:
        uri = self.get("buffers", index, _Buffer).uri
        if uri is None:
            if index or self._chunk is None:
                raise MeshError(f"buffer {index} has no content")
            return self._chunk
        content = _embedded(uri)
        if content is None:
            content = self._read_sibling(unquote(uri))
        if content is None:
            raise MeshError(f"its buffer {uri[:80]!r} is not there")
        return content

    def _stored(self, accessor: _Accessor) -> NDArray[np.generic]:
        if accessor.type not in _WIDTHS:
            raise MeshError(f"its numbers are of type {accessor.type!r}")
        shape = accessor.count, _WIDTHS[accessor.type]
        kind = accessor.component_type
        if accessor.buffer_view is not None:
            values = self._array(accessor.buffer_view, accessor.byte_offset, kind, shape)
        elif accessor.extensions and accessor.sparse is None:
            raise MeshError("its numbers are compressed")
        else:
            values = np.zeros(shape, _component(kind))
        if accessor.sparse is None:
            return values
        count, places, new = accessor.sparse.count, accessor.sparse.indices, accessor.sparse.values
        numbers = self._array(
            places.buffer_view, places.byte_offset, places.component_type, (count, 1)
        )[:, 0]
        if numbers.dtype.kind != "u" or (count and numbers.max() >= len(values)):
            raise MeshError("a sparse accessor replaces a row that does not exist")
        values = values.copy()
        values[numbers] = self._array(new.buffer_view, new.byte_offset, kind, (count, shape[1]))
        return values

    def _array(
        self, view: int, offset: int, kind: int, shape: tuple[int, int]
    ) -> NDArray[np.generic]:
        component, content = _component(kind), self.view(view)
        if not shape[0]:
            return np.zeros(shape, component)
        width = component.itemsize * shape[1]
        stride = self.get("bufferViews", view, _BufferView).byte_stride or width
        if offset + stride * (shape[0] - 1) + width > len(content):
            raise MeshError("its numbers lie beyond the end of their buffer")
        return np.ndarray(shape, component, content, offset, (stride, component.itemsize))


def _chunks(data: bytes) -> tuple[bytes, bytes | None]:
    """Return the JSON and the numbers of a binary file."""
    if len(data) < _HEADER.size:
        raise MeshError("its binary glTF ends in its header")
    _, version, length = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise MeshError(f"it is binary glTF {version}, not 2")
    if length > len(data):
        raise MeshError("its binary glTF is truncated")
    chunks: dict[bytes, bytes] = {}
    place = _HEADER.size
    while place + _CHUNK.size <= length:
        size, kind = _CHUNK.unpack_from(data, place)
        place += _CHUNK.size
        if place + size > length:
            raise MeshError("its binary glTF is truncated")
        chunks.setdefault(kind, data[place : place + size])
        place += size
    if b"JSON" not in chunks:
        raise MeshError("its binary glTF has no JSON")
    return chunks[b"JSON"], chunks.get(b"BIN\0")


def _embedded(uri: str) -> bytes | None:
    """Return the content of a ``data:`` URI; None for any other URI.

    Raises:
        MeshError: It is no valid base64.
    """
    if not uri.startswith("data:"):
        return None
    head, _, body = uri.partition(",")
    if not head.endswith(";base64"):
        return unquote(body).encode()
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MeshError("a part of it is not base64") from error


def _component(kind: int) -> np.dtype[np.generic]:
    if kind not in _COMPONENTS:
        raise MeshError(f"its numbers have the component type {kind}")
    return np.dtype(_COMPONENTS[kind])


def _placed_meshes(document: _Document) -> Iterator[tuple[_Mesh, Matrix]]:
    """Yield the meshes of the scene with their transforms.

    A document without a scene is read from all nodes that are no children.
    """
    root = document.root
    if root.scenes:
        tops = document.get("scenes", root.scene, _Scene).nodes
    else:
        numbers = range(len(root.nodes))
        nodes = (document.get("nodes", number, _Node) for number in numbers)
        inside = {child for node in nodes for child in node.children}
        tops = [number for number in numbers if number not in inside]
    pending = [(top, _UPRIGHT) for top in reversed(tops)]
    placed = 0
    while pending:
        placed += 1
        if placed + len(pending) > _MOST_NODES + len(root.nodes):
            raise MeshError("its nodes exceed the limit")
        number, above = pending.pop()
        node = document.get("nodes", number, _Node)
        transform = above @ _transform(node)
        if node.mesh is not None:
            yield document.get("meshes", node.mesh, _Mesh), transform
        pending += [(child, transform) for child in reversed(node.children)]


def _transform(node: _Node) -> Matrix:
    if node.matrix is not None:
        return np.array(node.matrix).reshape(4, 4).T
    x, y, z, w = node.rotation
    length = (x * x + y * y + z * z + w * w) ** 0.5
    if not length:
        raise MeshError("a rotation has no length")
    x, y, z, w = x / length, y / length, z / length, w / length
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    result = np.eye(4)
    result[:3, :3] = rotation * np.array(node.scale)
    result[:3, 3] = node.translation
    return result


def _place(
    document: _Document,
    primitive: _Primitive,
    transform: Matrix,
    materials: dict[tuple[int, bool], MeshMaterial | None],
    skipped: dict[str, None],
) -> SurfacePart | None:
    """Return the triangles of a primitive in the scene; None if it has none."""
    mode, attributes = primitive.mode, primitive.attributes
    if mode not in {_TRIANGLES, _STRIP, _FAN} or "POSITION" not in attributes:
        return None
    positions = document.rows(attributes["POSITION"])
    if positions.shape[1] != 3:
        raise MeshError("its positions are not three numbers each")
    if primitive.indices is None:
        order = np.arange(len(positions))
    else:
        order = document.indices(primitive.indices)
    corners = _triangles(order, mode)
    if not len(corners):
        return None
    counts = np.full(len(corners) // 3, 3)
    check_indices(len(positions), counts, corners)
    linear = transform[:3, :3]
    # What overflows here is found by build_mesh.
    with np.errstate(all="ignore"):
        points = transform_vectors(positions, linear) + transform[:3, 3]
        if np.linalg.det(linear) < 0:
            corners = corners[reversed_corners(counts)]

    def read(key: str, width: int) -> Matrix | None:
        """Return the rows of an attribute; an invalid one is skipped."""
        if key not in attributes:
            return None
        try:
            rows = document.rows(attributes[key])
        except MeshError as error:
            skipped[f"its {key} are left out: {error}"] = None
            return None
        if len(rows) != len(positions) or rows.shape[1] < width:
            skipped[f"its {key} do not match its points"] = None
            return None
        return rows[:, :width]

    normals = read("NORMAL", 3)
    coordinates: dict[int, CornerValues] = {}
    number = 0
    while (key := f"TEXCOORD_{number}") in attributes:
        rows = read(key, 2)
        if rows is not None:
            values = corner_values(np.stack([rows[:, 0], 1.0 - rows[:, 1]], axis=1), corners)
            coordinates |= {} if values is None else {number: values}
        number += 1
    colors = read("COLOR_0", 3)
    found = None if primitive.material is None else (primitive.material, colors is not None)
    if found is not None and found not in materials:
        materials[found] = _read_material(document, *found, skipped)
    material = None if found is None else materials[found]
    return SurfacePart(
        points=points,
        counts=counts,
        indices=corners,
        normals=None
        if normals is None
        else corner_values(transform_normals(normals, linear), corners),
        coordinates=coordinates,
        colors=None if colors is None else _corner_colors(colors[corners], material),
        material=found,
    )


def _triangles(order: NDArray[np.int64], mode: int) -> NDArray[np.int64]:
    """Return the corners of the triangles that a list, strip or fan stands for."""
    if mode == _TRIANGLES:
        return order[: len(order) // 3 * 3]
    first = np.arange(max(len(order) - 2, 0))
    if mode == _FAN:
        rows = np.stack([first + 1, first + 2, np.zeros_like(first)], axis=1)
    else:
        odd = first % 2
        rows = np.stack([first, first + 1 + odd, first + 2 - odd], axis=1)
    return order[rows.reshape(-1)]


def _corner_colors(linear: Matrix, material: MeshMaterial | None) -> CornerValues | None:
    """Return vertex colours, multiplied by the material's colour if that is used."""
    linear = np.clip(linear, 0.0, 1.0)
    if material is not None and material.shows_corners and material.color is not None:
        linear = linear * linear_from_srgb(material.color)
    values, indices = np.unique(linear, axis=0, return_inverse=True)
    return corner_values(srgb_from_linear(values), indices.reshape(-1))


def _read_material(
    document: _Document, index: int, colored: bool, skipped: dict[str, None]
) -> MeshMaterial | None:
    """Read a material; None if it is invalid, or one of its images is missing.

    Vertex colours are factors of the material's colour, unless that is an image.
    """
    try:
        material = _material(document, document.get("materials", index, _Material))
    except MeshError as error:
        skipped[f"material {index} is left out: {error}"] = None
        return None
    has_image = any(slot is Slot.COLOR for slot, _ in material.textures)
    if colored and has_image:
        skipped["colours of vertices are not multiplied with textures"] = None
    return msgspec.structs.replace(material, shows_corners=colored and not has_image)


def _material(document: _Document, material: _Material) -> MeshMaterial:
    glossy = material.extensions.specular_glossiness
    if glossy is not None:
        factor, color = glossy.diffuse_factor, glossy.diffuse_texture
        metallic, roughness = 0.0, 1.0 - glossy.glossiness_factor
        surface = None
    else:
        factor, color = material.pbr.base_color_factor, material.pbr.base_color_texture
        metallic, roughness = material.pbr.metallic_factor, material.pbr.roughness_factor
        surface = material.pbr.metallic_roughness_texture
    # Emission is clamped to one, as colours are.
    strength = material.extensions.emissive.emissive_strength
    emissive = unit_color([part * strength for part in material.emissive_factor])
    red, green, blue, alpha = map(unit, factor)
    blends = material.alpha_mode in {"BLEND", "MASK"}
    gains = (red, green, blue, alpha), (1.0, unit(roughness), unit(metallic), 1.0)
    plain = (1.0, 1.0, 1.0, 1.0)
    # Uses of one image differ only in the component, so that it is read once.
    uses = (
        (Slot.COLOR, color, "rgb", gains[0]),
        (Slot.OPACITY, color if blends else None, "a", gains[0]),
        (Slot.EMISSION, material.emissive_texture, "rgb", (*emissive, 1.0)),
        (Slot.ROUGHNESS, surface, "g", gains[1]),
        (Slot.METALNESS, surface, "b", gains[1]),
        (Slot.NORMAL, material.normal_texture, "rgb", plain),
        (Slot.OCCLUSION, material.occlusion_texture, "r", plain),
    )
    return MeshMaterial(
        name=material.name,
        color=_encoded((red, green, blue)),
        opacity=alpha if blends else 1.0,
        emissive=_encoded(emissive),
        metallic=unit(metallic),
        roughness=unit(roughness),
        cutoff=unit(material.alpha_cutoff) if material.alpha_mode == "MASK" else None,
        double_sided=material.double_sided,
        textures=tuple(
            (slot, _texture(document, use).sampled(components=components, gain=gain))
            for slot, use, components, gain in uses
            if use is not None
        ),
    )


def _encoded(linear: Sequence[float]) -> tuple[float, float, float]:
    return unit_color(srgb_from_linear(linear).tolist())


def _texture(document: _Document, use: _TextureUse) -> MeshTexture:
    """Return a texture; without content if its image is in another file.

    It is converted from v down, with the origin at the upper left corner, to v up:
    KHR_texture_transform looks the image up at R S (u, v) + t. With v = 1 - v', the
    rotation of the scaled coordinates changes its sign, and the translation becomes
    (t_u + s_v sin, 1 - t_v - s_v cos).
    """
    texture = document.get("textures", use.index, _Texture)
    sampler = _Sampler()
    if texture.sampler is not None:
        sampler = document.get("samplers", texture.sampler, _Sampler)
    source = texture.source
    if source is None:
        # The image is only there in a format that an extension adds.
        source = next((other.source for other in texture.extensions.values()), None)
    image = document.get("images", source, _Image)
    content = _embedded(image.uri)
    if content is None and image.buffer_view is not None:
        content = document.view(image.buffer_view)
    reference = unquote(image.uri) if content is None else image.name or f"image_{source}"
    transform = use.extensions.transform
    (across, up), (right, down), angle = transform.scale, transform.offset, transform.rotation
    sampling = Sampling(
        wrap_s=_WRAPS.get(sampler.wrap_s, Wrap.REPEAT),
        wrap_t=_WRAPS.get(sampler.wrap_t, Wrap.REPEAT),
        coordinates=use.tex_coord if transform.tex_coord is None else transform.tex_coord,
        scale=(across, up),
        rotation=angle,
        translation=(right + up * math.sin(angle), 1.0 - down - up * math.cos(angle)),
    )
    return MeshTexture(reference, content, sampling)
