"""Shapes and meshes on the composed stage."""

from __future__ import annotations

from pathlib import Path

from pxr import Usd

from urdf_usd.converter import convert

# A tetrahedron with volume 1/6 and outward faces.
_TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


def _convert(folder: Path, body: str) -> Usd.Stage:
    (folder / "part.obj").write_text(_TETRAHEDRON)
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{body}</link></robot>')
    return Usd.Stage.Open(str(convert(urdf, folder / "asset").root_layer))


def test_equal_files_share_a_library_prim(tmp_path: Path) -> None:
    """Files that refer to others are equal within one folder only."""
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.obj").write_text(_TETRAHEDRON)
        (tmp_path / folder / "own.obj").write_text(f"mtllib a.mtl\n{_TETRAHEDRON}")
    files = ("x/same.obj", "y/same.obj", "x/own.obj", "y/own.obj")

    _convert(
        tmp_path,
        "".join(
            f'<visual><geometry><mesh filename="{file}"/></geometry></visual>' for file in files
        ),
    )

    library = Usd.Stage.Open(str(tmp_path / "asset/payload/GeometryLibrary.usdc"))
    names = [prim.GetName() for prim in library.GetDefaultPrim().GetAllChildren()]
    assert names == ["same", "own", "own_1"]
