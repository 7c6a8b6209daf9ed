"""The layer of simulation settings: drives, armature, initial state, contacts.

It is stronger than the physics layer and contains nothing that comes from the URDF
alone, so that removing it leaves the asset of the URDF. Angles are in degrees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations, product
from math import degrees
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Continuous, Prismatic, Revolute
from urdf_usd.converter.simulation.resolution import ContactMaterial, Simulation
from urdf_usd.converter.usd.writer import specs
from urdf_usd.converter.usd.writer.physics import articulation_roots


def author_simulation(
    layer: Sdf.Layer,
    composed: Usd.Stage,
    simulation: Simulation,
    prims: specs.Prims,
    *,
    newton: bool,
    physx: bool,
    selected: bool = True,
) -> list[Diagnostic]:
    """Write simulation settings in a layer of their own; report those without a schema."""
    _author_joints(layer, simulation, prims, newton=newton, physx=physx)
    for path in articulation_roots(prims) if simulation.self_collision is not None else ():
        prim = specs.over(layer, path)
        if newton:
            specs.apply(prim, "NewtonArticulationRootAPI")
            specs.write(prim, "newton:selfCollisionEnabled", simulation.self_collision)
        if physx:
            specs.apply(prim, "PhysxArticulationAPI")
            specs.write(prim, "physxArticulation:enabledSelfCollisions", simulation.self_collision)
    notes = _author_filtered_pairs(layer, composed, simulation, prims)
    _author_contact_materials(layer, composed, simulation.contact_materials, prims)
    for key, wanted, known in (
        ("armature", simulation.armatures, newton or physx),
        # A stiffness of PhysX would soften its limits, which are hard.
        ("limit_stiffness", simulation.limit_stiffnesses, newton),
        ("limit_damping", simulation.limit_dampings, newton),
        ("self_collision", simulation.self_collision is not None, newton or physx),
    ):
        if wanted and not known:
            message = f"{key} is not written: the profile has no schema for it"
            notes.append(Diagnostic("description-lost", message))
        if wanted and not selected:
            message = f"{key} is written in physics variants, none of which is selected"
            notes.append(Diagnostic("description-variants", message))
    return notes


def _author_joints(
    layer: Sdf.Layer, simulation: Simulation, prims: specs.Prims, *, newton: bool, physx: bool
) -> None:
    """Write drives, armature, springs at limits and initial positions."""
    joints = {joint.name: joint for joint in prims.tree.parent_joint.values()}
    # Angles are in degrees, and gains per degree.
    linear = {name for name in prims.joint if isinstance(joints[name].kind, Prismatic)}
    units = {name: 1.0 if name in linear else degrees(1.0) for name in prims.joint}
    axes = {name: "linear" if name in linear else "angular" for name in prims.joint}

    def author(joint: str, schema: str, values: Mapping[str, float], what: str = "") -> None:
        prim = specs.over(layer, prims.joint[joint])
        specs.apply(prim, schema)
        for name, value in values.items():
            subject = what or name.rpartition(":")[2]
            specs.write(prim, name, specs.to_float32(value, f"{subject} of joint {joint!r}"))

    def author_drive(joint: str, values: Mapping[str, float]) -> str:
        prefix = f"drive:{axes[joint]}:physics:"
        schema = f"PhysicsDriveAPI:{axes[joint]}"
        author(joint, schema, {f"{prefix}{name}": value for name, value in values.items()})
        return prefix

    for name in prims.joint if simulation.drives and not (newton or physx) else ():
        # In an asset with drives, consumers read effort limits from drives alone.
        has_one_axis = isinstance(joints[name].kind, (Revolute, Continuous, Prismatic))
        effort = joints[name].effort
        if has_one_axis and effort is not None and effort >= 0:
            author_drive(name, {"maxForce": effort, "stiffness": 0.0, "damping": 0.0})
    for drive in simulation.drives:
        unit = units[drive.joint]
        values = {
            "stiffness": drive.stiffness / unit,
            "damping": drive.damping / unit,
            "targetPosition": drive.target_position * unit,
            "targetVelocity": drive.target_velocity * unit,
        }
        prefix = author_drive(drive.joint, values)
        prim = specs.over(layer, prims.joint[drive.joint])
        specs.write(prim, f"{prefix}type", "force", specs.KINDS.Token, specs.UNIFORM)
    for name, armature in simulation.armatures:
        if newton:
            # Newton and PhysX read it.
            author(name, "NewtonJointAPI", {"newton:armature": armature})
        if physx:
            # Read by PhysX before ovphysx 0.7, and from then on.
            author(name, "PhysxJointAPI", {"physxJoint:armature": armature})
            values = {f"physxJointAxis:{axes[name]}:armature": armature}
            author(name, f"PhysxJointAxisAPI:{axes[name]}", values)
    springs = [("limitStiffness", *one) for one in simulation.limit_stiffnesses if newton]
    springs += [("limitDamping", *one) for one in simulation.limit_dampings if newton]
    for key, name, value in springs:
        author(name, "NewtonJointAPI", {f"newton:{key}": value / units[name]})
    for name, position in simulation.positions:
        axis = axes[name]
        values = {f"state:{axis}:physics:position": position * units[name]}
        if newton:
            # Newton does not read PhysicsJointStateAPI, but this attribute without schema.
            values[f"newton:{axis}:position"] = position * units[name]
        author(name, f"PhysicsJointStateAPI:{axis}", values, "the initial position")


def _author_filtered_pairs(
    layer: Sdf.Layer, composed: Usd.Stage, simulation: Simulation, prims: specs.Prims
) -> list[Diagnostic]:
    """Write pairs of bodies that do not collide, and report those that overlap or touch.

    A filter of a body that is the root of an articulation would concern all of it;
    there, the colliders are named.
    """
    bodies, notes = prims.bodies, list[Diagnostic]()
    pairs = _body_pairs(simulation.filtered_pairs, bodies)
    shapes: dict[str, list[Sdf.Path]] = {}
    for link, paths in prims.collision.items():
        if (body := bodies.body_of[link]) is not None:
            shapes.setdefault(body, []).extend(paths)
    if simulation.filter_overlaps:
        # Bodies of one joint are not tested: simulators let them not collide.
        joined = ((joint.parent, joint.child) for joint in prims.tree.parent_joint.values())
        ignored = set(map(frozenset, (*pairs, *_body_pairs(joined, bodies))))
        body_of = {str(path): body for body, paths in shapes.items() for path in paths}
        overlapping, touching = bodies_in_contact(composed, body_of, ignored)
        pairs += overlapping
        what = "overlap at rest, and filters.overlap stops their collisions"
        for rule, found, verb in (
            ("collision-overlap", overlapping, what),
            ("collision-touch", touching, "touch at rest"),
        ):
            if found:
                listed = ", ".join(f"{one} and {other}" for one, other in found)
                notes.append(Diagnostic(rule, f"links {verb}: {listed}"))
    roots = articulation_roots(prims)
    targets: dict[Sdf.Path, dict[Sdf.Path, None]] = {}
    for pair in pairs:
        sides = []
        for body in pair:
            path = prims.link[body]
            of_body = shapes.get(body, ())
            sides.append([*_colliders(composed, of_body)] if path in roots else [path])
        for path in sides[0]:
            targets.setdefault(path, {}).update(dict.fromkeys(sides[1]))
    for path, others in targets.items():
        if others:
            prim = specs.over(layer, path)
            specs.apply(prim, "PhysicsFilteredPairsAPI")
            specs.relate(prim, "physics:filteredPairs", *others)
    return notes


def _body_pairs(
    pairs: Iterable[tuple[str, str]], bodies: BodyAssignment
) -> tuple[tuple[str, str], ...]:
    """Return pairs of different bodies of links; colliders of one body do not collide."""
    found = (tuple(bodies.body_of[name] for name in pair) for pair in pairs)
    known = ((one, other) for one, other in found if one and other and one != other)
    return tuple(dict.fromkeys((min(pair), max(pair)) for pair in known))


def _author_contact_materials(
    layer: Sdf.Layer,
    composed: Usd.Stage,
    contact_materials: Iterable[ContactMaterial],
    prims: specs.Prims,
) -> None:
    """Bind contact materials to colliders, one for all links with the same values.

    Bindings of links would concern the links below them as well.
    """
    materials: dict[tuple[float, float, float], Sdf.Path] = {}
    names = {path.name for path in prims.joint.values()}
    for contact in contact_materials:
        values = contact.static, contact.dynamic, contact.restitution
        if values not in materials:
            name = f"contact_{len(materials)}"
            while name in names:
                name += "_"
            materials[values] = prims.physics.AppendChild(name)
            prim = specs.define(layer, materials[values], "Material")
            specs.apply(prim, "PhysicsMaterialAPI")
            attributes = "staticFriction", "dynamicFriction", "restitution"
            for attribute, value in zip(attributes, values, strict=True):
                # A restitution of zero is that of the schema.
                if value or attribute != "restitution":
                    what = f"{attribute} of link {contact.link!r}"
                    specs.write(prim, f"physics:{attribute}", specs.to_float32(value, what))
        for path in _colliders(composed, prims.collision[contact.link]):
            prim = specs.over(layer, path)
            specs.apply(prim, "MaterialBindingAPI")
            specs.relate(prim, "material:binding:physics", materials[values])


def _colliders(composed: Usd.Stage, paths: Iterable[Sdf.Path]) -> Iterator[Sdf.Path]:
    """Yield the colliders at or below prims; a shape may have one per group."""
    for path in paths:
        prim = composed.GetPrimAtPath(path)
        for part in Usd.PrimRange(prim) if prim else ():
            if part.HasAPI(UsdPhysics.CollisionAPI):
                yield part.GetPath()


# Colliders that overlap or touch

Points: TypeAlias = "NDArray[np.float64]"

TOUCHING = 1e-4
"""Bodies touch if their colliders are nearer, or overlap less [m]."""

# Corners of the polygons in place of the circles of a cylinder: its radius is off by
# 0.03 %.
_CORNERS = 128
# Weight of the sums of coefficients against the distance of two hulls.
_WEIGHT = 1e4


class _Solid(Struct, frozen=True, eq=False):
    """The convex hull of points, grown by a radius, in the world."""

    points: Points  # (N, 3) [m]
    radius: float  # [m]
    planes: Points  # (F, 4) unit normals and offsets of the hull; none if it is flat.

    @property
    def bounds(self) -> Points:
        """Least and negated greatest coordinates [m]."""
        return np.stack([self.points.min(axis=0), -self.points.max(axis=0)]) - self.radius


def bodies_in_contact(
    stage: Usd.Stage, body_of: Mapping[str, str], ignored: Collection[frozenset[str]]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the pairs of bodies whose colliders overlap, and those that touch, as hulls."""
    solids: dict[str, list[_Solid]] = {}
    cache = UsdGeom.XformCache()
    for prim in stage.Traverse():
        path = prim.GetPath()
        name = body_of.get(str(path)) or body_of.get(str(path.GetParentPath()))
        if name is not None and prim.HasAPI(UsdPhysics.CollisionAPI):
            solid = _solid(prim, np.array(cache.GetLocalToWorldTransform(prim)))
            if solid is not None:
                solids.setdefault(name, []).append(solid)
    overlapping, touching = [], []
    for one, other in combinations(sorted(solids), 2):
        if frozenset((one, other)) in ignored:
            continue
        near = (
            (a, b)
            for a, b in product(solids[one], solids[other])
            if (a.bounds + b.bounds[::-1]).max() <= TOUCHING
        )
        depth = max((_depth(a, b) for a, b in near), default=-np.inf)
        if depth > TOUCHING:
            overlapping.append((one, other))
        elif depth >= -TOUCHING:
            touching.append((one, other))
    return tuple(overlapping), tuple(touching)


