"""Shapes of links on a stage: colliders and visuals, with their appearance.

A shape belongs to the link below which its prim lies. Which Xforms are links is not
known here, so a shape is stated for every candidate above it, from the nearest one to
the body that carries it; the comparison uses the first that is a link of the URDF.

A collider is a Gprim with CollisionAPI that is not disabled, whatever its purpose and
visibility. A visual is a Gprim that is visible and whose purpose is default or render.
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
from urdf_usd.conformance.engines.openusd.links import LinkPrims, find_links
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    WorldTransforms,
    captured_diagnostics,
    collides,
    is_shown,
    read_physics,
)
from urdf_usd.conformance.engines.openusd.transforms import Array
from urdf_usd.conformance.engines.solids import hull_volume
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


def state_shapes(
    physics: Physics, links: LinkPrims, world: WorldTransforms
) -> tuple[ShapeObservation, ...]:
    """State every shape below every candidate, nearest candidate first."""
    found: list[ShapeObservation] = []
    measured = _Measured({}, {}, {})
    for placed in _placed(physics, links, world):
        stated = _stated(placed, measured)
        found += [_in_role(placed, stated, role, measured) for role in placed.roles]
    return tuple(found)


def draw_shapes(path: str, link_names: frozenset[str]) -> tuple[Drawing, ...]:
    """Return the shapes of a stage for drawing.

    Raises:
        AbstentionError: The stage cannot be read.
    """
    physics = read_physics(path, partial=True, usable=True)
    links, world = find_links(physics), WorldTransforms(physics)
    drawn: dict[str, list[Drawing]] = {}
    for placed in _placed(physics, links, world):
        source, geometry = str(placed.prim.GetPath()), placed.geometry
        if placed.link not in link_names or source in drawn or geometry.problem:
            continue
        drawn[source] = [
            Drawing(
                source=source,
                link=placed.link,
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
        physics = read_physics(path, partial=True, usable=True)
        links, world = find_links(physics), WorldTransforms(physics)
        return tuple(
            _solid(placed, world.rigid(links.by_name[placed.link].path))
            for placed in _placed(physics, links, world)
            if Role.COLLISION in placed.roles
            and links.by_name[placed.link].is_body
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
    x, y, z = matrix[:3, 3].tolist()
    rotation = tuple((matrix[:3, :3] / scale).ravel().tolist())
    flat = tuple(points.ravel().tolist())
    return Solid(placed.link, geometry.kind, size, (x, y, z), rotation, flat)


class _Placed(Struct, frozen=True, eq=False):
    """A shape in the frame of one of the candidates above it."""

    prim: Usd.Prim
    roles: tuple[Role, ...]
    geometry: Geometry
    link: str
    to_link: Array  # (4, 4) from the prim's frame to the candidate's [m]


def _placed(physics: Physics, links: LinkPrims, world: WorldTransforms) -> Iterator[_Placed]:
    proxies = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsDefined)
    known: dict[tuple[int, int], list[Geometry]] = {}
    for prim in Usd.PrimRange(physics.default, proxies):
        if not prim.IsA(UsdGeom.Gprim):
            continue
        roles = tuple(roles_of(prim))
        if not roles:
            continue
        above = tuple(carriers(prim, links))
        if not above:
            continue
        geometry = _once(gprim_geometry(prim), known)
        own = world.matrix(str(prim.GetPath()))
        own[:3] *= physics.units.length
        for path in above:
            to_link = world.inverse(path) @ own
            yield _Placed(prim, roles, geometry, links.by_path[path].name, to_link)


def roles_of(prim: Usd.Prim) -> Iterator[Role]:
    """Yield whether a Gprim is a collider, a visual, both or neither."""
    if collides(prim):
        yield Role.COLLISION
    if is_shown(prim):
        yield Role.VISUAL


def carriers(prim: Usd.Prim, links: LinkPrims) -> Iterator[str]:
    """Yield paths of candidates from a prim upwards, the body that carries it last."""
    while prim and not prim.IsPseudoRoot():
        path = str(prim.GetPath())
        if path in links.by_path:
            yield path
            if links.by_path[path].is_body:
                return
        prim = prim.GetParent()


class _Measured(Struct, frozen=True):
    """What was measured before: meshes by the identity of their geometry, materials."""

    # Surfaces and areas of triangles, by transform as well
    surfaces: dict[tuple[int, bytes], tuple[Surface, Array] | None]
    # Volumes of convex hulls in the mesh's own frame, in units of the stage
    hulls: dict[int, float]
    materials: Materials

    def surface(self, placed: _Placed) -> tuple[Surface, Array] | None:
        """Return the surface of a mesh in the frame of a link, and the areas of its triangles."""
        geometry, to_link = placed.geometry, placed.to_link
        key = id(geometry), to_link.tobytes()
        if key not in self.surfaces:
            self.surfaces[key] = measured_mesh(geometry.points, geometry.triangles, to_link)
        return self.surfaces[key]

    def hull_volume(self, placed: _Placed) -> float:
        """Return the volume of the convex hull of a mesh [m^3]."""
        geometry = placed.geometry
        if id(geometry) not in self.hulls:
            self.hulls[id(geometry)] = hull_volume(geometry.points, geometry.triangles)
        return self.hulls[id(geometry)] * abs(float(np.linalg.det(placed.to_link[:3, :3])))


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


def _once(geometry: Geometry, known: dict[tuple[int, int], list[Geometry]]) -> Geometry:
    """Return an equal mesh that was read before, else this one."""
    if geometry.kind is not ShapeKind.MESH:
        return geometry
    alike = known.setdefault((len(geometry.points), len(geometry.triangles)), [])
    arrays = ("points", "triangles", "corners", "counts")
    for other in alike:
        if (other.problem, other.mirrored) == (geometry.problem, geometry.mirrored) and all(
            np.array_equal(getattr(other, name), getattr(geometry, name)) for name in arrays
        ):
            return other
    alike.append(geometry)
    return geometry


def _mesh(mesh: UsdGeom.Mesh) -> Geometry:
    values = (
        mesh.GetPointsAttr().Get(),
        mesh.GetFaceVertexCountsAttr().Get(),
        mesh.GetFaceVertexIndicesAttr().Get(),
    )
    points, counts, corners = (np.array(() if v is None else v) for v in values)
    sound = (
        len(points) > 0
        and len(counts) > 0
        and counts.sum() == len(corners)
        and corners.min(initial=0) >= 0
        and corners.max(initial=-1) < len(points)
    )
    if not sound:
        return Geometry(problem="its points and faces are inconsistent")
    triangles = fans(counts, corners)
    mirrored = bool(mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded)
    if mirrored:
        triangles = triangles[:, ::-1]
    return Geometry(
        points=points.astype(np.float64),
        triangles=triangles,
        counts=counts,
        corners=corners,
        mirrored=mirrored,
    )


def _stated(placed: _Placed, measured: _Measured) -> ShapeObservation:
    """State a shape in the frame of a link, apart from its role."""
    geometry, to_link = placed.geometry, placed.to_link
    kind, problem = geometry.kind, geometry.problem
    size: tuple[float, ...] = ()
    surface = None
    if kind is ShapeKind.MESH and not problem:
        found = measured.surface(placed)
        problem = None if found else "it has no faces, or is not finite"
        surface = found[0] if found else None
    elif not problem:
        kind, size, rigid = stretched(kind, geometry.size, to_link @ geometry.turn)
        if kind is ShapeKind.OTHER:
            problem = f"it is no {geometry.kind} due to its scale"
        else:
            surface = primitive_surface(kind, size, rigid)
    x, y, z = to_link[:3, 3].tolist()
    return ShapeObservation(
        link=placed.link,
        role=Role.VISUAL,
        source=str(placed.prim.GetPath()),
        name=str(placed.prim.GetName()),
        kind=kind,
        size=size,
        position=(x, y, z),
        surface=surface,
        problem=problem,
    )


def _in_role(
    placed: _Placed, stated: ShapeObservation, role: Role, measured: _Measured
) -> ShapeObservation:
    prim = placed.prim
    if role is Role.VISUAL:
        if stated.surface is None:
            return stated
        faces = None
        if placed.geometry.kind is ShapeKind.MESH:
            found = measured.surface(placed)
            faces = MeshFaces(placed.geometry, found[1], placed.to_link) if found else None
        return structs.replace(
            stated,
            appearances=state_appearances(prim, stated.surface.area, faces, measured.materials),
            shading=state_shading(prim, faces) if faces else None,
        )
    token, surface = None, stated.surface
    if prim.HasAPI(UsdPhysics.MeshCollisionAPI):
        token = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
    is_mesh = stated.kind is ShapeKind.MESH
    is_hull = is_mesh and token == UsdPhysics.Tokens.convexHull
    if is_hull and surface:
        # Simulators make the hull of all points, also of those that no face uses.
        points = unused_points(placed.geometry.points, placed.geometry.triangles)
        if len(points):
            support = np.maximum(surface.support, support_of(points, placed.to_link))
            surface = structs.replace(surface, support=tuple(support.tolist()))
    return structs.replace(
        stated,
        role=role,
        surface=surface,
        hull_volume=measured.hull_volume(placed) if is_mesh and surface else None,
        problem=stated.problem or _BOUNDING.get(token),
        hull=is_hull,
    )
