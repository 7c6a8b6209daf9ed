"""Masses that a stage does not author, and masses of links from custom attributes."""

from __future__ import annotations

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdGeom, UsdPhysics, Vt

from tests.converter.usd.scenes import (
    Scene,
    link_of,
    rules_of,
)
from urdf_usd.conformance.export.masses import LinkInertial, adds_up
from urdf_usd.converter.robot.model import Inertial, Pose


def test_unauthored_mass_is_computed_from_colliders() -> None:
    """A box of 2 dm^3 with the density of water, off the origin, with a warning."""
    scene = Scene()
    scene.body("/r/a", mass=None)
    box = UsdGeom.Cube.Define(scene.stage, "/r/a/box")
    box.CreateSizeAttr(0.1)
    box.AddTranslateOp().Set(Gf.Vec3d(0.3, 0.0, 0.0))
    box.AddScaleOp().Set(Gf.Vec3f(1.0, 1.0, 2.0))
    UsdPhysics.CollisionAPI.Apply(box.GetPrim())

    reading = scene.read()

    assert rules_of(reading) == ["mass-computed"]
    inertial = link_of(reading, "a").inertial
    assert inertial is not None
    assert inertial.mass == pytest.approx(2.0)
    assert inertial.origin.position == pytest.approx((0.3, 0.0, 0.0))
    moments = (2 / 12 * 0.05, 0, 0, 2 / 12 * 0.05, 0, 2 / 12 * 0.02)
    assert inertial.inertia == pytest.approx(moments, rel=1e-6, abs=1e-8)


def test_blocked_mass_properties_are_computed_from_colliders() -> None:
    """OpenUSD returns memory for them that nothing was written to."""
    scene = Scene()
    body = scene.body("/r/a", mass=3.0)
    box = UsdGeom.Cube.Define(scene.stage, "/r/a/box")
    box.CreateSizeAttr(0.2)
    box.AddTranslateOp().Set(Gf.Vec3d(0.3, 0.0, 0.0))
    UsdPhysics.CollisionAPI.Apply(box.GetPrim())
    for name in ("centerOfMass", "diagonalInertia", "principalAxes"):
        body.GetAttribute(f"physics:{name}").Block()

    reading = scene.read()

    assert rules_of(reading) == ["mass-computed"]
    inertial = link_of(reading, "a").inertial
    assert inertial is not None
    assert inertial.mass == pytest.approx(3.0)
    assert inertial.origin.position == pytest.approx((0.3, 0.0, 0.0))
    moment = 3.0 * 0.2**2 / 6
    assert inertial.inertia == pytest.approx((moment, 0, 0, moment, 0, moment))


def test_meshes_of_a_collider_xform_have_the_mass() -> None:
    """As PhysX computes: two corners of a unit cube with the density of water.

    Importers of Isaac Sim apply ``CollisionAPI`` to an instanceable Xform.
    """
    scene = Scene()
    scene.body("/r/a", mass=None)
    for name, shift in (("m", 0.0), ("n", 2.0)):
        mesh = UsdGeom.Mesh.Define(scene.stage, f"/colliders/{name}")
        mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
        mesh.CreateFaceVertexCountsAttr([3, 3, 3, 3])
        mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
        mesh.AddTranslateOp().Set(Gf.Vec3d(shift, 0.0, 0.0))
    UsdGeom.Mesh.Define(scene.stage, "/colliders/x/deeper")
    group = UsdGeom.Xform.Define(scene.stage, "/r/a/collisions").GetPrim()
    group.GetReferences().AddInternalReference("/colliders")
    group.SetInstanceable(True)
    UsdPhysics.CollisionAPI.Apply(group)

    reading = scene.read()

    rules = ["collider-no-gprim", "mesh-unreadable", "mass-computed"]
    assert rules_of(reading) == rules
    assert "its meshes collide: m, n" in reading.diagnostics[0].message
    link = link_of(reading, "a")
    assert [shape.name for shape in link.collisions] == ["m", "n"]
    assert link.inertial is not None
    assert link.inertial.mass == pytest.approx(1000 / 3)
    assert link.inertial.origin.position == pytest.approx((1.25, 0.25, 0.25))
    # Moments of a corner about its centre: 3/40 m; the centres are 1 m from the mean.
    one, both = 3 / 40 * 1000 / 6, 1000 / 3
    ixx, ixy, _, iyy, _, _ = link.inertial.inertia
    assert (ixx, iyy) == pytest.approx((2 * one, 2 * one + both))
    assert ixy == pytest.approx(both / 80)


