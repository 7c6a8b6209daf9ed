"""Wrong values of every property of the registered physics schemas.

The seeds are generated from the schema registry of OpenUSD, so that a new property, or
a new schema of :data:`FAMILIES`, is seeded without a change here:

- every property of every schema is set to several wrong values of its type, on prims
  that have the schema, else on prims to which it can be applied, else on an added prim
  of the type that it requires;
- every applied schema is removed, and every API schema is applied to one prim of each
  kind without it, once with its fallbacks and once with other values;
- prims of every concrete type are added, and joints become joints of other types;
- prims of every kind are deactivated, are made instanceable, and become scopes;
- units and up axis of the stage are changed;
- properties of applied schemas that are not registered, such as those of PhysX, are
  changed where they are authored.

A kind of prims is their type and their physics schemas; all shapes are of one type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from pxr import Gf, Plug, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.settings.coverage import plugin_schemas
from urdf_usd.conformance.engines.openusd.settings.physics_attributes import (
    COUPLED,
    SUPERSEDED,
    UNAPPLIED,
    harmless_reason,
    schema_attribute,
)
from urdf_usd.conformance.mutation.fault import EXTRA_PRIM
from urdf_usd.conformance.mutation.generated.computed_physics import (
    USERS,
    ComputedPhysics,
    compute_physics,
    same_prims,
)

FAMILIES = ("usdPhysics", "newton", "physx")
"""Beginnings of the names of the plugins whose schemas are seeded."""

PRIMS = ("usdGeom", "usdPhysics")
"""Plugins of the types of prims that are deactivated."""

METADATA = ("usdGeom", "usdPhysics")
"""Plugins whose metadata of stages is seeded: units and up axis."""

# Groups of seeds that concern no schema.
STAGE = "stage metadata"
PRIM = "prim metadata"

# Beginning of the names of schemas that OpenUSD's parser evaluates.
_PARSED = "Physics"
_UNUSED = "no body, joint, collider, material or scene is computed from the prim"
_FALLBACKS = "its fallbacks are what a URDF implies"
_RESTATED = "it states nothing that no other schema states"
_SAME = "OpenUSD computes the same physics"
_INSTANCE = "__INSTANCE_NAME__"
# Instances of the schemas of joints: of typed joints, and two of untyped ones.
_INSTANCES = ("angular", "linear", "distance", "rotX", "transZ")
# UsdPhysics registers no type to which its schemas can be applied; this one matters on
# materials alone.
_MATERIALS = {"PhysicsMaterialAPI"}
# Purpose of the binding of a contact material.
_PHYSICS = "physics"
_TURN = Gf.Quatd(math.cos(0.2), math.sin(0.2) * Gf.Vec3d(2, -3, 6) / 7)

_Edit: TypeAlias = "Callable[[Usd.Prim], None]"


@dataclass(frozen=True, slots=True, eq=False)
class SchemaSeed:
    """One wrong value, or another change of one prim.

    Attributes:
        schema: Schema that defines what is changed, or another group.
        edit: The change in a few words; with the schema it identifies the same change
            on all robots.
        path: Path of the changed prim.
        apply: Edits a stage.
        values: The changed properties, with ``*`` for an instance, and their values;
            None for a relationship.
        removed: Whether a schema is removed.
    """

    schema: str
    edit: str
    path: str
    apply: Callable[[Usd.Stage], None]
    values: tuple[tuple[str, object], ...] = ()
    removed: bool = False

    @property
    def key(self) -> str:
        """Identifies the change on all robots."""
        return f"{self.schema}: {self.edit}"


@dataclass(frozen=True, slots=True, eq=False)
class _Property:
    """A property of a schema.

    Attributes:
        name: Its name, with the instance of the schema.
        type: Type of an attribute; None for a relationship.
        fallback: Fallback of an attribute, if it has one.
        allowed: Allowed tokens, if the schema lists them.
    """

    name: str
    type: Sdf.ValueTypeName | None
    fallback: object
    allowed: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Wrong:
    """A wrong value of a property, and the edit that authors it."""

    edit: _Edit
    value: object


@dataclass(frozen=True, slots=True)
class _Site:
    """A prim of the good stage, or one to be added.

    Attributes:
        path: Its path.
        added: Type of the prim if it is added.
        collider: The collider to which it is bound, if it is a material.
    """

    path: str
    added: str | None = None
    collider: str | None = None

    def seed(
        self,
        schema: str,
        title: str,
        edit: _Edit,
        values: Iterable[tuple[str, object]] = (),
        *,
        removed: bool = False,
    ) -> SchemaSeed:
        """Return the seed that edits this prim."""
        apply = partial(self._apply, edit)
        return SchemaSeed(schema, title, self.path, apply, tuple(values), removed)

    def _apply(self, edit: _Edit, stage: Usd.Stage) -> None:
        if self.added:
            prim = stage.DefinePrim(self.path, self.added)
        else:
            prim = stage.GetPrimAtPath(self.path)
        if self.collider:
            # Without a physics schema the binding makes no difference.
            binding = UsdShade.MaterialBindingAPI.Apply(
                stage.GetPrimAtPath(self.collider)
            )
            binding.Bind(UsdShade.Material(prim), materialPurpose=_PHYSICS)
        edit(prim)


def schema_seeds(
    stage: Usd.Stage, *, registered: bool = True
) -> tuple[SchemaSeed, ...]:
    """Return all seeds of a good stage; each has another key.

    Args:
        stage: The stage, whose default prim is the robot.
        registered: Whether to seed registered schemas, and metadata; otherwise the
            properties of schemas that are not registered.
    """
    generator = _Generator.of(stage)
    found = generator.registered() if registered else generator.unregistered()
    return tuple({seed.key: seed for seed in found}.values())


@dataclass(frozen=True, slots=True, eq=False)
class _Generator:
    """The prims of a good stage.

    Attributes:
        stage: The stage.
        prims: Its prims, without those of instances, which cannot be edited.
        kinds: The middle prim of each kind, by the name of the kind.
    """

    stage: Usd.Stage
    prims: tuple[Usd.Prim, ...]
    kinds: Mapping[str, Usd.Prim]

    @classmethod
    def of(cls, stage: Usd.Stage) -> _Generator:
        prims = tuple(stage.Traverse())
        kinds: dict[str, list[Usd.Prim]] = {}
        for prim in prims:
            kinds.setdefault(_kind(prim), []).append(prim)
        middle = {name: found[len(found) // 2] for name, found in kinds.items()}
        return cls(stage, prims, middle)

    def registered(self) -> Iterator[SchemaSeed]:
        """Yield the seeds of registered schemas and of metadata."""
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

    def unregistered(self) -> Iterator[SchemaSeed]:
        """Yield the seeds of authored properties of schemas that are not registered."""
        found: dict[tuple[str, str], list[_Site]] = {}
        properties = {}
        for prim in self.prims:
            for name in _undefined_properties(prim):
                schema = _unregistered_schema(prim, name)
                found.setdefault((schema, name), []).append(self._at(prim))
                attribute = prim.GetAttribute(name)
                properties[name] = _Property(
                    name, attribute.GetTypeName() if attribute else None, None, ()
                )
        for (schema, name), sites in found.items():
            yield from self._of_values(schema, (properties[name],), sites, _no_edit)
        for kind, prim in self.kinds.items():
            registered = prim.GetAppliedSchemas()
            for schema in _schemas(prim):
                if schema not in registered:
                    yield self._removal(schema, kind, prim)

    def _at(self, prim: Usd.Prim) -> _Site:
        path = str(prim.GetPath())
        if not prim.IsA(UsdShade.Material):
            return _Site(path)
        colliders = [
            str(one.GetPath())
            for one in self.prims
            if one.HasAPI(UsdPhysics.CollisionAPI)
        ]
        return _Site(path, collider=next(iter(colliders), None))

    def _of_type(self, schema: str) -> Iterator[SchemaSeed]:
        own, every = _own_properties(schema), _all_properties(schema)
        added = _Site(f"{self.stage.GetDefaultPrim().GetPath()}/{EXTRA_PRIM}", schema)
        holders = [self._at(prim) for prim in self.prims if _is_a(prim, schema)]
        yield from self._of_values(schema, own, holders or [added], _no_edit)
        yield added.seed(schema, "added", _no_edit)
        yield from self._valued(schema, "added", every, added, _no_edit)
        for kind, prim in self.kinds.items():
            if prim.GetTypeName() != schema and _is_related(prim, schema):
                yield self._at(prim).seed(schema, f"type of a {kind}", _typing(schema))

    def _of_api(self, schema: str, instance: str = "") -> Iterator[SchemaSeed]:
        applied = f"{schema}:{instance}" if instance else schema
        apply = _applying(applied)
        own, every = (
            tuple(_instanced(one, instance) for one in properties)
            for properties in (_own_properties(schema), _all_properties(schema))
        )
        without = {
            kind: prim
            for kind, prim in self.kinds.items()
            if applied not in _schemas(prim) and _can_have(prim, schema, instance)
        }
        sites = [self._at(prim) for prim in self.prims if applied in _schemas(prim)]
        sites = sites or [
            self._at(prim)
            for prim in without.values()
            if schema not in _MATERIALS or prim.IsA(UsdShade.Material)
        ]
        sites = sites or [
            _Site(f"{self.stage.GetDefaultPrim().GetPath()}/{EXTRA_PRIM}", name)
            for name in Usd.SchemaRegistry.GetAPISchemaCanOnlyApplyToTypeNames(schema)
            if Usd.SchemaRegistry.IsConcrete(name)
        ]
        yield from self._of_values(applied, own, sites, apply)
        for kind, prim in self.kinds.items():
            if applied in prim.GetAppliedSchemas():
                yield self._removal(applied, kind, prim)
        for kind, prim in without.items():
            site = self._at(prim)
            yield site.seed(applied, f"applied to a {kind}", apply)
            yield from self._valued(applied, f"applied to a {kind}", every, site, apply)

    def _removal(self, schema: str, kind: str, prim: Usd.Prim) -> SchemaSeed:
        """Return the seed that removes a schema, and with it values of properties."""
        namespace = schema.split(":", maxsplit=1)[0].removesuffix("API").lower()
        defined = {one.name: one for one in _schema_properties(schema)}
        values = []
        for one in prim.GetAuthoredAttributes():
            name = one.GetName()
            if name in defined:
                values.append((schema_attribute(name), defined[name].fallback))
            elif (
                not defined
                and name.split(":", maxsplit=1)[0].lower() == namespace
                and not _is_restated(one)
            ):
                values.append((schema_attribute(name), None))
        return self._at(prim).seed(
            schema, f"removed from a {kind}", _removing(schema), values, removed=True
        )

    def _of_values(
        self,
        schema: str,
        properties: Sequence[_Property],
        sites: Sequence[_Site],
        before: _Edit,
    ) -> Iterator[SchemaSeed]:
        """Yield the wrong values of properties, each on another prim in turn.

        Of a property that makes no difference, one value is enough.
        """
        for at, one in enumerate(properties):
            wrong = {site: self._wrong(one, site) for site in sites}
            titles = list(
                dict.fromkeys(title for edits in wrong.values() for title in edits)
            )
            attribute = schema_attribute(one.name)
            if harmless_reason(attribute):
                titles = titles[:1]
            for turn, title in enumerate(titles):
                turned = (at + turn) % len(sites)
                site = next(
                    site
                    for site in (*sites[turned:], *sites[:turned])
                    if title in wrong[site]
                )
                chosen = wrong[site][title]
                yield site.seed(
                    schema,
                    f"{one.name} {title}",
                    _both(before, chosen.edit),
                    [(attribute, chosen.value)],
                )

    def _valued(
        self,
        schema: str,
        title: str,
        properties: Iterable[_Property],
        site: _Site,
        before: _Edit,
    ) -> Iterator[SchemaSeed]:
        """Yield the seed that also changes all properties but the switches."""
        edits, values = [before], []
        for turn, one in enumerate(properties):
            wrong = tuple(self._wrong(one, site).values())
            if wrong and one.type != Sdf.ValueTypeNames.Bool:
                # Several relationships have different targets.
                chosen = wrong[turn % len(wrong)] if one.type is None else wrong[0]
                edits.append(chosen.edit)
                values.append((schema_attribute(one.name), chosen.value))
        if values:
            yield site.seed(schema, f"{title} with values", _both(*edits), values)

    def _wrong(self, one: _Property, site: _Site) -> dict[str, _Wrong]:
        """Return the wrong values of a property, by title."""
        prim = None if site.added else self.stage.GetPrimAtPath(site.path)
        if one.type is None:
            return self._wrong_targets(one.name, prim, site)
        attribute = prim.GetAttribute(one.name) if prim else None
        value = attribute.Get() if attribute else None
        value = one.fallback if value is None else value
        value = one.type.defaultValue if value is None else value
        found = {
            title: _Wrong(partial(_author, one.name, one.type, wrong), wrong)
            for title, wrong in wrong_values(value, one.allowed).items()
        }
        # PhysX's fallbacks are unknown here; that of an offset is the zero of its type.
        fallback = one.type.defaultValue if one.fallback is None else one.fallback
        if attribute and attribute.HasAuthoredValue() and not _is_same(value, fallback):
            found["blocked"] = _Wrong(partial(_block, one.name), one.fallback)
        return found

    def _wrong_targets(
        self, name: str, prim: Usd.Prim | None, site: _Site
    ) -> dict[str, _Wrong]:
        """Return wrong targets of a relationship: others, none, and a missing one."""
        relationship = prim.GetRelationship(name) if prim else None
        current = relationship.GetTargets() if relationship else []
        targets: dict[str, list[str]] = {}
        if current:
            target = self.stage.GetPrimAtPath(current[0])
            alike = [
                str(one.GetPath())
                for one in self.prims
                if _kind(one) == _kind(target) and one not in {target, prim}
            ]
            if alike:
                targets["to another prim"] = [alike[len(alike) // 2]]
            targets["emptied"] = []
        else:
            # Those of the same type come first.
            name_of_type = str(prim.GetTypeName()) if prim else site.added or ""
            for kind, one in sorted(
                self.kinds.items(), key=lambda item: _distance(item[1], name_of_type)
            ):
                if _physics_schemas(one) and one != prim:
                    targets[f"to a {kind}"] = [str(one.GetPath())]
            targets["to itself"] = [site.path]
        root = self.stage.GetDefaultPrim().GetPath()
        targets["to nothing"] = [f"{root}/{EXTRA_PRIM}_target"]
        return {
            title: _Wrong(partial(_retarget, name, paths), None)
            for title, paths in targets.items()
        }

    def _of_prims(self) -> Iterator[SchemaSeed]:
        for kind, prim in self.kinds.items():
            if _plugin(str(prim.GetTypeName())) not in PRIMS:
                continue
            site = self._at(prim)
            yield site.seed(PRIM, f"{kind} inactive", _deactivate)
            yield site.seed(PRIM, f"{kind} instanceable", _make_instanceable)
            if prim.GetTypeName() != "Scope" and not _is_family_type(prim):
                yield site.seed(PRIM, f"{kind} becomes a scope", _typing("Scope"))

    def _of_stage(self) -> Iterator[SchemaSeed]:
        root = str(self.stage.GetDefaultPrim().GetPath())
        for plugin in METADATA:
            fields = Plug.Registry().GetPluginWithName(plugin).metadata["SdfMetadata"]
            for name, field in fields.items():
                if "layers" not in field["appliesTo"]:
                    continue
                value = self.stage.GetMetadata(name)
                for title, wrong in wrong_values(value, ()).items():
                    edit = partial(_set_metadata, name, wrong)
                    yield SchemaSeed(STAGE, f"{name} {title}", root, edit)


def wrong_values(value: object, allowed: Iterable[str]) -> dict[str, object]:
    """Return values of the same type that differ from a value, by title.

    Args:
        value: The right value, of a type of attributes.
        allowed: Allowed tokens, where a schema lists them.
    """
    return {
        title: wrong
        for title, wrong in _variants(value, allowed)
        if not _is_same(value, wrong)
    }


def _variants(value: object, allowed: Iterable[str]) -> Iterator[tuple[str, object]]:
    match value:
        case bool():
            yield "flipped", not value
        case int() | float():
            yield from _number_variants(value)
        case str():
            for token in allowed:
                yield f"is {token}", token
            yield "misspelt", f"{value}_"
            yield "empty", ""
        case Sdf.AssetPath():
            yield "to nothing", Sdf.AssetPath("./missing.bin")
        case Gf.Quath() | Gf.Quatf() | Gf.Quatd():
            kind = type(value)
            right = Gf.Quatd(value)
            yield "turned", kind((right if right.GetLength() else Gf.Quatd(1)) * _TURN)
            yield "conjugated", kind(right.GetConjugate())
            yield "zero", kind(0)
            yield "not a number", kind(math.nan)
        case _ if hasattr(value, "dimension"):
            yield from _vector_variants(value)
        case _ if type(value).__name__.endswith("Array"):
            yield from _array_variants(value)


def _number_variants(value: float) -> Iterator[tuple[str, object]]:
    kind = type(value)
    if value == 0 or not math.isfinite(value):
        yield "one", kind(1)
        yield "minus one", kind(-1)
    else:
        yield "doubled", kind(2 * value)
        yield "negated", kind(-value)
    yield "zero", kind(0)
    if kind is float:
        yield "not a number", math.nan
        yield "infinite", math.inf
        yield "negatively infinite", -math.inf


def _vector_variants(value: Gf.Vec3f) -> Iterator[tuple[str, object]]:
    kind = type(value)
    right = np.array(value, np.float64)
    right = np.where(np.isfinite(right), right, 0.0)
    size = float(np.linalg.norm(right)) or 1.0
    moved = size * np.arange(1, len(right) + 1) / len(right)
    for title, wrong in (
        ("moved", right + moved),
        ("negated", -right),
        ("permuted", np.roll(right, 1)),
        ("zero", np.zeros_like(right)),
        ("not a number", np.where(np.arange(len(right)), right, math.nan)),
        ("infinite", np.where(np.arange(len(right)), right, math.inf)),
    ):
        yield title, kind(*wrong.tolist())


def _array_variants(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  arrays of OpenUSD have no common type
    kind = type(value)
    elements = list(value)
    yield "emptied", kind()
    yield "shortened", kind(elements[:-1])
    yield "reversed", kind(elements[::-1])
    if not elements:
        yield "one element", kind(1)
    elif isinstance(elements[0], int | float):
        for title, factor in (("doubled", 2), ("negated", -1), ("zero", 0)):
            yield title, kind([factor * element for element in elements])


def _is_same(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return bool(one == other)


@cache
def family_schemas() -> tuple[str, ...]:
    """Return the registered schemas of :data:`FAMILIES`, by plugin and name."""
    plugins = sorted(
        plugin.name
        for plugin in Plug.Registry().GetAllPlugins()
        if plugin.name.startswith(FAMILIES) and "Types" in plugin.metadata
    )
    return tuple(
        schema for plugin in plugins for schema in sorted(plugin_schemas(plugin))
    )


def harmless_because(
    seed: SchemaSeed, good: Usd.Stage, changed: Usd.Stage
) -> str | None:
    """Return why a change is harmless, or None if it matters.

    Args:
        seed: The change.
        good: The stage without it.
        changed: The stage with it.
    """
    if seed.schema == STAGE:
        return None
    before, after = compute_physics(good), compute_physics(changed)
    same = before.equals(after)
    if seed.schema == PRIM:
        return _SAME if same and same_prims(good, changed) else None
    if reason := _reason_of_values(seed, good, changed, same=same):
        return reason
    schema = seed.schema.split(":", maxsplit=1)[0]
    if schema.startswith(_PARSED):
        return _SAME if same else None
    if seed.removed:
        return UNAPPLIED.get(schema) if seed.values else _RESTATED
    bare = same and not seed.values and bool(_all_properties(schema))
    used = _is_used(schema, seed.path, (before, after))
    return (_FALLBACKS if bare else None) if used else _UNUSED


def _reason_of_values(
    seed: SchemaSeed, good: Usd.Stage, changed: Usd.Stage, *, same: bool
) -> str | None:
    """Return why none of the changed values matters, if that is so.

    A schema that is applied along with them has to make no difference either.
    """
    before, after = (stage.GetPrimAtPath(seed.path) for stage in (good, changed))
    reasons = [_reason_of_value(name, value, after) for name, value in seed.values]
    if not reasons or not all(reasons):
        return None
    return reasons[0] if same or (before and seed.schema in _schemas(before)) else None


def _reason_of_value(name: str, value: object, prim: Usd.Prim) -> str | None:
    """Return why a value of a changed prim makes no difference, or None."""
    if reason := harmless_reason(name, value):
        return reason
    if name in SUPERSEDED and any(
        one.split(":", maxsplit=1)[0] == SUPERSEDED[name] for one in _schemas(prim)
    ):
        return f"{SUPERSEDED[name]} takes precedence"
    if name in COUPLED:
        targets = prim.GetRelationship(COUPLED[name]).GetTargets()
        leaders = [prim.GetStage().GetPrimAtPath(target) for target in targets]
        if not any(leader and leader.IsA(UsdPhysics.Joint) for leader in leaders):
            return f"{COUPLED[name]} targets no joint"
    return None


def _is_used(schema: str, path: str, computed: Iterable[ComputedPhysics]) -> bool:
    """Whether any physics is computed from a prim that has a schema."""
    names = {*Usd.SchemaRegistry.GetAPISchemaCanOnlyApplyToTypeNames(schema)}
    if definition := _definition(schema):
        names |= {*definition.GetAppliedAPISchemas()}
    kinds = names & USERS or USERS
    return any(path in one.users[kind] for one in computed for kind in kinds)


def _definition(schema: str) -> Any:  # noqa: ANN401  absent for a schema that is not registered
    registry = Usd.SchemaRegistry()
    return registry.FindConcretePrimDefinition(
        schema
    ) or registry.FindAppliedAPIPrimDefinition(schema)


@cache
def _all_properties(schema: str) -> tuple[_Property, ...]:
    """Return the properties of a schema that schemas of the families define."""
    definition = _definition(schema)
    # Those of any type that is drawn or placed, and of built-in API schemas.
    general = set(_definition("Xform").GetPropertyNames())
    found = []
    for name in definition.GetPropertyNames():
        attribute = definition.GetSchemaAttributeSpec(name)
        if name in general:
            continue
        found.append(
            _Property(
                name,
                attribute.typeName if attribute else None,
                attribute.default if attribute else None,
                tuple(attribute.allowedTokens or ()) if attribute else (),
            )
        )
    return tuple(found)


@cache
def _own_properties(schema: str) -> tuple[_Property, ...]:
    """Return the properties of a schema that no schema has from which it derives."""
    bases = {
        str(info.identifier)
        for base in Usd.SchemaRegistry.GetTypeFromSchemaTypeName(
            schema
        ).GetAllAncestorTypes()
        if (info := Usd.SchemaRegistry.FindSchemaInfo(base))
    }
    built_in = set(_definition(schema).GetAppliedAPISchemas())
    inherited = {
        name
        for base in (bases | built_in) - {schema}
        if base in family_schemas()
        for name in _definition(base).GetPropertyNames()
    }
    return tuple(one for one in _all_properties(schema) if one.name not in inherited)


def _schema_properties(applied: str) -> tuple[_Property, ...]:
    """Return the own properties of an applied schema; none if it is not registered."""
    schema, _, instance = applied.partition(":")
    if not _definition(schema):
        return ()
    return tuple(_instanced(one, instance) for one in _own_properties(schema))


def _instanced(one: _Property, instance: str) -> _Property:
    return _Property(
        one.name.replace(_INSTANCE, instance), one.type, one.fallback, one.allowed
    )


def _schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the applied schemas of a prim, also those that are not registered."""
    return tuple(
        dict.fromkeys(
            (*prim.GetAppliedSchemas(), *prim.GetPrimTypeInfo().GetAppliedAPISchemas())
        )
    )


