"""Scenes, bodies, joints, contacts, actuators and lists of parts that a URDF does not imply."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, product

import numpy as np
from msgspec import structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.joint_attributes import SAME, Freedom
from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED, BodyTree, Connection
from urdf_usd.conformance.engines.openusd.reading import (
    WORLD,
    Reading,
    SchemaFamily,
    applied_schemas,
    approximation,
    collides,
    is_shown,
    number_attribute,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.engines.openusd.settings import (
    APPROXIMATIONS,
    COMPARED,
    authored_settings,
    schema_settings,
    setting,
    value_setting,
)
from urdf_usd.conformance.engines.openusd.simulation import SELF_COLLISION, filtered_pairs, gains_of
from urdf_usd.conformance.observation.robot import JointType, SettingKind, UnexpectedSetting
from urdf_usd.conformance.observation.simulation import USUAL_FRICTIONS

# Attributes of masses, which concern bodies and their colliders alone.
_MASSES = (
    *("physics:mass", "physics:density", "physics:centerOfMass"),
    *("physics:diagonalInertia", "physics:principalAxes", "newton:inertia"),
)
# Standard gravity of any place on the Earth [m/s^2], and numbers rounded from it.
_GRAVITY = (9.76, 9.84)
_DOWN = 1e-5
_ROBOT = "IsaacRobotAPI"
# The second is a former spelling, which Isaac Sim converts; of joints alone.
_NAMES = ("isaac:nameOverride", "isaac:NameOverride")
_NEWTON_MATERIAL = tuple(
    name
    for name, check in COMPARED.items()
    if check == "collision.materials" and name.startswith("newton:")
)
# Subdivisions that keep all points of a surface.
_FLAT = frozenset({UsdGeom.Tokens.none, UsdGeom.Tokens.bilinear})
_ACTUATORS = {"MjcActuator": "mjc:target", "NewtonActuator": "newton:targets"}


def unexpected_settings(
    reading: Reading, joints: Sequence[Connection], tree: BodyTree
) -> tuple[UnexpectedSetting, ...]:
    found = (
        *schema_settings(reading),
        *_scene_settings(reading),
        *_outside_settings(reading),
        *_contact_settings(reading, joints),
        *_material_settings(reading),
        *_mass_settings(reading),
        *_joint_settings(reading, joints),
        *_shape_settings(reading),
        *_actuator_settings(reading),
        *_robot_schema_settings(reading, joints),
        *authored_settings(reading),
        *_exchanged_bodies(reading, tree),
    )
    return tuple(dict.fromkeys(found))


def _scene_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield gravity other than that of the Earth, and parts in different scenes."""
    note = partial(value_setting, reading, SettingKind.SCENE)
    scenes = [prim for prim in reading.prims if prim.IsA(UsdPhysics.Scene)]
    for prim in scenes:
        scene = UsdPhysics.Scene(prim)
        direction = np.array(scene.GetGravityDirectionAttr().Get(), np.float64)
        size, down = float(np.linalg.norm(direction)), -np.eye(3)[reading.up]
        # Zero stands for the up axis of the stage, reversed.
        if size and not np.linalg.norm(direction / size - down) <= _DOWN:
            yield note(prim, "physics:gravityDirection", "down", tuple(direction.tolist()))
        magnitude = float(scene.GetGravityMagnitudeAttr().Get())
        # Negative infinity stands for that of the Earth; OpenUSD's parser reverses gravity for
        # other negative numbers.
        least, most = _GRAVITY
        if magnitude > -UNBOUNDED and not least <= magnitude * reading.units.length <= most:
            yield note(prim, "physics:gravityMagnitude", 9.81 / reading.units.length, magnitude)
        if prim.GetAttribute("newton:gravityEnabled").Get() is False:
            yield note(prim, "newton:gravityEnabled", "True", value=False)
    # The scene that bodies and colliders state. A collider of a body that states none has that of
    # the body.
    owners: dict[Usd.Prim, str] = {}
    for prim in reading.prims:
        path = str(prim.GetPath())
        is_body = path in reading.bodies
        if is_body or path in reading.shapes:
            targets = prim.GetRelationship("physics:simulationOwner").GetTargets()
            if targets or is_body or not reading.body_of(path):
                owners[prim] = str(targets[0]) if targets else ""
    known = {str(scene.GetPath()) for scene in scenes}
    first = next(iter(known)) if len(known) == 1 else ""
    resolved = {prim: owner or first for prim, owner in owners.items()}
    usual = Counter(resolved.values()).most_common(1)[0][0] if resolved else ""
    for prim, owner in resolved.items():
        if owner != usual or (owners[prim] and owner not in known):
            yield note(prim, "physics:simulationOwner", usual or "none", owner or "none")


