"""Faults in mimic couplings, for the attributes of every profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct
from pxr import Sdf, Usd

from urdf_usd.conformance.mutation.fault import (
    EXTRA_PRIM,
    Fault,
    ProfileName,
    Scale,
    Seed,
    block,
    on_prim,
    remove_schemas,
    set_value,
)
from urdf_usd.conformance.mutation.good_asset import GoodAsset, JointSite
from urdf_usd.conformance.tolerance.bounds import RELATIVE

_AIMS = ("structure.mimic",)
_CUSTOM_LEADER = "urdf:mimic:joint"
_CUSTOM_MULTIPLIER = "urdf:mimic:multiplier"
_CUSTOM = (_CUSTOM_LEADER, _CUSTOM_MULTIPLIER, "urdf:mimic:offset")
# Smallest offset [rad] whose unit matters.
_OFFSET_SHOWS = 1e-3


class _MimicSchema(Struct, frozen=True):
    """A simulator's schema for couplings.

    Attributes:
        profile: Profile of the USDs that use it.
        group: Beginning of the identifiers of its faults.
        title: Beginning of their titles.
        schema: Name of the schema, without an instance.
        prefix: Beginning of its attributes; braces stand for the instance.
        leader: Relationship to the leader.
        offset: Attribute, likewise.
        multiplier: Attribute, likewise.
    """

    profile: ProfileName
    group: str
    title: str
    schema: str
    prefix: str
    leader: str
    offset: str
    multiplier: str

    def applied(self, site: JointSite) -> str | None:
        """Return the schema as it is applied to a joint."""
        names = site.prim.GetPrimTypeInfo().GetAppliedAPISchemas()
        return next((n for n in names if n.split(":")[0] == self.schema), None)

    def name(self, site: JointSite, name: str) -> str:
        """Return the name of a property of a joint."""
        instance = (self.applied(site) or "").partition(":")[2]
        return self.prefix.format(instance) + name


_NEWTON = _MimicSchema(
    "generic",
    "mimic.",
    "",
    "NewtonMimicAPI",
    "newton:",
    "mimicJoint",
    "mimicCoef0",
    "mimicCoef1",
)
_PHYSX = _MimicSchema(
    "physx",
    "physx.mimic-",
    "PhysX: ",
    "PhysxMimicJointAPI",
    "physxMimicJoint:{}:",
    "referenceJoint",
    "offset",
    "gearing",
)

_MUJOCO = _MimicSchema(
    "mujoco",
    "mujoco.mimic-",
    "MuJoCo: ",
    "MjcEqualityJointAPI",
    "mjc:",
    "target",
    "coef0",
    "coef1",
)


def _coupled(schema: _MimicSchema, asset: GoodAsset) -> Iterator[JointSite]:
    return (site for site in asset.joints if schema.applied(site))


def _following(asset: GoodAsset) -> Iterator[JointSite]:
    return (site for site in asset.joints if site.stated.mimic)


def _dropped(schema: _MimicSchema, asset: GoodAsset) -> Iterator[Seed]:
    for site in _following(asset):
        yield Seed(site.subject, partial(_drop, schema, site))


def _drop(schema: _MimicSchema, site: JointSite, stage: Usd.Stage, _: float) -> None:
    prim = stage.GetPrimAtPath(site.path)
    if applied := schema.applied(site):
        prim.RemoveAppliedSchema(applied)
        prim.GetRelationship(schema.name(site, schema.leader)).SetTargets([])
    names = [schema.name(site, name) for name in (schema.offset, schema.multiplier)]
    block(*names, *_CUSTOM)(prim)


def _without_schema(schema: _MimicSchema, asset: GoodAsset) -> Iterator[Seed]:
    """Leave the custom attributes alone."""
    for site in _coupled(schema, asset):
        applied = schema.applied(site) or ""
        yield Seed(site.subject, on_prim(site.path, remove_schemas(applied)))


def _disabled(asset: GoodAsset) -> Iterator[Seed]:
    for site in _coupled(_NEWTON, asset):
        yield Seed(site.subject, on_prim(site.path, set_value("newton:mimicEnabled", False)))


def _others(asset: GoodAsset, site: JointSite) -> list[JointSite]:
    """Other joints of a follower's type that are not in its chain."""
    stated = {other.name: other.stated.mimic for other in asset.joints}
    chain = [site.name]
    while (mimic := stated.get(chain[-1])) and mimic.leader not in chain:
        chain.append(mimic.leader)
    return [
        other
        for other in asset.joints
        if other.name not in chain and other.prim.GetTypeName() == site.prim.GetTypeName()
    ]


