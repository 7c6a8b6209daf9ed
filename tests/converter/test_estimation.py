"""Mass and inertia from shapes, compared with trimesh and formulas."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray
from pxr import Usd
from scipy.spatial.transform import Rotation

from urdf_usd.converter import Conversion, ConvertOptions, convert
from urdf_usd.converter.options import InertiaOption
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.simulation.settings import load_settings

_BALL = 4 / 3 * np.pi * 0.1**3
_SPHERE = '<geometry><sphere radius="0.1"/></geometry>'
_BOX = """<collision><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.7 1.1"/>
  <geometry><box size="0.3 0.2 0.7"/></geometry></collision>"""
_WHOLE = """<inertial><mass value="2"/><inertia ixx="0.02" ixy="0.001" ixz="0"
  iyy="0.03" iyz="0" izz="0.04"/></inertial>"""


def _inertial(tensor: str, mass: float = 2.5) -> str:
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    given = [*tensor.split(), "0", "0", "0"]
    values = " ".join(f'{n}="{v}"' for n, v in zip(names, given, strict=False))
    return (
        f'<inertial><origin xyz="0.01 0.02 0.03" rpy="0.5 0 0"/><mass value="{mass}"/>'
        f"<inertia {values}/></inertial>"
    )


def _urdf(folder: Path, *links: str, kind: str = "continuous") -> Path:
    """Write a chain of links, named from a onwards."""
    names = "abcdefgh"[: len(links)]
    bodies = "".join(
        f'<link name="{name}">{content}</link>' for name, content in zip(names, links, strict=True)
    )
    joints = "".join(
        f'<joint name="{parent}{child}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 0.4 0"/></joint>'
        for parent, child in itertools.pairwise(names)
    )
    file = folder / "arm.urdf"
    file.write_text(f'<robot name="arm">{bodies}{joints}</robot>')
    return file


def _converted(
    urdf: Path, *, base: BaseOption = BaseOption.AUTO, density: float = 1000.0
) -> Conversion:
    options = ConvertOptions(inertia=InertiaOption.GEOMETRY, mass_density=density, base=base)
    return convert(urdf, urdf.parent / "asset", options)


def _value(conversion: Conversion, link: str, name: str) -> Any:  # noqa: ANN401  of any type
    stage = Usd.Stage.Open(str(conversion.root_layer))
    prim = next(p for p in stage.Traverse() if p.GetName() == link)
    return prim.GetAttribute(name).Get()


def _mass(conversion: Conversion, link: str) -> float:
    return float(_value(conversion, link, "physics:mass"))


def _center(conversion: Conversion, link: str) -> list[float]:
    return list(_value(conversion, link, "physics:centerOfMass"))


def _tensor(conversion: Conversion, link: str) -> NDArray[np.float64]:
    quat = _value(conversion, link, "physics:principalAxes")
    turn = Rotation.from_quat([quat.real, *quat.imaginary], scalar_first=True).as_matrix()
    moments = np.array(_value(conversion, link, "physics:diagonalInertia"))
    tensor: NDArray[np.float64] = turn @ np.diag(moments) @ turn.T
    return tensor


def _marks(conversion: Conversion, link: str) -> str | None:
    value = _value(conversion, link, "urdf:inertial:estimated")
    return None if value is None else str(value)


def _rules(conversion: Conversion) -> list[str]:
    return [found.rule for found in conversion.diagnostics]


def _placed_box() -> trimesh.Trimesh:
    place = np.eye(4)
    place[:3, :3] = Rotation.from_euler("xyz", (0.3, -0.7, 1.1)).as_matrix()
    place[:3, 3] = (0.1, -0.2, 0.3)
    box: trimesh.Trimesh = trimesh.creation.box((0.3, 0.2, 0.7))
    box.apply_transform(place)
    return box


@pytest.mark.parametrize(
    "tensor",
    [
        "0 0 0",
        "0.1 0.1 0",
        "0.1 0.1 0.3",
        "0.1 0.2 -0.1",
        "1e-14 1e-14 1e-14",
        "0.1 0.1 0.1 0.2",
    ],
    ids=["zero", "rod", "triangle", "negative", "tiny", "products"],
)
def test_missing_or_impossible_inertia_is_that_of_the_shapes(tmp_path: Path, tensor: str) -> None:
    result = _converted(_urdf(tmp_path, _inertial(tensor) + _BOX))

    box = _placed_box()
    expected = 2.5 / box.volume * box.moment_inertia
    np.testing.assert_allclose(_tensor(result, "a"), expected, rtol=0, atol=1e-7)
    assert _center(result, "a") == pytest.approx([0.01, 0.02, 0.03], rel=1e-6)
    assert _mass(result, "a") == 2.5
    assert _marks(result, "a") == "inertia"
    assert _rules(result) == ["inertia-estimated"]


def test_visual_shapes_count_if_no_collider_has_a_volume(tmp_path: Path) -> None:
    # Colliders precede them otherwise.
    visual = f"<visual>{_SPHERE}</visual>"
    flat = '<collision><geometry><box size="1 1 0"/></geometry></collision>'

    result = _converted(_urdf(tmp_path, _WHOLE, visual, visual + _BOX, visual + flat))

    masses = [_mass(result, name) for name in "bcd"]
    expected = [1000 * _BALL, 1000 * 0.3 * 0.2 * 0.7, 1000 * _BALL]
    assert masses == pytest.approx(expected, rel=1e-6)


def test_moving_bodies_of_negligible_mass_are_one_warning(tmp_path: Path) -> None:
    # It names the option; without shapes there is nothing that the option could do.
    shaped = convert(_urdf(tmp_path, _BOX, _BOX, _BOX), tmp_path / "asset")
    inertia = convert(_urdf(tmp_path, _inertial("0 0 0") + _BOX), tmp_path / "asset")
    bare = convert(_urdf(tmp_path, _WHOLE, "", _WHOLE), tmp_path / "asset")

    texts = [
        [one.message for one in each.diagnostics if one.rule == "body-negligible"]
        for each in (shaped, inertia, bare)
    ]
    assert [len(each) for each in texts] == [1, 1, 0]
    assert "no link has mass: 3 moving bodies cannot be simulated" in texts[0][0]
    assert "--inertia geometry" in texts[1][0]


def test_natural_frequency_is_that_of_the_estimated_inertia(tmp_path: Path) -> None:
    # A sphere of 1000 kg/m^3 at 0.3 m from the axis: k = (2/5 m r^2 + m d^2) w^2.
    sphere = f'<collision><origin xyz="0 0.3 0"/>{_SPHERE}</collision>'
    urdf = _urdf(tmp_path, _WHOLE, sphere)
    file = tmp_path / "arm.toml"
    file.write_text('[[joints]]\nmatch = "ab"\nnatural_frequency = 2.0\n')
    options = ConvertOptions(inertia=InertiaOption.GEOMETRY, simulation=load_settings(file))

    result = convert(urdf, tmp_path / "asset", options)

    mass = 1000.0 * _BALL
    inertia = 0.4 * mass * 0.1**2 + mass * 0.3**2
    stiffness = _value(result, "ab", "drive:angular:physics:stiffness")
    rate = 2 * np.pi * 2.0
    assert np.rad2deg(stiffness) == pytest.approx(inertia * rate**2, rel=1e-6)
