"""The material libraries of an OBJ file (MTL)."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import structs

from urdf_usd.converter.colors import linear_from_srgb
from urdf_usd.converter.meshes.corner_values import SiblingReader
from urdf_usd.converter.meshes.mesh_material import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
    unit_color,
    visible,
    with_opacity,
)

# Patterns start with a line end, which is ten times as fast as a multi-line anchor.
_LIBRARY = re.compile(rb"\n[ \t]*+mtllib[ \t]++([^\n]*)")
# Real files have one.
_MOST_LIBRARIES = 32
_RGB = 3
# Range of optical densities in the MTL format.
_LEAST_IOR, _MOST_IOR = 0.001, 10.0
# Texture statements, with slot and components.
_MAPS = {
    "map_kd": (Slot.COLOR, "rgb"),
    "map_ke": (Slot.EMISSION, "rgb"),
    "map_d": (Slot.OPACITY, "r"),
    "map_pr": (Slot.ROUGHNESS, "r"),
    "map_pm": (Slot.METALNESS, "r"),
    "norm": (Slot.NORMAL, "rgb"),
}
# Texture options, with their maximum number of arguments.
_OPTIONS = {
    "-blendu": 1,
    "-blendv": 1,
    "-bm": 1,
    "-boost": 1,
    "-cc": 1,
    "-clamp": 1,
    "-imfchan": 1,
    "-mm": 2,
    "-o": 3,
    "-s": 3,
    "-t": 3,
    "-texres": 1,
    "-type": 1,
}
# Options with numbers, some of which are optional.
_OF_NUMBERS = frozenset({"-mm", "-o", "-s", "-t"})
# Other channels (luminance, depth) are not supported.
_CHANNELS = {"r": "r", "g": "g", "b": "b", "m": "a"}


def read_libraries(
    text: bytes, read_sibling: SiblingReader
) -> tuple[dict[str, MeshMaterial], tuple[str, ...]]:
    """Read the material libraries of an OBJ file.

    Args:
        text: The OBJ file, with a line end before the first line.
        read_sibling: Gives the bytes of a file that it names.

    Returns:
        The materials by name, of equal names the first, and a text about each missing
        library.
    """
    absent: list[str] = []
    materials: dict[str, MeshMaterial] = {}
    for reference in islice(_references(text, read_sibling), _MOST_LIBRARIES):
        content = read_sibling(reference)
        if content is None:
            absent.append(f"material library {reference!r} is missing")
            continue
        content = in_utf8(content).replace(b"\r", b"\n")
        for name, material in _materials(content, posixpath.dirname(reference)):
            materials.setdefault(name, material)
    # Without materials in use, missing libraries do not matter.
    return materials, tuple(absent) if b"usemtl" in text else ()


def in_utf8(data: bytes) -> bytes:
    """Return a text in UTF-8 without byte order mark.

    The formats define no encoding; text that is not UTF-8 is read as Latin-1.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def _references(text: bytes, read_sibling: SiblingReader) -> Iterator[str]:
    """Yield the references to libraries, each once."""
    if b"mtllib" not in text:
        return
    lines: set[bytes] = set()
    met: set[str] = set()
    for match in _LIBRARY.finditer(text):
        if match[1] in lines:
            continue
        lines.add(match[1])
        whole = match[1].strip().decode("utf-8", "replace").replace("\\", "/")
        # One name with spaces, or several names.
        names = (whole,) if read_sibling(whole) is not None else whole.split()
        for name in names:
            if name not in met:
                met.add(name)
                yield name


def _materials(library: bytes, folder: str) -> Iterator[tuple[str, MeshMaterial]]:
    """Yield the materials of a library."""
    name: str | None = None
    statements: dict[str, str] = {}
    for line in library.decode("utf-8", "replace").split("\n"):
        keyword, _, value = line.strip().replace("\t", " ").partition(" ")
        keyword = keyword.lower()
        if keyword == "newmtl":
            if name is not None:
                yield name, _material(name, statements, folder)
            name, statements = value.strip(), {}
        elif keyword:
            statements[keyword] = value.strip()
    if name is not None:
        yield name, _material(name, statements, folder)


