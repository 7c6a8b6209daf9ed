"""Wavefront OBJ files with their material libraries (MTL): reading and writing.

Invalid normals, texture coordinates (v up, as in USD), colours and materials are ignored; faces are
kept. Each ``o`` or ``g`` statement with a name begins a group of faces, as in PyBullet, also if the
name was used before; ``usemtl`` begins none.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes import mesh_materials as mm
from urdf_usd.converter.meshes.mesh_materials import linear_from_srgb

# Runs of lines of one kind: numpy reads many lines at once.
_LINES = re.compile(
    rb"(?P<v>(?:[ \t]*+v(?=\s)[^\n]*+\n)++)"
    rb"|(?P<f>(?:[ \t]*+f(?=\s)[^\n]*+\n)++)"
    rb"|(?P<vt>(?:[ \t]*+vt[ \t][^\n]*+\n)++)"
    rb"|(?P<vn>(?:[ \t]*+vn[ \t][^\n]*+\n)++)"
    rb"|[ \t]*+[go][ \t](?P<group>[^\n]*+)\n"
    rb"|[ \t]*+usemtl[ \t](?P<material>[^\n]*+)\n"
    rb"|[^\n]*+\n"
)
# Not in the number 1.#IND, which is malformed.
_COMMENT = re.compile(rb"(?<!\S)#[^\n]*+")
# A line in a comment is not continued, as in MuJoCo and PyBullet.
_COMMENT_OR_CONTINUED = re.compile(rb"(#[^\n]*+)|\\\n")
# Starts with a line end, which is ten times as fast as a multi-line anchor.
_LIBRARY = re.compile(rb"\n[ \t]*+mtllib[ \t]++([^\n]*)")
# Turns the statements of faces into numbers.
_SPACED = bytes.maketrans(b"f/", b"  ")
# Of a corner that does not have one; indices begin at 1.
_NO_INDEX = 0
# Indices of a corner: point, texture coordinates, normal.
_SLOTS = ("v", "vt", "vn")

# Texture statements of a material; images of the slots below have three components.
_MAPS = {
    "map_kd": mm.Slot.COLOR,
    "map_ke": mm.Slot.EMISSION,
    "map_d": mm.Slot.OPACITY,
    "map_pr": mm.Slot.ROUGHNESS,
    "map_pm": mm.Slot.METALNESS,
    "norm": mm.Slot.NORMAL,
}
_RGB = {mm.Slot.COLOR, mm.Slot.EMISSION, mm.Slot.NORMAL}
# Texture options with one argument; others have up to three numbers.
_OPTIONS = {"-blendu", "-blendv", "-bm", "-boost", "-cc", "-clamp", "-imfchan", "-texres", "-type"}

# What consecutive faces share: material, index of the group's name, and the numbers of points,
# texture coordinates and normals before them if an index is relative.
_Run: TypeAlias = tuple[str, int, tuple[int, ...]]


def read_obj(
    data: bytes, read_sibling: meshes.SiblingReader = lambda _: None
) -> meshes.PolygonMesh:
    """Read all faces of an OBJ file, with the material libraries that it names, as one mesh [m].

    MeshError if a number is malformed, an index is out of range, or no face is left.
    """
    text = b"\n%b\n" % _in_utf8(data)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\\" in text:
        text = _COMMENT_OR_CONTINUED.sub(lambda found: found[1] or b" ", text)
    rows, runs, names = _statements(text)
    materials, skipped = _read_libraries(text, read_sibling)
    # A fourth number is a weight; points without a colour are white.
    table = _table(rows["v"], 6)
    points, colors = table[:, :3], table[:, 3:]
    if (wrong := np.isnan(points).any(axis=1)).any():
        line = rows["v"].splitlines()[int(np.argmax(wrong))]
        raise _refusal(line, "a vertex is not three numbers")
    colors = np.where(np.isnan(colors).any(axis=1, keepdims=True), 1.0, colors)
    faces = [_faces(b"".join(lines), before) for (_, _, before), lines in runs]
    counts = np.concatenate([np.empty(0, np.int64), *(sizes for sizes, _ in faces)])
    corners = np.concatenate([np.empty((0, 3), np.int64), *(c for _, c in faces)]) - 1
    indices, of_coordinates, of_normals = corners.T
    meshes.check_indices(len(points), counts, indices)
    meshes.require(len(counts), "it holds no faces")
    # Zero where malformed or absent.
    tables = (_table(rows[keyword], width) for keyword, width in (("vt", 2), ("vn", 3)))
    st, vectors = (np.where(np.isfinite(table), table, 0.0) for table in tables)
    normals = meshes.unit_vectors(vectors)
    numbers = {name: number for number, name in enumerate(materials)}
    face_materials = np.array([numbers.get(material, -1) for (material, _, _), _ in runs], np.int32)
    sizes = [len(sizes) for sizes, _ in faces]
    face_groups = np.repeat([group for (_, group, _), _ in runs], sizes)
    groups, of_faces = np.unique(face_groups, return_inverse=True)
    several = len(groups) > 1
    shown = meshes.corner_values(np.clip(colors, 0, 1), indices) if (colors != 1).any() else None
    return meshes.build_mesh(
        points,
        counts,
        indices,
        skipped=skipped,
        # build_mesh replaces zero normals.
        normals=meshes.fill_missing(normals, of_normals, np.zeros(3)),
        coordinate_sets=(meshes.fill_missing(st, of_coordinates, np.zeros(2)),),
        colors=shown,
        face_materials=np.repeat(face_materials, sizes),
        materials=tuple(materials.values()),
        face_groups=of_faces.astype(np.int32) if several else None,
        groups=tuple(names[group] for group in groups) if several else (),
    )


def _in_utf8(data: bytes) -> bytes:
    """Return a text in UTF-8 without byte order mark; it is read as Latin-1 if it is not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def _statements(
    text: bytes,
) -> tuple[dict[str, bytes], list[tuple[_Run, list[bytes]]], list[str]]:
    """Return the lines of vertices by keyword, those of faces by run, and the names of groups."""
    rows: dict[str, list[bytes]] = {slot: [] for slot in _SLOTS}
    runs: list[tuple[_Run, list[bytes]]] = []
    groups, material = [""], ""
    counts = dict.fromkeys(_SLOTS, 0)
    for match in _LINES.finditer(text):
        kind = match.lastgroup
        if kind is None:
            continue
        lines = match[kind]
        if kind == "group":
            groups.append(lines.strip().decode("utf-8", "replace"))
        elif kind == "material":
            material = lines.decode("utf-8", "replace").replace("\t", " ").strip()
        else:
            if b"#" in lines:
                lines = _COMMENT.sub(b"", lines)
            if kind == "f":
                before = tuple(counts.values()) if b"-" in lines else ()
                run = material, len(groups) - 1, before
                # Many files have points between faces.
                if not runs or runs[-1][0] != run:
                    runs.append((run, []))
                runs[-1][1].append(lines)
            else:
                rows[kind].append(lines)
                counts[kind] += lines.count(b"\n")
    return {slot: b"".join(lines) for slot, lines in rows.items()}, runs, groups