def _physics_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the applied and the typed schemas of a prim that are of the families."""
    found = [name for name in _schemas(prim) if name.split(":")[0] in family_schemas()]
    return tuple([str(prim.GetTypeName())] * _is_family_type(prim) + sorted(found))


def _is_family_type(prim: Usd.Prim) -> bool:
    return prim.GetTypeName() in family_schemas()


def _plugin(schema: str) -> str:
    """Return the plugin of a type of prims."""
    found = Usd.SchemaRegistry.GetTypeFromSchemaTypeName(schema)
    return str(Plug.Registry().GetPluginForType(found).name) if found else ""


def _kind(prim: Usd.Prim) -> str:
    """Return the name of the kind of a prim."""
    shape = "Gprim" if prim.IsA(UsdGeom.Gprim) else str(prim.GetTypeName())
    names = [name for name in _physics_schemas(prim) if name != shape]
    return f"{shape} ({', '.join(names)})" if names else shape


def _is_a(prim: Usd.Prim, schema: str) -> bool:
    return bool(prim.IsA(Usd.SchemaRegistry.GetTypeFromSchemaTypeName(schema)))


def _distance(prim: Usd.Prim, schema: str) -> int:
    """Return the rank of a target: the same type, a related one, another one."""
    if prim.GetTypeName() == schema:
        return 0
    return 1 if schema in family_schemas() and _is_related(prim, schema) else 2


def _is_related(prim: Usd.Prim, schema: str) -> bool:
    """Whether a prim and a type have a common base type in the families."""
    if not _is_family_type(prim):
        return False
    types = [
        {
            base
            for base in Usd.SchemaRegistry.GetTypeFromSchemaTypeName(
                name
            ).GetAllAncestorTypes()
            if (info := Usd.SchemaRegistry.FindSchemaInfo(base))
            and str(info.identifier) in family_schemas()
        }
        for name in (str(prim.GetTypeName()), schema)
    ]
    return bool(types[0] & types[1])


def _can_have(prim: Usd.Prim, schema: str, instance: str) -> bool:
    """Whether a schema can be applied to a prim; one with instances is for joints."""
    if instance and not prim.IsA(UsdPhysics.Joint):
        return False
    types = Usd.SchemaRegistry.GetAPISchemaCanOnlyApplyToTypeNames(schema, instance)
    return not types or any(_is_a(prim, name) for name in types)


def _undefined_properties(prim: Usd.Prim) -> list[str]:
    """Return the authored properties that no registered schema of a prim defines."""
    defined = set(prim.GetPrimDefinition().GetPropertyNames())
    return [
        one.GetName()
        for one in prim.GetAuthoredProperties()
        if one.GetName() not in defined
        and not one.IsCustom()
        and _unregistered_schema(prim, one.GetName())
    ]


def _is_restated(attribute: Usd.Attribute) -> bool:
    """Whether another schema states the same value under the same base name."""
    return any(
        other != attribute
        and other.GetBaseName() == attribute.GetBaseName()
        and other.Get() == attribute.Get()
        for other in attribute.GetPrim().GetAuthoredAttributes()
        if not other.IsCustom()
    )


def _unregistered_schema(prim: Usd.Prim, name: str) -> str:
    """Return the applied schema to whose namespace a property belongs, or nothing."""
    namespace = name.split(":", maxsplit=1)[0].lower()
    registered = prim.GetAppliedSchemas()
    return next(
        (
            schema
            for schema in _schemas(prim)
            if schema not in registered
            and schema.split(":")[0].lower() == f"{namespace}api"
        ),
        "",
    )


def _no_edit(_: Usd.Prim) -> None:
    """Leave a prim as it is."""


def _both(*edits: _Edit) -> _Edit:
    def edit(prim: Usd.Prim) -> None:
        for one in edits:
            one(prim)

    return edit


def _applying(schema: str) -> _Edit:
    return lambda prim: prim.AddAppliedSchema(schema)


def _removing(schema: str) -> _Edit:
    return lambda prim: prim.RemoveAppliedSchema(schema)


def _typing(name: str) -> _Edit:
    return lambda prim: prim.SetTypeName(name)


def _author(name: str, kind: Sdf.ValueTypeName, value: object, prim: Usd.Prim) -> None:
    prim.CreateAttribute(name, kind, custom=False).Set(value)


def _block(name: str, prim: Usd.Prim) -> None:
    prim.GetAttribute(name).Block()


def _retarget(name: str, paths: Sequence[str], prim: Usd.Prim) -> None:
    prim.CreateRelationship(name, custom=False).SetTargets(paths)


def _deactivate(prim: Usd.Prim) -> None:
    prim.SetActive(False)


def _make_instanceable(prim: Usd.Prim) -> None:
    prim.SetInstanceable(True)


def _set_metadata(name: str, value: object, stage: Usd.Stage) -> None:
    stage.SetMetadata(name, value)
