"""Rules of lint about a valid robot: mass, inertia, travel and meshes.

The bounds of mass and inertia are not exceeded by real parts of any material.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.inspection import (
    Bounds,
    LinkExtent,
    MeshExtent,
    MeshExtents,
    measure_link,
    measure_meshes,
)
from urdf_usd.converter.robot.bodies import is_negligible, principal_inertia, size_at_rest
from urdf_usd.converter.robot.model import (
    UNLIMITED,
    Continuous,
    Inertial,
    Joint,
    JointKind,
    Link,
    MeshFile,
    Prismatic,
    Range,
    Revolute,
    Robot,
    Shape,
    Vec3,
)
from urdf_usd.converter.robot.spatial import rest_poses
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups

Issues: TypeAlias = Iterator[Diagnostic]

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


class MeasuredRobot(Struct, frozen=True):
    """A valid robot with its extents."""

    robot: Robot
    tree: Tree
    meshes: MeshExtents
    # Of links with an inertial.
    extents: Mapping[str, LinkExtent]
    # Largest distance of a link or centre of mass from the root [m].
    size: float
    # Length of the longest chain of joint origins from the root [m].
    span: float


def measure_robot(robot: Robot) -> MeasuredRobot:
    """Measure a robot.

    Raises:
        SourceError: It is not one tree.
    """
    tree = build_tree(robot)
    meshes = measure_meshes(robot)
    extents = {
        link.name: extent
        for link in robot.links
        if link.inertial is not None
        and link.mass >= NEGLIGIBLE
        and (extent := measure_link(link, meshes.by_path)) is not None
    }
    reach = {tree.root: 0.0}
    for name in tree.links:
        if joint := tree.parent_joint.get(name):
            reach[name] = reach[joint.parent] + math.hypot(*joint.origin.position)
    return MeasuredRobot(
        robot=robot,
        tree=tree,
        meshes=meshes,
        extents=extents,
        size=size_at_rest(tree, rest_poses(tree)),
        span=max(reach.values()),
    )


def _principal_moments(inertial: Inertial) -> Vec3:
    """Return the principal moments in ascending order [kg m^2]."""
    moments, _ = principal_inertia(inertial.inertia)
    a, b, c = sorted(moments)
    return a, b, c


def _gyration(inertial: Inertial) -> float | None:
    """Return the largest radius of gyration [m]; None for invalid inertia."""
    moments = _principal_moments(inertial)
    is_positive = moments[0] > _ZERO_MOMENT * moments[2]
    return math.sqrt(moments[2] / inertial.mass) if is_positive else None


def _is_inertia_too_large(radius: float, reach: float) -> bool:
    """Return whether the inertia requires mass far outside the shapes."""
    return radius > _GYRATION_OVER_REACH * reach


def _is_inertia_too_small(radius: float, reach: float) -> bool:
    """Return whether the inertia is that of a point mass."""
    return radius < _GYRATION_UNDER_REACH * reach


def _is_too_dense(mass: float, volume: float) -> bool:
    return volume > 0.0 and mass / volume > _DENSEST


def _is_too_light(mass: float, volume: float) -> bool:
    return mass < _LIGHTEST * volume


def _is_far_outside(center: Vec3, bounds: Bounds) -> bool:
    return bounds.distance(center) > max(_OUTSIDE * bounds.diagonal, _TINY_LENGTH)


def robot_issues(measured: MeasuredRobot) -> Issues:
    """Yield what is probably wrong with a valid robot."""
    yield from _massless_issues(measured)
    for link in measured.robot.links:
        if link.inertial and link.mass > 0.0:
            yield from _inertial_issues(link, link.inertial, measured)
    for joint in measured.robot.joints:
        yield from _joint_issues(joint, measured)
    for use in _uses(measured, colliding=False):
        yield from use.issues(measured.span)
    for use in _uses(measured, colliding=True):
        if use.extent.triangles > _HEAVY:
            what = f"has {use.extent.triangles} triangles for collision"
            yield use.issue("collision-mesh-heavy", what)


def _massless_issues(measured: MeasuredRobot) -> Issues:
    links = measured.tree.link
    reported: set[str] = set()
    # The group of the root does not move relative to the base.
    for group in rigid_groups(measured.tree)[1:]:
        if not any(links[name].mass for name in group):
            reported.update(group)
            others = f" and links fixed to it ({len(group)} links)" if group[1:] else ""
            message = f"link {group[0]!r}{others} moves and has no mass"
            yield Diagnostic("mass-none-moving", message, links[group[0]].location)
    for link in measured.robot.links:
        if link.collisions and link.inertial is None and link.name not in reported:
            message = f"link {link.name!r} has a collision shape and no <inertial>"
            yield Diagnostic("mass-none-collider", message, link.location)


def _inertial_issues(link: Link, inertial: Inertial, measured: MeasuredRobot) -> Issues:
    subject, place, mass = f"link {link.name!r}", inertial.location, inertial.mass
    if mass < NEGLIGIBLE:
        yield Diagnostic("mass-negligible", f"{subject} has a mass of {mass:g} kg", place)
    a, b, c = moments = _principal_moments(inertial)
    listed = ", ".join(f"{moment:.4g}" for moment in moments)
    radius = _gyration(inertial)
    # A conversion treats it as zero.
    is_rounding = is_negligible(max(map(abs, moments)), mass, measured.size)
    if is_rounding:
        if any(inertial.inertia):
            message = f"{subject} has {mass:g} kg and principal moments {listed}"
            yield Diagnostic("inertia-zero", f"{message}, which are rounded zeros", place)
    elif radius is None:
        yield Diagnostic("inertia-not-positive", f"{subject} has principal moments {listed}", place)
    elif a + b < c * (1.0 - _TRIANGLE_SLACK):
        message = f"{subject} has principal moments {listed}: {a:.4g} + {b:.4g} < {c:.4g}"
        yield Diagnostic("inertia-triangle", message, place)
    extent = measured.extents.get(link.name)
    if extent is None or mass < NEGLIGIBLE:
        return
    if radius:
        size = ""
        if _is_inertia_too_large(radius, extent.reach):
            size = "large"
        elif _is_inertia_too_small(radius, extent.reach) and not is_rounding:
            size = "small"
        message = (
            f"inertia of {subject} too {size} for {mass:g} kg: radius of gyration "
            f"{_metres(radius)}, geometry extends {_metres(extent.reach)}"
        )
        if size:
            yield Diagnostic(f"inertia-too-{size}", message, place)
    volume = extent.hull_volume
    density = ""
    if _is_too_dense(mass, volume):
        density = "high"
    elif _is_too_light(mass, volume):
        density = "low"
    if density:
        message = f"{subject} has {mass:g} kg in {volume:.3g} m^3: {mass / volume:.3g} kg/m^3"
        yield Diagnostic(f"density-{density}", message, place)
    center = inertial.origin.position
    if _is_far_outside(center, extent.bounds):
        message = (
            f"the centre of mass of {subject} lies {_metres(extent.bounds.distance(center))} "
            f"outside its shapes, which are {_metres(extent.bounds.diagonal)} large"
        )
        yield Diagnostic("com-outside", message, place)


def _joint_issues(joint: Joint, measured: MeasuredRobot) -> Issues:
    kind, mimic = joint.kind, joint.mimic
    if isinstance(kind, Prismatic):
        # Travel that is probably in millimetres.
        bounds = (kind.range.lower, kind.range.upper)
        largest = max(map(abs, filter(math.isfinite, bounds)), default=0.0)
        if largest > _TRAVEL * measured.span > 0.0:
            message = (
                f"joint {joint.name!r} travels up to {largest:g} m; "
                f"the robot's joints span {measured.span:.3g} m"
            )
            yield Diagnostic("joint-travel-long", message, joint.location)
    own = _range(kind)
    if mimic is None or own is None or own.lower >= own.upper or not mimic.multiplier:
        return
    leader = _range(next(j.kind for j in measured.robot.joints if j.name == mimic.joint))
    if leader is None or leader.lower > leader.upper:
        return
    ends = [mimic.multiplier * end + mimic.offset for end in (leader.lower, leader.upper)]
    slack = _RANGE_SLACK * (own.upper - own.lower)
    if min(ends) < own.lower - slack or max(ends) > own.upper + slack:
        message = (
            f"joint {joint.name!r} may move from {own.lower:.4g} to "
            f"{own.upper:.4g}, and follows {mimic.joint!r} from {min(ends):.4g} "
            f"to {max(ends):.4g}"
        )
        yield Diagnostic("mimic-range", message, joint.location)


def _range(kind: JointKind) -> Range | None:
    if isinstance(kind, Revolute | Prismatic):
        return kind.range
    return UNLIMITED if isinstance(kind, Continuous) else None


class _Use(Struct, frozen=True):
    """A mesh file at one scale, with its first shape and the number of its uses."""

    shape: Shape
    mesh: MeshFile
    extent: MeshExtent
    count: int

    def issues(self, span: float) -> Issues:
        scale = self.mesh.scale
        size, unscaled = self._size(scale), self._size((1.0, 1.0, 1.0))
        # Its size would be plausible if scaled by 0.001.
        if size > _TOO_LARGE * span > 0.0 and size < _THOUSAND * _LARGEST_PART * span:
            what = f"is {_metres(size)} large on a robot of {_metres(span)}"
            yield self.issue("mesh-millimetres", what)
        # In metres, and scaled by 0.001.
        is_invisible = size < min(_TOO_SMALL, _TOO_SMALL * (span or 1.0))
        if is_invisible and unscaled > size * _THOUSAND / 2.0:
            what = f"is {_metres(size)} large, and {_metres(unscaled)} unscaled"
            yield self.issue("mesh-shrunk", what)
        if min(scale) < 0.0:
            factors = " ".join(f"{factor:g}" for factor in scale)
            yield self.issue("mesh-mirrored", f"is scaled by {factors}")
        faces = self.extent.triangles
        if self.mesh.uri.lower().endswith(".stl") and faces > _MOST_STL_FACES:
            yield self.issue("mesh-too-many-faces", f"has {faces} faces")

    def _size(self, scale: Vec3) -> float:
        """Return the diagonal of the bounding box at a scale [m]."""
        columns = zip(*self.extent.hull, strict=True)
        edges = (max(column) - min(column) for column in columns)
        return math.hypot(*(e * f for e, f in zip(edges, scale, strict=True)))

    def issue(self, rule: str, what: str) -> Diagnostic:
        often = f" (used {times(self.count)})" if self.count > 1 else ""
        message = f"mesh {Path(self.mesh.uri).name!r} {what}{often}"
        return Diagnostic(rule, message, self.shape.location)


def _uses(measured: MeasuredRobot, *, colliding: bool) -> tuple[_Use, ...]:
    """Return the readable mesh files, once per scale."""
    uses: dict[tuple[str, Vec3], _Use] = {}
    for link in measured.robot.links:
        for shape in link.collisions if colliding else link.shapes:
            mesh = shape.geometry
            if not isinstance(mesh, MeshFile) or mesh.path is None:
                continue
            extent = measured.meshes.by_path.get(mesh.path)
            if extent is None:
                continue
            key = (mesh.path, mesh.scale)
            first = uses.get(key, _Use(shape, mesh, extent, 0))
            uses[key] = structs.replace(first, count=first.count + 1)
    return tuple(uses.values())


def _metres(length: float) -> str:
    return f"{length:.3g} m"
