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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from pxr import Plug, Sdf, Usd, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.settings.schema_attributes import (
    harmless_reason,
    schema_attribute,
)
from urdf_usd.conformance.mutation.fault import EXTRA_PRIM
from urdf_usd.conformance.mutation.generated.schemas import (
    SchemaProperty,
    all_properties,
    applied_properties,
    applied_schemas,
    can_have,
    distance,
    family_schemas,
    instanced,
    is_a,
    is_family_type,
    is_related,
    kind_of,
    own_properties,
    physics_schemas,
    plugin_of,
)
from urdf_usd.conformance.mutation.generated.seeds import (
    PRIM,
    STAGE,
    Edit,
    SchemaSeed,
    Site,
    applying,
    author,
    block,
    both,
    deactivate,
    make_instanceable,
    no_edit,
    removing,
    retarget,
    set_metadata,
    typing_as,
)
from urdf_usd.conformance.mutation.generated.wrong_values import is_same, wrong_values

PRIMS = ("usdGeom", "usdPhysics")
"""Plugins of the types of prims that are deactivated."""

METADATA = ("usdGeom", "usdPhysics")
"""Plugins whose metadata of stages is seeded: units and up axis."""

# Instances of the schemas of joints: of typed joints, and two of untyped ones.
_INSTANCES = ("angular", "linear", "distance", "rotX", "transZ")
# UsdPhysics registers no type to which its schemas can be applied; this one matters on
# materials alone.
_MATERIALS = {"PhysicsMaterialAPI"}
# Properties of PhysX's schemas, which are not registered, whose fallback is zero.
_ZERO_FALLBACKS = {
    "physxJointAxis:*:dynamicFrictionEffort",
    "physxJointAxis:*:staticFrictionEffort",
    "physxJointAxis:*:viscousFrictionCoefficient",
}


class _Wrong(Struct, frozen=True, eq=False):
    """A wrong value of a property, and the edit that authors it."""

    edit: Edit
    value: object


def schema_seeds(stage: Usd.Stage, *, registered: bool = True) -> tuple[SchemaSeed, ...]:
    """Return all seeds of a good stage; each has another key.

    Args:
        stage: The stage, whose default prim is the robot.
        registered: Whether to seed registered schemas, and metadata; otherwise the
            properties of schemas that are not registered.
    """
    generator = _Generator.of(stage)
    found = generator.registered() if registered else generator.unregistered()
    return tuple({seed.key: seed for seed in found}.values())


