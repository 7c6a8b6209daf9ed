"""Joints of several axes: from USD to a chain in URDF, and back to the same joint."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from tests.converter.usd.scenes import Scene, quat
from urdf_usd import Verdict, check
from urdf_usd.conformance.export.assets import export
from urdf_usd.converter import ConvertOptions, convert

_AXES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
_UNIVERSAL = {"rotX": (-30.0, 60.0), "rotZ": (-90.0, 45.0)}
_FREE = (-np.inf, np.inf)


def _d6(free: dict[str, tuple[float, float]], *, backwards: bool = False) -> Scene:
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    scene.joint(UsdPhysics.FixedJoint, "/r/base", (None, "/r/b" if backwards else "/r/a"))
    joint = scene.joint(
        UsdPhysics.Joint,
        "/r/waist",
        ("/r/a", "/r/b"),
        # The frame of the child would move to the joint.
        **{f"LocalPos{int(backwards)}": Gf.Vec3f(0.1, -0.2, 0.3)},
        LocalRot0=quat(Rotation.from_euler("xyz", (0.4, 0.2, -0.6))),
        LocalRot1=quat(Rotation.from_euler("xyz", (-0.5, 0.9, 0.3))),
    ).GetPrim()
    for axis in _AXES:
        low, high = free.get(axis, (1.0, -1.0))
        api = UsdPhysics.LimitAPI.Apply(joint, axis)
        api.CreateLowAttr(low)
        api.CreateHighAttr(high)
    for effort, axis in enumerate(free, start=3):
        UsdPhysics.DriveAPI.Apply(joint, axis).CreateMaxForceAttr(effort)
    return scene


def _exported(scene: Scene, folder: Path) -> Path:
    usd = folder / "r.usda"
    scene.stage.Export(str(usd))
    return export(usd, folder / "out/r.urdf").urdf


def _joints(stage: Usd.Stage) -> dict[str, Usd.Prim]:
    return {prim.GetName(): prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    "free",
    [
        _UNIVERSAL,
        {"transY": (-0.5, 0.25), "rotY": _FREE},
        {"transX": _FREE, "transZ": (-1.0, 2.0), "rotY": (-10.0, 20.0)},
        {"rotX": (-30.0, 60.0), "rotY": (-90.0, 45.0), "rotZ": _FREE},
    ],
    ids=["universal", "cylindrical", "planar", "spherical"],
)
def test_conversion_of_the_exported_urdf_restores_the_joint(
    free: dict[str, tuple[float, float]], tmp_path: Path, *, backwards: bool
) -> None:
    # Bodies, sides, frames, limits and largest forces, by OpenUSD's schemas.
    scene = _d6(free, backwards=backwards)

    urdf = _exported(scene, tmp_path)
    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd").root_layer))

    found = _joints(stage)
    assert set(found) == {"base", "waist"}
    bodies = [p.GetName() for p in stage.Traverse() if p.HasAPI("PhysicsRigidBodyAPI")]
    assert sorted(bodies) == ["a", "b"]
    before, after = scene.stage.GetPrimAtPath("/r/waist"), found["waist"]
    assert after.GetTypeName() == "PhysicsJoint"
    for side in "01":
        (body,) = after.GetRelationship(f"physics:body{side}").GetTargets()
        assert body.name == "ab"[int(side)]
        for name in (f"physics:localPos{side}", f"physics:localRot{side}"):
            one, other = (prim.GetAttribute(name).Get() for prim in (before, after))
            if isinstance(one, Gf.Quatf):
                turn = one * other.GetInverse()
                assert abs(turn.GetReal()) == pytest.approx(1.0, abs=1e-6)
            else:
                np.testing.assert_allclose(other, one, atol=1e-6)
    names = [
        *(f"limit:{axis}:physics:{end}" for axis in _AXES for end in ("low", "high")),
        *(f"drive:{axis}:physics:maxForce" for axis in free),
    ]
    for name in names:
        one, other = (prim.GetAttribute(name).Get() for prim in (before, after))
        assert other == pytest.approx(one)


def test_chain_is_kept_on_request_and_conforms(tmp_path: Path) -> None:
    # For a comparison of the URDF and the USD joint by joint.
    urdf = _exported(_d6(_UNIVERSAL), tmp_path)

    usd = convert(urdf, tmp_path / "usd", ConvertOptions(keep_chains=True)).root_layer

    stage = Usd.Stage.Open(str(usd))
    assert {"waist_rotX", "waist_rotZ"} <= set(_joints(stage))
    assert check(urdf, usd).verdict in {Verdict.EXACT, Verdict.CLOSE}


@pytest.mark.parametrize(
    ("written", "edited"),
    [
        ('<link name="waist_rotX_link">', '<link name="waist_rotX_link"><visual/>'),
        ('axes="rotX rotZ"', 'axes="rotX rotY"'),
        ('<usd_joint name="waist"', '<usd_joint name="base"'),
        ('<limit lower="-0.523', '<dynamics damping="1"/><limit lower="-0.523'),
    ],
)
def test_changed_chain_is_converted_joint_by_joint(
    written: str, edited: str, tmp_path: Path
) -> None:
    urdf = _exported(_d6(_UNIVERSAL), tmp_path)
    text = urdf.read_text()
    assert written in text
    shape = '<visual><geometry><sphere radius="1"/></geometry></visual>'
    urdf.write_text(text.replace(written, edited.replace("<visual/>", shape)))

    conversion = convert(urdf, tmp_path / "usd")

    rules = [one.rule for one in conversion.diagnostics]
    assert rules.count("joint-chain-changed") == 1
    stage = Usd.Stage.Open(str(conversion.root_layer))
    assert {"waist_rotX", "waist_rotZ"} <= set(_joints(stage))


def test_mujoco_loads_a_chain(tmp_path: Path) -> None:
    """Without the settings of the extension it refuses moving bodies without mass.

    It finds meshes below the folder of the URDF.
    """
    scene = _d6(_UNIVERSAL)
    mesh = UsdGeom.Mesh.Define(scene.stage, "/r/b/part")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    mesh.CreateFaceVertexCountsAttr([3, 3, 3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2])
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    urdf = _exported(scene, tmp_path)

    model = mujoco.MjModel.from_xml_path(str(urdf))

    assert (model.nq, model.nmesh) == (2, 1)
    assert model.body_mass[1:].tolist()[-1] == pytest.approx(1.0)
    assert model.jnt_range[0] == pytest.approx(np.radians([-30.0, 60.0]))
