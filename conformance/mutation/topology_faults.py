"""Faults in the set of joints, their bodies and their types."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import structs
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.mutation.fault import (
    Fault,
    Seed,
    deactivate,
    on_prim,
    relocate,
)
from urdf_usd.conformance.mutation.good_asset import (
    BodySite,
    GoodAsset,
    JointSite,
    apart,
)
from urdf_usd.conformance.mutation.joints.joint_frames import AXES
from urdf_usd.conformance.observation.robot import COORDINATES, JointType

_JOINTS = ("structure.joints",)
_LINKS = ("structure.links",)
_TYPES = ("structure.types",)
_PARENTS = ("structure.parents", "kinematics.position", "kinematics.rotation")
_ENDS = ("structure.joints", "structure.parents", "structure.base")
_ELSEWHERE = "misspelt"
_TURNING = (JointType.REVOLUTE, JointType.CONTINUOUS)
_SINGLE = (*_TURNING, JointType.PRISMATIC)
# Limits that lock a degree of freedom.
_LOCKED = (1.0, -1.0)


def _edited(
    edit: Callable[[Usd.Prim], None], types: tuple[JointType, ...], asset: GoodAsset
) -> Iterator[Seed]:
    """Edit the prims of joints that frames something."""
    for site in asset.joints_of(*types):
        if UsdPhysics.Joint(site.prim).GetJointEnabledAttr().Get():
            yield Seed(site.subject, on_prim(site.path, edit))


def _ties(asset: GoodAsset, *types: JointType) -> set[str]:
    """Name the joints of some types whose parent is the world."""
    return {
        site.subject
        for site in asset.joints_of(*types)
        if not any(
            asset.body_at(str(path))
            for path in UsdPhysics.Joint(site.prim).GetBody0Rel().GetTargets()
        )
    }


def _excluded(asset: GoodAsset) -> Iterator[Seed]:
    """Exclude joints; equivalent for a fixed joint to the world without articulation.

    Otherwise it defines the base of the articulation, which PhysX reads as floating.
    """
    articulated = any(
        prim.HasAPI(UsdPhysics.ArticulationRootAPI) for prim in asset.stage.Traverse()
    )
    equivalent = set[str]() if articulated else _ties(asset, JointType.FIXED)
    types = (*_SINGLE, JointType.FIXED, JointType.PLANAR)
    for seed in _edited(_exclude, types, asset):
        yield structs.replace(seed, equivalent=seed.subject in equivalent)


def _without_parent(asset: GoodAsset) -> Iterator[Seed]:
    """Misspell parents; equivalent for joints to the world."""
    equivalent = _ties(asset, *COORDINATES)
    for seed in _edited(partial(_misspell, 0), tuple(COORDINATES), asset):
        yield structs.replace(seed, equivalent=seed.subject in equivalent)


def _disable(prim: Usd.Prim) -> None:
    UsdPhysics.Joint(prim).CreateJointEnabledAttr(False)


def _exclude(prim: Usd.Prim) -> None:
    UsdPhysics.Joint(prim).CreateExcludeFromArticulationAttr(True)


def _retype(name: str, prim: Usd.Prim) -> None:
    prim.SetTypeName(name)


def _misspell(side: int, prim: Usd.Prim) -> None:
    joint = UsdPhysics.Joint(prim)
    end = (joint.GetBody0Rel(), joint.GetBody1Rel())[side]
    end.SetTargets([path.AppendChild(_ELSEWHERE) for path in end.GetTargets()])


def _limit(prim: Usd.Prim, freedom: str, limits: tuple[float, float]) -> None:
    api = UsdPhysics.LimitAPI.Apply(prim, freedom)
    api.CreateLowAttr(limits[0])
    api.CreateHighAttr(limits[1])


def _freedoms(prim: Usd.Prim) -> dict[str, tuple[float, float]]:
    """Return the limits of each degree of freedom."""
    limits = {}
    for freedom in (f"{kind}{axis}" for kind in ("trans", "rot") for axis in AXES):
        api = UsdPhysics.LimitAPI(prim, freedom)
        limits[freedom] = api.GetLowAttr().Get(), api.GetHighAttr().Get()
    return limits


def _lock_to_infinity(prim: Usd.Prim) -> None:
    """Lock with infinite low above high, which parsers read as no limit."""
    for freedom, (low, high) in _freedoms(prim).items():
        if low > high:
            _limit(prim, freedom, (math.inf, -math.inf))


def _lock_one_more(prim: Usd.Prim) -> None:
    free = next(name for name, (low, high) in _freedoms(prim).items() if low < high)
    _limit(prim, free, _LOCKED)


def _turn_plane(prim: Usd.Prim) -> None:
    """Permute the normal of the plane."""
    limits = _freedoms(prim)
    for freedom in limits:
        kind, axis = freedom[:-1], freedom[-1]
        other = AXES[(AXES.index(axis) + 1) % 3]
        _limit(prim, freedom, limits[f"{kind}{other}"])


def _welded_floats(asset: GoodAsset) -> Iterator[Seed]:
    for site in asset.joints_of(JointType.FLOATING):
        yield Seed(site.subject, on_prim(site.path, _weld_float))


def _weld_float(prim: Usd.Prim) -> None:
    prim.SetTypeName("PhysicsFixedJoint")
    UsdPhysics.Joint(prim).CreateJointEnabledAttr(True)


def _lost_names(asset: GoodAsset) -> Iterator[Seed]:
    for site in _named(asset):
        same = site.prim.GetName() == site.stated.name
        yield Seed(site.subject, on_prim(site.path, _forget_name), equivalent=same)


def _named(asset: GoodAsset) -> tuple[BodySite | JointSite, ...]:
    return (*asset.joints, *asset.bodies)


def _forget_name(prim: Usd.Prim) -> None:
    prim.SetDisplayName("")


def _renamed(asset: GoodAsset) -> Iterator[Seed]:
    for site in _named(asset):
        if not site.prim.GetDisplayName():
            target = f"{site.path}_{_ELSEWHERE}"
            yield Seed(site.subject, relocate(site.path, target))


def _with_other_parent(asset: GoodAsset) -> Iterator[Seed]:
    """Change the parent to a body with another pose that is not below the child."""
    for site in asset.joints:
        ends = UsdPhysics.Joint(site.prim)
        parent, child = (
            [asset.body_at(str(path)) for path in end.GetTargets()]
            for end in (ends.GetBody0Rel(), ends.GetBody1Rel())
        )
        if not (parent and parent[0] and child and child[0]):
            continue
        behind = _links_below(child[0].stated.name, asset)
        others = [
            body.path
            for body in asset.bodies
            if body.stated.name not in behind and apart(body, parent[0])
        ]
        if others:
            yield Seed(site.subject, partial(_set_parent, site.path, others[0]))


def _links_below(link: str, asset: GoodAsset) -> set[str]:
    """Return a link and all links that move with it."""
    links, joints = {link}, asset.spec.joints
    for _ in joints:
        links |= {joint.child for joint in joints if joint.parent in links}
    return links


def _set_parent(path: str, parent: str, stage: Usd.Stage, _: float) -> None:
    joint = UsdPhysics.Joint(stage.GetPrimAtPath(path))
    joint.GetBody0Rel().SetTargets([parent])


def _surplus(asset: GoodAsset) -> Iterator[Seed]:
    """Fix the first body to the last one: a surplus loop."""
    if len(asset.bodies) > 1:
        ends = asset.bodies[0].path, asset.bodies[-1].path
        path = f"{asset.root}/{_ELSEWHERE}"
        yield Seed("robot", partial(_weld, path, "", ends))


def _namesakes(asset: GoodAsset) -> Iterator[Seed]:
    """Add fixed joints between the bodies of joints, with the same name."""
    for site in asset.joints:
        joint = UsdPhysics.Joint(site.prim)
        ends = [
            str(path)
            for end in (joint.GetBody0Rel(), joint.GetBody1Rel())
            for path in end.GetTargets()
        ]
        path = f"{asset.root}/{_ELSEWHERE}"
        yield Seed(site.subject, partial(_weld, path, site.name, (ends[0], ends[1])))


def _weld(
    path: str,
    name: str,
    ends: tuple[str, str],
    stage: Usd.Stage,
    _: float,
) -> None:
    joint = UsdPhysics.FixedJoint.Define(stage, path)
    joint.GetPrim().SetDisplayName(name)
    joint.CreateBody0Rel().SetTargets([ends[0]])
    joint.CreateBody1Rel().SetTargets([ends[1]])


def _fault(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: Callable[[Usd.Prim], None],
    types: tuple[JointType, ...] = tuple(COORDINATES),
) -> Fault:
    return Fault(f"topology.{identifier}", title, aims, partial(_edited, edit, types))


def _retyped(identifier: str, title: str, name: str, types: tuple[JointType, ...]) -> Fault:
    return _fault(identifier, title, _TYPES, partial(_retype, name), types)


TOPOLOGY_FAULTS = (
    _fault("joint-removed", "joint removed", _JOINTS, deactivate),
    _fault("joint-disabled", "joint disabled", _JOINTS, _disable),
    Fault(
        "topology.joint-excluded",
        "joint excluded from the articulation",
        ("structure.articulation",),
        _excluded,
        simulated=True,
    ),
    Fault("topology.joint-surplus", "surplus weld", _JOINTS, _surplus),
    Fault("topology.joint-namesake", "second joint of a name", _JOINTS, _namesakes),
    _fault("child-dangling", "body1 misspelt", _ENDS, partial(_misspell, 1)),
    Fault("topology.parent-dangling", "body0 misspelt", _ENDS, _without_parent),
    Fault("topology.joint-rehung", "joint on another parent", _PARENTS, _with_other_parent),
    _retyped(
        "made-prismatic",
        "revolute joint made prismatic",
        "PhysicsPrismaticJoint",
        _TURNING,
    ),
    _retyped(
        "made-revolute",
        "prismatic joint made revolute",
        "PhysicsRevoluteJoint",
        (JointType.PRISMATIC,),
    ),
    _retyped(
        "made-spherical",
        "revolute joint made spherical",
        "PhysicsSphericalJoint",
        _TURNING,
    ),
    _retyped("made-fixed", "moving joint welded", "PhysicsFixedJoint", _SINGLE),
    _retyped(
        "made-free",
        "weld made revolute",
        "PhysicsRevoluteJoint",
        (JointType.FIXED,),
    ),
    _retyped(
        "made-unlimited",
        "joint left without a type",
        "PhysicsJoint",
        _SINGLE,
    ),
    _fault(
        "plane-infinite",
        "planar joint locked by infinity",
        _TYPES,
        _lock_to_infinity,
        (JointType.PLANAR,),
    ),
    _fault(
        "plane-locked",
        "planar joint locked along an axis",
        _TYPES + _JOINTS,
        _lock_one_more,
        (JointType.PLANAR,),
    ),
    _fault(
        "plane-turned",
        "planar joint about another axis",
        ("kinematics.position", "kinematics.rotation"),
        _turn_plane,
        (JointType.PLANAR,),
    ),
    Fault("topology.float-welded", "floating joint welded", _TYPES, _welded_floats),
    Fault("topology.name-lost", "displayName lost", _LINKS + _JOINTS, _lost_names),
    Fault("topology.renamed", "prim renamed", _LINKS + _JOINTS, _renamed),
)
