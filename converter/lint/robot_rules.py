"""Rules of lint about a valid robot: mass, inertia, travel and meshes.

The bounds of mass and inertia are not exceeded by real parts of any material.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Location
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.extents import (
    Bounds,
    LinkExtent,
    MeshExtent,
    MeshExtents,
    bound_link,
    bound_meshes,
    measure_link,
    measure_meshes,
    measure_reach,
    mesh_points,
)
from urdf_usd.converter.robot.mass_properties import is_negligible, principal_inertia, size_at_rest
from urdf_usd.converter.robot.model import (
    UNLIMITED,
    Continuous,
    Inertial,
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
from urdf_usd.converter.robot.rigid import rest_poses
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups

# SDFormat ignores links with less [kg].
NEGLIGIBLE = 1e-6
# Osmium, the densest material, has 22 590 kg/m^3. Four times that leaves room for
# shapes that are simpler and smaller than the part.
_DENSEST = 100_000.0
# Air at sea level has 1.2 kg/m^3. A twelfth of that leaves room for hoops and frames,
# whose convex hull is mostly empty.
_LIGHTEST = 0.1
# The radius of _gyration of a body inside its shapes is below their largest distance
# from the centre of mass. Three times that allows for parts without shapes.
_GYRATION_OVER_REACH = 3.0
# A lead ball in the middle of a box of a hundred times its size.
_GYRATION_UNDER_REACH = 0.01
# Distance of the centre of mass from the bounding box, as a fraction of its diagonal.
_OUTSIDE = 1.0
_TINY_LENGTH = 0.01
_ZERO_MOMENT = 1e-9


class MeasuredRobot(Struct, frozen=True):
    """A valid robot with its extents."""

    robot: Robot
    tree: Tree
    # Links that fixed joints connect, the group of the root first.
    groups: tuple[tuple[str, ...], ...]
    # With boxes in place of hulls.
    meshes: MeshExtents
    # Of links whose inertial may be implausible; bounds of what decides nothing.
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
    inner, outer = bound_meshes(robot)
    reach = {tree.root: 0.0}
    for name in tree.links:
        if joint := tree.parent_joint.get(name):
            reach[name] = reach[joint.parent] + math.hypot(*joint.origin.position)
    return MeasuredRobot(
        robot=robot,
        tree=tree,
        groups=rigid_groups(tree),
        meshes=outer,
        extents=_extents_in_doubt(robot, inner, outer),
        size=size_at_rest(tree, rest_poses(tree)),
        span=max(reach.values()),
    )


def _extents_in_doubt(
    robot: Robot, inner: MeshExtents, outer: MeshExtents
) -> dict[str, LinkExtent]:
    """Measure the links whose inertial may be implausible.

    Exact hulls take as long as reading the files, so that bounds are tried first. An
    inertia depends on no volume: a lower bound of it stays where only inertia is in
    doubt.
    """
    by_volume: list[Link] = []
    by_reach: list[tuple[Link, LinkExtent]] = []
    for link in robot.links:
        if link.inertial is None or link.mass < NEGLIGIBLE:
            continue
        bounds = bound_link(link, inner, outer)
        if bounds is None:
            continue
        if not _is_mass_plausible(link.inertial, *bounds):
            by_volume.append(link)
        elif not _is_inertia_plausible(link.inertial, *bounds):
            by_reach.append((link, bounds[0]))
    exact = measure_meshes(structs.replace(robot, links=tuple(by_volume))).by_path
    measured = {link.name: measure_link(link, exact) for link in by_volume}
    points = mesh_points(structs.replace(robot, links=tuple(link for link, _ in by_reach)))
    measured |= {
        link.name: structs.replace(least, reach=measure_reach(link, points))
        for link, least in by_reach
    }
    return {name: extent for name, extent in measured.items() if extent}


def _is_mass_plausible(inertial: Inertial, least: LinkExtent, most: LinkExtent) -> bool:
    """Return whether density and centre of mass are plausible for all extents between."""
    return least.hull_volume > 0.0 and not (
        _is_too_dense(inertial.mass, least.hull_volume)
        or _is_too_light(inertial.mass, most.hull_volume)
        or _is_far_outside(inertial.origin.position, least.bounds)
    )


def _is_inertia_plausible(inertial: Inertial, least: LinkExtent, most: LinkExtent) -> bool:
    """Return whether an inertia is plausible for all extents between two."""
    radius = _gyration(inertial)
    return radius is None or not (
        _is_inertia_too_large(radius, least.reach) or _is_inertia_too_small(radius, most.reach)
    )


@lru_cache(maxsize=1024)
def _principal_moments(inertial: Inertial) -> Vec3:
    """Return the principal moments in ascending order [kg m^2]; several rules check them."""
    moments, _ = principal_inertia(inertial.inertia)
    a, b, c = sorted(moments)
    return a, b, c


def _is_positive(moments: Vec3) -> bool:
    """Return whether ascending principal moments are positive."""
    return moments[0] > _ZERO_MOMENT * moments[2]


def _gyration(inertial: Inertial) -> float | None:
    """Return the largest radius of _gyration [m]; None for invalid inertia."""
    moments = _principal_moments(inertial)
    return math.sqrt(moments[2] / inertial.mass) if _is_positive(moments) else None


def _is_inertia_too_large(radius: float, reach: float) -> bool:
    """Return whether the inertia requires mass far outside the shapes."""
    return radius > _GYRATION_OVER_REACH * reach


def _is_inertia_too_small(radius: float, reach: float) -> bool:
    """Return whether the inertia is that of a point mass."""
    return radius < _GYRATION_UNDER_REACH * reach


def _is_too_dense(mass: float, volume: float) -> bool:
    """Return whether the density is above that of all materials."""
    return volume > 0.0 and mass / volume > _DENSEST


def _is_too_light(mass: float, volume: float) -> bool:
    """Return whether the density is below that of air."""
    return mass < _LIGHTEST * volume


def _is_far_outside(center: Vec3, bounds: Bounds) -> bool:
    """Return whether a centre of mass is far outside the shapes."""
    return bounds.distance(center) > max(_OUTSIDE * bounds.diagonal, _TINY_LENGTH)


# A rule yields a message and a location for each mistake.
Breaches: TypeAlias = Iterator[tuple[str, Location | None]]

# Tolerance of A + B >= C for rounded moments.
_TRIANGLE_SLACK = 1e-4


def _moving_without_mass(measured: MeasuredRobot) -> Breaches:
    for group in _massless_moving_groups(measured):
        others = f" and links fixed to it ({len(group)} links)" if group[1:] else ""
        message = f"link {group[0]!r}{others} moves and has no mass"
        yield message, measured.tree.link[group[0]].location


def _colliders_without_mass(measured: MeasuredRobot) -> Breaches:
    reported = {name for group in _massless_moving_groups(measured) for name in group}
    for link in measured.robot.links:
        if link.collisions and link.inertial is None and link.name not in reported:
            message = f"link {link.name!r} has a collision shape and no <inertial>"
            yield message, link.location


def _negligible_mass(measured: MeasuredRobot) -> Breaches:
    for link, inertial in _massive(measured):
        if inertial.mass < NEGLIGIBLE:
            message = f"link {link.name!r} has a mass of {inertial.mass:g} kg"
            yield message, inertial.location


def _inertia_of_rounding(measured: MeasuredRobot) -> Breaches:
    """Tensors that a conversion treats as zero."""
    for link, inertial in _massive(measured):
        if any(inertial.inertia) and _is_rounding(inertial, measured):
            moments = _listed(_principal_moments(inertial))
            message = (
                f"link {link.name!r} has {inertial.mass:g} kg and principal moments "
                f"{moments}, which are rounded zeros"
            )
            yield message, inertial.location


def _inertia_not_positive(measured: MeasuredRobot) -> Breaches:
    for link, inertial in _massive(measured):
        moments = _principal_moments(inertial)
        if not (_is_positive(moments) or _is_rounding(inertial, measured)):
            message = f"link {link.name!r} has principal moments {_listed(moments)}"
            yield message, inertial.location


def _inertia_breaks_triangle(measured: MeasuredRobot) -> Breaches:
    for link, inertial in _massive(measured):
        a, b, c = moments = _principal_moments(inertial)
        breaks = _is_positive(moments) and a + b < c * (1.0 - _TRIANGLE_SLACK)
        if breaks and not _is_rounding(inertial, measured):
            message = (
                f"link {link.name!r} has principal moments {_listed(moments)}: "
                f"{a:.4g} + {b:.4g} < {c:.4g}"
            )
            yield message, inertial.location


def _inertia_size(
    measured: MeasuredRobot, is_wrong: Callable[[float, float], bool], size: str
) -> Breaches:
    for link, inertial, extent in _measured(measured):
        radius = _gyration(inertial)
        if (
            radius
            and is_wrong(radius, extent.reach)
            and not (is_wrong is _is_inertia_too_small and _is_rounding(inertial, measured))
        ):
            message = (
                f"inertia of link {link.name!r} {size} for {inertial.mass:g} kg: "
                f"radius of _gyration {_metres(radius)}, "
                f"geometry extends {_metres(extent.reach)}"
            )
            yield message, inertial.location


def _density(measured: MeasuredRobot, is_wrong: Callable[[float, float], bool]) -> Breaches:
    """Density of the convex hull of a link's shapes."""
    for link, inertial, extent in _measured(measured):
        if is_wrong(inertial.mass, extent.hull_volume):
            message = (
                f"link {link.name!r} has {inertial.mass:g} kg in {extent.hull_volume:.3g} m^3: "
                f"{inertial.mass / extent.hull_volume:.3g} kg/m^3"
            )
            yield message, inertial.location