def _depth(one: _Solid, other: _Solid) -> float:
    """Return the diameter of the largest ball in both solids, or minus their distance [m]."""
    # Takes longer to import than to convert a small robot; few files filter overlaps.
    from scipy.optimize import linprog

    grown = one.radius + other.radius
    distance = _distance(one.points, other.points)
    scale = max(np.ptp(one.points), np.ptp(other.points), grown)
    if distance > 1e-7 * scale:
        return grown - distance
    if not (len(one.planes) and len(other.planes)):
        return grown
    planes = np.concatenate([one.planes, other.planes])
    # The centre and the radius of a ball that is inside of all planes.
    inside = np.column_stack([planes[:, :3], np.ones(len(planes))])
    found = linprog(
        (0.0, 0.0, 0.0, -1.0),
        A_ub=inside,
        b_ub=-planes[:, 3],
        bounds=[(None, None)] * 3 + [(0.0, None)],
        method="highs",
    )
    return grown + (2.0 * float(found.x[3]) if found.success else 0.0)


def _distance(one: Points, other: Points) -> float:
    """Return the distance of the convex hulls of two sets of points [m].

    Convex combinations at the smallest distance are a problem of non-negative least squares.
    """
    from scipy.optimize import nnls

    center = (one.mean(axis=0) + other.mean(axis=0)) / 2
    size = float(np.abs(np.concatenate([one, other]) - center).max())
    if size == 0:
        return 0.0
    here, there = (one - center) / size, (other - center) / size
    matrix = np.zeros((5, len(here) + len(there)))
    matrix[:3] = np.concatenate([here, -there]).T
    matrix[3, : len(here)] = matrix[4, len(here) :] = _WEIGHT
    weights, _ = nnls(matrix, np.array([0.0, 0.0, 0.0, _WEIGHT, _WEIGHT]))
    ours, theirs = weights[: len(here)], weights[len(here) :]
    gap = ours @ here / ours.sum() - theirs @ there / theirs.sum()
    return float(np.linalg.norm(gap)) * size


