"""Assets of profiles, of settings, and with colliders and masses that are requested; wrong ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh
from click.testing import CliRunner
from msgspec import structs
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tests.conformance.direct import examine_here, examine_pair_here
from tests.converter.decompositions import fake_coacd
from tests.converter.simulation.robots import SETTINGS, write_description, write_urdf
from tests.faults.fault import ROBOTS
from urdf_usd.cli.program import main
from urdf_usd.conformance.execution.run import check, run
from urdf_usd.conformance.options import CheckOptions, RunOptions
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import ColliderRule, ColliderRules, InertiaOption, VariantChoice
from urdf_usd.converter.simulation.settings import load_settings, with_settings
from urdf_usd.corpus import resolve_corpora
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict


def _grades(record: RobotRecord) -> dict[str, Grade]:
    return {check.id: check.grade for check in record.checks}


def _failed(record: RobotRecord) -> set[str]:
    return {name for name, grade in _grades(record).items() if grade is Grade.FAILS}


@pytest.mark.parametrize(("profile", "count"), [("generic", 4), ("simready", 8), ("isaac", 3)])
def test_every_variant_conforms(tmp_path: Path, profile: str, count: int) -> None:
    options = ("--profile", profile, "--physics-variants")
    omissions = {"Physics": "physics", "Colliders": "colliders"}
    omissions.pop({"isaac": "Colliders", "simready": "Physics"}.get(profile, ""), None)
    # Oblique axes, chained couplings, couplings between kinds, a massless base.
    arm = str(ROBOTS / "oblique_arm.urdf")
    usd = CliRunner().invoke(main, ["convert", arm, str(tmp_path), *options]).stdout.strip()

    result = CliRunner().invoke(main, ["check", arm, usd, "--all-variants"])

    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.output
    assert sum(line.startswith(("✓", "≈")) for line in lines) == count
    assert [line.split() for line in lines if "skipped" in line] == [
        ["·", "skipped", f"/oblique_arm:{name}=none", "no", kind]
        for name, kind in omissions.items()
    ]


@pytest.mark.corpus
@pytest.mark.parametrize("profile", [one for one in Profile if one is not Profile.GENERIC])
def test_conforming_robots_conform_in_every_profile(tmp_path: Path, profile: Profile) -> None:
    options = RunOptions(convert=ConvertOptions(profile=profile))
    records: list[RobotRecord] = []
    run(resolve_corpora(["pybullet"]), tmp_path, options, progress=records.append)
    read = [r for r in records if r.verdict is not Verdict.UNREADABLE]

    assert len(read) > 80
    assert [(r.id, r.reason) for r in read if not r.verdict.agrees] == []


@pytest.mark.parametrize(
    ("profile", "verdict"),
    [(Profile.GENERIC, Verdict.EXACT), (Profile.SIMREADY, Verdict.CLOSE)],
)
def test_normals_against_the_faces_may_be_replaced(
    tmp_path: Path, profile: Profile, verdict: Verdict
) -> None:
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 1 1 1\nvn 0 0 1\n"
    inwards = "f 1//2 3//2 2//2\nf 1//1 2//1 4//1\nf 1//1 4//1 3//1\n"
    (tmp_path / "corner.obj").write_text(points + inwards)
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        '<robot name="r"><link name="a"><visual><geometry>'
        '<mesh filename="corner.obj"/></geometry></visual></link></robot>'
    )

    record = examine_here(urdf, tmp_path / "run", ConvertOptions(profile=profile))

    assert record.verdict is verdict, record.reason
    assert _grades(record)["visual.normals"].value == verdict.value


@pytest.mark.parametrize("variant", ["newton", "physx", "mujoco"])
def test_variants_have_the_requested_settings(tmp_path: Path, variant: str) -> None:
    """Each in the schemas of its simulator; limits of PhysX are hard.

    MuJoCo has no setting that stops all collisions of a robot with itself.
    """
    text = SETTINGS.replace("false", "true") if variant == "mujoco" else SETTINGS
    description = load_settings(write_description(tmp_path, text))
    options = with_settings(ConvertOptions(physics_variants=True), description)
    urdf = write_urdf(tmp_path)
    asset = convert(urdf, tmp_path / "asset", options).root_layer
    chosen = (VariantChoice.parse(f"Physics={variant}"),)

    record = check(urdf, asset, CheckOptions(simulation=description, variants=chosen))

    assert record.verdict is Verdict.EXACT, record.reason
    compared = {one.id: one.compared for one in record.checks}
    assert compared["simulation.armature"] == 3
    assert compared["simulation.limits"] == (6 if variant == "newton" else 0)


_CART = """\
<robot name="cart">
  <link name="base"><inertial><mass value="3"/></inertial>
    <collision><geometry><box size="0.4 0.3 0.2"/></geometry></collision></link>
  <link name="wheel">
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="wheel"/>
    <origin xyz="0.3 0.02 -0.1" rpy="0.2 0 0.1"/><axis xyz="0 1 0"/></joint>
