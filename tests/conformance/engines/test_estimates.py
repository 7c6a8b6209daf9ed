"""Mass and inertia that the harness computes from shapes, compared with trimesh."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray

from urdf_usd.conformance.engines.estimated_urdf import estimate_urdf

_WHOLE = """<inertial><mass value="2"/><inertia ixx="0.02" ixy="0.001" ixz="0"
  iyy="0.03" iyz="0" izz="0.04"/></inertial>"""
_POINT = '<inertial><origin xyz="0.01 0.02 0.03" rpy="1 0 0"/><mass value="2.5"/></inertial>'
_BOX = '<collision><geometry><box size="0.3 0.2 0.7"/></geometry></collision>'


def _urdf(folder: Path, *links: str, kind: str = "continuous") -> str:
    """Write a star: all further links are children of the first, named a."""
    text = ""
    for name, content in zip("abcdefgh", links, strict=False):
        text += f'<link name="{name}">{content}</link>'
        if name != "a":
            text += f'<joint name="to_{name}" type="{kind}"><parent link="a"/>'
            text += f'<child link="{name}"/></joint>'
    file = folder / "robot.urdf"
    file.write_text(f'<robot name="r">{text}</robot>')
    return str(file)


def _estimated(
    path: str, base: str = "auto", density: float = 1000.0
) -> dict[str, tuple[float, list[float], NDArray[np.float64]]]:
    """Return mass, centre and tensor of the links that were estimated."""
    copy = estimate_urdf(path, {}, base, density)
    found = {}
    for link in ET.fromstring(copy.text).iterfind("link"):
        name = link.get("name", "")
        if name not in copy.links:
            continue
        (inertial,) = link.findall("inertial")
        values = {child.tag: child.attrib for child in inertial}
        assert values["origin"]["rpy"] == "0 0 0"
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        xx, xy, xz, yy, yz, zz = (float(values["inertia"][key]) for key in keys)
        center = list(map(float, values["origin"]["xyz"].split()))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found[name] = float(values["mass"]["value"]), center, tensor
    return found


def test_link_with_mass_keeps_mass_and_centre(tmp_path: Path) -> None:
    """Its inertia is that of all its colliders about their common centre."""
    far = (
        '<collision><origin xyz="0.5 0 0"/><geometry><box size="0.1 0.1 0.1"/>'
        "</geometry></collision>"
    )
    other = trimesh.creation.box((0.1, 0.1, 0.1))
    other.apply_translation((0.5, 0, 0))
    both = trimesh.creation.box((0.3, 0.2, 0.7)) + other

    mass, center, tensor = _estimated(_urdf(tmp_path, _POINT + _BOX + far))["a"]

    assert mass == 2.5
    assert center == [0.01, 0.02, 0.03]
    expected = 2.5 / both.volume * both.moment_inertia
    np.testing.assert_allclose(tensor, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("links", "kind", "base", "estimated"),
    [
        ((_WHOLE, _BOX), "fixed", "auto", ""),
        ((_WHOLE, _BOX), "revolute", "auto", "b"),
        ((_BOX, _WHOLE), "revolute", "auto", "a"),
        ((_BOX, _WHOLE), "revolute", "fixed", ""),
        ((_BOX, _BOX), "revolute", "fixed", "ab"),
        ((_BOX, _BOX), "fixed", "auto", ""),
        ((_BOX, _BOX), "fixed", "floating", "ab"),
        ((_BOX, ""), "revolute", "auto", "a"),
        ((_WHOLE + _BOX, _POINT + _BOX), "fixed", "auto", "b"),
    ],
)
def test_links_without_mass_are_estimated_where_a_body_needs_one(
    tmp_path: Path, links: tuple[str, ...], kind: str, base: str, estimated: str
) -> None:
    """By the rules of docs/dev/mapping.md."""
    assert set(_estimated(_urdf(tmp_path, *links, kind=kind), base)) == set(estimated)


def test_robot_on_a_world_link_has_a_fixed_base(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(
        f'<robot name="r"><link name="world"/><link name="a">{_BOX}</link>'
        f'<link name="b">{_WHOLE}</link><link name="c">{_BOX}</link>'
        '<joint name="i" type="fixed"><parent link="world"/><child link="a"/></joint>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>'
        '<joint name="k" type="revolute"><parent link="b"/><child link="c"/></joint>'
        "</robot>"
    )

    assert set(_estimated(str(file))) == {"c"}
    assert set(_estimated(str(file), "floating")) == {"a", "c"}
