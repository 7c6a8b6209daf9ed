"""Builders of glTF files, written according to the specification."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

Json = dict[str, Any]

_KINDS = {2: "VEC2", 3: "VEC3"}
CORNERS = np.array([[0.5, 0.25, 0.0], [1.5, 0.0, 0.5], [0.0, 2.0, 1.0]], "<f4")
_NORMALS = np.tile(np.array([0.0, 0.6, 0.8], "<f4"), (3, 1))
_UV = np.array([[0.1, 0.2], [0.9, 0.3], [0.4, 0.8]], "<f4")


class Gltf:
    """A document to which values are added."""

    def __init__(self) -> None:
        self.root: Json = {"asset": {"version": "2.0"}}
        self.content = b""

    def add(self, key: str, entry: Json) -> int:
        self.root.setdefault(key, []).append(entry)
        return len(self.root[key]) - 1

    def view(self, data: bytes) -> int:
        self.content += b"\0" * (-len(self.content) % 4)
        view = {"buffer": 0, "byteOffset": len(self.content), "byteLength": len(data)}
        self.content += data
        return self.add("bufferViews", view)

    def accessor(self, rows: np.ndarray) -> int:
        """Add rows of float32 numbers."""
        kind = {"componentType": 5126, "count": len(rows), "type": _KINDS[rows.shape[1]]}
        return self.add("accessors", {"bufferView": self.view(rows.tobytes()), **kind})

    def glb(self) -> bytes:
        self.root["buffers"] = [{"byteLength": len(self.content)}]
        text = json.dumps(self.root).encode()
        text += b" " * (-len(text) % 4)
        content = self.content + b"\0" * (-len(self.content) % 4)
        body = struct.pack("<I4s", len(text), b"JSON") + text
        body += struct.pack("<I4s", len(content), b"BIN\0") + content
        return struct.pack("<4sII", b"glTF", 2, len(body) + 12) + body

    def text(self, uri: str) -> bytes:
        self.root["buffers"] = [{"byteLength": len(self.content), "uri": uri}]
        return json.dumps(self.root, indent=1).encode()


def triangle(**material: object) -> Gltf:
    made = Gltf()
    values = {"POSITION": CORNERS, "NORMAL": _NORMALS, "TEXCOORD_0": _UV}
    attributes = {name: made.accessor(rows) for name, rows in values.items()}
    made.add("materials", {"name": "m", **material})
    made.add("meshes", {"primitives": [{"attributes": attributes, "material": 0}]})
    made.add("nodes", {"mesh": 0})
    made.add("scenes", {"nodes": [0]})
    return made
