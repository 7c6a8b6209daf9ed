"""Several joints between the same two bodies, read as a chain.

MuJoCo's converter writes the joints of a body side by side, and the articulation root says by
``newton:jointsAddMobility`` that they add mobility, in the order of traversal. Here a link without
mass is added in the session layer for every joint but the last, so that the parser of UsdPhysics,
masses and frames see joints in series. Without the attribute joints constrain each other, and
nothing is changed.
"""

from __future__ import annotations

from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics

_ADDS = "newton:jointsAddMobility"
# The least that a body may have: without a mass the parser makes one up [kg, kg m^2].
_MASS = 1e-12
# Differences of float32 numbers that are rounding, relative to the numbers.
_ROUNDING = 2.0**-21


def split_stacked_joints(stage: Usd.Stage) -> None:
    """Edit the session layer."""
    prims = tuple(stage.Traverse())
    taken = {_name(prim) for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    # Joints of articulations that add mobility, by their bodies.
    stacks: dict[tuple[Sdf.Path, Sdf.Path], list[UsdPhysics.Joint]] = {}
    adds = any((adds := prim.GetAttribute(_ADDS)) and adds.Get() for prim in prims)
    for joint in filter(None, map(UsdPhysics.Joint, prims if adds else ())):
        ends = joint.GetBody0Rel().GetTargets(), joint.GetBody1Rel().GetTargets()
        is_enabled = joint.GetJointEnabledAttr().Get() is not False
        is_apart = joint.GetExcludeFromArticulationAttr().Get()
        if is_enabled and not is_apart and all(len(end) == 1 for end in ends):
            stacks.setdefault((ends[0][0], ends[1][0]), []).append(joint)
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        for (_, end), joints in stacks.items():
            body = stage.GetPrimAtPath(end)
            if len(joints) == 1 or not body.HasAPI(UsdPhysics.RigidBodyAPI):
                continue
            frames = [
                (
                    _matrix(joint.GetLocalPos0Attr().Get(), joint.GetLocalRot0Attr().Get()),
                    _matrix(joint.GetLocalPos1Attr().Get(), joint.GetLocalRot1Attr().Get()),
                )
                for joint in joints
            ]
            link = end
            for number, joint in enumerate(joints):
                if number:
                    joint.GetBody0Rel().SetTargets([link])
                    before, after = frames[number - 1]
                    # Where the joint before puts the body; Gf matrices act on row vectors.
                    own = frames[number][0] * (after.GetInverse() * before).GetInverse()
                    _set_first_frame(joint, own, frames[number][1])
                if number < len(joints) - 1:
                    link = _link(stage, body, joint.GetPrim(), taken)
                    joint.GetBody1Rel().SetTargets([link])


def is_between_joints(stage: Usd.Stage, path: str) -> bool:
    """Whether a link was added here; it has no mass in the file."""
    spec = stage.GetSessionLayer().GetPrimAtPath(path)
    return spec is not None and spec.specifier == Sdf.SpecifierDef


def _link(stage: Usd.Stage, body: Usd.Prim, joint: Usd.Prim, taken: set[str]) -> Sdf.Path:
    """Add a link at the pose of a body, named after a joint, as the engine of MJCF names it."""
    name = Tf.MakeValidIdentifier(f"{_name(body)}_{_name(joint)}")
    while name in taken or stage.GetPrimAtPath(body.GetPath().AppendChild(name)):
        name += "_"
    taken.add(name)
    prim = UsdGeom.Xform.Define(stage, body.GetPath().AppendChild(name)).GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(prim)
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(_MASS)
    mass.CreateCenterOfMassAttr(Gf.Vec3f(0.0))
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(_MASS))
    mass.CreatePrincipalAxesAttr(Gf.Quatf(1.0))
    return prim.GetPath()


def _matrix(position: Gf.Vec3f | None, rotation: Gf.Quatf | None) -> Gf.Matrix4d:
    """Return the frame of a joint in a body; of a blocked attribute, the fallback counts."""
    turn = Gf.Quatd(rotation or Gf.Quatf(1.0)).GetNormalized()
    return Gf.Matrix4d(Gf.Rotation(turn), Gf.Vec3d(position or Gf.Vec3f(0.0)))


def _set_first_frame(joint: UsdPhysics.Joint, own: Gf.Matrix4d, second: Gf.Matrix4d) -> None:
    """Author the frame in the body before; that in the body itself if they differ by rounding."""
    position, rotation = own.ExtractTranslation(), own.ExtractRotationQuat()
    origin = second.ExtractTranslation()
    turns = own.ExtractRotationMatrix() * second.ExtractRotationMatrix().GetTranspose()
    is_near = (position - origin).GetLength() <= 2 * _ROUNDING * origin.GetLength()
    if is_near and Gf.IsClose(turns, Gf.Matrix3d(1.0), _ROUNDING):
        position, rotation = origin, second.ExtractRotationQuat()
    joint.CreateLocalPos0Attr(Gf.Vec3f(position))
    joint.CreateLocalRot0Attr(Gf.Quatf(rotation))


def _name(prim: Usd.Prim) -> str:
    return str(prim.GetDisplayName() or prim.GetName())
