"""Values of a stage that have an effect, and that no URDF implies, in any schema.

Every prim is visited once. A registered property, apart from those of physics schemas
(see :mod:`.schema_attributes`), is compared with the URDF by a check (``COMPARED``),
or is harmless (``HARMLESS``), or has to have its fallback. A prim of a type that no
robot needs, a value over time, and a number or quaternion that consumers cannot compute
with are settings as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.links import LinkPrims
from urdf_usd.conformance.engines.openusd.settings.parts import (
    SHOWN,
    Parts,
    collides,
    is_shown,
    short,
)
from urdf_usd.conformance.engines.openusd.settings.schema_attributes import NAMESPACES, is_accounted
from urdf_usd.conformance.engines.openusd.stage import Physics
from urdf_usd.conformance.engines.openusd.values import Authored
from urdf_usd.conformance.observation.robot import SettingKind, UnexpectedSetting

TYPES = frozenset(
    {
        # Prims without a type are groups.
        "",
        "GeomSubset",
        "Material",
        "MjcActuator",
        "NewtonActuator",
        "NodeGraph",
        "PhysicsCollisionGroup",
        "PhysicsScene",
        "Scope",
        "Shader",
        "Xform",
    }
)
"""Types of prims that a robot consists of, besides joints and shapes."""

HARMLESS_TYPES = frozenset(
    {"Backdrop", "RenderPass", "RenderProduct", "RenderSettings", "RenderVar"}
)
"""Types of prims that are settings of renderers and editors, not of the robot."""

# Names of attributes with an effect that no prim definition has.
_EFFECTIVE = ("inputs:", "primvars:", "xformOp:", *NAMESPACES)
# Largest difference of an extent, relative to the diagonal.
_EXTENT = 1e-3
# The most that a hint may leave out of shapes, relative to their diagonal. OpenUSD's
# extent of a rotated sphere is that of a box, which is 8.5 % larger on each side.
_HINT_SHORT = 0.1
# The most that it may extend beyond them: converters may include poses of joints.
_HINT_BEYOND = 1.0
# Largest difference of the length of a quaternion to one, which half precision has.
_UNIT = 1e-2
_QUATERNIONS = (Gf.Quath, Gf.Quatf, Gf.Quatd)
# The fallback is zero, which stands for the identity.
_ZERO_ALLOWED = "physics:principalAxes"
# Values of an attribute that are compared with its default.
_MOST_SAMPLES = 1000
_BOUNDS = 2
# Numbers of the longest value that is shown, a quaternion.


def authored_settings(physics: Physics, links: LinkPrims) -> tuple[UnexpectedSetting, ...]:
    """Return what is authored on a stage that no URDF implies.

    Args:
        physics: The open stage and its descriptors.
        links: The candidates for links.
    """
    parts = Parts(physics, links)
    found: list[UnexpectedSetting] = []
    for prim, properties in physics.authored:
        found += _of_type(prim)
        found += _of_clips(prim, parts)
        found += _of_properties(prim, properties, parts)
        if prim.IsA(UsdGeom.Gprim) and (is_shown(prim) or collides(prim)):
            found += _of_shape(prim, parts)
    return tuple(dict.fromkeys(found))


def _of_clips(prim: Usd.Prim, parts: Parts) -> Iterator[UnexpectedSetting]:
    if prim.HasAuthoredMetadata("clips"):
        yield UnexpectedSetting(
            SettingKind.ANIMATION,
            parts.subject(prim),
            f"{prim.GetPath()} has value clips",
            "one value",
            "values over time",
        )


def _of_type(prim: Usd.Prim) -> Iterator[UnexpectedSetting]:
    kind = str(prim.GetTypeName())
    is_part = (
        kind in TYPES
        or kind in HARMLESS_TYPES
        # Others are shapes, which checks of shapes find.
        or prim.IsA(UsdGeom.Gprim)
        or prim.IsA(UsdPhysics.Joint)
    )
    lights = prim.HasAPI("LightAPI")
    if (is_part and not lights) or _is_hidden(prim):
        return
    yield UnexpectedSetting(
        SettingKind.SCENE,
        "robot",
        f"{prim.GetPath()} is a {'light' if lights else kind}, which no URDF has",
        "no such prim",
        kind,
    )


def _is_hidden(prim: Usd.Prim) -> bool:
    image = UsdGeom.Imageable(prim)
    return bool(image and image.ComputeVisibility() == UsdGeom.Tokens.invisible)


def _of_properties(
    prim: Usd.Prim, properties: Iterable[Authored], parts: Parts
) -> Iterator[UnexpectedSetting]:
    definition = prim.GetPrimDefinition()
    for authored in properties:
        name, property_, value = authored
        # No prim definition has it.
        if name == UsdGeom.Tokens.extentsHint and value is not None:
            yield from _of_hint(prim, parts)
        in_schema = definition.GetSpecType(name) != Sdf.SpecTypeUnknown
        if not (in_schema or name.startswith(_EFFECTIVE)):
            continue
        if isinstance(property_, Usd.Attribute):
            yield from _over_time(property_, parts)
            yield from _unusable(prim, name, value, parts)
        if (
            in_schema
            and not name.startswith(NAMESPACES)
            and not is_accounted(name)
            and str(prim.GetTypeName()) not in HARMLESS_TYPES
        ):
            yield from _unaccounted(authored, definition, parts)


def _unaccounted(
    authored: Authored, definition: Usd.PrimDefinition, parts: Parts
) -> Iterator[UnexpectedSetting]:
    name, property_, value = authored
    prim = property_.GetPrim()
    if isinstance(property_, Usd.Relationship):
        if targets := property_.GetTargets():
            named = ", ".join(map(str, targets))
            yield parts.setting(SettingKind.GEOMETRY, prim, name, "nothing", named)
        return
    fallback = definition.GetAttributeFallbackValue(name)
    if value is None or value == fallback or (fallback is None and _is_empty(value)):
        return
    implied = "nothing" if fallback is None else fallback
    yield parts.setting(SettingKind.GEOMETRY, prim, name, implied, short(value))


def _is_empty(value: object) -> bool:
    return hasattr(value, "__len__") and not len(value)


def _over_time(attribute: Usd.Attribute, parts: Parts) -> Iterator[UnexpectedSetting]:
    if attribute.HasSpline():
        what = "a spline"
    elif attribute.GetNumTimeSamples() and _changes(attribute):
        what = "time samples that differ from its default value"
    else:
        return
    yield UnexpectedSetting(
        SettingKind.ANIMATION,
        parts.subject(attribute.GetPrim()),
        f"{attribute.GetName()} of {attribute.GetPrim().GetName()} has {what}",
        "one value",
        "values over time",
    )


def _changes(attribute: Usd.Attribute) -> bool:
    """Whether a time sample differs from the default, or there is no default."""
    value = attribute.Get()
    authored = any(
        spec.HasDefaultValue() for spec in attribute.GetPropertyStack(Usd.TimeCode.Default())
    )
    if value is None or not authored:
        return True
    times = attribute.GetTimeSamples()[:_MOST_SAMPLES]
    return any(attribute.Get(time) != value for time in times)


def _unusable(
    prim: Usd.Prim, name: str, value: object, parts: Parts
) -> Iterator[UnexpectedSetting]:
    if isinstance(value, _QUATERNIONS):
        length = value.GetLength()
        zero = length == 0.0 and name == _ZERO_ALLOWED
        if not zero and not abs(length - 1.0) <= _UNIT:
            yield _no_value(parts, prim, name, "a unit quaternion", str(value))
    elif not name.startswith(NAMESPACES) and not _is_finite(value):
        fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
        if fallback is None or value != fallback:
            yield _no_value(parts, prim, name, "finite", short(value))


def _no_value(
    parts: Parts, prim: Usd.Prim, name: str, implied: str, value: object
) -> UnexpectedSetting:
    return parts.setting(SettingKind.VALUES, prim, name, implied, value)


def _is_finite(value: object) -> bool:
    if value is None or isinstance(value, bool | int | str | Sdf.AssetPath):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    numbers = np.array(value)
    return numbers.dtype.kind != "f" or bool(np.isfinite(numbers).all())


def _of_shape(prim: Usd.Prim, parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield a wrong extent, reversed faces of a primitive, and ambiguous subsets."""
    kind = SettingKind.GEOMETRY
    boundable = UsdGeom.Boundable(prim)
    extent = boundable.GetExtentAttr()
    if extent.HasAuthoredValue() and not _is_extent(boundable, extent.Get()):
        value = str([tuple(corner) for corner in extent.Get()])
        yield parts.setting(kind, prim, "extent", "that of its geometry", value)
    if not prim.IsA(UsdGeom.Mesh):
        way = UsdGeom.Gprim(prim).GetOrientationAttr().Get()
        if way != UsdGeom.Tokens.rightHanded:
            yield parts.setting(kind, prim, "orientation", "rightHanded", way)
        return
    if reason := _ambiguous_subsets(prim):
        yield parts.setting(kind, prim, "its material subset", "a part of it", reason)