def test_open_mesh_has_the_inertia_of_its_hull() -> None:
    """A corner of a unit cube without its base; the mass is stated."""
    scene = Scene()
    body = scene.body("/r/a", mass=None)
    UsdPhysics.MassAPI.Apply(body).CreateMassAttr(2.0)
    mesh = UsdGeom.Mesh.Define(scene.stage, "/r/a/m")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    mesh.CreateFaceVertexCountsAttr([3, 3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 3, 0, 3, 2, 1, 2, 3])
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())

    inertial = link_of(scene.read(), "a").inertial

    assert inertial is not None
    assert inertial.origin.position == pytest.approx((0.25, 0.25, 0.25))
    moment, product = 3 / 40 * 2, 2 / 80
    expected = (moment, product, product, moment, product, moment)
    assert inertial.inertia == pytest.approx(expected)


def test_body_without_mass_and_colliders_has_no_inertial() -> None:
    """The default of 1 kg is not used."""
    scene = Scene()
    scene.body("/r/a", mass=None)

    reading = scene.read()

    assert link_of(reading, "a").inertial is None
    assert rules_of(reading) == ["mass-unstated"]


def test_edited_masses_have_priority_over_custom_attributes() -> None:
    """Masses of links are ignored if their sum differs from the body's."""
    scene = Scene()
    body = scene.body("/r/a", mass=3.0)
    frame = UsdGeom.Xform.Define(scene.stage, "/r/a/b").GetPrim()
    kinds = Sdf.ValueTypeNames
    frame.CreateAttribute("urdf:link", kinds.String).Set("b")
    for prim, mass in ((body, 1.0), (frame, 1.5)):
        prim.CreateAttribute("urdf:inertial:mass", kinds.Double).Set(mass)
        for name, values in (
            ("origin:position", (0.0, 0.0, 0.0)),
            ("origin:quat_wxyz", (1.0, 0.0, 0.0, 0.0)),
            ("inertia", (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
        ):
            attribute = prim.CreateAttribute(f"urdf:inertial:{name}", kinds.DoubleArray)
            attribute.Set(Vt.DoubleArray(values))

    reading = scene.read()

    assert rules_of(reading) == ["inertial-outdated"]
    inertial = link_of(reading, "a").inertial
    assert inertial is not None
    assert inertial.mass == 3.0
    assert link_of(reading, "b").inertial is None


def test_links_at_one_position_get_their_masses_back() -> None:
    """Their centres balance up to rounding, with a lever of zero."""
    tensor = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
    body = Inertial(0.1, Pose(), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0))
    place = np.eye(4)
    place[1, 3] = -3.469447e-18
    link_inertials = [
        LinkInertial(Inertial(0.05, Pose(), tensor), np.eye(4)),
        LinkInertial(Inertial(0.05, Pose(), tensor), place),
    ]

    assert adds_up(body, link_inertials, robot_mass=65.0)
    assert not adds_up(body, link_inertials[:1], robot_mass=65.0)


def test_rounded_zero_inertia_explains_its_replacement() -> None:
    """A head of 1.3 kg with an inertia of 1e-20 kg m^2 of either sign."""
    place = Pose((0.1, -0.2, 0.05))
    body = Inertial(1.3, place, (6e-7, 0.0, 0.0, 6e-7, 0.0, 6e-7))
    noise = Inertial(1.3, place, (1e-20, 0.0, 0.0, -1e-20, 0.0, 0.0))
    real = Inertial(1.3, place, (1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3))

    assert adds_up(body, [LinkInertial(noise, np.eye(4))], robot_mass=30.0)
    assert not adds_up(body, [LinkInertial(real, np.eye(4))], robot_mass=30.0)
