"""glTF and GLB files: their materials as the specification defines them.

Surfaces are left to trimesh, which rounds colours to 255 steps and says nowhere which
material a surface has. So it gets a document in which every primitive is a mesh of its
own, that is called after its number.
"""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

from urdf_usd.conformance.witnesses.file_materials import (
    FileMaterial,
    ImageFile,
    clamped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    Json: TypeAlias = dict[str, Any]

_MAGIC = b"glTF"
_HEADER = struct.Struct("<4sII")
_CHUNK = struct.Struct("<II")
_JSON = 0x4E4F534A
_WHITE = (1.0, 1.0, 1.0, 1.0)
_GLOSSY = "KHR_materials_pbrSpecularGlossiness"


@dataclass(frozen=True, slots=True, eq=False)
class GltfFile:
    """A document whose primitives are numbered.

    Attributes:
        content: The document, as GLB if it was one; a surface is called after the
            number of its primitive.
        materials: One per primitive.
        has_coordinates: Whether any primitive has texture coordinates.
    """

    content: bytes
    materials: tuple[FileMaterial, ...]
    has_coordinates: bool


def read_gltf(content: bytes, folder: str) -> GltfFile:
    """Read materials, and number the primitives.

    What the document lacks raises ``LookupError``, ``TypeError`` or ``ValueError``.

    Args:
        content: glTF or GLB.
        folder: What files that it names are relative to.
    """
    document, rest = _opened(content)
    primitives = [
        primitive
        for mesh in document.get("meshes", ())
        for primitive in mesh["primitives"]
    ]
    look = _Materials(document, rest, folder)
    materials = tuple(look.of(primitive) for primitive in primitives)
    has_coordinates = any("TEXCOORD_0" in one["attributes"] for one in primitives)
    _number(document)
    return GltfFile(_closed(document, rest, content), materials, has_coordinates)


def _opened(content: bytes) -> tuple[Json, bytes]:
    """Return the document, and the chunks that follow it in a GLB."""
    if not content.startswith(_MAGIC):
        return json.loads(content), b""
    length, kind = _CHUNK.unpack_from(content, _HEADER.size)
    start = _HEADER.size + _CHUNK.size
    if kind != _JSON:
        raise ValueError("its first chunk is not JSON")
    return json.loads(content[start : start + length]), content[start + length :]


def _closed(document: Json, rest: bytes, original: bytes) -> bytes:
    text = json.dumps(document).encode()
    if not original.startswith(_MAGIC):
        return text
    text += b" " * (-len(text) % 4)
    chunks = _CHUNK.pack(len(text), _JSON) + text + rest
    _, version, _ = _HEADER.unpack_from(original)
    return _HEADER.pack(_MAGIC, version, _HEADER.size + len(chunks)) + chunks


def _number(document: Json) -> None:
    """Make a mesh of every primitive, and a child of nodes for each of theirs."""
    places: list[list[int]] = []
    meshes: list[Json] = []
    for mesh in document.get("meshes", ()):
        places.append([])
        for primitive in mesh["primitives"]:
            places[-1].append(len(meshes))
            name = str(len(meshes))
            meshes.append(mesh | {"name": name, "primitives": [primitive]})
    nodes = document.get("nodes", [])
    for node in list(nodes):
        if "mesh" in node:
            own = places[node.pop("mesh")]
            children = range(len(nodes), len(nodes) + len(own))
            nodes += [{"mesh": number} for number in own]
            node["children"] = [*node.get("children", ()), *children]
    document["meshes"] = meshes


class _Materials:
    """The materials of a document."""

    def __init__(self, document: Json, rest: bytes, folder: str) -> None:
        self._document = document
        self._binary = rest[_CHUNK.size :]
        self._folder = folder

    def of(self, primitive: Json) -> FileMaterial:
        """Return what a primitive looks like; without a material it says nothing."""
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
        # Colours of vertices are factors as well, and differ from point to point.
        is_one = "COLOR_0" not in primitive["attributes"]
        blends = material.get("alphaMode", "OPAQUE") in {"BLEND", "MASK"}
        return FileMaterial(
            color=color if is_one else None,
            factor=color if is_one else None,
            opacity=min(max(float(factor[3]), 0.0), 1.0) if blends else 1.0,
            image=image,
            mask=image if blends else None,
            says_more=True,
        )

    def _image(self, texture: int) -> ImageFile:
        found = self._document["textures"][texture]
        # Some images have another form for readers of an extension alone.
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
            content = Path(self._folder, unquote(uri)).read_bytes()
        start = view.get("byteOffset", 0)
        return content[start : start + view["byteLength"]]
