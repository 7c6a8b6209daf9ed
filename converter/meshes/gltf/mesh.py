"""glTF 2.0: the surfaces of the scene as one mesh [m].

glTF is Y up by its specification; positions are rotated to Z up, as in Drake and
Gazebo. Its v coordinate points down from the upper edge of an image and is flipped.

trimesh 5.2 is not used because it rounds colours to 255 steps and drops wrap modes,
texture transforms, further sets of texture coordinates, emission and double-sidedness.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.converter.colors import linear_from_srgb, srgb_from_linear
from urdf_usd.converter.meshes.corner_values import (
    CornerValues,
    SiblingReader,
    corner_values,
    face_normals,
    join_corner_values,
    unit_vectors,
)
from urdf_usd.converter.meshes.gltf import schema
from urdf_usd.converter.meshes.gltf.document import (
    Accessors,
    GltfDocument,
    read_document,
)
from urdf_usd.converter.meshes.gltf.materials import read_material
from urdf_usd.converter.meshes.mesh_material import MeshMaterial
from urdf_usd.converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    SurfaceAttributes,
    build_mesh,
    check_indices,
    reversed_faces,
)

Matrix: TypeAlias = NDArray[np.float64]
Corners: TypeAlias = NDArray[np.int64]

_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
# The specification allows a node one parent; some files have a few more.
_MOST_PLACES_PER_NODE = 4
_MOST_PLACES = 1000
_MOST_CORNERS = 50_000_000
_POSITION = 3
_PLANE = 2


class _Part(Struct, frozen=True, eq=False):
    """Triangles of one primitive, placed in the scene.

    Attributes:
        points: (N, 3) positions [m], Z up.
        corners: (3 T,) indices of points, three per triangle.
        normals: Unit vectors, if any.
        coordinates: Sets of texture coordinates, v up.
        colors: (3 T, 3) linear colours, if any.
        material: Index in the document, if any.
    """

    points: Matrix
    corners: Corners
    normals: CornerValues | None
    coordinates: tuple[CornerValues | None, ...]
    colors: Matrix | None
    material: int | None


def read_gltf(data: bytes, read_sibling: SiblingReader = lambda _: None) -> PolygonMesh:
    """Read all surfaces of a glTF file, binary or text, as one mesh.

    Skins and morph targets are ignored.

    Args:
        data: Content of the file.
        read_sibling: Reads files that it refers to.

    Raises:
        MeshError: The file is damaged or compressed, or has no surface.
    """
    document = read_document(data, read_sibling)
    accessors = Accessors(document)
    skipped: dict[str, None] = {}
    parts: list[_Part] = []
    corners = 0
    for mesh, transform in _placed(document):
        for primitive in mesh.primitives:
            part = _part(primitive, accessors, transform, skipped)
            if part is not None:
                parts.append(part)
                corners += len(part.corners)
            if corners > _MOST_CORNERS:
                raise MeshError("its instances exceed the limit")
    if not parts:
        raise MeshError("; ".join(("it holds no faces", *skipped)))
    materials = _materials(document, accessors, parts, skipped)
    return _joined(parts, materials, tuple(skipped))


def _placed(document: GltfDocument) -> Iterator[tuple[schema.Mesh, Matrix]]:
    """Yield the meshes of the scene with their transforms.

    A document without a scene is read from all nodes that are no children.
    """
    root = document.root
    numbers = range(len(root.nodes))
    if root.scenes:
        tops = document.get("scenes", root.scene, schema.Scene).nodes
    else:
        nodes = (document.get("nodes", number, schema.Node) for number in numbers)
        inside = {child for node in nodes for child in node.children}
        tops = [number for number in numbers if number not in inside]
    pending = [(top, _UPRIGHT) for top in reversed(tops)]
    most = _MOST_PLACES + _MOST_PLACES_PER_NODE * len(numbers)
    for _ in range(most):
        if not pending:
            return
        if len(pending) > most:
            break
        number, above = pending.pop()
        node = document.get("nodes", number, schema.Node)
        transform = above @ _transform(node)
        if node.mesh is not None:
            yield document.get("meshes", node.mesh, schema.Mesh), transform
        pending += [(child, transform) for child in reversed(node.children)]
    raise MeshError("its nodes exceed the limit")


def _transform(node: schema.Node) -> Matrix:
    result = np.eye(4)
    if node.matrix is not None:
        return np.array(node.matrix).reshape(4, 4).T
    x, y, z, w = node.rotation
    length = (x * x + y * y + z * z + w * w) ** 0.5
    if not length:
        raise MeshError("a rotation has no length")
    x, y, z, w = x / length, y / length, z / length, w / length
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    result[:3, :3] = turn * np.array(node.scale)
    result[:3, 3] = node.translation
    return result


def _part(
    primitive: schema.Primitive,
    accessors: Accessors,
    transform: Matrix,
    skipped: dict[str, None],
) -> _Part | None:
    mode, attributes = primitive.mode, primitive.attributes
    if mode not in {_TRIANGLES, _STRIP, _FAN} or "POSITION" not in attributes:
        return None
    raw = accessors.rows(attributes["POSITION"])
    if raw.shape[1] != _POSITION:
        raise MeshError("its positions are not three numbers each")
    if primitive.indices is not None:
        order = accessors.indices(primitive.indices)
    else:
        order = np.arange(len(raw))
    corners = _triangles(order, mode)
    if not len(corners):
        return None
    check_indices(len(raw), np.full(len(corners) // 3, 3), corners)
    linear = transform[:3, :3]
    # What overflows here is found by build_mesh.
    with np.errstate(all="ignore"):
        points = raw @ linear.T + transform[:3, 3]
        if np.linalg.det(linear) < 0:
            faces = np.full(len(corners) // 3, 3)
            corners = reversed_faces(faces, corners).astype(np.int64)
    values = _Attributes(attributes, accessors, len(raw), corners, skipped)
    return _Part(
        points,
        corners,
        values.normals(linear),
        values.coordinates(),
        values.colors(),
        primitive.material,
    )


def _triangles(order: Corners, mode: int) -> Corners:
    """Return the corners of the triangles that a list, strip or fan stands for."""
    if mode == _TRIANGLES:
        return order[: len(order) // 3 * 3]
    first = np.arange(max(len(order) - 2, 0))
    if mode == _FAN:
        rows = np.stack([first + 1, first + 2, np.zeros_like(first)], axis=1)
    else:
        odd = first % 2
        rows = np.stack([first, first + 1 + odd, first + 2 - odd], axis=1)
    return order[rows.reshape(-1)]


class _Attributes:
    """Reads the attributes of a primitive other than positions.

    An invalid attribute is skipped, and the reason added to ``skipped``.
    """

    def __init__(
        self,
        attributes: dict[str, int],
        accessors: Accessors,
        points: int,
        corners: Corners,
        skipped: dict[str, None],
    ) -> None:
        self._attributes = attributes
        self._accessors = accessors
        self._points = points
        self._corners = corners
        self._skipped = skipped

    def normals(self, linear: Matrix) -> CornerValues | None:
        rows = self._rows("NORMAL", _POSITION)
        if rows is None:
            return None
        first, second, third = linear.T
        # The inverse transpose up to a positive factor.
        cofactors = np.stack(
            [np.cross(second, third), np.cross(third, first), np.cross(first, second)]
        )
        with np.errstate(all="ignore"):
            sign = -1.0 if np.linalg.det(linear) < 0 else 1.0
            turned = unit_vectors(sign * rows @ cofactors)
        return corner_values(turned, self._corners)

    def coordinates(self) -> tuple[CornerValues | None, ...]:
        sets: list[CornerValues | None] = []
        while f"TEXCOORD_{len(sets)}" in self._attributes:
            rows = self._rows(f"TEXCOORD_{len(sets)}", _PLANE)
            if rows is not None:
                rows = np.stack([rows[:, 0], 1.0 - rows[:, 1]], axis=1)
            sets.append(None if rows is None else corner_values(rows, self._corners))
        return tuple(sets)

    def colors(self) -> Matrix | None:
        rows = self._rows("COLOR_0", 3)
        return None if rows is None else np.clip(rows, 0.0, 1.0)[self._corners]

    def _rows(self, key: str, width: int) -> Matrix | None:
        if key not in self._attributes:
            return None
        try:
            rows = self._accessors.rows(self._attributes[key])
        except MeshError as error:
            self._skipped[f"its {key} are left out: {error}"] = None
            return None
        if len(rows) != self._points or rows.shape[1] < width:
            self._skipped[f"its {key} do not match its points"] = None
            return None
        return rows[:, :width]


def _materials(
    document: GltfDocument,
    accessors: Accessors,
    parts: list[_Part],
    skipped: dict[str, None],
) -> dict[tuple[int, bool], MeshMaterial]:
    """Read the materials of parts, by index and whether vertices have colours.

    Vertex colours are factors of the material's colour, unless that is an image.
    """
    found: dict[tuple[int, bool], MeshMaterial] = {}
    for part in parts:
        if part.material is None:
            continue
        colored = part.colors is not None
        key = part.material, colored
        if key in found:
            continue
        try:
            material = read_material(document, accessors, part.material)
        except MeshError as error:
            skipped[f"material {part.material} is left out: {error}"] = None
            continue
        if colored and _has_image(material):
            skipped["colours of vertices are not multiplied with textures"] = None
        found[key] = structs.replace(material, shows_corners=colored and not _has_image(material))
    return found


def _has_image(material: MeshMaterial) -> bool:
    return any(slot == "color" for slot, _ in material.textures)


def _joined(
    parts: list[_Part],
    found: dict[tuple[int, bool], MeshMaterial],
    skipped: tuple[str, ...],
) -> PolygonMesh:
    numbers = {key: number for number, key in enumerate(found)}
    keys = [(part.material or 0, part.colors is not None) for part in parts]
    chosen = [
        -1 if part.material is None else numbers.get(key, -1)
        for part, key in zip(parts, keys, strict=True)
    ]
    materials = tuple(found.values())
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    corners = np.concatenate([part.corners + at for part, at in zip(parts, starts, strict=False)])
    white = [np.ones((len(part.corners), 3)) for part in parts]
    normals = [part.normals for part in parts]
    flat = white
    if any(one is None for one in normals):
        flat = [
            face_normals(part.points, np.full(len(part.corners) // 3, 3), part.corners)
            for part in parts
        ]
    own = [
        _corner_colors(part, materials[number] if number >= 0 else None)
        for part, number in zip(parts, chosen, strict=True)
    ]
    first, *further = _coordinate_sets(parts, white, materials) or [None]
    return build_mesh(
        np.concatenate([part.points for part in parts]),
        np.full(len(corners) // 3, 3),
        corners,
        skipped=skipped,
        attributes=SurfaceAttributes(
            normals=join_corner_values(normals, flat),
            texture_coordinates=first,
            further_coordinates=tuple(further),
            colors=join_corner_values(own, white),
            face_materials=np.repeat(
                np.array(chosen, np.int32), [len(part.corners) // 3 for part in parts]
            ),
            materials=materials,
        ),
    )


def _coordinate_sets(
    parts: list[_Part], white: list[Matrix], materials: tuple[MeshMaterial, ...]
) -> list[CornerValues | None]:
    """Join the first set, and the further sets that a texture uses."""
    used = [
        texture.sampling.coordinates for material in materials for _, texture in material.textures
    ]
    origin = [one[:, :2] * 0 for one in white]
    most = max((len(part.coordinates) for part in parts), default=0)
    sets: list[CornerValues | None] = []
    for number in range(min(most, max(used, default=0) + 1)):
        held = [
            part.coordinates[number] if number < len(part.coordinates) else None for part in parts
        ]
        is_used = number == 0 or number in used
        sets.append(join_corner_values(held, origin) if is_used else None)
    return sets


def _corner_colors(part: _Part, material: MeshMaterial | None) -> CornerValues | None:
    """Return vertex colours, multiplied by the material's colour if that is used."""
    if part.colors is None:
        return None
    linear = part.colors
    if material is not None and material.shows_corners and material.color is not None:
        linear = linear * linear_from_srgb(material.color)
    values, indices = np.unique(linear, axis=0, return_inverse=True)
    return corner_values(srgb_from_linear(values), indices.reshape(-1))
