"""Prims that are links, and their shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh, join_groups
from urdf_usd.converter.robot.model import Collision, MeshFile, Visual
from urdf_usd.converter.robot.rigid import compose
from urdf_usd.converter.robot.spatial import pose_from_transform
from urdf_usd.converter.usd.reader.extensions import read_custom
from urdf_usd.converter.usd.reader.materials import (
    Texture,
    read_material,
    read_texture,
)
from urdf_usd.converter.usd.reader.names import legible_name
from urdf_usd.converter.usd.reader.shapes import PlacedShape, read_shape
from urdf_usd.converter.usd.reader.transforms import PrimTransforms, rigid_part
from urdf_usd.converter.usd.urdf_attributes import read_flag, read_text


class LinkPrim(Struct, frozen=True):
    """A prim that is a link.

    Attributes:
        path: The prim.
        name: URDF name.
        is_body: Whether it is a rigid body rather than a frame.
        body: Body that it belongs to; its own path for a body, None for the world.
        above: Nearest ancestor that is a link, if any.
    """

    path: Sdf.Path
    name: str
    is_body: bool
    body: Sdf.Path | None
    above: Sdf.Path | None


class LinkShapes(Struct, frozen=True, eq=False):
    """Shapes of one link, in the frame of its prim."""

    visuals: tuple[Visual, ...]
    collisions: tuple[Collision, ...]


class Shapes(Struct, frozen=True, eq=False):
    """All shapes of a stage.

    Attributes:
        by_link: Shapes by link prim, of links that have some.
        colliders: Shapes by the prim with ``CollisionAPI``, in the frame of their rigid
            body; an Xform with it has those of the meshes below.
        meshes: Surface of every mesh, by the URI in the shapes.
        textures: Texture of the colour of a visual mesh, by its URI.
    """

    by_link: Mapping[Sdf.Path, LinkShapes]
    colliders: Mapping[Sdf.Path, Sequence[PlacedShape]]
    meshes: Mapping[str, PolygonMesh]
    textures: Mapping[str, Texture]


NO_SHAPES = Shapes({}, {}, {}, {})


def read_link_prims(
    root: Usd.Prim, bodies: Iterable[Sdf.Path], frames: Iterable[str]
) -> tuple[LinkPrim, ...]:
    """Find rigid bodies, and frames that a conversion marked as links, in stage order.

    Names are not unique yet.

    Args:
        root: Prim below which to look.
        bodies: Paths of all rigid bodies.
        frames: Names of frames that are not marked; the first Xform with each name is
            used, unless a body has that name.
    """
    rigid = set(bodies)
    every = list(Usd.PrimRange(root, Usd.TraverseInstanceProxies()))
    links = {p.GetPath() for p in every if p.GetPath() in rigid or _is_marked(p)}
    unmarked = set(frames) - {legible_name(p) for p in every if p.GetPath() in links}
    prims = []
    for prim in every:
        if prim.GetPath() in links:
            prims.append(prim)
        elif unmarked and (name := legible_name(prim)) in unmarked and _has_place(prim):
            unmarked.remove(name)
            prims.append(prim)
    paths = {prim.GetPath() for prim in prims}
    return tuple(
        LinkPrim(
            path=prim.GetPath(),
            name=legible_name(prim),
            is_body=prim.GetPath() in rigid,
            body=nearest(prim.GetPath(), rigid),
            above=nearest(prim.GetPath().GetParentPath(), paths),
        )
        for prim in prims
    )


def _has_place(prim: Usd.Prim) -> bool:
    return prim.IsA(UsdGeom.Xformable) and not prim.IsA(UsdGeom.Gprim)


def _is_marked(prim: Usd.Prim) -> bool:
    # Other converters use the same attribute for <parent link=...>, on prims that are
    # not Xformable.
    return _has_place(prim) and read_text(prim, "link") is not None


def nearest(path: Sdf.Path, among: Iterable[Sdf.Path]) -> Sdf.Path | None:
    """Return the nearest of some prims at or above a path."""
    while path not in {Sdf.Path.absoluteRootPath, Sdf.Path.emptyPath}:
        if path in among:
            return path
        path = path.GetParentPath()
    return None


def read_shapes(
    root: Usd.Prim,
    links: Iterable[LinkPrim],
    transforms: PrimTransforms,
    others: Iterable[Sdf.Path] = (),
) -> Findings[Shapes]:
    """Read all shapes below a prim.

    Args:
        root: Prim below which to look.
        links: Links of the robot.
        transforms: Transforms of the stage's prims.
        others: Links of other robots, whose shapes are not read.
    """
    link_at = {link.path: link for link in links}
    foreign = set(others)
    owners = {*link_at, *foreign}
    visuals: dict[Sdf.Path, list[Visual]] = {}
    # By the prim of the <collision>, which several groups of a mesh share.
    collisions: dict[Sdf.Path, dict[Usd.Prim, list[Collision]]] = {}
    colliders: dict[Sdf.Path, list[PlacedShape]] = {}
    meshes: dict[str, PolygonMesh] = {}
    textures: dict[str, Texture] = {}
    yield from _colliders_of_meshes(root, owners, foreign)
    for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()):
        path = prim.GetPath()
        is_shape = prim.IsA(UsdGeom.Gprim)
        visible, collider = is_shape and _is_visible(prim), _collider(prim)
        if not is_shape or not (visible or collider):
            continue
        owner = nearest(path, owners)
        if owner in foreign:
            continue
        if owner is None:
            yield Diagnostic("stage-loose-shape", f"{path} belongs to no link")
            continue
        texture = read_texture(prim) if visible else None
        shape = yield from read_shape(prim, transforms.within(path, owner), texture)
        if shape is None:
            continue
        if shape.mesh is not None:
            meshes[str(path)] = shape.mesh
        name = prim.GetDisplayName() or prim.GetName()
        custom = read_custom(prim)
        if collider:
            collision = Collision(name, shape.pose, shape.geometry, custom=custom)
            above = prim.GetParent()
            is_group = shape.mesh is not None and read_flag(above, "collision")
            element = above if is_group else prim
            collisions.setdefault(owner, {}).setdefault(element, []).append(collision)
            body = link_at[owner].body
            if body is not None:
                to_body = pose_from_transform(rigid_part(transforms.within(owner, body)))
                placed = structs.replace(shape, pose=compose(to_body, shape.pose))
                colliders.setdefault(collider.GetPath(), []).append(placed)
        if visible:
            visual = yield from _read_visual(prim, name, shape, texture, textures)
            visuals.setdefault(owner, []).append(visual)
    by_link = _by_link(visuals, collisions, meshes)
    return Shapes(by_link, colliders, meshes, textures)


def _read_visual(
    prim: Usd.Prim,
    name: str,
    shape: PlacedShape,
    texture: Texture | None,
    textures: dict[str, Texture],
) -> Findings[Visual]:
    """Read a visual; add its texture if its mesh has coordinates."""
    mapped = shape.mesh and shape.mesh.attributes.texture_coordinates
    if texture is not None and mapped is not None:
        textures[str(prim.GetPath())] = texture
    material = yield from read_material(prim, textures.get(str(prim.GetPath())))
    return Visual(name, shape.pose, shape.geometry, material, custom=read_custom(prim))


def _by_link(
    visuals: Mapping[Sdf.Path, list[Visual]],
    collisions: Mapping[Sdf.Path, Mapping[Usd.Prim, list[Collision]]],
    meshes: dict[str, PolygonMesh],
) -> dict[Sdf.Path, LinkShapes]:
    return {
        path: LinkShapes(
            tuple(visuals.get(path, ())),
            tuple(
                collision
                for element, groups in collisions.get(path, {}).items()
                for collision in _joined(element, groups, meshes)
            ),
        )
        for path in (*visuals, *(path for path in collisions if path not in visuals))
    }


def _joined(
    element: Usd.Prim, groups: Sequence[Collision], meshes: dict[str, PolygonMesh]
) -> Sequence[Collision]:
    """Join the groups of one ``<collision>``, unless they were moved separately.

    Args:
        element: Prim of the element: the collider, or the Xform of the groups.
        groups: The colliders.
        meshes: Meshes by URI; the joined one is added.
    """
    named = [
        (one.name or "", one.origin, one.geometry)
        for one in groups
        if isinstance(one.geometry, MeshFile)
    ]
    places = {(origin, geometry.scale) for _, origin, geometry in named}
    if not read_flag(element, "collision") or len(places) != 1:
        return groups
    ((origin, scale),) = places
    uri = str(element.GetPath())
    meshes[uri] = join_groups([(name, meshes[geometry.uri]) for name, _, geometry in named])
    name = element.GetDisplayName() or element.GetName()
    geometry = MeshFile(uri, None, scale)
    return (Collision(name, origin, geometry, custom=read_custom(element)),)


def _is_visible(prim: Usd.Prim) -> bool:
    imageable = UsdGeom.Imageable(prim)
    return bool(
        imageable.ComputePurpose() != UsdGeom.Tokens.guide
        and imageable.ComputeVisibility() != UsdGeom.Tokens.invisible
    )


def _collider(gprim: Usd.Prim) -> Usd.Prim | None:
    """Return the prim whose ``CollisionAPI`` makes a gprim a collider, if any.

    Importers of Isaac Sim apply it to an Xform; PhysX then makes colliders of the
    meshes that are children of the Xform (ovphysx 0.7), of no other prims below.
    """
    above = gprim.GetParent()
    if gprim.HasAPI(UsdPhysics.CollisionAPI):
        return gprim if _is_collider(gprim) else None
    holds = gprim.IsA(UsdGeom.Mesh) and not above.IsA(UsdGeom.Gprim)
    return above if holds and _is_collider(above) else None


def _colliders_of_meshes(
    root: Usd.Prim, owners: Iterable[Sdf.Path], foreign: Iterable[Sdf.Path]
) -> Findings[None]:
    """Report colliders that are no gprims, unless they are of other robots."""
    for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()):
        if prim.IsA(UsdGeom.Gprim) or not _is_collider(prim):
            continue
        if nearest(prim.GetPath(), owners) in foreign:
            continue
        below = prim.GetFilteredChildren(Usd.TraverseInstanceProxies())
        meshes = [str(child.GetName()) for child in below if _collider(child) == prim]
        what = f"its meshes collide: {', '.join(meshes)}"
        if not meshes:
            what = "no mesh is its child, so that nothing collides"
        message = f"collider {prim.GetPath()} is no gprim; as in PhysX, {what}"
        yield Diagnostic("collider-no-gprim", message)


def _is_collider(prim: Usd.Prim) -> bool:
    return bool(
        prim.HasAPI(UsdPhysics.CollisionAPI)
        and UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get()
    )
