"""Stages made by hand, as others make them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.export.reading import StageReading, read_stage
from urdf_usd.converter.robot.model import Joint, Link

Array: TypeAlias = "NDArray[np.float64]"

TURN = Rotation.from_euler("xyz", (0.3, -0.7, 1.1))


def quat(turn: Rotation) -> Gf.Quatf:
    w, x, y, z = turn.as_quat(scalar_first=True)
    return Gf.Quatf(w, x, y, z)


class Scene:
    """A stage with a default prim, to be filled by hand."""

    def __init__(self, *, length: float = 1.0, mass: float = 1.0, up: str = "Z") -> None:
        self.stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageMetersPerUnit(self.stage, length)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, mass)
        UsdGeom.SetStageUpAxis(self.stage, up)
        self.stage.SetDefaultPrim(UsdGeom.Xform.Define(self.stage, "/r").GetPrim())

    def body(
        self,
        path: str,
        place: tuple[float, float, float] = (0.0, 0.0, 0.0),
        turn: Rotation | None = None,
        mass: float | None = 1.0,
    ) -> Usd.Prim:
        """Add a rigid body; without a mass it states none."""
        xform = UsdGeom.Xform.Define(self.stage, path)
        xform.AddTranslateOp().Set(Gf.Vec3d(*place))
        if turn is not None:
            xform.AddOrientOp().Set(quat(turn))
        prim = xform.GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(prim)
        if mass is not None:
            api = UsdPhysics.MassAPI.Apply(prim)
            api.CreateMassAttr(mass)
            api.CreateCenterOfMassAttr(Gf.Vec3f(0.01, -0.02, 0.03))
            api.CreateDiagonalInertiaAttr(Gf.Vec3f(0.2, 0.3, 0.4))
            api.CreatePrincipalAxesAttr(quat(TURN))
        return prim

    def joint(
        self,
        schema: type[UsdPhysics.Joint],
        path: str,
        bodies: tuple[str | None, str | None],
        **message: object,
    ) -> UsdPhysics.Joint:
        """Add a joint between two prims; keywords are attributes of the schema."""
        joint = schema.Define(self.stage, path)
        sides = (joint.CreateBody0Rel, joint.CreateBody1Rel)
        for target, create in zip(bodies, sides, strict=True):
            if target is not None:
                create().SetTargets([target])
        for name, value in message.items():
            getattr(joint, f"Create{name}Attr")(value)
        return joint

    def read(self) -> StageReading:
        return read_stage(self.stage)


def link_of(reading: StageReading, name: str) -> Link:
    return next(link for link in reading.robot.links if link.name == name)


def joint_of(reading: StageReading, name: str) -> Joint:
    return next(joint for joint in reading.robot.joints if joint.name == name)