def _material(name: str, statements: dict[str, str], folder: str) -> MeshMaterial:
    textures: list[tuple[Slot, MeshTexture]] = []
    for keyword, (slot, components) in _MAPS.items():
        texture = _texture(statements.get(keyword, ""), components, folder)
        if texture is not None:
            textures.append((slot, texture))
    opacity = _opacity(statements)
    color = _color(statements, "kd")
    return MeshMaterial(
        name=name,
        color=color,
        opacity=opacity,
        emissive=_color(statements, "ke") or (0.0, 0.0, 0.0),
        metallic=_unit(statements, "pm"),
        roughness=_unit(statements, "pr"),
        ior=_index_of_refraction(statements),
        textures=with_opacity(_tinted(_with_alpha(textures), color), opacity),
    )


def _with_alpha(
    textures: Sequence[tuple[Slot, MeshTexture]],
) -> tuple[tuple[Slot, MeshTexture], ...]:
    """Use the alpha of an image for opacity if it is also the colour texture."""
    images = {texture.reference for slot, texture in textures if slot is Slot.COLOR}
    return tuple(
        (
            slot,
            structs.replace(texture, sampling=structs.replace(texture.sampling, components="a")),
        )
        if slot is Slot.OPACITY and texture.reference in images
        else (slot, texture)
        for slot, texture in textures
    )


def _tinted(
    textures: Sequence[tuple[Slot, MeshTexture]],
    color: tuple[float, float, float] | None,
) -> tuple[tuple[Slot, MeshTexture], ...]:
    """Multiply the colour texture by the colour, as the format defines.

    Black is ignored: exporters write it to mean that only the texture is used.
    """
    if color is None or not any(color):
        return tuple(textures)
    red, green, blue = linear_from_srgb(color).tolist()
    gain = (red, green, blue, 1.0)
    return tuple(
        (
            slot,
            structs.replace(texture, sampling=structs.replace(texture.sampling, gain=gain)),
        )
        if slot is Slot.COLOR
        else (slot, texture)
        for slot, texture in textures
    )


def _texture(statement: str, components: str, folder: str) -> MeshTexture | None:
    """Parse texture options and the file name, which may contain spaces."""
    words = statement.split(" ")
    options: dict[str, list[str]] = {}
    while words and (words[0].lower() in _OPTIONS or not words[0]):
        option = words.pop(0).lower()
        taken: list[str] = []
        while words and len(taken) < _OPTIONS.get(option, 0):
            if option in _OF_NUMBERS and _number(words[0]) is None:
                break
            taken.append(words.pop(0))
        options[option] = taken
    reference = " ".join(words).strip().replace("\\", "/")
    if not reference:
        return None
    channel = "".join(options.get("-imfchan", ())).lower()
    if components != "rgb":
        components = _CHANNELS.get(channel, components)
    clamps = "".join(options.get("-clamp", ())).lower() == "on"
    wrap = Wrap.CLAMP if clamps else Wrap.REPEAT
    sampling = Sampling(
        components=components,
        wrap_s=wrap,
        wrap_t=wrap,
        scale=_pair(options.get("-s", ()), 1.0),
        translation=_pair(options.get("-o", ()), 0.0),
    )
    return MeshTexture(posixpath.join(folder, reference), sampling=sampling)


def _pair(words: Sequence[str], default: float) -> tuple[float, float]:
    numbers = [_number(word) for word in words[:2]]
    first, second, *_ = (*numbers, None, None)
    return (
        default if first is None else first,
        default if second is None else second,
    )


def _opacity(statements: dict[str, str]) -> float:
    """Return the opacity ``d``, otherwise the complement of ``Tr``."""
    words = statements.get("d", "").split()
    stated = _number(words[-1]) if words else None
    if stated is None:
        through = _number((statements.get("tr", "").split() or [""])[0])
        stated = None if through is None else 1.0 - through
    return 1.0 if stated is None else visible(stated)


def _color(statements: dict[str, str], keyword: str) -> tuple[float, float, float] | None:
    words = statements.get(keyword, "").split()[:_RGB]
    numbers = [number for word in words if (number := _number(word)) is not None]
    # One number is used for all three.
    numbers = numbers * _RGB if len(words) == len(numbers) == 1 else numbers
    return unit_color(numbers) if len(numbers) == _RGB else None


def _unit(statements: dict[str, str], keyword: str) -> float | None:
    value = _first_number(statements, keyword)
    return None if value is None else min(max(value, 0.0), 1.0)


def _index_of_refraction(statements: dict[str, str]) -> float | None:
    value = _first_number(statements, "ni")
    return value if value is not None and _LEAST_IOR <= value <= _MOST_IOR else None


def _first_number(statements: dict[str, str], keyword: str) -> float | None:
    return _number((statements.get(keyword, "").split() or [""])[0])


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
