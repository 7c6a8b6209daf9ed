"""glTF 2.0, binary or text: the surfaces of the scene as one mesh [m].

glTF is Y up by its specification; positions are rotated to Z up, as in Drake and Gazebo. Its v
coordinate points down from the upper edge of an image and is flipped. Colours are linear.
Materials are metallic-roughness, or the diffuse colour of specular-glossiness; an invalid one is
left out.
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
from msgspec import Meta, Raw, Struct, field, structs
from numpy.typing import NDArray

from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes import mesh_materials as mm
from urdf_usd.converter.meshes.mesh import require
from urdf_usd.converter.meshes.mesh_materials import linear_from_srgb, srgb_from_linear
from urdf_usd.converter.robot.spatial import rotation_from_quat_wxyz

_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TRIANGLES = 4
_STRIP, _FAN = 5, 6
# Nodes can multiply or be cyclic.
_MOST_NODES = 100_000
_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
# Prefixes of required extensions that are read, or that do not change a surface.
_KNOWN_EXTENSIONS = (
    *("KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_"),
    *("KHR_mesh_quantization", "KHR_lights_", "KHR_animation_", "KHR_xmp", "KHR_node_visibility"),
)
# Constants of OpenGL.
_REPEAT = 10497
_WRAPS = {33071: mm.Wrap.CLAMP, 33648: mm.Wrap.MIRROR}

# What is read of a document, with the names and defaults of the specification (section 5).

_Count: TypeAlias = Annotated[int, Meta(ge=0)]
_Vec2: TypeAlias = tuple[float, float]
_Vec3: TypeAlias = tuple[float, float, float]
_Vec4: TypeAlias = tuple[float, float, float, float]
_Item = TypeVar("_Item")
_Part: TypeAlias = tuple[meshes.PolygonMesh, mm.MeshMaterial | None]


class _Object(Struct, rename="camel", kw_only=True):
    extensions: dict[str, Raw] = {}


class _Scene(_Object):
    nodes: list[int] = []


class _Node(_Object):
    children: list[int] = []
    mesh: int | None = None
    # Column-major, or else the other three.
    matrix: Annotated[list[float], Meta(min_length=16, max_length=16)] | None = None
    rotation: _Vec4 = (0.0, 0.0, 0.0, 1.0)  # quaternion xyzw
    scale: _Vec3 = (1.0, 1.0, 1.0)
    translation: _Vec3 = (0.0, 0.0, 0.0)


class _Primitive(_Object):
    attributes: dict[str, int] = {}
    indices: int | None = None
    material: int | None = None
    mode: int = _TRIANGLES


class _Mesh(_Object):
    primitives: list[_Primitive] = []


class _Accessor(_Object):
    component_type: int
    type: str
    count: _Count
    buffer_view: int | None = None
    byte_offset: _Count = 0
    normalized: bool = False
    sparse: dict[str, Raw] | None = None


class _BufferView(_Object):
    buffer: int
    byte_length: _Count
    byte_offset: _Count = 0
    byte_stride: _Count = 0


class _TextureTransform(Struct, rename="camel"):
    offset: _Vec2 = (0.0, 0.0)
    rotation: float = 0.0
    scale: _Vec2 = (1.0, 1.0)
    tex_coord: _Count | None = None


class _TextureExtensions(Struct):
    transform: _TextureTransform = field(
        name="KHR_texture_transform", default_factory=_TextureTransform
    )


class _TextureUse(Struct, rename="camel"):
    index: int
    tex_coord: _Count = 0
    extensions: _TextureExtensions = field(default_factory=_TextureExtensions)


class _MetallicRoughness(_Object):
    base_color_factor: _Vec4 = (1.0, 1.0, 1.0, 1.0)
    base_color_texture: _TextureUse | None = None
    metallic_factor: float = 1.0
    roughness_factor: float = 1.0
    metallic_roughness_texture: _TextureUse | None = None


class _SpecularGlossiness(Struct, rename="camel"):
    diffuse_factor: _Vec4 = (1.0, 1.0, 1.0, 1.0)
    diffuse_texture: _TextureUse | None = None
    glossiness_factor: float = 1.0


class _MaterialExtensions(Struct):
    glossy: _SpecularGlossiness | None = field(
        name="KHR_materials_pbrSpecularGlossiness", default=None
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


class _Source(Struct):
    source: int | None = None


class _Texture(_Source):
    sampler: int | None = None
    # An image that only an extension names, such as EXT_texture_webp.
    extensions: dict[str, _Source] = {}


class _Sampler(_Object):
    wrap_s: int = _REPEAT
    wrap_t: int = _REPEAT


class _File(_Object):  # a buffer or an image
    name: str = ""
    uri: str | None = None  # None for the binary chunk
    buffer_view: int | None = None


class _Document(_Object):
    asset: dict[str, Raw] = {}
    extensions_required: list[str] = []
    scene: int = 0
    scenes: list[_Scene] = []
    nodes: list[_Node] = []
    meshes: list[_Mesh] = []
    accessors: list[_Accessor] = []
    buffer_views: list[_BufferView] = []
    buffers: list[_File] = []
    materials: list[_Material] = []
    textures: list[_Texture] = []
    samplers: list[_Sampler] = []
    images: list[_File] = []


# What overflows is refused by build_mesh.
@np.errstate(all="ignore")
def read_gltf(
    data: bytes, read_sibling: meshes.SiblingReader = lambda _: None
) -> meshes.PolygonMesh:
    """Read all surfaces of a glTF file as one mesh; skins and morph targets are ignored.

    MeshError if the file is damaged or compressed, or has no surface.
    """
    chunk = None
    if data.startswith(b"glTF"):
        data, chunk = _chunks(data)
    try:
        # Not strict: 3.0 is an integer in JSON.
        text = data.removeprefix(b"\xef\xbb\xbf")
        document = msgspec.json.decode(text, type=_Document, strict=False)
    except msgspec.ValidationError as error:
        raise meshes.MeshError(f"its glTF is invalid: {error}") from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise meshes.MeshError(f"its glTF is not JSON: {error}") from error
    version = bytes(document.asset.get("version", b"")).decode(errors="replace").strip('"')
    is_known = version.partition(".")[0] == "2"
    require(is_known, f"it is glTF {version or 'of no version'}, not 2.0")
    for name in document.extensions_required:
        is_compressed, is_known = name.endswith("_compression"), name.startswith(_KNOWN_EXTENSIONS)
        require(not is_compressed, f"it is compressed ({name}); export it uncompressed")
        require(is_known, f"it requires the glTF extension {name!r}")
    reader = _Reader(document, chunk, read_sibling)
    parts = [part for number, matrix in _placed(document) for part in reader.place(number, matrix)]
    require(parts, "it holds no faces")
    return structs.replace(meshes.join_parts(parts), skipped=tuple(dict.fromkeys(reader.skipped)))


def _chunks(data: bytes) -> tuple[bytes, bytes | None]:
    """Return the JSON and the numbers of a binary file."""
    require(len(data) >= 12, "its binary glTF ends in its header")
    version, length = struct.unpack_from("<II", data, 4)
    require(version == 2, f"it is binary glTF {version}, not 2")
    require(length <= len(data), "its binary glTF is truncated")
    chunks: dict[bytes, bytes] = {}
    start = 12
    while start + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, start)
        start += 8 + size
        require(start <= length, "its binary glTF is truncated")
        chunks.setdefault(kind, data[start - size : start])
    require(b"JSON" in chunks, "its binary glTF has no JSON")
    return chunks[b"JSON"], chunks.get(b"BIN\0")


def _item(objects: Sequence[_Item], index: int | None, key: str) -> _Item:
    """Return an object of one of the document's lists."""
    if index is None or not 0 <= index < len(objects):
        raise meshes.MeshError(f"it refers to {key} {index}, of {len(objects)}")
    return objects[index]


