"""Shapes by the URDF specification, and their appearance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import assert_never

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_materials import FileMaterial, ImageFile, image_digest, light
from urdf_usd.conformance.engines.meshes import LoadedMesh, UnreadMeshError, load_mesh
from urdf_usd.conformance.engines.solids import hull_volume
from urdf_usd.conformance.engines.statements import Array
from urdf_usd.conformance.engines.surfaces import (
    Indices,
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
    merge_appearances,
)
from urdf_usd.converter.robot import model
from urdf_usd.converter.robot.spatial import transform_from_pose

# Surfaces that were measured last.
_KEPT = 64
_EMPTY = FileMaterial()


def state_shapes(robot: model.Robot) -> tuple[ShapeObservation, ...]:
    """State the shapes of all links; a collider whose file has several groups is as many pieces."""
    return tuple(
        piece
        for link, role, source, shape in _shapes(robot)
        for piece in _observations(link, role, source, shape)
    )


def draw_shapes(robot: model.Robot) -> tuple[Drawing, ...]:
    """Return the shapes of a robot for drawing, without those that cannot be read."""
    drawings = []
    for link, role, source, shape in _shapes(robot):
        geometry, matrix = shape.geometry, transform_from_pose(shape.origin)
        kind, size = _primitive(geometry)
        points: Array = np.zeros((0, 3))
        triangles: Indices = np.zeros((0, 3), np.int64)
        if isinstance(geometry, model.MeshFile):
            mesh = mesh_of(geometry)
            if not isinstance(mesh, LoadedMesh):
                continue
            matrix = placement(shape, geometry)
            points, triangles = mesh.points, mesh.triangles
        drawings.append(Drawing(source, link, role, kind, size, matrix, points, triangles))
    return tuple(drawings)


def _shapes(robot: model.Robot) -> Iterator[tuple[str, Role, str, model.Shape]]:
    """Yield link, role, source and shape."""
    for link in robot.links:
        shapes_of: dict[Role, tuple[model.Shape, ...]] = {
            Role.VISUAL: link.visuals,
            Role.COLLISION: link.collisions,
        }
        for role, shapes in shapes_of.items():
            for index, shape in enumerate(shapes):
                yield link.name, role, f"{link.name} {role} {index}", shape


def _observations(
    link: str, role: Role, source: str, shape: model.Shape
) -> Iterator[ShapeObservation]:
    geometry = shape.geometry
    kind, size = _primitive(geometry)
    stated = ShapeObservation(
        link=link,
        role=role,
        source=source,
        name=shape.name or kind.value,
        kind=kind,
        size=size,
        position=shape.origin.position,
    )
    if not isinstance(geometry, model.MeshFile):
        surface = primitive_surface(kind, size, transform_from_pose(shape.origin))
        problem = None if all(value > 0 for value in size) else "its size is not positive"
        stated = structs.replace(stated, surface=surface, problem=problem)
        if isinstance(shape, model.Visual) and surface:
            # Texture coordinates of primitives are not defined.
            own = structs.replace(_of_urdf(shape.material), image=None, mask=None)
            stated = structs.replace(stated, appearances=(_look(own, surface.area),))
        yield stated
        return
    stated = structs.replace(stated, name=geometry.uri)
    mesh = mesh_of(geometry)
    if not isinstance(mesh, LoadedMesh):
        why = "it is not found" if mesh is None else f"it cannot be read: {mesh}"
        yield structs.replace(stated, problem=why)
        return
    placed = placement(shape, geometry)
    measured = _measured(mesh, tuple(placed.ravel().tolist()))
    stated = structs.replace(
        stated,
        surface=measured[0] if measured else None,
        problem=None if measured else "it has points that are not finite",
        pieces=mesh.pieces,
        corners=mesh.corners,
    )
    if measured is None:
        yield stated
        return
    if isinstance(shape, model.Visual):
        looks = _appearances(shape, mesh, *measured, placed)
        yield structs.replace(stated, appearances=looks, shading=_shading(mesh, placed))
        return
    factor = abs(math.prod(geometry.scale))
    if not mesh.groups:
        yield structs.replace(stated, hull_volume=_hull_volume(mesh) * factor)
    for number, group in enumerate(mesh.groups):
        if surface := mesh_surface(group.points, group.triangles, placed):
            yield structs.replace(
                stated,
                source=f"{source} group {number}",
                surface=surface,
                hull_volume=_hull_volume(group) * factor,
            )


def _primitive(
    geometry: model.Box | model.Cylinder | model.Capsule | model.Sphere | model.MeshFile,
) -> tuple[ShapeKind, tuple[float, ...]]:
    match geometry:
        case model.Box(size):
            return ShapeKind.BOX, size
        case model.Cylinder(radius, length):
            return ShapeKind.CYLINDER, (radius, length)
        case model.Capsule(radius, length):
            return ShapeKind.CAPSULE, (radius, length)
        case model.Sphere(radius):
            return ShapeKind.SPHERE, (radius,)
        case model.MeshFile():
            return ShapeKind.MESH, ()
        case _:
            assert_never(geometry)


def mesh_of(geometry: model.MeshFile) -> LoadedMesh | UnreadMeshError | None:
    """Return a mesh, or why it is not read; None if it is not found."""
    try:
        return None if geometry.path is None else load_mesh(geometry.path)
    except UnreadMeshError as error:
        return error


def placement(shape: model.Shape, geometry: model.MeshFile) -> Array:
    """Return the (4, 4) transform from a mesh file's frame to the link's [m]."""
    return transform_from_pose(shape.origin) @ np.diag([*geometry.scale, 1.0])


@lru_cache(maxsize=_KEPT)
def _measured(mesh: LoadedMesh, transform: tuple[float, ...]) -> tuple[Surface, Array] | None:
    """Measure a placed mesh; cached, as most are both visual and collider."""
    return measured_mesh(mesh.points, mesh.triangles, np.array(transform).reshape(4, 4))


@lru_cache(maxsize=_KEPT)
def _hull_volume(content: LoadedMesh) -> float:
    """Measure the convex hull of a mesh in its own unit; cached for further links."""
    return hull_volume(content.points, content.triangles)


def _shading(mesh: LoadedMesh, placed: Array) -> Shading | None:
    """Measure the normals of a mesh; None if they are not read completely."""
    if mesh.has_normals is None or (mesh.has_normals and mesh.normals is None):
        return None
    normals: NDArray[np.floating] | None = mesh.normals if mesh.has_normals else None
    if normals is not None:
        # Some exporters write zero normals; those of the faces are meant.
        missing = ~(normals.any(axis=-1) & np.isfinite(normals).all(axis=-1))
        if missing.any():
            a, b, c = (mesh.points[corner] for corner in mesh.triangles.T)
            faces = np.cross(b - a, c - a)[:, np.newaxis]
            normals = np.where(missing[..., np.newaxis], faces, normals)
    return measured_shading(mesh.points, mesh.triangles, normals, placed)


def _appearances(
    visual: model.Visual, mesh: LoadedMesh, surface: Surface, areas: Array, placed: Array
) -> tuple[Appearance, ...]:
    """State the appearance of a mesh, part by part; materials of files come first."""
    own, looks = _of_urdf(visual.material), []
    # Numbers begin with -1.
    used = np.flatnonzero(np.bincount(mesh.material_of + 1)) - 1
    for material in used.tolist():
        part = mesh.material_of == material
        is_whole = len(used) == 1
        stated = mesh.materials[material] if material >= 0 else _EMPTY
        shown = stated if stated.defines_appearance else own
        if mesh.coordinates is None:
            shown = structs.replace(shown, image=None, mask=None)
        look = _look(shown, surface.area if is_whole else float(areas[part].sum()))
        triangles = mesh.triangles[part]
        if look.texture is not None and mesh.coordinates is not None:
            coordinates = mesh.coordinates[part]
            if np.isfinite(coordinates).all():
                mapping = measured_mapping(mesh.points, triangles, coordinates, placed)
                look = structs.replace(look, mapping=mapping)
        if not is_whole:
            center = surface_center(mesh.points, triangles, areas[part], placed)
            look = structs.replace(look, center=center)
        looks.append(look)
    return merge_appearances(looks)


def _of_urdf(material: model.Material | None) -> FileMaterial:
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


def _look(material: FileMaterial, area: float) -> Appearance:
    look = Appearance(
        area,
        material.color,
        material.opacity,
        properties=material.properties,
        unread=material.unread,
    )
    problem = None
    if material.image is not None:
        texture, problem = _digest(material.image)
        if texture:
            name = material.image.name
            look = structs.replace(look, color=material.factor, texture=texture, image=name)
    if material.mask is not None:
        mask, reason = _digest(material.mask)
        look, problem = structs.replace(look, mask=mask), problem or reason
    return structs.replace(look, problem=problem)


def _digest(image: ImageFile) -> tuple[str, None] | tuple[None, str]:
    """Return the digest of an image, or why it cannot be used."""
    content = image.read()
    digest = None if isinstance(content, str) else image_digest(content)
    if digest:
        return digest, None
    why = content if isinstance(content, str) else "is no image that can be read"
    return None, f"texture {image.name} {why}"