def _table(lines: bytes, width: int) -> NDArray[np.float64]:
    """Return the first (N, width) numbers of lines: NaN if absent, all if one is malformed."""
    table = np.full((lines.count(b"\n"), width), np.nan)
    cells = lines.split()
    step, rest = divmod(len(cells), len(table) or 1)
    if step and not rest and len(set(cells[::step])) == 1 and b"_" not in lines:
        del cells[::step]
        with suppress(ValueError):
            found = np.array(cells, np.float64).reshape(len(table), step - 1)[:, :width]
            table[:, : found.shape[1]] = np.where(np.isnan(found), np.inf, found)
            return table
    for row, line in zip(table, lines.splitlines(), strict=True):
        with suppress(ValueError):
            numbers = [float(word) for word in line.replace(b"_", b"?").split()[1 : width + 1]]
            row[: len(numbers)] = np.where(np.isnan(numbers), np.inf, numbers)
    return table


def _faces(lines: bytes, before: Sequence[int]) -> tuple[meshes.Integers, meshes.Integers]:
    """Return the numbers of corners of faces with at least three, and (C, 3) indices of these.

    ``before`` are the numbers of what lies before them, by slot, if an index is relative.
    """
    sizes = np.array([len(line.split()) - 1 for line in lines.splitlines()], np.int64)
    corners = _equal_corners(lines, sizes)
    if corners is None:
        found: list[list[int]] = []
        for line in lines.splitlines():
            words = (word.split(b"/") for word in line.split()[1:])
            try:
                found += [[*(int(index or b"0") for index in word), 0, 0][:3] for word in words]
            except ValueError:
                raise _refusal(line, "a face refers to something that is no vertex") from None
        try:
            corners = np.array(found, np.int64).reshape(-1, len(_SLOTS))
        except OverflowError as error:
            raise meshes.MeshError("an index is too large") from error
        if before:
            corners = np.where(corners < 0, corners + np.array(before) + 1, corners)
        corners[:, 1:][corners[:, 1:] < 0] = _NO_INDEX
    if (corners[:, 0] <= _NO_INDEX).any():
        first = int(np.argmax(corners[:, 0] <= _NO_INDEX))
        face = int(np.searchsorted(np.cumsum(sizes), first, side="right"))
        raise _refusal(lines.splitlines()[face], "a face refers to no vertex before it")
    whole = sizes >= 3
    if not whole.all():
        corners, sizes = corners[np.repeat(whole, sizes)], sizes[whole]
    return sizes, corners


