"""Faults in the set of bodies, their poses and their dynamics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.mutation.fault import (
    EXTRA_PRIM,
    OBLIQUE,
    REFUSED,
    Fault,
    Scale,
    Seed,
    deactivate,
    on_prim,
    relocate,
)
from urdf_usd.conformance.mutation.good_asset import BodySite, GoodAsset, apart
from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups

_TOLERANCE = Tolerance()
_LINKS = ("structure.links",)
_BODIES = ("structure.bodies",)
_POSITION = ("kinematics.assembly.position",)
_ROTATION = ("kinematics.assembly.rotation",)


def _edited(edit: Callable[[Usd.Prim], None], asset: GoodAsset) -> Iterator[Seed]:
    for body in asset.bodies:
        yield Seed(body.subject, on_prim(body.path, edit))


def _make_kinematic(prim: Usd.Prim) -> None:
    UsdPhysics.RigidBodyAPI(prim).CreateKinematicEnabledAttr(True)


def _disable(prim: Usd.Prim) -> None:
    UsdPhysics.RigidBodyAPI(prim).CreateRigidBodyEnabledAttr(False)


def _without_body(asset: GoodAsset) -> Iterator[Seed]:
    """Remove bodies; equivalent for a fixed body with hardly any mass.

    Unless it is fixed to the world: then its joints connect to the world.
    """
    welded = {joint.child for joint in asset.spec.joints if joint.type is JointType.FIXED} - {
        site.stated.child for site in asset.joints if not _ends(site.prim, asset)
    }
    masses = {link.name: link.mass for link in asset.spec.links}
    for group in rigid_groups(tuple(masses), asset.spec.joints):
        shares = {name: mass.mass for name in group if (mass := masses[name])}
        least = 2 * _TOLERANCE.mass * sum(shares.values())
        for body in asset.bodies:
            name = body.stated.name
            if name in group:
                equivalent = name in welded and shares.get(name, 0.0) <= least
                apply = on_prim(body.path, _remove_body)
                yield Seed(body.subject, apply, equivalent=equivalent)


def _ends(prim: Usd.Prim, asset: GoodAsset) -> bool:
    """Whether the first side of a joint is a body."""
    targets = UsdPhysics.Joint(prim).GetBody0Rel().GetTargets()
    return any(asset.body_at(str(path)) for path in targets)


def _remove_body(prim: Usd.Prim) -> None:
    prim.RemoveAPI(UsdPhysics.RigidBodyAPI)


def _surplus(asset: GoodAsset) -> Iterator[Seed]:
    yield Seed("robot", partial(_add, f"{asset.root}/{EXTRA_PRIM}", ""))


def _namesakes(asset: GoodAsset) -> Iterator[Seed]:
    """Add bodies with the name of a link."""
    for body in asset.bodies:
        path = f"{asset.root}/{EXTRA_PRIM}"
        yield Seed(body.subject, partial(_add, path, body.stated.name))


def _add(
    path: str,
    name: str,
    stage: Usd.Stage,
    _: float,
) -> None:
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    prim.SetDisplayName(name)
    UsdPhysics.RigidBodyAPI.Apply(prim)
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(0.25)
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(0.25))


def _renested(asset: GoodAsset) -> Iterator[Seed]:
    """Move leaf bodies below another body, with the same local transform."""
    for body in asset.bodies:
        above = asset.body_at(str(body.prim.GetParent().GetPath()))
        leaf = not any(other.path.startswith(f"{body.path}/") for other in asset.bodies)
        if above is None or not leaf:
            continue
        others = [other.path for other in asset.bodies if other is not body and apart(other, above)]
        if others:
            target = f"{others[0]}/{body.prim.GetName()}"
            yield Seed(body.subject, relocate(body.path, target))


def _placed(change: Callable[[float], Gf.Matrix4d], asset: GoodAsset) -> Iterator[Seed]:
    """Move the prims of bodies that are children of a joint."""
    for body in _jointed(asset):
        yield Seed(body.subject, partial(_place, body, change))


def _jointed(asset: GoodAsset) -> Iterator[BodySite]:
    held = {
        site.stated.child
        for site in asset.joints
        if UsdPhysics.Joint(site.prim).GetJointEnabledAttr().Get()
    }
    return (body for body in asset.bodies if body.stated.name in held)


def _place(
    body: BodySite,
    change: Callable[[float], Gf.Matrix4d],
    stage: Usd.Stage,
    size: float,
) -> None:
    good = UsdGeom.Xformable(body.prim)
    local = good.GetLocalTransformation(Usd.TimeCode.Default())
    placed = UsdGeom.Xformable(stage.GetPrimAtPath(body.path))
    # Gf matrices act on row vectors: the change comes first, in the body's frame.
    placed.MakeMatrixXform().Set(change(size) * local)
    if good.GetResetXformStack():
        placed.SetResetXformStack(True)


def _unnested(asset: GoodAsset) -> Iterator[Seed]:
    """Reset the transform stack of nested bodies."""
    for body in _jointed(asset):
        above = asset.body_at(str(body.prim.GetParent().GetPath()))
        equivalent = above is None or not apart(above, None)
        yield Seed(body.subject, on_prim(body.path, _reset), equivalent=equivalent)


def _reset(prim: Usd.Prim) -> None:
    UsdGeom.Xformable(prim).SetResetXformStack(True)


def _outside_stack(asset: GoodAsset) -> Iterator[Seed]:
    """Write world poses of nested bodies without a reset of the transform stack."""
    for body in _jointed(asset):
        above = asset.body_at(str(body.prim.GetParent().GetPath()))
        equivalent = above is None or not apart(above, None)
        yield Seed(body.subject, partial(_place_world, body), equivalent=equivalent)


def _place_world(body: BodySite, stage: Usd.Stage, _: float) -> None:
    # Gf matrices act on row vectors.
    world = Gf.Matrix4d(*body.world.T.ravel().tolist())
    UsdGeom.Xformable(stage.GetPrimAtPath(body.path)).MakeMatrixXform().Set(world)


def _translation(size: float) -> Gf.Matrix4d:
    return Gf.Matrix4d(1.0).SetTranslate(Gf.Vec3d(*(size * OBLIQUE).tolist()))


def _rotation(size: float) -> Gf.Matrix4d:
    turn = Gf.Rotation(Gf.Vec3d(*OBLIQUE.tolist()), float(np.degrees(size)))
    return Gf.Matrix4d(1.0).SetRotate(turn)


def _fault(
    identifier: str, title: str, aims: tuple[str, ...], edit: Callable[[Usd.Prim], None]
) -> Fault:
    return Fault(f"body.{identifier}", title, aims, partial(_edited, edit), simulated=True)


BODY_FAULTS = (
    _fault("removed", "link removed", (*_LINKS, REFUSED), deactivate),
    _fault("kinematic", "body made kinematic", _BODIES, _make_kinematic),
    _fault("disabled", "body disabled", _BODIES, _disable),
    Fault(
        "body.unschematic",
        "RigidBodyAPI not applied",
        (
            "mass.total",
            "mass.group.mass",
            "structure.base",
            "structure.joints",
            "structure.world",
        ),
        _without_body,
    ),
    Fault("body.surplus", "surplus body", _LINKS, _surplus),
    Fault("body.namesake", "surplus body with a link's name", _LINKS, _namesakes),
    Fault("body.renested", "body nested elsewhere", _POSITION, _renested),
    Fault("body.unnested", "body placed from the world", _POSITION, _unnested),
    Fault(
        "body.reset-lost",
        "world pose of a nested body without reset",
        _POSITION,
        _outside_stack,
        simulated=True,
    ),
    Fault(
        "body.shifted",
        "body moved away from its joint",
        _POSITION,
        partial(_placed, _translation),
        Scale("place of a body", "m", _TOLERANCE.position),
    ),
    Fault(
        "body.turned",
        "body turned against its joint",
        _ROTATION,
        partial(_placed, _rotation),
        Scale("attitude of a body", "rad", _TOLERANCE.rotation),
    ),
)
