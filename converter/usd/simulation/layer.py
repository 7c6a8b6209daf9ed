"""The layer of simulation settings: drives, armature, initial state, contacts.

It is stronger than the physics layer and contains nothing that comes from the URDF
alone, so that removing it leaves the asset of the URDF. Angles are in degrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import degrees

from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Continuous, Joint, Prismatic, Revolute
from urdf_usd.converter.simulation.sources import (
    ContactMaterial,
    JointDrive,
    Simulation,
)
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

_FLOAT = Sdf.ValueTypeNames.Float
_ONE_AXIS = (Revolute, Continuous, Prismatic)
_FILTERED_PAIRS = "PhysicsFilteredPairsAPI"


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
    bodies = prims.bodies
    joints = {joint.name: joint for joint in prims.tree.parent_joint.values()}
    angular = {name: not isinstance(joints[name].kind, Prismatic) for name in prims.joint}
    if not (newton or physx) and simulation.drives:
        _author_efforts(layer, joints, prims.joint)
    _author_joints(layer, simulation, prims, angular, newton=newton, physx=physx)
    roots = articulation_roots(prims)
    if simulation.self_collision is not None:
        chosen = _self_collision_attributes(newton=newton, physx=physx)
        _author_self_collision(layer, roots, chosen, enabled=simulation.self_collision)
    body_of = {
        str(path): body
        for link, paths in prims.collision.items()
        if (body := bodies.body_of[link]) is not None
        for path in paths
    }
    pairs = _body_pairs(simulation.filtered_pairs, bodies)
    found: tuple[Diagnostic, ...] = ()
    if simulation.filter_overlaps:
        overlapping, found = _overlaps(composed, pairs, prims, body_of)
        pairs = (*pairs, *overlapping)
    paths = {
        body: _filter_prims(
            composed,
            prims.link[body],
            roots,
            (Sdf.Path(path) for path, name in body_of.items() if name == body),
        )
        for body in dict.fromkeys(name for pair in pairs for name in pair)
    }
    _author_filtered_pairs(layer, pairs, paths)
    _author_contact_materials(layer, composed, simulation.contact_materials, prims)
    for what in _lost(simulation, newton=newton, physx=physx):
        message = f"{what} is not written: the profile has no schema for it"
        found += (Diagnostic("description-lost", message),)
    for what in () if selected else _lost(simulation, newton=False, physx=False):
        message = f"{what} is written in physics variants, none of which is selected"
        found += (Diagnostic("description-variants", message),)
    return found


def _author_joints(
    layer: Sdf.Layer,
    simulation: Simulation,
    prims: Prims,
    angular: Mapping[str, bool],
    *,
    newton: bool,
    physx: bool,
) -> None:
    """Write drives, armature, springs at limits and initial positions."""
    for drive in simulation.drives:
        prim = over(layer, prims.joint[drive.joint])
        _author_drive(prim, drive, angular=angular[drive.joint])
    for name, armature in simulation.armatures:
        attributes = _armature_attributes(newton=newton, physx=physx, angular=angular[name])
        for schema, attribute in attributes:
            prim = over(layer, prims.joint[name])
            apply_once(prim, schema)
            _write(prim, attribute, armature, f"armature of joint {name!r}")
    springs = {
        "limitStiffness": simulation.limit_stiffnesses,
        "limitDamping": simulation.limit_dampings,
    }
    for attribute, values in springs.items():
        for name, value in values if newton else ():
            prim = over(layer, prims.joint[name])
            apply_once(prim, "NewtonJointAPI")
            per_degree = value / (degrees(1.0) if angular[name] else 1.0)
            what = f"{attribute} of joint {name!r}"
            _write(prim, f"newton:{attribute}", per_degree, what)
    for name, position in simulation.positions:
        prim = over(layer, prims.joint[name])
        _author_position(prim, name, position, newton=newton, angular=angular[name])


def _lost(simulation: Simulation, *, newton: bool, physx: bool) -> list[str]:
    """Return the keys of settings that no schema has."""
    lost = []
    if simulation.armatures and not (newton or physx):
        lost.append("armature")
    # A stiffness of PhysX would soften its limits, which are hard.
    if simulation.limit_stiffnesses and not newton:
        lost.append("limit_stiffness")
    if simulation.limit_dampings and not newton:
        lost.append("limit_damping")
    if simulation.self_collision is not None and not (newton or physx):
        lost.append("self_collision")
    return lost


def _self_collision_attributes(*, newton: bool, physx: bool) -> Iterator[tuple[str, str]]:
    """Yield schemas and attributes of articulations."""
    if newton:
        yield "NewtonArticulationRootAPI", "newton:selfCollisionEnabled"
    if physx:
        yield "PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"


def _write(prim: Sdf.PrimSpec, name: str, value: float, what: str) -> None:
    write_new(prim, name, _FLOAT, to_float32(value, what))


def _author_efforts(
    layer: Sdf.Layer, joints: Mapping[str, Joint], paths: Mapping[str, Sdf.Path]
) -> None:
    """Write effort limits of all joints as drives without gains.

    In an asset with drives, consumers read effort limits from drives alone.
    """
    for name, path in paths.items():
        joint = joints[name]
        if joint.effort is None or joint.effort < 0:
            continue
        if isinstance(joint.kind, _ONE_AXIS):
            prim = over(layer, path)
            instance = axis_instance(angular=not isinstance(joint.kind, Prismatic))
            apply_once(prim, f"PhysicsDriveAPI:{instance}")
            values = {"maxForce": joint.effort, "stiffness": 0.0, "damping": 0.0}
            for part, value in values.items():
                what = f"{part} of joint {name!r}"
                _write(prim, f"drive:{instance}:physics:{part}", value, what)


def _author_drive(prim: Sdf.PrimSpec, drive: JointDrive, *, angular: bool) -> None:
    instance = axis_instance(angular=angular)
    # Gains are per degree, targets in degrees.
    unit = degrees(1.0) if angular else 1.0
    values = {
        "stiffness": drive.stiffness / unit,
        "damping": drive.damping / unit,
        "targetPosition": drive.target_position * unit,
        "targetVelocity": drive.target_velocity * unit,
    }
    apply_once(prim, f"PhysicsDriveAPI:{instance}")
    begin = f"drive:{instance}:physics"
    uniform, token = Sdf.VariabilityUniform, Sdf.ValueTypeNames.Token
    if f"{begin}:type" not in prim.properties:
        kind = UsdPhysics.Tokens.force
        write_new(prim, f"{begin}:type", token, kind, uniform)
    for name, value in values.items():
        what = f"{name} of joint {drive.joint!r}"
        attribute = prim.attributes.get(f"{begin}:{name}")
        if attribute is None:
            _write(prim, f"{begin}:{name}", value, what)
        else:
            attribute.default = to_float32(value, what)


def _armature_attributes(*, newton: bool, physx: bool, angular: bool) -> Iterator[tuple[str, str]]:
    """Yield schemas and attributes of armature."""
    if newton:
        # Newton and PhysX read it.
        yield "NewtonJointAPI", "newton:armature"
    if physx:
        # Read by PhysX before ovphysx 0.7, and from then on.
        instance = axis_instance(angular=angular)
        yield "PhysxJointAPI", "physxJoint:armature"
        yield f"PhysxJointAxisAPI:{instance}", f"physxJointAxis:{instance}:armature"


def _author_position(
    prim: Sdf.PrimSpec, joint: str, position: float, *, newton: bool, angular: bool
) -> None:
    instance = axis_instance(angular=angular)
    value = degrees(position) if angular else position
    what = f"the initial position of joint {joint!r}"
    apply_once(prim, f"PhysicsJointStateAPI:{instance}")
    _write(prim, f"state:{instance}:physics:position", value, what)
    if newton:
        # Newton does not read PhysicsJointStateAPI, but this attribute without schema.
        _write(prim, f"newton:{instance}:position", value, what)


def _author_self_collision(
    layer: Sdf.Layer,
    roots: Iterable[Sdf.Path],
    attributes: Iterable[tuple[str, str]],
    *,
    enabled: bool,
) -> None:
    chosen = tuple(attributes)
    for path in roots:
        prim = over(layer, path)
        for schema, attribute in chosen:
            apply_once(prim, schema)
            write_new(prim, attribute, Sdf.ValueTypeNames.Bool, enabled)


def _body_pairs(
    pairs: Iterable[tuple[str, str]], bodies: BodyAssignment
) -> tuple[tuple[str, str], ...]:
    """Return pairs of different bodies of links."""
    found: dict[tuple[str, str], None] = {}
    for one, other in pairs:
        first, second = (bodies.body_of[name] for name in (one, other))
        # Colliders of one body, or of the world, do not collide with each other.
        if first is None or second is None or first == second:
            continue
        found[min(first, second), max(first, second)] = None
    return tuple(found)


def _overlaps(
    composed: Usd.Stage,
    filtered: Iterable[tuple[str, str]],
    prims: Prims,
    body_of: Mapping[str, str],
) -> tuple[tuple[tuple[str, str], ...], tuple[Diagnostic, ...]]:
    """Find bodies that overlap at rest, and report them and those that touch.

    Bodies of one joint are not tested: simulators let them not collide.
    """
    ignored = set(map(frozenset, filtered))
    joined = ((joint.parent, joint.child) for joint in prims.tree.parent_joint.values())
    ignored |= set(map(frozenset, _body_pairs(joined, prims.bodies)))
    overlapping, touching = bodies_in_contact(composed, body_of, ignored)
    found = [
        Diagnostic(rule, f"links {what}: {_listed(pairs)}")
        for rule, pairs, what in (
            (
                "collision-overlap",
                overlapping,
                "overlap at rest, and filters.overlap stops their collisions",
            ),
            ("collision-touch", touching, "touch at rest"),
        )
        if pairs
    ]
    return overlapping, tuple(found)


def _listed(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{one} and {other}" for one, other in pairs)


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
    for one in contact_materials:
        values = one.static, one.dynamic, one.restitution
        if values not in materials:
            name = f"contact_{len(materials)}"
            while name in names:
                name += "_"
            materials[values] = prims.physics.AppendChild(name)
            prim = define(layer, materials[values], "Material")
            apply(prim, "PhysicsMaterialAPI")
            attributes = {
                "staticFriction": one.static,
                "dynamicFriction": one.dynamic,
            }
            if one.restitution:
                # Zero is that of the schema.
                attributes["restitution"] = one.restitution
            for attribute, value in attributes.items():
                what = f"{attribute} of link {one.link!r}"
                _write(prim, f"physics:{attribute}", value, what)
        for path in _colliders(composed, prims.collision[one.link]):
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


def _filter_prims(
    composed: Usd.Stage,
    body: Sdf.Path,
    roots: Iterable[Sdf.Path],
    shapes: Iterable[Sdf.Path],
) -> tuple[Sdf.Path, ...]:
    """Return the prims that a filter of a body names: the body, or its colliders.

    A filter of a body that is the root of an articulation would concern all of it.
    """
    if body not in roots:
        return (body,)
    return tuple(_colliders(composed, shapes))


def _author_filtered_pairs(
    layer: Sdf.Layer,
    pairs: Iterable[tuple[str, str]],
    paths: Mapping[str, tuple[Sdf.Path, ...]],
) -> None:
    """Write pairs of bodies.

    Args:
        layer: The layer.
        pairs: Names of bodies.
        paths: The prims that filters of each body name; none without colliders.
    """
    targets: dict[Sdf.Path, dict[Sdf.Path, None]] = {}
    for first, second in pairs:
        for path in paths[first]:
            targets.setdefault(path, {}).update(dict.fromkeys(paths[second]))
    for path, others in targets.items():
        if not others:
            continue
        prim = over(layer, path)
        apply_once(prim, _FILTERED_PAIRS)
        relation = Sdf.RelationshipSpec(prim, "physics:filteredPairs", custom=False)
        relation.targetPathList.explicitItems = list(others)
