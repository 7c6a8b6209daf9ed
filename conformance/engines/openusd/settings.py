"""Settings of a stage that no URDF implies, by one rule for the properties of all schemas.

An authored value is a setting if no check reads it (``reads`` of its definition), it is not
harmless (``harmless``), and it differs from the fallback of its schema. Fallbacks are those of the
schema registry; ``fallbacks`` has those of schemas that are not registered, and of attributes that
consumers read from prims without their schemas. So are attributes of PhysX or MuJoCo of which
nothing is known, applied schemas that are neither registered nor known, prims of types that no
robot needs, values over time, and numbers that consumers cannot compute with.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED
from urdf_usd.conformance.engines.openusd.reading import (
    PROXIES,
    SHOWN,
    Reading,
    applied_schemas,
    collides,
    is_shown,
)
from urdf_usd.conformance.engines.openusd.values import has_default, numbers_of
from urdf_usd.conformance.observation.robot import SettingKind, UnexpectedSetting
from urdf_usd.reports.records.record import Value
from urdf_usd.reports.text import value_text

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
# Approximations of UsdPhysics and PhysX that follow the surface or hulls of it; bounding ones fail
# the check of shapes.
APPROXIMATIONS = frozenset(
    [
        *("none", "convexHull", "convexDecomposition", "meshSimplification"),
        *("boundingCube", "boundingSphere", "sdf"),
    ]
)
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
_VALUES: dict[str, Callable[[Any, Any], bool]] = {
    "at least the fallback": operator.ge,
    "at most the fallback": operator.le,
    "enough vertices": lambda value, _: value == -1 or value >= 64,
    "negative": lambda value, _: value < 0,
    "zero": lambda value, _: value == 0,
}
_ACCEPTED = {name: _VALUES[values] for name, values in _by_name("accepted").items()} | {
    "physxScene:updateType": lambda value, _: value != "Disabled",
    # A URDF implies the surface of a mesh, or convex hulls of it.
    "physics:approximation": lambda value, _: value in APPROXIMATIONS,
    # Without six numbers Newton reads the inertia of UsdPhysics.
    "newton:inertia": lambda value, _: len(value) != 6,
}


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


def setting(
    reading: Reading,
    kind: SettingKind,
    part: Usd.Prim | str,
    message: str,
    expected: Value,
    actual: Value,
) -> UnexpectedSetting:
    """Return a setting of a part, or of that which a prim belongs to."""
    subject = part if isinstance(part, str) else reading.subject(part)
    return UnexpectedSetting(kind, subject, message, expected, actual)


def value_setting(
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
    found = setting(reading, kind, prim, message, expected, actual)  # type: ignore[arg-type]
    return structs.replace(found, attribute=schema_attribute(name))


def schema_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield attributes of physics schemas, and applied schemas of which nothing is known."""
    for prim, properties in reading.authored:
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
            if fallback is None and is_accounted(general):
                continue
            if fallback is None:
                fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
            is_unknown = fallback is None and name.startswith(("physx", "mjc:"))
            if (fallback is None and not is_unknown) or is_implied(general, value, fallback):
                continue
            if _has_effect(name, prim):
                own = KIND_OF.get(general, kind)
                # MuJoCo has one name for margins of joints and of shapes.
                own = kind if own is SettingKind.JOINT else own
                implied = "nothing" if is_unknown else fallback
                yield value_setting(reading, own, prim, name, implied, value)
        registered = prim.GetAppliedSchemas()
        for schema in applied_schemas(prim):
            name = schema.partition(":")[0]
            is_known = name in _KNOWN_SCHEMAS or name.startswith(_LABELS) or schema in registered
            if not (is_known or Usd.SchemaRegistry.FindSchemaInfo(name)):
                message = f"{prim.GetName()} has the schema {schema}"
                message += ", of which no URDF has a counterpart"
                yield setting(reading, kind, prim, message, "no such schema", schema)


