"""Why a change of a USD makes no difference to a simulation."""

from __future__ import annotations

from collections.abc import Iterable

from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.settings.schema_attributes import (
    COUPLED,
    SUPERSEDED,
    UNAPPLIED,
    harmless_reason,
)
from urdf_usd.conformance.mutation.generated.computed_physics import (
    USERS,
    ComputedPhysics,
    compute_physics,
    same_prims,
)
from urdf_usd.conformance.mutation.generated.schemas import (
    all_properties,
    applied_schemas,
    definition_of,
)
from urdf_usd.conformance.mutation.generated.seeds import (
    PRIM,
    STAGE,
    SchemaSeed,
)

# Beginning of the names of schemas that OpenUSD's parser evaluates.
_PARSED = "Physics"
_UNUSED = "no body, joint, collider, material or scene is computed from the prim"
_FALLBACKS = "its fallbacks are what a URDF implies"
_RESTATED = "it states nothing that no other schema states"
_SAME = "OpenUSD computes the same physics"


def harmless_because(seed: SchemaSeed, good: Usd.Stage, changed: Usd.Stage) -> str | None:
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
    bare = same and not seed.values and bool(all_properties(schema))
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
    return reasons[0] if same or (before and seed.schema in applied_schemas(before)) else None


def _reason_of_value(name: str, value: object, prim: Usd.Prim) -> str | None:
    """Return why a value of a changed prim makes no difference, or None."""
    if reason := harmless_reason(name, value):
        return reason
    if name in SUPERSEDED and any(
        one.split(":", maxsplit=1)[0] == SUPERSEDED[name] for one in applied_schemas(prim)
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
    if definition := definition_of(schema):
        names |= {*definition.GetAppliedAPISchemas()}
    kinds = names & USERS or USERS
    return any(path in one.users[kind] for one in computed for kind in kinds)