def _equal_corners(lines: bytes, sizes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return (C, 3) indices of corners that all have as many, and no sign."""
    text = lines.replace(b"//", b"/0/")
    # What is left of statements and corners without digits.
    left = set(text.translate(None, b"0123456789").split())
    width = max(map(len, left - {b"f"}), default=0) + 1
    is_plain = left <= {b"f", b"/" * (width - 1)} and text.count(b"f") == len(sizes)
    if width > len(_SLOTS) or not is_plain:
        return None
    # Several times as fast as an array of words, but it stops at other characters.
    found = np.fromstring(text.translate(_SPACED), np.int64, sep=" ")
    if len(found) != sizes.sum() * width:
        return None
    corners = np.zeros((len(found) // width, len(_SLOTS)), np.int64)
    corners[:, :width] = found.reshape(-1, width)
    return corners


def _refusal(line: bytes, reason: str) -> meshes.MeshError:
    return meshes.MeshError(f"{reason}: {line.strip()[:40].decode(errors='replace')!r}")


def _read_libraries(
    text: bytes, read_sibling: meshes.SiblingReader
) -> tuple[dict[str, mm.MeshMaterial], tuple[str, ...]]:
    """Return the materials by name, of equal names the first, and missing libraries."""
    references: dict[str, None] = {}
    # Faster to see in the bytes than by the expression.
    matches = _LIBRARY.finditer(text) if b"mtllib" in text else ()
    for line in dict.fromkeys(match[1] for match in matches):
        # One name with spaces, or several names.
        whole = line.strip().decode("utf-8", "replace").replace("\\", "/")
        is_one = read_sibling(whole) is not None
        references |= dict.fromkeys((whole,) if is_one else whole.split())
    absent: list[str] = []
    materials: dict[str, mm.MeshMaterial] = {}
    for reference in references:
        content = read_sibling(reference)
        if content is None:
            absent.append(f"material library {reference!r} is missing")
            continue
        written: list[tuple[str, dict[str, str]]] = []
        library = _in_utf8(content).replace(b"\r", b"\n").decode("utf-8", "replace")
        for row in library.split("\n"):
            keyword, _, value = row.strip().replace("\t", " ").partition(" ")
            if keyword.lower() == "newmtl":
                written.append((value.strip(), {}))
            elif keyword and written:
                written[-1][1][keyword.lower()] = value.strip()
        for name, statements in written:
            if name not in materials:
                materials[name] = _material(name, statements, posixpath.dirname(reference))
    # Without materials in use, missing libraries do not matter.
    return materials, tuple(absent) if b"usemtl" in text else ()


def _material(name: str, statements: dict[str, str], folder: str) -> mm.MeshMaterial:
    def first(keyword: str) -> float | None:
        return mm.finite((statements.get(keyword, "").split() or [""])[0])

    dissolve = statements.get("d", "").split()
    opacity, transparency = mm.finite(dissolve[-1]) if dissolve else None, first("tr")
    if opacity is None:
        opacity = 1.0 if transparency is None else 1.0 - transparency
    opacity = mm.visible(opacity)
    color = _color(statements.get("kd", ""))
    images = {slot: _texture(statements.get(word, ""), folder) for word, slot in _MAPS.items()}
    uses: dict[mm.Slot, dict[str, object]] = {
        slot: {"components": "rgb" if slot in _RGB else "r"} for slot in images
    }
    shown, opaque = images[mm.Slot.COLOR], images[mm.Slot.OPACITY]
    if shown and opaque and opaque.reference == shown.reference:
        # The alpha of the image that is also the colour texture.
        uses[mm.Slot.OPACITY]["components"] = "a"
    uses[mm.Slot.OPACITY]["gain"] = (opacity,) * 4
    # Exporters write black to mean that only the texture is used.
    if color is not None and any(color):
        uses[mm.Slot.COLOR]["gain"] = (*linear_from_srgb(color).tolist(), 1.0)
    metallic, roughness, ior = map(first, ("pm", "pr", "ni"))
    return mm.assemble_material(
        name,
        color,
        opacity,
        _color(statements.get("ke", "")),
        ((slot, image, uses[slot]) for slot, image in images.items()),
        metallic=None if metallic is None else mm.unit(metallic),
        roughness=None if roughness is None else mm.unit(roughness),
        # The range of optical densities in the format.
        ior=ior if ior is not None and 0.001 <= ior <= 10.0 else None,
    )


def _color(statement: str) -> Sequence[float] | None:
    words = statement.split()[:3]
    numbers = [number for word in words if (number := mm.finite(word)) is not None]
    # One number is used for all three.
    numbers = numbers * 3 if len(words) == len(numbers) == 1 else numbers
    return mm.unit_color(numbers) if len(numbers) == 3 else None


def _texture(statement: str, folder: str) -> mm.MeshTexture | None:
    """Parse texture options and the file name, which may contain spaces."""
    words = statement.split()
    options: dict[str, list[str]] = {}
    while words and words[0].startswith("-"):
        option = words.pop(0).lower()
        numbers = list(takewhile(lambda word: mm.finite(word) is not None, words[:3]))
        options[option] = words[:1] if option in _OPTIONS else numbers
        del words[: len(options[option])]
    reference = statement[statement.find(words[0]) :].strip().replace("\\", "/") if words else ""
    if not reference:
        return None

    def pair(option: str, default: float) -> tuple[float, float]:
        first, second, *_ = (*map(float, options.get(option, [])), default, default)
        return first, second

    wrap = mm.Wrap.CLAMP if "".join(options.get("-clamp", [])).lower() == "on" else mm.Wrap.REPEAT
    sampling = mm.Sampling(
        wrap_s=wrap, wrap_t=wrap, scale=pair("-s", 1.0), translation=pair("-o", 0.0)
    )
    return mm.MeshTexture(posixpath.join(folder, reference), sampling=sampling)


def obj_text(mesh: meshes.PolygonMesh, comment: str) -> bytes:
    """Return a mesh as OBJ text, with texture coordinates if it has any; groups become objects.

    Positions are in the shortest form that reproduces the float32 of USD. (The writers of the
    available libraries do not keep polygons and points.)
    """
    numbers = mesh.points.astype(np.float32).astype(str)
    lines = [f"# {comment}", *(f"v {x} {y} {z}" for x, y, z in numbers)]
    corners = (mesh.face_indices + 1).astype(str).tolist()
    coordinates = mesh.coordinate_set(0)
    if coordinates is not None:
        lines += [f"vt {u} {v}" for u, v in coordinates.values.astype(np.float32).astype(str)]
        used = (coordinates.indices + 1).tolist()
        corners = [f"{point}/{st}" for point, st in zip(corners, used, strict=True)]
    groups = mesh.face_groups
    start, group = 0, None
    for face, count in enumerate(mesh.face_counts.tolist()):
        if groups is not None and groups[face] != group:
            group = groups[face]
            lines.append(f"o {' '.join(mesh.groups[group].split()) or 'unnamed'}")
        lines.append(f"f {' '.join(corners[start : start + count])}")
        start += count
    return "\n".join([*lines, ""]).encode()