def _has_effect(name: str, prim: Usd.Prim) -> bool:
    """Whether a prim has the schema of an attribute, or consumers read it without."""
    # Applied by name, or included in another schema.
    schemas = {*applied_schemas(prim), *prim.GetAppliedSchemas(), str(prim.GetTypeName())}
    head, *rest = name.split(":")
    is_joint = bool(prim.IsA(UsdPhysics.Joint))
    match head:
        case "state":
            return f"PhysicsJointStateAPI:{rest[0]}" in schemas
        case "drive":
            own = {"PhysicsRevoluteJoint": "angular", "PhysicsPrismaticJoint": "linear"}
            type_name = prim.GetTypeName()
            acts = type_name == "PhysicsJoint" or own.get(type_name) == rest[0]
            return acts and f"PhysicsDriveAPI:{rest[0]}" in schemas
        case "mjc":
            is_part = is_joint or prim.HasAPI(UsdPhysics.RigidBodyAPI)
            return any(x.startswith("Mjc") for x in schemas) or (is_part and name in FALLBACKS)
        case "newton":
            return is_joint or rest[0] not in {"armature", "limitStiffness", "limitDamping"}
    schema = f"P{head[1:]}API"
    named = f"{schema}:{rest[0]}" if len(rest) > 1 else schema
    return not head.startswith("physx") or named in schemas


