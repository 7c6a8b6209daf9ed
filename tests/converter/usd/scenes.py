"""Stages made by hand, as others make them."""

from __future__ import annotations

from pxr import Gf, Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.export.assets import StageReading
from urdf_usd.converter.robot.model import Link


def quat(turn: Rotation) -> Gf.Quatf:
    w, x, y, z = turn.as_quat(scalar_first=True)
    return Gf.Quatf(w, x, y, z)


class Scene:
    """A stage with a default prim, to be filled by hand."""

    def __init__(self) -> None:
        self.stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, 1.0)
        UsdGeom.SetStageUpAxis(self.stage, "Z")
        self.stage.SetDefaultPrim(UsdGeom.Xform.Define(self.stage, "/r").GetPrim())

    def body(self, path: str) -> Usd.Prim:
        """Add a rigid body of 1 kg at the origin."""
        xform = UsdGeom.Xform.Define(self.stage, path)
        xform.AddTranslateOp().Set(Gf.Vec3d(0.0))
        UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
        api = UsdPhysics.MassAPI.Apply(xform.GetPrim())
        api.CreateMassAttr(1.0)
        api.CreateCenterOfMassAttr(Gf.Vec3f(0.01, -0.02, 0.03))
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(0.2, 0.3, 0.4))
        api.CreatePrincipalAxesAttr(quat(Rotation.from_euler("xyz", (0.3, -0.7, 1.1))))
        return xform.GetPrim()

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


def link_of(reading: StageReading, name: str) -> Link:
    return next(link for link in reading.robot.links if link.name == name)
