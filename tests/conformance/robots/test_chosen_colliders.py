"""Assets with colliders that --colliders requests, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tests.conformance.direct import examine_here, examine_pair_here
from tests.converter.decompositions import fake_coacd
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import ColliderRule, ColliderRules
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict

# Two tetrahedra that together are not convex.
_GROUPS = """v 0 0 0\nv 1 0 0.1\nv 0 1 0\nv 0.1 0 1
v 2 0 0\nv 3 0 0\nv 2 1.2 0\nv 2 0.2 1.4
o one\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4
o two\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8
"""
_PLACE = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/>'
_MASS = """<inertial><mass value="2"/><inertia ixx="0.02" ixy="0.001" ixz="0"
  iyy="0.03" iyz="0" izz="0.04"/></inertial>"""


def _mesh(file: str) -> str:
    return (
        f'<collision>{_PLACE}<geometry><mesh filename="{file}" scale="0.1 0.1 0.2"/>'
        "</geometry></collision>"
    )


def _robot(folder: Path) -> Path:
    (folder / "groups.obj").write_text(_GROUPS)
    trimesh.creation.cylinder(1.0, 6.0, sections=64).export(folder / "rod.stl")
    urdf = folder / "r.urdf"
    box = "<collision><geometry><box size='0.1 0.2 0.3'/></geometry></collision>"
    urdf.write_text(
        f'<robot name="r"><link name="trunk">{_MASS}{_mesh("groups.obj")}{box}</link>'
        f'<link name="arm">{_MASS}{_mesh("rod.stl")}</link>'
        '<joint name="j" type="revolute"><parent link="trunk"/><child link="arm"/>'
        '<limit lower="-1" upper="1" effort="10" velocity="2"/></joint></robot>'
    )
    return urdf


def _rules(*texts: str, tolerance: str = "2%") -> ColliderRules:
    return ColliderRules(tuple(map(ColliderRule.parse, texts)), tolerance)


def _failed(record: RobotRecord) -> set[str]:
    return {check.id for check in record.checks if check.grade is Grade.FAILS}


@pytest.mark.parametrize("rule", ["hull", "primitives", "mesh", "none", "arm=none"])
def test_requested_colliders_are_close_and_never_exact(tmp_path: Path, rule: str) -> None:
    options = ConvertOptions(colliders=_rules(rule))

    record = examine_here(_robot(tmp_path), tmp_path / "run", options)

    assert record.verdict is Verdict.CLOSE, record.reason
    grades = {check.id: check.grade for check in record.checks}
    assert grades["collision.shapes"] is Grade.CLOSE
    others = {g for name, g in grades.items() if not name.startswith("collision.")}
    assert others <= {Grade.EXACT, Grade.NOT_APPLICABLE}
    (check,) = (each for each in record.checks if each.id == "collision.shapes")
    texts = [finding.message for finding in check.findings]
    assert all(text.endswith("as requested") for text in texts)
    assert len(texts) == (1 if "=" in rule else 2)


def test_colliders_have_to_be_those_that_were_requested(tmp_path: Path) -> None:
    urdf = _robot(tmp_path)
    kinds = ("hull", "primitives", "mesh", "none")
    for made in kinds:
        options = ConvertOptions(colliders=_rules(made))
        usd = convert(urdf, tmp_path / made, options).root_layer
        found = {
            requested
            for requested in kinds
            if not _failed(
                examine_pair_here(urdf, usd, options=ConvertOptions(colliders=_rules(requested)))
            )
        }
        # A convex hull is also what remains where no primitive fits.
        assert found == ({made, "primitives"} if made == "hull" else {made})
        # Without the option, triangles are another form of the same surface.
        plain = _failed(examine_pair_here(urdf, usd))
        assert ("collision.shapes" in plain) is (made != "mesh")


@pytest.mark.parametrize(
    ("file", "rule", "verdict"),
    [
        ("rod.stl", "hull", Verdict.INCOMPLETE),
        ("groups.obj", "mesh", Verdict.INCOMPLETE),
        ("groups.obj", "primitives", Verdict.INCOMPLETE),
        ("rod.stl", "none", Verdict.CLOSE),
    ],
)
def test_mesh_that_cannot_be_read_leaves_the_check_incomplete(
    tmp_path: Path, file: str, rule: str, verdict: Verdict
) -> None:
    urdf = _robot(tmp_path)
    (tmp_path / file).unlink()

    record = examine_here(urdf, tmp_path / "run", ConvertOptions(colliders=_rules(rule)))

    assert record.verdict is verdict, record.reason
    assert _failed(record) == set()


def _collider(stage: Usd.Stage, link: str, index: int = 0) -> Usd.Prim:
    """Return a collider of a link; links are nested."""

    def link_of(prim: Usd.Prim) -> str:
        names = str(prim.GetPath()).split("/")
        return next(name for name in reversed(names) if name in {"trunk", "arm"})

    colliders = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.CollisionAPI)]
    return [prim for prim in colliders if link_of(prim) == link][index]


def _failed_after(
    edit: Callable[[Usd.Stage], None], urdf: Path, asset: Path, rules: ColliderRules
) -> set[str]:
    """Return the checks that fail after a change of an asset, in a layer beside it."""
    stage = Usd.Stage.CreateNew(str(asset.with_name(f"{edit.__name__}.usda")))
    stage.GetRootLayer().TransferContent(Sdf.Layer.FindOrOpen(str(asset)))
    edit(stage)
    stage.GetRootLayer().Save()
    file = Path(stage.GetRootLayer().realPath)
    return _failed(examine_pair_here(urdf, file, options=ConvertOptions(colliders=rules)))


def _shift(stage: Usd.Stage) -> None:
    attribute = _collider(stage, "arm").GetAttribute("xformOp:translate")
    attribute.Set(attribute.Get() + Gf.Vec3d(0, 0, 0.05))


def _remove(stage: Usd.Stage) -> None:
    _collider(stage, "arm").SetActive(False)


def _copy(stage: Usd.Stage, prim: Usd.Prim) -> None:
    copy = stage.DefinePrim(prim.GetPath().ReplaceName("copy"))
    copy.GetReferences().AddInternalReference(prim.GetPath())


def _double(stage: Usd.Stage) -> None:
    _copy(stage, _collider(stage, "arm"))


def _enlarge(stage: Usd.Stage) -> None:
    prim = _collider(stage, "arm")
    if cylinder := UsdGeom.Cylinder(prim):
        cylinder.GetRadiusAttr().Set(1.3 * cylinder.GetRadiusAttr().Get())
        cylinder.GetExtentAttr().Clear()
        return
    prim.CreateAttribute("xformOp:scale", Sdf.ValueTypeNames.Float3).Set(Gf.Vec3f(0.13, 0.1, 0.2))


def _retype(stage: Usd.Stage) -> None:
    token = UsdPhysics.MeshCollisionAPI(_collider(stage, "trunk")).GetApproximationAttr()
    token.Set("none" if token.Get() == "convexHull" else "convexHull")


_EDITS = {
    _shift: "collision.support",
    _remove: "collision.shapes",
    _double: "collision.shapes",
    _enlarge: "collision.support",
    _retype: "collision.shapes",
}


@pytest.mark.parametrize("kind", ["hull", "primitives", "mesh"])
def test_wrong_collider_fails(tmp_path: Path, kind: str) -> None:
    urdf, rules = _robot(tmp_path), _rules(kind)
    asset = convert(urdf, tmp_path / "asset", ConvertOptions(colliders=rules)).root_layer

    for edit, check in _EDITS.items():
        assert check in _failed_after(edit, urdf, asset, rules), edit.__name__


def test_decomposition_is_close_and_wrong_pieces_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = [((0.2, 0.05), (0.4, 0.1)), ((0.05, 0.3), (0.1, 0.4))]
    boxes.append(((0.35, 0.2), (0.1, 0.2)))
    fake_coacd(monkeypatch, tmp_path, boxes)
    outline = [(0, 0), (0.4, 0), (0.4, 0.3), (0.3, 0.3), (0.3, 0.1), (0.1, 0.1)]
    outline += [(0.1, 0.5), (0, 0.5)]
    triangles = [(0, 1, 4), (1, 2, 3), (1, 3, 4), (0, 4, 5), (0, 5, 6), (0, 6, 7)]
    bracket = trimesh.creation.extrude_triangulation(np.array(outline, dtype=float), triangles, 0.1)
    bracket.export(tmp_path / "bracket.stl")
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        f'<robot name="r"><link name="trunk">{_MASS}<collision>{_PLACE}<geometry>'
        '<mesh filename="bracket.stl" scale="1 -1 1.5"/></geometry></collision></link>'
        "</robot>"
    )
    rules = _rules("decomposition")
    asset = convert(urdf, tmp_path / "asset", ConvertOptions(colliders=rules)).root_layer

    def shifted(stage: Usd.Stage) -> None:
        piece = _collider(stage, "trunk", 1)
        UsdGeom.XformCommonAPI(piece).SetTranslate((0.0, 0.1, 0.0))

    def lost(stage: Usd.Stage) -> None:
        _collider(stage, "trunk", 2).SetActive(False)

    def doubled(stage: Usd.Stage) -> None:
        _copy(stage, _collider(stage, "trunk", 1))

    record = examine_pair_here(urdf, asset, options=ConvertOptions(colliders=rules))
    assert (record.verdict, _failed(record)) == (Verdict.CLOSE, set())
    assert "collision.support" in _failed_after(shifted, urdf, asset, rules)
    assert "collision.volume" in _failed_after(lost, urdf, asset, rules)
    assert "collision.shapes" in _failed_after(doubled, urdf, asset, rules)