def _embedded(uri: str) -> bytes | None:
    """Return the content of a ``data:`` URI; None for any other URI."""
    head, _, body = uri.partition(",")
    if not uri.startswith("data:"):
        return None
    try:
        encoded = head.endswith(";base64")
        return base64.b64decode(body, validate=True) if encoded else unquote(body).encode()
    except (binascii.Error, ValueError) as error:
        raise meshes.MeshError("a part of it is not base64") from error


# The scene


def _placed(document: _Document) -> Iterator[tuple[int, meshes.Matrix]]:
    """Yield the numbers of the meshes of the scene, with (4, 4) transforms.

    A document without a scene is read from all nodes that are no children.
    """
    if document.scenes:
        tops = _item(document.scenes, document.scene, "scenes").nodes
    else:
        inside = {child for node in document.nodes for child in node.children}
        tops = [number for number in range(len(document.nodes)) if number not in inside]
    pending = [(top, _UPRIGHT) for top in reversed(tops)]
    placed = 0
    while pending:
        placed += 1
        is_within = placed + len(pending) <= _MOST_NODES + len(document.nodes)
        require(is_within, "its nodes exceed the limit")
        number, above = pending.pop()
        node = _item(document.nodes, number, "nodes")
        if node.matrix is not None:
            own = np.array(node.matrix).reshape(4, 4).T
        else:
            own = np.eye(4)
            x, y, z, w = node.rotation
            require(any(c * c for c in node.rotation), "a rotation has no length")
            own[:3, :3] = rotation_from_quat_wxyz((w, x, y, z)) * np.array(node.scale)
            own[:3, 3] = node.translation
        transform = above @ own
        if node.mesh is not None:
            yield node.mesh, transform
        pending += [(child, transform) for child in reversed(node.children)]


