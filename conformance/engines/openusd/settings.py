"""Settings of a stage that no URDF implies, by one rule for the properties of all schemas.

An authored value is a setting if no check reads it (``reads`` of its definition), it is not
harmless (``harmless``), and it differs from the fallback of its schema, in the registry or in
``fallbacks``. So are attributes, schemas and types of prims of which nothing is known, values over
time, and unusable numbers. What depends on several prims follows below the rule.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec import structs
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd import simulation
from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED, BodyTree, Connection
from urdf_usd.conformance.engines.openusd.reading import WORLD, Reading, applied_schemas
from urdf_usd.conformance.engines.openusd.values import has_default, numbers_of
from urdf_usd.conformance.observation.robot import (
    USUAL_FRICTIONS,
    JointType,
    SettingKind,
    UnexpectedSetting,
)
from urdf_usd.reports.records.record import Value
from urdf_usd.reports.text import value_text

Settings: TypeAlias = Iterator[UnexpectedSetting]
_TABLES = tomllib.loads(Path(__file__).with_name("attributes.toml").read_text(encoding="utf-8"))


def _by_name(table: str) -> dict[str, str]:
    return {name: key for key, names in _TABLES[table].items() for name in names}


COMPARED: Mapping[str, str] = {
    name: check.id
    for check in sorted(CHECKS, key=operator.attrgetter("id"))
    for name in check.reads
}
"""The check that compares each attribute; ``*`` stands for the instance of a schema."""
HARMLESS: Mapping[str, str] = _by_name("harmless")
"""Why each of these attributes makes no difference; ``…`` stands for any end of a name."""
FALLBACKS: Mapping[str, object] = {
    name: value for values in _TABLES["fallbacks"].values() for name, value in values.items()
}
"""What simulators assume without these attributes, which no URDF has."""
KIND_OF = {name: SettingKind(kind) for name, kind in _by_name("fallbacks").items()}
"""What these attributes concern."""
NAMESPACES = ("physics:", "newton:", "drive:", "limit:", "state:", "physx", "mjc:")
"""Beginnings of the attributes of physics schemas."""
TYPES = frozenset(_TABLES["types"]["robot"])
"""Types of prims that a robot consists of, besides joints and shapes; none is a group."""
HARMLESS_TYPES = frozenset(_TABLES["types"]["harmless"])
"""Types of prims that are settings of renderers and editors, not of the robot."""
# Schemas that change nothing by themselves: those of known attributes of PhysX, and others.
_KNOWN_SCHEMAS = {
    f"P{name.split(':')[0][1:]}API"
    for name in (*COMPARED, *HARMLESS, *FALLBACKS)
    if name.startswith("physx")
} | {*_TABLES["schemas"]["known"]}
# Beginnings of schemas, registered or not, that name and label parts of a robot.
_LABELS = ("Isaac", "Semantics", "Ros")
# Names of attributes with an effect that no prim definition has.
_EFFECTIVE = ("inputs:", "primvars:", "xformOp:", *NAMESPACES)
_INSTANCES = re.compile(
    r"^(newton(?=:[^:]+:position$)|drive|limit|state|physxDrivePerformanceEnvelope|physxJointAxis|physxLimit"
    r"|physxMimicJoint):[^:]+:"
)
_PREFIXES = {name[:-1]: reason for name, reason in HARMLESS.items() if name.endswith("…")}
# Attributes of masses, which concern bodies and their colliders alone.
_MASSES = (
    "physics:mass",
    "physics:centerOfMass",
    "physics:diagonalInertia",
    "physics:principalAxes",
)
# Schemas that make something else of a shape: the first is drawn nowhere, the second has no
# contacts, and UsdPhysics parses a collider with the third as a material.
_NO_SHAPES = {
    "NewtonSiteAPI": "is a site of Newton, not a shape",
    "PhysxTriggerAPI": "is a trigger of PhysX, without contacts",
    "PhysicsMaterialAPI": "is a material for UsdPhysics, not a collider",
}
# Largest difference of an extent, relative to the diagonal.
_EXTENT = 1e-3
# The most that a hint may leave out of shapes, and extend beyond them, relative to their diagonal.
# OpenUSD's extent of a rotated sphere is that of a box, which is 8.5 % larger on each side;
# converters may include poses of joints.
_HINT_SHORT, _HINT_BEYOND = 0.1, 1.0
# Largest difference of the length of a quaternion to one, which half precision has.
_UNIT = 1e-2
# The fallback is zero, which stands for the identity.
_ZERO_ALLOWED = "physics:principalAxes"
# Values of an attribute that are compared with its default.
_MOST_SAMPLES = 1000
# Numbers of the longest value that is shown, a quaternion.
_MOST_SHOWN = 4
# Standard gravity of any place on the Earth [m/s^2], and numbers rounded from it.
_GRAVITY = (9.76, 9.84)
_DOWN = 1e-5
_VALUES: dict[str, Callable[[Any, Any], bool]] = {
    "at least the fallback": operator.ge,
    "at most the fallback": operator.le,
    "enough vertices": lambda value, _: value == -1 or value >= 64,
    "negative": lambda value, _: value < 0,
    "zero": lambda value, _: value == 0,
}
_ACCEPTED = {name: _VALUES[values] for name, values in _by_name("accepted").items()} | {
    "physxScene:updateType": lambda value, _: value != "Disabled",
    # A URDF implies the surface of a mesh, or convex hulls of it; bounding shapes fail the check of
    # shapes.
    "physics:approximation": lambda value, _: value in _TABLES["approximations"]["known"],
    # Without six numbers Newton reads the inertia of UsdPhysics.
    "newton:inertia": lambda value, _: len(value) != 6,
}


def unexpected_settings(
    reading: Reading, joints: Sequence[Connection], tree: BodyTree
) -> tuple[UnexpectedSetting, ...]:
    found = (
        *_schema_settings(reading),
        *_scene_settings(reading),
        *_outside_settings(reading),
        *_contact_settings(reading, joints),
        *_material_settings(reading),
        *_joint_settings(reading, joints, tree),
        *_actuator_settings(reading),
        *_robot_schema_settings(reading, joints),
        *_authored_settings(reading),
    )
    return tuple(dict.fromkeys(found))


def schema_attribute(name: str) -> str:
    """Return the name of an attribute with ``*`` for the instance of its schema."""
    return _INSTANCES.sub(r"\1:*:", name)


def harmless_reason(attribute: str, value: object = None) -> str | None:
    """Return why a value of an attribute makes no difference, or None."""
    if attribute in HARMLESS:
        return HARMLESS[attribute]
    if attribute not in FALLBACKS:
        for beginning, reason in _PREFIXES.items():
            if attribute.startswith(beginning):
                return reason
    if value is not None and is_implied(attribute, value, FALLBACKS.get(attribute)):
        return "it is a value that a URDF implies"
    return None


def is_accounted(attribute: str) -> bool:
    """Whether a check reads an attribute, or it is harmless; see :func:`schema_attribute`."""
    return attribute in COMPARED or harmless_reason(attribute) is not None


def is_implied(attribute: str, value: object, fallback: object) -> bool:
    """Whether a value is the fallback of its schema (None if there is none), or as good as that."""
    if attribute in _ACCEPTED and _ACCEPTED[attribute](value, fallback):
        return True
    if fallback is None:
        return False
    actual, expected = np.array(value), np.array(fallback)
    if actual.dtype.kind not in "fiu" or expected.dtype.kind not in "fiu":
        return bool(value == fallback)
    if expected.ndim == 0 and expected >= UNBOUNDED:
        return bool(actual >= UNBOUNDED)
    # Values of single precision, and decimal ones.
    same_shape = actual.shape == expected.shape
    return same_shape and bool(np.allclose(actual, expected, rtol=1e-6, atol=1e-12))


def _setting(
    reading: Reading, kind: SettingKind, part: Usd.Prim | str, message: str, *sides: Value
) -> UnexpectedSetting:
    """Return a setting of a part, or of that which a prim belongs to; the sides are two values."""
    subject = part if isinstance(part, str) else reading.subject(part)
    expected, actual = sides
    return UnexpectedSetting(kind, subject, message, expected, actual)


def _value_setting(
    reading: Reading, kind: SettingKind, prim: Usd.Prim, name: str, implied: object, value: object
) -> UnexpectedSetting:
    """Return a setting from the value of a property, and what is implied."""
    if not isinstance(value, str) and hasattr(value, "__len__") and len(value) > _MOST_SHOWN:
        value = f"an array of {len(value)}"
    expected, actual = (
        # Numbers as such, and all else as text.
        x if type(x) in {int, float} and math.isfinite(x) else str(x)  # type: ignore[arg-type]
        for x in (implied, value)
    )
    message = f"{name} is {value_text(actual)}, not {value_text(expected)}"  # type: ignore[arg-type]
    found = _setting(reading, kind, prim, message, expected, actual)  # type: ignore[arg-type]
    return structs.replace(found, attribute=schema_attribute(name))


def _schema_settings(reading: Reading) -> Settings:
    """Yield attributes of physics schemas, and applied schemas of which nothing is known."""
    for prim, properties in reading.authored:
        schemas, definition = applied_schemas(prim), prim.GetPrimDefinition()
        is_massive = prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.HasAPI(UsdPhysics.CollisionAPI)
        kind = SettingKind.SCENE
        if prim.IsA(UsdPhysics.Joint):
            kind = SettingKind.JOINT
        elif prim.HasAPI(UsdPhysics.RigidBodyAPI):
            kind = SettingKind.BODY
        elif prim.HasAPI(UsdPhysics.CollisionAPI):
            kind = SettingKind.APPROXIMATION
        for name, _, value in properties:
            general = schema_attribute(name)
            fallback = FALLBACKS.get(general)
            if value is None or not name.startswith(NAMESPACES):
                continue
            # Masses of frames, which have none.
            is_misplaced = name in _MASSES and not is_massive
            if fallback is None and is_accounted(general) and not is_misplaced:
                continue
            if fallback is None:
                fallback = definition.GetAttributeFallbackValue(name)
            is_unknown = fallback is None and name.startswith(("physx", "mjc:"))
            if (fallback is None and not is_unknown) or is_implied(general, value, fallback):
                continue
            if _has_effect(name, prim):
                own = SettingKind.BODY if is_misplaced else KIND_OF.get(general, kind)
                # MuJoCo has one name for margins of joints and of shapes.
                own = kind if own is SettingKind.JOINT else own
                implied = "nothing" if is_unknown else fallback
                yield _value_setting(reading, own, prim, name, implied, value)
        for schema in schemas:
            name = schema.partition(":")[0]
            is_known = name in _KNOWN_SCHEMAS or name.startswith(_LABELS)
            is_known |= schema in prim.GetAppliedSchemas()
            if not (is_known or Usd.SchemaRegistry.FindSchemaInfo(name)):
                message = f"{prim.GetName()} has the schema {schema}"
                message += ", of which no URDF has a counterpart"
                yield _setting(reading, kind, prim, message, "no such schema", schema)


def _has_effect(name: str, prim: Usd.Prim) -> bool:
    """Whether a prim has the schema of an attribute, or consumers read it without."""
    # Applied by name, or included in another schema.
    schemas = {*applied_schemas(prim), *prim.GetAppliedSchemas(), str(prim.GetTypeName())}
    head, *rest = name.split(":")
    is_joint = bool(prim.IsA(UsdPhysics.Joint))
    if head == "mjc":
        is_part = is_joint or prim.HasAPI(UsdPhysics.RigidBodyAPI)
        return any(x.startswith("Mjc") for x in schemas) or (is_part and name in FALLBACKS)
    if head == "newton":
        return is_joint or rest[0] not in {"armature", "limitStiffness", "limitDamping"}
    axes = {"PhysicsRevoluteJoint": "angular", "PhysicsPrismaticJoint": "linear"}
    if head == "drive" and rest[0] != {**axes, "PhysicsJoint": rest[0]}.get(prim.GetTypeName()):
        return False
    others = {"drive": "PhysicsDriveAPI", "state": "PhysicsJointStateAPI"}
    schema = others.get(head, f"P{head[1:]}API")
    named = f"{schema}:{rest[0]}" if len(rest) > 1 else schema
    return not head.startswith(("physx", *others)) or named in schemas


def _authored_settings(reading: Reading) -> Settings:
    """Yield types of prims, values over time, and values of schemas besides those of physics."""

    def over_time(prim: Usd.Prim, message: str) -> UnexpectedSetting:
        sides = "one value", "values over time"
        return _setting(reading, SettingKind.ANIMATION, prim, message, *sides)

    for prim, properties in reading.authored:
        type_name, lights = str(prim.GetTypeName()), prim.HasAPI("LightAPI")
        # Other types are shapes, which checks of shapes find.
        is_part = prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdPhysics.Joint)
        is_part |= type_name in TYPES or type_name in HARMLESS_TYPES
        image = UsdGeom.Imageable(prim)
        is_hidden = bool(image and image.ComputeVisibility() == UsdGeom.Tokens.invisible)
        if (lights or not is_part) and not is_hidden:
            message = f"{prim.GetPath()} is a {'light' if lights else type_name}, which no URDF has"
            yield _setting(reading, SettingKind.SCENE, "robot", message, "no such prim", type_name)
        if prim.HasAuthoredMetadata("clips"):
            yield over_time(prim, f"{prim.GetPath()} has value clips")
        definition = prim.GetPrimDefinition()
        for name, property_, value in properties:
            # No prim definition has it.
            if name == UsdGeom.Tokens.extentsHint and value is not None:
                yield from _of_hint(prim, reading)
            in_schema = definition.GetSpecType(name) != Sdf.SpecTypeUnknown
            if not (in_schema or name.startswith(_EFFECTIVE)):
                continue
            fallback = definition.GetAttributeFallbackValue(name)
            is_physics = name.startswith(NAMESPACES)
            is_attribute = isinstance(property_, Usd.Attribute)
            if is_attribute and property_.HasSpline():
                yield over_time(prim, f"{name} of {prim.GetName()} has a spline")
            elif is_attribute and property_.GetNumTimeSamples():
                samples = property_.GetTimeSamples()[:_MOST_SAMPLES]
                is_still = value is not None and has_default(property_)
                if not is_still or any(property_.Get(time) != value for time in samples):
                    what = "has time samples that differ from its default value"
                    yield over_time(prim, f"{name} of {prim.GetName()} {what}")
            if isinstance(value, Gf.Quath | Gf.Quatf | Gf.Quatd):
                length, implied = value.GetLength(), "a unit quaternion"
                is_usable = abs(length - 1.0) <= _UNIT or (name == _ZERO_ALLOWED and not length)
            else:
                implied, is_usable = "finite", bool(np.isfinite(numbers_of(value)).all())
                is_usable |= is_physics or (fallback is not None and value == fallback)
            if not is_usable:
                yield _value_setting(reading, SettingKind.VALUES, prim, name, implied, value)
            ignored = is_physics or is_accounted(name) or type_name in HARMLESS_TYPES
            if not in_schema or ignored:
                continue
            if not is_attribute:
                value = ", ".join(map(str, property_.GetTargets())) or None
            is_empty = fallback is None and hasattr(value, "__len__") and not len(value)
            if value is not None and value != fallback and not is_empty:
                usual = "nothing" if fallback is None else fallback
                yield _value_setting(reading, SettingKind.GEOMETRY, prim, name, usual, value)
        if prim.IsA(UsdGeom.Gprim):
            yield from _of_shape(prim, reading)


def _of_shape(prim: Usd.Prim, reading: Reading) -> Settings:
    """Yield schemas that make something else of a shape, and what its surface does not follow."""
    is_collider, is_mesh = stages.collides(prim), prim.IsA(UsdGeom.Mesh)
    for schema, words in _NO_SHAPES.items():
        if schema in applied_schemas(prim) and (is_collider or schema == "NewtonSiteAPI"):
            kind = SettingKind.FILTER if schema == "PhysxTriggerAPI" else SettingKind.APPROXIMATION
            yield _setting(reading, kind, prim, f"{prim.GetName()} {words}", "a shape", schema)
    if not (stages.is_shown(prim) or is_collider):
        return
    note = partial(_value_setting, reading, SettingKind.GEOMETRY, prim)
    boundable = UsdGeom.Boundable(prim)
    extent = boundable.GetExtentAttr()
    computed = None
    if extent.HasAuthoredValue():
        computed = UsdGeom.Boundable.ComputeExtentFromPlugins(boundable, Usd.TimeCode.Default())
    if computed is not None:
        authored, bounds = np.array(extent.Get(), np.float64), np.array(computed, np.float64)
        is_same = authored.shape == bounds.shape and len(authored) == 2
        most = _EXTENT * float(np.linalg.norm(bounds[1] - bounds[0]))
        if not (is_same and (np.abs(authored - bounds) <= most).all()):
            yield note("extent", "that of its geometry", str([tuple(x) for x in extent.Get()]))
    way = UsdGeom.Gprim(prim).GetOrientationAttr().Get()
    if not is_mesh and way != UsdGeom.Tokens.rightHanded:
        yield note("orientation", "rightHanded", way)
    if is_mesh and (reason := _ambiguous_subsets(prim)):
        yield note("its material subset", "a part of it", reason)
    scheme = UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Get() if is_mesh else None
    # Other subdivisions move points of the surface.
    if is_mesh and stages.is_shown(prim) and scheme not in {"none", "bilinear"}:
        kind = SettingKind.SUBDIVISION
        yield _value_setting(reading, kind, prim, "subdivisionScheme", "none", scheme)


def _ambiguous_subsets(prim: Usd.Prim) -> str | None:
    """Return why the material subsets of a mesh do not define one material per face."""
    binds = UsdShade.Tokens.materialBind
    counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get() or ()
    seen = np.zeros(len(counts), np.int64)
    for subset in UsdGeom.Subset.GetGeomSubsets(UsdGeom.Imageable(prim), "", binds):
        indices = np.array(subset.GetIndicesAttr().Get() or (), np.int64)
        is_inside = not len(indices) or 0 <= indices.min() <= indices.max() < len(seen)
        if subset.GetElementTypeAttr().Get() != UsdGeom.Tokens.face or not is_inside:
            return f"{subset.GetPrim().GetName()} of other elements than its faces"
        np.add.at(seen, indices, 1)
    return "faces that are in two of them" if (seen > 1).any() else None


def _of_hint(prim: Usd.Prim, reading: Reading) -> Settings:
    """Yield a hint that would frame or cull a model wrongly, in OpenUSD's reading."""
    now, transforms = Usd.TimeCode.Default(), UsdGeom.XformCache()
    # Of what is shown below the prim, in its frame, and of colliders as well, which it may bound.
    shown, shapes = Gf.Range3d(), Gf.Range3d()
    for shape in Usd.PrimRange(prim, stages.PROXIES):
        if shape.IsA(UsdGeom.Gprim):
            transform, _ = transforms.ComputeRelativeTransform(shape, prim)
            # The extent of rotated points is smaller than that of a rotated box.
            boundable = UsdGeom.Boundable(shape)
            corners = UsdGeom.Boundable.ComputeExtentFromPlugins(boundable, now, transform)
            for corner in map(Gf.Vec3d, corners or ()):
                shapes.UnionWith(corner)
                if stages.is_shown(shape):
                    shown.UnionWith(corner)
    cache = UsdGeom.BBoxCache(now, list(stages.SHOWN), useExtentsHint=True)
    hint = cache.ComputeUntransformedBound(prim).ComputeAlignedRange()
    short = Gf.Vec3d(_HINT_SHORT * shown.GetSize().GetLength())
    beyond = Gf.Vec3d(_HINT_BEYOND * shapes.GetSize().GetLength())
    covers = Gf.Range3d(hint.GetMin() - short, hint.GetMax() + short).Contains(shown)
    is_near = Gf.Range3d(shapes.GetMin() - beyond, shapes.GetMax() + beyond).Contains(hint)
    if not (shown.IsEmpty() or (covers and is_near)):
        name = UsdGeom.Tokens.extentsHint
        yield _value_setting(reading, SettingKind.GEOMETRY, prim, name, str(shown), str(hint))


