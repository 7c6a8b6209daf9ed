"""Joints that close loops, in URDF, MuJoCo and as custom data."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import mujoco
import numpy as np
import pytest
from pxr import Gf, UsdPhysics

from tests.converter.usd.scenes import Scene
from urdf_usd.conformance.export.files import Export, export
from urdf_usd.converter import convert


def _four_bar(closing: type[UsdPhysics.Joint], **message: object) -> Scene:
    """Return a square of four bars of 1 m, closed by a joint of a type."""
    scene = Scene()
    corners = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0))
    for name, corner in zip("abcd", corners, strict=True):
        scene.body(f"/r/{name}", corner)
    scene.joint(UsdPhysics.FixedJoint, "/r/base", (None, "/r/a"))
    for first, second, offset in (
        ("a", "b", (1.0, 0.0, 0.0)),
        ("b", "c", (0.0, 1.0, 0.0)),
        ("c", "d", (-1.0, 0.0, 0.0)),
    ):
        scene.joint(
            UsdPhysics.RevoluteJoint,
            f"/r/{first}{second}",
            (f"/r/{first}", f"/r/{second}"),
            Axis="Z",
            LocalPos0=Gf.Vec3f(*offset),
        )
    scene.joint(
        closing,
        "/r/closing",
        ("/r/d", "/r/a"),
        LocalPos0=Gf.Vec3f(0.0, -1.0, 0.0),
        ExcludeFromArticulation=True,
        **message,
    )
    return scene


def _exported(scene: Scene, folder: Path, *, loops: bool) -> Export:
    usd = folder / "r.usda"
    scene.stage.Export(str(usd))
    return export(usd, folder / "out/r.urdf", loops=loops)


@pytest.mark.parametrize(
    ("closing", "message", "constraints", "moves"),
    [
        (UsdPhysics.RevoluteJoint, {"Axis": "Z"}, 2, 1),
        (UsdPhysics.SphericalJoint, {}, 1, 1),
        (UsdPhysics.FixedJoint, {}, 1, 0),
    ],
    ids=["hinge", "ball", "weld"],
)
def test_mujoco_closes_the_loop(
    closing: type[UsdPhysics.Joint],
    message: dict[str, object],
    constraints: int,
    moves: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # MuJoCo writes its warning about the empty prefix to a file there.
    monkeypatch.chdir(tmp_path)
    urdf = _exported(_four_bar(closing, **message), tmp_path, loops=True).urdf

    assert mujoco.MjModel.from_xml_path(str(urdf)).nq == 3
    model = mujoco.MjModel.from_xml_path(str(urdf.with_suffix(".mjcf")))

    assert (model.nq, model.neq) == (3, constraints)
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    np.testing.assert_allclose(state.efc_pos, 0.0, atol=1e-6)
    jacobian = np.zeros((state.nefc, model.nv))
    jacobian[:] = state.efc_J.reshape(jacobian.shape)
    assert model.nv - np.linalg.matrix_rank(jacobian, tol=1e-6) == moves


def test_loops_are_custom_data_after_a_conversion(tmp_path: Path) -> None:
    closing = UsdPhysics.RevoluteJoint
    first = _exported(_four_bar(closing, Axis="Y"), tmp_path, loops=True).urdf

    usd = convert(first, tmp_path / "usd").root_layer
    again = export(usd, tmp_path / "again/r.urdf").urdf

    loops = [ET.parse(path).find("usd_loop") for path in (first, again)]
    assert loops[0] is not None
    assert loops[1] is not None
    one, other = (
        ET.canonicalize(ET.tostring(loop), strip_text=True) for loop in (loops[0], loops[1])
    )
    assert one == other
    assert loops[0].attrib == {"name": "closing", "type": "PhysicsRevoluteJoint", "axis": "0 1 0"}
    assert [(side.tag, side.get("link"), side.get("xyz")) for side in loops[0]] == [
        ("body0", "d", "0 -1 0"),
        ("body1", "a", "0 0 0"),
    ]
