"""Decompositions that --colliders requests; other colliders are in the golden assets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trimesh
from pxr import Usd, UsdPhysics

from tests.converter.decompositions import fake_coacd
from urdf_usd.converter import Conversion, ConversionError, ConvertOptions, convert
from urdf_usd.converter.options import ColliderRule, ColliderRules, MeshProgress

# Two tetrahedra side by side.
_PAIR = Path(__file__).parents[1] / "data/assets/pair.obj"
_TUBE = trimesh.creation.annulus(0.5, 1.0, 6.0)
_BOX = ((0.0, 0.0), (1.0, 2.0))


def _converted(
    folder: Path,
    *files: str | Path,
    progress: MeshProgress | None = None,
) -> Conversion:
    """Convert links l0, l1, … with one collision mesh each."""
    shape = '<collision><geometry><mesh filename="{}" scale="1 1 -1"/></geometry></collision>'
    links = "".join(
        f'<link name="l{number}">{shape.format(file)}</link>' for number, file in enumerate(files)
    )
    joints = "".join(
        f'<joint name="j{n}" type="fixed"><parent link="l0"/><child link="l{n}"/></joint>'
        for n in range(1, len(files))
    )
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r">{links}{joints}</robot>', encoding="utf-8")
    options = ConvertOptions(colliders=ColliderRules((ColliderRule.parse("decomposition"),)))
    # Open layers are cached by their path.
    asset = folder / f"asset{len(list(folder.glob('asset*')))}"
    return convert(urdf, asset, options, progress=progress)


def _approximations(conversion: Conversion) -> list[str]:
    stage = Usd.Stage.Open(str(conversion.root_layer))
    return [
        UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
        for prim in stage.Traverse()
        if prim.HasAPI(UsdPhysics.MeshCollisionAPI)
    ]


def _messages(conversion: Conversion, rule: str) -> list[str]:
    return [one.message for one in conversion.diagnostics if one.rule == rule]


def test_pieces_of_a_decomposition_are_colliders_and_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_coacd(monkeypatch, tmp_path, [_BOX, ((1.0, 0.0), (1.0, 1.0))])
    _TUBE.export(tmp_path / "tube.stl")

    result, again = (_converted(tmp_path, "tube.stl", _PAIR) for _ in range(2))

    assert _approximations(result) == ["convexHull"] * 4
    # The groups of the other file are pieces already.
    assert calls == [len(_TUBE.faces)]
    replaced = _messages(result, "collider-replaced")
    assert "tube.stl: 2 pieces" in "".join(replaced)
    assert "pair.obj: 2 pieces of the file" in "".join(replaced)
    assert again.diagnostics == result.diagnostics


def test_decomposition_needs_coacd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coacd", None)
    _TUBE.export(tmp_path / "tube.stl")

    with pytest.raises(ConversionError, match=r"\[coacd\]") as caught:
        _converted(tmp_path, "tube.stl")

    assert [d.rule for d in caught.value.diagnostics] == ["collider-decomposition"]
    assert not (tmp_path / "asset0").exists()


def test_progress_names_each_mesh_before_it_is_decomposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_coacd(monkeypatch, tmp_path, [_BOX])
    _TUBE.export(tmp_path / "tube.stl")
    trimesh.creation.annulus(0.7, 1.0, 6.0).export(tmp_path / "ring.stl")
    seen: list[tuple[str, int, int, int]] = []

    def show(mesh: str, number: int, total: int) -> None:
        seen.append((mesh, number, total, len(calls)))

    _converted(tmp_path, "ring.stl", "ring.stl", "tube.stl", progress=show)

    assert seen == [("ring.stl", 1, 2, 0), ("tube.stl", 2, 2, 1)]


@pytest.mark.parametrize(("lost", "open_"), [(0, False), (1, True)])
def test_open_meshes_of_a_decomposition_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int, *, open_: bool
) -> None:
    fake_coacd(monkeypatch, tmp_path, [_BOX])
    tube = trimesh.Trimesh(_TUBE.vertices, _TUBE.faces[lost:], process=False)
    tube.export(tmp_path / "tube.stl")

    result = _converted(tmp_path, "tube.stl", _PAIR)

    # The groups of the other file are convex, and not decomposed.
    found = [message.rpartition(": ")[2] for message in _messages(result, "collider-remeshed")]
    assert found == ["tube.stl"] * open_