</robot>
"""


def test_mass_of_shapes_is_that_of_the_description(tmp_path: Path) -> None:
    urdf = tmp_path / "cart.urdf"
    urdf.write_text(_CART, encoding="utf-8")
    description = load_settings(write_description(tmp_path, "[inertia]\ndensity = 700\n"))
    options = with_settings(ConvertOptions(), description)
    asset = convert(urdf, tmp_path / "asset", options)

    described = check(urdf, asset.root_layer, CheckOptions(simulation=description))
    alone = check(urdf, asset.root_layer)

    assert described.verdict is Verdict.CLOSE, described.reason
    sphere = 700 * 4 / 3 * math.pi * 0.1**3
    assert described.total_mass == pytest.approx(3 + sphere, rel=1e-6)
    assert alone.verdict is Verdict.FAILS


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


def _colliders(folder: Path) -> Path:
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


@pytest.mark.parametrize("rule", ["hull", "primitives", "mesh", "none", "arm=none"])
def test_requested_colliders_are_close_and_never_exact(tmp_path: Path, rule: str) -> None:
    options = ConvertOptions(colliders=_rules(rule))

    record = examine_here(_colliders(tmp_path), tmp_path / "run", options)

    assert record.verdict is Verdict.CLOSE, record.reason
    grades = _grades(record)
    assert grades["collision.shapes"] is Grade.CLOSE
    others = {g for name, g in grades.items() if not name.startswith("collision.")}
    assert others <= {Grade.EXACT, Grade.NOT_APPLICABLE}
    (found,) = (each.findings for each in record.checks if each.id == "collision.shapes")
    assert all(finding.message.endswith("as requested") for finding in found)
    assert len(found) == (1 if "=" in rule else 2)


def test_colliders_have_to_be_those_that_were_requested(tmp_path: Path) -> None:
    urdf = _colliders(tmp_path)
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
    urdf = _colliders(tmp_path)
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
    edit: Callable[[Usd.Prim], object],
    urdf: Path,
    asset: Path,
    rules: ColliderRules,
    collider: tuple[str, int],
) -> set[str]:
    """Return the checks that fail after a change of a collider, in a layer beside the asset."""
    stage = Usd.Stage.CreateNew(str(asset.with_name(f"{edit.__name__}.usda")))
    stage.GetRootLayer().TransferContent(Sdf.Layer.FindOrOpen(str(asset)))
    edit(_collider(stage, *collider))
    stage.GetRootLayer().Save()
    file = Path(stage.GetRootLayer().realPath)
    return _failed(examine_pair_here(urdf, file, options=ConvertOptions(colliders=rules)))


def _shift(prim: Usd.Prim) -> None:
    attribute = prim.GetAttribute("xformOp:translate")
    attribute.Set(attribute.Get() + Gf.Vec3d(0, 0, 0.05))


def _displace(prim: Usd.Prim) -> None:
    UsdGeom.XformCommonAPI(prim).SetTranslate((0.0, 0.1, 0.0))


def _remove(prim: Usd.Prim) -> None:
    prim.SetActive(False)


def _double(prim: Usd.Prim) -> None:
    copy = prim.GetStage().DefinePrim(prim.GetPath().ReplaceName("copy"))
    copy.GetReferences().AddInternalReference(prim.GetPath())


def _enlarge(prim: Usd.Prim) -> None:
    if cylinder := UsdGeom.Cylinder(prim):
        cylinder.GetRadiusAttr().Set(1.3 * cylinder.GetRadiusAttr().Get())
        cylinder.GetExtentAttr().Clear()
        return
    prim.CreateAttribute("xformOp:scale", Sdf.ValueTypeNames.Float3).Set(Gf.Vec3f(0.13, 0.1, 0.2))


def _retype(prim: Usd.Prim) -> None:
    token = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr()
    token.Set("none" if token.Get() == "convexHull" else "convexHull")


@pytest.mark.parametrize("kind", ["hull", "primitives", "mesh"])
def test_wrong_collider_fails(tmp_path: Path, kind: str) -> None:
    urdf, rules = _colliders(tmp_path), _rules(kind)
    asset = convert(urdf, tmp_path / "asset", ConvertOptions(colliders=rules)).root_layer

    for edit, link, failing in (
        (_shift, "arm", "support"),
        (_remove, "arm", "shapes"),
        (_double, "arm", "shapes"),
        (_enlarge, "arm", "support"),
        (_retype, "trunk", "shapes"),
    ):
        failed = _failed_after(edit, urdf, asset, rules, (link, 0))
        assert f"collision.{failing}" in failed, edit.__name__


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

    record = examine_pair_here(urdf, asset, options=ConvertOptions(colliders=rules))
    assert (record.verdict, _failed(record)) == (Verdict.CLOSE, set())
    for edit, index, failing in (
        (_displace, 1, "support"),
        (_remove, 2, "volume"),
        (_double, 1, "shapes"),
    ):
        failed = _failed_after(edit, urdf, asset, rules, ("trunk", index))
        assert f"collision.{failing}" in failed, edit.__name__


# A base with mass and no inertia, an arm without mass with an open and a closed mesh,
# a tool that is fixed to it, and a wrist with an impossible inertia.
_ESTIMATED = """<robot name="arm">
  <link name="trunk">
    <inertial><origin xyz="0.01 0.02 0.03"/><mass value="4"/></inertial>
    <collision><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.7 1.1"/>
      <geometry><box size="0.3 0.2 0.7"/></geometry></collision>
  </link>
  <link name="arm">
    <collision><origin xyz="0 0 0.2" rpy="0 0.4 0"/>
      <geometry><mesh filename="closed.stl" scale="0.5 0.6 0.7"/></geometry></collision>
    <collision><origin xyz="0 0.5 0.2"/>
      <geometry><mesh filename="open.stl" scale="0.5 0.6 -0.7"/></geometry></collision>
  </link>
  <link name="tool"><visual><geometry><sphere radius="0.07"/></geometry></visual></link>
  <link name="wrist">
    <inertial><mass value="0.5"/><inertia ixx="0.1" iyy="0.1" izz="0.5" ixy="0.01"
      ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0.1 0" rpy="1 0 0"/>
      <geometry><capsule radius="0.05" length="0.2"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute"><parent link="trunk"/><child link="arm"/>
    <origin xyz="0 0 0.5" rpy="0 0.2 0"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
  <joint name="grip" type="fixed"><parent link="arm"/><child link="tool"/>
    <origin xyz="0 0 0.4"/></joint>
  <joint name="roll" type="continuous"><parent link="tool"/><child link="wrist"/>
    <origin xyz="0.1 0 0.2"/><axis xyz="1 0 0"/></joint>