def _center_outside(measured: MeasuredRobot) -> Breaches:
    for link, inertial, extent in _measured(measured):
        center = inertial.origin.position
        if _is_far_outside(center, extent.bounds):
            distance = extent.bounds.distance(center)
            message = (
                f"the centre of mass of link {link.name!r} lies {_metres(distance)} "
                f"outside its shapes, which are {_metres(extent.bounds.diagonal)} large"
            )
            yield message, inertial.location


def _massless_moving_groups(measured: MeasuredRobot) -> Iterator[tuple[str, ...]]:
    # The group of the root does not move relative to the base.
    for group in measured.groups[1:]:
        if not any(measured.tree.link[name].mass for name in group):
            yield group


def _massive(measured: MeasuredRobot) -> Iterator[tuple[Link, Inertial]]:
    for link in measured.robot.links:
        if link.inertial and link.mass > 0.0:
            yield link, link.inertial


def _measured(measured: MeasuredRobot) -> Iterator[tuple[Link, Inertial, LinkExtent]]:
    for link, inertial in _massive(measured):
        extent = measured.extents.get(link.name)
        if extent and inertial.mass >= NEGLIGIBLE:
            yield link, inertial, extent


def _is_rounding(inertial: Inertial, measured: MeasuredRobot) -> bool:
    largest = max(map(abs, _principal_moments(inertial)))
    return is_negligible(largest, inertial.mass, measured.size)


