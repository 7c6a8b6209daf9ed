"""Builders of glTF files, written according to the specification."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Json = dict[str, Any]

_COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
_KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}

CORNERS = np.array([[0.5, 0.25, 0.0], [1.5, 0.0, 0.5], [0.0, 2.0, 1.0]], "<f4")
NORMALS = np.tile(np.array([0.0, 0.6, 0.8], "<f4"), (3, 1))
UV = np.array([[0.1, 0.2], [0.9, 0.3], [0.4, 0.8]], "<f4")


@dataclass
class Gltf:
    """A document to which values are added."""

    root: Json = field(
        default_factory=lambda: {
            "asset": {"version": "2.0"},
            "bufferViews": [],
            "accessors": [],
        }
    )
    content: bytes = b""

    def view(self, data: bytes, **more: int) -> int:
        self.content += b"\0" * (-len(self.content) % 4)
        view = {"buffer": 0, "byteOffset": len(self.content), "byteLength": len(data)}
        self.content += data
        self.root["bufferViews"].append(view | more)
        return len(self.root["bufferViews"]) - 1

    def accessor(self, array: np.ndarray, *, normalized: bool = False) -> int:
        rows = array.reshape(len(array), -1)
        made: Json = {
            "bufferView": self.view(array.tobytes()),
            "componentType": _COMPONENTS[array.dtype.str[1:]],
            "count": len(rows),
            "type": _KINDS[rows.shape[1]],
        }
        if normalized:
            made["normalized"] = True
        self.root["accessors"].append(made)
        return len(self.root["accessors"]) - 1

    def add(self, key: str, entry: Json) -> int:
        self.root.setdefault(key, []).append(entry)
        return len(self.root[key]) - 1

    def primitive(self, material: int | None = 0, **attributes: int) -> Json:
        known = {"POSITION": attributes.pop("POSITION", -1), **attributes}
        if known["POSITION"] < 0:
            known["POSITION"] = self.accessor(CORNERS)
        made: Json = {"attributes": known}
        if material is not None:
            made["material"] = material
        return made

    def show(self, *primitives: Json, **node: object) -> None:
        mesh = self.add("meshes", {"primitives": list(primitives)})
        number = self.add("nodes", {"mesh": mesh, **node})
        self.add("scenes", {"nodes": [number]})

    def glb(self) -> bytes:
        self.root["buffers"] = [{"byteLength": len(self.content)}]
        text = json.dumps(self.root).encode()
        text += b" " * (-len(text) % 4)
        content = self.content + b"\0" * (-len(self.content) % 4)
        body = struct.pack("<I4s", len(text), b"JSON") + text
        body += struct.pack("<I4s", len(content), b"BIN\0") + content
        return struct.pack("<4sII", b"glTF", 2, len(body) + 12) + body

    def text(self, uri: str | None = None) -> bytes:
        inside = base64.b64encode(self.content).decode()
        uri = uri or f"data:application/octet-stream;base64,{inside}"
        self.root["buffers"] = [{"byteLength": len(self.content), "uri": uri}]
        return json.dumps(self.root, indent=1).encode()


def triangle(**material: object) -> Gltf:
    made = Gltf()
    made.add("materials", {"name": "m", **material})
    attributes = {
        "NORMAL": made.accessor(NORMALS),
        "TEXCOORD_0": made.accessor(UV),
    }
    made.show(made.primitive(**attributes))
    return made