def _scene_settings(reading: Reading) -> Settings:
    """Yield gravity other than that of the Earth, and parts in different scenes."""
    note = partial(_value_setting, reading, SettingKind.SCENE)
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
    # Without a scene of their own, all parts have the first; a collider has that of its body.
    known = [str(prim.GetPath()) for prim in scenes]
    for prim in reading.prims:
        path = str(prim.GetPath())
        targets = prim.GetRelationship("physics:simulationOwner").GetTargets()
        if targets and known != [str(targets[0])] and path in {**reading.bodies, **reading.shapes}:
            yield note(prim, "physics:simulationOwner", "the only scene", str(targets[0]))


def _outside_settings(reading: Reading) -> Settings:
    """Yield what is outside of the robot, such as a ground plane, and instances."""
    # A joint outside holds the robot for whoever opens the stage. Of a body of an instance PhysX
    # makes none, and nobody can author where it moves.
    for prim in reading.prims:
        joint, moves = UsdPhysics.Joint(prim), True
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            what = "body"
        elif joint and joint.GetJointEnabledAttr().Get() is not False:
            what = "joint"
        elif not joint and (
            stages.collides(prim) or (prim.IsA(UsdGeom.Gprim) and stages.is_shown(prim))
        ):
            what, moves = "collider" if stages.collides(prim) else "visual", False
        else:
            continue
        within = prim.GetPath().HasPrefix(reading.robot.GetPath())
        place = "belongs to no link" if within else "is outside of the default prim"
        if moves and prim.IsInstanceProxy():
            place = "is in an instance, where simulators find none"
        elif within and (moves or reading.subject(prim) != "robot"):
            continue
        message = f"{what} {prim.GetPath()} {place}"
        yield _setting(reading, SettingKind.SCENE, "robot", message, f"no {what}", f"a {what}")


