"""The container of glTF 2.0: JSON, buffers and accessors.

A file is ``.glb``, with JSON and numbers in chunks, or ``.gltf``: JSON whose buffers
are other files or base64. Meshes and materials are interpreted elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import TypeVar
from urllib.parse import unquote

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import DTypeLike, NDArray

from urdf_usd.converter.meshes.corner_values import SiblingReader
from urdf_usd.converter.meshes.gltf.schema import (
    Accessor,
    Buffer,
    BufferView,
    Root,
    Sparse,
)
from urdf_usd.converter.meshes.polygon_mesh import MeshError

_Object = TypeVar("_Object", bound=msgspec.Struct)

_MAGIC = b"glTF"
_HEADER = struct.Struct("<4sII")
_CHUNK = struct.Struct("<I4s")
_VERSION = 2
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPONENTS: dict[int, DTypeLike] = {
    5120: "<i1",
    5121: "<u1",
    5122: "<i2",
    5123: "<u2",
    5125: "<u4",
    5126: "<f4",
}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
# Accessors without a buffer are zeros, and accessors can share a buffer, so that a
# small file can declare any amount of numbers.
_MOST_NUMBERS = 50_000_000
# Bounds the memory for the decoded JSON.
_MOST_VALUES = 2_000_000
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


class GltfDocument(Struct, frozen=True):
    """A glTF file.

    Attributes:
        root: The decoded JSON.
        read_sibling: Reads files that it refers to.
        chunk: The binary chunk of a GLB.
    """

    root: Root
    read_sibling: SiblingReader
    chunk: bytes | None = None

    def get(self, key: str, index: int | None, kind: type[_Object]) -> _Object:
        """Decode an object of one of the document's lists.

        Args:
            key: Name of the list in the JSON.
            index: Index in the list.
            kind: Type of its objects.

        Raises:
            MeshError: The index is out of range, or the object is invalid.
        """
        objects: list[msgspec.Raw] = getattr(self.root, _FIELDS[key])
        if index is None or not 0 <= index < len(objects):
            raise MeshError(f"it refers to {key} {index}, of {len(objects)}")
        try:
            # Not strict: 3.0 is an integer in JSON.
            return msgspec.json.decode(objects[index], type=kind, strict=False)
        except (msgspec.DecodeError, RecursionError) as error:
            raise MeshError(f"{key} {index} is invalid: {error}") from error


_FIELDS = {one.encode_name: one.name for one in msgspec.structs.fields(Root)}


def read_document(data: bytes, read_sibling: SiblingReader) -> GltfDocument:
    """Read the JSON of a glTF file of either form.

    Raises:
        MeshError: It is damaged, of another version, or compressed.
    """
    chunk = None
    if data.startswith(_MAGIC):
        data, chunk = _chunks(data)
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise MeshError(f"its glTF has more than {_MOST_VALUES} values")
    text = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        root = msgspec.json.decode(text, type=Root, strict=False)
    except msgspec.ValidationError as error:
        raise MeshError(f"its glTF is invalid: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise MeshError(f"its glTF is not JSON: {error}") from error
    version = root.asset.version
    if version.partition(".")[0] != str(_VERSION):
        raise MeshError(f"it is glTF {version or 'of no version'}, not 2.0")
    for name in root.extensions_required:
        if name in _UNREADABLE_EXTENSIONS:
            reason = _UNREADABLE_EXTENSIONS[name]
            raise MeshError(f"it {reason} ({name}); export it uncompressed")
        if not name.startswith(_ACCEPTED_EXTENSIONS):
            raise MeshError(f"it requires the glTF extension {name!r}")
    return GltfDocument(root, read_sibling, chunk)


class Accessors:
    """Reads the accessors and buffer views of a document; buffers are read once."""

    def __init__(self, document: GltfDocument) -> None:
        self._document = document
        self._buffers: dict[int, bytes] = {}
        self._taken = 0

    def rows(self, accessor: int | None) -> NDArray[np.float64]:
        """Return the (count, components) values of an accessor.

        Normalised integers are converted to fractions (glTF 2.0, section 3.6.2.2).

        Raises:
            MeshError: They are missing or invalid.
        """
        found = self._document.get("accessors", accessor, Accessor)
        stored = self._stored(found)
        values: NDArray[np.float64] = stored.astype(np.float64)
        if stored.dtype.kind == "f" or not found.normalized:
            return values
        is_signed = stored.dtype.kind == "i"
        largest = 2.0 ** (8 * stored.dtype.itemsize - is_signed) - 1.0
        return np.maximum(values / largest, -1.0)

    def indices(self, accessor: int | None) -> NDArray[np.int64]:
        """Return the (count,) integers of an accessor.

        Raises:
            MeshError: They are missing or no integers.
        """
        values = self._stored(self._document.get("accessors", accessor, Accessor))
        if values.dtype.kind == "f" or values.shape[1] != 1:
            raise MeshError("its indices are no integers")
        return values[:, 0].astype(np.int64)

    def view(self, index: int | None) -> bytes:
        """Return the bytes of a buffer view.

        Raises:
            MeshError: They are missing.
        """
        return self._bytes(self._document.get("bufferViews", index, BufferView))

    def _bytes(self, view: BufferView) -> bytes:
        content = self._buffer(view.buffer)
        end = view.byte_offset + view.byte_length
        if end > len(content):
            raise MeshError("a part of a buffer lies beyond its end")
        return content[view.byte_offset : end]

    def _stored(self, accessor: Accessor) -> NDArray[np.generic]:
        if accessor.type not in _WIDTHS:
            raise MeshError(f"its numbers are of type {accessor.type!r}")
        shape = accessor.count, _WIDTHS[accessor.type]
        self._taken += shape[0] * shape[1]
        if self._taken > _MOST_NUMBERS:
            raise MeshError(f"it has more than {_MOST_NUMBERS} numbers")
        component = _component(accessor.component_type)
        if accessor.buffer_view is not None:
            view, offset = accessor.buffer_view, accessor.byte_offset
            values = self._strided(view, offset, component, shape)
        elif accessor.extensions and accessor.sparse is None:
            raise MeshError("its numbers are compressed")
        else:
            values = np.zeros(shape, component)
        if accessor.sparse is not None:
            values = self._replaced(values, accessor.sparse)
        return values

    def _strided(
        self,
        index: int,
        offset: int,
        component: np.dtype[np.generic],
        shape: tuple[int, int],
    ) -> NDArray[np.generic]:
        view = self._document.get("bufferViews", index, BufferView)
        content = self._bytes(view)
        if not shape[0]:
            return np.zeros(shape, component)
        width = component.itemsize * shape[1]
        stride = view.byte_stride or width
        if offset + stride * (shape[0] - 1) + width > len(content):
            raise MeshError("its numbers lie beyond the end of their buffer")
        return np.ndarray(shape, component, content, offset, (stride, component.itemsize))

    def _replaced(self, values: NDArray[np.generic], sparse: Sparse) -> NDArray[np.generic]:
        indices = sparse.indices
        rows = self._strided(
            indices.buffer_view,
            indices.byte_offset,
            _component(indices.component_type),
            (sparse.count, 1),
        )[:, 0]
        if rows.dtype.kind != "u" or (sparse.count and rows.max() >= len(values)):
            raise MeshError("a sparse accessor replaces a row that does not exist")
        replaced = values.copy()
        shape = (sparse.count, values.shape[1])
        new = sparse.values
        replaced[rows] = self._strided(new.buffer_view, new.byte_offset, values.dtype, shape)
        return replaced

    def _buffer(self, index: int) -> bytes:
        if index not in self._buffers:
            buffer = self._document.get("buffers", index, Buffer)
            self._buffers[index] = self._content(buffer, index)
        return self._buffers[index]

    def _content(self, buffer: Buffer, index: int) -> bytes:
        if buffer.uri is None:
            if index or self._document.chunk is None:
                raise MeshError(f"buffer {index} has no content")
            return self._document.chunk
        content = data_of(buffer.uri)
        if content is None:
            content = self._document.read_sibling(unquote(buffer.uri))
        if content is None:
            raise MeshError(f"its buffer {buffer.uri[:80]!r} is not there")
        return content


def data_of(uri: str) -> bytes | None:
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
        raise MeshError("its binary glTF has no JSON")
    return chunks[b"JSON"], chunks.get(b"BIN\0")