def _solid(prim: Usd.Prim, transform: Points) -> _Solid | None:
    """Return a collider in the world, for row vectors; None for an empty mesh."""
    from scipy.spatial import ConvexHull, QhullError

    points, radius = _outline(prim)
    if not len(points):
        return None
    # Prims with a radius are not scaled.
    points = points @ transform[:3, :3] + transform[3, :3]
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        # Flat, or a point.
        return _Solid(points, radius, np.zeros((0, 4)))
    return _Solid(points[hull.vertices], radius, hull.equations)


def _outline(prim: Usd.Prim) -> tuple[Points, float]:
    """Return points and a radius whose grown hull is a shape of the writer, in its frame [m]."""
    names = ("size", "radius", "height")
    values = {name: float(prim.GetAttribute(name).Get() or 0) for name in names}
    half, radius = (values["size"] + values["height"]) / 2, values["radius"]
    match prim.GetTypeName():
        case "Cube":
            return np.array([*product((-half, half), repeat=3)]), 0.0
        case "Sphere" | "Capsule":
            # Shapes are along Z.
            return np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]), radius
        case "Cylinder":
            angles = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
            circle = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), 0 * angles])
            ends = np.array([[[0.0, 0.0, -half]], [[0.0, 0.0, half]]])
            return (circle + ends).reshape(-1, 3), 0.0
        case _:
            points = prim.GetAttribute("points").Get()
            return np.array(points or np.zeros((0, 3)), float), 0.0
