"""The harness's reader of binary STL."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from urdf_usd.conformance.engines.meshes import load_mesh

# Few different numbers, so that corners are equal, also in one or two coordinates.
_NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-40, 3e38]) | st.floats(
    width=32, allow_nan=False, allow_infinity=False
)


def _file(corners: np.ndarray) -> bytes:
    """Write (M, 3, 3) corners of triangles, without normals."""
    records = b"".join(
        struct.pack("<12fH", 0.0, 0.0, 0.0, *triangle.ravel().tolist(), 0) for triangle in corners
    )
    return bytes(80) + struct.pack("<I", len(corners)) + records


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 8), st.just(3), st.just(3)),
        elements=_NUMBERS,
    )
)
def test_equal_corners_are_one_point(
    tmp_path_factory: pytest.TempPathFactory, corners: np.ndarray
) -> None:
    """Triangles have the same corners in the same order."""
    path = tmp_path_factory.mktemp("stl") / "part.stl"
    path.write_bytes(_file(corners))

    mesh = load_mesh(str(path))

    np.testing.assert_array_equal(mesh.points[mesh.triangles], corners)
    written = [point.tobytes() for point in mesh.points.astype(np.float32)]
    assert len(written) == len(set(written))
    assert {point.tobytes() for point in corners.reshape(-1, 3)} == set(written)
