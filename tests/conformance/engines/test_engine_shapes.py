"""URDF engines report the same shapes as the reference."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import trimesh

from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import Engine, Request
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation.robot import Configurations, Observation, Quantity
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation

ORIGIN = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/>'
PRIMITIVES = {
    ShapeKind.BOX: ('<box size="0.2 0.5 0.3"/>', (0.2, 0.5, 0.3)),
    ShapeKind.CYLINDER: ('<cylinder radius="0.1" length="0.6"/>', (0.1, 0.6)),
    ShapeKind.CAPSULE: ('<capsule radius="0.1" length="0.6"/>', (0.1, 0.6)),
    ShapeKind.SPHERE: ('<sphere radius="0.1"/>', (0.1,)),
}
MASS = """<inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
ENGINES: tuple[Engine, ...] = (ReferenceEngine(), MujocoEngine(), PybulletEngine())


def _observe(engine: Engine, folder: Path, *shapes: str) -> Observation:
    urdf = folder / "robot.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{MASS}{"".join(shapes)}</link></robot>')
    return engine.observe(Request(str(urdf), Configurations((), (), ("zero",))))


def _of(reading: Observation, role: Role) -> tuple[ShapeObservation, ...]:
    return tuple(shape for shape in reading.shapes if shape.role is role)


def _both(geometry: str) -> tuple[str, str]:
    content = f"{ORIGIN}<geometry>{geometry}</geometry>"
    return f"<visual>{content}</visual>", f"<collision>{content}</collision>"


@pytest.mark.parametrize("kind", PRIMITIVES, ids=str)
def test_primitives_have_the_sizes_and_poses_of_the_file(kind: ShapeKind, tmp_path: Path) -> None:
    """As visual and as collision geometry; support functions depend on orientation."""
    text, size = PRIMITIVES[kind]
    supports = []
    for engine, role in itertools.product(ENGINES, Role):
        (shape,) = _of(_observe(engine, tmp_path, *_both(text)), role)
        assert shape.kind is kind
        assert shape.size == pytest.approx(size)
        assert shape.position == pytest.approx((0.1, -0.2, 0.3))
        assert shape.surface is not None
        assert shape.surface.center == pytest.approx((0.1, -0.2, 0.3))
        supports.append(shape.surface.support)
        np.testing.assert_allclose(supports[-1], supports[0], atol=1e-9)


@pytest.mark.parametrize("suffix", ["stl", "obj"])
@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_mujoco_mesh_recentering_is_reverted(suffix: str, mirror: float, tmp_path: Path) -> None:
    """MuJoCo centres and rotates meshes; reported points are those of the file."""
    mesh = trimesh.creation.box((0.2, 0.5, 0.3))
    mesh.vertices[0] += (0.1, 0.05, -0.02)
    mesh.export(tmp_path / f"part.{suffix}")
    text = f'<mesh filename="part.{suffix}" scale="{mirror} 2 0.5"/>'
    readings = [_observe(w, tmp_path, *_both(text)) for w in (ReferenceEngine(), MujocoEngine())]
    (spec,), (mujoco,) = (_of(reading, Role.VISUAL) for reading in readings)

    assert spec.surface is not None
    assert mujoco.surface is not None
    np.testing.assert_allclose(mujoco.surface.support, spec.surface.support, atol=1e-6)
    assert mujoco.surface.area == pytest.approx(spec.surface.area, rel=1e-6)
    assert mujoco.surface.volume == pytest.approx(mesh.volume, rel=1e-5)


def test_missing_meshes_are_not_reported(tmp_path: Path) -> None:
    """Neither PyBullet nor the reference reports them."""
    text = '<mesh filename="gone.stl"/>'
    for engine in (MujocoEngine(), PybulletEngine()):
        (shape,) = _of(_observe(engine, tmp_path, *_both(text)), Role.COLLISION)
        assert not shape.stated

    (shape,) = _of(_observe(ReferenceEngine(), tmp_path, *_both(text)), Role.COLLISION)
    assert shape.stated
    assert shape.problem == "it is not found"


def test_mujoco_reports_primitives_if_it_refuses_a_mesh(tmp_path: Path) -> None:
    (tmp_path / "bad.stl").write_bytes(b"\0" * 84)
    bad, good = '<mesh filename="bad.stl"/>', PRIMITIVES[ShapeKind.BOX][0]
    reading = _observe(MujocoEngine(), tmp_path, *_both(bad), *_both(good))

    assert Quantity.COLLISION in reading.states
    assert [s.stated for s in _of(reading, Role.COLLISION)] == [True, False]
    assert any("MuJoCo rejects shapes" in note for note in reading.notes)


def test_mujoco_reports_no_shapes_if_it_refuses_a_primitive(tmp_path: Path) -> None:
    """A radius of zero; the rest of the robot is reported."""
    reading = _observe(MujocoEngine(), tmp_path, *_both('<sphere radius="0"/>'))

    assert Quantity.COLLISION not in reading.states
    assert Quantity.MASS in reading.states


def test_reference_measures_convex_hulls_of_colliders(tmp_path: Path) -> None:
    """Of each group of an OBJ file: a unit cube without its top, and a square."""
    cube = (
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
        "o a\nf 4 3 2 1\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
    )
    (tmp_path / "two.obj").write_text(cube + "o b\nf 1 2 3 4\n")
    (tmp_path / "one.obj").write_text(cube)
    one, two = (_both(f'<mesh filename="{name}.obj" scale="1 -2 3"/>') for name in ("one", "two"))
    reading = _observe(ReferenceEngine(), tmp_path, *one, two[1])
    (visual,) = _of(reading, Role.VISUAL)
    volumes = [shape.hull_volume for shape in _of(reading, Role.COLLISION)]

    assert visual.hull_volume is None
    assert volumes == pytest.approx([6.0, 6.0, 0.0])
