"""Faults in effort, velocity, damping and friction, for every profile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from msgspec import Struct
from pxr import Sdf, Usd

from urdf_usd.conformance.mutation.fault import (
    Fault,
    ProfileName,
    Scale,
    Seed,
    block,
    on_prim,
    remove_schemas,
)
from urdf_usd.conformance.mutation.good_asset import GoodAsset, JointSite
from urdf_usd.conformance.tolerance.bounds import Tolerance

_FORCE = Tolerance().force
_AXES = ("angular", "linear")


class _Value(Struct, frozen=True):
    """One value of a joint, and the attributes that may state it.

    Attributes:
        name: Name of the value.
        check: Check of the value.
        custom: Attribute without a schema.
        schemas: Attributes of schemas.
    """

    name: str
    check: str
    custom: str
    schemas: tuple[str, ...] = ()

    def authored(self, site: JointSite) -> dict[str, float]:
        """Return the authored values of a joint, by attribute."""
        names = (*self.schemas, self.custom)
        authored = {name: site.value(name) for name in names}
        return {name: float(value) for name, value in authored.items() if value}


def _of_axes(template: str) -> tuple[str, ...]:
    return tuple(template.format(axis) for axis in _AXES)


_PLAIN = (
    _Value("effort", "limits.effort", "urdf:limit:effort"),
    _Value("velocity", "limits.velocity", "urdf:limit:velocity"),
    _Value("damping", "dynamics.damping", "urdf:dynamics:damping"),
    _Value("friction", "dynamics.friction", "urdf:dynamics:friction"),
)
_DRIVE = _of_axes("drive:{}:physics:maxForce")
_RANGE = ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max")
_AXIS_SPEED = _of_axes("physxJointAxis:{}:maxJointVelocity")
_DRY = _of_axes("physxJointAxis:{}:dynamicFrictionEffort")
_SCHEMA_ATTRIBUTES: dict[ProfileName, tuple[tuple[str, ...], ...]] = {
    "usdphysics": ((), (), (), ()),
    "generic": (
        _DRIVE,
        ("newton:velocityLimit",),
        ("newton:damping",),
        ("newton:friction",),
    ),
    "physx": (
        _DRIVE,
        ("physxJoint:maxJointVelocity", *_AXIS_SPEED),
        _of_axes("physxJointAxis:{}:viscousFrictionCoefficient"),
        (*_DRY, *_of_axes("physxJointAxis:{}:staticFrictionEffort")),
    ),
    "mujoco": (
        (*_DRIVE, *_RANGE),
        (),
        ("mjc:damping",),
        ("mjc:frictionloss",),
    ),
}
# Prefixes of identifiers and of titles.
_GROUPS: dict[ProfileName, tuple[str, str]] = {
    "usdphysics": ("urdf", "urdf: "),
    "generic": ("drive", ""),
    "physx": ("physx", "PhysX: "),
    "mujoco": ("mujoco", "MuJoCo: "),
}


def _values(profile: ProfileName) -> tuple[_Value, ...]:
    return tuple(
        _Value(value.name, value.check, value.custom, schemas)
        for value, schemas in zip(_PLAIN, _SCHEMA_ATTRIBUTES[profile], strict=True)
    )


def _stating(asset: GoodAsset, value: _Value) -> Iterator[tuple[JointSite, list[str]]]:
    """Yield joints with one axis and a value other than zero, and its attributes."""
    for site in asset.joints:
        if len(site.positions) == 1:
            continue
        if names := list(value.authored(site)):
            yield site, names


def _dropped(value: _Value, asset: GoodAsset) -> Iterator[Seed]:
    for site, names in _stating(asset, value):
        yield Seed(site.subject, on_prim(site.path, block(*names)))


def _without_schema(value: _Value, asset: GoodAsset) -> Iterator[Seed]:
    """Leave the custom attribute alone."""
    for site, names in _stating(asset, value):
        if schemas := [name for name in names if name != value.custom]:
            yield Seed(site.subject, on_prim(site.path, block(*schemas)))


def _unapplied(value: _Value, schemas: tuple[str, ...], asset: GoodAsset) -> Iterator[Seed]:
    """Remove schemas, so that their attributes are ignored."""
    for site, names in _stating(asset, value):
        if any(name in value.schemas for name in names):
            yield Seed(site.subject, on_prim(site.path, remove_schemas(*schemas)))


def _scaled(value: _Value, factor: float | None, asset: GoodAsset) -> Iterator[Seed]:
    """Scale the values of schemas, by one plus the size without a factor."""
    for site, names in _stating(asset, value):
        schemas = [name for name in names if name != value.custom] or [value.custom]
        yield Seed(site.subject, partial(_scale, site, schemas, factor))


def _scale(
    site: JointSite,
    names: list[str],
    factor: float | None,
    stage: Usd.Stage,
    size: float,
) -> None:
    for name in names:
        attribute = stage.GetPrimAtPath(site.path).GetAttribute(name)
        attribute.Set(attribute.Get() * (1 + size if factor is None else factor))


def _radians(value: _Value, factor: float, asset: GoodAsset) -> Iterator[Seed]:
    angular = {site.subject for site in asset.joints if site.angular}
    return (seed for seed in _scaled(value, factor, asset) if seed.subject in angular)


def _faults(profile: ProfileName, value: _Value) -> Iterator[Fault]:
    group, title = _GROUPS[profile]
    name, aims = value.name, (value.check,)
    yield Fault(
        f"{group}.{name}-dropped",
        f"{title}{name} dropped",
        aims,
        partial(_dropped, value),
        profile=profile,
    )
    yield Fault(
        f"{group}.{name}-scaled",
        f"{title}{name} scaled",
        aims,
        partial(_scaled, value, None),
        Scale(name, "1", _FORCE),
        profile,
    )
    yield Fault(
        f"{group}.{name}-doubled",
        f"{title}{name} doubled",
        aims,
        partial(_scaled, value, 2.0),
        profile=profile,
    )


def _schematic_faults(profile: ProfileName) -> Iterator[Fault]:
    """Yield faults in the values of schemas."""
    group, title = _GROUPS[profile]
    values = _values(profile)
    for value in values:
        yield Fault(
            f"{group}.{value.name}-unschematic",
            f"{title}{value.name} in a custom attribute alone",
            (value.check,),
            partial(_without_schema, value),
            profile=profile,
        )
    effort, velocity, damping, _ = values
    yield Fault(
        f"{group}.drive-unapplied",
        f"{title}drive not applied",
        (effort.check,),
        partial(_unapplied, effort, _of_axes("PhysicsDriveAPI:{}")),
        profile=profile,
    )
    for value, angle, factor in (
        (velocity, "left in radians", math.radians(1.0)),
        (damping, "left per radian", math.degrees(1.0)),
    ):
        yield Fault(
            f"{group}.{value.name}-radians",
            f"{title}{value.name} {angle}",
            (value.check,),
            partial(_radians, value, factor),
            profile=profile,
        )


def _physx_faults() -> Iterator[Fault]:
    _, velocity, _, friction = _values("physx")
    axis_speed = _Value("velocity", velocity.check, velocity.custom, _AXIS_SPEED)
    dry = _Value("friction", friction.check, friction.custom, _DRY)
    schemas = ("PhysxJointAPI", *_of_axes("PhysxJointAxisAPI:{}"))
    yield Fault(
        "physx.velocity-degrees",
        "PhysX: velocity converted to degrees twice",
        (velocity.check,),
        partial(_scaled, velocity, math.degrees(1.0)),
        profile="physx",
    )
    yield Fault(
        "physx.joint-unapplied",
        "PhysX: schemas not applied",
        (velocity.check,),
        partial(_unapplied, velocity, schemas),
        profile="physx",
    )
    yield Fault(
        "physx.velocity-overridden",
        "PhysX: velocity not repeated on an axis that has a schema",
        (velocity.check,),
        partial(_without_schema, axis_speed),
        profile="physx",
    )
    yield Fault(
        "physx.friction-at-rest",
        "PhysX: friction at rest alone",
        (friction.check,),
        partial(_without_schema, dry),
        profile="physx",
    )


def _mujoco_faults() -> Iterator[Fault]:
    effort, _, damping, friction = _values("mujoco")
    for value in (effort, damping, friction):
        yield from _faults("mujoco", value)
        yield Fault(
            f"mujoco.{value.name}-unschematic",
            f"MuJoCo: {value.name} in a custom attribute alone",
            (value.check,),
            partial(_without_schema, value),
            profile="mujoco",
        )
    ranges = _Value(effort.name, effort.check, effort.custom, _RANGE)
    for name, title, seeds in (
        ("unlimited", "not limited", partial(_without_schema, ranges)),
        ("halved", "limited on one side", partial(_scaled_lower, ranges)),
    ):
        yield Fault(
            f"mujoco.effort-{name}",
            f"MuJoCo: effort {title}",
            (effort.check,),
            seeds,
            profile="mujoco",
        )
    yield Fault(
        "mujoco.damping-degrees",
        "MuJoCo: damping left per degree",
        (damping.check,),
        partial(_radians, damping, math.radians(1.0)),
        profile="mujoco",
    )
    yield Fault(
        "mujoco.actuator-holds",
        "MuJoCo: actuator holds a joint without drive",
        ("dynamics.drives",),
        _holding,
        profile="mujoco",
    )


def _scaled_lower(value: _Value, asset: GoodAsset) -> Iterator[Seed]:
    for site, names in _stating(asset, value):
        if lower := [name for name in names if name.endswith(":min")]:
            yield Seed(site.subject, partial(_scale, site, lower, 0.5))


def _holding(asset: GoodAsset) -> Iterator[Seed]:
    for prim in asset.stage.Traverse():
        if prim.GetTypeName() == "MjcActuator":
            path = str(prim.GetPath())
            yield Seed(f"actuator {prim.GetName()}", on_prim(path, _hold))


def _hold(prim: Usd.Prim) -> None:
    types = Sdf.ValueTypeNames
    for name, kind, value in (
        ("mjc:gainPrm", types.DoubleArray, [30.0]),
        ("mjc:biasPrm", types.DoubleArray, [0.0, -30.0, -2.0]),
        ("mjc:biasType", types.Token, "affine"),
    ):
        prim.CreateAttribute(name, kind, custom=False).Set(value)


DRIVE_FAULTS = (
    *(fault for value in _values("generic") for fault in _faults("generic", value)),
    *_schematic_faults("generic"),
    *(fault for value in _values("physx") for fault in _faults("physx", value)),
    *_schematic_faults("physx"),
    *_physx_faults(),
    *_mujoco_faults(),
    *(fault for value in _values("usdphysics") for fault in _faults("usdphysics", value)),
)