def _outside_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield what is outside of the robot, such as a ground plane, and instances.

    A joint outside holds the robot for whoever opens the stage. Of a body of an instance PhysX
    makes none, and nobody can author where it moves.
    """
    for prim in reading.prims:
        joint, moves = UsdPhysics.Joint(prim), True
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            what = "body"
        elif joint and joint.GetJointEnabledAttr().Get() is not False:
            what = "joint"
        elif not joint and prim.IsA(UsdGeom.Gprim) and (collides(prim) or is_shown(prim)):
            what, moves = "collider" if collides(prim) else "visual", False
        elif not joint and collides(prim):
            what, moves = "collider", False
        else:
            continue
        within = prim.GetPath().HasPrefix(reading.robot.GetPath())
        place = "belongs to no link" if within else "is outside of the default prim"
        if moves and prim.IsInstanceProxy():
            place = "is in an instance, where simulators find none"
        elif within and (moves or reading.subject(prim) != "robot"):
            continue
        message = f"{what} {prim.GetPath()} {place}"
        yield setting(reading, SettingKind.SCENE, "robot", message, f"no {what}", f"a {what}")


def _contact_settings(
    reading: Reading, joints: Sequence[Connection]
) -> Iterator[UnexpectedSetting]:
    """Yield contacts between links of a joint, and contacts that are filtered out."""
    note = partial(setting, reading, SettingKind.FILTER)
    collide = {reading.body_of(path) for path in reading.shapes} - {WORLD}
    for joint in joints:
        descriptor = reading.joints.get(joint.path)
        if descriptor and descriptor.collisionEnabled and collide >= set(joint.bodies):
            message = "physics:collisionEnabled lets the links that it connects collide with each "
            message += f"other ({reading.subject(reading.prim(joint.path))})"
            yield note(f"joint {joint.name}", message, "False", "True")
    # What cannot collide, or without a contact that would move it: bodies that a joint connects,
    # and those that fixed joints connect; each has a representative.
    joined = {frozenset(joint.bodies) for joint in joints}
    rigid = {body: body for joint in joints for body in joint.bodies}
    for joint in joints:
        if joint.mobility.type is JointType.FIXED and WORLD not in joint.bodies:
            kept, other = (rigid[body] for body in joint.bodies)
            rigid |= {body: kept for body, part in rigid.items() if part == other}

    def matters(pair: frozenset[str]) -> bool:
        parts = {rigid.get(body, body) for body in pair}
        return len(parts) > 1 and pair not in joined and pair <= collide

    for prim in reading.prims:
        if collides(prim) and "PhysxTriggerAPI" in applied_schemas(prim):
            message = f"collider {prim.GetName()} is a trigger of PhysX, without contacts"
            yield note(prim, message, "contacts", "no contacts")
    for prim in map(reading.prim, reading.articulations):
        for schema, name in SELF_COLLISION:
            if (
                prim.GetAttribute(name).Get() is False
                and schema in applied_schemas(prim)
                and any(map(matters, map(frozenset, combinations(collide, 2))))
            ):
                yield value_setting(reading, SettingKind.FILTER, prim, name, "True", value=False)
    named = dict(filtered_pairs(reading))
    for pair, source in {**named, **dict(_filtered_groups(reading))}.items():
        if matters(pair):
            subject, other = (reading.subject(reading.prim(path)) for path in sorted(pair))
            found = note(
                subject, f"does not collide with {other}: {source}", "contacts", "no contacts"
            )
            attribute = "physics:filteredPairs" if pair in named else ""
            yield structs.replace(found, attribute=attribute, partner=other)


def _filtered_groups(reading: Reading) -> Iterator[tuple[frozenset[str], str]]:
    groups = [prim for prim in reading.prims if prim.IsA(UsdPhysics.CollisionGroup)]
    if not groups:
        return
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(reading.stage)
    members: dict[Sdf.Path, list[str]] = {}
    for prim in groups:
        collection = UsdPhysics.CollisionGroup(prim).GetCollidersCollectionAPI()
        query = collection.ComputeMembershipQuery()
        inside = (path for path in reading.shapes if query.IsPathIncluded(Sdf.Path(path)))
        members[prim.GetPath()] = [reading.body_of(path) for path in inside]
    for one, other in product(members, members):
        if not table.IsCollisionEnabled(one, other):
            for pair in product(members[one], members[other]):
                yield frozenset(pair), f"collision group {one.name}"


def _material_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield properties of the contact materials that colliders have."""
    materials: dict[str, dict[str, float]] = {}
    for prim in reading.prims:
        if not prim.IsA(UsdShade.Material):
            continue
        found = materials[str(prim.GetPath())] = {}
        if prim.HasAPI(UsdPhysics.MaterialAPI):
            names = ("physics:dynamicFriction", "physics:staticFriction", "physics:restitution")
            # Of a blocked one, the fallback counts.
            values = [prim.GetAttribute(name).Get() or 0.0 for name in names]
            dynamic, static, restitution = values
            # That of a simulator for shapes without a material.
            if restitution != 0 or not any(static == dynamic == usual for usual in USUAL_FRICTIONS):
                found |= zip(names, values, strict=True)
            # A bound material without friction has that of its schema, zero; without a material
            # simulators take their own.
            if not prim.GetAttribute(names[2]).HasAuthoredValue():
                found.pop(names[2], None)
        for name in _NEWTON_MATERIAL if "NewtonMaterialAPI" in applied_schemas(prim) else ():
            attribute = prim.GetAttribute(name)
            fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
            if attribute.HasAuthoredValue() and attribute.Get() != fallback:
                found[name] = attribute.Get()
    for prim in reading.prims if any(materials.values()) else ():
        if not collides(prim):
            continue
        bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        for name, value in materials.get(str(bound.GetPath()), {}).items() if bound else ():
            message = f"{name} of its collider is {value:.6g}; the URDF states none"
            unexpected = setting(reading, SettingKind.MATERIAL, prim, message, "none", float(value))
            yield structs.replace(unexpected, attribute=name)


