"""Scenes, bodies, joints, actuators and lists of parts that a URDF does not imply."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SAME,
    SchemaFamily,
    applied_schemas,
    used_families,
)
from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED, BodyTree, Connection
from urdf_usd.conformance.engines.openusd.links import WORLD, LinkPrims
from urdf_usd.conformance.engines.openusd.settings import Parts, authored_settings, schema_settings
from urdf_usd.conformance.engines.openusd.simulation import (
    contact_settings,
    material_settings,
    shape_settings,
)
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    collides,
    is_shown,
    number_attribute,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.observation.robot import SettingKind, UnexpectedSetting

# Attributes of masses, which concern bodies and their colliders alone.
_MASSES = (
    *("physics:mass", "physics:density", "physics:centerOfMass"),
    *("physics:diagonalInertia", "physics:principalAxes", "newton:inertia"),
)
# Standard gravity of any place on the Earth [m/s^2], and numbers rounded from it.
_GRAVITY = (9.76, 9.84)
_DOWN = 1e-5
_ROBOT = "IsaacRobotAPI"
_NAMES = {
    "IsaacLinkAPI": ("isaac:nameOverride",),
    # The first is a former spelling, which Isaac Sim converts.
    "IsaacJointAPI": ("isaac:nameOverride", "isaac:NameOverride"),
}


def unexpected_settings(
    physics: Physics, links: LinkPrims, joints: Sequence[Connection], tree: BodyTree
) -> tuple[UnexpectedSetting, ...]:
    parts = Parts(physics, links)
    found = (
        *schema_settings(parts),
        *_scene_settings(parts),
        *_outside_settings(parts),
        *contact_settings(parts, joints),
        *material_settings(parts),
        *_mass_settings(parts),
        *_joint_settings(parts, joints),
        *shape_settings(parts),
        *_actuator_settings(parts),
        *_robot_schema_settings(parts, joints),
        *authored_settings(parts),
        *_exchanged_bodies(parts, tree),
    )
    return tuple(dict.fromkeys(found))


def _scene_settings(parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield gravity other than that of the Earth, and parts in different scenes."""
    kind, physics = SettingKind.SCENE, parts.physics
    scenes = [prim for prim in parts.prims if prim.IsA(UsdPhysics.Scene)]
    down = np.zeros(3)
    down["XYZ".index(UsdGeom.GetStageUpAxis(physics.stage))] = -1.0
    for prim in scenes:
        scene = UsdPhysics.Scene(prim)
        direction = np.array(scene.GetGravityDirectionAttr().Get(), np.float64)
        size = float(np.linalg.norm(direction))
        # Zero stands for the up axis of the stage, reversed.
        if size and not np.linalg.norm(direction / size - down) <= _DOWN:
            value = tuple(direction.tolist())
            yield parts.value_setting(kind, prim, "physics:gravityDirection", "down", value)
        magnitude = float(scene.GetGravityMagnitudeAttr().Get())
        # Negative infinity stands for that of the Earth; OpenUSD's parser reverses gravity for
        # other negative numbers.
        least, most = _GRAVITY
        if magnitude > -UNBOUNDED and not least <= magnitude * physics.units.length <= most:
            gravity = 9.81 / physics.units.length
            yield parts.value_setting(kind, prim, "physics:gravityMagnitude", gravity, magnitude)
        if prim.GetAttribute("newton:gravityEnabled").Get() is False:
            yield parts.value_setting(kind, prim, "newton:gravityEnabled", "True", value=False)
    owners = dict(_owners(parts))
    known = {str(scene.GetPath()) for scene in scenes}
    first = next(iter(known)) if len(known) == 1 else ""
    resolved = {prim: owner or first for prim, owner in owners.items()}
    usual = Counter(resolved.values()).most_common(1)[0][0] if resolved else ""
    for prim, owner in resolved.items():
        if owner != usual or (owners[prim] and owner not in known):
            name, implied = "physics:simulationOwner", usual or "none"
            yield parts.value_setting(kind, prim, name, implied, owner or "none")


