"""The layer of simulation settings: drives, armature, initial state, contacts.

It is stronger than the physics layer and contains nothing that comes from the URDF
alone, so that removing it leaves the asset of the URDF. Angles are in degrees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import degrees

from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Continuous, Prismatic, Revolute
from urdf_usd.converter.simulation.sources import ContactMaterial, Simulation
from urdf_usd.converter.usd.profiles.joint_attributes import axis_instance
from urdf_usd.converter.usd.simulation.overlaps import bodies_in_contact
from urdf_usd.converter.usd.writer.float32 import to_float32
from urdf_usd.converter.usd.writer.joints import articulation_roots
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import (
    apply,
    apply_once,
    define,
    over,
    relate,
    write_new,
)

_ONE_AXIS = (Revolute, Continuous, Prismatic)


def author_simulation(
    layer: Sdf.Layer,
    composed: Usd.Stage,
    simulation: Simulation,
    prims: Prims,
    *,
    newton: bool,
    physx: bool,
    selected: bool = True,
) -> tuple[Diagnostic, ...]:
    """Write simulation settings.

    Args:
        layer: The layer of these settings alone.
        composed: The asset without them.
        simulation: What is written.
        prims: The robot.
        newton: Whether settings without a schema of UsdPhysics, and the initial
            state, are written in those of Newton.
        physx: Likewise of PhysX.
        selected: Whether the asset has these schemas without a choice of variants.

    Returns:
        Diagnostics about settings that the asset does not have.

    Raises:
        AuthoringError: A number is beyond float32.
    """
    _author_joints(layer, simulation, prims, newton=newton, physx=physx)
    roots = articulation_roots(prims)
    for path in roots if simulation.self_collision is not None else ():
        prim = over(layer, path)
        for written, schema, attribute in (
            (newton, "NewtonArticulationRootAPI", "newton:selfCollisionEnabled"),
            (physx, "PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"),
        ):
            if written:
                apply_once(prim, schema)
                kind = Sdf.ValueTypeNames.Bool
                write_new(prim, attribute, kind, simulation.self_collision)
    notes: list[Diagnostic] = []
    _author_filtered_pairs(layer, composed, simulation, prims, roots, notes)
    _author_contact_materials(layer, composed, simulation.contact_materials, prims)
    for key in _lost(simulation, newton=newton, physx=physx):
        message = f"{key} is not written: the profile has no schema for it"
        notes.append(Diagnostic("description-lost", message))
    for key in () if selected else _lost(simulation, newton=False, physx=False):
        message = f"{key} is written in physics variants, none of which is selected"
        notes.append(Diagnostic("description-variants", message))
    return tuple(notes)


def _lost(simulation: Simulation, *, newton: bool, physx: bool) -> list[str]:
    """Return the keys of settings that no schema has."""
    represented = {
        "armature": (simulation.armatures, newton or physx),
        # A stiffness of PhysX would soften its limits, which are hard.
        "limit_stiffness": (simulation.limit_stiffnesses, newton),
        "limit_damping": (simulation.limit_dampings, newton),
        "self_collision": (simulation.self_collision is not None, newton or physx),
    }
    return [key for key, (wanted, known) in represented.items() if wanted and not known]


def _author_joints(
    layer: Sdf.Layer, simulation: Simulation, prims: Prims, *, newton: bool, physx: bool
) -> None:
    """Write drives, armature, springs at limits and initial positions."""
    joints = {joint.name: joint for joint in prims.tree.parent_joint.values()}
    # Angles are in degrees, and gains per degree.
    units = {
        name: 1.0 if isinstance(joints[name].kind, Prismatic) else degrees(1.0)
        for name in prims.joint
    }
    axes = {name: axis_instance(angular=unit != 1.0) for name, unit in units.items()}

    def author(joint: str, schema: str, attributes: Mapping[str, float], what: str = "") -> None:
        prim = over(layer, prims.joint[joint])
        apply_once(prim, schema)
        for name, value in attributes.items():
            subject = what or name.rpartition(":")[2]
            _write(prim, name, value, f"{subject} of joint {joint!r}")

    for name in prims.joint if simulation.drives and not (newton or physx) else ():
        # In an asset with drives, consumers read effort limits from drives alone.
        effort = joints[name].effort
        if isinstance(joints[name].kind, _ONE_AXIS) and effort is not None and effort >= 0:
            begin = f"drive:{axes[name]}:physics"
            values = {"maxForce": effort, "stiffness": 0.0, "damping": 0.0}
            schema = f"PhysicsDriveAPI:{axes[name]}"
            author(name, schema, {f"{begin}:{key}": value for key, value in values.items()})
    for drive in simulation.drives:
        name, unit, axis = drive.joint, units[drive.joint], axes[drive.joint]
        begin, schema = f"drive:{axis}:physics", f"PhysicsDriveAPI:{axis}"
        author(name, schema, {})
        uniform, token = Sdf.VariabilityUniform, Sdf.ValueTypeNames.Token
        kind = UsdPhysics.Tokens.force
        write_new(over(layer, prims.joint[name]), f"{begin}:type", token, kind, uniform)
        values = {
            "stiffness": drive.stiffness / unit,
            "damping": drive.damping / unit,
            "targetPosition": drive.target_position * unit,
            "targetVelocity": drive.target_velocity * unit,
        }
        author(name, schema, {f"{begin}:{key}": value for key, value in values.items()})
    for name, armature in simulation.armatures:
        if newton:
            # Newton and PhysX read it.
            author(name, "NewtonJointAPI", {"newton:armature": armature})
        if physx:
            # Read by PhysX before ovphysx 0.7, and from then on.
            author(name, "PhysxJointAPI", {"physxJoint:armature": armature})
            begin = f"physxJointAxis:{axes[name]}"
            author(name, f"PhysxJointAxisAPI:{axes[name]}", {f"{begin}:armature": armature})
    for key, springs in (
        ("newton:limitStiffness", simulation.limit_stiffnesses),
        ("newton:limitDamping", simulation.limit_dampings),
    ):
        for name, value in springs if newton else ():
            author(name, "NewtonJointAPI", {key: value / units[name]})
    for name, position in simulation.positions:
        values = {f"state:{axes[name]}:physics:position": position * units[name]}
        if newton:
            # Newton does not read PhysicsJointStateAPI, but this attribute without schema.
            values[f"newton:{axes[name]}:position"] = position * units[name]
        author(name, f"PhysicsJointStateAPI:{axes[name]}", values, "the initial position")


def _write(prim: Sdf.PrimSpec, name: str, value: float, what: str) -> None:
    stored = to_float32(value, what)
    if name in prim.attributes:
        prim.attributes[name].default = stored
    else:
        write_new(prim, name, Sdf.ValueTypeNames.Float, stored)


def _author_filtered_pairs(
    layer: Sdf.Layer,
    composed: Usd.Stage,
    simulation: Simulation,
    prims: Prims,
    roots: Collection[Sdf.Path],
    notes: list[Diagnostic],
) -> None:
    """Write pairs of bodies that do not collide.

    A filter of a body that is the root of an articulation would concern all of it;
    there, the colliders are named.
    """
    pairs = _body_pairs(simulation.filtered_pairs, prims.bodies)
    shapes: dict[str, list[Sdf.Path]] = {}
    for link, paths in prims.collision.items():
        if (body := prims.bodies.body_of[link]) is not None:
            shapes.setdefault(body, []).extend(paths)
    if simulation.filter_overlaps:
        pairs += _overlaps(composed, pairs, prims, shapes, notes)

    def prims_of(body: str) -> tuple[Sdf.Path, ...]:
        if prims.link[body] not in roots:
            return (prims.link[body],)
        return tuple(_colliders(composed, shapes.get(body, ())))

    targets: dict[Sdf.Path, dict[Sdf.Path, None]] = {}
    for first, second in pairs:
        for path in prims_of(first):
            targets.setdefault(path, {}).update(dict.fromkeys(prims_of(second)))
    for path, others in targets.items():
        if others:
            prim = over(layer, path)
            apply_once(prim, "PhysicsFilteredPairsAPI")
            relation = Sdf.RelationshipSpec(prim, "physics:filteredPairs", custom=False)
            relation.targetPathList.explicitItems = list(others)


def _body_pairs(
    pairs: Iterable[tuple[str, str]], bodies: BodyAssignment
) -> tuple[tuple[str, str], ...]:
    """Return pairs of different bodies of links; colliders of one body do not collide."""
    found = (tuple(bodies.body_of[name] for name in pair) for pair in pairs)
    return tuple(
        dict.fromkeys(
            (min(one, other), max(one, other))
            for one, other in found
            if one is not None and other is not None and one != other
        )
    )


def _overlaps(
    composed: Usd.Stage,
    filtered: Iterable[tuple[str, str]],
    prims: Prims,
    shapes: Mapping[str, Iterable[Sdf.Path]],
    notes: list[Diagnostic],
) -> tuple[tuple[str, str], ...]:
    """Return bodies that overlap at rest, and report them and those that touch.

    Bodies of one joint are not tested: simulators let them not collide.
    """
    joined = ((joint.parent, joint.child) for joint in prims.tree.parent_joint.values())
    ignored = set(map(frozenset, (*filtered, *_body_pairs(joined, prims.bodies))))
    body_of = {str(path): body for body, paths in shapes.items() for path in paths}
    overlapping, touching = bodies_in_contact(composed, body_of, ignored)
    for rule, pairs, what in (
        (
            "collision-overlap",
            overlapping,
            "overlap at rest, and filters.overlap stops their collisions",
        ),
        ("collision-touch", touching, "touch at rest"),
    ):
        if pairs:
            listed = ", ".join(f"{one} and {other}" for one, other in pairs)
            notes.append(Diagnostic(rule, f"links {what}: {listed}"))
    return overlapping


def _author_contact_materials(
    layer: Sdf.Layer,
    composed: Usd.Stage,
    contact_materials: Iterable[ContactMaterial],
    prims: Prims,
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
            prim = define(layer, materials[values], "Material")
            apply(prim, "PhysicsMaterialAPI")
            attributes = dict(
                zip(("staticFriction", "dynamicFriction", "restitution"), values, strict=True)
            )
            for attribute, value in attributes.items():
                # A restitution of zero is that of the schema.
                if value or attribute != "restitution":
                    what = f"{attribute} of link {contact.link!r}"
                    _write(prim, f"physics:{attribute}", value, what)
        for path in _colliders(composed, prims.collision[contact.link]):
            prim = over(layer, path)
            apply_once(prim, "MaterialBindingAPI")
            relate(prim, "material:binding:physics", materials[values])


def _colliders(composed: Usd.Stage, paths: Iterable[Sdf.Path]) -> Iterator[Sdf.Path]:
    """Yield the colliders at or below prims; a shape may have one per group."""
    for path in paths:
        prim = composed.GetPrimAtPath(path)
        for part in Usd.PrimRange(prim) if prim else ():
            if part.HasAPI(UsdPhysics.CollisionAPI):
                yield part.GetPath()
