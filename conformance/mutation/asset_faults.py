"""Faults in the articulation, the base and the asset as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.mutation.fault import (
    EXTRA_PRIM,
    PARTS_MISSING,
    REFUSED,
    Fault,
    Scale,
    Seed,
)
from urdf_usd.conformance.mutation.good_asset import GoodAsset
from urdf_usd.conformance.observation.robot import COORDINATES, Base, JointType
from urdf_usd.conformance.tolerance.bounds import Tolerance

_BASE = ("structure.base",)
_ROOTS = ("structure.articulation",)
_WORLD = ("structure.world",)
_UP = ("kinematics.up",)
_EXTENTS = ("visual.geometry",)
_LENGTHS = ("kinematics.position", "mass.link.center", "mass.link.inertia")
# A horizontal direction that is parallel to no axis.
_LEVEL = np.array([3.0, -4.0, 0.0]) / 5.0


def _welded_base(asset: GoodAsset) -> Iterator[Seed]:
    if asset.base is Base.FLOATING and asset.bodies:
        body = asset.bodies[0]
        path = f"{asset.root}/{EXTRA_PRIM}"
        yield Seed(body.subject, partial(_weld, path, body.path))


def _weld(path: str, child: str, stage: Usd.Stage, _: float) -> None:
    UsdPhysics.FixedJoint.Define(stage, path).CreateBody1Rel().SetTargets([child])


def _hinged_base(asset: GoodAsset) -> Iterator[Seed]:
    """Connect the body of a floating base to the world by a moving joint."""
    floats = asset.base is Base.FLOATING and asset.bodies
    if floats and asset.bodies[0].path in _roots(asset):
        body = asset.bodies[0]
        path = f"{asset.root}/{EXTRA_PRIM}"
        yield Seed(body.subject, partial(_hinge, path, body.path))


def _hinge(path: str, child: str, stage: Usd.Stage, _: float) -> None:
    UsdPhysics.RevoluteJoint.Define(stage, path).CreateBody1Rel().SetTargets([child])


def _bypassed_base(asset: GoodAsset) -> Iterator[Seed]:
    """Connect a moving joint to the world instead of the body of a fixed base."""
    for body in asset.bodies if asset.base is Base.FIXED else ():
        for site in asset.joints:
            joint = UsdPhysics.Joint(site.prim)
            if (
                COORDINATES[site.stated.type]
                and joint.GetBody0Rel().GetTargets() == [body.path]
                and body.path in _held(asset)
            ):
                yield Seed(site.subject, partial(_tie_to_world, body.world, [site.path]))


def _held(asset: GoodAsset) -> set[str]:
    """Return the bodies that fixed joints connect to the world."""
    return {
        str(path)
        for prim in asset.stage.Traverse()
        if prim.IsA(UsdPhysics.FixedJoint) and _ties_to_world(prim, asset)
        for path in UsdPhysics.Joint(prim).GetBody1Rel().GetTargets()
    }


def _base_without_body(asset: GoodAsset) -> Iterator[Seed]:
    """Remove the body of a fixed base, and connect its joints to the world."""
    held = _held(asset)
    for body in asset.bodies:
        if asset.base is not Base.FIXED or body.path not in held:
            continue
        joints = [
            site.path
            for site in asset.joints
            if UsdPhysics.Joint(site.prim).GetBody0Rel().GetTargets() == [body.path]
        ]
        moves = any(COORDINATES[site.stated.type] and site.path in joints for site in asset.joints)
        if moves:
            yield Seed(body.subject, partial(_remove_base, body.path, body.world, joints))


def _remove_base(
    base: str,
    placed: NDArray[np.float64],
    joints: list[str],
    stage: Usd.Stage,
    size: float,
) -> None:
    prim = stage.GetPrimAtPath(base)
    prim.RemoveAPI(UsdPhysics.RigidBodyAPI)
    prim.RemoveAPI(UsdPhysics.MassAPI)
    _tie_to_world(placed, joints, stage, size)


def _tie_to_world(
    placed: NDArray[np.float64], joints: list[str], stage: Usd.Stage, _: float
) -> None:
    """Let joints begin at the world, where their first body is placed."""
    # Gf matrices act on row vectors.
    to_world = Gf.Matrix4d(*placed.T.ravel().tolist())
    for path in joints:
        joint = UsdPhysics.Joint(stage.GetPrimAtPath(path))
        joint.GetBody0Rel().SetTargets([])
        position, rotation = joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()
        turn = to_world.ExtractRotationQuat() * Gf.Quatd(rotation.Get())
        place = to_world.Transform(Gf.Vec3d(position.Get()))
        position.Set(Gf.Vec3f(place))
        rotation.Set(Gf.Quatf(turn))


def _freed_base(asset: GoodAsset) -> Iterator[Seed]:
    """Remove all joints between a body and the world."""
    if asset.base is Base.FIXED and asset.bodies:
        ties = [
            str(prim.GetPath())
            for prim in asset.stage.Traverse()
            if prim.IsA(UsdPhysics.Joint) and _ties_to_world(prim, asset)
        ]
        yield Seed("robot", partial(_remove, ties))


def _ties_to_world(prim: Usd.Prim, asset: GoodAsset) -> bool:
    targets = UsdPhysics.Joint(prim).GetBody0Rel().GetTargets()
    return not any(asset.body_at(str(path)) for path in targets)


def _remove(paths: list[str], stage: Usd.Stage, _: float) -> None:
    for path in paths:
        stage.GetPrimAtPath(path).SetActive(False)


def _moves(asset: GoodAsset) -> bool:
    return any(
        COORDINATES[joint.type] and joint.type is not JointType.FLOATING
        for joint in asset.spec.joints
    )


def _roots(asset: GoodAsset) -> list[str]:
    return [
        str(prim.GetPath())
        for prim in asset.stage.Traverse()
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI)
    ]


def _without_roots(asset: GoodAsset) -> Iterator[Seed]:
    if _moves(asset):
        yield Seed("robot", partial(_remove_roots, _roots(asset)))


def _remove_roots(paths: list[str], stage: Usd.Stage, _: float) -> None:
    for path in paths:
        stage.GetPrimAtPath(path).RemoveAPI(UsdPhysics.ArticulationRootAPI)


def _second_root(asset: GoodAsset) -> Iterator[Seed]:
    """Add an articulation root; robots with floating joints may have several."""
    split = any(j.type is JointType.FLOATING for j in asset.spec.joints)
    last = asset.bodies[-1] if asset.bodies else None
    if last and _moves(asset) and not split and last.path not in _roots(asset):
        yield Seed(last.subject, partial(_start, last.path))


def _start(path: str, stage: Usd.Stage, _: float) -> None:
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(path))


def _once(
    edit: Callable[[Usd.Stage, float], None],
    asset: GoodAsset,
) -> Iterator[Seed]:
    if asset.bodies:
        yield Seed("robot", edit)


def _centimetres(stage: Usd.Stage, _: float) -> None:
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)


def _grams(stage: Usd.Stage, _: float) -> None:
    UsdPhysics.SetStageKilogramsPerUnit(stage, 0.001)


def _y_up(stage: Usd.Stage, _: float) -> None:
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)


def _lean(stage: Usd.Stage, size: float) -> None:
    """Tilt the whole robot, as by a wrong conversion of up axes."""
    turn = Gf.Rotation(Gf.Vec3d(*_LEVEL.tolist()), float(np.degrees(size)))
    prim = UsdGeom.Xformable(stage.GetDefaultPrim())
    prim.MakeMatrixXform().Set(Gf.Matrix4d(1.0).SetRotate(turn))


def _hinted(asset: GoodAsset) -> Iterator[Seed]:
    """Shrink the hint of the extents of the robot; equivalent where none is shown."""
    prim = asset.stage.GetDefaultPrim()
    if UsdGeom.ModelAPI(prim).GetExtentsHint():
        shown = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [UsdGeom.Tokens.default_])
        empty = shown.ComputeUntransformedBound(prim).ComputeAlignedRange().IsEmpty()
        yield Seed("robot", _shrink_hint, equivalent=empty)


def _shrink_hint(stage: Usd.Stage, _: float) -> None:
    model = UsdGeom.ModelAPI(stage.GetDefaultPrim())
    model.SetExtentsHint([corner * 0.5 for corner in model.GetExtentsHint()])


def _lose_payload(stage: Usd.Stage, _: float) -> None:
    # OpenUSD reports the missing file here already.
    with Tf.DiagnosticTrap() as trap:
        stage.GetDefaultPrim().GetPayloads().AddPayload("./no-such-file.usda")
        trap.Clear()


def _lose_default(stage: Usd.Stage, _: float) -> None:
    stage.ClearDefaultPrim()


def _fault(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: Callable[[Usd.Stage, float], None],
) -> Fault:
    return Fault(f"asset.{identifier}", title, aims, partial(_once, edit))


ASSET_FAULTS = (
    Fault("base.welded", "base welded to the world", _BASE, _welded_base),
    Fault("base.freed", "base not welded to the world", _BASE, _freed_base),
    Fault(
        "base.hinged",
        "base tied by a moving joint",
        _WORLD,
        _hinged_base,
        simulated=True,
    ),
    Fault("base.dissolved", "joints tied to the world", _WORLD, _base_without_body),
    Fault(
        "base.bypassed",
        "joint tied to the world instead of the base",
        _WORLD,
        _bypassed_base,
        simulated=True,
    ),
    Fault(
        "articulation.absent",
        "no articulation root",
        _ROOTS,
        _without_roots,
        simulated=True,
    ),
    Fault("articulation.second", "second articulation root", _ROOTS, _second_root),
    _fault("length", "lengths in centimetres", _LENGTHS, _centimetres),
    _fault("mass", "masses in grams", ("mass.total",), _grams),
    _fault("up", "up axis Y", _UP, _y_up),
    Fault(
        "asset.leaning",
        "robot tilted",
        _UP,
        partial(_once, _lean),
        Scale("direction of gravity", "rad", Tolerance().rotation),
    ),
    Fault("asset.hint", "extents of the robot too small", _EXTENTS, _hinted),
    _fault("payload", "payload missing", (PARTS_MISSING,), _lose_payload),
    _fault("default", "no default prim", (REFUSED,), _lose_default),
)