def _owners(parts: Parts) -> Iterator[tuple[Usd.Prim, str]]:
    """Yield bodies and colliders with the scene that they state.

    A collider of a body that states none has the scene of the body.
    """
    for prim in parts.prims:
        path = str(prim.GetPath())
        is_body = path in parts.physics.bodies
        if is_body or path in parts.physics.shapes:
            api = (UsdPhysics.RigidBodyAPI if is_body else UsdPhysics.CollisionAPI)(prim)
            targets = api.GetSimulationOwnerRel().GetTargets()
            if targets or is_body or not parts.body_of(path):
                yield prim, str(targets[0]) if targets else ""


def _outside_settings(parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield what is outside of the robot, such as a ground plane, and instances.

    A joint outside holds the robot for whoever opens the stage. Of a body of an instance PhysX
    makes none, and nobody can author where it moves.
    """
    default = parts.physics.default.GetPath()
    for prim in parts.prims:
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            what = "body"
        elif prim.IsA(UsdPhysics.Joint):
            if UsdPhysics.Joint(prim).GetJointEnabledAttr().Get() is False:
                continue
            what = "joint"
        elif collides(prim):
            what = "collider"
        elif prim.IsA(UsdGeom.Gprim):
            what = "visual"
        else:
            continue
        within, moves = prim.GetPath().HasPrefix(default), what in {"body", "joint"}
        place = "belongs to no link" if within else "is outside of the default prim"
        if moves and prim.IsInstanceProxy():
            place = "is in an instance, where simulators find none"
        elif (within and (moves or parts.subject(prim) != "robot")) or (
            what == "visual" and not is_shown(prim)
        ):
            continue
        message, sides = f"{what} {prim.GetPath()} {place}", (f"no {what}", f"a {what}")
        yield UnexpectedSetting(SettingKind.SCENE, "robot", message, *sides)


def _mass_settings(parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield masses of prims that have none, such as frames of massless links."""
    bodies = (UsdPhysics.RigidBodyAPI, UsdPhysics.CollisionAPI)
    for prim in parts.prims:
        if not prim.HasAPI(UsdPhysics.MassAPI) or any(map(prim.HasAPI, bodies)):
            continue
        for name in _MASSES:
            attribute = prim.GetAttribute(name)
            value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
            fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
            if value is not None and value != fallback:
                message = f"{name} of {prim.GetName()}, which is no body, is {value}"
                yield parts.setting(SettingKind.BODY, prim, message, "none", str(value))


def _joint_settings(parts: Parts, joints: Sequence[Connection]) -> Iterator[UnexpectedSetting]:
    """Yield couplings and joints that a URDF does not have."""
    kind = SettingKind.JOINT
    for prim in parts.prims:
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
        if targets and str(targets[0]) in parts.physics.joints:
            message = f"it mimics {targets[0].name}, and has not exactly one coordinate"
            yield parts.setting(kind, prim, message, "no coupling", "a coupling")
    for path, joint in parts.physics.joints.items():
        # Newton reads neither the mass nor the pose of the body behind such a joint.
        if (
            isinstance(joint, UsdPhysics.D6JointDesc)
            and joint.jointEnabled
            and {str(joint.body0), str(joint.body1)} <= parts.physics.bodies.keys()
            and not any(limit.second.enabled for limit in joint.jointLimits)
        ):
            name = urdf_name(parts.physics.stage.GetPrimAtPath(path))
            message, sides = "it is enabled, and holds no coordinate", ("disabled", "enabled")
            yield UnexpectedSetting(kind, f"joint {name}", message, *sides)
    for connection in joints:
        if connection.mobility.type is None:
            message = f"no joint of a URDF moves like it: {connection.mobility.note}"
            sides = "a joint of a URDF", "another joint"
            yield UnexpectedSetting(kind, f"joint {connection.name}", message, *sides)


def _exchanged_bodies(parts: Parts, tree: BodyTree) -> Iterator[UnexpectedSetting]:
    """Yield joints whose ``body0`` is the child, unless the asset is PhysX's alone.

    Newton 1.8 refuses a robot with one ("Reversed joints are not supported"), or computes other
    forces, as of a prismatic joint. OpenUSD and PhysX compute the same robot if the frames are
    exchanged as well.
    """
    families = used_families(parts.physics)
    if SchemaFamily.PHYSX in families and SchemaFamily.NEWTON not in families:
        return
    for joint in tree.joints:
        if joint.reversed and WORLD not in joint.bodies:
            message = "physics:body0 is the child and physics:body1 the parent, which Newton does "
            sides = "the parent in physics:body0", "the child in physics:body0"
            kind, subject = SettingKind.JOINT, f"joint {joint.name}"
            yield UnexpectedSetting(kind, subject, f"{message}not support", *sides)


def _actuator_settings(parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield joints on which actuators act otherwise than their drives.

    A URDF implies none of Newton's. An actuator of MuJoCo without bias exerts no force while its
    control is zero, and changes nothing. One with a bias is the same as the drive of its joint if
    both have the same gains.
    """
    kind, sides = SettingKind.DRIVE, ("no actuator", "an actuator")
    prim_at = parts.physics.stage.GetPrimAtPath
    acting: dict[str, list[Usd.Prim]] = {}
    for prim in parts.prims:
        is_mujoco = prim.GetTypeName() == "MjcActuator"
        if is_mujoco or prim.GetTypeName() == "NewtonActuator":
            relationship = prim.GetRelationship("mjc:target" if is_mujoco else "newton:targets")
            for target in map(str, relationship.GetTargets()):
                if target in parts.physics.joints and is_mujoco:
                    acting.setdefault(target, []).append(prim)
                elif target in parts.physics.joints:
                    joint, message = prim_at(target), f"actuator {prim.GetPath()} acts on it"
                    yield parts.setting(kind, joint, message, *sides)
    for target, prims in acting.items():
        joint = prim_at(target)
        drive, effort = _drive(joint, parts)
        gains = [sum(values) for values in zip(*(_gains(p, effort) for p in prims), strict=True)]
        if any(gains) and not all(
            math.isclose(gain, own, rel_tol=SAME) for gain, own in zip(gains, drive, strict=True)
        ):
            paths = ", ".join(str(prim.GetPath()) for prim in prims)
            yield parts.setting(kind, joint, f"actuator {paths} acts otherwise than it", *sides)


def _drive(joint: Usd.Prim, parts: Parts) -> tuple[tuple[float, float], float]:
    """Return stiffness and damping of the drive of a joint with one coordinate [SI].

    And the effort limit in units of the stage; infinite without.
    """
    angular = bool(joint.IsA(UsdPhysics.RevoluteJoint))
    begin = f"drive:{'angular' if angular else 'linear'}:physics"
    limits = (f"{begin}:maxForce", "mjc:actuatorfrcrange:max")
    numbers = [number_attribute(joint, name) for name in limits]
    effort = min((number for number in numbers if number is not None), default=math.inf)
    if not (angular or joint.IsA(UsdPhysics.PrismaticJoint)):
        return (0.0, 0.0), effort
    if text_attribute(joint, f"{begin}:type") == UsdPhysics.Tokens.acceleration:
        return (math.nan, math.nan), effort
    units = parts.physics.units
    unit = units.effort(angular=angular) / units.position(angular=angular)
    stiffness, damping = (
        (number_attribute(joint, f"{begin}:{name}") or 0.0) * unit
        for name in ("stiffness", "damping")
    )
    return (stiffness, damping), effort


def _gains(prim: Usd.Prim, effort: float) -> tuple[float, float]:
    """Return stiffness and damping of an actuator of MuJoCo; NaN if it is something else."""
    other = math.nan, math.nan

    def number(name: str) -> float:
        return number_attribute(prim, name) or 0.0

    def text(name: str, fallback: str) -> str:
        return text_attribute(prim, name) or fallback

    def numbers(name: str) -> tuple[float, ...]:
        attribute = prim.GetAttribute(name)
        return tuple(map(float, attribute.Get() or ())) if attribute else ()

    # Newton adds these attributes to those of the joint.
    if number("mjc:armature") or number("mjc:damping"):
        return other
    lower, upper = number("mjc:forceRange:min"), number("mjc:forceRange:max")
    limited = text("mjc:forceLimited", "auto")
    is_limited = limited != "false" and (limited != "auto" or lower < upper)
    if is_limited and not (math.isclose(upper, effort, rel_tol=SAME) and lower == -upper):
        return other
    bias_type = text("mjc:biasType", "none")
    if bias_type not in {"none", "affine"}:
        return other
    bias = numbers("mjc:biasPrm") if bias_type == "affine" else ()
    constant, place, rate, *rest = (*bias, 0.0, 0.0, 0.0)
    if not (constant or place or rate):
        return 0.0, 0.0
    gain, *others = numbers("mjc:gainPrm") or (1.0,)
    gear, *further = numbers("mjc:gear") or (1.0,)
    is_servo = (
        not (constant or any(rest) or any(others))
        and math.isclose(gain, -place or -rate, rel_tol=SAME)
        and text("mjc:dynType", "none") == "none"
        and text("mjc:gainType", "fixed") == "fixed"
        and gear == 1.0
        and not any(further)
    )
    return (-place, -rate) if is_servo else other


def _robot_schema_settings(
    parts: Parts, joints: Sequence[Connection]
) -> Iterator[UnexpectedSetting]:
    """Yield incomplete or unordered lists of Isaac Sim, other names, and a namespace.

    Isaac Sim reports links and joints in the order of ``isaac:physics:robotLinks`` and
    ``isaac:physics:robotJoints``, as far as they have its schemas, and appends those that the lists
    lack. Empty lists state nothing: it finds all parts by their joints.
    """
    kind = SettingKind.ARTICULATION
    for prim in parts.prims:
        schemas = applied_schemas(prim)
        if _ROBOT in schemas:
            if namespace := prim.GetAttribute("isaac:namespace").Get():
                yield parts.value_setting(kind, prim, "isaac:namespace", "empty", namespace)
            yield from _of_lists(prim, parts, joints)
        for schema, attributes in _NAMES.items():
            for attribute in attributes if schema in schemas else ():
                name = prim.GetAttribute(attribute).Get()
                if name and name != urdf_name(prim):
                    yield parts.value_setting(kind, prim, attribute, urdf_name(prim), name)


def _of_lists(
    prim: Usd.Prim, parts: Parts, joints: Sequence[Connection]
) -> Iterator[UnexpectedSetting]:
    stage = parts.physics.stage
    inside = [
        joint
        for joint in joints
        if stage.GetPrimAtPath(joint.path).GetPath().HasPrefix(prim.GetPath())
    ]
    ends = {joint.path: (joint.bodies[joint.parent], joint.bodies[joint.child]) for joint in inside}
    in_tree = [joint.path for joint in inside if joint.articulated]
    # The last joint that moves a body; a tree has one of each.
    mover = {child: path for path, (_, child) in ends.items()}
    bodies = [body for pair in ends.values() for body in pair if body != WORLD]
    before_links = {ends[path][1]: ends[path][0] for path in in_tree if WORLD not in ends[path]}
    before_joints = {path: mover[ends[path][0]] for path in in_tree if ends[path][0] in mover}
    yield from _of_list(prim, "Link", dict.fromkeys(bodies), before_links, parts)
    yield from _of_list(prim, "Joint", dict.fromkeys(ends), before_joints, parts)


def _of_list(
    prim: Usd.Prim, noun: str, required: dict[str, None], before: dict[str, str], parts: Parts
) -> Iterator[UnexpectedSetting]:
    """Compare a list with the parts of a robot."""
    kind, prim_at = SettingKind.ARTICULATION, parts.physics.stage.GetPrimAtPath
    name = f"isaac:physics:robot{noun}s"
    relationship = prim.GetRelationship(name)
    targets = [str(path) for path in relationship.GetTargets()] if relationship else []
    if not targets:
        return

    def has(path: str, schema: str) -> bool:
        return bool(prim_at(path)) and schema in applied_schemas(prim_at(path))

    # A robot in the list stands for all its parts.
    robots = tuple(f"{path}/" for path in targets if has(path, _ROBOT))
    place = {
        path: number
        for number, path in enumerate(targets)
        if path not in required or has(path, f"Isaac{noun}API")
    }
    for path in required:
        if path not in place and not path.startswith(robots):
            yield parts.setting(kind, prim_at(path), f"{name} lacks it", "listed", "not listed")
    for path, earlier in before.items():
        if path in place and earlier in place and place[path] < place[earlier]:
            other = urdf_name(prim_at(earlier))
            message = f"{name} has it before {other}, which carries it"
            sides = f"after {other}", f"before {other}"
            yield parts.setting(kind, prim_at(path), message, *sides)
    for path in targets:
        if not prim_at(path):
            message = f"{name} lists {path}, which does not exist"
            yield parts.setting(kind, prim, message, "no such entry", path)
