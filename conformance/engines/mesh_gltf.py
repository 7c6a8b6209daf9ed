"""glTF and GLB files: surfaces by trimesh, materials by the specification.

trimesh reads the file as it is. It rounds colours to 255 steps and does not state the
material of a surface: its geometries are the primitives of the document, in order,
without those of modes that it does not support. The converter has its own reader.
"""

from __future__ import annotations

import base64
import io
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

import numpy as np
import trimesh
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.loaded_mesh import (
    LoadedMesh,
    MeshPart,
    UnreadMeshError,
    joined_parts,
    reading_by,
)
from urdf_usd.conformance.engines.mesh_materials import (
    LARGEST_MESH,
    MOST_NUMBERS,
    FileMaterial,
    ImageFile,
    both_sides,
    clamped,
    emitting,
    read_bounded,
    require_bounded,
)

Json: TypeAlias = dict[str, Any]

_MAGIC = b"glTF"
_HEADER = struct.Struct("<4sII")
_CHUNK = struct.Struct("<II")
_JSON = 0x4E4F534A
# Wrap mode by its constant of OpenGL.
_REPEAT = 10497
_BLACK = (0.0, 0.0, 0.0)
_STRENGTH = "KHR_materials_emissive_strength"
# Inputs of a preview surface that are not compared: samplers, images, extensions.
_UNREAD = frozenset(
    {
        "clearcoat",
        "clearcoatRoughness",
        "ior",
        "normal",
        "occlusion",
        "opacity.",
        "specularColor",
        "useSpecularWorkflow",
    }
)
_WHITE = (1.0, 1.0, 1.0, 1.0)
_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
_TRIANGLES, _FAN = 4, 6
# Points, lines, triangles and strips of triangles.
_READ = frozenset({0, 1, _TRIANGLES, 5})
_COMPRESSIONS = frozenset(
    {
        "EXT_meshopt_compression",
        "KHR_draco_mesh_compression",
        "KHR_meshopt_compression",
    }
)
# Exceptions that a document raises which violates the specification.
_MALFORMED = (
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
_COMPONENTS = {"VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
# Number of a set of texture coordinates other than the first.
_OTHER_SET = re.compile(r'"texCoord": [1-9]')
_GLOSSY = "KHR_materials_pbrSpecularGlossiness"


def read_gltf(content: bytes, folder: str) -> LoadedMesh:
    """Read a file, turned upright.

    Args:
        content: glTF or GLB.
        folder: What files that it names are relative to.

    Raises:
        UnreadMeshError: trimesh raised, or does not support a feature of the document;
            the document is malformed, or has no triangle.
    """
    try:
        document, binary = _opened(content)
        primitives = [
            primitive for mesh in document.get("meshes", ()) for primitive in mesh["primitives"]
        ]
        _require_readable(document, primitives)
        _require_bounded(document, primitives)
        look = _Materials(document, binary, folder)
        materials = tuple(look.of(primitive) for primitive in primitives)
        has_coordinates = any("TEXCOORD_0" in one["attributes"] for one in primitives)
        with_normals = sum("NORMAL" in one["attributes"] for one in primitives)
    except _MALFORMED as error:
        message = f"its document is malformed: {type(error).__name__}: {error}"
        raise UnreadMeshError(message) from error
    form = "glb" if content.startswith(_MAGIC) else "gltf"
    has_all = 0 < with_normals == len(primitives)
    scene = read_scene(content, form, folder, with_normals=has_all)
    read = [
        number
        for number, primitive in enumerate(primitives)
        if primitive.get("mode", _TRIANGLES) in _READ
    ]
    if scene.geometries != len(read):
        message = f"trimesh reads {scene.geometries} of {len(read)} primitives"
        raise UnreadMeshError(message)
    mesh = joined_parts(
        structs.replace(part, transform=_UPRIGHT @ part.transform, material=read[number])
        for number, part in scene.parts
    )
    return structs.replace(
        mesh,
        materials=materials,
        has_coordinates=has_coordinates,
        has_normals=has_all or (None if with_normals else False),
        coordinates=None if _moves_images(document) else mesh.coordinates,
    )


def _moves_images(document: Json) -> bool:
    """Whether a texture has other coordinates than TEXCOORD_0 as it is."""
    text = json.dumps(document.get("materials", ()))
    return "KHR_texture_transform" in text or bool(_OTHER_SET.search(text))


def _opened(content: bytes) -> tuple[Json, bytes]:
    """Return the document, and the binary chunk of a GLB."""
    if not content.startswith(_MAGIC):
        return json.loads(content), b""
    length, kind = _CHUNK.unpack_from(content, _HEADER.size)
    start = _HEADER.size + _CHUNK.size
    if kind != _JSON:
        raise ValueError("its first chunk is not JSON")
    binary = content[start + length + _CHUNK.size :]
    return json.loads(content[start : start + length]), binary


def _require_readable(document: Json, primitives: list[Json]) -> None:
    """Reject features that trimesh ignores or misreads."""
    compressed = _COMPRESSIONS.intersection(document.get("extensionsRequired", ()))
    if compressed:
        raise UnreadMeshError(f"trimesh does not read {min(compressed)}")
    for primitive in primitives:
        if primitive.get("mode") == _FAN:
            raise UnreadMeshError("trimesh does not read fans of triangles")
        used = (primitive["attributes"].get("POSITION"), primitive.get("indices"))
        for number in used:
            accessor = {} if number is None else document["accessors"][number]
            if "sparse" in accessor or accessor.get("normalized"):
                message = "trimesh does not read sparse or normalized accessors"
                raise UnreadMeshError(message)


def _require_bounded(document: Json, primitives: list[Json]) -> None:
    """Reject surfaces that share large accessors, or need no bytes at all.

    trimesh makes an array of each accessor, and a mesh of each primitive.
    """
    accessors = document.get("accessors", ())
    used = [
        accessors[number]
        for primitive in primitives
        for number in (primitive.get("indices"), *primitive["attributes"].values())
        if number is not None
    ]
    for read in (accessors, used):
        numbers = sum(one.get("count", 0) * _COMPONENTS.get(one.get("type"), 1) for one in read)
        if numbers > MOST_NUMBERS:
            raise UnreadMeshError(f"it has more than {MOST_NUMBERS} numbers")


def _surface_properties(
    material: Json, surface: Json, mode: str
) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield emission, metalness, roughness and cut-off, without images."""
    strength = material.get("extensions", {}).get(_STRENGTH, {})
    factor = float(strength.get("emissiveStrength", 1.0))
    emission = clamped([factor * c for c in material.get("emissiveFactor", _BLACK)])
    yield from emitting(emission)
    yield from both_sides(material.get("doubleSided", False))
    for name, key, fallback in (
        ("metallic", "metallicFactor", 0.0),
        ("roughness", "roughnessFactor", 0.5),
    ):
        value = min(max(float(surface.get(key, 1.0)), 0.0), 1.0)
        if value != fallback:
            yield name, (value,)
    if mode == "MASK":
        cutoff = float(material.get("alphaCutoff", 0.5))
        if cutoff:
            yield "opacityThreshold", (cutoff,)


def _from_images(material: Json, surface: Json, *, glossy: bool) -> set[str]:
    """Return the inputs that images or an extension define."""
    found = {"emissiveColor"} if "emissiveTexture" in material else set()
    if glossy or "metallicRoughnessTexture" in surface:
        found |= {"metallic", "roughness"}
    return found


def _from_samplers(document: Json) -> set[str]:
    """Return the inputs that samplers define which do not repeat images."""
    repeats = all(
        sampler.get(axis, _REPEAT) == _REPEAT
        for sampler in document.get("samplers", ())
        for axis in ("wrapS", "wrapT")
    )
    return set() if repeats else {"diffuseColor.wrapS", "diffuseColor.wrapT"}


class _Materials:
    """The materials of a document."""

    def __init__(self, document: Json, binary: bytes, folder: str) -> None:
        self._document = document
        self._binary = binary
        self._folder = folder

    def of(self, primitive: Json) -> FileMaterial:
        """Return the material of a primitive; an empty one without a material."""
        if "material" not in primitive:
            return FileMaterial()
        material = self._document["materials"][primitive["material"]]
        glossy = material.get("extensions", {}).get(_GLOSSY)
        surface = material.get("pbrMetallicRoughness", {})
        if glossy is not None:
            factor = glossy.get("diffuseFactor", _WHITE)
            texture = glossy.get("diffuseTexture")
        else:
            factor = surface.get("baseColorFactor", _WHITE)
            texture = surface.get("baseColorTexture")
        image = None if texture is None else self._image(texture["index"])
        color = clamped(factor)
        # Colours of vertices are factors as well, and vary over the surface.
        is_one = "COLOR_0" not in primitive["attributes"]
        mode = material.get("alphaMode", "OPAQUE")
        blends = mode in {"BLEND", "MASK"}
        return FileMaterial(
            color=color if is_one else None,
            factor=color if is_one else None,
            opacity=min(max(float(factor[3]), 0.0), 1.0) if blends else 1.0,
            image=image,
            mask=image if blends else None,
            has_more=True,
            properties=tuple(sorted(_surface_properties(material, surface, mode))),
            unread=_UNREAD
            | _from_images(material, surface, glossy=glossy is not None)
            | _from_samplers(self._document),
        )

    def _image(self, texture: int) -> ImageFile:
        found = self._document["textures"][texture]
        # Extensions may hold an alternative image.
        source = next(self._sources(found), None)
        if source is None:
            raise ValueError("a texture without an image")
        image = self._document["images"][source]
        uri = image.get("uri", "")
        if uri.startswith("data:"):
            head, _, data = uri.partition(",")
            inside = head.endswith(";base64")
            content = base64.b64decode(data) if inside else unquote_to_bytes(data)
            return ImageFile(f"image {source}", self._folder, content)
        if uri:
            return ImageFile(unquote(uri), self._folder)
        name = image.get("name") or f"image {source}"
        return ImageFile(name, self._folder, self._view(image["bufferView"]))

    @staticmethod
    def _sources(texture: Json) -> Iterator[int]:
        for holder in (texture, *texture.get("extensions", {}).values()):
            if "source" in holder:
                yield holder["source"]

    def _view(self, number: int) -> bytes:
        view = self._document["bufferViews"][number]
        buffer = self._document["buffers"][view["buffer"]]
        uri = buffer.get("uri")
        if uri is None:
            content = self._binary
        elif uri.startswith("data:"):
            content = base64.b64decode(uri.partition(",")[2])
        else:
            content = read_bounded(Path(self._folder, unquote(uri)), LARGEST_MESH)
        start = view.get("byteOffset", 0)
        return content[start : start + view["byteLength"]]


class TrimeshScene(Struct, frozen=True, eq=False):
    """A scene as trimesh reads it.

    Attributes:
        geometries: Number of geometries, instanced or not.
        parts: Index of the geometry and its surface, for each instance.
    """

    geometries: int
    parts: tuple[tuple[int, MeshPart], ...]


def read_scene(
    content: bytes, form: str, folder: str, *, with_normals: bool = False
) -> TrimeshScene:
    """Read a file by trimesh.

    Args:
        content: The file.
        form: Name of the format in trimesh.
        folder: Folder that references are relative to.
        with_normals: Whether all its corners have normals, so that trimesh states
            these; it computes them for others.

    Raises:
        UnreadMeshError: trimesh raised.
    """
    with reading_by("trimesh"):
        scene = trimesh.load_scene(
            io.BytesIO(content),
            file_type=form,
            process=False,
            skip_materials=True,
            resolver=_bounded_resolver(folder),
        )
        numbers = {name: number for number, name in enumerate(scene.geometry)}
        parts = []
        for node in scene.graph.nodes_geometry:
            transform, name = scene.graph[node]
            mesh = scene.geometry[name]
            if isinstance(mesh, trimesh.Trimesh):
                points = np.asarray(mesh.vertices, np.float64)
                faces = np.asarray(mesh.faces)
                part = MeshPart(
                    points,
                    faces,
                    transform,
                    normals=mesh.vertex_normals[faces] if with_normals else None,
                    coordinates=_coordinates(mesh),
                )
                parts.append((numbers[name], part))
    return TrimeshScene(len(numbers), tuple(parts))


def _coordinates(mesh: trimesh.Trimesh) -> NDArray[np.floating] | None:
    """Return the texture coordinates of the corners of triangles, if there are any."""
    held = getattr(mesh.visual, "uv", None)
    if held is None or len(held) != len(mesh.vertices):
        return None
    corners: NDArray[np.floating] = np.asarray(held)[np.asarray(mesh.faces), :2]
    return corners


def _bounded_resolver(folder: str) -> trimesh.resolvers.FilePathResolver:

    class Resolver(trimesh.resolvers.FilePathResolver):
        """Reads files that are regular and not too large."""

        def get(self, name: str) -> object:
            """Check the file that trimesh would read; then have it read."""
            for spelling in (name.strip(), name.strip().lstrip("/"), Path(name).name):
                path = Path(self.parent, spelling)
                if path.exists():
                    require_bounded(path, LARGEST_MESH)
            return super().get(name)

    return Resolver(folder)
