"""What PhysX makes of stages, its process and its messages."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pxr import Usd, UsdPhysics

from tests.conformance.engines.deviation_files import FOLDER
from tests.conformance.engines.test_usd_simulators import converted
from urdf_usd.conformance.engines.protocol import Engine, Request, UnsupportedError
from urdf_usd.conformance.observation.robot import Configurations, JointType
from urdf_usd.converter import convert

_AT_REST = Configurations((), (), ("zero",))


def test_joints_are_numbered_breadth_first_and_by_path(engine: Engine, tmp_path: Path) -> None:
    """Whatever the order of prims, which is that of the URDF."""
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    )
    chains = (("c", "base", "x"), ("c2", "x", "x2"), ("b", "base", "z"))
    text = "".join(f'<link name="{name}">{inertial}</link>' for name in ("base", "x", "x2", "z"))
    for name, parent, child in chains:
        text += (
            f'<joint name="{name}" type="continuous"><parent link="{parent}"/>'
            f'<child link="{child}"/></joint>'
        )
    urdf = tmp_path / "order.urdf"
    urdf.write_text(f'<robot name="order">{text}</robot>')
    layer = convert(urdf, tmp_path / "usd").root_layer
    stage = Usd.Stage.Open(str(layer))
    joints = stage.GetPrimAtPath("/order/Physics").GetChildren()

    seen = engine.observe(Request(str(layer), _AT_REST))

    assert [joint.GetName() for joint in joints] == ["c", "c2", "b"]
    assert seen.joint_order == ("b", "c", "c2")


def test_former_stages_do_not_change_an_observation(engine: Engine, tmp_path: Path) -> None:
    """They were read by the same process."""
    planar = convert(FOLDER / "planar-joint.urdf", tmp_path / "planar").root_layer
    request = Request(str(converted(tmp_path)), _AT_REST)
    first = pickle.dumps(engine.observe(request))
    engine.observe(Request(str(planar), _AT_REST))

    assert pickle.dumps(engine.observe(request)) == first


def test_warnings_of_physx_are_notes(engine: Engine, tmp_path: Path) -> None:
    """A planar joint causes one; the stage of a pendulum causes none."""
    planar = FOLDER / "planar-joint.urdf"
    layer = convert(planar, tmp_path / "planar").root_layer
    warned = engine.observe(Request(str(layer), _AT_REST))
    clean = engine.observe(Request(str(converted(tmp_path)), _AT_REST))

    assert any(
        note.startswith("PhysX: Translation DOF is expected to be locked") for note in warned.notes
    )
    assert clean.notes == ()


def test_shared_memory_does_not_remain(engine: Engine, tmp_path: Path) -> None:
    """PhysX leaves a segment and a semaphore per process."""

    def segments() -> set[str]:
        return {path.name for path in Path("/dev/shm").glob("*carb-RString*")}  # noqa: S108

    before = segments()
    engine.observe(Request(str(converted(tmp_path)), _AT_REST))

    assert segments() <= before


def test_moving_joint_to_the_world_is_lost(engine: Engine, tmp_path: Path) -> None:
    """PhysX fixes the body at the world end of an articulation."""
    usd = converted(tmp_path)
    stage = Usd.Stage.Open(str(usd))
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) and prim.GetName() == "base":
            prim.RemoveAPI(UsdPhysics.RigidBodyAPI)
        if prim.IsA(UsdPhysics.FixedJoint):
            prim.SetActive(False)
    stage.Export(str(tmp_path / "edited.usda"))

    joints = {
        j.name: j for j in engine.observe(Request(str(tmp_path / "edited.usda"), _AT_REST)).joints
    }

    assert joints["slide"].type is JointType.FIXED


def test_several_articulations_are_refused(engine: Engine, tmp_path: Path) -> None:
    usd = converted(tmp_path)
    stage = Usd.Stage.CreateNew(str(tmp_path / "two.usda"))
    for name in ("first", "second"):
        prim = stage.DefinePrim(f"/world/{name}", "Xform")
        prim.GetReferences().AddReference(str(usd))
    stage.SetDefaultPrim(stage.GetPrimAtPath("/world"))
    stage.SetMetadata("metersPerUnit", 1.0)
    stage.SetMetadata("kilogramsPerUnit", 1.0)
    stage.Save()

    with pytest.raises(UnsupportedError):
        engine.observe(Request(str(tmp_path / "two.usda"), _AT_REST))