def _contact_settings(reading: Reading, joints: Sequence[Connection]) -> Settings:
    """Yield contacts between links of a joint, and contacts that are filtered out."""
    note = partial(_setting, reading, SettingKind.FILTER)
    collide = {reading.body_of(path) for path in reading.shapes} - {WORLD}
    for joint in joints:
        descriptor = reading.joints.get(joint.path)
        if descriptor and descriptor.collisionEnabled and collide >= set(joint.bodies):
            message = "physics:collisionEnabled lets the links that it connects collide"
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

    for prim in map(reading.prim, reading.articulations):
        for schema, name in simulation.SELF_COLLISION:
            if (
                prim.GetAttribute(name).Get() is False
                and schema in applied_schemas(prim)
                and any(map(matters, map(frozenset, combinations(collide, 2))))
            ):
                yield _value_setting(reading, SettingKind.FILTER, prim, name, "True", value=False)
    named = dict(simulation.filtered_pairs(reading))
    for pair, source in {**named, **dict(_filtered_groups(reading))}.items():
        if matters(pair):
            subject, other = (reading.subject(reading.prim(path)) for path in sorted(pair))
            message = f"does not collide with {other}: {source}"
            found = note(subject, message, "contacts", "no contacts")
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


def _material_settings(reading: Reading) -> Settings:
    """Yield friction and restitution of the contact materials that colliders have."""
    # A bound material without friction has that of its schema, zero; without a material simulators
    # take their own.
    names = ("physics:dynamicFriction", "physics:staticFriction", "physics:restitution")
    for prim in filter(stages.collides, reading.prims):
        bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        if not bound or not bound.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
            continue
        attributes = [bound.GetPrim().GetAttribute(name) for name in names]
        # Of a blocked one, the fallback counts.
        values = [attribute.Get() or 0.0 for attribute in attributes]
        # That of a simulator for shapes without a material.
        if not values[2] and any(values[0] == values[1] == usual for usual in USUAL_FRICTIONS):
            continue
        for name, value in zip(names, values, strict=True):
            if name != names[2] or attributes[2].HasAuthoredValue():
                message = f"{name} of its collider is {value:.6g}; the URDF states none"
                found = _setting(reading, SettingKind.MATERIAL, prim, message, "none", value)
                yield structs.replace(found, attribute=name)