def _mass_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield masses of prims that have none, such as frames of massless links."""
    for prim in reading.prims:
        if not prim.HasAPI(UsdPhysics.MassAPI) or any(
            map(prim.HasAPI, (UsdPhysics.RigidBodyAPI, UsdPhysics.CollisionAPI))
        ):
            continue
        for name in _MASSES:
            attribute = prim.GetAttribute(name)
            value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
            fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
            if value is not None and value != fallback:
                message = f"{name} of {prim.GetName()}, which is no body, is {value}"
                yield setting(reading, SettingKind.BODY, prim, message, "none", str(value))


def _joint_settings(reading: Reading, joints: Sequence[Connection]) -> Iterator[UnexpectedSetting]:
    """Yield couplings and joints that a URDF does not have."""
    note = partial(setting, reading, SettingKind.JOINT)
    for prim in reading.prims:
        # That of MuJoCo includes that of Newton, which would couple them.
        if (
            {"NewtonMimicAPI", "MjcEqualityJointAPI"}.isdisjoint(applied_schemas(prim))
            or prim.IsA(UsdPhysics.RevoluteJoint)
            or prim.IsA(UsdPhysics.PrismaticJoint)
            or prim.GetAttribute("newton:mimicEnabled").Get() is False
        ):
            continue
        names = ("newton:mimicJoint", "mjc:target")
        targets = [path for name in names for path in prim.GetRelationship(name).GetTargets()]
        if targets and str(targets[0]) in reading.joints:
            message = f"it mimics {targets[0].name}, and has not exactly one coordinate"
            yield note(prim, message, "no coupling", "a coupling")
    for path, joint in reading.joints.items():
        # Newton reads neither the mass nor the pose of the body behind such a joint.
        if (
            isinstance(joint, UsdPhysics.D6JointDesc)
            and joint.jointEnabled
            and {str(joint.body0), str(joint.body1)} <= reading.bodies.keys()
            and not any(limit.second.enabled for limit in joint.jointLimits)
        ):
            message = "it is enabled, and holds no coordinate"
            yield note(reading.prim(path), message, "disabled", "enabled")
    for connection in joints:
        if connection.mobility.type is None:
            message = f"no joint of a URDF moves like it: {connection.mobility.note}"
            yield note(f"joint {connection.name}", message, "a joint of a URDF", "another joint")


def _shape_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield shapes that consumers read as something else, or approximate."""
    kind = SettingKind.APPROXIMATION
    note = partial(setting, reading, kind)
    for prim in reading.prims:
        if not prim.IsA(UsdGeom.Gprim):
            continue
        # It marks a place, and is neither drawn nor in contact.
        if "NewtonSiteAPI" in applied_schemas(prim):
            yield note(
                prim, f"{prim.GetName()} is a site of Newton, not a shape", "a shape", "a site"
            )
        if collides(prim) and prim.HasAPI(UsdPhysics.MaterialAPI):
            message = f"collider {prim.GetName()} has PhysicsMaterialAPI, and UsdPhysics parses it "
            yield note(prim, f"{message}as a material", "a collider", "a material")
        if not prim.IsA(UsdGeom.Mesh):
            continue
        token = approximation(prim) if collides(prim) else None
        if token is not None and token not in APPROXIMATIONS:
            name, implied = "physics:approximation", "an approximation of UsdPhysics"
            yield value_setting(reading, kind, prim, name, implied, token)
        scheme = UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Get()
        if scheme not in _FLAT and is_shown(prim):
            name, other = "subdivisionScheme", SettingKind.SUBDIVISION
            yield value_setting(reading, other, prim, name, "none", scheme)