class _Reader(Struct):
    """Reads meshes, materials and numbers of a document; each mesh and buffer once."""

    document: _Document
    chunk: bytes | None
    read_sibling: meshes.SiblingReader
    skipped: tuple[str, ...] = ()
    # By number and whether vertices have colours.
    materials: dict[tuple[int, bool], mm.MeshMaterial | None] = {}
    buffers: dict[int, bytes] = {}
    parts: dict[int, list[_Part]] = {}

    def place(self, number: int, transform: meshes.Matrix) -> Iterator[_Part]:
        """Yield the parts of a mesh in the scene."""
        if number not in self.parts:
            mesh = _item(self.document.meshes, number, "meshes")
            read = [self._part(primitive) for primitive in mesh.primitives]
            self.parts[number] = [part for part in read if part is not None]
        return meshes.place_parts(self.parts[number], transform)

    # Numbers

    def _view(self, index: int | None) -> bytes:
        """Return the bytes of a buffer view."""
        view = _item(self.document.buffer_views, index, "bufferViews")
        if view.buffer not in self.buffers:
            uri = _item(self.document.buffers, view.buffer, "buffers").uri
            content = self.chunk if view.buffer == 0 else None
            if uri is not None:
                content = _embedded(uri)
                content = self.read_sibling(unquote(uri)) if content is None else content
            if content is None:
                name = f"its buffer {uri[:80]!r} is not there" if uri else ""
                raise meshes.MeshError(name or f"buffer {view.buffer} has no content")
            self.buffers[view.buffer] = content
        buffer, end = self.buffers[view.buffer], view.byte_offset + view.byte_length
        require(end <= len(buffer), "a part of a buffer lies beyond its end")
        return buffer[view.byte_offset : end]

    def _numbers(self, accessor: _Accessor) -> NDArray[np.generic]:
        """Return the (count, components) stored values of an accessor."""
        is_known = accessor.type in _WIDTHS and accessor.component_type in _COMPONENTS
        kind = f"{accessor.type!r} of {accessor.component_type}"
        require(is_known, f"its numbers are of type {kind}")
        is_compressed = accessor.buffer_view is None and accessor.extensions
        require(not (accessor.sparse or is_compressed), "its numbers are sparse or compressed")
        component, width = np.dtype(_COMPONENTS[accessor.component_type]), _WIDTHS[accessor.type]
        if accessor.buffer_view is None or not accessor.count:
            return np.zeros((accessor.count, width), component)
        content, size = self._view(accessor.buffer_view), component.itemsize * width
        stride = self.document.buffer_views[accessor.buffer_view].byte_stride or size
        end = accessor.byte_offset + stride * (accessor.count - 1) + size
        require(end <= len(content), "its numbers lie beyond the end of their buffer")
        strides, shape = (stride, component.itemsize), (accessor.count, width)
        return np.ndarray(shape, component, content, accessor.byte_offset, strides)

    def _rows(self, index: int) -> meshes.Matrix:
        """Return values as floats; normalised integers are fractions (glTF 2.0, 3.6.2.2)."""
        accessor = _item(self.document.accessors, index, "accessors")
        stored = self._numbers(accessor)
        values: meshes.Matrix = stored.astype(np.float64)
        if stored.dtype.kind == "f" or not accessor.normalized:
            return values
        largest: int = np.iinfo(stored.dtype.str).max
        return np.maximum(values / largest, -1.0)

    # Surfaces

    def _part(self, primitive: _Primitive) -> _Part | None:
        """Return the triangles of a primitive; None if it has none."""
        mode, attributes = primitive.mode, primitive.attributes
        if mode not in {_TRIANGLES, _STRIP, _FAN} or "POSITION" not in attributes:
            return None
        positions = self._rows(attributes["POSITION"])
        require(positions.shape[1] == 3, "its positions are not three numbers each")
        order = np.arange(len(positions))
        if primitive.indices is not None:
            accessor = _item(self.document.accessors, primitive.indices, "accessors")
            numbers = self._numbers(accessor)
            is_one_integer = numbers.dtype.kind != "f" and numbers.shape[1] == 1
            require(is_one_integer, "its indices are no integers")
            order = numbers[:, 0].astype(np.int64)
        first = np.arange(max(len(order) - 2, 0))
        if mode == _STRIP:
            # Of every other triangle, the last two corners change places.
            odd = first % 2
            corners = order[np.stack([first, first + 1 + odd, first + 2 - odd], axis=1)].ravel()
        elif mode == _FAN:
            corners = order[np.stack([first + 1, first + 2, 0 * first], axis=1)].ravel()
        else:
            corners = order[: len(order) // 3 * 3]
        if not len(corners):
            return None
        counts = np.full(len(corners) // 3, 3, np.int32)
        meshes.check_indices(len(positions), counts, corners)

        def read(key: str, width: int) -> meshes.Matrix:
            rows = self._rows(attributes[key])
            is_alike = len(rows) == len(positions) and rows.shape[1] >= width
            require(is_alike, f"its {key} do not match its points")
            return rows[:, :width]

        normals = (
            meshes.corner_values(read("NORMAL", 3), corners) if "NORMAL" in attributes else None
        )
        sets: list[meshes.CornerValues | None] = []
        while (key := f"TEXCOORD_{len(sets)}") in attributes:
            u, v = read(key, 2).T
            sets.append(meshes.corner_values(np.stack([u, 1.0 - v], axis=1), corners))
        colors = read("COLOR_0", 3) if "COLOR_0" in attributes else None
        material = None
        if primitive.material is not None:
            found = primitive.material, colors is not None
            if found not in self.materials:
                try:
                    self.materials[found] = self._material(*found)
                except meshes.MeshError as error:
                    self.materials[found] = None
                    self.skipped += (f"material {primitive.material} is left out: {error}",)
            material = self.materials[found]
        own = None
        if colors is not None:
            # The material's colour is a factor of vertex colours.
            linear = np.clip(colors[corners], 0.0, 1.0)
            if material is not None and material.shows_corners and material.color is not None:
                linear = linear * linear_from_srgb(material.color)
            values, indices = np.unique(linear, axis=0, return_inverse=True)
            own = meshes.corner_values(srgb_from_linear(values), indices.reshape(-1))
        indices = corners.astype(np.int32)
        surface = meshes.PolygonMesh(
            positions, counts, indices, normals=normals, coordinate_sets=tuple(sets), colors=own
        )
        return surface, material

    # Materials

    def _material(self, index: int, colored: bool) -> mm.MeshMaterial:
        """Read a material; vertex colours are factors of its colour, unless that is an image."""
        material = _item(self.document.materials, index, "materials")
        pbr = material.pbr
        if glossy := material.extensions.glossy:
            pbr = _MetallicRoughness(
                base_color_factor=glossy.diffuse_factor,
                base_color_texture=glossy.diffuse_texture,
                metallic_factor=0.0,
                roughness_factor=1.0 - glossy.glossiness_factor,
            )
        color, surface = pbr.base_color_texture, pbr.metallic_roughness_texture
        metallic, roughness = mm.unit(pbr.metallic_factor), mm.unit(pbr.roughness_factor)
        emissive = mm.unit_color(material.emissive_factor)
        *linear, alpha = map(mm.unit, pbr.base_color_factor)
        blends = material.alpha_mode in {"BLEND", "MASK"}
        gain, surface_gain = (*linear, alpha), (1.0, roughness, metallic, 1.0)
        # Uses of one image differ only in the component, so that it is read once.
        uses: tuple[tuple[mm.Slot, _TextureUse | None, dict[str, object]], ...] = (
            (mm.Slot.COLOR, color, {"gain": gain}),
            (mm.Slot.OPACITY, color if blends else None, {"components": "a", "gain": gain}),
            (mm.Slot.EMISSION, material.emissive_texture, {"gain": (*emissive, 1.0)}),
            (mm.Slot.ROUGHNESS, surface, {"components": "g", "gain": surface_gain}),
            (mm.Slot.METALNESS, surface, {"components": "b", "gain": surface_gain}),
            (mm.Slot.NORMAL, material.normal_texture, {}),
            (mm.Slot.OCCLUSION, material.occlusion_texture, {"components": "r"}),
        )
        assembled = mm.assemble_material(
            material.name,
            srgb_from_linear(linear).tolist(),
            alpha if blends else 1.0,
            srgb_from_linear(emissive).tolist(),
            [(slot, self._texture(use), changes) for slot, use, changes in uses if use],
            metallic=metallic,
            roughness=roughness,
            cutoff=mm.unit(material.alpha_cutoff) if material.alpha_mode == "MASK" else None,
            double_sided=material.double_sided,
            shows_corners=colored and color is None,
        )
        if colored and color is not None:
            self.skipped += ("colours of vertices are not multiplied with textures",)
        return assembled

    def _texture(self, use: _TextureUse) -> mm.MeshTexture:
        """Return a texture; without content if its image is in another file."""
        document, sampler = self.document, _Sampler()
        texture = _item(document.textures, use.index, "textures")
        if texture.sampler is not None:
            sampler = _item(document.samplers, texture.sampler, "samplers")
        sources = texture.source, *(one.source for one in texture.extensions.values())
        source = next((one for one in sources if one is not None), None)
        image = _item(document.images, source, "images")
        uri = image.uri or ""
        content = _embedded(uri)
        if content is None and image.buffer_view is not None:
            content = self._view(image.buffer_view)
        reference = unquote(uri) if content is None else image.name or f"image_{source}"
        moved = use.extensions.transform
        # KHR_texture_transform looks the image up at R S (u, v) + offset, where v points down: with
        # v up, the rotation changes its sign, and the translation is that of (u, 1 - v).
        (right, down), (_, up), angle = moved.offset, moved.scale, moved.rotation
        sampling = mm.Sampling(
            wrap_s=_WRAPS.get(sampler.wrap_s, mm.Wrap.REPEAT),
            wrap_t=_WRAPS.get(sampler.wrap_t, mm.Wrap.REPEAT),
            coordinates=use.tex_coord if moved.tex_coord is None else moved.tex_coord,
            scale=moved.scale,
            rotation=angle,
            translation=(right + up * math.sin(angle), 1.0 - down - up * math.cos(angle)),
        )
        return mm.MeshTexture(reference, content, sampling)
