"""Material libraries of OBJ files (MTL), by the format's own description.

The format defines no colour space; colours are read as sRGB, as by URDF viewers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from urdf_usd.conformance.engines.mesh_files.bounds import (
    LARGEST_LIBRARY,
    read_bounded,
)
from urdf_usd.conformance.engines.mesh_files.materials import (
    FileMaterial,
    ImageFile,
    effective_opacity,
    emitting,
    light,
)
from urdf_usd.conformance.observation.shapes import Vec3

_NUMBER = r"\s+[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=\s)"
# Options before the file of a map.
_OPTION = re.compile(
    r"-(?:(?:blend[uv]|bm|boost|cc|clamp|imfchan|texres|type)\s+\S+"
    rf"|mm(?:{_NUMBER}){{1,2}}|[ost](?:{_NUMBER}){{1,3}})\s+",
    re.IGNORECASE,
)
_RGB = 3
# Of a preview surface, and the range of the format.
_FALLBACK_IOR = 1.5
_IOR_RANGE = 1e-3, 10.0
# Smallest difference that counts.
_APART = 1e-4
# Inputs of a preview surface, and of its textures, that statements define.
_DEFINED = {
    "map_ke": ("emissiveColor",),
    "map_d": ("opacity.",),
    "pm": ("metallic",),
    "map_pm": ("metallic",),
    "pr": ("roughness",),
    "map_pr": ("roughness",),
    "ks": ("specularColor", "useSpecularWorkflow"),
    "ns": ("roughness",),
    "pc": ("clearcoat",),
    "pcr": ("clearcoatRoughness",),
    "norm": ("normal",),
}
# Options that move texture coordinates.
_PLACEMENT = frozenset({"-o", "-s", "-t"})


def read_libraries(
    lines: Sequence[str], names: Sequence[str], folder: str
) -> tuple[FileMaterial, ...]:
    """Read the materials that an OBJ file uses.

    Args:
        lines: Arguments of ``mtllib``, line by line.
        names: Of the materials.
        folder: Folder of the OBJ file.

    Returns:
        One material per name; an empty one if it is not defined.

    Raises:
        OSError: A library cannot be read, or is too large.
    """
    known: dict[str, FileMaterial] = {}
    for line in lines:
        for library in _files(line.replace("\\", "/"), Path(folder)):
            text = _text(read_bounded(library, LARGEST_LIBRARY))
            for name, statements in _materials(text):
                material = _material(statements, str(library.parent))
                known.setdefault(name, material)
    return tuple(known.get(name, FileMaterial()) for name in names)


def _files(line: str, folder: Path) -> tuple[Path, ...]:
    """Find libraries: a name that may hold spaces, or several names."""
    whole = folder / line
    if whole.is_file():
        return (whole,)
    return tuple(path for word in line.split() if (path := folder / word).is_file())


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _materials(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the statements of each material, by keyword in lower case."""
    name, statements = None, dict[str, str]()
    for line in text.splitlines():
        keyword, _, value = line.strip().replace("\t", " ").partition(" ")
        if keyword.lower() == "newmtl":
            if name is not None:
                yield name, statements
            name, statements = value.strip(), {}
        else:
            statements[keyword.lower()] = value.strip()
    if name is not None:
        yield name, statements


def _material(statements: dict[str, str], folder: str) -> FileMaterial:
    color = _color(statements.get("kd"))
    # By the format a black factor makes a texture black; exporters mean no factor.
    factor = (1.0, 1.0, 1.0) if color is None else color if any(color) else None
    emission = _color(statements.get("ke"))
    glow = _image(statements.get("map_ke"), folder)
    return FileMaterial(
        color=color,
        factor=factor,
        opacity=_opacity(statements),
        image=_image(statements.get("map_kd"), folder),
        mask=_image(statements.get("map_d"), folder),
        has_more=glow is not None or any(emission or ()),
        properties=(*(() if glow else emitting(emission)), *_refracting(statements)),
        unread=frozenset(_unread(statements)),
    )


def _unread(statements: dict[str, str]) -> Iterator[str]:
    """Yield the inputs that statements and options of the colour texture define."""
    for keyword, names in _DEFINED.items():
        if keyword in statements:
            yield from names
    options = statements.get("map_kd", "").lower().split()
    if "-clamp" in options:
        yield from ("diffuseColor.wrapS", "diffuseColor.wrapT")
    if not _PLACEMENT.isdisjoint(options):
        yield "mapping"


def _refracting(
    statements: dict[str, str],
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Return the index of refraction, unless it is that of all preview surfaces."""
    numbers = _numbers(statements.get("ni"))
    stated = numbers[0] if numbers else _FALLBACK_IOR
    usual = abs(stated - _FALLBACK_IOR) <= _APART
    in_range = _IOR_RANGE[0] <= stated <= _IOR_RANGE[1]
    return (("ior", (stated,)),) if in_range and not usual else ()


def _color(value: str | None) -> Vec3 | None:
    """Return linear components; None for colours that are spectra or CIE XYZ."""
    numbers = _numbers(value)
    if numbers is None or not numbers:
        return None
    return light(numbers if len(numbers) >= _RGB else numbers[:1] * _RGB)


def _opacity(statements: dict[str, str]) -> float:
    stated = _numbers((statements.get("d") or "").removeprefix("-halo"))
    if stated:
        return effective_opacity(stated[0])
    through = _numbers(statements.get("tr"))
    return effective_opacity(1.0 - through[0]) if through else 1.0


def _image(value: str | None, folder: str) -> ImageFile | None:
    rest = value or ""
    while option := _OPTION.match(rest):
        rest = rest[option.end() :]
    return ImageFile(rest.strip(), folder) if rest.strip() else None


def _numbers(value: str | None) -> tuple[float, ...] | None:
    """Return the numbers of a statement; None if it holds anything else."""
    try:
        numbers = tuple(float(word) for word in (value or "").split())
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None