def _listed(moments: Vec3) -> str:
    return ", ".join(f"{moment:.4g}" for moment in moments)


def _metres(length: float) -> str:
    return f"{length:.3g} m"


# Largest travel of a prismatic joint, as a multiple of the robot's span.
_TRAVEL = 100.0


def _long_travel(measured: MeasuredRobot) -> Breaches:
    """Travel that is probably in millimetres."""
    for joint in measured.robot.joints:
        if not isinstance(joint.kind, Prismatic):
            continue
        bounds = (joint.kind.range.lower, joint.kind.range.upper)
        largest = max(map(abs, filter(math.isfinite, bounds)), default=0.0)
        if largest > _TRAVEL * measured.span > 0.0:
            message = (
                f"joint {joint.name!r} travels up to {largest:g} m; "
                f"the robot's joints span {measured.span:.3g} m"
            )
            yield message, joint.location


# Tolerance as a fraction of the mimic joint's range.
_RANGE_SLACK = 0.01


def _mimic_beyond_range(measured: MeasuredRobot) -> Breaches:
    """Mimic joints that the range of their leader takes outside their own range."""
    kinds = {joint.name: joint.kind for joint in measured.robot.joints}
    for joint in measured.robot.joints:
        own, mimic = _range(joint.kind), joint.mimic
        if mimic is None or own is None or own.lower >= own.upper:
            continue
        leader = _range(kinds[mimic.joint])
        if leader is None or leader.lower > leader.upper or not mimic.multiplier:
            continue
        ends = [mimic.multiplier * end + mimic.offset for end in (leader.lower, leader.upper)]
        slack = _RANGE_SLACK * (own.upper - own.lower)
        if min(ends) < own.lower - slack or max(ends) > own.upper + slack:
            message = (
                f"joint {joint.name!r} may move from {own.lower:.4g} to "
                f"{own.upper:.4g}, and follows {mimic.joint!r} from {min(ends):.4g} "
                f"to {max(ends):.4g}"
            )
            yield message, joint.location