def authored_settings(reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield types of prims, values over time, and values of schemas besides those of physics."""

    def over_time(prim: Usd.Prim, message: str) -> UnexpectedSetting:
        sides = "one value", "values over time"
        return setting(reading, SettingKind.ANIMATION, prim, message, *sides)

    for prim, properties in reading.authored:
        type_name, lights = str(prim.GetTypeName()), prim.HasAPI("LightAPI")
        # Other types are shapes, which checks of shapes find.
        is_part = prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdPhysics.Joint)
        is_part |= type_name in TYPES or type_name in HARMLESS_TYPES
        image = UsdGeom.Imageable(prim)
        is_hidden = bool(image and image.ComputeVisibility() == UsdGeom.Tokens.invisible)
        if (lights or not is_part) and not is_hidden:
            message = f"{prim.GetPath()} is a {'light' if lights else type_name}, which no URDF has"
            yield setting(reading, SettingKind.SCENE, "robot", message, "no such prim", type_name)
        if prim.HasAuthoredMetadata("clips"):
            yield over_time(prim, f"{prim.GetPath()} has value clips")
        for name, property_, value in properties:
            # No prim definition has it.
            if name == UsdGeom.Tokens.extentsHint and value is not None:
                yield from _of_hint(prim, reading)
            definition = prim.GetPrimDefinition()
            in_schema = definition.GetSpecType(name) != Sdf.SpecTypeUnknown
            if not (in_schema or name.startswith(_EFFECTIVE)):
                continue
            fallback = definition.GetAttributeFallbackValue(name)
            is_physics = name.startswith(NAMESPACES)
            is_attribute = isinstance(property_, Usd.Attribute)
            if is_attribute and property_.HasSpline():
                yield over_time(prim, f"{name} of {prim.GetName()} has a spline")
            elif is_attribute and property_.GetNumTimeSamples() and _changes(property_, value):
                what = "has time samples that differ from its default value"
                yield over_time(prim, f"{name} of {prim.GetName()} {what}")
            if isinstance(value, Gf.Quath | Gf.Quatf | Gf.Quatd):
                length, implied = value.GetLength(), "a unit quaternion"
                is_usable = abs(length - 1.0) <= _UNIT or (name == _ZERO_ALLOWED and not length)
            else:
                implied, is_usable = "finite", bool(np.isfinite(numbers_of(value)).all())
                is_usable |= is_physics or (fallback is not None and value == fallback)
            if not is_usable:
                yield value_setting(reading, SettingKind.VALUES, prim, name, implied, value)
            ignored = is_physics or is_accounted(name) or type_name in HARMLESS_TYPES
            if not in_schema or ignored:
                continue
            if not is_attribute:
                value = ", ".join(map(str, property_.GetTargets())) or None
            is_empty = fallback is None and hasattr(value, "__len__") and not len(value)
            if value is not None and value != fallback and not is_empty:
                usual = "nothing" if fallback is None else fallback
                yield value_setting(reading, SettingKind.GEOMETRY, prim, name, usual, value)
        if prim.IsA(UsdGeom.Gprim) and (is_shown(prim) or collides(prim)):
            yield from _of_shape(prim, reading)


def _changes(attribute: Usd.Attribute, value: object) -> bool:
    """Whether a time sample differs from the default, or there is no default."""
    if value is None or not has_default(attribute):
        return True
    return any(attribute.Get(t) != value for t in attribute.GetTimeSamples()[:_MOST_SAMPLES])


def _of_shape(prim: Usd.Prim, reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield a wrong extent, reversed faces of a primitive, and ambiguous subsets."""
    found: list[tuple[str, str, object]] = []
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
            value = str([tuple(corner) for corner in extent.Get()])
            found.append(("extent", "that of its geometry", value))
    way = UsdGeom.Gprim(prim).GetOrientationAttr().Get()
    if not prim.IsA(UsdGeom.Mesh):
        if way != UsdGeom.Tokens.rightHanded:
            found.append(("orientation", "rightHanded", way))
    elif reason := _ambiguous_subsets(prim):
        found.append(("its material subset", "a part of it", reason))
    for difference in found:
        yield value_setting(reading, SettingKind.GEOMETRY, prim, *difference)


def _ambiguous_subsets(prim: Usd.Prim) -> str | None:
    """Return why the material subsets of a mesh do not define one material per face."""
    binds = UsdShade.Tokens.materialBind
    counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get() or ()
    seen = np.zeros(len(counts), np.int64)
    for subset in UsdGeom.Subset.GetGeomSubsets(UsdGeom.Imageable(prim), "", binds):
        name = subset.GetPrim().GetName()
        if subset.GetElementTypeAttr().Get() != UsdGeom.Tokens.face:
            return f"{name} of other elements than faces"
        indices = np.array(subset.GetIndicesAttr().Get() or (), np.int64)
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(seen):
            return f"{name} with faces that the mesh does not have"
        np.add.at(seen, indices, 1)
    return "faces that are in two of them" if (seen > 1).any() else None


def _of_hint(prim: Usd.Prim, reading: Reading) -> Iterator[UnexpectedSetting]:
    """Yield a hint that would frame or cull a model wrongly, in OpenUSD's reading."""
    now = Usd.TimeCode.Default()
    transforms = UsdGeom.XformCache()
    shapes = Gf.Range3d()  # of the shapes that are shown below the prim, in its frame
    for shape in Usd.PrimRange(prim, PROXIES):
        if shape.IsA(UsdGeom.Gprim) and is_shown(shape):
            transform, _ = transforms.ComputeRelativeTransform(shape, prim)
            # The extent of rotated points is smaller than that of a rotated box.
            corners = UsdGeom.Boundable.ComputeExtentFromPlugins(
                UsdGeom.Boundable(shape), now, transform
            )
            for corner in corners or ():
                shapes.UnionWith(Gf.Vec3d(corner))
    if shapes.IsEmpty():
        return
    hints = UsdGeom.BBoxCache(now, list(SHOWN), useExtentsHint=True)
    hint = hints.ComputeUntransformedBound(prim).ComputeAlignedRange()
    # A hint may be for colliders as well.
    purposes = UsdGeom.Imageable.GetOrderedPurposeTokens()
    everything = UsdGeom.BBoxCache(now, purposes, useExtentsHint=False, ignoreVisibility=True)
    outer = everything.ComputeUntransformedBound(prim).ComputeAlignedRange()
    short = Gf.Vec3d(_HINT_SHORT * shapes.GetSize().GetLength())
    beyond = Gf.Vec3d(_HINT_BEYOND * outer.GetSize().GetLength())
    hint_and_margin = Gf.Range3d(hint.GetMin() - short, hint.GetMax() + short)
    largest = Gf.Range3d(outer.GetMin() - beyond, outer.GetMax() + beyond)
    if not (hint_and_margin.Contains(shapes) and largest.Contains(hint)):
        name, implied = UsdGeom.Tokens.extentsHint, f"{_ends(shapes)} of its shapes"
        yield value_setting(reading, SettingKind.GEOMETRY, prim, name, implied, _ends(hint))


def _ends(bounds: Gf.Range3d) -> str:
    if bounds.IsEmpty():
        return "empty"
    low, high = (", ".join(f"{x:.4g}" for x in end) for end in (bounds.GetMin(), bounds.GetMax()))
    return f"({low}) to ({high})"
