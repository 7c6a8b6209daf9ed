"""Bodies that overlap or touch, at distances known by formula."""

from __future__ import annotations

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from urdf_usd.converter.usd.writer.simulation import bodies_in_contact

_TURN = Rotation.from_rotvec([0.3, -0.5, 0.7])


def _add(stage: Usd.Stage, kind: str, position: np.ndarray, **values: object) -> None:
    index = len(list(stage.GetPseudoRoot().GetChildren()))
    prim = stage.DefinePrim(f"/shape_{index}", kind)
    for name, value in values.items():
        prim.GetAttribute(name).Set(value)
    UsdPhysics.CollisionAPI.Apply(prim)
    x, y, z, w = _TURN.as_quat().tolist()
    placed = UsdGeom.Xformable(prim)
    placed.AddTranslateOp().Set(Gf.Vec3d(*position.tolist()))
    placed.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(w, x, y, z))


def _found(stage: Usd.Stage) -> str:
    body_of = {"/shape_0": "a", "/shape_1": "b"}
    overlapping, touching = bodies_in_contact(stage, body_of, ())
    assert not (overlapping and touching)
    return "overlap" if overlapping else "touch" if touching else "apart"


@pytest.mark.parametrize(
    ("gap", "expected"),
    [(-0.01, "overlap"), (-2e-4, "overlap"), (0.0, "touch"), (2e-4, "apart")],
)
@pytest.mark.parametrize(
    ("kind", "values", "reach"),
    [
        ("Sphere", {"radius": 0.2}, 0.2),
        ("Capsule", {"radius": 0.1, "height": 0.6}, 0.4),
        ("Cylinder", {"radius": 0.3, "height": 0.5}, 0.25),
        ("Cube", {"size": 0.4}, 0.2),
    ],
)
def test_gap_along_the_axis_of_a_shape_decides(
    kind: str, values: dict[str, object], reach: float, gap: float, expected: str
) -> None:
    """The shape is turned; a ball is on its axis."""
    stage = Usd.Stage.CreateInMemory()
    center = np.array([0.3, 0.1, -0.2])
    _add(stage, kind, center, **values)
    away = _TURN.apply([0, 0, 1.0])
    _add(stage, "Sphere", center + (reach + 0.15 + gap) * away, radius=0.15)

    assert _found(stage) == expected


def test_ignored_pairs_and_shapes_of_one_body_are_not_tested() -> None:
    stage = Usd.Stage.CreateInMemory()
    for _ in range(2):
        _add(stage, "Sphere", np.zeros(3), radius=1.0)
    body_of = {"/shape_0": "a", "/shape_1": "b"}

    assert bodies_in_contact(stage, body_of, {frozenset({"a", "b"})}) == ((), ())
    assert bodies_in_contact(stage, dict.fromkeys(body_of, "a"), ()) == ((), ())
