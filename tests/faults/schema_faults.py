"""Wrong values of every property of the physics schemas, from OpenUSD's schema registry.

Schemas are also removed and applied; prims of every type added and put in place of related ones, or
deactivated; metadata of the stage changed, and properties of schemas that are not registered. A
kind of prims is their type and their physics schemas; all shapes are of one type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import methodcaller
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from pxr import Gf, Plug, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from tests.faults.fault import STRANGER, schemas_of
from tests.tools.documentation.coverage import definition_of, plugin_schemas
from urdf_usd.conformance.engines.openusd.settings import harmless_reason, schema_attribute

# Beginnings of the names of the plugins whose schemas are seeded.
_FAMILIES = ("usdPhysics", "newton", "physx")

# Groups of changes that concern no schema.
STAGE, PRIM = "stage metadata", "prim metadata"
# Plugins of the types of prims that are deactivated, and of the metadata of stages.
_PLUGINS = ("usdGeom", "usdPhysics")
# Instances of the schemas of joints: of typed joints, and two of untyped ones.
_INSTANCES = ("angular", "linear", "distance", "rotX", "transZ")
_INSTANCE = "__INSTANCE_NAME__"
_TURN = Gf.Quatd(math.cos(0.2), math.sin(0.2) * Gf.Vec3d(2, -3, 6) / 7)

_Edit: TypeAlias = Callable[[Usd.Prim], object]
# Edits by title, each with the value that it authors; None for a relationship.
_Wrong: TypeAlias = dict[str, tuple[_Edit, object]]
# The changed properties, with `*` for an instance, and their values.
_Values: TypeAlias = Iterable[tuple[str, object]]


class SchemaFault(Struct, frozen=True, eq=False):
    """One wrong value, or another change of one prim."""

    schema: str
    title: str
    path: str
    apply: Callable[[Usd.Stage], None]
    values: tuple[tuple[str, object], ...] = ()

    @property
    def key(self) -> str:
        """Identifies the change on all robots."""
        return f"{self.schema}: {self.title}"


class _Property(Struct, frozen=True, eq=False):
    name: str
    type: Sdf.ValueTypeName | None  # None for a relationship
    fallback: object
    allowed: tuple[str, ...] = ()


_Properties: TypeAlias = Sequence[_Property]

# The schema registry.


@cache
def family_schemas() -> tuple[str, ...]:
    """Return the registered schemas that are seeded, by plugin and name."""
    plugins = sorted(
        plugin.name
        for plugin in Plug.Registry().GetAllPlugins()
        if plugin.name.startswith(_FAMILIES) and "Types" in plugin.metadata
    )
    return tuple(schema for plugin in plugins for schema in sorted(plugin_schemas(plugin)))


@cache
def _all_properties(schema: str, instance: str = "") -> tuple[_Property, ...]:
    """Return the properties of a schema but those of any type that is drawn or placed."""
    definition = definition_of(schema)
    placed = definition_of("Xform").GetPropertyNames()
    found = []
    for name in definition.GetPropertyNames() if definition else ():
        if name not in placed:
            spec = definition.GetSchemaAttributeSpec(name)
            allowed = tuple(spec.allowedTokens or ()) if spec else ()
            kind, fallback = (spec.typeName, spec.default) if spec else (None, None)
            found.append(_Property(name.replace(_INSTANCE, instance), kind, fallback, allowed))
    return tuple(found)


_type = Usd.SchemaRegistry.GetTypeFromSchemaTypeName


def _ancestors(schema: str) -> set[str]:
    types = _type(schema).GetAllAncestorTypes()
    infos = map(Usd.SchemaRegistry.FindSchemaInfo, types)
    return {str(info.identifier) for info in infos if info} & {*family_schemas()}


@cache
def _own_properties(schema: str, instance: str = "") -> tuple[_Property, ...]:
    """Return the properties of a schema that no schema has from which it derives."""
    if not definition_of(schema):
        return ()
    bases = _ancestors(schema) | {*definition_of(schema).GetAppliedAPISchemas()}
    bases = (bases - {schema}) & {*family_schemas()}
    inherited = {name for one in bases for name in definition_of(one).GetPropertyNames()}
    return tuple(one for one in _all_properties(schema, instance) if one.name not in inherited)


def _is_family_type(prim: Usd.Prim) -> bool:
    return prim.GetTypeName() in family_schemas()


def _kind_of(prim: Usd.Prim) -> str:
    shape = "Gprim" if prim.IsA(UsdGeom.Gprim) else str(prim.GetTypeName())
    schemas = [str(prim.GetTypeName())] * _is_family_type(prim)
    schemas += sorted(one for one in schemas_of(prim) if one.split(":")[0] in family_schemas())
    names = [name for name in schemas if name != shape]
    return f"{shape} ({', '.join(names)})" if names else shape


def _is_related(prim: Usd.Prim, schema: str) -> bool:
    """Whether a prim and a type have a common base type in the families."""
    if not _is_family_type(prim) or schema not in family_schemas():
        return False
    return bool(_ancestors(str(prim.GetTypeName())) & _ancestors(schema))


def _can_have(prim: Usd.Prim, schema: str, instance: str) -> bool:
    """Whether a schema can be applied to a prim; one with instances is for joints."""
    if instance and not prim.IsA(UsdPhysics.Joint):
        return False
    types = Usd.SchemaRegistry.GetAPISchemaCanOnlyApplyToTypeNames(schema, instance)
    return not types or any(prim.IsA(_type(name)) for name in types)


# Wrong values of a type.


def wrong_values(value: object, allowed: Iterable[str] = ()) -> dict[str, object]:
    """Return values of the same type that differ from a value, by title."""
    return {title: wrong for title, wrong in _variants(value, allowed) if not _same(value, wrong)}


def _variants(value: object, allowed: Iterable[str]) -> Iterator[tuple[str, object]]:
    kind: Any = type(value)
    match value:
        case bool():
            yield "flipped", not value
        case int() | float():
            if value != 0 and math.isfinite(value):
                yield from (("doubled", kind(2 * value)), ("negated", kind(-value)))
            else:
                yield from (("one", kind(1)), ("minus one", kind(-1)))
            yield "zero", kind(0)
            if kind is float:
                yield from (("not a number", math.nan), ("infinite", math.inf))
                yield "negatively infinite", -math.inf
        case str():
            yield from ((f"is {token}", token) for token in allowed)
            yield from (("misspelt", f"{value}_"), ("empty", ""))
        case Sdf.AssetPath():
            yield "to nothing", Sdf.AssetPath("./missing.bin")
        case Gf.Quath() | Gf.Quatf() | Gf.Quatd():
            right = Gf.Quatd(value)
            yield "turned", kind((right if right.GetLength() else Gf.Quatd(1)) * _TURN)
            yield "conjugated", kind(right.GetConjugate())
            yield from (("zero", kind(0)), ("not a number", kind(math.nan)))
        case _ if hasattr(value, "dimension"):
            right = np.nan_to_num(np.array(value, np.float64), posinf=0.0, neginf=0.0)
            size = float(np.linalg.norm(right)) or 1.0
            first = np.arange(len(right)) == 0
            for title, wrong in (
                ("moved", right + size * np.arange(1, len(right) + 1) / len(right)),
                ("negated", -right),
                ("permuted", np.roll(right, 1)),
                ("zero", 0 * right),
                ("not a number", np.where(first, math.nan, right)),
                ("infinite", np.where(first, math.inf, right)),
            ):
                yield title, kind(*wrong.tolist())
        case _ if kind.__name__.endswith("Array"):
            elements: list[Any] = list(value)  # type: ignore[call-overload]
            yield from (("emptied", kind()), ("shortened", kind(elements[:-1])))
            yield "reversed", kind(elements[::-1])
            if not elements:
                yield "one element", kind(1)
            elif isinstance(elements[0], int | float):
                for title, factor in (("doubled", 2), ("negated", -1), ("zero", 0)):
                    yield title, kind([factor * element for element in elements])


def _same(value: object, other: object) -> bool:
    if isinstance(value, float) and isinstance(other, float) and math.isnan(value):
        return math.isnan(other)
    return type(value) is type(other) and bool(value == other)


def _all(*edits: _Edit) -> _Edit:
    return lambda prim: [edit(prim) for edit in edits]


def _setting(name: str, kind: Sdf.ValueTypeName | None, value: Any) -> _Edit:  # noqa: ANN401
    """Set an attribute of a type, or the targets of a relationship."""
    if kind is None:
        return lambda prim: prim.CreateRelationship(name, custom=False).SetTargets(value)
    return lambda prim: prim.CreateAttribute(name, kind, custom=False).Set(value)


_no_edit = _all()


def schema_faults(stage: Usd.Stage, *, registered: bool = True) -> tuple[SchemaFault, ...]:
    """Return all changes of a good stage, of registered schemas or of others; with unlike keys."""
    generator = _Generator(stage)
    found = generator.registered() if registered else generator.unregistered()
    return tuple({fault.key: fault for fault in found}.values())


class _Generator:
    def __init__(self, stage: Usd.Stage) -> None:
        self.stage = stage
        self.extra = str(stage.GetDefaultPrim().GetPath().AppendChild(STRANGER))
        # They keep added prims alive.
        self.others: list[Usd.Stage] = []
        # Without those of instances, which cannot be edited.
        self.prims = tuple(stage.Traverse())
        kinds: dict[str, list[Usd.Prim]] = {}
        for prim in self.prims:
            kinds.setdefault(_kind_of(prim), []).append(prim)
        # The middle prim of each kind.
        self.kinds = {name: found[len(found) // 2] for name, found in kinds.items()}

    def registered(self) -> Iterator[SchemaFault]:
        for schema in family_schemas():
            if Usd.SchemaRegistry.IsConcrete(schema):
                yield from self._of_type(schema)
            elif Usd.SchemaRegistry.IsMultipleApplyAPISchema(schema):
                for instance in _INSTANCES:
                    yield from self._of_api(schema, instance)
            elif Usd.SchemaRegistry.IsAppliedAPISchema(schema):
                yield from self._of_api(schema)
        yield from self._of_prims()
        yield from self._of_stage()

    def unregistered(self) -> Iterator[SchemaFault]:
        found: dict[tuple[str, str], list[Usd.Prim]] = {}
        for prim in self.prims:
            defined = set(prim.GetPrimDefinition().GetPropertyNames())
            unknown = [one for one in schemas_of(prim) if one not in prim.GetAppliedSchemas()]
            for one in prim.GetAuthoredProperties():
                # The first applied schema to whose namespace the property belongs.
                space = f"{one.GetName().split(':')[0].lower()}api"
                schema = next((to for to in unknown if to.split(":")[0].lower() == space), None)
                if schema and one.GetName() not in defined and not one.IsCustom():
                    found.setdefault((schema, one.GetName()), []).append(prim)
        for (schema, name), prims in found.items():
            attribute = prims[-1].GetAttribute(name)
            kind = attribute.GetTypeName() if attribute else None
            yield from self._of_values(schema, (_Property(name, kind, None),), prims, _no_edit)
        for kind, prim in self.kinds.items():
            for schema in schemas_of(prim):
                if schema not in prim.GetAppliedSchemas():
                    yield self._removal(schema, kind, prim)

    def _fault(
        self, schema: str, title: str, site: Usd.Prim, edit: _Edit, values: _Values = ()
    ) -> SchemaFault:
        """Return a change of a prim of the stage, or of an added one."""
        path = str(site.GetPath())
        added = str(site.GetTypeName()) if site.GetStage() != self.stage else ""
        colliders = (one.GetPath() for one in self.prims if one.HasAPI(UsdPhysics.CollisionAPI))
        is_material = site.IsA(UsdShade.Material) and not added
        collider = next(colliders, None) if is_material else None

        def apply(stage: Usd.Stage) -> None:
            prim = stage.DefinePrim(path, added) if added else stage.GetPrimAtPath(path)
            if collider:
                # Unless a collider is bound to it, a material makes no difference.
                binding = UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath(collider))
                binding.Bind(UsdShade.Material(prim), materialPurpose="physics")
            edit(prim)

        return SchemaFault(schema, title, path, apply, tuple(values))

    def _added(self, schema: str) -> Usd.Prim:
        self.others.append(Usd.Stage.CreateInMemory())
        return self.others[-1].DefinePrim(self.extra, schema)

    def _of_type(self, schema: str) -> Iterator[SchemaFault]:
        holders = [prim for prim in self.prims if prim.IsA(_type(schema))]
        added, every = self._added(schema), _all_properties(schema)
        yield from self._of_values(schema, _own_properties(schema), holders or [added], _no_edit)
        yield from self._plain_and_valued(schema, "added", every, added, _no_edit)
        for kind, prim in self.kinds.items():
            if prim.GetTypeName() != schema and _is_related(prim, schema):
                edit = methodcaller("SetTypeName", schema)
                yield self._fault(schema, f"type of a {kind}", prim, edit)

    def _of_api(self, schema: str, instance: str = "") -> Iterator[SchemaFault]:
        applied = f"{schema}:{instance}" if instance else schema
        apply = methodcaller("AddAppliedSchema", applied)
        without = {
            kind: prim
            for kind, prim in self.kinds.items()
            if applied not in schemas_of(prim) and _can_have(prim, schema, instance)
        }
        sites = [one for one in self.prims if applied in schemas_of(one)]
        # UsdPhysics registers no type to which its schemas can be applied; this one
        # matters on materials alone.
        is_general = schema != "PhysicsMaterialAPI"
        sites = sites or [p for p in without.values() if is_general or p.IsA(UsdShade.Material)]
        types = Usd.SchemaRegistry.GetAPISchemaCanOnlyApplyToTypeNames(schema)
        sites = sites or [self._added(one) for one in types if Usd.SchemaRegistry.IsConcrete(one)]
        own, every = _own_properties(schema, instance), _all_properties(schema, instance)
        yield from self._of_values(applied, own, sites, apply)
        for kind, prim in self.kinds.items():
            if applied in prim.GetAppliedSchemas():
                yield self._removal(applied, kind, prim)
        for kind, prim in without.items():
            title = f"applied to a {kind}"
            yield from self._plain_and_valued(applied, title, every, prim, apply)

    def _removal(self, applied: str, kind: str, prim: Usd.Prim) -> SchemaFault:
        """Return the change that removes a schema, and with it values of properties."""
        schema, _, instance = applied.partition(":")
        defined = {one.name: one.fallback for one in _own_properties(schema, instance)}
        namespace = f"{schema.removesuffix('API').lower()}:"
        values = [
            (schema_attribute(name), defined.get(name))
            for name in (one.GetName() for one in prim.GetAuthoredAttributes())
            if name in defined or (not defined and f"{name.lower()}:".startswith(namespace))
        ]
        remove = methodcaller("RemoveAppliedSchema", applied)
        return self._fault(applied, f"removed from a {kind}", prim, remove, values)

    def _of_values(
        self, schema: str, properties: _Properties, sites: Sequence[Usd.Prim], before: _Edit
    ) -> Iterator[SchemaFault]:
        """Yield the wrong values of properties, each on another prim in turn."""
        for at, one in enumerate(properties):
            wrong = [self._wrong(one, site) for site in sites]
            titles = list(dict.fromkeys(title for edits in wrong for title in edits))
            attribute = schema_attribute(one.name)
            # Of a property that makes no difference, one value is enough.
            if harmless_reason(attribute):
                titles = titles[:1]
            for turn, title in enumerate(titles):
                order = [(at + turn + step) % len(sites) for step in range(len(sites))]
                site = next(index for index in order if title in wrong[index])
                edit, value = wrong[site][title]
                wrong_edit, name = _all(before, edit), f"{one.name} {title}"
                yield self._fault(schema, name, sites[site], wrong_edit, [(attribute, value)])

    def _plain_and_valued(
        self, schema: str, title: str, properties: _Properties, site: Usd.Prim, before: _Edit
    ) -> Iterator[SchemaFault]:
        """Yield a change, and the one that also authors all properties but the switches."""
        yield self._fault(schema, title, site, before)
        edits, values = [before], []
        for turn, one in enumerate(properties):
            wrong = tuple(self._wrong(one, site).values())
            if wrong and one.type != Sdf.ValueTypeNames.Bool:
                # Several relationships have different targets.
                edit, value = wrong[turn % len(wrong)] if one.type is None else wrong[0]
                edits.append(edit)
                values.append((schema_attribute(one.name), value))
        if values:
            edit = _all(*edits)
            yield self._fault(schema, f"{title} with values", site, edit, values)

    def _wrong(self, one: _Property, site: Usd.Prim) -> _Wrong:
        kind = one.type
        if kind is None:
            targets = self._wrong_targets(site, one.name)
            return {title: (_setting(one.name, None, to), None) for title, to in targets}
        attribute = site.GetAttribute(one.name)
        given = (attribute.Get() if attribute else None, one.fallback, kind.defaultValue)
        value = next((value for value in given if value is not None), None)
        found: _Wrong = {
            title: (_setting(one.name, kind, wrong), wrong)
            for title, wrong in wrong_values(value, one.allowed).items()
        }
        # PhysX's fallbacks are unknown here; that of an offset is the zero of its type.
        fallback = kind.defaultValue if one.fallback is None else one.fallback
        if attribute and attribute.HasAuthoredValue() and not _same(value, fallback):
            found["blocked"] = (lambda prim: prim.GetAttribute(one.name).Block(), one.fallback)
        return found

    def _wrong_targets(self, site: Usd.Prim, name: str) -> Iterator[tuple[str, list[str]]]:
        """Yield wrong targets of a relationship: others, none, and a missing one."""
        relationship = site.GetRelationship(name)
        if current := relationship.GetTargets() if relationship else []:
            target = self.stage.GetPrimAtPath(current[0])
            alike = [
                str(other.GetPath())
                for other in self.prims
                if _kind_of(other) == _kind_of(target) and other not in {target, site}
            ]
            if alike:
                yield "to another prim", [alike[len(alike) // 2]]
            yield "emptied", []
        else:
            schema = str(site.GetTypeName())

            def distance(item: tuple[str, Usd.Prim]) -> int:
                same = item[1].GetTypeName() == schema
                return 0 if same else 1 if _is_related(item[1], schema) else 2

            # Those of the same type come first.
            for kind, other in sorted(self.kinds.items(), key=distance):
                if other != site and ("(" in kind or _is_family_type(other)):
                    yield f"to a {kind}", [str(other.GetPath())]
            yield "to itself", [str(site.GetPath())]
        yield "to nothing", [f"{self.extra}_target"]

    def _of_prims(self) -> Iterator[SchemaFault]:
        for kind, prim in self.kinds.items():
            found = _type(str(prim.GetTypeName()))
            if not found or Plug.Registry().GetPluginForType(found).name not in _PLUGINS:
                continue
            edits: dict[str, Any] = {
                "inactive": ("SetActive", False),
                "instanceable": ("SetInstanceable", True),
            }
            if prim.GetTypeName() != "Scope" and not _is_family_type(prim):
                edits["becomes a scope"] = ("SetTypeName", "Scope")
            for how, edit in edits.items():
                yield self._fault(PRIM, f"{kind} {how}", prim, methodcaller(*edit))

    def _of_stage(self) -> Iterator[SchemaFault]:
        root = str(self.stage.GetDefaultPrim().GetPath())
        for plugin in _PLUGINS:
            fields = Plug.Registry().GetPluginWithName(plugin).metadata["SdfMetadata"]
            for name in (name for name in fields if "layers" in fields[name]["appliesTo"]):
                for title, wrong in wrong_values(self.stage.GetMetadata(name)).items():
                    edit = methodcaller("SetMetadata", name, wrong)
                    yield SchemaFault(STAGE, f"{name} {title}", root, edit)
