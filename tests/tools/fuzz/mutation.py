"""Mutations that keep the structure of a file, to fuzz code behind the parser.

Random changes of bytes rarely give valid XML, or a binary STL whose size matches its
header.
"""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from lxml import etree

Element: TypeAlias = etree._Element

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
_NUMBERS = (0.0, -0.0, 1.0, 1e-45, 3.4e38, float("inf"), float("nan"))
_STL_START = 84
_STL_TRIANGLE = 50
_GLB_JSON = 20


def mutate_xml(data: bytes, chance: random.Random) -> bytes:
    """Change one to four elements or attributes of XML; random bytes otherwise."""
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False))
    except (etree.XMLSyntaxError, ValueError):
        return data
    for _ in range(chance.randint(1, 4)):
        elements = [node for node in root.iter() if isinstance(node.tag, str)]
        _change(chance.choice(elements), elements, chance)
    return etree.tostring(root)


def _change(element: Element, elements: list[Element], chance: random.Random) -> None:
    parent = element.getparent()
    other = chance.choice(elements)
    match chance.randrange(7):
        case 0 if parent is not None:
            parent.remove(element)
        case 1 if parent is not None:
            parent.insert(chance.randint(0, len(parent)), _copy(element))
        case 2:
            element.append(_copy(other))
        case 3:
            element.tag = other.tag
        case 4 if element.attrib:
            del element.attrib[chance.choice(element.keys())]
        case 5 if other.attrib:
            name = chance.choice(other.keys())
            element.set(name, other.get(name, ""))
        case _:
            _set_value(element, chance)


def _copy(element: Element) -> Element:
    copied = copy.deepcopy(element)
    copied.tail = None
    return copied


def _set_value(element: Element, chance: random.Random) -> None:
    value = chance.choice(_VALUES).replace("\0", "")
    if element.attrib and chance.random() < 0.8:
        element.set(chance.choice(element.keys()), value)
    else:
        words = (element.text or "").split() or [""]
        words[chance.randrange(len(words))] = value
        element.text = " ".join(words)


def mutate_stl(data: bytes, chance: random.Random) -> bytes:
    """Change a number of a binary file, and correct its header."""
    count = max(len(data) - _STL_START, 0) // _STL_TRIANGLE
    body = bytearray(data[: _STL_START + count * _STL_TRIANGLE].ljust(_STL_START, b"\0"))
    if count:
        at = _STL_START + _STL_TRIANGLE * chance.randrange(count)
        struct.pack_into("<f", body, at + 4 * chance.randrange(12), _number(chance))
    struct.pack_into("<I", body, _STL_START - 4, count)
    return bytes(body)


def _number(chance: random.Random) -> float:
    return chance.choice((*_NUMBERS, chance.uniform(-1, 1)))


def mutate_glb(data: bytes, chance: random.Random) -> bytes:
    """Change one value in the JSON of a binary glTF, and correct its lengths."""
    try:
        (size,) = struct.unpack_from("<I", data, _GLB_JSON - 8)
        document = json.loads(data[_GLB_JSON : _GLB_JSON + size])
    except (struct.error, ValueError, RecursionError):
        return data
    _change_value(document, chance)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = data[_GLB_JSON + size :]
    total = struct.pack("<I", _GLB_JSON + len(text) + len(rest))
    return data[:8] + total + struct.pack("<I", len(text)) + b"JSON" + text + rest


def mutate_json(data: bytes, chance: random.Random) -> bytes:
    """Change one value of JSON text; random bytes otherwise."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    _change_value(document, chance)
    return json.dumps(document).encode()


def _change_value(document: Any, chance: random.Random) -> None:  # noqa: ANN401  JSON
    """Change a value inside a document, in place, if there is any."""
    places = [place for place in _places(document) if place]
    if not places:
        return
    *path, last = chance.choice(places)
    inner = document
    for step in path:
        inner = inner[step]
    number = chance.choice((0, 1, -1, 2**31, 5126, 5123, 5121, 1e308, 1.5))
    others: tuple[Any, ...] = (None, [], {}, "", "VEC3", "SCALAR", True)
    inner[last] = chance.choice((number, number, *others))


def _places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the paths to all values of a document."""
    yield path
    items: Iterable[tuple[Any, object]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield from _places(inner, (*path, key))


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
            value = chance.choice(_VALUES).encode()
            words[chance.randrange(len(words))] = value
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
