"""Detection of mesh formats, and real files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pybullet_data
import pytest
import trimesh
from numpy.typing import NDArray

from urdf_usd.converter.meshes import read
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh
from urdf_usd.converter.meshes.read import cached_meshes, read_mesh

DATA = Path(pybullet_data.getDataPath())
OBJ = b"# part\nv 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 2 3\n"
STL_TEXT = b"""solid
facet normal 0 0 0
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 2 0
endloop
endfacet
endsolid"""
STL_BINARY = bytes(80) + struct.pack("<I12fH", 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0)
DAE = b"""<COLLADA><library_geometries><geometry id="g"><mesh><source id="s">
<float_array id="a" count="9">0 0 0 1 0 0 0 2 0</float_array><technique_common>
<accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor>
</technique_common></source><vertices id="v"><input semantic="POSITION" source="#s"/>
</vertices><triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2</p></triangles></mesh></geometry></library_geometries></COLLADA>"""
CONTENTS = {"obj": OBJ, "text": STL_TEXT, "binary": STL_BINARY, "dae": DAE}


def corpus() -> list[Path]:
    """List the mesh files of the robots in pybullet_data."""
    return sorted(
        path
        for path in DATA.rglob("*")
        if path.suffix.lower() in {".stl", ".obj", ".dae"} and "random_urdfs" not in path.parts
    )


def triangles(mesh: PolygonMesh) -> NDArray[np.float64]:
    """Return the (T, 3, 3) corners of all triangles; polygons are cut into fans."""
    spans = mesh.face_counts - 2
    first = np.repeat(np.cumsum(mesh.face_counts) - mesh.face_counts, spans)
    step = np.arange(spans.sum()) - np.repeat(np.cumsum(spans) - spans, spans)
    corners = np.stack([first, first + step + 1, first + step + 2], axis=1)
    cut: NDArray[np.float64] = mesh.points[mesh.face_indices[corners]]
    return cut


def reference_triangles(path: Path) -> NDArray[np.float64]:
    """Read a file with trimesh [m]."""
    scene = trimesh.load_scene(str(path), process=False, skip_materials=True)
    shapes = [shape for shape in scene.dump() if isinstance(shape, trimesh.Trimesh)]
    pieces = [np.array(shape.triangles, dtype=np.float64) for shape in shapes]
    factor = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
    return np.concatenate(pieces) * factor


def measures(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bounds [m], area [m^2] and signed volume [m^3] of triangles."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1).sum() / 2
    volume = np.einsum("ij,ij->", corners[:, 0], across) / 6
    points = corners.reshape(-1, 3)
    return np.array([*points.min(axis=0), *points.max(axis=0), area, volume])


@pytest.mark.parametrize("name", ["p.stl", "p.OBJ", "p.dae", "p.Stl", "p.mesh", "p"])
@pytest.mark.parametrize("content", CONTENTS)
def test_format_is_detected_by_content(tmp_path: Path, content: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(CONTENTS[content])

    mesh = read_mesh(path)

    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert mesh.face_indices.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.stl", b"version https://git-lfs.github.com/spec/v1\noid x", "Git LFS"),
        ("a.dae", b"PK\x03\x04" + bytes(99), "zip archive"),
        ("a.obj", b"glTF\x02\0\0\0", "glTF"),
        ("a.stl", b"ply\nformat ascii 1.0\n", "PLY"),
        ("a.png", b"\x89PNG\r\n", "not STL, OBJ, COLLADA"),
        ("a", b"some words", "not STL, OBJ, COLLADA"),
        ("a.obj", b"some words", "no faces"),
        ("a.dae", b"<html>", "well-formed"),
    ],
)
def test_unsupported_formats_are_named(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(MeshError, match=reason):
        read_mesh(path)


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.stl"):
        with pytest.raises(MeshError, match="cannot be opened"):
            read_mesh(path)


def test_libraries_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither numpy nor trimesh prints or logs; warnings are errors."""
    for name, content in CONTENTS.items():
        path = tmp_path / name
        path.write_bytes(content.replace(b"2 0", b"2e40 0"))
        try:
            read_mesh(path)
        except MeshError:
            continue

    assert capfd.readouterr() == ("", "")


SAMPLE = (
    "duck.dae",
    "racecar/meshes/chassis.dae",
    "racecar/meshes/hokuyo.dae",
    "differential/diff_arm.stl",
    "bicycle/files/handlebar_scaled.stl",
    "a1/meshes/thigh_mirror.obj",
    "bunny.obj",
)


def relative_measures(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the measures of a file and of its reference, relative to its size."""
    expected = measures(reference_triangles(path))
    size = np.ptp(expected[:6].reshape(2, 3), axis=0).max()
    units = np.array([size] * 6 + [expected[6], size**3])
    return measures(triangles(read_mesh(path))) / units, expected / units


# pycollada sets shapes of arrays, which NumPy 2.5 deprecates.
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize("name", SAMPLE)
def test_real_files_agree_with_the_reference_reader(name: str) -> None:
    actual, expected = relative_measures(DATA / name)

    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.corpus
def test_every_mesh_of_pybullet_data_agrees_with_the_reference_reader() -> None:
    for path in corpus():
        actual, expected = relative_measures(path)

        np.testing.assert_allclose(actual, expected, atol=1e-6, err_msg=str(path))


def test_cached_mesh_is_decoded_once(tmp_path: Path) -> None:
    """Until its content changes, or the cache is closed."""
    path = tmp_path / "mesh.stl"
    path.write_bytes(STL_TEXT)

    with cached_meshes():
        first, second = read_mesh(path), read_mesh(path)
        path.write_bytes(STL_TEXT.replace(b"0 2 0", b"0 3 0"))
        third = read_mesh(path)
    fourth = read_mesh(path)

    assert first is second
    assert third is not fourth
    assert first.points.max() == 2.0
    assert third.points.max() == fourth.points.max() == 3.0


def test_cache_has_a_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed file frees the memory of its former content."""
    monkeypatch.setattr(read, "_CACHE_SIZE", 2 * len(STL_TEXT))
    one, two, three = (tmp_path / f"{name}.stl" for name in "abc")
    for path in (one, two, three):
        path.write_bytes(STL_TEXT)

    def is_kept(path: Path) -> bool:
        return read_mesh(path) is read_mesh(path)

    with cached_meshes():
        assert [is_kept(path) for path in (one, two, three)] == [True, True, False]
        two.write_bytes(STL_TEXT * 9)
        read_mesh(two)
        assert [is_kept(path) for path in (one, three)] == [True, True]


def test_file_of_two_gigabytes_is_not_read(tmp_path: Path) -> None:
    """Even with a correct header; the file is sparse."""
    file = tmp_path / "large.stl"
    with file.open("wb") as sparse:
        sparse.write(bytes(80) + struct.pack("<I", 2**31 // 50))
        sparse.truncate(84 + 2**31 // 50 * 50)

    with pytest.raises(MeshError, match="cannot be opened: it is larger than 256 MiB"):
        read_mesh(file)


@pytest.mark.parametrize("reference", ["/dev/zero", "../../../../../dev/zero"])
def test_endless_material_library_is_not_read(tmp_path: Path, reference: str) -> None:
    """The surface is read."""
    file = tmp_path / "a.obj"
    file.write_bytes(f"mtllib {reference}\nusemtl a\n".encode() + OBJ)

    assert len(read_mesh(file).face_counts) == 1
