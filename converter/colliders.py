"""Colliders that replace those of the URDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from msgspec import structs

from urdf_usd.converter.decomposition import decompose, is_remeshed
from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.meshes.mesh import PolygonMesh, split_groups
from urdf_usd.converter.meshes.read import read_mesh, readable_mesh
from urdf_usd.converter.options import (
    ColliderKind,
    ColliderRules,
    ColliderTolerance,
    MeshProgress,
)
from urdf_usd.converter.robot.model import (
    Approximation,
    Collision,
    Link,
    MeshFile,
    Robot,
)
from urdf_usd.converter.robot.primitives import fit_primitive
from urdf_usd.converter.robot.solids import Points, hull_solid, solid_of_mesh
from urdf_usd.converter.robot.spatial import compose, rotation_from_quat_wxyz

# Links that a diagnostic names.
_MOST_NAMED = 8
# Part of its convex hull that a convex piece fills: decompositions write few digits.
_CONVEX = 0.95
_WHAT = {
    ColliderKind.HULL: "the convex hulls of their meshes",
    ColliderKind.DECOMPOSITION: "convex pieces of their meshes",
    ColliderKind.PRIMITIVES: "primitives, or the convex hulls of their meshes",
    ColliderKind.MESH: "the triangles of their meshes",
    ColliderKind.NONE: "nothing",
}


def replace_colliders(
    robot: Robot,
    rules: ColliderRules,
    triangles: Approximation,
    progress: MeshProgress | None,
    notes: list[Diagnostic],
) -> Robot:
    """Return a robot with the requested colliders.

    Primitives of the URDF, and meshes that cannot be read, are kept.

    Args:
        robot: The robot.
        rules: The colliders of each link.
        triangles: How colliders of triangles are approximated.
        progress: Is called before a mesh is decomposed.
        notes: Receives diagnostics.

    Returns:
        The robot; links without a rule are unchanged.
    """
    _unused(robot, rules, notes)
    pieces = _decomposed(robot, rules, progress, notes)
    replaced: dict[ColliderKind, list[str]] = {}
    links = []
    for link in robot.links:
        kind = rules.kind_of(link.name)
        if kind is None or not link.collisions:
            links.append(link)
            continue
        changed, texts = _of_link(link, kind, rules.tolerance, triangles, pieces)
        if texts:
            named = replaced.setdefault(kind, [])
            named.append(f"{link.name!r} ({', '.join(texts)})")
        links.append(changed)
    for kind, named in replaced.items():
        shown = ", ".join(named[:_MOST_NAMED])
        more = len(named) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        links_are = "1 link is" if len(named) == 1 else f"{len(named)} links are"
        message = f"colliders of {links_are} replaced by {_WHAT[kind]}: {shown}{rest}"
        notes.append(Diagnostic("collider-replaced", message, robot.location))
    return structs.replace(robot, links=tuple(links))


def _unused(robot: Robot, rules: ColliderRules, notes: list[Diagnostic]) -> None:
    """Report patterns that match no link."""
    for rule in rules.rules:
        pattern = rule.links
        if pattern is not None and not any(fnmatchcase(link.name, pattern) for link in robot.links):
            message = f"no link matches {pattern!r}, for which colliders were requested"
            notes.append(Diagnostic("collider-rule-unused", message, robot.location))


def _decomposed(
    robot: Robot, rules: ColliderRules, progress: MeshProgress | None, notes: list[Diagnostic]
) -> Mapping[str, Path]:
    """Return files with convex pieces, by path of the mesh that they replace."""
    meshes: dict[str, tuple[PolygonMesh, Location | None]] = {}
    for link in robot.links:
        if rules.kind_of(link.name) is not ColliderKind.DECOMPOSITION:
            continue
        for shape in link.collisions:
            geometry = shape.geometry
            if not isinstance(geometry, MeshFile) or geometry.path in {None, *meshes}:
                continue
            mesh = readable_mesh(geometry.path)
            # CoACD remeshes surfaces that are not manifold, which enlarges them.
            if mesh is not None and not all(map(_is_convex, _parts(mesh))):
                meshes[geometry.path or ""] = mesh, shape.location
    remeshed = [Path(path).name for path, (mesh, _) in meshes.items() if is_remeshed(mesh)]
    if remeshed:
        are = "1 mesh is" if len(remeshed) == 1 else f"{len(remeshed)} meshes are"
        message = (
            f"{are} not closed, so that CoACD decomposes a closed surface around it: "
            f"{', '.join(remeshed)}"
        )
        notes.append(Diagnostic("collider-remeshed", message, robot.location))
    pieces = {}
    for number, (path, (mesh, location)) in enumerate(meshes.items(), start=1):
        if progress is not None:
            progress(Path(path).name, number, len(meshes))
        pieces[path] = decompose(path, mesh, location)
    return pieces


def _parts(mesh: PolygonMesh) -> Sequence[tuple[str, PolygonMesh]]:
    return split_groups(mesh) or (("", mesh),)


def _of_link(
    link: Link,
    kind: ColliderKind,
    tolerance: ColliderTolerance,
    triangles: Approximation,
    pieces: Mapping[str, Path],
) -> tuple[Link, tuple[str, ...]]:
    """Return a link with other colliders, and what they are."""
    if kind is ColliderKind.NONE:
        count = len(link.collisions)
        text = "1 collider" if count == 1 else f"{count} colliders"
        return structs.replace(link, collisions=()), (text,)
    found = [_of_shape(shape, kind, tolerance, triangles, pieces) for shape in link.collisions]
    collisions = tuple(collision for collision, _ in found)
    return structs.replace(link, collisions=collisions), tuple(text for _, text in found if text)


def _of_shape(
    shape: Collision,
    kind: ColliderKind,
    tolerance: ColliderTolerance,
    triangles: Approximation,
    pieces: Mapping[str, Path],
) -> tuple[Collision, str]:
    """Return the collider that replaces one of the URDF, and what it is, for a message."""
    geometry = shape.geometry
    mesh = readable_mesh(geometry.path) if isinstance(geometry, MeshFile) else None
    if mesh is None or not isinstance(geometry, MeshFile):
        return shape, ""
    name = Path(geometry.path or "").name
    if kind is ColliderKind.MESH:
        return structs.replace(shape, approximation=triangles), name
    if kind is ColliderKind.DECOMPOSITION:
        file = pieces.get(geometry.path or "")
        if file is None:
            count = len(_parts(mesh))
            many = "piece" if count == 1 else "pieces"
            return shape, f"{name}: {count} {many} of the file"
        decomposed = structs.replace(shape, geometry=structs.replace(geometry, path=str(file)))
        return decomposed, f"{name}: {_pieces_text(mesh, file)}"
    points = mesh.points * np.array(geometry.scale)
    hull = structs.replace(shape, approximation=Approximation.HULL)
    if kind is ColliderKind.PRIMITIVES:
        turned = points @ rotation_from_quat_wxyz(shape.origin.quat_wxyz).T
        size = float(np.linalg.norm(np.ptp(turned, axis=0)))
        fit = fit_primitive(points)
        if fit is not None and fit.distance <= tolerance.metres(size):
            primitive = structs.replace(
                shape, geometry=fit.shape, origin=compose(shape.origin, fit.pose)
            )
            text = (
                f"{type(fit.shape).__name__.lower()} for {name}, {fit.distance:.2g} m from the hull"
            )
            return primitive, f"{text}, volume {fit.volume_error:+.1%}"
    return hull, f"hull of {name}{_excess(mesh, points)}"


def _excess(mesh: PolygonMesh, points: Points) -> str:
    """Return how much larger the convex hull is than a closed mesh."""
    solid, is_hull = solid_of_mesh(points, mesh.face_counts, mesh.face_indices)
    if is_hull or solid.volume <= 0:
        return ""
    return f", volume {hull_solid(points).volume / solid.volume - 1.0:+.1%}"


def _is_convex(group: tuple[str, PolygonMesh]) -> bool:
    """Return whether a group of a mesh fills its convex hull, apart from rounding."""
    _, mesh = group
    solid, is_hull = solid_of_mesh(mesh.points, mesh.face_counts, mesh.face_indices)
    return not is_hull and solid.volume >= _CONVEX * hull_solid(mesh.points).volume


def _pieces_text(mesh: PolygonMesh, file: Path) -> str:
    """Return the number of pieces, and how much larger they are than a closed mesh."""
    whole = read_mesh(file)
    pieces = [group for _, group in split_groups(whole)] or [whole]
    text = "1 piece" if len(pieces) == 1 else f"{len(pieces)} pieces"
    solid, is_hull = solid_of_mesh(mesh.points, mesh.face_counts, mesh.face_indices)
    if is_hull or solid.volume <= 0:
        return text
    total = sum(hull_solid(piece.points).volume for piece in pieces)
    return f"{text}, volume {total / solid.volume - 1.0:+.1%}"
