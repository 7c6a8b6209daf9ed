"""Faults in the geometry of colliders and visuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.mutation.fault import (
    OBLIQUE,
    Fault,
    Scale,
    Seed,
    deactivate,
    on_prim,
)
from urdf_usd.conformance.mutation.good_asset import GoodAsset
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance.bounds import Tolerance

_TRIANGLE = 3
# A surface with a relative volume and sum of area vectors below this is two-sided.
_ONE_SIDED = 1e-2
_WORDS = {Role.COLLISION: "collider", Role.VISUAL: "visual"}
_SHOWN = (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)


class ShapeSite(Struct, frozen=True, eq=False):
    """A shape of a link.

    Attributes:
        path: Path of the prim.
        prim: The prim on the good stage.
        size: Diagonal of its bounds in its link [m].
        link: Prim of the link.
    """

    path: str
    prim: Usd.Prim
    size: float
    link: Usd.Prim

    @property
    def subject(self) -> str:
        """The changed shape, for reports."""
        within = self.prim.GetPath().MakeRelativePath(self.link.GetPath())
        return f"{within} of {self.link.GetDisplayName() or self.link.GetName()}"


def shape_sites(asset: GoodAsset, role: Role) -> Iterator[ShapeSite]:
    """Shapes of links, in the order of the stage."""
    stated: dict[str, list[ShapeObservation]] = {}
    for shape in asset.spec.shapes:
        if shape.role is role and shape.surface:
            stated.setdefault(shape.link, []).append(shape)
    for prim in asset.stage.Traverse():
        if not prim.IsA(UsdGeom.Gprim):
            continue
        collides = prim.HasAPI(UsdPhysics.CollisionAPI)
        shown = UsdGeom.Imageable(prim).ComputePurpose() in _SHOWN
        if collides if role is Role.COLLISION else shown:
            link = prim.GetParent()
            if _is_group(prim):
                link = link.GetParent()
            own = stated.get(str(link.GetDisplayName() or link.GetName()), [])
            yield ShapeSite(str(prim.GetPath()), prim, _size(prim, own), link)


def of_shapes(
    edit: Callable[[Usd.Prim], None],
    role: Role,
    applies: Callable[[ShapeSite], bool],
    asset: GoodAsset,
) -> Iterator[Seed]:
    """Edit the shapes of a role to which a fault applies."""
    for site in shape_sites(asset, role):
        if applies(site):
            yield Seed(site.subject, on_prim(site.path, edit))


def is_any(_: ShapeSite) -> bool:
    """Whether a shape is of any kind."""
    return True


def is_mesh(site: ShapeSite) -> bool:
    """Whether a shape is a mesh."""
    return _is_mesh(site.prim)


def _is_group(prim: Usd.Prim) -> bool:
    """Whether a shape is a group of a collision mesh, below the Xform of the mesh."""
    return bool(prim.GetParent().GetAttribute("urdf:collision"))


def _placed(prim: Usd.Prim) -> Usd.Prim:
    """Return the prim with the placement of a shape."""
    return prim.GetParent() if _is_group(prim) else prim


def _size(prim: Usd.Prim, stated: Sequence[ShapeObservation]) -> float:
    """Return the diagonal of the URDF shape of a prim, matched by position and size."""
    low, high = (np.array(corner) for corner in _extent(prim))
    size = float(np.linalg.norm((high - low) * _scale_of(prim)))
    translation = _placed(prim).GetAttribute("xformOp:translate").Get()
    place = np.array(translation or (0.0, 0.0, 0.0))
    similar = [
        (float(np.linalg.norm(place - shape.position)) + abs(diagonal - size), diagonal)
        for shape in stated
        if (diagonal := _diagonal(shape))
    ]
    return min(similar)[1] if similar else size


def _diagonal(shape: ShapeObservation) -> float:
    surface = shape.surface
    return math.dist(surface.lower, surface.upper) if surface else 0.0


def _extent(prim: Usd.Prim) -> Sequence[Gf.Vec3f]:
    extent: Sequence[Gf.Vec3f] = UsdGeom.Boundable(prim).GetExtentAttr().Get()
    return extent


def _edited(
    edit: Callable[[Usd.Prim], None],
    role: Role,
    applies: Callable[[Usd.Prim], bool],
    asset: GoodAsset,
) -> Iterator[Seed]:
    for site in shape_sites(asset, role):
        if applies(site.prim):
            yield Seed(site.subject, on_prim(site.path, edit))


def _every(prim: Usd.Prim) -> bool:
    del prim
    return True


def _is_mesh(prim: Usd.Prim) -> bool:
    return bool(prim.IsA(UsdGeom.Mesh))


def _is_round(prim: Usd.Prim) -> bool:
    return prim.GetTypeName() in {"Cylinder", "Capsule", "Sphere"}


def _is_long(prim: Usd.Prim) -> bool:
    return prim.GetTypeName() in {"Cylinder", "Capsule"}


def _is_scaled_mesh(prim: Usd.Prim) -> bool:
    return _is_mesh(prim) and bool(prim.GetAttribute("xformOp:scale"))


def _repeat(prim: Usd.Prim) -> None:
    """Duplicate the shape by a reference."""
    path = prim.GetPath()
    copy = prim.GetStage().DefinePrim(path.ReplaceName(f"{path.name}_again"))
    copy.GetReferences().AddInternalReference(path)


def _halve_radius(prim: Usd.Prim) -> None:
    radius = prim.GetAttribute("radius")
    radius.Set(radius.Get() / 2.0)


def _turn_axis(prim: Usd.Prim) -> None:
    prim.GetAttribute("axis").Set("X")


def _lose_scale(prim: Usd.Prim) -> None:
    prim.GetAttribute("xformOp:scale").Set(Gf.Vec3f(1.0, 1.0, 1.0))


def _centimetres(prim: Usd.Prim) -> None:
    points = prim.GetAttribute("points")
    points.Set([point * 100.0 for point in points.Get()])


def _stray_point(prim: Usd.Prim) -> None:
    """Add a point that no face uses, outside of the mesh."""
    points = np.array(prim.GetAttribute("points").Get(), np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    stray = Gf.Vec3f(*(high + (high - low)).tolist())
    prim.GetAttribute("points").Set([*prim.GetAttribute("points").Get(), stray])


def _split_face(prim: Usd.Prim) -> None:
    """Split the first triangle of the first face in three, in the same plane."""
    mesh = UsdGeom.Mesh(prim)
    points = list(mesh.GetPointsAttr().Get())
    counts = list(mesh.GetFaceVertexCountsAttr().Get())
    corners = list(mesh.GetFaceVertexIndicesAttr().Get())
    a, b, c = corners[:_TRIANGLE]
    rest = [a, *corners[2 : counts[0]]]
    points.append((points[a] + points[b] + points[c]) / _TRIANGLE)
    new = len(points) - 1
    kept = [len(rest)] if len(rest) >= _TRIANGLE else []
    mesh.GetFaceVertexCountsAttr().Set([3, 3, 3, *kept, *counts[1:]])
    faces = [a, b, new, b, c, new, c, a, new, *(rest if kept else [])]
    mesh.GetFaceVertexIndicesAttr().Set([*faces, *corners[counts[0] :]])
    mesh.GetPointsAttr().Set(points)


def _lose_faces(prim: Usd.Prim) -> None:
    """Leave out every other face."""
    mesh = UsdGeom.Mesh(prim)
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get())
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get())
    kept = np.arange(len(counts)) % 2 == 0
    mesh.GetFaceVertexCountsAttr().Set(counts[kept].tolist())
    mesh.GetFaceVertexIndicesAttr().Set(corners[np.repeat(kept, counts)].tolist())


def _turn_over(prim: Usd.Prim) -> None:
    prim.GetAttribute("orientation").Set(UsdGeom.Tokens.leftHanded)


def _turned_over(role: Role, asset: GoodAsset) -> Iterator[Seed]:
    for site in shape_sites(asset, role):
        if _is_mesh(site.prim):
            apply = on_prim(site.path, _turn_over)
            yield Seed(site.subject, apply, equivalent=not _has_outside(site.prim))


def _has_outside(prim: Usd.Prim) -> bool:
    mesh = UsdGeom.Mesh(prim)
    points = np.array(mesh.GetPointsAttr().Get(), np.float64)
    points = (points - points.mean(axis=0)) * np.array(_scale_of(prim))
    normals, cones, area = np.zeros(3), 0.0, 0.0
    place = 0
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get())
    for count in mesh.GetFaceVertexCountsAttr().Get():
        face = points[corners[place : place + count]]
        normal = np.cross(face[1:-1] - face[0], face[2:] - face[0]).sum(axis=0) / 2.0
        normals += normal
        cones += float(face[0] @ normal) / 3.0
        area += float(np.linalg.norm(normal))
        place += count
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    return (
        float(np.linalg.norm(normals)) > _ONE_SIDED * area
        or abs(cones) > _ONE_SIDED**2 * area * extent
    )


def _scale_of(prim: Usd.Prim) -> NDArray[np.float64]:
    scale = _placed(prim).GetAttribute("xformOp:scale").Get()
    return np.ones(3) if scale is None else np.array(scale, np.float64)


def _shifted(role: Role, asset: GoodAsset) -> Iterator[Seed]:
    """Move shapes by a part of their size, along no axis."""
    for site in shape_sites(asset, role):
        yield Seed(site.subject, partial(_shift, site))


def _shift(site: ShapeSite, stage: Usd.Stage, size: float) -> None:
    prim = stage.GetPrimAtPath(site.path)
    step = size * site.size * OBLIQUE
    if _is_group(prim):
        # It has no translation, and the scale of the mesh is above it.
        place = UsdGeom.Xformable(prim).AddTranslateOp().GetAttr()
        moved = step / _scale_of(prim)
    else:
        place = prim.GetAttribute("xformOp:translate")
        moved = np.array(place.Get()) + step
    place.Set(Gf.Vec3d(*moved.tolist()))


def _merged(asset: GoodAsset) -> Iterator[Seed]:
    """Replace the groups of a collision mesh by one mesh, with one convex hull."""
    groups: dict[str, list[ShapeSite]] = {}
    for site in shape_sites(asset, Role.COLLISION):
        if _is_group(site.prim):
            groups.setdefault(str(site.prim.GetParent().GetPath()), []).append(site)
    for sites in groups.values():
        paths = tuple(site.path for site in sites)
        subject = sites[0].subject.replace(sites[0].prim.GetName(), "groups", 1)
        yield Seed(subject, partial(_merge, paths))


def _merge(paths: Sequence[str], stage: Usd.Stage, size: float) -> None:
    del size
    points: list[Gf.Vec3f] = []
    counts: list[int] = []
    corners: list[int] = []
    for path in paths:
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath(path))
        start = len(points)
        points += list(mesh.GetPointsAttr().Get())
        counts += list(mesh.GetFaceVertexCountsAttr().Get())
        corners += [start + n for n in mesh.GetFaceVertexIndicesAttr().Get()]
    first, *rest = (stage.GetPrimAtPath(path) for path in paths)
    whole = UsdGeom.Mesh(first)
    whole.GetPointsAttr().Set(points)
    whole.GetFaceVertexCountsAttr().Set(counts)
    whole.GetFaceVertexIndicesAttr().Set(corners)
    for prim in rest:
        prim.SetActive(False)


def _disable(prim: Usd.Prim) -> None:
    UsdPhysics.CollisionAPI(prim).CreateCollisionEnabledAttr(False)


def _lose_collider(prim: Usd.Prim) -> None:
    prim.RemoveAPI(UsdPhysics.CollisionAPI)


def _bound(prim: Usd.Prim) -> None:
    api = UsdPhysics.MeshCollisionAPI.Apply(prim)
    api.CreateApproximationAttr(UsdPhysics.Tokens.boundingCube)


def _show(prim: Usd.Prim) -> None:
    UsdGeom.Imageable(prim).CreatePurposeAttr(UsdGeom.Tokens.default_)


def _hide(prim: Usd.Prim) -> None:
    UsdGeom.Imageable(prim).CreateVisibilityAttr(UsdGeom.Tokens.invisible)


def _guide(prim: Usd.Prim) -> None:
    UsdGeom.Imageable(prim).CreatePurposeAttr(UsdGeom.Tokens.guide)


def _fault(
    role: Role,
    name: str,
    title: str,
    check: str,
    edit: Callable[[Usd.Prim], None],
    applies: Callable[[Usd.Prim], bool] = _every,
) -> Fault:
    return Fault(
        f"{_WORDS[role]}.{name}",
        title.format(_WORDS[role]),
        (f"{role}.{check}",),
        partial(_edited, edit, role, applies),
    )


def _faults(role: Role) -> Iterator[Fault]:
    """Yield the faults of one role that colliders and visuals share."""
    word = _WORDS[role]
    rows = (
        ("dropped", "{} dropped", "shapes", deactivate, _every),
        ("repeated", "{} written twice", "shapes", _repeat, _every),
        ("radius", "radius of {} halved", "support", _halve_radius, _is_round),
        ("axis", "axis of {} turned", "support", _turn_axis, _is_long),
        ("unscaled", "scale of {} mesh lost", "support", _lose_scale, _is_scaled_mesh),
        ("units", "{} mesh in centimetres", "support", _centimetres, _is_mesh),
        ("faces", "faces of {} mesh lost", "area", _lose_faces, _is_mesh),
        ("split", "face of {} mesh split", "triangles", _split_face, _is_mesh),
    )
    for name, title, check, edit, applies in rows:
        yield _fault(role, name, title, check, edit, applies)
    yield Fault(
        f"{word}.turned-over",
        f"{word} mesh turned inside out",
        (f"{role}.volume",),
        partial(_turned_over, role),
    )
    yield Fault(
        f"{word}.shifted",
        f"{word} shifted",
        (f"{role}.support",),
        partial(_shifted, role),
        Scale("position, relative to its size", "1", Tolerance().shape),
    )


SHAPE_FAULTS = (
    *(fault for role in Role for fault in _faults(role)),
    Fault(
        "collider.merged",
        "groups of collision mesh merged into one hull",
        ("collision.shapes",),
        _merged,
    ),
    _fault(Role.COLLISION, "disabled", "{} disabled", "shapes", _disable),
    _fault(Role.COLLISION, "schemaless", "{} without API", "shapes", _lose_collider),
    _fault(Role.COLLISION, "bounded", "{} made a bounding cube", "shapes", _bound, _is_mesh),
    _fault(
        Role.COLLISION,
        "stray",
        "unused point in {} mesh",
        "support",
        _stray_point,
        _is_mesh,
    ),
    Fault(
        "visual.of-collider",
        "collider shown",
        ("visual.shapes",),
        partial(_edited, _show, Role.COLLISION, _every),
    ),
    _fault(Role.VISUAL, "hidden", "{} invisible", "shapes", _hide),
    _fault(Role.VISUAL, "guide", "{} made a guide", "shapes", _guide),
)