def _joint_settings(reading: Reading, joints: Sequence[Connection], tree: BodyTree) -> Settings:
    """Yield couplings and joints that a URDF does not have."""
    note = partial(_setting, reading, SettingKind.JOINT)
    for path, joint in reading.joints.items():
        prim = reading.prim(path)
        # Newton reads neither the mass nor the pose of the body behind such a joint.
        if (
            isinstance(joint, UsdPhysics.D6JointDesc)
            and joint.jointEnabled
            and {str(joint.body0), str(joint.body1)} <= reading.bodies.keys()
            and not any(limit.second.enabled for limit in joint.jointLimits)
        ):
            message = "it is enabled, and holds no coordinate"
            yield note(prim, message, "disabled", "enabled")
    for connection in joints:
        if connection.mobility.type is None:
            message = f"no joint of a URDF moves like it: {connection.mobility.note}"
            yield note(f"joint {connection.name}", message, "a joint of a URDF", "another joint")
    # Newton 1.8 refuses a robot with such a joint ("Reversed joints are not supported"), or
    # computes other forces, as of a prismatic joint. OpenUSD and PhysX compute the same robot if
    # the frames are exchanged as well.
    is_of_physx = stages.SchemaFamily.PHYSX in reading.families
    for connection in tree.joints:
        is_swapped = connection.reversed and WORLD not in connection.bodies
        if is_swapped and (stages.SchemaFamily.NEWTON in reading.families or not is_of_physx):
            message = "physics:body0 is the child and physics:body1 the parent, which Newton does "
            sides = "the parent in physics:body0", "the child in physics:body0"
            yield note(f"joint {connection.name}", f"{message}not support", *sides)


