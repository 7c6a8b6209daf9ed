"""URDF engines report the same shapes as the reference, and PyBullet the same hulls."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import trimesh

from tests.conformance.engines.engine_requests import request
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import Engine
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation.robot import Observation, Quantity
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
    text = f'<robot name="r"><link name="a">{MASS}{"".join(shapes)}</link></robot>'
    return engine.observe(request(folder, text))


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


def test_mujoco_reports_primitives_if_it_refuses_a_mesh_alone(tmp_path: Path) -> None:
    """No shapes if it refuses a primitive; the rest of the robot is reported."""
    (tmp_path / "bad.stl").write_bytes(b"\0" * 84)
    bad, good = '<mesh filename="bad.stl"/>', PRIMITIVES[ShapeKind.BOX][0]
    reading = _observe(MujocoEngine(), tmp_path, *_both(bad), *_both(good))
    without = _observe(MujocoEngine(), tmp_path, *_both('<sphere radius="0"/>'))

    assert Quantity.COLLISION in reading.states
    assert [s.stated for s in _of(reading, Role.COLLISION)] == [True, False]
    assert any("MuJoCo rejects shapes" in note for note in reading.notes)
    assert Quantity.COLLISION not in without.states
    assert Quantity.MASS in without.states


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


# Relative rounding of the points of Bullet's hulls: 1/10216 of their extent.
_ROUNDING = 1e-4


def _cube(center: tuple[float, float, float], first: int) -> tuple[str, str]:
    """Return vertices of a cube of 0.2 m, and its faces."""
    signs = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    points = np.array(center) + 0.1 * np.array(signs)
    faces = (
        *((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2)),
        *((3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)),
    )
    return (
        "".join(f"v {x:.2f} {y:.2f} {z:.2f}\n" for x, y, z in points),
        "".join(f"f {' '.join(str(i + first) for i in face)}\n" for face in faces),
    )


LEFT, LEFT_FACES = _cube((-1.0, 0.0, 0.0), 0)
RIGHT, RIGHT_FACES = _cube((1.0, 0.0, 0.0), 8)
VERTICES = LEFT + RIGHT
# Each file has both cubes.
FILES = {
    "objects": (f"{VERTICES}o a\n{LEFT_FACES}o b\n{RIGHT_FACES}", 2),
    "groups": (f"{VERTICES}g a\n{LEFT_FACES}g b\n{RIGHT_FACES}", 2),
    "objects between vertices": (f"o a\n{LEFT}{LEFT_FACES}o b\n{RIGHT}{RIGHT_FACES}", 2),
    "equal names": (f"{VERTICES}g a\n{LEFT_FACES}g a\n{RIGHT_FACES}", 2),
    "first without name": (f"{VERTICES}{LEFT_FACES}g b\n{RIGHT_FACES}", 2),
    "empty groups": (f"{VERTICES}o a\ng b\n{LEFT_FACES}g c\no d\n{RIGHT_FACES}o e\n", 2),
    "interrupted group": (
        f"{VERTICES}g a\n{LEFT_FACES}g b\n{RIGHT_FACES}g a\nf 1 2 3\nf 5 6 7\n",
        3,
    ),
    "materials": (f"{VERTICES}usemtl a\n{LEFT_FACES}usemtl b\n{RIGHT_FACES}", 1),
    "smoothing groups": (f"{VERTICES}s 1\n{LEFT_FACES}s 2\n{RIGHT_FACES}", 1),
    "statements without name": (f"{VERTICES}g\n{LEFT_FACES}g\n{RIGHT_FACES}", 1),
}


def _colliders(
    engine: Engine, folder: Path, text: str, *further: str
) -> tuple[ShapeObservation, ...]:
    (folder / "part.obj").write_text(text)
    _, mesh = _both('<mesh filename="part.obj" scale="0.5 -1.5 2"/>')
    return _of(_observe(engine, folder, mesh, *further), Role.COLLISION)


@pytest.mark.parametrize(("text", "count"), FILES.values(), ids=FILES)
def test_hulls_of_pybullet_are_those_of_the_reference(
    text: str, count: int, tmp_path: Path
) -> None:
    """At the origin and in the scale of the collider, in any order."""
    box = "<collision><geometry><box size='0.1 0.2 0.3'/></geometry></collision>"
    expected, stated = (
        _colliders(engine, tmp_path, text, box) for engine in (ReferenceEngine(), PybulletEngine())
    )
    assert len(expected) == count + 1
    if count == 1:
        return
    assert all(shape.stated for shape in stated)
    supports = [sorted(s.surface.support for s in each if s.surface) for each in (expected, stated)]

    np.testing.assert_allclose(supports[1], supports[0], atol=_ROUNDING)


def test_file_that_crashes_pybullet_is_not_loaded(tmp_path: Path) -> None:
    """Faces with two corners; other values of the robot are stated."""
    text = f"{VERTICES}o a\n{LEFT_FACES}o b\nf 9 10\n{RIGHT_FACES}"
    (shape,) = _colliders(PybulletEngine(), tmp_path, text)

    assert not shape.stated
