"""Fuzz targets: a reader returns a valid value or raises its documented error, for any bytes.

Mutations keep the structure of a file: random changes rarely give valid XML, or a binary STL whose
size matches its header.
"""

from __future__ import annotations

import copy
import json
import math
import random
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from lxml import etree
from msgspec import Struct
from pxr import Sdf, Usd, Vt

from urdf_usd.converter.diagnostics import ConversionError, Severity
from urdf_usd.converter.lint.linting import lint
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh, mirrored
from urdf_usd.converter.meshes.obj import read_obj
from urdf_usd.converter.meshes.read import decode_mesh
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import BaseOption, MasslessOption
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.geometry import write_mesh
from urdf_usd.converter.usd.writer.layouts import write_asset

Target: TypeAlias = Callable[[bytes], None]

# Conversion takes a hundred times as long as reading, so only some are converted.
_AUTHORED_SHARE = 32
_EXAMINED_SHARE = 4
# The part of an OBJ file after it is its material library.
LIBRARY_MARK = b"\n%%%\n"


def fuzz_urdf(data: bytes) -> None:
    """Read a URDF; lint, write and convert some of the readable robots."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_bytes(data)
        share = zlib.crc32(data)
        if share % _EXAMINED_SHARE == 0:
            for finding in lint(path).findings:
                str(finding).encode()
        try:
            parsed = parse(path)
        except ConversionError as error:
            assert any(found.severity is Severity.ERROR for found in error.diagnostics)
            str(error).encode()
            return
        for diagnostic in parsed.diagnostics:
            assert diagnostic.severity is not Severity.ERROR
            str(diagnostic).encode()
        assert all(not math.isnan(number) for number in _numbers(parsed.robot))
        if share % _EXAMINED_SHARE == 0:
            path.write_bytes(write(parsed.robot))
            again = parse(path).robot
            assert [one.name for one in again.links] == [one.name for one in parsed.robot.links]
            assert [one.name for one in again.joints] == [one.name for one in parsed.robot.joints]
        tree, asset = build_tree(parsed.robot), Path(folder, "asset")
        with suppress(ConversionError):
            bodies = assign_bodies(tree, BaseOption.AUTO, MasslessOption.REGULARISE)
            if share % _AUTHORED_SHARE == 0:
                asset.mkdir()
                write_asset(parsed.robot, tree, bodies, asset)
                stage = Usd.Stage.Open(str(asset / asset_name(parsed.robot)))
                assert stage.GetDefaultPrim()


def _numbers(value: object) -> Iterator[float]:
    """Return all numbers of a robot."""
    match value:
        case float():
            yield value
        case tuple():
            for part in value:
                yield from _numbers(part)
        case Struct():
            for name in value.__struct_fields__:
                yield from _numbers(getattr(value, name))


def _fuzz_mesh(suffix: str, data: bytes) -> None:
    """Read a mesh file, whose content may not match its suffix."""
    surface, _, library = data.partition(LIBRARY_MARK)
    try:
        file, is_obj = Path(f"/nowhere/mesh.{suffix}"), suffix == "obj"
        _check(read_obj(surface, lambda _: library) if is_obj else decode_mesh(data, file))
    except MeshError as error:
        error.reason.encode()


def _check(mesh: PolygonMesh) -> None:
    """Check the invariants of a mesh, and write it to a layer."""
    assert len(mesh.face_counts)
    assert (mesh.face_counts >= 3).all()
    assert mesh.face_counts.sum() == len(mesh.face_indices)
    used = np.unique(mesh.face_indices)
    assert (used == np.arange(len(mesh.points))).all()
    for sentence in mesh.skipped:
        sentence.encode()
    stage = Usd.Stage.CreateInMemory()
    write_mesh(stage.GetRootLayer(), Sdf.Path("/Mesh"), mirrored(mesh, (True, False, False)))
    for attribute in stage.GetPrimAtPath("/Mesh").GetAuthoredAttributes():
        value = attribute.Get()
        if isinstance(value, Vt.Vec2fArray | Vt.Vec3fArray):
            assert np.isfinite(np.array(value)).all(), attribute.GetName()


TARGETS: dict[str, Target] = {
    **{one: partial(_fuzz_mesh, one) for one in ("dae", "glb", "gltf", "obj", "ply", "stl")},
    "urdf": fuzz_urdf,
}


# Mutations.

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
_NUMBERS = (0.0, -0.0, 1.0, 1e-45, 3.4e38, math.inf, math.nan, 0.37)
_JSON_NUMBERS = (0, 1, -1, 2**31, 5126, 5123, 5121, 1e308, 1.5, True)
_JSON_VALUES: tuple[Any, ...] = (*_JSON_NUMBERS, None, [], {}, "", "VEC3")


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