def _actuator_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield joints on which actuators act otherwise than their drives.

    A URDF implies none of Newton's. An actuator of MuJoCo without bias exerts no force while its
    control is zero, and changes nothing. One with a bias is the same as the drive of its joint if
    both have the same gains.
    """
    note = partial(setting, reading, SettingKind.DRIVE)
    sides = "no actuator", "an actuator"
    acting: dict[str, list[Usd.Prim]] = {}
    for prim in reading.prims:
        relationship = _ACTUATORS.get(prim.GetTypeName(), "")
        for target in prim.GetRelationship(relationship).GetTargets() if relationship else ():
            if str(target) in reading.joints and relationship == "mjc:target":
                acting.setdefault(str(target), []).append(prim)
            elif str(target) in reading.joints:
                yield note(reading.prim(target), f"actuator {prim.GetPath()} acts on it", *sides)
    for target, prims in acting.items():
        joint, drive = reading.prim(target), (0.0, 0.0)
        angular = bool(joint.IsA(UsdPhysics.RevoluteJoint))
        freedom = Freedom(angular, "angular" if angular else "linear")
        limits = (f"drive:{freedom.instance}:physics:maxForce", "mjc:actuatorfrcrange:max")
        numbers = [number_attribute(joint, name) for name in limits]
        effort = min((number for number in numbers if number is not None), default=math.inf)
        if angular or joint.IsA(UsdPhysics.PrismaticJoint):
            stiffness, damping, is_acceleration = gains_of(joint, freedom, reading.units)
            drive = (math.nan, math.nan) if is_acceleration else (stiffness, damping)
        gains = [sum(values) for values in zip(*(_gains(p, effort) for p in prims), strict=True)]
        same = (math.isclose(x, own, rel_tol=SAME) for x, own in zip(gains, drive, strict=True))
        if any(gains) and not all(same):
            message = f"actuator {', '.join(str(prim.GetPath()) for prim in prims)} acts otherwise "
            yield note(joint, f"{message}than it", *sides)


def _gains(prim: Usd.Prim, effort: float) -> tuple[float, float]:
    """Return stiffness and damping of an actuator of MuJoCo; NaN if it is something else.

    ``effort`` is the limit of its joint in units of the stage.
    """

    def values(name: str, *fallback: float) -> tuple[float, ...]:
        value = prim.GetAttribute(f"mjc:{name}").Get() if prim.HasAttribute(f"mjc:{name}") else None
        return tuple(map(float, value or fallback))

    lower, upper, armature, rate = (
        number_attribute(prim, f"mjc:{name}") or 0.0
        for name in ("forceRange:min", "forceRange:max", "armature", "damping")
    )
    limited, bias_type, dynamics, gain_type = (
        text_attribute(prim, f"mjc:{name}")
        for name in ("forceLimited", "biasType", "dynType", "gainType")
    )
    is_limited = limited == "true" or (limited in {None, "auto"} and lower < upper)
    is_same_limit = math.isclose(upper, effort, rel_tol=SAME) and lower == -upper
    # Newton adds armature and damping to those of the joint.
    if armature or rate or (is_limited and not is_same_limit):
        return math.nan, math.nan
    if bias_type in {None, "none"}:
        return 0.0, 0.0
    constant, stiffness, damping, *rest = (*values("biasPrm"), 0.0, 0.0, 0.0)
    if bias_type == "affine" and not (constant or stiffness or damping):
        return 0.0, 0.0
    gain, *others = values("gainPrm", 1.0)
    is_servo = (
        bias_type == "affine"
        and not (constant or any(rest) or any(others) or any(values("gear", 1.0)[1:]))
        and math.isclose(gain, -stiffness or -damping, rel_tol=SAME)
        and dynamics in {None, "none"}
        and gain_type in {None, "fixed"}
        and values("gear", 1.0)[0] == 1.0
    )
    return (-stiffness, -damping) if is_servo else (math.nan, math.nan)


def _robot_schema_settings(
    reading: Reading, joints: Sequence[Connection]
) -> Iterator[UnexpectedSetting]:
    """Yield incomplete or unordered lists of Isaac Sim, other names, and a namespace.

    Isaac Sim reports links and joints in the order of ``isaac:physics:robotLinks`` and
    ``isaac:physics:robotJoints``, as far as they have its schemas, and appends those that the lists
    lack. Empty lists state nothing: it finds all parts by their joints.
    """
    kind = SettingKind.ARTICULATION
    for prim in reading.prims:
        schemas = applied_schemas(prim)
        if _ROBOT in schemas:
            if namespace := prim.GetAttribute("isaac:namespace").Get():
                yield value_setting(reading, kind, prim, "isaac:namespace", "empty", namespace)
            inside = [x for x in joints if f"{x.path}/".startswith(f"{prim.GetPath()}/")]
            # The last joint that moves a body; a tree has one of each.
            mover = {joint.ends[1]: joint.path for joint in inside}
            in_tree = [joint for joint in inside if joint.articulated]
            bodies = (body for joint in inside for body in joint.ends if body != WORLD)
            before = {x.ends[1]: x.ends[0] for x in in_tree if WORLD not in x.bodies}
            yield from _of_list(prim, "Link", bodies, before, reading)
            before = {x.path: mover[x.ends[0]] for x in in_tree if x.ends[0] in mover}
            yield from _of_list(prim, "Joint", (x.path for x in inside), before, reading)
        named = _NAMES[:1] * ("IsaacLinkAPI" in schemas) + _NAMES * ("IsaacJointAPI" in schemas)
        for attribute in named:
            name = prim.GetAttribute(attribute).Get()
            if name and name != urdf_name(prim):
                yield value_setting(reading, kind, prim, attribute, urdf_name(prim), name)


def _of_list(
    prim: Usd.Prim, noun: str, required: Iterable[str], before: dict[str, str], reading: Reading
) -> Iterator[UnexpectedSetting]:
    """Compare a list with the parts of a robot, and parts that come before others."""
    note, name = partial(setting, reading, SettingKind.ARTICULATION), f"isaac:physics:robot{noun}s"
    relationship, own = prim.GetRelationship(name), dict.fromkeys(required)
    targets = [str(path) for path in relationship.GetTargets()] if relationship else []
    schemas = {path: applied_schemas(x) for path in targets if (x := reading.prim(path))}
    # A robot in the list stands for all its parts.
    robots = tuple(f"{path}/" for path in targets if _ROBOT in schemas.get(path, ()))
    place = {
        path: number
        for number, path in enumerate(targets)
        if path not in own or f"Isaac{noun}API" in schemas.get(path, ())
    }
    for path in own if targets else ():
        if path not in place and not path.startswith(robots):
            yield note(reading.prim(path), f"{name} lacks it", "listed", "not listed")
    for path, earlier in before.items():
        if path in place and earlier in place and place[path] < place[earlier]:
            other = urdf_name(reading.prim(earlier))
            message = f"{name} has it before {other}, which carries it"
            yield note(reading.prim(path), message, f"after {other}", f"before {other}")
    for path in targets:
        if path not in schemas:
            yield note(prim, f"{name} lists {path}, which does not exist", "no such entry", path)


def _exchanged_bodies(reading: Reading, tree: BodyTree) -> Iterator[UnexpectedSetting]:
    """Yield joints whose ``body0`` is the child, unless the asset is PhysX's alone.

    Newton 1.8 refuses a robot with one ("Reversed joints are not supported"), or computes other
    forces, as of a prismatic joint. OpenUSD and PhysX compute the same robot if the frames are
    exchanged as well.
    """
    if SchemaFamily.PHYSX in reading.families and SchemaFamily.NEWTON not in reading.families:
        return
    note = partial(setting, reading, SettingKind.JOINT)
    for joint in tree.joints:
        if joint.reversed and WORLD not in joint.bodies:
            message = "physics:body0 is the child and physics:body1 the parent, which Newton does "
            sides = "the parent in physics:body0", "the child in physics:body0"
            yield note(f"joint {joint.name}", f"{message}not support", *sides)
