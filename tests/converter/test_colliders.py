"""Colliders that --colliders requests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trimesh
from pxr import Usd, UsdPhysics

from tests.converter.decompositions import fake_coacd
from urdf_usd.converter import (
    Conversion,
    ConversionError,
    ConvertOptions,
    convert,
)
from urdf_usd.converter.options import (
    ColliderRule,
    ColliderRules,
)

# Two boxes side by side, the second one smaller.
_GROUPS = """v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1
v 2 0 0\nv 3 0 0\nv 2 1 0\nv 2 0 1
o one\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4
o two\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8
"""
_PLACE = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/>'


def _shape(file: str, role: str = "collision", scale: str = "0.1 0.1 0.2") -> str:
    return (
        f'<{role}>{_PLACE}<geometry><mesh filename="{file}" scale="{scale}"/></geometry></{role}>'
    )


def _converted(
    folder: Path,
    *rules: str,
    tolerance: str = "5%",
    rod: trimesh.Trimesh | None = None,
) -> tuple[Conversion, Usd.Stage]:
    """Convert a robot of three links with meshes and a primitive."""
    (folder / "groups.obj").write_text(_GROUPS)
    rod = rod or trimesh.creation.cylinder(1.0, 6.0, sections=64)
    rod.export(folder / "rod.stl")
    urdf = folder / "r.urdf"
    primitive = "<collision><geometry><box size='1 2 3'/></geometry></collision>"
    urdf.write_text(
        f'<robot name="r"><link name="trunk">{_shape("groups.obj", "visual")}'
        f"{_shape('groups.obj')}{primitive}</link>"
        f'<link name="left_arm">{_shape("rod.stl", scale="0.1 0.1 -0.1")}</link>'
        f'<link name="right_arm">{_shape("rod.stl")}{_shape("groups.obj")}</link>'
        '<joint name="i" type="fixed"><parent link="trunk"/><child link="left_arm"/>'
        '</joint><joint name="j" type="fixed"><parent link="trunk"/>'
        '<child link="right_arm"/></joint></robot>'
    )
    options = ConvertOptions(
        colliders=ColliderRules(tuple(map(ColliderRule.parse, rules)), tolerance),
    )
    # Open layers are cached by their path.
    asset = folder / f"asset{len(list(folder.glob('asset*')))}"
    done = convert(urdf, asset, options)
    return done, Usd.Stage.Open(str(done.root_layer))


def _colliders(stage: Usd.Stage) -> list[tuple[str, str, str | None]]:
    """Return link, type and approximation of each collider."""
    found = []
    for prim in Usd.PrimRange(stage.GetDefaultPrim()):
        if not prim.HasAPI(UsdPhysics.CollisionAPI):
            continue
        token = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
        links = ("trunk", "left_arm", "right_arm")
        parents = prim.GetPath().pathString.split("/")
        link = next(name for name in reversed(parents) if name in links)
        is_mesh = prim.HasAPI(UsdPhysics.MeshCollisionAPI)
        found.append((link, str(prim.GetTypeName()), token if is_mesh else None))
    return sorted(found, key=str)


def test_pieces_of_a_decomposition_are_colliders_and_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = [((0.0, 0.0), (1.0, 2.0)), ((1.0, 0.0), (1.0, 1.0))]
    calls = fake_coacd(monkeypatch, tmp_path, boxes)

    tube = trimesh.creation.annulus(0.5, 1.0, 6.0)
    result, stage = _converted(tmp_path, "*arm=decomposition", rod=tube)
    again, _ = _converted(tmp_path, "*arm=decomposition", rod=tube)

    pieces = [("right_arm", "Mesh", "convexHull")] * 4
    assert [c for c in _colliders(stage) if c[0] == "right_arm"] == pieces
    # The tetrahedra of the other file are pieces already.
    assert calls == [len(tube.faces)]
    texts = [d.message for d in result.diagnostics if d.rule == "collider-replaced"]
    assert "rod.stl: 2 pieces" in texts[0]
    assert again.diagnostics == result.diagnostics


def test_decomposition_needs_coacd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coacd", None)

    with pytest.raises(ConversionError, match=r"\[coacd\]") as caught:
        _converted(tmp_path, "decomposition", rod=trimesh.creation.annulus(0.5, 1.0, 6.0))

    assert [d.rule for d in caught.value.diagnostics] == ["collider-decomposition"]
    assert not (tmp_path / "asset0").exists()


def test_convex_groups_of_a_file_are_its_decomposition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_coacd(monkeypatch, tmp_path, [((0.0, 0.0), (1.0, 2.0))])

    result, stage = _converted(tmp_path, "trunk=decomposition")

    assert not calls
    meshes = [c for c in _colliders(stage) if c[:2] == ("trunk", "Mesh")]
    assert meshes == [("trunk", "Mesh", "convexHull")] * 2
    texts = [d.message for d in result.diagnostics if d.rule == "collider-replaced"]
    assert "groups.obj: 2 pieces of the file" in texts[0]


def test_progress_names_each_mesh_before_it_is_decomposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_coacd(monkeypatch, tmp_path, [((0.0, 0.0), (1.0, 2.0))])
    trimesh.creation.annulus(0.5, 1.0, 6.0).export(tmp_path / "ring.stl")
    trimesh.creation.annulus(0.7, 1.0, 6.0).export(tmp_path / "tube.stl")
    links = "".join(
        f'<link name="l{n}">{_shape(file)}</link>'
        for n, file in enumerate(("ring.stl", "ring.stl", "tube.stl"))
    )
    joints = "".join(
        f'<joint name="j{n}" type="fixed"><parent link="l0"/><child link="l{n}"/></joint>'
        for n in (1, 2)
    )
    urdf = tmp_path / "rings.urdf"
    urdf.write_text(f'<robot name="rings">{links}{joints}</robot>', encoding="utf-8")
    options = ConvertOptions(colliders=ColliderRules((ColliderRule.parse("decomposition"),)))
    seen: list[tuple[str, int, int, int]] = []

    def show(mesh: str, number: int, total: int) -> None:
        seen.append((mesh, number, total, len(calls)))

    convert(urdf, tmp_path / "out", options, progress=show)

    assert seen == [("ring.stl", 1, 2, 0), ("tube.stl", 2, 2, 1)]


@pytest.mark.parametrize(("lost", "open_"), [(0, False), (1, True)])
def test_open_meshes_of_a_decomposition_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int, *, open_: bool
) -> None:
    fake_coacd(monkeypatch, tmp_path, [((0.0, 0.0), (1.0, 2.0))])
    tube = trimesh.creation.annulus(0.5, 1.0, 6.0)
    rod = trimesh.Trimesh(tube.vertices, tube.faces[lost:], process=False)

    result, _ = _converted(tmp_path, "*arm=decomposition", rod=rod)

    found = [d.message for d in result.diagnostics if d.rule == "collider-remeshed"]
    # The tetrahedra of the other file are convex, and not decomposed.
    assert [message.rpartition(": ")[2] for message in found] == ["rod.stl"] * open_