def _led_by_another(schema: _MimicSchema, asset: GoodAsset) -> Iterator[Seed]:
    """Couple followers to another joint of the leader's type."""
    for site in _coupled(schema, asset):
        if others := _others(asset, site):
            name = schema.name(site, schema.leader)
            yield Seed(site.subject, partial(_lead, site.path, name, others[0].path))


def _dangling(schema: _MimicSchema, asset: GoodAsset) -> Iterator[Seed]:
    """Couple followers to a joint that does not exist."""
    for site in _coupled(schema, asset):
        name = schema.name(site, schema.leader)
        target = f"{asset.root}/{EXTRA_PRIM}"
        yield Seed(site.subject, partial(_lead, site.path, name, target))


def _renamed_instance(asset: GoodAsset) -> Iterator[Seed]:
    """Apply the schema of PhysX with an instance that PhysX ignores."""
    for site in _coupled(_PHYSX, asset):
        yield Seed(site.subject, partial(_rename_instance, site))


def _rename_instance(site: JointSite, stage: Usd.Stage, _: float) -> None:
    prim = stage.GetPrimAtPath(site.path)
    applied = _PHYSX.applied(site) or ""
    instance = "angular" if site.angular else "linear"
    prim.RemoveAppliedSchema(applied)
    prim.AddAppliedSchema(f"{_PHYSX.schema}:{instance}")
    prefix = _PHYSX.prefix.format(instance)
    leader = prim.GetRelationship(_PHYSX.name(site, _PHYSX.leader)).GetTargets()
    prim.CreateRelationship(prefix + _PHYSX.leader).SetTargets(leader)
    for name in (_PHYSX.offset, _PHYSX.multiplier):
        value = site.value(_PHYSX.name(site, name))
        if value is not None:
            kind = Sdf.ValueTypeNames.Float
            prim.CreateAttribute(prefix + name, kind, custom=False).Set(value)


def _lead(path: str, name: str, leader: str, stage: Usd.Stage, _: float) -> None:
    stage.GetPrimAtPath(path).GetRelationship(name).SetTargets([leader])


def _changed(
    schema: _MimicSchema,
    attribute: str,
    change: Callable[[JointSite, float, float], float],
    equivalent: Callable[[JointSite, float], bool],
    asset: GoodAsset,
) -> Iterator[Seed]:
    for site in _coupled(schema, asset):
        name = schema.name(site, attribute)
        good = site.value(name)
        if good is not None:
            apply = partial(_change, site, name, partial(change, site, good))
            yield Seed(site.subject, apply, equivalent=equivalent(site, good))


def _change(
    site: JointSite,
    attribute: str,
    change: Callable[[float], float],
    stage: Usd.Stage,
    size: float,
) -> None:
    stage.GetPrimAtPath(site.path).GetAttribute(attribute).Set(change(size))


def _never(*_: object) -> bool:
    return False


def _unit(site: JointSite) -> float:
    return math.degrees(1.0) if site.angular else 1.0


def _same_in_radians(site: JointSite, offset: float) -> bool:
    return not site.angular or _is_nothing(site, offset)


def _is_nothing(site: JointSite, offset: float) -> bool:
    return abs(offset) / _unit(site) < _OFFSET_SHOWS


def _fault(
    schema: _MimicSchema,
    identifier: str,
    title: str,
    seeds: Callable[[GoodAsset], Iterator[Seed]],
    scale: Scale | None = None,
) -> Fault:
    return Fault(
        f"{schema.group}{identifier}",
        f"{schema.title}{title}",
        _AIMS,
        seeds,
        scale,
        schema.profile,
        simulated=True,
    )


