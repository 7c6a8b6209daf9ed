"""The container of glTF 2.0: its text, its buffers, and the numbers in them.

Nothing here knows of meshes. A file is ``.glb``, which holds text and numbers, or
``.gltf``, whose text names its buffers or holds them in base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np

from urdf_usd.converter.meshes.gltf.json_values import (
    Object,
    count,
    inner,
    integer,
    items,
    member,
    text,
)
from urdf_usd.converter.meshes.polygon_mesh import MeshError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from urdf_usd.converter.meshes.appearance import Neighbours

_MAGIC = b"glTF"
_HEADER = struct.Struct("<4sII")
_CHUNK = struct.Struct("<I4s")
_VERSION = 2
_COMPONENTS: dict[int, DTypeLike] = {
    5120: "<i1",
    5121: "<u1",
    5122: "<i2",
    5123: "<u2",
    5125: "<u4",
    5126: "<f4",
}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
# Accessors may name zeros that no buffer holds, and share what one does.
_MOST_NUMBERS = 50_000_000
# A value of JSON takes up to a hundred times its text in memory.
_MOST_VALUES = 2_000_000
_REMEDIES = {
    "KHR_draco_mesh_compression": "is compressed with Draco",
    "EXT_meshopt_compression": "is compressed with meshoptimizer",
    "KHR_meshopt_compression": "is compressed with meshoptimizer",
}
# Those that a surface does without, and those that are read.
_BEARABLE = (
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


@dataclass(frozen=True, slots=True)
class Document:
    """A glTF file.

    Attributes:
        root: Its text.
        neighbours: Gives the files that it names.
        chunk: The numbers inside the file.
    """

    root: Object
    neighbours: Neighbours = field(repr=False)
    chunk: bytes | None = field(default=None, repr=False)


def read_document(data: bytes, neighbours: Neighbours) -> Document:
    """Read the text of a glTF file of either form.

    Raises:
        MeshError: It is damaged, of another version, or compressed.
    """
    chunk = None
    if data.startswith(_MAGIC):
        data, chunk = _chunks(data)
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise MeshError("its glTF has more values than any part needs")
    try:
        root = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise MeshError(f"its glTF is not JSON: {_one_line(error)}") from error
    if not isinstance(root, dict):
        raise MeshError("its glTF is not a JSON object")
    version = text(inner(root, "asset"), "version")
    if version.partition(".")[0] != str(_VERSION):
        raise MeshError(f"it is glTF {version or 'of no version'}, not 2.0")
    for extension in items(root, "extensionsRequired"):
        name = text({"name": extension}, "name")
        if name in _REMEDIES:
            raise MeshError(f"it {_REMEDIES[name]} ({name}); export it uncompressed")
        if not name.startswith(_BEARABLE):
            raise MeshError(f"it requires the glTF extension {name!r}")
    return Document(root, neighbours, chunk)


class Numbers:
    """The numbers of a document; each buffer is read once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._buffers: dict[int, bytes] = {}
        self._taken = 0

    def rows(self, accessor: int | None) -> NDArray[np.float64]:
        """Return the rows that an accessor names; normalised integers are fractions.

        Returns:
            (count, components) numbers.

        Raises:
            MeshError: They are not there.
        """
        found = member(self._document.root, "accessors", accessor)
        stored = self._stored(found)
        values: NDArray[np.float64] = stored.astype(np.float64)
        if stored.dtype.kind == "f" or not found.get("normalized"):
            return values
        is_signed = stored.dtype.kind == "i"
        largest = 2.0 ** (8 * stored.dtype.itemsize - is_signed) - 1.0
        return np.maximum(values / largest, -1.0)

    def indices(self, accessor: int | None) -> NDArray[np.int64]:
        """Return the integers that an accessor names.

        Raises:
            MeshError: They are not there, or are no integers.
        """
        values = self._stored(member(self._document.root, "accessors", accessor))
        if values.dtype.kind == "f" or values.shape[1] != 1:
            raise MeshError("its indices are no integers")
        return values[:, 0].astype(np.int64)

    def view(self, index: int | None) -> bytes:
        """Return the bytes of a part of a buffer.

        Raises:
            MeshError: They are not there.
        """
        view = member(self._document.root, "bufferViews", index)
        start, length = count(view, "byteOffset"), count(view, "byteLength")
        content = self._buffer(integer(view, "buffer"))
        if start + length > len(content):
            raise MeshError("a part of a buffer lies beyond its end")
        return content[start : start + length]

    def _stored(self, accessor: Object) -> NDArray[np.generic]:
        kind = text(accessor, "type")
        if kind not in _WIDTHS:
            raise MeshError(f"its numbers are of type {kind!r}")
        rows, width = count(accessor, "count"), _WIDTHS[kind]
        self._taken += rows * width
        if self._taken > _MOST_NUMBERS:
            raise MeshError("its numbers multiply beyond all bounds")
        component = _component(accessor)
        if "bufferView" in accessor:
            values = self._strided(accessor, component, (rows, width))
        elif "extensions" in accessor and "sparse" not in accessor:
            raise MeshError("its numbers are compressed")
        else:
            values = np.zeros((rows, width), component)
        if "sparse" in accessor:
            values = self._replaced(values, inner(accessor, "sparse"))
        return values

    def _strided(
        self, accessor: Object, component: np.dtype[np.generic], shape: tuple[int, int]
    ) -> NDArray[np.generic]:
        index = integer(accessor, "bufferView")
        view = member(self._document.root, "bufferViews", index)
        content = self.view(index)
        if not shape[0]:
            return np.zeros(shape, component)
        width = component.itemsize * shape[1]
        stride = count(view, "byteStride") or width
        start = count(accessor, "byteOffset")
        if start + stride * (shape[0] - 1) + width > len(content):
            raise MeshError("its numbers lie beyond the end of their buffer")
        return np.ndarray(
            shape, component, content, start, (stride, component.itemsize)
        )

    def _replaced(
        self, values: NDArray[np.generic], sparse: Object
    ) -> NDArray[np.generic]:
        changed = count(sparse, "count")
        where, what = inner(sparse, "indices"), inner(sparse, "values")
        places = self._strided(where, _component(where), (changed, 1))[:, 0]
        if places.dtype.kind != "u" or (changed and places.max() >= len(values)):
            raise MeshError("a number is replaced that is not there")
        replaced = values.copy()
        shape = (changed, values.shape[1])
        replaced[places] = self._strided(what, values.dtype, shape)
        return replaced

    def _buffer(self, index: int | None) -> bytes:
        buffer = member(self._document.root, "buffers", index)
        number = index or 0
        if number not in self._buffers:
            self._buffers[number] = self._content(buffer, number)
        return self._buffers[number]

    def _content(self, buffer: Object, number: int) -> bytes:
        if "uri" not in buffer:
            if number or self._document.chunk is None:
                raise MeshError(f"buffer {number} has no content")
            return self._document.chunk
        uri = text(buffer, "uri")
        content = data_of(uri)
        if content is None:
            content = self._document.neighbours(unquote(uri))
        if content is None:
            raise MeshError(f"its buffer {uri[:80]!r} is not there")
        return content


def data_of(uri: str) -> bytes | None:
    """Return the bytes that a ``data:`` URI holds; None for any other.

    Raises:
        MeshError: It is damaged.
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


def _component(accessor: Object) -> np.dtype[np.generic]:
    kind = integer(accessor, "componentType")
    if kind not in _COMPONENTS:
        raise MeshError(f"its numbers have the component type {kind}")
    return np.dtype(_COMPONENTS[kind])


def _chunks(data: bytes) -> tuple[bytes, bytes | None]:
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
        raise MeshError("its binary glTF has no text")
    return chunks[b"JSON"], chunks.get(b"BIN\0")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:80]
