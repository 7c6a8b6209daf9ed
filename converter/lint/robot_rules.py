"""Rules of lint about a valid robot: mass, inertia, travel and meshes.

The bounds of mass and inertia are not exceeded by real parts of any material.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.inspection import (
    LinkExtent,
    MeshExtent,
    MeshExtents,
    measure_link,
    measure_meshes,
)
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.bodies import is_negligible, principal_inertia, size_at_rest
from urdf_usd.converter.robot.spatial import rest_poses
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups

# SDFormat ignores links with less [kg].
NEGLIGIBLE = 1e-6
# Osmium, the densest material, has 22 590 kg/m^3. Four times that leaves room for
# shapes that are simpler and smaller than the part.
_DENSEST = 100_000.0
# Air at sea level has 1.2 kg/m^3. A twelfth of that leaves room for hoops and frames,
# whose convex hull is mostly empty.
_LIGHTEST = 0.1
# The radius of gyration of a body inside its shapes is below their largest distance
# from the centre of mass. Three times that allows for parts without shapes.
_GYRATION_OVER_REACH = 3.0
# A lead ball in the middle of a box of a hundred times its size.
_GYRATION_UNDER_REACH = 0.01
# Distance of the centre of mass from the bounding box, as a fraction of its diagonal.
_OUTSIDE = 1.0
_TINY_LENGTH = 0.01
_ZERO_MOMENT = 1e-9
# Tolerance of A + B >= C for rounded moments.
_TRIANGLE_SLACK = 1e-4
# Largest travel of a prismatic joint, as a multiple of the robot's span.
_TRAVEL = 100.0
# Tolerance as a fraction of the mimic joint's range.
_RANGE_SLACK = 0.01
_THOUSAND = 1000.0
# A mesh larger than this multiple of the span is probably in millimetres, if a
# thousandth of it is not larger than the next multiple.
_TOO_LARGE = 30.0
_LARGEST_PART = 3.0
# A mesh is invisible if it is smaller than this in metres, and relative to the span.
_TOO_SMALL = 1e-3
# Number of triangles from which collision meshes are slow.
_HEAVY = 20_000
# MuJoCo: "number of faces should be between 1 and 200000 in STL file".
_MOST_STL_FACES = 200_000


class _Located(Protocol):
    @property
    def location(self) -> Location | None: ...


class Issues(list[Diagnostic]):
    """Diagnostics that are collected."""

    def add(self, rule: str, where: _Located, message: str) -> None:
        self.append(Diagnostic(rule, message, where.location))


def robot_issues(robot: m.Robot) -> Issues:
    """Return what is probably wrong with a valid robot, and the diagnostics of its meshes.

    Raises:
        SourceError: It is not one tree.
    """
    tree, meshes = build_tree(robot), measure_meshes(robot)
    # Largest distance of a link or centre of mass from the root, and length of the longest
    # chain of joint origins from the root [m].
    size, reach = size_at_rest(tree, rest_poses(tree)), {tree.root: 0.0}
    for name in tree.links:
        if joint := tree.parent_joint.get(name):
            reach[name] = reach[joint.parent] + math.hypot(*joint.origin.position)
    span = max(reach.values())
    found = Issues(meshes.diagnostics)
    _add_massless_issues(found, robot, tree)
    for link in robot.links:
        if link.inertial and link.mass > 0.0:
            weighs = link.mass >= NEGLIGIBLE
            extent = measure_link(link, meshes.by_path) if weighs else None
            _add_inertial_issues(found, link, link.inertial, extent, size)
    for joint in robot.joints:
        _add_joint_issues(found, joint, robot, span)
    for shape, mesh, size_of, often in _uses(robot, meshes, colliding=False):
        _add_mesh_issues(found, shape, mesh, size_of, often, span)
    for shape, mesh, size_of, often in _uses(robot, meshes, colliding=True):
        if size_of.triangles > _HEAVY:
            what = f"has {size_of.triangles} triangles for collision{often}"
            found.add("collision-mesh-heavy", shape, f"{_name(mesh)} {what}")
    return found


def _add_massless_issues(found: Issues, robot: m.Robot, tree: Tree) -> None:
    links = tree.link
    reported: set[str] = set()
    # The group of the root does not move relative to the base.
    for group in rigid_groups(tree)[1:]:
        if not any(links[name].mass for name in group):
            reported.update(group)
            others = f" and links fixed to it ({len(group)} links)" if group[1:] else ""
            what = f"link {group[0]!r}{others} moves and has no mass"
            found.add("mass-none-moving", links[group[0]], what)
    for link in robot.links:
        if link.collisions and link.inertial is None and link.name not in reported:
            what = f"link {link.name!r} has a collision shape and no <inertial>"
            found.add("mass-none-collider", link, what)


def _add_inertial_issues(
    found: Issues, link: m.Link, inertial: m.Inertial, extent: LinkExtent | None, size: float
) -> None:
    subject, mass = f"link {link.name!r}", inertial.mass
    if mass < NEGLIGIBLE:
        found.add("mass-negligible", inertial, f"{subject} has a mass of {mass:g} kg")
    moments = a, b, c = sorted(principal_inertia(inertial.inertia)[0])
    listed = f"principal moments {', '.join(f'{moment:.4g}' for moment in moments)}"
    # The largest radius of gyration [m].
    radius = math.sqrt(c / mass) if a > _ZERO_MOMENT * c else None
    # A conversion treats it as zero.
    is_rounding = is_negligible(max(map(abs, moments)), mass, size)
    if is_rounding:
        if any(inertial.inertia):
            what = f"{subject} has {mass:g} kg and {listed}, which are rounded zeros"
            found.add("inertia-zero", inertial, what)
    elif radius is None:
        found.add("inertia-not-positive", inertial, f"{subject} has {listed}")
    elif a + b < c * (1.0 - _TRIANGLE_SLACK):
        what = f"{subject} has {listed}: {a:.4g} + {b:.4g} < {c:.4g}"
        found.add("inertia-triangle", inertial, what)
    if extent is None:
        return
    if radius:
        is_large = radius > _GYRATION_OVER_REACH * extent.reach
        # That of a point mass.
        is_small = radius < _GYRATION_UNDER_REACH * extent.reach and not is_rounding
        if is_large or is_small:
            how = "large" if is_large else "small"
            what = (
                f"inertia of {subject} too {how} for {mass:g} kg: radius of gyration "
                f"{_metres(radius)}, geometry extends {_metres(extent.reach)}"
            )
            found.add(f"inertia-too-{how}", inertial, what)
    volume = extent.hull_volume
    is_dense = volume > 0.0 and mass / volume > _DENSEST
    if is_dense or mass < _LIGHTEST * volume:
        what = f"{subject} has {mass:g} kg in {volume:.3g} m^3: {mass / volume:.3g} kg/m^3"
        found.add(f"density-{'high' if is_dense else 'low'}", inertial, what)
    distance = extent.bounds.distance(inertial.origin.position)
    if distance > max(_OUTSIDE * extent.bounds.diagonal, _TINY_LENGTH):
        what = (
            f"the centre of mass of {subject} lies {_metres(distance)} "
            f"outside its shapes, which are {_metres(extent.bounds.diagonal)} large"
        )
        found.add("com-outside", inertial, what)


def _add_joint_issues(found: Issues, joint: m.Joint, robot: m.Robot, span: float) -> None:
    kind, mimic = joint.kind, joint.mimic
    if isinstance(kind, m.Prismatic):
        # Travel that is probably in millimetres.
        bounds = (kind.range.lower, kind.range.upper)
        largest = max(map(abs, filter(math.isfinite, bounds)), default=0.0)
        if largest > _TRAVEL * span > 0.0:
            what = (
                f"joint {joint.name!r} travels up to {largest:g} m; "
                f"the robot's joints span {span:.3g} m"
            )
            found.add("joint-travel-long", joint, what)
    own = _range(kind)
    if mimic is None or own is None or own.lower >= own.upper or not mimic.multiplier:
        return
    leader = _range(next(j.kind for j in robot.joints if j.name == mimic.joint))
    if leader is None or leader.lower > leader.upper:
        return
    ends = [mimic.multiplier * end + mimic.offset for end in (leader.lower, leader.upper)]
    slack = _RANGE_SLACK * (own.upper - own.lower)
    if min(ends) < own.lower - slack or max(ends) > own.upper + slack:
        what = (
            f"joint {joint.name!r} may move from {own.lower:.4g} to "
            f"{own.upper:.4g}, and follows {mimic.joint!r} from {min(ends):.4g} "
            f"to {max(ends):.4g}"
        )
        found.add("mimic-range", joint, what)


def _range(kind: m.JointKind) -> m.Range | None:
    if isinstance(kind, m.Revolute | m.Prismatic):
        return kind.range
    return m.UNLIMITED if isinstance(kind, m.Continuous) else None


def _add_mesh_issues(
    found: Issues, shape: m.Shape, mesh: m.MeshFile, extent: MeshExtent, often: str, span: float
) -> None:
    name, scale = _name(mesh), mesh.scale
    # Diagonals of the bounding box [m].
    edges = [max(column) - min(column) for column in zip(*extent.hull, strict=True)]
    size = math.hypot(*(edge * factor for edge, factor in zip(edges, scale, strict=True)))
    unscaled = math.hypot(*edges)
    # Its size would be plausible if scaled by 0.001.
    if size > _TOO_LARGE * span > 0.0 and size < _THOUSAND * _LARGEST_PART * span:
        what = f"{name} is {_metres(size)} large on a robot of {_metres(span)}{often}"
        found.add("mesh-millimetres", shape, what)
    # In metres, and scaled by 0.001.
    is_invisible = size < min(_TOO_SMALL, _TOO_SMALL * (span or 1.0))
    if is_invisible and unscaled > size * _THOUSAND / 2.0:
        what = f"{name} is {_metres(size)} large, and {_metres(unscaled)} unscaled{often}"
        found.add("mesh-shrunk", shape, what)
    if min(scale) < 0.0:
        factors = " ".join(f"{factor:g}" for factor in scale)
        found.add("mesh-mirrored", shape, f"{name} is scaled by {factors}{often}")
    if mesh.uri.lower().endswith(".stl") and extent.triangles > _MOST_STL_FACES:
        found.add("mesh-too-many-faces", shape, f"{name} has {extent.triangles} faces{often}")


def _name(mesh: m.MeshFile) -> str:
    return f"mesh {Path(mesh.uri).name!r}"


def _uses(
    robot: m.Robot, meshes: MeshExtents, *, colliding: bool
) -> Iterator[tuple[m.Shape, m.MeshFile, MeshExtent, str]]:
    """Yield the readable mesh files, once per scale, each with its first shape."""
    uses: dict[tuple[str, m.Vec3], list[tuple[m.Shape, m.MeshFile]]] = {}
    for link in robot.links:
        for shape in link.collisions if colliding else link.shapes:
            mesh = shape.geometry
            if isinstance(mesh, m.MeshFile) and mesh.path in meshes.by_path:
                uses.setdefault((mesh.path or "", mesh.scale), []).append((shape, mesh))
    for (path, _), found in uses.items():
        often = f" (used {times(len(found))})" if len(found) > 1 else ""
        yield (*found[0], meshes.by_path[path], often)


def _metres(length: float) -> str:
    return f"{length:.3g} m"
