"""Faults in settings that a robot description file states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from pxr import Sdf, Usd, UsdPhysics, UsdShade

from urdf_usd.conformance.mutation.fault import (
    Fault,
    Scale,
    Seed,
    block,
    on_prim,
    remove_schemas,
    set_value,
)
from urdf_usd.conformance.mutation.good_asset import GoodAsset, JointSite
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance.bounds import Tolerance

_FORCE = Tolerance().force
_DRIVE = "drive:{}:physics:"
_BINDING = "material:binding:physics"
_RADIANS = math.degrees(1.0)


def description_of(spec: Observation) -> str:
    """Return a robot description file that states every setting for a robot.

    Args:
        spec: Observation of its URDF.
    """
    joined = {frozenset((joint.parent, joint.child)) for joint in spec.joints}
    # Without colliders there is no contact to filter.
    shapes = {one.link for one in spec.shapes if one.role is Role.COLLISION}
    names = [link.name for link in spec.links if link.name in shapes]
    pair = next(
        (
            (one, other)
            for index, one in enumerate(names)
            for other in names[index + 1 :]
            if frozenset((one, other)) not in joined
        ),
        None,
    )
    pairs = f"pairs = [[{pair[0]!r}, {pair[1]!r}]]" if pair else ""
    # Others have no contact material, or that of the URDF.
    soft = names[-1] if names else "*"
    return f"""\
self_collision = false

[[joints]]
match = "*"
stiffness = 40.0
damping = 3.0
armature = 0.2
target = 0.15
limit_stiffness = 5e4
limit_damping = 200.0

[[links]]
match = {soft!r}
static_friction = 0.9
dynamic_friction = 0.7
restitution = 0.3

[pose.joints]
"*" = 0.1

[filters]
{pairs}

