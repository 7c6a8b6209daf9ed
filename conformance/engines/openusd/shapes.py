"""Shapes of links on a stage: colliders and visuals, with their appearance.

A shape belongs to the link below which its prim lies. Which Xforms are links is not
known here, so a shape is stated for every candidate above it, from the nearest one to
the body that carries it; the comparison uses the first that is a link of the URDF.

A collider is a Gprim with CollisionAPI that is not disabled, whatever its purpose and
visibility. A visual is a Gprim that is visible and whose purpose is default or render.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pxr import Ar, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.mesh_files.bounds import LARGEST_IMAGE
from urdf_usd.conformance.engines.openusd.links import LinkPrims, find_links
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    WorldTransforms,
    read_physics,
)
from urdf_usd.conformance.engines.openusd.transforms import Array
from urdf_usd.conformance.engines.statements import vec3
from urdf_usd.conformance.engines.surfaces import (
    fans,
    measured_mesh,
    primitive_surface,
    stretched,
)
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Drawing,
    Role,
    ShapeKind,
    ShapeObservation,
    Surface,
    Vec3,
    merge_appearances,
)

Measured: TypeAlias = dict[tuple[int, bytes], tuple[Surface, Array] | None]


_SHOWN = {UsdGeom.Tokens.default_, UsdGeom.Tokens.render}
# Rotations from the Z axis of a shape's own frame to the axis of its prim.
_UPRIGHT = {
    UsdGeom.Tokens.x: ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    UsdGeom.Tokens.y: ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    UsdGeom.Tokens.z: ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
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
    measured: Measured = {}
    for placed in _placed(physics, links, world):
        stated = _stated(placed, measured)
        found += [_in_role(placed, stated, role, measured) for role in placed.roles]
    return tuple(found)


def draw_shapes(path: str, link_names: frozenset[str]) -> tuple[Drawing, ...]:
    """Return the shapes of a stage for drawing.

    Args:
        path: Root layer.
        link_names: Names of links; a shape belongs to the first of them above it.

    Raises:
        AbstentionError: The stage cannot be read.
    """
    physics = read_physics(path, partial=True)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """A shape in the frame of one of the candidates above it.

    Attributes:
        prim: Its prim.
        roles: Its roles.
        geometry: Its geometry.
        link: Name of the candidate.
        to_link: (4, 4) from the prim's frame to the candidate's [m].
    """

    prim: Usd.Prim
    roles: tuple[Role, ...]
    geometry: _Geometry
    link: str
    to_link: Array


def _placed(
    physics: Physics, links: LinkPrims, world: WorldTransforms
) -> Iterator[_Placed]:
    proxies = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsDefined)
    known: dict[tuple[int, int], list[_Geometry]] = {}
    for prim in Usd.PrimRange(physics.default, proxies):
        if not prim.IsA(UsdGeom.Gprim):
            continue
        roles = tuple(_roles(prim))
        if not roles:
            continue
        carriers = tuple(_carriers(prim, links))
        if not carriers:
            continue
        geometry = _once(_geometry(prim), known)
        own = world.matrix(str(prim.GetPath()))
        own[:3] *= physics.units.length
        for path in carriers:
            to_link = world.inverse(path) @ own
            yield _Placed(prim, roles, geometry, links.by_path[path].name, to_link)


def _roles(prim: Usd.Prim) -> Iterator[Role]:
    if prim.HasAPI(UsdPhysics.CollisionAPI):
        enabled = UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr()
        if enabled.Get() is not False:
            yield Role.COLLISION
    image = UsdGeom.Imageable(prim)
    if (
        image.ComputePurpose() in _SHOWN
        and image.ComputeVisibility() != UsdGeom.Tokens.invisible
    ):
        yield Role.VISUAL


def _carriers(prim: Usd.Prim, links: LinkPrims) -> Iterator[str]:
    """Yield paths of candidates from a prim upwards, the body that carries it last."""
    while prim and not prim.IsPseudoRoot():
        path = str(prim.GetPath())
        if path in links.by_path:
            yield path
            if links.by_path[path].is_body:
                return
        prim = prim.GetParent()


_NO_POINTS = np.zeros((0, 3))
_NO_TRIANGLES = np.zeros((0, 3), np.int64)
_NO_FACES = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Geometry:
    """Geometry of a Gprim, in units of the stage and in its own frame.

    Attributes:
        kind: Kind of shape.
        size: As in :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`;
            empty for meshes.
        turn: (4, 4) from the frame of the shape, whose axis is Z, to the prim's.
        points: (N, 3) of a mesh.
        triangles: (M, 3) likewise: its faces, as fans.
        counts: (F) corners of its faces.
        problem: Why it cannot be stated.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    turn: Array
    points: Array
    triangles: NDArray[np.integer]
    counts: NDArray[np.integer]
    problem: str | None = None

    def face_areas(self, areas: Array) -> Array:
        """Return the (F) areas of its faces, of the (M) areas of its triangles."""
        faces = np.repeat(np.arange(len(self.counts)), np.maximum(self.counts - 2, 0))
        summed = np.bincount(faces, weights=areas, minlength=len(self.counts))
        return summed.astype(np.float64)


def _geometry(prim: Usd.Prim) -> _Geometry:
    if prim.IsA(UsdGeom.Mesh):
        return _mesh(UsdGeom.Mesh(prim))
    kinds = {
        "Cube": (ShapeKind.BOX, ("size", "size", "size")),
        "Sphere": (ShapeKind.SPHERE, ("radius",)),
        "Cylinder": (ShapeKind.CYLINDER, ("radius", "height")),
        "Capsule": (ShapeKind.CAPSULE, ("radius", "height")),
    }
    kind, sizes = kinds.get(prim.GetTypeName(), (ShapeKind.OTHER, ()))
    turn = np.eye(4)
    axis = prim.GetAttribute("axis")
    if sizes and axis:
        turn[:3, :3] = _UPRIGHT[axis.Get()]
    return _Geometry(
        kind=kind,
        size=tuple(float(prim.GetAttribute(name).Get()) for name in sizes),
        turn=turn,
        points=_NO_POINTS,
        triangles=_NO_TRIANGLES,
        counts=_NO_FACES,
        problem=None if sizes else f"a {prim.GetTypeName()} cannot be measured",
    )


def _once(
    geometry: _Geometry, known: dict[tuple[int, int], list[_Geometry]]
) -> _Geometry:
    """Return an equal mesh that was read before, else this one.

    Args:
        geometry: The geometry.
        known: Meshes so far, by their numbers of points and triangles.
    """
    if geometry.kind is not ShapeKind.MESH:
        return geometry
    alike = known.setdefault((len(geometry.points), len(geometry.triangles)), [])
    for other in alike:
        if other.problem == geometry.problem and _equal(other, geometry):
            return other
    alike.append(geometry)
    return geometry


def _equal(one: _Geometry, other: _Geometry) -> bool:
    return (
        np.array_equal(one.points, other.points)
        and np.array_equal(one.triangles, other.triangles)
        and np.array_equal(one.counts, other.counts)
    )


def _mesh(mesh: UsdGeom.Mesh) -> _Geometry:
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
        return _Geometry(
            kind=ShapeKind.MESH,
            size=(),
            turn=np.eye(4),
            points=_NO_POINTS,
            triangles=_NO_TRIANGLES,
            counts=_NO_FACES,
            problem="its points and faces are inconsistent",
        )
    triangles = fans(counts, corners)
    if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
        triangles = triangles[:, ::-1]
    return _Geometry(
        kind=ShapeKind.MESH,
        size=(),
        turn=np.eye(4),
        points=points.astype(np.float64),
        triangles=triangles,
        counts=counts,
    )


def _stated(placed: _Placed, measured: Measured) -> ShapeObservation:
    """State a shape in the frame of a link, apart from its role.

    Args:
        placed: The shape.
        measured: Surfaces of meshes so far, by the points that they have and where.
    """
    prim, geometry, to_link = placed.prim, placed.geometry, placed.to_link
    x, y, z = to_link[:3, 3].tolist()
    stated = ShapeObservation(
        link=placed.link,
        role=Role.VISUAL,
        source=str(prim.GetPath()),
        name=str(prim.GetName()),
        kind=geometry.kind,
        position=(x, y, z),
        problem=geometry.problem,
    )
    if geometry.problem:
        return stated
    if geometry.kind is ShapeKind.MESH:
        found = _measured(placed, measured)
        problem = None if found else "it has no faces, or is not finite"
        surface = found[0] if found else None
        return replace(stated, surface=surface, problem=problem)
    kind, size, rigid = stretched(geometry.kind, geometry.size, to_link @ geometry.turn)
    if kind is ShapeKind.OTHER:
        problem = f"it is no {geometry.kind} due to its scale"
        return replace(stated, kind=kind, problem=problem)
    surface = primitive_surface(kind, size, rigid)
    return replace(stated, kind=kind, size=size, surface=surface)


def _measured(placed: _Placed, measured: Measured) -> tuple[Surface, Array] | None:
    geometry, to_link = placed.geometry, placed.to_link
    place = id(geometry), to_link.tobytes()
    if place not in measured:
        measured[place] = measured_mesh(geometry.points, geometry.triangles, to_link)
    return measured[place]


def _in_role(
    placed: _Placed, stated: ShapeObservation, role: Role, measured: Measured
) -> ShapeObservation:
    prim = placed.prim
    if role is Role.VISUAL:
        if stated.surface is None:
            return stated
        areas = np.zeros(0)
        if placed.geometry.kind is ShapeKind.MESH:
            found = _measured(placed, measured)
            areas = placed.geometry.face_areas(found[1]) if found else areas
        looks = state_appearances(prim, stated.surface.area, areas)
        return replace(stated, appearances=looks)
    if not prim.HasAPI(UsdPhysics.MeshCollisionAPI):
        return replace(stated, role=role)
    token = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
    return replace(
        stated,
        role=role,
        problem=stated.problem or _BOUNDING.get(token),
        hull=stated.kind is ShapeKind.MESH and token == UsdPhysics.Tokens.convexHull,
    )


_PREVIEW = "UsdPreviewSurface"
_TEXTURE = "UsdUVTexture"


def state_appearances(
    prim: Usd.Prim,
    area: float,
    areas: Array,
) -> tuple[Appearance, ...]:
    """State the appearance of a Gprim, part by part; empty if a part is unknown.

    Args:
        prim: The Gprim.
        area: Of its surface [m^2].
        areas: (F) areas of its faces, if it is a mesh [m^2].
    """
    looks = []
    rest = area
    subsets = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
    for subset in subsets:
        faces = np.array(subset.GetIndicesAttr().Get(), np.int64)
        own = float(areas[faces[(faces >= 0) & (faces < len(areas))]].sum())
        looks.append(_look(subset.GetPrim(), own))
        rest -= own
    # The faces in no subset, except for rounding.
    if not looks or rest > 1e-9 * area:
        looks.append(_look(prim, rest))
    return merge_appearances(look for look in looks if look) if all(looks) else ()


def _look(prim: Usd.Prim, area: float) -> Appearance | None:
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    if not material:
        return Appearance(
            area, _displayed_color(prim, "displayColor"), _displayed_opacity(prim)
        )
    shader, _, _ = material.ComputeSurfaceSource()
    if not shader or shader.GetShaderId() != _PREVIEW:
        return None
    texture = _texture(shader, "diffuseColor")
    mask = _texture(shader, "opacity")
    return Appearance(
        area=area,
        color=vec3(texture.factors[:3]) if texture else _color(shader),
        opacity=mask.factor if mask else _number(shader, "opacity", 1.0),
        texture=texture.digest if texture else None,
        image=texture.name if texture else None,
        mask=mask.digest if mask else None,
    )


def _sources(shader: UsdShade.Shader, name: str) -> list[Usd.Attribute]:
    found = shader.GetInput(name)
    return list(found.GetValueProducingAttributes()) if found else []


def _color(shader: UsdShade.Shader) -> Vec3 | None:
    sources = _sources(shader, "diffuseColor")
    values = [source.Get() for source in sources]
    if not sources:
        # The fallback of the preview surface.
        return 0.18, 0.18, 0.18
    return vec3(values[0]) if values[0] is not None else None


def _number(shader: UsdShade.Shader, name: str, fallback: float) -> float:
    values = [source.Get() for source in _sources(shader, name)]
    known = [value for value in values if isinstance(value, int | float)]
    return float(known[0]) if known else fallback


@dataclass(frozen=True, slots=True)
class _Texture:
    """A texture that an input is connected to.

    Attributes:
        name: Of its file.
        digest: SHA-256 of its content; of no bytes if it is not found
            or too large.
        factors: Scale of red, green, blue and alpha.
        output: The connected output.
    """

    name: str
    digest: str
    factors: tuple[float, ...]
    output: str

    @property
    def factor(self) -> float:
        """Scale of the connected component."""
        return self.factors["rgba".index(self.output)] if self.output in "rgba" else 1.0


def _texture(shader: UsdShade.Shader, name: str) -> _Texture | None:
    for source in _sources(shader, name):
        node = UsdShade.Shader(source.GetPrim())
        if node.GetShaderId() != _TEXTURE:
            continue
        asset = node.GetInput("file")
        for file in asset.GetValueProducingAttributes() if asset else ():
            path = file.Get()
            scale = next((one.Get() for one in _sources(node, "scale")), None)
            return _Texture(
                name=Path(path.path).name,
                digest=_digest(path.resolvedPath),
                factors=tuple(scale or (1.0, 1.0, 1.0, 1.0)),
                output=str(source.GetBaseName()),
            )
    return None


def _digest(resolved: str) -> str:
    opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(resolved))
    if not opened:
        return hashlib.sha256().hexdigest()
    with opened as content:
        if content.GetSize() > LARGEST_IMAGE:
            return hashlib.sha256().hexdigest()
        return hashlib.sha256(content.GetBuffer()).hexdigest()


def _displayed_color(prim: Usd.Prim, name: str) -> Vec3 | None:
    """Return a constant colour primvar of the prim, or inherited."""
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name)
    values = primvar.ComputeFlattened() if primvar else None
    return vec3(values[0]) if values and len(values) == 1 else None


def _displayed_opacity(prim: Usd.Prim) -> float:
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance("displayOpacity")
    values = primvar.ComputeFlattened() if primvar else None
    return float(values[0]) if values else 1.0
