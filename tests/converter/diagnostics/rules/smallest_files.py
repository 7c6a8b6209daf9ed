"""For each rule on URDF and its conversion, the smallest file that breaks it."""

from __future__ import annotations

from dataclasses import dataclass, field

from urdf_usd.converter import ConvertOptions, Profile
from urdf_usd.converter.conversion import DEFAULTS
from urdf_usd.converter.options import ColliderRule, ColliderRules, InertiaOption
from urdf_usd.converter.robot.model import BaseOption, MasslessOption
from urdf_usd.converter.usd.writer.asset import DEEPEST

_SPEC = '<inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/>'
_MASS = f'<inertial><mass value="2"/>{_SPEC}</inertial>'
A = f'<link name="a">{_MASS}</link>'
B = f'<link name="b">{_MASS}</link>'
_BOX = '<collision><geometry><box size="1 2 3"/></geometry></collision>'
_ESTIMATED = ConvertOptions(inertia=InertiaOption.GEOMETRY)
_ENDS = '<parent link="a"/><child link="b"/>'
_PNG = b"\x89PNG\r\n\x1a\n"
_COLLADA = b"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>
<up_axis>Y_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="f" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#f" count="3" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common>
</source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p>
</triangles></mesh></geometry></library_geometries><library_visual_scenes>
<visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
# A group of two tetrahedra that touch at a point, and a group of one of them.
_GROUPS = (
    b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv -1 0 0\nv 0 -1 0\nv 0 0 -1\n"
    b"o a\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    b"f 1 5 6\nf 1 7 5\nf 1 6 7\nf 5 7 6\n"
    b"o b\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
)
_COLOURED = b"mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n"


@dataclass(frozen=True)
class SmallestFile:
    """A file that breaks a rule.

    Attributes:
        content: Content of the file; None if it does not exist.
        other_files: Other files, by their paths relative to the case's folder.
        options: Options of the conversion.
        name: Path of the file relative to the case's folder.
        target: Folder of the asset, relative to the case's folder.
    """

    content: str | bytes | None
    other_files: dict[str, bytes] = field(default_factory=dict)
    options: ConvertOptions = DEFAULTS
    name: str = "robot.urdf"
    target: str = "usd"


def robot(inside: str, attributes: str = 'name="r"') -> str:
    """Return a robot."""
    return f"<robot {attributes}>{inside}</robot>"


def _colliders(rule: str) -> ConvertOptions:
    return ConvertOptions(colliders=ColliderRules((ColliderRule.parse(rule),)))


def link(inside: str) -> str:
    """Return a robot of one link."""
    return robot(f'<link name="a">{inside}</link>')


def joint(inside: str, kind: str = "continuous", attributes: str = 'name="r"') -> str:
    """Return a robot of two links with mass and a joint between them."""
    connection = f'<joint name="j" type="{kind}">{_ENDS}{inside}</joint>'
    return robot(f"{A}{B}{connection}", attributes)


def visual(inside: str) -> str:
    """Return a robot of one link with one visual."""
    return link(f"<visual>{inside}</visual>")


def shape(inside: str) -> str:
    """Return a robot of one link with one shape."""
    return visual(f"<geometry>{inside}</geometry>")


def _limit(attributes: str, kind: str = "revolute") -> str:
    return joint(f"<limit {attributes}/>", kind)


def _fixed(name: str, parent: str, child: str) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="fixed">{ends}</joint>'


def _chain(length: int) -> str:
    """Return a chain of links."""
    links = "".join(f'<link name="l{i}">{_MASS}</link>' for i in range(length))
    ends = '<parent link="l{}"/><child link="l{}"/>'
    joints = "".join(
        f'<joint name="j{i}" type="continuous">{ends.format(i - 1, i)}</joint>'
        for i in range(1, length)
    )
    return robot(links + joints)


def _texture(image: str) -> str:
    return visual(
        '<geometry><box size="1 2 3"/></geometry>'
        f'<material name="m"><texture filename="{image}"/></material>'
    )


