"""Meshes written as OBJ are read back unchanged."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.meshes.mesh import build_mesh
from urdf_usd.converter.meshes.obj import obj_text, read_obj

_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def _meshes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points = draw(st.lists(st.tuples(*[_FLOATS] * 3), min_size=3, max_size=12))
    corner = st.integers(0, len(points) - 1)
    polygon = st.lists(corner, min_size=3, max_size=6, unique=True)
    faces = draw(st.lists(polygon, min_size=1, max_size=5))
    counts = np.array([len(face) for face in faces])
    return np.array(points), counts, np.concatenate(faces)


@given(_meshes())
def test_polygons_and_float32_positions_are_read_back(
    surface: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Bit for bit in float32, at any scale."""
    mesh = build_mesh(*surface)

    again = read_obj(obj_text(mesh, "made by hand"))

    np.testing.assert_array_equal(again.points.astype(np.float32), mesh.points.astype(np.float32))
    np.testing.assert_array_equal(again.face_counts, mesh.face_counts)
    np.testing.assert_array_equal(again.face_indices, mesh.face_indices)


def test_trimesh_reads_written_files() -> None:
    """Including the comment at the top."""
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    mesh = build_mesh(box.vertices, np.full(12, 3), box.faces.ravel())
    text = obj_text(mesh, "made by hand")

    with TemporaryDirectory() as folder:
        file = Path(folder, "box.obj")
        file.write_bytes(text)
        again = trimesh.load_mesh(file)

    assert text.startswith(b"# made by hand\nv ")
    np.testing.assert_allclose(again.volume, 0.006, rtol=1e-6)
