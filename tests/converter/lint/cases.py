"""For each rule, the smallest robot that breaks it, and a near miss."""

from __future__ import annotations

from dataclasses import dataclass

INERTIA = '<inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/>'
_BODY = (
    '<inertial><origin xyz="0.01 0.02 -0.01"/><mass value="2"/>'
    + INERTIA.format(0.011, 0.012, 0.013)
    + "</inertial>"
)
_BOX = '<geometry><box size="0.3 0.2 0.1"/></geometry>'


@dataclass(frozen=True)
class Case:
    """A text that breaks a rule, and one just inside the bound."""

    broken: str
    near: str


def robot(inside: str, attributes: str = 'name="r"') -> str:
    """Return a robot."""
    return f"<robot {attributes}>{inside}</robot>"


def link(inside: str, name: str = "a") -> str:
    """Return a robot of one link."""
    return robot(f'<link name="{name}">{inside}</link>')


def body(mass: str, inertia: str, shape: str = _BOX, xyz: str = "0.01 0 0") -> str:
    """Return a robot of one link with mass and a shape."""
    origin = f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
    return link(f"{origin}{inertia}</inertial><visual>{shape}</visual>")


def joint(inside: str, kind: str = "revolute", *, axis: bool = True) -> str:
    """Return a robot of two links with mass and a joint ``j`` between them."""
    direction = '<axis xyz="0.6 0 0.8"/>' if axis else ""
    return robot(
        f'<link name="a">{_BODY}</link><link name="b">{_BODY}</link>'
        f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>'
        f'<origin xyz="0.1 0.2 0.3"/>{direction}{inside}</joint>'
    )


def limit(text: str, kind: str = "revolute", more: str = "") -> str:
    """Return a robot whose joint has a limit."""
    return joint(f"<limit {text}/>{more}", kind)


def rated(bounds: str) -> str:
    """Return the attributes of a complete limit."""
    return f'{bounds} effort="3" velocity="2"'


def coupled(leader: str, follower: str, mimic: str) -> str:
    """Return a robot whose joint ``f`` follows ``l``."""
    links = "".join(f'<link name="{n}">{_BODY}</link>' for n in "abc")
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent link="a"/>'
        f'<child link="{child}"/><axis xyz="0 0.6 0.8"/>'
        f"<limit {rated(bounds)}/>{more}</joint>"
        for name, child, bounds, more in (
            ("l", "b", leader, ""),
            ("f", "c", follower, f'<mimic joint="l" {mimic}/>'),
        )
    )
    return robot(links + joints)


def mesh(filename: str, scale: str = "", kind: str = "visual") -> str:
    """Return a robot whose joints span 0.37 m, with a mesh on its first link."""
    shape = f'<{kind}><geometry><mesh filename="{filename}" {scale}/></geometry></{kind}>'
    text = joint("<limit " + rated('lower="-1" upper="1"') + "/>")
    return text.replace('<link name="a">', f'<link name="a">{shape}', 1)


def material(definition: str, use: str) -> str:
    """Return a robot with a material and a visual."""
    shape = f'<link name="a"><visual>{_BOX}{use}</visual></link>'
    return robot(definition + shape)


_PLAUSIBLE = INERTIA.format(0.011, 0.012, 0.013)
_TURN = 'lower="-1" upper="2"'

