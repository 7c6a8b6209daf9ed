"""Settings of a stage that change a simulation, and that no URDF implies.

An authored value of a physics schema that no check reads, that makes a difference, and
that differs from the fallback of its schema is a setting; so is an attribute of PhysX
or MuJoCo of which nothing is known, and an applied schema that is neither registered
nor known. See :mod:`.schema_attributes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.joint_attributes import applied_schemas
from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED, Connection
from urdf_usd.conformance.engines.openusd.links import LinkPrims
from urdf_usd.conformance.engines.openusd.settings.actuators import actuators
from urdf_usd.conformance.engines.openusd.settings.contacts import (
    contact_settings,
    material_settings,
    shape_settings,
)
from urdf_usd.conformance.engines.openusd.settings.parts import (
    Parts,
    collides,
    is_shown,
    short,
)
from urdf_usd.conformance.engines.openusd.settings.robot_schema import (
    robot_schema_settings,
)
from urdf_usd.conformance.engines.openusd.settings.schema_attributes import (
    FALLBACKS,
    KIND_OF,
    LABELS,
    NAMESPACES,
    UNREGISTERED_SCHEMAS,
    is_accounted,
    is_implied,
    schema_attribute,
)
from urdf_usd.conformance.engines.openusd.stage import Physics, urdf_name
from urdf_usd.conformance.engines.openusd.values import Authored
from urdf_usd.conformance.observation.robot import SettingKind, UnexpectedSetting

# Attributes of masses, which concern bodies and their colliders alone.
_MASSES = (
    "physics:mass",
    "physics:density",
    "physics:centerOfMass",
    "physics:diagonalInertia",
    "physics:principalAxes",
    "newton:inertia",
)
# That of MuJoCo includes that of Newton.
_COUPLINGS = frozenset({"NewtonMimicAPI", "MjcEqualityJointAPI"})
# Standard gravity of any place on the Earth [m/s^2], and numbers rounded from it.
_GRAVITY = (9.76, 9.84)
_DOWN = 1e-5


def unexpected_settings(
    physics: Physics, links: LinkPrims, joints: Sequence[Connection]
) -> tuple[UnexpectedSetting, ...]:
    """Return the settings of a stage that no URDF implies.

    Args:
        physics: The open stage and its descriptors.
        links: The candidates for links.
        joints: The joints that connect something.
    """
    parts = Parts(physics, links)
    found: list[UnexpectedSetting] = []
    every = [prim for prim, _ in physics.authored]
    for prim, properties in physics.authored:
        found += _of_attributes(prim, properties, parts)
        found += _of_schemas(prim, parts)
    found += _scene_settings(every, parts)
    found += _outside_robot(every, parts)
    found += contact_settings(every, parts, joints)
    found += material_settings(every, parts)
    found += _masses_without_body(every, parts)
    found += _untypical_couplings(every, parts)
    found += _free_joints(parts)
    found += (
        UnexpectedSetting(
            SettingKind.JOINT,
            f"joint {joint.name}",
            f"no joint of a URDF moves like it: {joint.mobility.note}",
            "a joint of a URDF",
            "another joint",
        )
        for joint in joints
        if joint.mobility.type is None
    )
    found += shape_settings(every, parts)
    found += actuators(every, parts)
    found += robot_schema_settings(every, parts, joints)
    return tuple(dict.fromkeys(found))


def articulation_starts(physics: Physics, links: LinkPrims) -> tuple[str, ...]:
    """Name the links whose body has an articulation root of its own."""
    return tuple(
        links.by_path[path].name
        for path in physics.bodies
        if path in links.by_path
        and physics.stage.GetPrimAtPath(path).HasAPI(UsdPhysics.ArticulationRootAPI)
    )


def _of_attributes(
    prim: Usd.Prim, properties: Iterable[Authored], parts: Parts
) -> Iterator[UnexpectedSetting]:
    for name, _, value in properties:
        general = schema_attribute(name)
        if value is None or not name.startswith(NAMESPACES):
            continue
        if general not in FALLBACKS and is_accounted(general):
            continue
        fallback = FALLBACKS.get(general)
        if fallback is None:
            fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
        is_unknown = fallback is None and name.startswith(("physx", "mjc:"))
        if (fallback is None and not is_unknown) or is_implied(general, value, fallback):
            continue
        if _has_effect(name, prim):
            kind = KIND_OF.get(general)
            # MuJoCo has one name for margins of joints and of shapes.
            if kind is None or (kind is SettingKind.JOINT and not prim.IsA(UsdPhysics.Joint)):
                kind = _kind_of(prim)
            implied = "nothing" if is_unknown else fallback
            yield parts.setting(kind, prim, name, implied, short(value))


def _has_effect(name: str, prim: Usd.Prim) -> bool:
    """Whether a prim has the schema of an attribute, or consumers read it without."""
    # Applied by name, or included in another schema.
    schemas = {*applied_schemas(prim), *prim.GetAppliedSchemas(), str(prim.GetTypeName())}
    head, *rest = name.split(":")
    if head.startswith("physx"):
        schema = f"P{head[1:]}API"
        return (f"{schema}:{rest[0]}" if len(rest) > 1 else schema) in schemas
    if head == "state":
        return f"PhysicsJointStateAPI:{rest[0]}" in schemas
    if head == "drive":
        return f"PhysicsDriveAPI:{rest[0]}" in schemas and _drives(rest[0], prim)
    if head == "mjc":
        is_part = prim.IsA(UsdPhysics.Joint) or prim.HasAPI(UsdPhysics.RigidBodyAPI)
        typed = any(schema.startswith("Mjc") for schema in schemas)
        return typed or (is_part and name in FALLBACKS)
    if name in {"newton:armature", "newton:limitStiffness", "newton:limitDamping"}:
        return bool(prim.IsA(UsdPhysics.Joint))
    return True


def _of_schemas(prim: Usd.Prim, parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield applied schemas of which nothing is known."""
    registered = prim.GetAppliedSchemas()
    for schema in applied_schemas(prim):
        name = schema.partition(":")[0]
        if (
            schema not in registered
            and name not in UNREGISTERED_SCHEMAS
            and not name.startswith(LABELS)
            and not Usd.SchemaRegistry.FindSchemaInfo(name)
        ):
            yield UnexpectedSetting(
                _kind_of(prim),
                parts.subject(prim),
                f"{prim.GetName()} has the schema {schema}, of which no URDF has a counterpart",
                "no such schema",
                schema,
            )


