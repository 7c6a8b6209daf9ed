"""Shapes of links on a stage: colliders and visuals, with their appearance.

A shape is stated for every candidate for a link above it, from the nearest one to the body that
carries it; the comparison uses the first that is a link of the URDF. A collider is a Gprim with
CollisionAPI that is not disabled; a visual is visible, and its purpose is default or render.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import structs
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines import surfaces
from urdf_usd.conformance.engines.openusd import appearances
from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.statements import Array, vec3
from urdf_usd.conformance.observation import shapes as observed

# Cyclic permutations from the Z axis of a shape's own frame to the axis of its prim.
_TURNS = {UsdGeom.Tokens.x: 1, UsdGeom.Tokens.y: 2, UsdGeom.Tokens.z: 0}
_PRIMITIVES = {
    "Cube": (observed.ShapeKind.BOX, ("size", "size", "size")),
    "Sphere": (observed.ShapeKind.SPHERE, ("radius",)),
    "Cylinder": (observed.ShapeKind.CYLINDER, ("radius", "height")),
    "Capsule": (observed.ShapeKind.CAPSULE, ("radius", "height")),
}
# Approximations other than the surface and its convex hull.
_BOUNDING = {
    UsdPhysics.Tokens.boundingCube: "collides as its bounding cube",
    UsdPhysics.Tokens.boundingSphere: "collides as its bounding sphere",
}


def gprim_geometry(prim: Usd.Prim) -> appearances.Geometry:
    if not prim.IsA(UsdGeom.Mesh):
        kind, sizes = _PRIMITIVES.get(prim.GetTypeName(), (observed.ShapeKind.OTHER, ()))
        size = tuple(float(prim.GetAttribute(name).Get()) for name in sizes)
        turn, axis = np.eye(4), prim.GetAttribute("axis")
        if sizes and axis:
            turn[:3, :3] = np.roll(np.eye(3), _TURNS[axis.Get()], axis=0)
        problem = None if sizes else f"a {prim.GetTypeName()} cannot be measured"
        return appearances.Geometry(kind=kind, size=size, turn=turn, problem=problem)
    mesh = UsdGeom.Mesh(prim)
    names = "points", "faceVertexCounts", "faceVertexIndices"
    values = (prim.GetAttribute(name).Get() for name in names)
    points, counts, corners = (np.array(() if x is None else x) for x in values)
    is_sound = (
        len(points) > 0
        and len(counts) > 0
        and counts.sum() == len(corners)
        and corners.min(initial=0) >= 0
        and corners.max(initial=-1) < len(points)
    )
    if not is_sound:
        return appearances.Geometry(problem="its points and faces are inconsistent")
    mirrored = bool(mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded)
    triangles = surfaces.fans(counts, corners)
    return appearances.Geometry(
        points=points.astype(np.float64),
        triangles=triangles[:, ::-1] if mirrored else triangles,
        counts=counts,
        corners=corners,
        mirrored=mirrored,
    )


def roles_of(prim: Usd.Prim) -> tuple[observed.Role, ...]:
    """Whether a Gprim is a collider, a visual, both or neither."""
    collision = (observed.Role.COLLISION,) * stages.collides(prim)
    return collision + (observed.Role.VISUAL,) * stages.is_shown(prim)


class _Placed(NamedTuple):
    """A shape in the frame of one of the candidates above it."""

    prim: Usd.Prim
    roles: tuple[observed.Role, ...]
    geometry: appearances.Geometry
    link: stages.LinkPrim
    to_link: Array  # (4, 4) from the prim's frame to the candidate's [m]


def _placed(reading: stages.Reading) -> Iterator[_Placed]:
    """Yield every shape below every candidate, nearest candidate first; equal meshes are one."""
    proxies = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsDefined)
    known: dict[tuple[object, ...], appearances.Geometry] = {}
    for prim in Usd.PrimRange(reading.robot, proxies):
        roles = roles_of(prim) if prim.IsA(UsdGeom.Gprim) else ()
        above = tuple(reading.carriers(prim)) if roles else ()
        if not above:
            continue
        geometry = gprim_geometry(prim)
        if geometry.kind is observed.ShapeKind.MESH:
            arrays = geometry.points, geometry.counts, geometry.corners
            key = geometry.problem, geometry.mirrored, *(array.tobytes() for array in arrays)
            geometry = known.setdefault(key, geometry)
        own = reading.matrix(str(prim.GetPath()))
        own[:3] *= reading.units.length
        for link in above:
            yield _Placed(prim, roles, geometry, link, reading.inverse(link.path) @ own)


def rest_shapes(
    path: str, link_names: Collection[str]
) -> tuple[tuple[observed.Drawing, ...], tuple[observed.Solid, ...]]:
    """Return the shapes of links by name, and the enabled colliders of bodies that are links."""
    drawn: dict[str, list[observed.Drawing]] = {}
    found = []
    with stages.captured_diagnostics():
        reading = stages.open_reading(path, usable=True)
        for prim, roles, geometry, link, to_link in _placed(reading):
            if geometry.problem:
                continue
            kind, size, source = geometry.kind, geometry.size, str(prim.GetPath())
            if link.name in link_names and source not in drawn:
                drawn[source] = [
                    observed.Drawing(
                        source=source,
                        link=link.name,
                        role=role,
                        kind=kind,
                        size=size,
                        matrix=to_link @ geometry.turn,
                        points=geometry.points,
                        triangles=geometry.triangles,
                    )
                    for role in roles
                ]
            if observed.Role.COLLISION not in roles or not link.is_body:
                continue
            matrix = reading.rigid(link.path) @ to_link @ geometry.turn
            scale = np.linalg.norm(matrix[:3, :3], axis=0)
            match kind:
                case observed.ShapeKind.BOX:
                    size = tuple((np.array(size) / 2 * scale).tolist())
                case observed.ShapeKind.SPHERE:
                    size = (size[0] * float(scale[0]),)
                case observed.ShapeKind.CYLINDER | observed.ShapeKind.CAPSULE:
                    size = size[0] * float(scale[0]), size[1] / 2 * float(scale[2])
            points = geometry.points @ matrix[:3, :3].T + matrix[:3, 3]
            rotation = tuple((matrix[:3, :3] / scale).ravel().tolist())
            place = vec3(matrix[:3, 3])
            found.append(observed.Solid(link.name, kind, size, place, rotation, points))
    return tuple(x for drawings in drawn.values() for x in drawings), tuple(found)


def state_shapes(
    reading: stages.Reading, *, hulls: bool = True
) -> tuple[observed.ShapeObservation, ...]:
    """State every shape below every candidate, nearest candidate first."""
    # Of equal meshes, by transform as well; convex hulls in the mesh's own frame.
    measured: dict[tuple[int, bytes], tuple[observed.Surface, Array] | None] = {}
    volumes: dict[int, float] = {}
    materials: appearances.Materials = {}
    found: list[observed.ShapeObservation] = []
    for prim, roles, geometry, link, to_link in _placed(reading):
        kind, problem, faces = geometry.kind, geometry.problem, None
        points, triangles = geometry.points, geometry.triangles
        size: tuple[float, ...] = ()
        surface = None
        if kind is observed.ShapeKind.MESH and not problem:
            key = id(geometry), to_link.tobytes()
            if key not in measured:
                measured[key] = surfaces.measured_mesh(points, triangles, to_link)
            if of_mesh := measured[key]:
                surface, faces = of_mesh[0], appearances.MeshFaces(geometry, of_mesh[1], to_link)
            else:
                problem = "it has no faces, or is not finite"
        elif not problem:
            turned = to_link @ geometry.turn
            kind, size, rigid = surfaces.stretched(kind, geometry.size, turned)
            if kind is observed.ShapeKind.OTHER:
                problem = f"it is no {geometry.kind} due to its scale"
            else:
                surface = surfaces.primitive_surface(kind, size, rigid)
        stated = observed.ShapeObservation(
            link=link.name,
            role=observed.Role.VISUAL,
            source=str(prim.GetPath()),
            name=str(prim.GetName()),
            kind=kind,
            size=size,
            position=vec3(to_link[:3, 3]),
            surface=surface,
            problem=problem,
        )
        for role in roles:
            if role is observed.Role.COLLISION:
                token, volume, outer = stages.approximation(prim), None, surface
                if faces and hulls:
                    if id(geometry) not in volumes:
                        volumes[id(geometry)] = surfaces.hull_volume(points, triangles)
                    volume = volumes[id(geometry)] * abs(float(np.linalg.det(to_link[:3, :3])))
                is_hull = kind is observed.ShapeKind.MESH and token == UsdPhysics.Tokens.convexHull
                # Simulators make the hull of all points, also of those that no face uses.
                if is_hull and surface and len(unused := surfaces.unused_points(points, triangles)):
                    support = np.maximum(surface.support, surfaces.support_of(unused, to_link))
                    outer = structs.replace(surface, support=tuple(support.tolist()))
                collider = structs.replace(
                    stated,
                    role=observed.Role.COLLISION,
                    surface=outer,
                    hull_volume=volume,
                    problem=problem or _BOUNDING.get(token),
                    hull=is_hull,
                )
                found.append(collider)
            elif surface:
                looks = appearances.state_appearances(prim, surface.area, faces, materials)
                shading = appearances.state_shading(prim, faces) if faces else None
                found.append(structs.replace(stated, appearances=looks, shading=shading))
            else:
                found.append(stated)
    return tuple(found)