def _is_extent(boundable: UsdGeom.Boundable, stated: object) -> bool:
    computed = UsdGeom.Boundable.ComputeExtentFromPlugins(boundable, Usd.TimeCode.Default())
    authored = np.array(stated, np.float64)
    if computed is None:
        return True
    bounds = np.array(computed, np.float64)
    if authored.shape != bounds.shape or len(authored) != _BOUNDS:
        return False
    diagonal = float(np.linalg.norm(bounds[1] - bounds[0]))
    return bool((np.abs(authored - bounds) <= _EXTENT * diagonal).all())


def _of_hint(prim: Usd.Prim, parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield a hint that would frame or cull a model wrongly, in OpenUSD's reading."""
    shapes = _shown_extent(prim)
    if shapes.IsEmpty():
        return
    now = Usd.TimeCode.Default()
    hints = UsdGeom.BBoxCache(now, list(SHOWN), useExtentsHint=True)
    hint = hints.ComputeUntransformedBound(prim).ComputeAlignedRange()
    # A hint may be for colliders as well.
    purposes = UsdGeom.Imageable.GetOrderedPurposeTokens()
    everything = UsdGeom.BBoxCache(now, purposes, useExtentsHint=False, ignoreVisibility=True)
    outer = everything.ComputeUntransformedBound(prim).ComputeAlignedRange()
    covers = _enlarged(hint, _HINT_SHORT * _diagonal(shapes)).Contains(shapes)
    within = _enlarged(outer, _HINT_BEYOND * _diagonal(outer)).Contains(hint)
    if not (covers and within):
        name, implied = UsdGeom.Tokens.extentsHint, f"{_ends(shapes)} of its shapes"
        yield parts.setting(SettingKind.GEOMETRY, prim, name, implied, _ends(hint))


def _shown_extent(prim: Usd.Prim) -> Gf.Range3d:
    """Return the extent of the shapes that are shown below a prim, in its frame."""
    transforms = UsdGeom.XformCache()
    shown = Gf.Range3d()
    for shape in Usd.PrimRange(prim, Usd.TraverseInstanceProxies()):
        if not (shape.IsA(UsdGeom.Gprim) and is_shown(shape)):
            continue
        transform, _ = transforms.ComputeRelativeTransform(shape, prim)
        # That of the rotated points, which is smaller than that of a rotated box.
        corners = UsdGeom.Boundable.ComputeExtentFromPlugins(
            UsdGeom.Boundable(shape), Usd.TimeCode.Default(), transform
        )
        for corner in corners or ():
            shown.UnionWith(Gf.Vec3d(corner))
    return shown


def _enlarged(bounds: Gf.Range3d, distance: float) -> Gf.Range3d:
    margin = Gf.Vec3d(distance)
    return Gf.Range3d(bounds.GetMin() - margin, bounds.GetMax() + margin)


def _diagonal(bounds: Gf.Range3d) -> float:
    return float(bounds.GetSize().GetLength())


def _ends(bounds: Gf.Range3d) -> str:
    if bounds.IsEmpty():
        return "empty"
    ends = (bounds.GetMin(), bounds.GetMax())
    low, high = (", ".join(f"{x:.4g}" for x in end) for end in ends)
    return f"({low}) to ({high})"


def _ambiguous_subsets(prim: Usd.Prim) -> str | None:
    """Return why the material subsets of a mesh do not define one material per face."""
    subsets = UsdGeom.Subset.GetGeomSubsets(
        UsdGeom.Imageable(prim), "", UsdShade.Tokens.materialBind
    )
    counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get() or ()
    seen = np.zeros(len(counts), np.int64)
    for subset in subsets:
        name = subset.GetPrim().GetName()
        if subset.GetElementTypeAttr().Get() != UsdGeom.Tokens.face:
            return f"{name} of other elements than faces"
        indices = np.array(subset.GetIndicesAttr().Get() or (), np.int64)
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(seen):
            return f"{name} with faces that the mesh does not have"
        np.add.at(seen, indices, 1)
    return "faces that are in two of them" if (seen > 1).any() else None
