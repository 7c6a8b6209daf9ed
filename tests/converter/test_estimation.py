"""Inertia from shapes, compared with trimesh and formulas; more is in the golden assets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from pxr import Usd
from scipy.spatial.transform import Rotation

from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import InertiaOption
from urdf_usd.converter.simulation.settings import load_settings

_BOX = """<collision><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.7 1.1"/>
  <geometry><box size="0.3 0.2 0.7"/></geometry></collision>"""
_INERTIAL = '<inertial><origin xyz="{}" rpy="0.5 0 0"/><mass value="2.5"/><inertia {}/></inertial>'


@pytest.mark.parametrize(
    "tensor",
    ["0 0 0", "0.1 0.1 0", "0.1 0.1 0.3", "0.1 0.2 -0.1", "1e-14 1e-14 1e-14", "0.1 0.1 0.1 0.2"],
    ids=["zero", "rod", "triangle", "negative", "tiny", "products"],
)
def test_missing_or_impossible_inertia_is_that_of_the_shapes(tmp_path: Path, tensor: str) -> None:
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    values = zip(names, [*tensor.split(), "0", "0", "0"], strict=False)
    inertial = _INERTIAL.format("0.01 0.02 0.03", " ".join(f'{n}="{v}"' for n, v in values))
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(f'<robot name="arm"><link name="a">{inertial}{_BOX}</link></robot>')

    result = convert(urdf, tmp_path / "asset", ConvertOptions(inertia=InertiaOption.GEOMETRY))

    box = trimesh.creation.box((0.3, 0.2, 0.7))
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_euler("xyz", (0.3, -0.7, 1.1)).as_matrix()
    box.apply_transform(turn)
    stage = Usd.Stage.Open(str(result.root_layer))
    prim = stage.GetPrimAtPath("/arm/Geometry/a")
    quat = prim.GetAttribute("physics:principalAxes").Get()
    axes = Rotation.from_quat([quat.real, *quat.imaginary], scalar_first=True).as_matrix()
    found = axes @ np.diag(prim.GetAttribute("physics:diagonalInertia").Get()) @ axes.T
    np.testing.assert_allclose(found, 2.5 / box.volume * box.moment_inertia, rtol=0, atol=1e-7)
    center = list(prim.GetAttribute("physics:centerOfMass").Get())
    assert center == pytest.approx([0.01, 0.02, 0.03], rel=1e-6)
    assert prim.GetAttribute("physics:mass").Get() == 2.5
    assert prim.GetAttribute("urdf:inertial:estimated").Get() == "inertia"
    assert [one.rule for one in result.diagnostics] == ["inertia-estimated"]


def test_natural_frequency_is_that_of_the_estimated_inertia(tmp_path: Path) -> None:
    # A sphere of 1000 kg/m^3 at 0.3 m from the axis: k = (2/5 m r^2 + m d^2) w^2.
    inertial = _INERTIAL.format("0 0 0", 'ixx="0.02" ixy="0.001" iyy="0.03" izz="0.04"')
    sphere = '<collision><origin xyz="0 0.3 0"/><geometry><sphere radius="0.1"/></geometry>'
    urdf, file = tmp_path / "arm.urdf", tmp_path / "arm.toml"
    urdf.write_text(
        f'<robot name="arm"><link name="a">{inertial}</link><link name="b">{sphere}</collision>'
        '</link><joint name="ab" type="continuous"><parent link="a"/><child link="b"/></joint>'
        "</robot>"
    )
    file.write_text('[[joints]]\nmatch = "ab"\nnatural_frequency = 2.0\n')
    options = ConvertOptions(inertia=InertiaOption.GEOMETRY, simulation=load_settings(file))

    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "asset", options).root_layer))

    mass = 1000.0 * 4 / 3 * np.pi * 0.1**3
    inertia = 0.4 * mass * 0.1**2 + mass * 0.3**2
    joint = stage.GetPrimAtPath("/arm/Physics/ab")
    stiffness = joint.GetAttribute("drive:angular:physics:stiffness").Get()
    assert np.rad2deg(stiffness) == pytest.approx(inertia * (2 * np.pi * 2.0) ** 2, rel=1e-6)