def _actuator_settings(reading: Reading) -> Settings:
    """Yield joints on which actuators act otherwise than their drives."""
    # A URDF implies none of Newton's. An actuator of MuJoCo without bias exerts no force while its
    # control is zero, and changes nothing. One with a bias is the same as the drive of its joint if
    # both have the same gains.
    gains: dict[str, list[tuple[float, float]]] = {}
    for prim in reading.prims:
        is_newton = prim.GetTypeName() == "NewtonActuator"
        if is_newton or prim.GetTypeName() == "MjcActuator":
            relationship = prim.GetRelationship("newton:targets" if is_newton else "mjc:target")
            own = (math.nan, math.nan) if is_newton else _servo_gains(prim)
            for target in map(str, relationship.GetTargets()):
                gains.setdefault(target, []).append(own)
    for target in gains.keys() & reading.joints.keys():
        joint, drive = reading.prim(target), (0.0, 0.0)
        angular = bool(joint.IsA(UsdPhysics.RevoluteJoint))
        if angular or joint.IsA(UsdPhysics.PrismaticJoint):
            freedom = simulation.Freedom(angular, "angular" if angular else "linear")
            stiffness, damping, is_acceleration = simulation.gains_of(joint, freedom, reading.units)
            drive = (math.nan, math.nan) if is_acceleration else (stiffness, damping)
        acting = [math.fsum(values) for values in zip(*gains[target], strict=True)]
        same = (
            math.isclose(x, own, rel_tol=simulation.SAME)
            for x, own in zip(acting, drive, strict=True)
        )
        if any(acting) and not all(same):
            message, sides = "an actuator acts otherwise than it", ("no actuator", "an actuator")
            yield _setting(reading, SettingKind.DRIVE, joint, message, *sides)


