"""Colliders that replace those of the URDF; convex pieces are CoACD's, cached by content.

X. Wei et al., "Approximate Convex Decomposition for 3D Meshes with Collision-Aware
Concavity and Tree Search", SIGGRAPH 2022. The extra ``coacd`` installs the library.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np
from msgspec import structs

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic, Location
from urdf_usd.converter.meshes.mesh import PolygonMesh, split_groups
from urdf_usd.converter.meshes.read import cached_meshes, read_mesh, readable_mesh
from urdf_usd.converter.options import (
    ColliderKind,
    ColliderRules,
    MeshProgress,
    tolerance_in_metres,
)
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot import solids, spatial
from urdf_usd.converter.robot.bodies import has_mass, is_anchored, is_static
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups

# Links that a diagnostic names.
_MOST_NAMED = 8
# Part of its convex hull that a convex piece fills: decompositions write few digits.
_CONVEX = 0.95
# Concavity at which pieces are not cut further, as a fraction of the size: the default
# of CoACD.
_THRESHOLD, _SEED = 0.05, 0
_WHAT = {
    ColliderKind.HULL: "the convex hulls of their meshes",
    ColliderKind.DECOMPOSITION: "convex pieces of their meshes",
    ColliderKind.PRIMITIVES: "primitives, or the convex hulls of their meshes",
    ColliderKind.MESH: "the triangles of their meshes",
    ColliderKind.NONE: "nothing",
}


def replace_colliders(
    robot: m.Robot,
    rules: ColliderRules,
    triangles: m.Approximation,
    progress: MeshProgress | None,
    notes: list[Diagnostic],
) -> m.Robot:
    """Return a robot with the requested colliders.

    Primitives of the URDF, meshes that cannot be read, and links without a rule are kept.
    """
    for pattern in (rule.links for rule in rules.rules if rule.links is not None):
        if not any(fnmatchcase(link.name, pattern) for link in robot.links):
            message = f"no link matches {pattern!r}, for which colliders were requested"
            notes.append(Diagnostic("collider-rule-unused", message, robot.location))
    pieces = _decomposed(robot, rules, progress, notes)
    replaced: dict[ColliderKind, list[str]] = {}
    links = []
    for link in robot.links:
        kind = rules.kind_of(link.name)
        if kind is None or not link.collisions:
            links.append(link)
            continue
        if kind is ColliderKind.NONE:
            count = len(link.collisions)
            texts = ["1 collider" if count == 1 else f"{count} colliders"]
            collisions: list[m.Collision] = []
        else:
            changed = [_of_shape(one, kind, rules, triangles, pieces) for one in link.collisions]
            collisions = [collision for collision, _ in changed]
            texts = [text for _, text in changed if text]
        if texts:
            replaced.setdefault(kind, []).append(f"{link.name!r} ({', '.join(texts)})")
        links.append(structs.replace(link, collisions=tuple(collisions)))
    for kind, named in replaced.items():
        more = len(named) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        links_are = "1 link is" if len(named) == 1 else f"{len(named)} links are"
        shown = f"{', '.join(named[:_MOST_NAMED])}{rest}"
        message = f"colliders of {links_are} replaced by {_WHAT[kind]}: {shown}"
        notes.append(Diagnostic("collider-replaced", message, robot.location))
    return structs.replace(robot, links=tuple(links))


def _decomposed(
    robot: m.Robot, rules: ColliderRules, progress: MeshProgress | None, notes: list[Diagnostic]
) -> Mapping[str, Path]:
    """Return files with convex pieces, by path of the mesh that they replace."""
    meshes: dict[str, tuple[PolygonMesh, Location | None]] = {}
    for link in robot.links:
        if rules.kind_of(link.name) is not ColliderKind.DECOMPOSITION:
            continue
        for shape in link.collisions:
            geometry = shape.geometry
            if not isinstance(geometry, m.MeshFile) or geometry.path in {None, *meshes}:
                continue
            mesh = readable_mesh(geometry.path)
            # CoACD remeshes surfaces that are not manifold, which enlarges them.
            if mesh is None:
                continue
            for part in _parts(mesh):
                solid, is_hull = solids.solid_of_mesh(
                    part.points, part.face_counts, part.face_indices
                )
                # Apart from rounding, a convex piece fills its hull.
                if is_hull or solid.volume < _CONVEX * solids.hull_solid(part.points).volume:
                    meshes[geometry.path or ""] = mesh, shape.location
    remeshed = []
    for path, (mesh, _) in meshes.items():
        # CoACD replaces a mesh by a closed one, which takes it long, if an edge belongs to other
        # than two triangles; also if triangles intersect, which is not found here.
        triangles = solids.fan_triangles(mesh.face_counts, mesh.face_indices)
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        _, counts = np.unique(edges, axis=0, return_counts=True)
        if (counts != 2).any():
            remeshed.append(Path(path).name)
    if remeshed:
        are = "1 mesh is" if len(remeshed) == 1 else f"{len(remeshed)} meshes are"
        message = f"{are} not closed, so that CoACD decomposes a closed surface around it: "
        message += ", ".join(remeshed)
        notes.append(Diagnostic("collider-remeshed", message, robot.location))
    pieces = {}
    for number, (path, (mesh, location)) in enumerate(meshes.items(), start=1):
        if progress is not None:
            progress(Path(path).name, number, len(meshes))
        pieces[path] = decompose(path, mesh, location)
    return pieces


def _parts(mesh: PolygonMesh) -> list[PolygonMesh]:
    return [group for _, group in split_groups(mesh)] or [mesh]


def _of_shape(
    shape: m.Collision,
    kind: ColliderKind,
    rules: ColliderRules,
    triangles: m.Approximation,
    pieces: Mapping[str, Path],
) -> tuple[m.Collision, str]:
    """Return the collider that replaces one of the URDF, and what it is, for a message."""
    geometry = shape.geometry
    mesh = readable_mesh(geometry.path) if isinstance(geometry, m.MeshFile) else None
    if mesh is None or not isinstance(geometry, m.MeshFile):
        return shape, ""
    name = Path(geometry.path or "").name
    if kind is ColliderKind.MESH:
        return structs.replace(shape, approximation=triangles), name
    if kind is ColliderKind.DECOMPOSITION:
        file = pieces.get(geometry.path or "")
        parts = _parts(mesh if file is None else read_mesh(file))
        text = f"{name}: 1 piece" if len(parts) == 1 else f"{name}: {len(parts)} pieces"
        if file is None:
            return shape, f"{text} of the file"
        total = sum(solids.hull_solid(piece.points).volume for piece in parts)
        decomposed = structs.replace(shape, geometry=structs.replace(geometry, path=str(file)))
        return decomposed, text + _excess(mesh, (1.0, 1.0, 1.0), total)
    points = mesh.points * np.array(geometry.scale)
    if kind is ColliderKind.PRIMITIVES:
        turned = points @ spatial.rotation_from_quat_wxyz(shape.origin.quat_wxyz).T
        size = float(np.linalg.norm(np.ptp(turned, axis=0)))
        fit = solids.fit_primitive(points)
        if fit is not None and fit.distance <= tolerance_in_metres(rules.tolerance, size):
            origin = spatial.compose(shape.origin, fit.pose)
            kind_name = type(fit.shape).__name__.lower()
            text = f"{kind_name} for {name}, {fit.distance:.2g} m from the hull"
            primitive = structs.replace(shape, geometry=fit.shape, origin=origin)
            return primitive, f"{text}, volume {fit.volume_error:+.1%}"
    hull = structs.replace(shape, approximation=m.Approximation.HULL)
    return hull, f"hull of {name}{_excess(mesh, geometry.scale, solids.hull_solid(points).volume)}"


def _excess(mesh: PolygonMesh, scale: tuple[float, float, float], volume: float) -> str:
    """Return how much larger a volume is than that of a mesh, if the mesh is closed."""
    points = mesh.points * np.array(scale)
    solid, is_hull = solids.solid_of_mesh(points, mesh.face_counts, mesh.face_indices)
    if is_hull or solid.volume <= 0:
        return ""
    return f", volume {volume / solid.volume - 1.0:+.1%}"


def decompose(path: str, mesh: PolygonMesh, location: Location | None) -> Path:
    """Return an OBJ file with a group for each convex piece of a mesh.

    It is in ``$URDF_USD_CACHE``, by default ``urdf-usd`` in the user's cache folder;
    the key is the content of the mesh, the version of CoACD and its parameters.

    Raises:
        AuthoringError: CoACD is not installed, or fails.
    """

    def failure(message: str) -> AuthoringError:
        return AuthoringError((Diagnostic("collider-decomposition", message, location),))

    try:
        coacd = import_module("coacd")
    except ImportError as error:
        message = "CoACD is not installed: pip install urdf-usd-conformance[coacd]"
        raise failure(message) from error
    triangles = solids.fan_triangles(mesh.face_counts, mesh.face_indices)
    digest = hashlib.sha256(f"{version('coacd')} {_THRESHOLD} {_SEED}".encode())
    digest.update(mesh.points.astype("<f8").tobytes())
    digest.update(triangles.astype("<i4").tobytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "urdf-usd"
    folder = Path(os.environ.get("URDF_USD_CACHE") or cache) / "coacd" / digest.hexdigest()
    target = folder / f"{Path(path).stem}.obj"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        part = Path(scratch) / "pieces.obj"
        coacd.set_log_level("error")
        whole = coacd.Mesh(np.array(mesh.points), triangles.astype(np.int32))
        pieces = coacd.run_coacd(whole, threshold=_THRESHOLD, seed=_SEED)
        if not pieces:
            raise failure(f"CoACD finds no pieces of mesh {Path(path).name!r}")
        lines: list[str] = []
        start = 1
        for number, (points, faces) in enumerate(pieces, start=1):
            lines.append(f"o piece_{number:03}")
            lines += [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(points).tolist()]
            lines += [f"f {a} {b} {c}" for a, b, c in (np.asarray(faces) + start).tolist()]
            start += len(points)
        part.write_text("\n".join((*lines, "")))
        # Another process may write the same file.
        part.replace(target)
    return target


# Mass and inertia of links from their shapes, as solids. A link with mass keeps its mass
# and its centre. Links without mass receive those of their shapes at a given density if no link
# that is connected to them by fixed joints has mass; a fixed base only if no link at all has mass.

# Square of the radius of gyration below which inertia is missing [m^2]: of 1 um.
_POINT = 1e-12
# A smaller fraction of the largest moment is no moment about an axis.
_THIN = 1e-12
# Moments of a valid tensor satisfy A + B >= C; text rounds each of them.
_TRIANGLE_SLACK = 1e-4


def estimate_robot(
    robot: m.Robot, base: m.BaseOption, density: float, notes: list[Diagnostic]
) -> m.Robot:
    """Return a robot with mass and inertia from shapes that have a volume, where they are missing.

    The density is that of links without mass [kg/m^3].
    """
    tree = build_tree(robot)
    weightless = _weightless(tree, base)
    links = []
    with cached_meshes():
        for link in robot.links:
            inertial = link.inertial
            if link.name in weightless:
                inertial = _with_mass(link, density, notes)
            elif inertial and has_mass(link) and not is_possible(inertial):
                inertial = _with_inertia(link, inertial, notes)
            links.append(structs.replace(link, inertial=inertial))
    return structs.replace(robot, links=tuple(links))


def is_possible(inertial: m.Inertial) -> bool:
    """Return whether a body can have the inertia of an inertial with mass."""
    moments, _ = spatial.principal_inertia(inertial.inertia)
    a, b, c = sorted(moments)
    return c > _POINT * inertial.mass and a > _THIN * c and a + b >= c * (1 - _TRIANGLE_SLACK)


def _weightless(tree: Tree, base: m.BaseOption) -> frozenset[str]:
    """Return the links whose mass is missing."""
    massive = {name for name, link in tree.link.items() if has_mass(link)}
    if is_static(tree, base):
        return frozenset()
    held = rigid_groups(tree)[0] if massive and is_anchored(tree, base) else ()
    return frozenset(
        name
        for group in rigid_groups(tree)
        if group != held and not massive.intersection(group)
        for name in group
    )


def _with_mass(link: m.Link, density: float, notes: list[Diagnostic]) -> m.Inertial | None:
    solid, text = _solid(link)
    if solid.volume <= 0:
        return link.inertial
    x, y, z = (float(c) + 0.0 for c in solid.center)
    mass, inertia = density * solid.volume, spatial.inertia_values(density * solid.inertia)
    message = f"link {link.name!r} has no mass; it received {mass:.4g} kg and the inertia of {text}"
    message += f" at {density:g} kg/m^3"
    notes.append(Diagnostic("mass-estimated", message, link.location))
    return m.Inertial(mass, m.Pose((x, y, z)), inertia, link.location, m.Estimated.MASS)


def _with_inertia(link: m.Link, own: m.Inertial, notes: list[Diagnostic]) -> m.Inertial:
    solid, origin = _solid(link)
    if solid.volume <= 0:
        return own
    inertia = spatial.inertia_values(own.mass / solid.volume * solid.inertia)
    has = "impossible" if any(own.inertia) else "no"
    text = ", ".join(f"{moment:.4g}" for moment in sorted(spatial.principal_inertia(inertia)[0]))
    message = f"link {link.name!r} has {own.mass:.6g} kg and {has} inertia; it received that of"
    message += f" {origin}: principal moments {text} kg m^2"
    notes.append(Diagnostic("inertia-estimated", message, link.location))
    return structs.replace(
        own, origin=m.Pose(own.origin.position), inertia=inertia, estimated=m.Estimated.INERTIA
    )


def _solid(link: m.Link) -> tuple[solids.Solid, str]:
    """Return the solid of the colliders of a link or, if that is empty, its visuals.

    With a text about its origin, for a message.
    """
    for what, shapes in (("collision", link.collisions), ("visual", link.visuals)):
        parts = [(shape, *_solids(shape)) for shape in shapes]
        solid = solids.joined_solid(
            (piece, spatial.transform_from_pose(shape.origin))
            for shape, pieces, _ in parts
            for piece in pieces
        )
        if solid.volume > 0:
            hulls = dict.fromkeys(name for _, _, name in parts if name)
            text = f"its {what} {'shapes' if len(parts) > 1 else 'shape'}"
            if hulls:
                text += f" (convex hull of {', '.join(hulls)}, which is not closed)"
            return solid, text
    return solids.EMPTY, ""


def _solids(shape: m.Shape) -> tuple[list[solids.Solid], str | None]:
    """Return the solids of a shape, and its mesh file if a convex hull is used."""
    geometry = shape.geometry
    if not isinstance(geometry, m.MeshFile):
        return [solids.primitive_solid(geometry)], None
    mesh = readable_mesh(geometry.path)
    if mesh is None:
        return [], None
    pieces = [mesh]
    if isinstance(shape, m.Collision):
        # Each group is a collider.
        pieces = [group for _, group in split_groups(mesh)] or pieces
    scale = np.array(geometry.scale)
    found = [
        solids.solid_of_mesh(piece.points * scale, piece.face_counts, piece.face_indices)
        for piece in pieces
    ]
    is_hull = any(hull for _, hull in found)
    name = Path(geometry.path or "").name
    return [solid for solid, _ in found], name if is_hull else None
