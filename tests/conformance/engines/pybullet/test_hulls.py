"""Convex hulls that PyBullet makes of the groups of an OBJ file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from urdf_usd.conformance.engines.protocol import Engine, Request
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation

ORIGIN = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/>'
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
    mesh = '<mesh filename="part.obj" scale="0.5 -1.5 2"/>'
    shapes = (f"{ORIGIN}<geometry>{mesh}</geometry>", *further)
    body = "".join(f"<collision>{shape}</collision>" for shape in shapes)
    urdf = folder / "robot.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{body}</link></robot>')
    observed = engine.observe(Request(str(urdf), Configurations((), (), ("zero",))))
    return tuple(s for s in observed.shapes if s.role is Role.COLLISION)


@pytest.mark.parametrize(("text", "count"), FILES.values(), ids=FILES)
def test_hulls_of_pybullet_are_those_of_the_reference(
    text: str, count: int, tmp_path: Path
) -> None:
    """At the origin and in the scale of the collider, in any order."""
    box = "<geometry><box size='0.1 0.2 0.3'/></geometry>"
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
