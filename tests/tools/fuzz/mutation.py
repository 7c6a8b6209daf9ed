"""Mutations that keep the structure of a file, to fuzz code behind the parser.

Random changes of bytes rarely give valid XML, or a binary STL whose size matches its header.
"""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from lxml import etree

Mutation: TypeAlias = Callable[[bytes, random.Random], bytes]

_VALUES = (
    *("", " ", "0", "-0.0", "1", "-1", "2147483648", "1e308", "-1e308", "1e-320"),
    *("nan", "inf", "-inf", "1e999", "0x10", "1_0", "1,5", "1.2.3", "0 0 0", "1 2"),
    *("1 2 3 4 5", "1e39 0 0", "0.1 -0.2 0.3", "\u0661 \u0662 \u0663", "a\u0000"),
    *("../../etc/passwd", "/etc/passwd", "package://", "package://a/b", "file://"),
    *("model://x/../y", "C:\\x.stl", "world", "base", "a/b", "\u00e9\u4e2d", "..", "/"),
    *("revolute", "continuous", "prismatic", "fixed", "floating", "planar"),
    *("spherical", "mimic", "X_UP", "VERTEX", "#a", "#missing", "9" * 400),
)
_NUMBERS = (0.0, -0.0, 1.0, 1e-45, 3.4e38, float("inf"), float("nan"), 0.37)
_JSON_VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2**31, 5126, 5123, 5121, 1e308, 1.5, True),
    *(None, [], {}, "", "VEC3"),
)


def mutate_xml(data: bytes, chance: random.Random) -> bytes:
    """Change one to four elements or attributes of XML."""
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False))
    except (etree.XMLSyntaxError, ValueError):
        return data
    for _ in range(chance.randint(1, 4)):
        elements = [node for node in root.iter() if isinstance(node.tag, str)]
        element, other = chance.choice(elements), chance.choice(elements)
        parent, copied = element.getparent(), copy.deepcopy(other)
        value = chance.choice(_VALUES).replace("\0", "")
        match chance.randrange(7):
            case 0 if parent is not None:
                parent.remove(element)
            case 1:
                element.insert(chance.randint(0, len(element)), copied)
            case 2:
                element.tag = other.tag
            case 3 if element.attrib:
                del element.attrib[chance.choice(element.keys())]
            case 4 if other.attrib:
                name = chance.choice(other.keys())
                element.set(name, other.get(name, ""))
            case 5 if element.attrib:
                element.set(chance.choice(element.keys()), value)
            case _:
                words = (element.text or "").split() or [""]
                words[chance.randrange(len(words))] = value
                element.text = " ".join(words)
    return etree.tostring(root)


def mutate_stl(data: bytes, chance: random.Random) -> bytes:
    """Change a number of a binary file, and correct its header."""
    count = max(len(data) - 84, 0) // 50
    body = bytearray(data[: 84 + count * 50].ljust(84, b"\0"))
    if count:
        at = 84 + 50 * chance.randrange(count) + 4 * chance.randrange(12)
        struct.pack_into("<f", body, at, chance.choice(_NUMBERS))
    struct.pack_into("<I", body, 80, count)
    return bytes(body)


def mutate_glb(data: bytes, chance: random.Random) -> bytes:
    """Change one value in the JSON of a binary glTF, and correct its lengths."""
    try:
        (size,) = struct.unpack_from("<I", data, 12)
    except struct.error:
        return data
    text = mutate_json(data[20 : 20 + size], chance)
    text += b" " * (-len(text) % 4)
    rest = data[20 + size :]
    lengths = struct.pack("<II", 20 + len(text) + len(rest), len(text))
    return data[:8] + lengths + b"JSON" + text + rest


def mutate_json(data: bytes, chance: random.Random) -> bytes:
    """Change one value of JSON text."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    if places := list(_places(document)):
        holder, key = chance.choice(places)
        holder[key] = copy.copy(chance.choice(_JSON_VALUES))
    return json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401  JSON
    """Yield the container and the key or index of every value of a document."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def mutate_lines(data: bytes, chance: random.Random) -> bytes:
    """Repeat, drop or exchange lines and words of a text."""
    lines = data.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            lines.insert(at, lines[other])
        case 1:
            del lines[at]
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            words = lines[at].split(b" ")
            words[chance.randrange(len(words))] = chance.choice(_VALUES).encode()
            lines[at] = b" ".join(words)
    return b"\n".join(lines)


MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    "urdf": (mutate_xml,),
    "stl": (mutate_stl, mutate_lines),
    "obj": (mutate_lines,),
    "dae": (mutate_xml,),
    "glb": (mutate_glb,),
    "gltf": (mutate_json,),
    "ply": (mutate_lines,),
}
