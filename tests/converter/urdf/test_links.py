"""Elements of links: mass, shapes, materials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Collision,
    Cylinder,
    Geometry,
    Inertial,
    Link,
    Material,
    MeshFile,
    Pose,
    Sphere,
    Visual,
)
from urdf_usd.converter.urdf.parse import Parsed

Read = Callable[[str], Parsed]
Refuse = Callable[[str], tuple[Diagnostic, ...]]

_INERTIA = '<inertia ixx="2" ixy="0.1" ixz="-0.2" iyy="3" iyz="0.3" izz="4"/>'
# Roll 90 deg, then yaw 90 deg about fixed axes: X to Y, Y to Z, Z to X, which is a
# rotation by 120 deg about (1, 1, 1).
_CYCLE = "1.5707963267948966 0 1.5707963267948966"


def _link(parsed: Parsed) -> Link:
    (link,) = parsed.robot.links
    return link


def _rules(parsed: Parsed) -> list[str]:
    return [diagnostic.rule for diagnostic in parsed.diagnostics]


def test_mass_properties_are_in_the_inertial_frame(read_link: Read) -> None:
    """Nothing is rotated by the reader."""
    parsed = read_link(
        f'<inertial><origin xyz="1 -2 3" rpy="{_CYCLE}"/><mass value="5"/>{_INERTIA}</inertial>'
    )

    inertial = _link(parsed).inertial

    assert inertial is not None
    assert (inertial.mass, inertial.inertia) == (5.0, (2.0, 0.1, -0.2, 3.0, 0.3, 4.0))
    assert inertial.origin.position == (1.0, -2.0, 3.0)
    assert inertial.origin.quat_wxyz == pytest.approx((0.5, 0.5, 0.5, 0.5), abs=1e-15)


def test_link_without_inertial_has_none(read_link: Read) -> None:
    """Absent is not zero."""
    assert _link(read_link("")).inertial is None


@pytest.mark.parametrize(
    ("text", "inertial", "rules"),
    [
        ("", Inertial(0.0, Pose(), (0.0,) * 6), ["mass-missing", "inertia-missing"]),
        ('<mass value="0"/>', Inertial(0.0, Pose(), (0.0,) * 6), ["inertia-missing"]),
        (
            _INERTIA,
            Inertial(0.0, Pose(), (2.0, 0.1, -0.2, 3.0, 0.3, 4.0)),
            ["mass-missing"],
        ),
        (
            '<mass value="1"/><inertia ixx="2" iyy="3" izz="4"/>',
            Inertial(1.0, Pose(), (2.0, 0.0, 0.0, 3.0, 0.0, 4.0)),
            [],
        ),
    ],
)
def test_missing_elements_of_an_inertial_are_reported(
    read_link: Read, text: str, inertial: Inertial, rules: list[str]
) -> None:
    """The others are kept."""
    parsed = read_link(f"<inertial>{text}</inertial>")

    assert _link(parsed).inertial == inertial
    assert sorted(_rules(parsed)) == sorted(rules)


def test_first_of_two_inertials_is_read(read_link: Read) -> None:
    """As in most engines."""
    one = f'<inertial><mass value="5"/>{_INERTIA}</inertial>'
    two = one.replace("5", "6")

    parsed = read_link(one + two)

    assert _link(parsed).mass == 5.0
    assert _rules(parsed) == ["element-repeated"]


@pytest.mark.parametrize(
    ("mass", "rule"),
    [("-1", "mass-negative"), ("nan", "number-nonfinite"), ("1kg", "number-required")],
)
def test_impossible_masses_are_errors(refuse: Refuse, mass: str, rule: str) -> None:
    """A mass has no default."""
    found = refuse(
        f'<robot name="r"><link name="a"><inertial><mass value="{mass}"/>{_INERTIA}'
        "</inertial></link></robot>"
    )

    assert [d.rule for d in found] == [rule]


@pytest.mark.parametrize(
    ("text", "geometry"),
    [
        ('<box size="1 2 3"/>', Box((1.0, 2.0, 3.0))),
        ('<cylinder radius="1" length="2"/>', Cylinder(1.0, 2.0)),
        ('<capsule radius="1" length="2"/>', Capsule(1.0, 2.0)),
        ('<capsule radius="1" length="0"/>', Capsule(1.0, 0.0)),
        ('<sphere radius="1"/>', Sphere(1.0)),
        (
            '<mesh filename="no.stl" scale="1 -2 3"/>',
            MeshFile("no.stl", None, (1.0, -2.0, 3.0)),
        ),
        ('<mesh filename="no.stl"/>', MeshFile("no.stl", None, (1.0, 1.0, 1.0))),
        ('<mesh filename="no.stl" scale="2"/>', MeshFile("no.stl", None, (2.0,) * 3)),
    ],
)
def test_every_shape_is_read(read_link: Read, text: str, geometry: Geometry) -> None:
    """As visual and as collision geometry, with and without names."""
    parsed = read_link(
        f'<visual><geometry>{text}</geometry></visual><collision name="c">'
        f'<origin xyz="1 2 3"/><geometry>{text}</geometry></collision>'
        f'<visual name="v"><geometry>{text}</geometry></visual>'
    )

    link = _link(parsed)

    assert link.visuals == (
        Visual(None, Pose(), geometry),
        Visual("v", Pose(), geometry),
    )
    assert link.collisions == (Collision("c", Pose((1.0, 2.0, 3.0)), geometry),)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("<geometry/>", "geometry-unknown"),
        ("", "geometry-unknown"),
        ('<geometry><box size="1 0 1"/></geometry>', "geometry-invalid"),
        ('<geometry><sphere radius="-1"/></geometry>', "geometry-invalid"),
        ('<geometry><cylinder radius="1" length="0"/></geometry>', "geometry-invalid"),
    ],
)
def test_shapes_without_volume_are_omitted(read_link: Read, text: str, rule: str) -> None:
    """With a warning."""
    parsed = read_link(f"<collision>{text}</collision>")

    assert _link(parsed).collisions == ()
    assert _rules(parsed) == [rule]


def test_first_of_two_shapes_is_read(read_link: Read) -> None:
    """A geometry has one shape."""
    parsed = read_link(
        '<collision><geometry><sphere radius="1"/><box size="1 1 1"/></geometry></collision>'
    )

    assert [c.geometry for c in _link(parsed).collisions] == [Sphere(1.0)]
    assert _rules(parsed) == ["element-repeated"]


def test_missing_mesh_is_reported_once(read_link: Read) -> None:
    """For any number of uses; the shapes are kept without a path."""
    mesh = '<geometry><mesh filename="package://p/m.stl"/></geometry>'

    parsed = read_link(f"<visual>{mesh}</visual><collision>{mesh}</collision>")

    (warning,) = parsed.diagnostics
    assert warning.rule == "mesh-missing"
    assert "'package://p/m.stl' is not found (used 2 times)" in warning.message


def test_files_next_to_the_urdf_are_found(read_link: Read, tmp_path: Path) -> None:
    """Meshes and textures."""
    for name in ("m.stl", "t.png"):
        (tmp_path / name).touch()

    parsed = read_link(
        '<visual><geometry><mesh filename="m.stl"/></geometry><material name="m">'
        '<texture filename="t.png"/></material></visual>'
    )

    (visual,) = _link(parsed).visuals
    assert parsed.diagnostics == ()
    assert visual.geometry == MeshFile("m.stl", str(tmp_path / "m.stl"))
    assert visual.material == Material("m", None, "t.png", str(tmp_path / "t.png"))


def _looks(parsed: Parsed) -> list[Material | None]:
    return [v.material for link in parsed.robot.links for v in link.visuals]


def _visual(material: str) -> str:
    return f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'


_RED = '<material name="m"><color rgba="1 0 0 0.5"/></material>'
_BLUE = '<material name="m"><color rgba="0 0 1 1"/></material>'
_NAMED = '<material name="m"/>'
_LINK = f'<link name="a">{_visual(_NAMED)}</link>'
_LINK_B = _LINK.replace('"a"', '"b"')
_BLUE_LINK = f'<link name="a">{_visual(_BLUE)}</link>'
_IS_RED = Material("m", (1.0, 0.0, 0.0, 0.5))
_IS_BLUE = Material("m", (0.0, 0.0, 1.0, 1.0))


@pytest.mark.parametrize(
    ("text", "looks", "rules"),
    [
        (_RED + _LINK, [_IS_RED], []),
        (_LINK + _RED, [_IS_RED], []),
        (_BLUE_LINK + _LINK_B, [_IS_BLUE, _IS_BLUE], []),
        (_LINK_B + _BLUE_LINK, [_IS_BLUE, _IS_BLUE], []),
        (_BLUE_LINK + _LINK_B + _RED, [_IS_BLUE, _IS_RED], ["material-redefined"]),
        (_LINK + _LINK_B, [Material("m")] * 2, ["material-undefined"]),
    ],
)
def test_material_definition_is_found(
    read: Read, text: str, looks: list[Material], rules: list[str]
) -> None:
    """In the visual, then in the robot, then in the first other visual."""
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    parsed = read(f'<robot name="r">{text}{joint * (_LINK_B in text)}</robot>')

    assert _looks(parsed) == looks
    assert _rules(parsed) == rules


@pytest.mark.parametrize(
    ("rgba", "expected", "rules"),
    [
        ("0.1 0.2 0.3 0.4", (0.1, 0.2, 0.3, 0.4), []),
        ("0.1 0.2 0.3", (0.1, 0.2, 0.3, 1.0), ["vector-completed"]),
        ("255 0.5 -1 1", (1.0, 0.5, 0.0, 1.0), ["color-range"]),
        ("grey", None, ["number-invalid"]),
    ],
)
def test_colours_have_four_components_up_to_one(
    read_link: Read,
    rgba: str,
    expected: tuple[float, float, float, float] | None,
    rules: list[str],
) -> None:
    """A material without a name belongs to its visual."""
    parsed = read_link(_visual(f'<material name=""><color rgba="{rgba}"/></material>'))

    assert _looks(parsed) == [Material(None, expected)]
    assert _rules(parsed) == rules