def _faults(schema: _MimicSchema) -> Iterator[Fault]:
    fault = partial(_fault, schema)
    offset, multiplier = schema.offset, schema.multiplier
    yield fault("dropped", "mimic coupling dropped", partial(_dropped, schema))
    yield fault(
        "unschematic",
        "mimic coupling in custom attributes alone",
        partial(_without_schema, schema),
    )
    yield fault("leader", "mimic leader exchanged", partial(_led_by_another, schema))
    yield fault("dangling", "mimic leader missing", partial(_dangling, schema))
    yield fault(
        "multiplier-negated",
        "mimic multiplier negated",
        partial(_changed, schema, multiplier, lambda _, good, __: -good, _never),
    )
    yield fault(
        "offset-radians",
        "mimic offset left in radians",
        partial(
            _changed,
            schema,
            offset,
            lambda _, good, __: math.radians(good),
            _same_in_radians,
        ),
    )
    yield fault(
        "multiplier-scaled",
        "mimic multiplier scaled",
        partial(
            _changed,
            schema,
            multiplier,
            lambda _, good, size: good * (1 + size),
            _never,
        ),
        # Couplings are compared to float32, where one step is up to two roundings.
        Scale("mimic multiplier", "1", 4 * RELATIVE),
    )
    yield fault(
        "offset-shifted",
        "mimic offset shifted",
        partial(
            _changed,
            schema,
            offset,
            lambda site, good, size: good + size * _unit(site),
            _never,
        ),
        Scale("mimic offset", "rad or m", 1e-5),
    )


def _custom_dropped(asset: GoodAsset) -> Iterator[Seed]:
    for site in _following(asset):
        yield Seed(site.subject, on_prim(site.path, block(*_CUSTOM)))


def _custom_negated(asset: GoodAsset) -> Iterator[Seed]:
    for site in _following(asset):
        if good := site.value(_CUSTOM_MULTIPLIER):
            yield Seed(site.subject, on_prim(site.path, set_value(_CUSTOM_MULTIPLIER, -good)))


def _custom_led_by_another(asset: GoodAsset) -> Iterator[Seed]:
    for site in _following(asset):
        if others := _others(asset, site):
            name = others[0].name
            yield Seed(site.subject, on_prim(site.path, set_value(_CUSTOM_LEADER, name)))


def _mujoco_faults() -> Iterator[Fault]:
    """Yield faults in a schema whose offset is in radians."""
    in_degrees = ("offset-radians", "offset-shifted")
    for fault in _faults(_MUJOCO):
        if not fault.id.endswith(in_degrees):
            yield fault
    yield _fault(
        _MUJOCO,
        "offset-degrees",
        "mimic offset left in degrees",
        partial(
            _changed,
            _MUJOCO,
            _MUJOCO.offset,
            lambda _, good, __: math.degrees(good),
            lambda site, good: not site.angular or abs(good) < _OFFSET_SHOWS,
        ),
    )


COUPLING_FAULTS = (
    *_faults(_NEWTON),
    *_mujoco_faults(),
    Fault("mimic.disabled", "mimic coupling disabled", _AIMS, _disabled),
    *_faults(_PHYSX),
    Fault(
        "physx.mimic-instance",
        "PhysX: mimic instance of another name",
        _AIMS,
        _renamed_instance,
        profile="physx",
        simulated=True,
    ),
    Fault(
        "physx.mimic-offset-negated",
        "PhysX: mimic offset with the sign of URDF",
        _AIMS,
        partial(
            _changed,
            _PHYSX,
            _PHYSX.offset,
            lambda _, good, __: -good,
            _is_nothing,
        ),
        profile="physx",
    ),
    Fault(
        "urdf.mimic-dropped",
        "urdf: mimic coupling dropped",
        _AIMS,
        _custom_dropped,
        profile="usdphysics",
    ),
    Fault(
        "urdf.mimic-multiplier-negated",
        "urdf: mimic multiplier negated",
        _AIMS,
        _custom_negated,
        profile="usdphysics",
    ),
    Fault(
        "urdf.mimic-leader",
        "urdf: mimic leader exchanged",
        _AIMS,
        _custom_led_by_another,
        profile="usdphysics",
    ),
)
