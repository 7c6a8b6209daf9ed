"""Masses that a stage does not author, and masses of links from custom attributes."""

from __future__ import annotations

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tests.converter.usd.scenes import Scene, link_of, rules_of
from urdf_usd.conformance.export.masses import adds_up
from urdf_usd.converter.robot.model import Inertial, Pose

# A corner of a unit cube.
_CORNER = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
_SIDES = ((0, 1, 3), (0, 3, 2), (1, 2, 3))
_BASE = (0, 2, 1)


def _corner(scene: Scene, path: str, *faces: tuple[int, int, int]) -> Usd.Prim:
    mesh = UsdGeom.Mesh.Define(scene.stage, path)
    mesh.CreatePointsAttr(_CORNER)
    mesh.CreateFaceVertexCountsAttr([3] * len(faces))
    mesh.CreateFaceVertexIndicesAttr([corner for face in faces for corner in face])
    return mesh.GetPrim()


def test_meshes_of_a_collider_xform_have_the_mass() -> None:
    """As PhysX computes: two corners of a unit cube with the density of water.

    Importers of Isaac Sim apply ``CollisionAPI`` to an instanceable Xform.
    """
    scene = Scene()
    scene.body("/r/a", mass=None)
    for name, shift in (("m", 0.0), ("n", 2.0)):
        mesh = UsdGeom.Mesh(_corner(scene, f"/colliders/{name}", _BASE, *_SIDES))
        mesh.AddTranslateOp().Set(Gf.Vec3d(shift, 0.0, 0.0))
    UsdGeom.Mesh.Define(scene.stage, "/colliders/x/deeper")
    group = UsdGeom.Xform.Define(scene.stage, "/r/a/collisions").GetPrim()
    group.GetReferences().AddInternalReference("/colliders")
    group.SetInstanceable(True)
    UsdPhysics.CollisionAPI.Apply(group)

    reading = scene.read()

    assert rules_of(reading) == ["collider-no-gprim", "mesh-unreadable", "mass-computed"]
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


_UNIT = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
_PLACE = Pose((0.1, -0.2, 0.05))


@pytest.mark.parametrize(
    ("body", "parts", "expected"),
    [
        # Links at one position, whose centres balance up to rounding with a lever of zero.
        (Inertial(0.1, Pose(), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0)), 2, True),
        (Inertial(0.1, Pose(), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0)), 1, False),
        # A head of 1.3 kg with an inertia of 1e-20 kg m^2 of either sign was replaced.
        (
            Inertial(1.3, _PLACE, (6e-7, 0.0, 0.0, 6e-7, 0.0, 6e-7)),
            Inertial(1.3, _PLACE, (1e-20, 0.0, 0.0, -1e-20, 0.0, 0.0)),
            True,
        ),
        (
            Inertial(1.3, _PLACE, (6e-7, 0.0, 0.0, 6e-7, 0.0, 6e-7)),
            Inertial(1.3, _PLACE, (1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)),
            False,
        ),
    ],
)
def test_inertials_of_links_add_up_to_that_of_the_body(
    body: Inertial, parts: int | Inertial, *, expected: bool
) -> None:
    place = np.eye(4)
    place[1, 3] = -3.469447e-18
    links = [(Inertial(0.05, Pose(), _UNIT), frame) for frame in (np.eye(4), place)]
    if isinstance(parts, Inertial):
        links, parts = [(parts, np.eye(4))], 1

    assert adds_up(body, links[:parts], robot_mass=65.0) is expected