def _range(kind: JointKind) -> Range | None:
    if isinstance(kind, Revolute | Prismatic):
        return kind.range
    return UNLIMITED if isinstance(kind, Continuous) else None


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


class _Use(Struct, frozen=True):
    """A mesh file at one scale, with its first shape and the number of its uses."""

    shape: Shape
    mesh: MeshFile
    extent: MeshExtent
    count: int

    def size(self, scale: Vec3) -> float:
        """Return the diagonal of the bounding box at a scale [m]."""
        columns = zip(*self.extent.hull, strict=True)
        edges = (max(column) - min(column) for column in columns)
        return math.hypot(*(e * f for e, f in zip(edges, scale, strict=True)))

    def breach(self, what: str) -> tuple[str, Location | None]:
        """Return a message and a location."""
        often = f" (used {times(self.count)})" if self.count > 1 else ""
        return f"mesh {Path(self.mesh.uri).name!r} {what}{often}", self.shape.location


def _mesh_in_millimetres(measured: MeasuredRobot) -> Breaches:
    """Meshes that would have a plausible size if scaled by 0.001."""
    span = measured.span
    for use in _uses(measured):
        size = use.size(use.mesh.scale)
        if size > _TOO_LARGE * span > 0.0 and size < _THOUSAND * _LARGEST_PART * span:
            yield use.breach(f"is {_metres(size)} large on a robot of {_metres(span)}")


def _mesh_shrunk(measured: MeasuredRobot) -> Breaches:
    """Meshes in metres that are scaled by 0.001."""
    for use in _uses(measured):
        size, unscaled = use.size(use.mesh.scale), use.size((1.0, 1.0, 1.0))
        is_invisible = size < min(_TOO_SMALL, _TOO_SMALL * (measured.span or 1.0))
        if is_invisible and unscaled > size * _THOUSAND / 2.0:
            yield use.breach(f"is {_metres(size)} large, and {_metres(unscaled)} unscaled")


def _mesh_mirrored(measured: MeasuredRobot) -> Breaches:
    for use in _uses(measured):
        if min(use.mesh.scale) < 0.0:
            factors = " ".join(f"{factor:g}" for factor in use.mesh.scale)
            yield use.breach(f"is scaled by {factors}")


def _too_many_faces(measured: MeasuredRobot) -> Breaches:
    for use in _uses(measured):
        is_stl = use.mesh.uri.lower().endswith(".stl")
        if is_stl and use.extent.triangles > _MOST_STL_FACES:
            yield use.breach(f"has {use.extent.triangles} faces")


def _heavy_collision(measured: MeasuredRobot) -> Breaches:
    for use in _uses(measured, colliding=True):
        if use.extent.triangles > _HEAVY:
            yield use.breach(f"has {use.extent.triangles} triangles for collision")


def _uses(measured: MeasuredRobot, *, colliding: bool = False) -> Iterable[_Use]:
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
            uses[key] = _Use(first.shape, first.mesh, extent, first.count + 1)
    return uses.values()


# Checks of the robot, which need its tree or its extents.
ROBOT_CHECKS: Mapping[str, Callable[[MeasuredRobot], Breaches]] = {
    "mass-none-moving": _moving_without_mass,
    "mass-none-collider": _colliders_without_mass,
    "mass-negligible": _negligible_mass,
    # An inertia that is written as zero is checked above.
    "inertia-zero": _inertia_of_rounding,
    "inertia-not-positive": _inertia_not_positive,
    "inertia-triangle": _inertia_breaks_triangle,
    "inertia-too-large": partial(_inertia_size, is_wrong=_is_inertia_too_large, size="too large"),
    "inertia-too-small": partial(_inertia_size, is_wrong=_is_inertia_too_small, size="too small"),
    "density-high": partial(_density, is_wrong=_is_too_dense),
    "density-low": partial(_density, is_wrong=_is_too_light),
    "com-outside": _center_outside,
    "joint-travel-long": _long_travel,
    "mimic-range": _mimic_beyond_range,
    "mesh-millimetres": _mesh_in_millimetres,
    "mesh-shrunk": _mesh_shrunk,
    "mesh-mirrored": _mesh_mirrored,
    "mesh-too-many-faces": _too_many_faces,
    "collision-mesh-heavy": _heavy_collision,
}