</robot>"""
_GEOMETRY = ConvertOptions(inertia=InertiaOption.GEOMETRY, mass_density=1500.0)


def _weightless(folder: Path) -> Path:
    outline = [(0, 0), (0.4, 0), (0.4, 0.1), (0.1, 0.1), (0.1, 0.5), (0, 0.5)]
    triangles = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    mesh = trimesh.creation.extrude_triangulation(np.array(outline), triangles, 0.2)
    mesh.export(folder / "closed.stl")
    trimesh.Trimesh(mesh.vertices, mesh.faces[1:]).export(folder / "open.stl")
    urdf = folder / "arm.urdf"
    urdf.write_text(_ESTIMATED)
    return urdf


def test_estimated_mass_is_close_and_never_exact(tmp_path: Path) -> None:
    record = examine_here(_weightless(tmp_path), tmp_path / "run", _GEOMETRY)

    assert record.verdict is Verdict.CLOSE, record.reason
    grades = _grades(record)
    masses = ("mass.link.mass", "mass.link.center", "mass.link.inertia", "mass.total")
    assert {grades[name] for name in masses} == {Grade.CLOSE}
    (check,) = (each for each in record.checks if each.id == "mass.link.inertia")
    assert check.worst is not None
    assert check.bound is not None
    assert check.worst <= check.bound
    texts = {finding.subject: finding.message for finding in check.findings}
    assert set(texts) == {"link trunk", "link arm", "link tool", "link wrist"}
    assert texts["link arm"] == ("link arm: estimated from shapes, not stated by the URDF")
    rules = [found.rule for found in record.diagnostics]
    assert rules.count("mass-estimated") == 2
    assert rules.count("inertia-estimated") == 2


def test_density_and_option_have_to_be_those_of_the_conversion(tmp_path: Path) -> None:
    urdf = _weightless(tmp_path)
    usd = convert(urdf, tmp_path / "asset", _GEOMETRY).root_layer

    same = examine_pair_here(urdf, usd, options=_GEOMETRY)
    other = examine_pair_here(urdf, usd, options=structs.replace(_GEOMETRY, mass_density=1400.0))
    plain = examine_pair_here(urdf, usd)

    assert same.verdict is Verdict.CLOSE, same.reason
    assert {"mass.link.mass", "mass.link.inertia"} <= _failed(other)
    assert plain.verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("link", "name", "factor", "offset", "check"),
    [
        ("arm", "mass", 1.001, 0, "mass.link.mass"),
        ("trunk", "mass", 0.999, 0, "mass.link.mass"),
        ("arm", "centerOfMass", 1, Gf.Vec3f(0, 2e-5, 0), "mass.link.center"),
        ("trunk", "diagonalInertia", 1.001, Gf.Vec3f(0), "mass.link.inertia"),
        ("wrist", "diagonalInertia", 0, Gf.Vec3f(0.1, 0.1, 0.5), "mass.link.inertia"),
        ("arm", "principalAxes", 0.9987, Gf.Quatf(0, 0, 0.05, 0), "mass.link.inertia"),
    ],
    ids=["mass", "stated mass", "centre", "inertia", "stated inertia", "axes"],
)
def test_wrong_estimates_fail(
    tmp_path: Path, link: str, name: str, factor: float, offset: float, check: str
) -> None:
    urdf = _weightless(tmp_path)
    usd = convert(urdf, tmp_path / "asset", _GEOMETRY).root_layer
    stage = Usd.Stage.Open(str(usd))
    bodies = (p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI))
    body = next(prim for prim in bodies if prim.GetName() == link)
    attribute = body.GetAttribute(f"physics:{name}")
    value = factor * attribute.Get() + offset
    attribute.Set(value.GetNormalized() if name == "principalAxes" else value)
    stage.GetRootLayer().Save()

    record = examine_pair_here(urdf, usd, options=_GEOMETRY)

    assert record.verdict is Verdict.FAILS
    assert check in _failed(record)
