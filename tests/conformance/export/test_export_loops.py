"""Joints that close loops, in URDF, MuJoCo and as custom data."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from urdf_usd.conformance.export.files import export

_STAGES = Path(__file__).parents[2] / "data/usd/stages/export_loops_export.json"


def _exported(folder: Path, closing: str, axis: str) -> Path:
    """Export a square of four bars of 1 m, closed by a joint of a type."""
    stages = json.loads(_STAGES.read_text(encoding="utf-8"))
    text = "\n".join(next(iter(stages.values()))["stage"])
    former, joint = 'def PhysicsRevoluteJoint "closing"\n    {', f'def {closing} "closing"\n    {{'
    assert former in text
    own = f'\n        uniform token physics:axis = "{axis}"'
    (folder / "r.usda").write_text(text.replace(former, joint + own * bool(axis)))
    return export(folder / "r.usda", folder / "out/r.urdf", loops=True).urdf


@pytest.mark.parametrize(
    ("closing", "axis", "constraints", "moves"),
    [
        ("PhysicsRevoluteJoint", "Z", 2, 1),
        ("PhysicsSphericalJoint", "", 1, 1),
        ("PhysicsFixedJoint", "", 1, 0),
    ],
)
def test_mujoco_closes_the_loop(
    closing: str,
    axis: str,
    constraints: int,
    moves: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # MuJoCo writes its warning about the empty prefix to a file there.
    monkeypatch.chdir(tmp_path)
    urdf = _exported(tmp_path, closing, axis)

    assert mujoco.MjModel.from_xml_path(str(urdf)).nq == 3
    model = mujoco.MjModel.from_xml_path(str(urdf.with_suffix(".mjcf")))

    assert (model.nq, model.neq) == (3, constraints)
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    np.testing.assert_allclose(state.efc_pos, 0.0, atol=1e-6)
    jacobian = np.zeros((state.nefc, model.nv))
    jacobian[:] = state.efc_J.reshape(jacobian.shape)
    assert model.nv - np.linalg.matrix_rank(jacobian, tol=1e-6) == moves