CASES = {
    "mass-none-moving": Case(
        joint("", "floating").replace(f'<link name="b">{_BODY}', '<link name="b">'),
        # The root moves only if the base is floating.
        joint("", "floating").replace(f'<link name="a">{_BODY}', '<link name="a">'),
    ),
    "mass-none-collider": Case(
        link(f"<collision>{_BOX}</collision>"),
        link(
            '<inertial><mass value="0"/>'
            + INERTIA.format(0, 0, 0)
            + f"</inertial><collision>{_BOX}</collision>"
        ),
    ),
    "mass-negligible": Case(
        body("9e-7", INERTIA.format(1e-9, 1e-9, 1e-9)),
        body("1.1e-6", INERTIA.format(1e-9, 1e-9, 1e-9)),
    ),
    "inertia-zero": Case(
        body("2", INERTIA.format(0, 0, 0)),
        body("0", INERTIA.format(0, 0, 0)),
    ),
    "inertia-not-positive": Case(
        body("2", INERTIA.format(-0.01, 0.012, 0.013)),
        body("2", INERTIA.format(0.001, 0.0125, 0.013)),
    ),
    "inertia-triangle": Case(
        body("2", INERTIA.format(0.011, 0.012, 0.0231)),
        body("2", INERTIA.format(0.011, 0.012, 0.0229)),
    ),
    # The farthest corner is sqrt(0.16^2 + 0.1^2 + 0.05^2) = 0.1952 m from the centre of
    # mass: three times that, squared, times 2 kg is 0.686 kg m^2.
    "inertia-too-large": Case(
        body("2", INERTIA.format(0.5, 0.5, 0.70)),
        body("2", INERTIA.format(0.5, 0.5, 0.67)),
    ),
    # A hundredth of it, squared, times 2 kg is 7.6e-6 kg m^2.
    "inertia-too-small": Case(
        body("2", INERTIA.format(7e-6, 7e-6, 7e-6)),
        body("2", INERTIA.format(7e-6, 7e-6, 8e-6)),
    ),
    # 0.3 x 0.2 x 0.1 m^3 are 6 litres: 600 kg at 100 000 kg/m^3, 0.6 g at 0.1 kg/m^3.
    "density-high": Case(body("610", _PLAUSIBLE), body("590", _PLAUSIBLE)),
    "density-low": Case(body("0.00059", _PLAUSIBLE), body("0.00061", _PLAUSIBLE)),
    # The diagonal is 0.374 m, and half the width 0.15 m.
    "com-outside": Case(
        body("2", _PLAUSIBLE, xyz="0.53 0 0"), body("2", _PLAUSIBLE, xyz="0.52 0 0")
    ),
    "joint-axis-unnormalised": Case(
        joint('<axis xyz="0 0 2"/>', "continuous", axis=False),
        joint('<axis xyz="0.577 0.577 0.577"/>', "continuous", axis=False),
    ),
    "joint-axis-implicit": Case(
        joint("", "continuous", axis=False), joint("", "fixed", axis=False)
    ),
    "joint-limit-unrated": Case(
        limit(_TURN + ' effort="3"'), limit(_TURN + ' effort="3" velocity="inf"')
    ),
    "joint-effort-zero": Case(
        limit(_TURN + ' effort="0" velocity="2"'),
        coupled(_TURN, _TURN, "").replace(
            f'{_TURN} effort="3" velocity="2"/><mimic',
            f'{_TURN} effort="0" velocity="2"/><mimic',
        ),
    ),
    "joint-velocity-zero": Case(
        limit('effort="3" velocity="0"', "continuous"),
        limit('effort="3" velocity="0"', "fixed"),
    ),
    "joint-range-empty": Case(
        limit(rated('lower="0.5" upper="0.5"')),
        limit(rated('lower="0.5" upper="0.51"')),
    ),
    "joint-zero-outside": Case(
        limit(rated('lower="0.1" upper="1"')), limit(rated('lower="0" upper="1"'))
    ),
    "joint-limit-degrees": Case(
        limit(rated('lower="-170" upper="170"')),
        # An arbitrary far distance.
        limit(rated('lower="-100" upper="100"')),
    ),
    "joint-limit-turns": Case(
        limit(rated('lower="-6.31" upper="1"')),
        limit(rated('lower="-6.2832" upper="6.2832"')),
    ),
    # The joints span sqrt(0.1^2 + 0.2^2 + 0.3^2) = 0.374 m.
    "joint-travel-long": Case(
        limit(rated('lower="0" upper="38"'), "prismatic"),
        limit(rated('lower="0" upper="37"'), "prismatic"),
    ),
    "safety-incomplete": Case(
        limit(rated(_TURN), more='<safety_controller k_position="1"/>'),
        limit(rated(_TURN), more='<safety_controller k_velocity="1"/>'),
    ),
    "safety-outside": Case(
        limit(
            rated(_TURN),
            more='<safety_controller k_velocity="1" soft_upper_limit="2.1"/>',
        ),
        limit(
            rated(_TURN),
            more='<safety_controller k_velocity="1" soft_upper_limit="1.9"/>',
        ),
    ),
    # 0.5 * (-1 .. 2) + 0.3 is -0.2 .. 1.3.
    "mimic-range": Case(
        coupled(_TURN, 'lower="-0.2" upper="1.2"', 'multiplier="0.5" offset="0.3"'),
        coupled(_TURN, 'lower="-0.2" upper="1.3"', 'multiplier="0.5" offset="0.3"'),
    ),
    "mimic-multiplier-zero": Case(
        coupled(_TURN, _TURN, 'multiplier="0" offset="0.1"'),
        coupled(_TURN, _TURN, 'multiplier="0.1"'),
    ),
    "origin-far": Case(
        joint("", "fixed").replace("0.1 0.2 0.3", "0 0 333"),
        joint("", "fixed").replace("0.1 0.2 0.3", "0 0 24"),
    ),
    "rotation-turns": Case(
        joint("", "fixed").replace('"0.1 0.2 0.3"', '"0.1 0.2 0.3" rpy="0 90 0.1"'),
        joint("", "fixed").replace('"0.1 0.2 0.3"', '"0.1 0.2 0.3" rpy="0 6.28 0.1"'),
    ),
    "rotation-rounded": Case(
        joint("", "fixed").replace('"0.1 0.2 0.3"', '"0.1 0.2 0.3" rpy="0 -1.57 3"'),
        joint("", "fixed").replace('"0.1 0.2 0.3"', '"0.1 0.2 0.3" rpy="0 1.5708 3"'),
    ),
    "quaternion-unnormalised": Case(
        joint("", "fixed")
        .replace('name="r"', 'name="r" version="1.1"')
        .replace('"0.1 0.2 0.3"', '"0.1 0.2 0.3" quat_xyzw="0 1.2 0 1.6"'),
        joint("", "fixed")
        .replace('name="r"', 'name="r" version="1.1"')
        .replace('"0.1 0.2 0.3"', '"0.1 0.2 0.3" quat_xyzw="0 0.6 0 0.8"'),
    ),
    # box.stl is 20 units long, and 23 from corner to corner.
    "mesh-millimetres": Case(
        mesh("box.stl"),
        mesh("box.stl", 'scale="0.001 0.001 0.001"'),
    ),
    # small.stl is 0.3 m long.
    "mesh-shrunk": Case(
        mesh("small.stl", 'scale="0.001 0.001 0.001"'),
        mesh("small.stl", 'scale="0.01 0.01 0.01"'),
    ),
    "mesh-mirrored": Case(mesh("small.stl", 'scale="1 -1 1"'), mesh("small.stl", 'scale="1 2 1"')),
    "mesh-too-many-faces": Case(mesh("200001.stl"), mesh("200000.stl")),
    "collision-mesh-heavy": Case(
        mesh("20002.stl", kind="collision"), mesh("20002.stl", kind="visual")
    ),
    "path-absolute": Case(mesh("file:///home/me/a.stl"), mesh("file://meshes/a.stl")),
    "path-backslash": Case(mesh("meshes\\a.stl"), mesh("meshes/a.stl")),
    "material-unused": Case(
        material('<material name="red"><color rgba="1 0 0 1"/></material>', ""),
        material(
            '<material name="red"><color rgba="1 0 0 1"/></material>',
            '<material name="red"/>',
        ),
    ),
    "color-invisible": Case(
        material("", '<material name="m"><color rgba="1 0 0 0"/></material>'),
        material("", '<material name="m"><color rgba="1 0 0 0.1"/></material>'),
    ),
    "name-not-portable": Case(link("", "arm-1"), link("", "_arm_1")),
    "name-of-link-and-joint": Case(
        joint("", "fixed").replace('joint name="j"', 'joint name="b"'),
        joint("", "fixed").replace('joint name="j"', 'joint name="B"'),
    ),
    "name-repeated-shape": Case(
        link(f'<collision name="c">{_BOX}</collision>' * 2),
        link(f'<collision name="c">{_BOX}</collision><visual name="c">{_BOX}</visual>'),
    ),
    "name-world": Case(
        joint("", "fixed").replace('"b"', '"world"'),
        joint("", "fixed").replace(f'"a">{_BODY}', '"a">').replace('"a"', '"world"'),
    ),
    "reference-undefined": Case(
        robot('<link name="a"/><gazebo reference="b"/>'),
        robot('<link name="a"/><gazebo reference="a"/><gazebo/>'),
    ),
    "ros-refused": Case(
        '<robot><link name="a"/></robot>',
        robot('<link name="a"/>'),
    ),
    "ros-incomplete": Case(
        robot('<link name="a"/><material name="spare"><color/></material>'),
        robot('<link name="a"/><material name="spare"><color rgba="1 0 0 1"/></material>'),
    ),
}