def _drives(instance: str, prim: Usd.Prim) -> bool:
    """Whether a drive of an instance acts on a joint of its type."""
    if prim.IsA(UsdPhysics.RevoluteJoint):
        return bool(instance == UsdPhysics.Tokens.angular)
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return bool(instance == UsdPhysics.Tokens.linear)
    return bool(prim.GetTypeName() == "PhysicsJoint")


def _kind_of(prim: Usd.Prim) -> SettingKind:
    if prim.IsA(UsdPhysics.Joint):
        return SettingKind.JOINT
    if prim.HasAPI(UsdPhysics.RigidBodyAPI):
        return SettingKind.BODY
    if prim.HasAPI(UsdPhysics.CollisionAPI):
        return SettingKind.APPROXIMATION
    return SettingKind.SCENE


def _free_joints(parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield enabled joints between bodies that hold nothing.

    Newton reads neither the mass nor the pose of the body behind such a joint.
    """
    for path, joint in parts.physics.joints.items():
        if (
            isinstance(joint, UsdPhysics.D6JointDesc)
            and joint.jointEnabled
            and {str(joint.body0), str(joint.body1)} <= parts.physics.bodies.keys()
            and not any(limit.second.enabled for limit in joint.jointLimits)
        ):
            yield UnexpectedSetting(
                SettingKind.JOINT,
                f"joint {urdf_name(parts.physics.stage.GetPrimAtPath(path))}",
                "it is enabled, and holds no coordinate",
                "disabled",
                "enabled",
            )


def _untypical_couplings(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield joints without a single coordinate that Newton would couple."""
    joints: Mapping[str, object] = parts.physics.joints
    for prim in every:
        if (
            _COUPLINGS.isdisjoint(applied_schemas(prim))
            or prim.IsA(UsdPhysics.RevoluteJoint)
            or prim.IsA(UsdPhysics.PrismaticJoint)
            or prim.GetAttribute("newton:mimicEnabled").Get() is False
        ):
            continue
        names = ("newton:mimicJoint", "mjc:target")
        targets = [one for n in names for one in prim.GetRelationship(n).GetTargets()]
        if targets and str(targets[0]) in joints:
            yield UnexpectedSetting(
                SettingKind.JOINT,
                parts.subject(prim),
                f"it mimics {targets[0].name}, and has not exactly one coordinate",
                "no coupling",
                "a coupling",
            )


def _masses_without_body(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield masses of prims that have none, such as frames of massless links."""
    for prim in every:
        if (
            not prim.HasAPI(UsdPhysics.MassAPI)
            or prim.HasAPI(UsdPhysics.RigidBodyAPI)
            or prim.HasAPI(UsdPhysics.CollisionAPI)
        ):
            continue
        definition = prim.GetPrimDefinition()
        for name in _MASSES:
            attribute = prim.GetAttribute(name)
            if not (attribute and attribute.HasAuthoredValue()):
                continue
            value, fallback = (
                attribute.Get(),
                definition.GetAttributeFallbackValue(name),
            )
            if value != fallback and value is not None:
                yield UnexpectedSetting(
                    SettingKind.BODY,
                    parts.subject(prim),
                    f"{name} of {prim.GetName()}, which is no body, is {value}",
                    "none",
                    str(value),
                )


def _scene_settings(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield gravity other than that of the Earth, and parts in different scenes."""
    kind = SettingKind.SCENE
    physics = parts.physics
    scenes = [prim for prim in every if prim.IsA(UsdPhysics.Scene)]
    down = np.zeros(3)
    down["XYZ".index(UsdGeom.GetStageUpAxis(physics.stage))] = -1.0
    for prim in scenes:
        scene = UsdPhysics.Scene(prim)
        direction = np.array(scene.GetGravityDirectionAttr().Get(), np.float64)
        size = float(np.linalg.norm(direction))
        # Zero stands for the up axis of the stage, reversed.
        if size and not np.linalg.norm(direction / size - down) <= _DOWN:
            name = "physics:gravityDirection"
            yield parts.setting(kind, prim, name, "down", tuple(direction.tolist()))
        magnitude = float(scene.GetGravityMagnitudeAttr().Get())
        # Negative infinity stands for that of the Earth; OpenUSD's parser reverses
        # gravity for other negative numbers.
        least, most = _GRAVITY
        if magnitude > -UNBOUNDED and not least <= magnitude * physics.units.length <= most:
            implied = 9.81 / physics.units.length
            yield parts.setting(kind, prim, "physics:gravityMagnitude", implied, magnitude)
        if prim.GetAttribute("newton:gravityEnabled").Get() is False:
            yield parts.setting(kind, prim, "newton:gravityEnabled", "True", False)
    owners = dict(_owners(every, parts))
    known = {str(scene.GetPath()) for scene in scenes}
    first = next(iter(known), "") if len(known) == 1 else ""
    resolved = {prim: owner or first for prim, owner in owners.items()}
    counts = Counter(resolved.values())
    for prim, owner in resolved.items():
        usual = counts.most_common(1)[0][0]
        if owner != usual or (owners[prim] and owner not in known):
            yield parts.setting(
                kind, prim, "physics:simulationOwner", usual or "none", owner or "none"
            )


def _owners(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[tuple[Usd.Prim, str]]:
    """Yield bodies and colliders with the scene that they state.

    A collider of a body that states none has the scene of the body.
    """
    for prim in every:
        path = str(prim.GetPath())
        if path in parts.physics.bodies:
            api = UsdPhysics.RigidBodyAPI(prim)
        elif path in parts.physics.shapes:
            api = UsdPhysics.CollisionAPI(prim)
        else:
            continue
        targets = api.GetSimulationOwnerRel().GetTargets()
        if targets or path in parts.physics.bodies or not parts.body_of(path):
            yield prim, str(targets[0]) if targets else ""


def _outside_robot(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield what is outside of the robot, such as a ground plane, and instances.

    A joint outside holds the robot for whoever opens the stage. Of a body of an
    instance PhysX makes none, and nobody can author where it moves.
    """
    default = parts.physics.default.GetPath()
    for prim in every:
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
        within = prim.GetPath().HasPrefix(default)
        moves = what in {"body", "joint"}
        place = "belongs to no link" if within else "is outside of the default prim"
        if moves and prim.IsInstanceProxy():
            place = "is in an instance, where simulators find none"
        elif (within and (moves or parts.subject(prim) != "robot")) or (
            what == "visual" and not is_shown(prim)
        ):
            continue
        yield UnexpectedSetting(
            SettingKind.SCENE,
            "robot",
            f"{what} {prim.GetPath()} {place}",
            f"no {what}",
            f"a {what}",
        )