[sources]
gazebo = true
"""


def _instance(site: JointSite) -> str:
    return "angular" if site.angular else "linear"


def _edited(
    attribute: str, edit: Callable[[JointSite, float, float], float]
) -> Callable[[GoodAsset], Iterator[Seed]]:
    """Return the seeds of an attribute of joints.

    Args:
        attribute: Its name; braces stand for the instance of the joint's axis.
        edit: Returns the wrong value of a joint, from the right one and a size.
    """

    def seeds(asset: GoodAsset) -> Iterator[Seed]:
        for site in asset.joints:
            name = attribute.format(_instance(site))
            value = site.value(name)
            if value:
                yield Seed(site.subject, partial(_apply, site, name, value, edit))

    return seeds


def _apply(
    site: JointSite,
    name: str,
    value: float,
    edit: Callable[[JointSite, float, float], float],
    stage: Usd.Stage,
    size: float,
) -> None:
    wrong = edit(site, value, size)
    stage.GetPrimAtPath(site.path).GetAttribute(name).Set(wrong)


def _grown(_: JointSite, value: float, size: float) -> float:
    return value * (1.0 + size)


def _per_radian(site: JointSite, value: float, _: float) -> float:
    return value * (_RADIANS if site.angular else 2.0)


def _zero(*_: object) -> float:
    return 0.0


def _blocked(attribute: str) -> Callable[[GoodAsset], Iterator[Seed]]:
    def seeds(asset: GoodAsset) -> Iterator[Seed]:
        for site in asset.joints:
            name = attribute.format(_instance(site))
            if site.value(name):
                yield Seed(site.subject, on_prim(site.path, block(name)))

    return seeds


def _without_drive(asset: GoodAsset) -> Iterator[Seed]:
    for site in asset.joints:
        instance = _instance(site)
        if site.value(f"{_DRIVE.format(instance)}stiffness"):
            schema = f"PhysicsDriveAPI:{instance}"
            yield Seed(site.subject, on_prim(site.path, remove_schemas(schema)))


def _accelerating(asset: GoodAsset) -> Iterator[Seed]:
    for site in asset.joints:
        name = f"{_DRIVE.format(_instance(site))}type"
        if site.prim.GetAttribute(name).HasAuthoredValue():
            wrong = set_value(name, UsdPhysics.Tokens.acceleration)
            yield Seed(site.subject, on_prim(site.path, wrong))


def _moving_target(asset: GoodAsset) -> Iterator[Seed]:
    for site in asset.joints:
        begin = _DRIVE.format(_instance(site))
        if site.value(f"{begin}stiffness"):
            wrong = set_value(f"{begin}targetVelocity", 1.0)
            yield Seed(site.subject, on_prim(site.path, wrong))


def _filters(asset: GoodAsset) -> Iterator[Usd.Prim]:
    for prim in asset.stage.Traverse():
        if prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            yield prim


def _unfiltered(asset: GoodAsset) -> Iterator[Seed]:
    for prim in _filters(asset):
        wrong = remove_schemas("PhysicsFilteredPairsAPI")
        path = str(prim.GetPath())
        yield Seed(f"filter of {prim.GetName()}", on_prim(path, wrong))


def _other_pair(asset: GoodAsset) -> Iterator[Seed]:
    """Filter the body with itself instead of with the other one."""

    def edit(prim: Usd.Prim) -> None:
        pairs = UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel()
        pairs.SetTargets([prim.GetPath()])

    for prim in _filters(asset):
        path = str(prim.GetPath())
        yield Seed(f"filter of {prim.GetName()}", on_prim(path, edit))


def _materials(asset: GoodAsset) -> Iterator[Usd.Prim]:
    """Yield the contact materials of colliders."""
    for prim in asset.stage.Traverse():
        if prim.IsA(UsdShade.Material) and prim.HasAPI(UsdPhysics.MaterialAPI):
            yield prim


def _slippery(attribute: str) -> Callable[[GoodAsset], Iterator[Seed]]:
    def seeds(asset: GoodAsset) -> Iterator[Seed]:
        for prim in _materials(asset):
            value = prim.GetAttribute(attribute).Get()
            if value:
                change = partial(_scale, str(prim.GetPath()), attribute, float(value))
                yield Seed(f"material {prim.GetName()}", change)

    return seeds


def _scale(path: str, attribute: str, value: float, stage: Usd.Stage, size: float) -> None:
    stage.GetPrimAtPath(path).GetAttribute(attribute).Set(value * (1.0 + size))


def _bindings(asset: GoodAsset) -> Iterator[tuple[Usd.Prim, Sdf.Path | None]]:
    """Yield colliders, and the contact materials that they are bound to."""
    for prim in asset.stage.Traverse():
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            relation = prim.GetRelationship(_BINDING)
            targets = relation.GetTargets() if relation else []
            yield prim, targets[0] if targets else None


def _bind(material: Sdf.Path, prim: Usd.Prim) -> None:
    binding = UsdShade.MaterialBindingAPI.Apply(prim)
    binding.GetPrim().CreateRelationship(_BINDING).SetTargets([material])


def _bound_to_other(asset: GoodAsset) -> Iterator[Seed]:
    """Exchange the contact material of a collider for that of another one."""
    bound = [(prim, material) for prim, material in _bindings(asset) if material]
    materials = dict.fromkeys(material for _, material in bound)
    for prim, material in bound:
        for other in materials:
            if other != material:
                wrong = partial(_bind, other)
                path = str(prim.GetPath())
                yield Seed(f"collider {prim.GetName()}", on_prim(path, wrong))


def _bound_as_well(asset: GoodAsset) -> Iterator[Seed]:
    """Bind the contact material of a link to a collider of another one."""
    bindings = list(_bindings(asset))
    material = next((path for _, path in bindings if path), None)
    for prim, own in bindings:
        if own is None and material is not None:
            wrong = partial(_bind, material)
            path = str(prim.GetPath())
            yield Seed(f"collider {prim.GetName()}", on_prim(path, wrong))


def _bouncing(asset: GoodAsset) -> Iterator[Seed]:
    def edit(prim: Usd.Prim) -> None:
        UsdPhysics.MaterialAPI(prim).CreateRestitutionAttr(0.5)

    for prim in _materials(asset):
        if prim.GetAttribute("physics:restitution").HasAuthoredValue():
            continue
        yield Seed(f"material {prim.GetName()}", on_prim(str(prim.GetPath()), edit))


def _unbound(asset: GoodAsset) -> Iterator[Seed]:
    def edit(prim: Usd.Prim) -> None:
        prim.GetRelationship(_BINDING).SetTargets([])

    for prim, material in _bindings(asset):
        if material:
            yield Seed(f"collider {prim.GetName()}", on_prim(str(prim.GetPath()), edit))


def _colliding(asset: GoodAsset) -> Iterator[Seed]:
    name = "newton:selfCollisionEnabled"
    for prim in asset.stage.Traverse():
        if prim.GetAttribute(name).HasAuthoredValue():
            yield Seed("robot", on_prim(str(prim.GetPath()), set_value(name, True)))


def _value_faults(key: str, title: str, attribute: str, check: str) -> Iterator[Fault]:
    yield Fault(
        f"described.{key}",
        f"{title} off",
        (check,),
        _edited(attribute, _grown),
        Scale(key.replace("-", " "), "1", _FORCE),
        profile="described",
    )
    yield Fault(
        f"described.{key}-per-radian",
        f"{title} per radian, not per degree",
        (check,),
        _edited(attribute, _per_radian),
        profile="described",
    )


def _gain_faults() -> Iterator[Fault]:
    for name in ("stiffness", "damping"):
        attribute, check = f"{_DRIVE}{name}", "simulation.gains"
        yield from _value_faults(name, f"{name} of a drive", attribute, check)
        yield Fault(
            f"described.{name}-zero",
            f"no {name} of a drive",
            (check,),
            _edited(attribute, _zero),
            profile="described",
        )
        yield from _value_faults(
            f"limit-{name}",
            f"{name} of the spring at limits",
            f"newton:limit{name.capitalize()}",
            "simulation.limits",
        )


def _friction_faults() -> Iterator[Fault]:
    for name in ("static", "dynamic"):
        yield Fault(
            f"described.{name}-friction",
            f"{name} friction of a link off",
            ("simulation.contacts",),
            _slippery(f"physics:{name}Friction"),
            Scale(f"{name} friction", "1", _FORCE),
            profile="described",
        )
    yield Fault(
        "described.restitution",
        "restitution of a link off",
        ("simulation.contacts",),
        _slippery("physics:restitution"),
        Scale("restitution", "1", _FORCE),
        profile="described",
    )
    yield Fault(
        "described.bouncing",
        "contact material with restitution",
        ("simulation.contacts",),
        _bouncing,
        profile="described",
    )
    yield Fault(
        "described.other-material",
        "collider with the contact material of another link",
        ("simulation.contacts",),
        _bound_to_other,
        profile="described",
    )
    yield Fault(
        "described.material-as-well",
        "contact material on a collider for which none is stated",
        ("collision.materials",),
        _bound_as_well,
        profile="described",
    )
    yield Fault(
        "described.unbound-friction",
        "collider without its contact material",
        ("simulation.contacts",),
        _unbound,
        profile="described",
    )


SIMULATION_FAULTS = (
    *_gain_faults(),
    *_friction_faults(),
    Fault(
        "described.no-drive",
        "a drive of the description is not applied",
        ("simulation.gains",),
        _without_drive,
        profile="described",
    ),
    Fault(
        "described.acceleration",
        "a drive with gains per inertia",
        ("simulation.gains",),
        _accelerating,
        profile="described",
    ),
    Fault(
        "described.target",
        "target of a drive off",
        ("simulation.targets",),
        _edited(f"{_DRIVE}targetPosition", _per_radian),
        profile="described",
    ),
    Fault(
        "described.no-target",
        "a drive without its target",
        ("simulation.targets",),
        _blocked(f"{_DRIVE}targetPosition"),
        profile="described",
    ),
    Fault(
        "described.target-velocity",
        "a drive that follows a velocity as well",
        ("simulation.targets",),
        _moving_target,
        profile="described",
    ),
    Fault(
        "described.armature",
        "armature off",
        ("simulation.armature",),
        _edited("newton:armature", _grown),
        Scale("armature", "1", _FORCE),
        profile="described",
    ),
    Fault(
        "described.no-armature",
        "no armature",
        ("simulation.armature",),
        _blocked("newton:armature"),
        profile="described",
    ),
    Fault(
        "described.position",
        "initial position in radians",
        ("simulation.positions",),
        _edited("state:{}:physics:position", _per_radian),
        profile="described",
    ),
    Fault(
        "described.position-of-one",
        "initial position that Newton alone does not read",
        ("simulation.positions",),
        _blocked("newton:{}:position"),
        profile="described",
    ),
    Fault(
        "described.filter",
        "a filtered pair of the description is missing",
        ("simulation.filters",),
        _unfiltered,
        profile="described",
    ),
    Fault(
        "described.filter-target",
        "a filtered pair with another link",
        ("simulation.filters",),
        _other_pair,
        profile="described",
    ),
    Fault(
        "described.self-collision",
        "self-collision is on",
        ("simulation.contacts",),
        _colliding,
        profile="described",
    ),
)