def _servo_gains(prim: Usd.Prim) -> tuple[float, float]:
    """Return stiffness and damping of an actuator of MuJoCo; NaN if it is something else."""
    bias, gain = (
        [float(x) for x in prim.GetAttribute(f"mjc:{name}Prm").Get() or ()]
        for name in ("bias", "gain")
    )
    constant, stiffness, damping, *rest = (*bias, 0.0, 0.0, 0.0)
    first, *others = gain or [1.0]
    # Newton adds its damping to that of the joint.
    if stages.number_attribute(prim, "mjc:damping"):
        return math.nan, math.nan
    kind = stages.text_attribute(prim, "mjc:biasType")
    if kind in {None, "none"} or (kind == "affine" and not any(bias)):
        return 0.0, 0.0
    is_servo = kind == "affine" and not (constant or any(rest) or any(others))
    is_servo &= math.isclose(first, -stiffness or -damping, rel_tol=simulation.SAME)
    return (-stiffness, -damping) if is_servo else (math.nan, math.nan)


def _robot_schema_settings(reading: Reading, joints: Sequence[Connection]) -> Settings:
    """Yield incomplete or unordered lists of Isaac Sim, other names, and a namespace."""
    # Isaac Sim reports links and joints in the order of ``isaac:physics:robotLinks`` and
    # ``isaac:physics:robotJoints``, as far as they have its schemas, and appends those that the
    # lists lack. Empty lists state nothing: it finds all parts by their joints.
    kind = SettingKind.ARTICULATION
    for prim in reading.prims:
        schemas = applied_schemas(prim)
        # The second is a former spelling, which Isaac Sim converts; of joints alone.
        names = ["isaac:nameOverride"] * bool({"IsaacLinkAPI", "IsaacJointAPI"} & {*schemas})
        names += ["isaac:NameOverride"] * ("IsaacJointAPI" in schemas)
        for attribute in names:
            name = prim.GetAttribute(attribute).Get()
            if name and name != stages.urdf_name(prim):
                yield _value_setting(reading, kind, prim, attribute, stages.urdf_name(prim), name)
        if "IsaacRobotAPI" not in schemas:
            continue
        if namespace := prim.GetAttribute("isaac:namespace").Get():
            yield _value_setting(reading, kind, prim, "isaac:namespace", "empty", namespace)
        inside = [x for x in joints if f"{x.path}/".startswith(f"{prim.GetPath()}/")]
        # The last joint that moves a body; a tree has one of each.
        mover = {joint.ends[1]: joint.path for joint in inside}
        # What comes before each part, if anything does.
        links = {body: "" for joint in inside for body in joint.ends if body != WORLD}
        links |= {joint.ends[1]: joint.ends[0] for joint in inside if joint.articulated}
        parents = {x.path: mover.get(x.ends[0], "") if x.articulated else "" for x in inside}
        for noun, before in (("Link", links), ("Joint", parents)):
            name = f"isaac:physics:robot{noun}s"
            relationship = prim.GetRelationship(name)
            listed = list(map(reading.prim, relationship.GetTargets() if relationship else ()))
            place = {
                str(x.GetPath()): number
                for number, x in enumerate(listed)
                if x and f"Isaac{noun}API" in applied_schemas(x)
            }
            for path, earlier in before.items() if listed else ():
                if path not in place or place[path] < place.get(earlier, -1):
                    message = f"{name} lacks it, or has it before the one that carries it"
                    sides = "listed, in order", "not listed, or before"
                    yield _setting(reading, kind, reading.prim(path), message, *sides)
