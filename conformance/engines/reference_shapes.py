"""Shapes by the URDF specification, and their appearance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias, assert_never

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_materials import (
    FileMaterial,
    ImageFile,
    image_digest,
    light,
)
from urdf_usd.conformance.engines.mesh_parts import (
    FaceGroup,
    LoadedMesh,
    UnreadMeshError,
)
from urdf_usd.conformance.engines.meshes import load_mesh
from urdf_usd.conformance.engines.solids import hull_volume
from urdf_usd.conformance.engines.surfaces import (
    Array,
    measured_mapping,
    measured_mesh,
    measured_shading,
    mesh_surface,
    primitive_surface,
    surface_center,
)
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Drawing,
    Role,
    Shading,
    ShapeKind,
    ShapeObservation,
    Surface,
    Vec3,
    merge_appearances,
)
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Cylinder,
    Material,
    MeshFile,
    Robot,
    Shape,
    Sphere,
    Visual,
)
from urdf_usd.converter.robot.spatial import transform_from_pose

Meshes: TypeAlias = dict[str, LoadedMesh | UnreadMeshError]


# Surfaces that were measured last.
_KEPT = 64


def state_shapes(robot: Robot) -> tuple[ShapeObservation, ...]:
    """State the shapes of all links; every mesh file is read once."""
    meshes: Meshes = {}
    return tuple(
        piece
        for link in robot.links
        for role, shapes in _by_role(link.visuals, link.collisions)
        for index, shape in enumerate(shapes)
        for piece in _convex_pieces(
            _with_appearance(
                _shape(link.name, role, f"{link.name} {role} {index}", shape, meshes),
                shape,
                meshes,
            ),
            shape,
            meshes,
        )
    )


def _convex_pieces(
    stated: ShapeObservation, shape: Shape, meshes: Meshes
) -> tuple[ShapeObservation, ...]:
    """Divide a collider whose file has several groups; others are one piece."""
    geometry = shape.geometry
    if stated.role is not Role.COLLISION or stated.surface is None:
        return (stated,)
    if not isinstance(geometry, MeshFile):
        return (stated,)
    content = meshes[geometry.path or ""]
    if not isinstance(content, LoadedMesh):
        return (stated,)
    factor = abs(math.prod(geometry.scale))
    if stated.pieces == 1:
        return (structs.replace(stated, hull_volume=_hull_volume(content) * factor),)
    transform = _placement(shape, geometry)
    return tuple(
        structs.replace(
            stated,
            source=f"{stated.source} group {number}",
            surface=surface,
            hull_volume=_hull_volume(group) * factor,
        )
        for number, group in enumerate(content.groups)
        if (surface := mesh_surface(group.points, group.triangles, transform))
    )


def _with_appearance(stated: ShapeObservation, shape: Shape, meshes: Meshes) -> ShapeObservation:
    """Add the appearance of a visual."""
    if not isinstance(shape, Visual) or stated.surface is None:
        return stated
    mesh, areas, geometry = None, np.zeros(0), shape.geometry
    placed, shading = np.eye(4), None
    if isinstance(geometry, MeshFile):
        found = meshes.get(geometry.path or "")
        if not isinstance(found, LoadedMesh):
            return stated
        measured = _measured(found, shape, geometry)
        mesh, areas = found, measured[1] if measured else areas
        placed = _placement(shape, geometry)
        shading = _shading(mesh, placed)
    looks = state_appearances(shape, stated.surface.area, mesh, areas, placed)
    return structs.replace(stated, appearances=looks, shading=shading)


def _shading(mesh: LoadedMesh, placed: Array) -> Shading | None:
    """Measure the normals of a mesh; None if they are not read completely."""
    if mesh.has_normals is None or (mesh.has_normals and mesh.normals is None):
        return None
    normals = mesh.normals if mesh.has_normals else None
    if normals is not None:
        normals = _directed(normals, mesh)
    return measured_shading(mesh.points, mesh.triangles, normals, placed)


def _directed(normals: NDArray[np.floating], mesh: LoadedMesh) -> NDArray[np.floating]:
    """Replace zero normals, which some exporters write, by those of their faces."""
    missing = ~(normals.any(axis=-1) & np.isfinite(normals).all(axis=-1))
    if not missing.any():
        return normals
    a, b, c = (mesh.points[corner] for corner in mesh.triangles.T)
    faces = np.cross(b - a, c - a)[:, np.newaxis]
    return np.where(missing[..., np.newaxis], faces, normals)


def draw_shapes(robot: Robot) -> tuple[Drawing, ...]:
    """Return the shapes of a robot for drawing; every mesh file is read once."""
    meshes: Meshes = {}
    drawings = (
        _drawing(link.name, role, f"{link.name} {role} {index}", shape, meshes)
        for link in robot.links
        for role, shapes in _by_role(link.visuals, link.collisions)
        for index, shape in enumerate(shapes)
    )
    return tuple(drawing for drawing in drawings if drawing)


def _drawing(link: str, role: Role, source: str, shape: Shape, meshes: Meshes) -> Drawing | None:
    geometry = shape.geometry
    matrix = transform_from_pose(shape.origin)
    if not isinstance(geometry, MeshFile):
        kind, size = _primitive(geometry)
        nothing = np.zeros((0, 3)), np.zeros((0, 3), np.int64)
        return Drawing(source, link, role, kind, size, matrix, *nothing)
    if geometry.path is None:
        return None
    if geometry.path not in meshes:
        meshes[geometry.path] = _load(geometry.path)
    content = meshes[geometry.path]
    if isinstance(content, UnreadMeshError):
        return None
    return Drawing(
        source=source,
        link=link,
        role=role,
        kind=ShapeKind.MESH,
        size=(),
        matrix=matrix @ np.diag([*geometry.scale, 1.0]),
        points=content.points,
        triangles=content.triangles,
    )


def _by_role(
    visuals: tuple[Shape, ...], collisions: tuple[Shape, ...]
) -> Iterator[tuple[Role, tuple[Shape, ...]]]:
    yield Role.VISUAL, visuals
    yield Role.COLLISION, collisions


def _shape(link: str, role: Role, source: str, shape: Shape, meshes: Meshes) -> ShapeObservation:
    geometry = shape.geometry
    if isinstance(geometry, MeshFile):
        unstated = ShapeObservation(
            link=link,
            role=role,
            source=source,
            name=geometry.uri,
            kind=ShapeKind.MESH,
            position=shape.origin.position,
            problem="it is not found",
        )
        return _mesh(unstated, shape, geometry, meshes)
    kind, size = _primitive(geometry)
    transform = transform_from_pose(shape.origin)
    return ShapeObservation(
        link=link,
        role=role,
        source=source,
        name=shape.name or kind.value,
        kind=kind,
        size=size,
        position=shape.origin.position,
        surface=primitive_surface(kind, size, transform),
        problem=None if all(value > 0 for value in size) else "its size is not positive",
    )


def _primitive(
    geometry: Box | Cylinder | Capsule | Sphere,
) -> tuple[ShapeKind, tuple[float, ...]]:
    match geometry:
        case Box(size):
            return ShapeKind.BOX, size
        case Cylinder(radius, length):
            return ShapeKind.CYLINDER, (radius, length)
        case Capsule(radius, length):
            return ShapeKind.CAPSULE, (radius, length)
        case Sphere(radius):
            return ShapeKind.SPHERE, (radius,)
        case _:
            assert_never(geometry)


def _mesh(
    unstated: ShapeObservation, shape: Shape, geometry: MeshFile, meshes: Meshes
) -> ShapeObservation:
    if geometry.path is None:
        return unstated
    if geometry.path not in meshes:
        meshes[geometry.path] = _load(geometry.path)
    content = meshes[geometry.path]
    if isinstance(content, UnreadMeshError):
        return structs.replace(unstated, problem=f"it cannot be read: {content}")
    measured = _measured(content, shape, geometry)
    problem = None if measured else "it has points that are not finite"
    return structs.replace(
        unstated,
        surface=measured[0] if measured else None,
        problem=problem,
        pieces=content.pieces,
        corners=content.corners,
    )


def _measured(
    content: LoadedMesh, shape: Shape, geometry: MeshFile
) -> tuple[Surface, Array] | None:
    transform = _placement(shape, geometry)
    return _measured_at(content, tuple(transform.ravel().tolist()))


def _placement(shape: Shape, geometry: MeshFile) -> Array:
    """Return the (4, 4) transform from a mesh file's frame to the link's [m]."""
    return transform_from_pose(shape.origin) @ np.diag([*geometry.scale, 1.0])


@lru_cache(maxsize=_KEPT)
def _measured_at(content: LoadedMesh, transform: tuple[float, ...]) -> tuple[Surface, Array] | None:
    """Measure a placed mesh; cached, as most are both visual and collider."""
    matrix = np.array(transform).reshape(4, 4)
    return measured_mesh(content.points, content.triangles, matrix)


@lru_cache(maxsize=_KEPT)
def _hull_volume(content: LoadedMesh | FaceGroup) -> float:
    """Measure the convex hull of a mesh in its own unit; cached for further links."""
    return hull_volume(content.points, content.triangles)


def _load(path: str) -> LoadedMesh | UnreadMeshError:
    try:
        return load_mesh(path)
    except UnreadMeshError as error:
        return error


_EMPTY = FileMaterial()


def state_appearances(
    visual: Visual, area: float, mesh: LoadedMesh | None, areas: Array, placed: Array
) -> tuple[Appearance, ...]:
    """State the appearance of a visual, part by part; materials of files come first.

    Args:
        visual: The visual.
        area: Of its surface [m^2].
        mesh: Its mesh, if it has one.
        areas: (M) areas of the mesh's triangles [m^2].
        placed: (4, 4) from the mesh's frame to the link's [m].
    """
    own = _of_urdf(visual.material)
    if mesh is None:
        # Texture coordinates of primitives are not defined.
        return (_look(structs.replace(own, image=None, mask=None), area),)
    found = (
        structs.replace(
            _part_appearance(mesh, own, material, part_area, placed),
            center=_part_center(mesh, material, areas, placed),
        )
        for material, part_area in _parts(mesh, area, areas)
    )
    return merge_appearances(found)


def _parts(mesh: LoadedMesh, area: float, areas: Array) -> Iterator[tuple[int, float]]:
    """Yield numbers of materials, and the areas that have them [m^2]."""
    # Numbers begin with -1.
    used = np.flatnonzero(np.bincount(mesh.material_of + 1)) - 1
    if len(used) == 1:
        yield int(used[0]), area
        return
    for material in used.tolist():
        yield material, float(areas[mesh.material_of == material].sum())


def _part_center(mesh: LoadedMesh, material: int, areas: Array, placed: Array) -> Vec3 | None:
    part = mesh.material_of == material
    if part.all() or not len(areas):
        return None
    return surface_center(mesh.points, mesh.triangles[part], areas[part], placed)


def _part_appearance(
    mesh: LoadedMesh, own: FileMaterial, material: int, area: float, placed: Array
) -> Appearance:
    stated = mesh.materials[material] if material >= 0 else _EMPTY
    shown = stated if stated.defines_appearance else own
    if not mesh.has_coordinates:
        shown = structs.replace(shown, image=None, mask=None)
    look = _look(shown, area)
    if look.texture is None or mesh.coordinates is None:
        return look
    part = mesh.material_of == material
    coordinates = mesh.coordinates[part]
    if not np.isfinite(coordinates).all():
        return look
    triangles = mesh.triangles[part]
    mapping = measured_mapping(mesh.points, triangles, coordinates, placed)
    return structs.replace(look, mapping=mapping)


def _of_urdf(material: Material | None) -> FileMaterial:
    """Return the material of the URDF, whose texture replaces the colour."""
    if material is None:
        return _EMPTY
    image = None
    if material.texture_uri is not None:
        path = Path(material.texture_path or material.texture_uri)
        image = ImageFile(path.name, str(path.parent))
    if material.rgba is None:
        return FileMaterial(image=image)
    opacity = min(max(material.rgba[3], 0.0), 1.0)
    return FileMaterial(color=light(material.rgba), opacity=opacity, image=image)


def _digest(image: ImageFile) -> tuple[str, None] | tuple[None, str]:
    """Return the digest of an image, or why it cannot be used."""
    content = image.read()
    if isinstance(content, str):
        return None, content
    digest = image_digest(content)
    return (digest, None) if digest else (None, "is no image that can be read")


def _look(material: FileMaterial, area: float) -> Appearance:
    look = Appearance(
        area,
        material.color,
        material.opacity,
        properties=material.properties,
        unread=material.unread,
    )
    problems = []
    if material.image is not None:
        texture, problem = _digest(material.image)
        if texture:
            look = structs.replace(
                look,
                color=material.factor,
                texture=texture,
                image=material.image.name,
            )
        else:
            problems.append(f"texture {material.image.name} {problem}")
    if material.mask is not None:
        mask, problem = _digest(material.mask)
        if mask:
            look = structs.replace(look, mask=mask)
        else:
            problems.append(f"texture {material.mask.name} {problem}")
    return structs.replace(look, problem=problems[0] if problems else None)