class _Generator(Struct, frozen=True, eq=False):
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
            kinds.setdefault(kind_of(prim), []).append(prim)
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
        found: dict[tuple[str, str], list[Site]] = {}
        properties = {}
        for prim in self.prims:
            for name in _undefined_properties(prim):
                schema = _unregistered_schema(prim, name)
                found.setdefault((schema, name), []).append(self._at(prim))
                attribute = prim.GetAttribute(name)
                properties[name] = SchemaProperty(
                    name, attribute.GetTypeName() if attribute else None, None, ()
                )
        for (schema, name), sites in found.items():
            yield from self._of_values(schema, (properties[name],), sites, no_edit)
        for kind, prim in self.kinds.items():
            registered = prim.GetAppliedSchemas()
            for schema in applied_schemas(prim):
                if schema not in registered:
                    yield self._removal(schema, kind, prim)

    def _at(self, prim: Usd.Prim) -> Site:
        path = str(prim.GetPath())
        if not prim.IsA(UsdShade.Material):
            return Site(path)
        colliders = [
            str(one.GetPath()) for one in self.prims if one.HasAPI(UsdPhysics.CollisionAPI)
        ]
        return Site(path, collider=next(iter(colliders), None))

    def _of_type(self, schema: str) -> Iterator[SchemaSeed]:
        own, every = own_properties(schema), all_properties(schema)
        added = Site(f"{self.stage.GetDefaultPrim().GetPath()}/{EXTRA_PRIM}", schema)
        holders = [self._at(prim) for prim in self.prims if is_a(prim, schema)]
        yield from self._of_values(schema, own, holders or [added], no_edit)
        yield added.seed(schema, "added", no_edit)
        yield from self._valued(schema, "added", every, added, no_edit)
        for kind, prim in self.kinds.items():
            if prim.GetTypeName() != schema and is_related(prim, schema):
                yield self._at(prim).seed(schema, f"type of a {kind}", typing_as(schema))

    def _of_api(self, schema: str, instance: str = "") -> Iterator[SchemaSeed]:
        applied = f"{schema}:{instance}" if instance else schema
        apply = applying(applied)
        own, every = (
            tuple(instanced(one, instance) for one in properties)
            for properties in (own_properties(schema), all_properties(schema))
        )
        without = {
            kind: prim
            for kind, prim in self.kinds.items()
            if applied not in applied_schemas(prim) and can_have(prim, schema, instance)
        }
        sites = [self._at(prim) for prim in self.prims if applied in applied_schemas(prim)]
        sites = sites or [
            self._at(prim)
            for prim in without.values()
            if schema not in _MATERIALS or prim.IsA(UsdShade.Material)
        ]
        sites = sites or [
            Site(f"{self.stage.GetDefaultPrim().GetPath()}/{EXTRA_PRIM}", name)
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
        defined = {one.name: one for one in applied_properties(schema)}
        values = []
        for one in prim.GetAuthoredAttributes():
            name = one.GetName()
            if name in defined:
                values.append((schema_attribute(name), defined[name].fallback))
            elif (
                not defined
                and name.split(":", maxsplit=1)[0].lower() == namespace
                and not _is_restated(one)
                and not (schema_attribute(name) in _ZERO_FALLBACKS and one.Get() == 0)
            ):
                values.append((schema_attribute(name), None))
        return self._at(prim).seed(
            schema, f"removed from a {kind}", removing(schema), values, removed=True
        )

    def _of_values(
        self,
        schema: str,
        properties: Sequence[SchemaProperty],
        sites: Sequence[Site],
        before: Edit,
    ) -> Iterator[SchemaSeed]:
        """Yield the wrong values of properties, each on another prim in turn.

        Of a property that makes no difference, one value is enough.
        """
        for at, one in enumerate(properties):
            wrong = {site: self._wrong(one, site) for site in sites}
            titles = list(dict.fromkeys(title for edits in wrong.values() for title in edits))
            attribute = schema_attribute(one.name)
            if harmless_reason(attribute):
                titles = titles[:1]
            for turn, title in enumerate(titles):
                turned = (at + turn) % len(sites)
                site = next(
                    site for site in (*sites[turned:], *sites[:turned]) if title in wrong[site]
                )
                chosen = wrong[site][title]
                yield site.seed(
                    schema,
                    f"{one.name} {title}",
                    both(before, chosen.edit),
                    [(attribute, chosen.value)],
                )

    def _valued(
        self,
        schema: str,
        title: str,
        properties: Iterable[SchemaProperty],
        site: Site,
        before: Edit,
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
            yield site.seed(schema, f"{title} with values", both(*edits), values)

    def _wrong(self, one: SchemaProperty, site: Site) -> dict[str, _Wrong]:
        """Return the wrong values of a property, by title."""
        prim = None if site.added else self.stage.GetPrimAtPath(site.path)
        if one.type is None:
            return self._wrong_targets(one.name, prim, site)
        attribute = prim.GetAttribute(one.name) if prim else None
        value = attribute.Get() if attribute else None
        value = one.fallback if value is None else value
        value = one.type.defaultValue if value is None else value
        found = {
            title: _Wrong(partial(author, one.name, one.type, wrong), wrong)
            for title, wrong in wrong_values(value, one.allowed).items()
        }
        # PhysX's fallbacks are unknown here; that of an offset is the zero of its type.
        fallback = one.type.defaultValue if one.fallback is None else one.fallback
        if attribute and attribute.HasAuthoredValue() and not is_same(value, fallback):
            found["blocked"] = _Wrong(partial(block, one.name), one.fallback)
        return found

    def _wrong_targets(self, name: str, prim: Usd.Prim | None, site: Site) -> dict[str, _Wrong]:
        """Return wrong targets of a relationship: others, none, and a missing one."""
        relationship = prim.GetRelationship(name) if prim else None
        current = relationship.GetTargets() if relationship else []
        targets: dict[str, list[str]] = {}
        if current:
            target = self.stage.GetPrimAtPath(current[0])
            alike = [
                str(one.GetPath())
                for one in self.prims
                if kind_of(one) == kind_of(target) and one not in {target, prim}
            ]
            if alike:
                targets["to another prim"] = [alike[len(alike) // 2]]
            targets["emptied"] = []
        else:
            # Those of the same type come first.
            name_of_type = str(prim.GetTypeName()) if prim else site.added or ""
            for kind, one in sorted(
                self.kinds.items(), key=lambda item: distance(item[1], name_of_type)
            ):
                if physics_schemas(one) and one != prim:
                    targets[f"to a {kind}"] = [str(one.GetPath())]
            targets["to itself"] = [site.path]
        root = self.stage.GetDefaultPrim().GetPath()
        targets["to nothing"] = [f"{root}/{EXTRA_PRIM}_target"]
        return {
            title: _Wrong(partial(retarget, name, paths), None) for title, paths in targets.items()
        }

    def _of_prims(self) -> Iterator[SchemaSeed]:
        for kind, prim in self.kinds.items():
            if plugin_of(str(prim.GetTypeName())) not in PRIMS:
                continue
            site = self._at(prim)
            yield site.seed(PRIM, f"{kind} inactive", deactivate)
            yield site.seed(PRIM, f"{kind} instanceable", make_instanceable)
            if prim.GetTypeName() != "Scope" and not is_family_type(prim):
                yield site.seed(PRIM, f"{kind} becomes a scope", typing_as("Scope"))

    def _of_stage(self) -> Iterator[SchemaSeed]:
        root = str(self.stage.GetDefaultPrim().GetPath())
        for plugin in METADATA:
            fields = Plug.Registry().GetPluginWithName(plugin).metadata["SdfMetadata"]
            for name, field in fields.items():
                if "layers" not in field["appliesTo"]:
                    continue
                value = self.stage.GetMetadata(name)
                for title, wrong in wrong_values(value, ()).items():
                    edit = partial(set_metadata, name, wrong)
                    yield SchemaSeed(STAGE, f"{name} {title}", root, edit)


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
            for schema in applied_schemas(prim)
            if schema not in registered and schema.split(":")[0].lower() == f"{namespace}api"
        ),
        "",
    )