_TEXT = {
    "file-missing": SmallestFile(None),
    "file-empty": SmallestFile(""),
    "xml-syntax": SmallestFile("<robot"),
    "xml-entity": SmallestFile('<!DOCTYPE robot [<!ENTITY e "">]><robot/>'),
    "xml-version": SmallestFile(f"<?xml version='2.0'?>{robot(A)}"),
    "xml-encoding": SmallestFile(robot('<link name="ä"/>').encode("latin-1")),
    "xml-declaration": SmallestFile(f" <?xml version='1.0'?>{robot(A)}"),
    "xml-outside": SmallestFile(f"{robot(A)}\0"),
    "attribute-repeated": SmallestFile(robot(A, 'name="r" name="s"')),
    "xml-character": SmallestFile(robot('<link name="a<b"/>')),
    "xml-reference": SmallestFile(robot('<link name="a&b"/>')),
    "xml-comment": SmallestFile(robot(f"<!-- -- -->{A}")),
    "xml-prefix": SmallestFile(robot(f"{A}<x:y/>")),
    "file-format": SmallestFile("#usda 1.0"),
    "root-element": SmallestFile("<sdf/>"),
    "xacro-unexpanded": SmallestFile(robot('<link name="${a}"/>')),
    "xacro-ignored": SmallestFile(robot(f"{A}<xacro:arm/>")),
    "xacro-in-urdf": SmallestFile(robot('<link name="${1 + 1}"/>')),
    "urdf-version": SmallestFile(robot(A, 'name="r" version="3.0"')),
    "attribute-missing": SmallestFile(robot("<link/>")),
    "attribute-version": SmallestFile(joint('<origin quat_xyzw="0 0 0.6 0.8"/>')),
    "element-missing": SmallestFile(
        robot(f'{A}<joint name="j" type="fixed"><parent link="a"/></joint>')
    ),
    "element-repeated": SmallestFile(link("<inertial/><inertial/>")),
    "element-incomplete": SmallestFile(shape("<sphere/>")),
    "element-version": SmallestFile(shape('<capsule radius="1" length="2"/>')),
    "text-ignored": SmallestFile(link("text")),
    "element-unknown": SmallestFile(robot(f"{A}<gazebo/>")),
    "number-invalid": SmallestFile(_limit('lower="0" upper="1" effort="x"')),
    "number-punctuation": SmallestFile(_limit('lower="0" upper="1,"')),
    "number-required": SmallestFile(link('<inertial><mass value="x"/></inertial>')),
    "number-nonfinite": SmallestFile(link('<inertial><mass value="nan"/></inertial>')),
    "vector-length": SmallestFile(shape('<box size="1 2 3 4"/>')),
    "vector-completed": SmallestFile(
        visual(
            '<geometry><sphere radius="1"/></geometry><material name="m">'
            '<color rgba="1 0 0"/></material>'
        )
    ),
}
_ROBOT = {
    "robot-unnamed": SmallestFile(robot(A, "")),
    "rotation-conflict": SmallestFile(
        joint(
            '<origin rpy="1 2 3" quat_xyzw="0 0 0 1"/>',
            attributes='name="r" version="1.1"',
        )
    ),
    "robot-large": SmallestFile(
        robot(
            A
            + "".join(
                f'<link name="l{i}"/><joint name="j{i}" type="floating">'
                f'<parent link="a"/><child link="l{i}"/></joint>'
                for i in range(1001)
            )
        )
    ),
    "rotation-repeated": SmallestFile(
        joint(
            '<origin rpy="0 0 1.5708" quat_xyzw="0 0 -0.7071 -0.7071"/>',
            attributes='name="r" version="1.1"',
        )
    ),
    "flag-invalid": SmallestFile(
        robot(f"{A}{B}{_fixed('j', 'a', 'b')}").replace(
            'type="fixed"', 'type="fixed" dont_collapse="maybe"'
        )
    ),
    "joint-type": SmallestFile(joint("", "screw")),
    "joint-type-extension": SmallestFile(joint("", "spherical")),
    "joint-type-spelling": SmallestFile(joint("", "Continuous")),
    "joint-axis-zero": SmallestFile(joint('<axis xyz="0 0 0"/>')),
    "joint-chain-merged": SmallestFile(
        robot(
            f'{A}{B}<link name="m"/><joint name="j" type="continuous">'
            '<parent link="a"/><child link="m"/><axis xyz="1 0 0"/>'
            '<usd_joint name="d6" axes="rotX rotY"/></joint>'
            '<joint name="k" type="continuous"><parent link="m"/><child link="b"/>'
            '<axis xyz="0 1 0"/></joint>'
        )
    ),
    "joint-chain-changed": SmallestFile(joint('<usd_joint name="d6" axes="rotX rotY"/>')),
    "joint-limit-missing": SmallestFile(joint("", "revolute")),
    "joint-limit-reversed": SmallestFile(_limit('lower="2" upper="1"')),
    "joint-limit-incomplete": SmallestFile(_limit('upper="1"')),
    "joint-rating-negative": SmallestFile(_limit('lower="0" upper="1" effort="-1" velocity="1"')),
    "dynamics-negative": SmallestFile(joint('<dynamics friction="-1"/>')),
    "joint-limit-ignored": SmallestFile(_limit('upper="1"', "continuous")),
    "part-repeated": SmallestFile(robot(A + A)),
    "joint-dangling": SmallestFile(robot(A + _fixed("j", "a", "z"))),
    "world-undefined": SmallestFile(robot(A + _fixed("j", "world", "a"))),
    "name-duplicate": SmallestFile(robot(f'{A}<link name="a"/>')),
    "robot-deformable": SmallestFile(robot('<deformable name="d"/>')),
    "robot-empty": SmallestFile(robot("")),
    "tree-roots": SmallestFile(robot(A + B)),
    "root-unknown": SmallestFile(robot(A), options=ConvertOptions(root="z")),
    "tree-parents": SmallestFile(robot(A + B + _fixed("i", "a", "b") + _fixed("j", "a", "b"))),
    "tree-loop": SmallestFile(robot(A + _fixed("j", "a", "a"))),
    "mimic-target-missing": SmallestFile(joint('<mimic joint="z"/>')),
    "mimic-fixed": SmallestFile(joint('<mimic joint="j"/>', "fixed")),
    "mimic-unrepresentable": SmallestFile(
        robot(
            '<link name="a"/><link name="b"/><link name="c"/>'
            '<joint name="i" type="prismatic"><parent link="a"/><child link="b"/>'
            '<limit lower="0" upper="1" effort="1" velocity="1"/></joint>'
            '<joint name="j" type="revolute"><parent link="b"/><child link="c"/>'
            '<limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="i"/>'
            "</joint>"
        )
    ),
    "mimic-loop": SmallestFile(joint('<mimic joint="j"/>')),
}
_MASS_RULES = {
    "link-massless": SmallestFile(robot(f'{A}<link name="b"/>{_fixed("j", "a", "b")}')),
    "link-lumped": SmallestFile(robot(f'<link name="a"/>{B}{_fixed("j", "a", "b")}')),
    "link-regularised": SmallestFile(joint("").replace(B, '<link name="b"/>')),
    "base-regularised": SmallestFile(
        joint("").replace(A, '<link name="a"/>'),
        options=ConvertOptions(base=BaseOption.FIXED),
    ),
    "link-massless-moving": SmallestFile(
        joint("").replace(B, '<link name="b"/>'),
        options=ConvertOptions(massless=MasslessOption.ERROR),
    ),
    "collider-replaced": SmallestFile(link(f"{_MASS}{_BOX}"), options=_colliders("none")),
    "collider-rule-unused": SmallestFile(robot(A), options=_colliders("z=none")),
    "body-negligible": SmallestFile(joint("").replace(B, f'<link name="b">{_BOX}</link>')),
    "mass-estimated": SmallestFile(
        joint("").replace(B, f'<link name="b">{_BOX}</link>'), options=_ESTIMATED
    ),
    "inertia-estimated": SmallestFile(
        link(f'<inertial><mass value="1"/></inertial>{_BOX}'), options=_ESTIMATED
    ),
    "inertia-regularised": SmallestFile(link('<inertial><mass value="1"/></inertial>')),
    "inertia-implausible": SmallestFile(link(_MASS.replace("5", "50"))),
    "mass-negative": SmallestFile(link('<inertial><mass value="-1"/></inertial>')),
    "mass-missing": SmallestFile(link("<inertial/>")),
    "inertia-missing": SmallestFile(link("<inertial/>")),
    "base-floats": SmallestFile(
        joint("", "floating").replace(A, '<link name="a"/>'),
        options=ConvertOptions(base=BaseOption.FIXED),
    ),
    "robot-static": SmallestFile(link("")),
}
_SHAPES = {
    "material-undefined": SmallestFile(
        visual('<geometry><sphere radius="1"/></geometry><material name="m"/>')
    ),
    "material-redefined": SmallestFile(
        robot(
            '<material name="m"><color rgba="1 0 0 1"/></material>'
            '<material name="m"><color rgba="0 1 0 1"/></material>' + A
        )
    ),
    "material-overridden": SmallestFile(
        visual(
            '<geometry><mesh filename="m.obj"/></geometry>'
            '<material name="m"><color rgba="0 1 0 1"/></material>'
        ),
        {"m.obj": _COLOURED, "m.mtl": b"newmtl red\nKd 1 0 0\n"},
    ),
    "color-range": SmallestFile(robot(f'<material name="m"><color rgba="2 0 0 1"/></material>{A}')),
    "mesh-missing": SmallestFile(shape('<mesh filename="m.stl"/>')),
    "mesh-unreadable": SmallestFile(shape('<mesh filename="m.stl"/>'), {"m.stl": b""}),
    "mesh-up-axis": SmallestFile(shape('<mesh filename="m.dae"/>'), {"m.dae": _COLLADA}),
    "mesh-partial": SmallestFile(shape('<mesh filename="m.obj"/>'), {"m.obj": _COLOURED}),
    "collider-concave": SmallestFile(
        shape('<mesh filename="m.obj"/>').replace("visual>", "collision>"),
        {"m.obj": _GROUPS},
    ),
    "geometry-invalid": SmallestFile(shape('<sphere radius="0"/>')),
    "geometry-unknown": SmallestFile(shape("<plane/>")),
    "texture-dropped": SmallestFile(_texture("t.png"), {"t.png": _PNG}),
    "texture-unnamed": SmallestFile(_texture("")),
    "texture-missing": SmallestFile(_texture("t.png")),
}
_OUTPUT = {
    "value-range": SmallestFile(link(_MASS.replace('"2"', '"1e39"'))),
    "tree-depth": SmallestFile(_chain(DEEPEST + 1)),
    "metadata-missing": SmallestFile(robot(A), options=ConvertOptions(profile=Profile.SIMREADY)),
    "mesh-required": SmallestFile(robot(A), options=ConvertOptions(profile=Profile.SIMREADY)),
    "body-required": SmallestFile(
        shape('<sphere radius="1"/>'),
        options=ConvertOptions(profile=Profile.SIMREADY),
    ),
    "normals-opposite": SmallestFile(
        shape('<mesh filename="m.obj"/>'),
        {"m.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 -1\nf 1//1 2//1 3//1\n"},
        options=ConvertOptions(profile=Profile.SIMREADY),
    ),
    "target-unwritable": SmallestFile(robot(A), target="robot.urdf/usd"),
    "target-exists": SmallestFile(robot(A), target="."),
}
_XACRO = 'name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"'
_TRIANGLE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
_PLACES = {
    "file-not-regular": SmallestFile(None, {"robot.urdf/x": b""}),
    "file-unreadable": SmallestFile(None, name="loop"),
    "file-size": SmallestFile(bytes(64 * 2**20 + 1)),
    "xacro-error": SmallestFile(robot("${", _XACRO), name="r.xacro"),
    "xacro-file-missing": SmallestFile(
        robot('<xacro:include filename="gone.xacro"/>', _XACRO), name="r.xacro"
    ),
    "xacro-part": SmallestFile(robot('<xacro:macro name="arm"/>', _XACRO), name="r.xacro"),
    "xacro-warning": SmallestFile(
        robot(f'<xacro:property name="pi" value="3"/>{A}', _XACRO), name="r.xacro"
    ),
    "xacro-environment": SmallestFile(robot('<link name="$(env PATH)"/>', _XACRO), name="r.xacro"),
    "xacro-environment-default": SmallestFile(
        robot('<link name="$(optenv PATH a)"/>', _XACRO), name="r.xacro"
    ),
    "xacro-argument-unused": SmallestFile(
        robot(A, _XACRO),
        options=ConvertOptions(arguments=(("a", "1"),)),
        name="r.xacro",
    ),
    "package-missing": SmallestFile(robot(A, _XACRO.replace('"r"', '"$(find p)"')), name="r.xacro"),
    "file-reference": SmallestFile(shape('<mesh filename="m\\m.obj"/>'), {"m/m.obj": _TRIANGLE}),
    "file-letter-case": SmallestFile(shape('<mesh filename="m.obj"/>'), {"M.obj": _TRIANGLE}),
    "file-outside": SmallestFile(
        shape('<mesh filename="../../m.obj"/>'),
        {"m.obj": _TRIANGLE},
        name="a/b/robot.urdf",
    ),
}

SMALLEST_FILES = {
    **_TEXT,
    **_ROBOT,
    **_MASS_RULES,
    **_SHAPES,
    **_OUTPUT,
    **_PLACES,
}
