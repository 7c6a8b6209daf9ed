"""Shapes of links on a stage: colliders and visuals, with their appearance.

A shape belongs to the link below which its prim lies. Which Xforms are links is not known here, so
a shape is stated for every candidate above it, from the nearest one to the body that carries it;
the comparison uses the first that is a link of the URDF.

A collider is a Gprim with CollisionAPI that is not disabled, whatever its purpose and visibility. A
visual is a Gprim that is visible and whose purpose is default or render.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, structs
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.appearances import (
    Materials,
    Mesh,
    MeshFaces,
    state_appearances,
    state_shading,
)
from urdf_usd.conformance.engines.openusd.reading import (
    LinkPrim,
    Reading,
    approximation,
    captured_diagnostics,
    collides,
    is_shown,
    open_reading,
)
from urdf_usd.conformance.engines.openusd.transforms import Array
from urdf_usd.conformance.engines.solids import hull_volume
from urdf_usd.conformance.engines.statements import vec3
from urdf_usd.conformance.engines.surfaces import (
    fans,
    measured_mesh,
    primitive_surface,
    stretched,
    support_of,
    unused_points,
)
from urdf_usd.conformance.observation.shapes import (
    Drawing,
    Role,
    ShapeKind,
    ShapeObservation,
    Solid,
    Surface,
)

# Rotations from the Z axis of a shape's own frame to the axis of its prim.
_UPRIGHT = {
    UsdGeom.Tokens.x: ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    UsdGeom.Tokens.y: ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    UsdGeom.Tokens.z: ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
}
_PRIMITIVES = {
    "Cube": (ShapeKind.BOX, ("size", "size", "size")),
    "Sphere": (ShapeKind.SPHERE, ("radius",)),
    "Cylinder": (ShapeKind.CYLINDER, ("radius", "height")),
    "Capsule": (ShapeKind.CAPSULE, ("radius", "height")),
}
# Approximations other than the surface and its convex hull.
_BOUNDING = {
    UsdPhysics.Tokens.boundingCube: "collides as its bounding cube",
    UsdPhysics.Tokens.boundingSphere: "collides as its bounding sphere",
}


class Geometry(Mesh, frozen=True, eq=False, kw_only=True):
    kind: ShapeKind = ShapeKind.MESH
    size: tuple[float, ...] = ()  # as in ShapeObservation; empty for meshes
    turn: Array = np.eye(4)  # (4, 4) from the frame of the shape, whose axis is Z, to the prim's
    problem: str | None = None  # why it cannot be stated


def gprim_geometry(prim: Usd.Prim) -> Geometry:
    if prim.IsA(UsdGeom.Mesh):
        return _mesh(UsdGeom.Mesh(prim))
    kind, sizes = _PRIMITIVES.get(prim.GetTypeName(), (ShapeKind.OTHER, ()))
    turn = np.eye(4)
    axis = prim.GetAttribute("axis")
    if sizes and axis:
        turn[:3, :3] = _UPRIGHT[axis.Get()]
    return Geometry(
        kind=kind,
        size=tuple(float(prim.GetAttribute(name).Get()) for name in sizes),
        turn=turn,
        problem=None if sizes else f"a {prim.GetTypeName()} cannot be measured",
    )


def _mesh(mesh: UsdGeom.Mesh) -> Geometry:
    attributes = (
        mesh.GetPointsAttr(),
        mesh.GetFaceVertexCountsAttr(),
        mesh.GetFaceVertexIndicesAttr(),
    )
    values = (attribute.Get() for attribute in attributes)
    points, counts, corners = (np.array(() if x is None else x) for x in values)
    is_sound = (
        len(points) > 0
        and len(counts) > 0
        and counts.sum() == len(corners)
        and corners.min(initial=0) >= 0
        and corners.max(initial=-1) < len(points)
    )
    if not is_sound:
        return Geometry(problem="its points and faces are inconsistent")
    mirrored = bool(mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded)
    triangles = fans(counts, corners)
    return Geometry(
        points=points.astype(np.float64),
        triangles=triangles[:, ::-1] if mirrored else triangles,
        counts=counts,
        corners=corners,
        mirrored=mirrored,
    )


def roles_of(prim: Usd.Prim) -> Iterator[Role]:
    """Yield whether a Gprim is a collider, a visual, both or neither."""
    if collides(prim):
        yield Role.COLLISION
    if is_shown(prim):
        yield Role.VISUAL


class _Placed(Struct, frozen=True, eq=False):
    """A shape in the frame of one of the candidates above it."""

    prim: Usd.Prim
    roles: tuple[Role, ...]
    geometry: Geometry
    link: LinkPrim
    to_link: Array  # (4, 4) from the prim's frame to the candidate's [m]


def _placed(reading: Reading) -> Iterator[_Placed]:
    """Yield every shape below every candidate, nearest candidate first; equal meshes are one."""
    proxies = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsDefined)
    known: dict[tuple[object, ...], Geometry] = {}
    for prim in Usd.PrimRange(reading.robot, proxies):
        roles = tuple(roles_of(prim)) if prim.IsA(UsdGeom.Gprim) else ()
        above = tuple(reading.carriers(prim)) if roles else ()
        if not above:
            continue
        geometry = gprim_geometry(prim)
        if geometry.kind is ShapeKind.MESH:
            arrays = geometry.points, geometry.counts, geometry.corners
            key = geometry.problem, geometry.mirrored, *(array.tobytes() for array in arrays)
            geometry = known.setdefault(key, geometry)
        own = reading.matrix(str(prim.GetPath()))
        own[:3] *= reading.units.length
        for link in above:
            yield _Placed(prim, roles, geometry, link, reading.inverse(link.path) @ own)


def draw_shapes(path: str, link_names: frozenset[str]) -> tuple[Drawing, ...]:
    """Return the shapes of a stage for drawing.

    Raises:
        UnsupportedError: The stage cannot be read.
    """
    drawn: dict[str, list[Drawing]] = {}
    for placed in _placed(open_reading(path, partial=True, usable=True)):
        source, geometry = str(placed.prim.GetPath()), placed.geometry
        if placed.link.name in link_names and source not in drawn and not geometry.problem:
            drawn[source] = [
                Drawing(
                    source=source,
                    link=placed.link.name,
                    role=role,
                    kind=geometry.kind,
                    size=geometry.size,
                    matrix=placed.to_link @ geometry.turn,
                    points=geometry.points,
                    triangles=geometry.triangles,
                )
                for role in placed.roles
            ]
    return tuple(drawing for drawings in drawn.values() for drawing in drawings)


def rest_solids(path: str) -> tuple[Solid, ...]:
    """Return the enabled colliders of all bodies that are links.

    Args:
        path: Root layer of a stage that was observed, in SI units.
    """
    with captured_diagnostics():
        reading = open_reading(path, partial=True, usable=True)
        return tuple(
            _solid(placed, reading.rigid(placed.link.path))
            for placed in _placed(reading)
            if Role.COLLISION in placed.roles
            and placed.link.is_body
            and not placed.geometry.problem
        )


def _solid(placed: _Placed, body: Array) -> Solid:
    geometry = placed.geometry
    matrix = body @ placed.to_link @ geometry.turn
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    size: tuple[float, ...] = ()
    match geometry.kind:
        case ShapeKind.BOX:
            size = tuple((np.array(geometry.size) / 2 * scale).tolist())
        case ShapeKind.SPHERE:
            size = (geometry.size[0] * float(scale[0]),)
        case ShapeKind.CYLINDER | ShapeKind.CAPSULE:
            radius, height = geometry.size
            size = radius * float(scale[0]), height / 2 * float(scale[2])
    points = geometry.points @ matrix[:3, :3].T + matrix[:3, 3]
    rotation = tuple((matrix[:3, :3] / scale).ravel().tolist())
    flat = tuple(points.ravel().tolist())
    return Solid(placed.link.name, geometry.kind, size, vec3(matrix[:3, 3]), rotation, flat)


def state_shapes(reading: Reading) -> tuple[ShapeObservation, ...]:
    """State every shape below every candidate, nearest candidate first."""
    # Of equal meshes, by transform as well; convex hulls in the mesh's own frame.
    surfaces: dict[tuple[int, bytes], tuple[Surface, Array] | None] = {}
    hulls: dict[int, float] = {}
    materials: Materials = {}
    found: list[ShapeObservation] = []
    for placed in _placed(reading):
        geometry, to_link, prim = placed.geometry, placed.to_link, placed.prim
        kind, problem, faces = geometry.kind, geometry.problem, None
        size: tuple[float, ...] = ()
        surface = None
        if kind is ShapeKind.MESH and not problem:
            key = id(geometry), to_link.tobytes()
            if key not in surfaces:
                surfaces[key] = measured_mesh(geometry.points, geometry.triangles, to_link)
            if measured := surfaces[key]:
                surface, faces = measured[0], MeshFaces(geometry, measured[1], to_link)
            else:
                problem = "it has no faces, or is not finite"
        elif not problem:
            kind, size, rigid = stretched(kind, geometry.size, to_link @ geometry.turn)
            if kind is ShapeKind.OTHER:
                problem = f"it is no {geometry.kind} due to its scale"
            else:
                surface = primitive_surface(kind, size, rigid)
        stated = ShapeObservation(
            link=placed.link.name,
            role=Role.VISUAL,
            source=str(prim.GetPath()),
            name=str(prim.GetName()),
            kind=kind,
            size=size,
            position=vec3(to_link[:3, 3]),
            surface=surface,
            problem=problem,
        )
        for role in placed.roles:
            if role is Role.COLLISION:
                volume = None
                if faces:
                    if id(geometry) not in hulls:
                        hulls[id(geometry)] = hull_volume(geometry.points, geometry.triangles)
                    volume = hulls[id(geometry)] * abs(float(np.linalg.det(to_link[:3, :3])))
                found.append(_collider(stated, placed, volume))
            elif surface:
                looks = state_appearances(prim, surface.area, faces, materials)
                shading = state_shading(prim, faces) if faces else None
                found.append(structs.replace(stated, appearances=looks, shading=shading))
            else:
                found.append(stated)
    return tuple(found)


def _collider(
    stated: ShapeObservation, placed: _Placed, hull_volume: float | None
) -> ShapeObservation:
    token, surface, geometry = approximation(placed.prim), stated.surface, placed.geometry
    is_hull = stated.kind is ShapeKind.MESH and token == UsdPhysics.Tokens.convexHull
    if is_hull and surface:
        # Simulators make the hull of all points, also of those that no face uses.
        points = unused_points(geometry.points, geometry.triangles)
        if len(points):
            support = np.maximum(surface.support, support_of(points, placed.to_link))
            surface = structs.replace(surface, support=tuple(support.tolist()))
    return structs.replace(
        stated,
        role=Role.COLLISION,
        surface=surface,
        hull_volume=hull_volume,
        problem=stated.problem or _BOUNDING.get(token),
        hull=is_hull,
    )
