"""Expansion of xacro files, and of URDF files that contain xacro."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree as ET

import pytest

from urdf_usd.conformance.execution.examine import read_robot
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.urdf.parse import Parsed, parse, standalone_urdf
from urdf_usd.converter.urdf.xacro import Expansion, allowed_environment, expand

Write: TypeAlias = Callable[..., Path]
HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
VARIABLE = "ROBOT_TEST_VARIABLE"
_TWO_LINKS = (
    '<link name="a"/><link name="b"/>'
    '<joint name="j" type="fixed"><parent link="a"/><child link="b"/>{}</joint>'
)
_ARM = (
    '<xacro:property name="length" value="0.5"/>'
    '<xacro:macro name="arm" params="name">'
    '<link name="${name}"/><joint name="${name}_joint" type="fixed">'
    '<parent link="base"/><child link="${name}"/>'
    '<origin xyz="0 0 ${2 * length}"/></joint></xacro:macro>'
    '<link name="base"/><xacro:arm name="left"/>'
)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the inside of a robot; a variable is secret."""
    monkeypatch.setenv(VARIABLE, "hunter2")

    def write_text(inside: str, name: str = "r.xacro", text: str = "{}\n{}</robot>") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(HEAD, inside), encoding="utf-8")
        return file

    return write_text


def _expand(file: Path, packages: dict[str, str] | None = None, **arguments: str) -> Expansion:
    return expand(str(file), packages or {}, arguments)


def _refuse(file: Path) -> Diagnostic:
    with pytest.raises(SourceError) as caught:
        expand(str(file), {}, {})
    (found,) = (d for d in caught.value.diagnostics if d.severity == "error")
    assert "hunter2" not in str(caught.value)
    return found


def _rules(parsed: Parsed) -> list[str]:
    return [found.rule for found in parsed.diagnostics]


# ---- Language


def test_language_of_xacro_is_expanded(write: Write) -> None:
    file = write(
        """<xacro:arg name="side" default="left"/>
<xacro:property name="length" value="${0.2 * 3}"/>
<xacro:macro name="arm" params="side mirror:=1 *origin">
  <link name="${side}_arm"><visual><xacro:insert_block name="origin"/>
    <geometry><box size="${length * mirror} 1 ${sin(pi / 2)}"/></geometry>
  </visual></link>
</xacro:macro>
<xacro:arm side="$(arg side)" mirror="-2"><origin xyz="0 0 1"/></xacro:arm>
<xacro:if value="${length &gt; 1}"><link name="long"/></xacro:if>
<xacro:unless value="$(eval side == 'left')"><link name="right"/></xacro:unless>
<plugin v="$${x} $$(arg y)"/>"""
    )

    left, right = _expand(file).text, _expand(file, side="right").text

    assert '<link name="left_arm">' in left
    assert '<box size="-1.2000000000000002 1 1.0"/>' in left
    assert '<origin xyz="0 0 1"/>' in left
    assert '<plugin v="${x} $(arg y)"/>' in left
    assert "long" not in left
    assert '<link name="right"/>' not in left
    assert '<link name="right_arm">' in right
    assert '<link name="right"/>' in right


def test_includes_are_relative_to_the_including_file(write: Write) -> None:
    write('<link name="c"/>', "parts/deep/c.xacro")
    write('<xacro:include filename="deep/c.xacro"/>', "parts/b.xacro")
    file = write('<xacro:include filename="parts/b.xacro"/>')

    assert '<link name="c"/>' in _expand(file).text


@pytest.mark.parametrize("named", [True, False])
def test_packages_are_found_by_name_and_in_parents(write: Write, *, named: bool) -> None:
    write("", "parts/package.xml", "<package><name>parts</name></package>")
    shared = write('<link name="c"/>', "parts/c.xacro")
    file = write('<xacro:include filename="$(find parts)/c.xacro"/>', "bot/urdf/r.xacro")

    expansion = _expand(file, {"parts": str(shared.parent)} if named else {})

    assert '<link name="c"/>' in expansion.text


def test_missing_package_becomes_a_reference(write: Write) -> None:
    """It may be needed as text only, for example in parameters of a controller."""
    file = write('<link name="a" note="$(find no_such)/x.yaml"/>')

    expansion = _expand(file)

    assert 'note="package://no_such/x.yaml"' in expansion.text
    message = "package 'no_such' is not found"
    place = Location(str(file), 2, 1)
    assert expansion.diagnostics == (Diagnostic("package-missing", message, place),)


@pytest.mark.parametrize(
    "use",
    [
        '<xacro:include filename="$(find no_such)/x.xacro"/>',
        "<link name=\"${xacro.load_yaml('$(find no_such)/x.yaml')['a']}\"/>",
    ],
)
def test_missing_package_of_a_required_file_is_named(write: Write, use: str) -> None:
    file = write(use)

    found = _refuse(file)

    assert "package://no_such/x." in found.message
    assert found.message.endswith("is needed, and the package is not found")
    assert found.location == Location(str(file), 2, 1)


def test_declared_encoding_is_used(write: Write) -> None:
    file = write("")
    text = f'<?xml version="1.0" encoding="latin-1"?>{HEAD}<link name="Größe"/></robot>'
    file.write_bytes(text.encode("latin-1"))

    assert '<link name="Größe"/>' in _expand(file).text


def test_state_of_one_expansion_does_not_reach_the_next(write: Write) -> None:
    defining = write('<xacro:property name="q" value="1"/><link name="${q}"/>', "a.xacro")
    using = write('<link name="${q}"/>', "b.xacro")

    assert '<link name="1"/>' in _expand(defining).text
    assert "name 'q' is not defined" in _refuse(using).message
    assert _expand(defining) == _expand(defining)


# ---- Locations and diagnostics


def test_elements_keep_locations_through_macros_and_includes(write: Write) -> None:
    included = write(
        """<xacro:macro name="arm" params="n">

  <link name="${n}"><inertial><mass value="1,"/></inertial></link>
</xacro:macro>""",
        "m.xacro",
    )
    file = write('<xacro:include filename="m.xacro"/>\n  <link name="a"/>\n<xacro:arm n="b"/>')

    assert _expand(file).origins == (
        Location(str(file), 1, 1),
        Location(str(file), 3, 3),
        Location(str(included), 4, 3),
        Location(str(included), 4, 21),
        Location(str(included), 4, 31),
    )


def test_locations_of_the_reader_are_in_xacro_files(write: Write) -> None:
    included = write(
        """<xacro:macro name="arm" params="n"><link name="${n}"/>
<joint name="j" type="continuous"><parent link="a"/><child link="${n}"/>
  <axis xyz="0 0 1,"/></joint></xacro:macro>""",
        "m.xacro",
    )
    file = write('<xacro:include filename="m.xacro"/><xacro:arm n="b"/>\n<link name="a"/>')

    parsed = parse(file)

    assert [link.location for link in parsed.robot.links] == [
        Location(str(included), 2, 36),
        Location(str(file), 3, 1),
    ]
    assert [(d.rule, d.location) for d in parsed.diagnostics] == [
        ("number-punctuation", Location(str(included), 4, 3))
    ]


def test_elements_of_one_macro_are_distinguished(write: Write) -> None:
    """Materials of one are not those of the others."""
    file = write(
        '<xacro:macro name="part" params="n rgba"><link name="${n}"><visual><geometry>'
        '<sphere radius="1"/></geometry><material name=""><color rgba="${rgba}"/>'
        "</material></visual></link></xacro:macro>"
        '<xacro:part n="a" rgba="1 0 0 1"/><xacro:part n="b" rgba="0 1 0 1"/>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    )

    links = parse(file).robot.links

    colours = [v.material and v.material.rgba for link in links for v in link.visuals]
    assert colours == [(1, 0, 0, 1), (0, 1, 0, 1)]
    assert links[0].location == links[1].location


@pytest.mark.parametrize(
    ("inside", "message", "column"),
    [
        ('<xacro:nothing a="1"/>', "unknown macro name: xacro:nothing", 1),
        ('<a/><link name="${nothing}"/>', "name 'nothing' is not defined", 5),
        ('<link name="$(arg nothing)"/>', "argument 'nothing' is needed", 1),
        ('<link name="${1 +}"/>', "invalid syntax", 1),
        ('<xacro:if value="perhaps"/>', "not a boolean expression", 1),
        ('<xacro:include filename="no.xacro"/>', "No such file or directory", 1),
        ('<xacro:arg name="a"/>', "missing attribute 'default'", 1),
        ('<xacro:property name="1a" value="1"/>', "must be valid python", 1),
        ("</link>", "not well-formed: mismatched tag", 3),
    ],
)
def test_xacro_error_has_its_location(write: Write, inside: str, message: str, column: int) -> None:
    file = write(inside)

    found = _refuse(file)

    assert message in found.message
    assert found.location == Location(str(file), 2, column)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("{}\n\n  <link></robot>", 3, "not well-formed: mismatched tag"),
        ('<!DOCTYPE r [<!ENTITY a "aa">\n]>\n{}</robot>', 1, "entity 'a' is declared"),
    ],
)
def test_error_in_an_included_file_names_that_file(
    write: Write, text: str, line: int, message: str
) -> None:
    broken = write("", "b.xacro", text)
    file = write('<xacro:include filename="b.xacro"/>')

    found = _refuse(file)

    assert found.message == message
    assert found.location
    assert (found.location.file, found.location.line) == (str(broken), line)


def test_xacro_warnings_are_reported_once(write: Write) -> None:
    file = write(
        '<xacro:property name="pi" value="3"/>'
        '<link name="${range(2)[1]}"/><link name="a${range(2)[0]}"/>'
    )

    found = _expand(file).diagnostics

    assert [(d.rule, d.message) for d in found] == [
        ("xacro-warning", "redefining global symbol: pi"),
        ("xacro-warning", "Using range() directly is deprecated. Use python.range() instead."),
    ]
    assert [d.location and d.location.line for d in found] == [2, 2]


def test_files_of_other_folders_are_reported(write: Write) -> None:
    outside = write('<link name="m"/>', "secret/m.xacro")
    secret = write("", "secret/s.yaml", "key: value")
    write("", "ws/other/package.xml", "<package><name>other</name></package>")
    write('<link name="o"/>', "ws/other/o.xacro")
    write("", "ws/bot/package.xml", "<package><name>bot</name></package>")
    write("", "ws/bot/own.yaml", "key: own")
    file = write(
        f"""<xacro:include filename="{outside}"/>
<link name="${{xacro.load_yaml('{secret}')['key']}}"/>
<link name="${{xacro.load_yaml('../own.yaml')['key']}}"/>
<xacro:include filename="$(find other)/o.xacro"/>""",
        "ws/bot/urdf/r.xacro",
    )

    expansion = _expand(file)

    assert [(d.rule, d.location and d.location.line) for d in expansion.diagnostics] == [
        ("file-outside", 2),
        ("file-outside", 3),
    ]
    assert str(outside) in expansion.diagnostics[0].message
    assert len(expansion.files) == 4


def test_unused_argument_is_reported(write: Write) -> None:
    """Its name is probably misspelt."""
    file = write('<xacro:arg name="hand" default="true"/><link name="$(arg who)"/>')

    found = _expand(file, hnad="false", hand="1", who="x").diagnostics

    assert [(d.rule, d.message) for d in found] == [
        ("xacro-argument-unused", "argument 'hnad' is not used by r.xacro")
    ]


# ---- What a file may do


@pytest.mark.parametrize(
    "expression",
    [
        "${[c for c in ().__class__.__base__.__subclasses__()]}",
        "${[x.__class__ for x in [1]]}",
        "${(lambda: ().__class__)()}",
        "${xacro.load_yaml.__globals__}",
        "${(lambda __x: 1)(2)}",
        "$(eval open('/etc/passwd'))",
        "$(eval ().__class__)",
        "$(eval f'{sin.__self__}')",
        "$(eval __builtins__)",
    ],
)
def test_expressions_cannot_access_the_interpreter(write: Write, expression: str) -> None:
    """Including lambdas and ``$(eval)``, which xacro itself permits."""
    file = write(f'<link name="{expression}"/>')

    assert _refuse(file).location == Location(str(file), 2, 1)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("{0.load_yaml}", "text.format(xacro)"),
        ("{a.load_yaml}", "text.format(a=xacro)"),
        ("{0[load_yaml].x}", "text.format(xacro)"),
        ("{:{0.load_yaml}}", "text.format(xacro)"),
        ("{0.load_yaml}", "text.format_map(python.dict([['0', xacro]]))"),
        ("{0.load_yaml}", "str.format(text, xacro)"),
        ("{0.load_yaml}", "list(map(str.format, [text], [xacro]))[0]"),
        ("{0.load_yaml}", "(lambda: text.format(xacro))()"),
    ],
)
def test_format_strings_cannot_access_attributes(write: Write, text: str, expression: str) -> None:
    file = write(f'<xacro:property name="text" value="{text}"/>\n<link name="${{{expression}}}"/>')

    found = _refuse(file)

    assert "attributes in a format string" in found.message
    assert found.location == Location(str(file), 3, 1)


def test_format_strings_insert_values(write: Write) -> None:
    file = write(
        """<xacro:property name="a" value="{:03d}_{x[1]!s:>3}"/>
<xacro:property name="b" value="{v[ab]}"/>
<link name="${a.format(7, x=[1, 2.5])}"/>
<link name="${b.format_map(dict(v=python.dict([['ab', 4]])))}"/>
<link name="${'%03d %s' % (7, 'x')}"/>"""
    )

    names = [link.get("name") for link in ET.fromstring(_expand(file).text).iter("link")]

    assert names == ["007_2.5", "4", "007 x"]


@pytest.mark.parametrize(
    "value",
    [
        f"!!python/object/apply:os.getenv [{VARIABLE}]",
        "!radians xacro.load_yaml.__globals__",
        "!degrees '\"{0.__globals__}\".format(xacro.load_yaml)'",
    ],
)
def test_yaml_cannot_construct_objects(write: Write, value: str) -> None:
    write("", "v.yaml", "a: " + value.replace("{", "{{").replace("}", "}}"))
    _refuse(write("<link name=\"${xacro.load_yaml('v.yaml')['a']}\"/>"))


@pytest.mark.parametrize("use", [f"$(env {VARIABLE})", "$(eval ${code})"])
def test_variable_that_is_not_allowed_is_an_error(write: Write, use: str) -> None:
    code = f'<xacro:property name="code" value="env(\'{VARIABLE}\')"/>'
    file = write(f'{code}<link name="{use}"/>')

    found = _refuse(file)

    assert found.rule == "xacro-environment"
    assert f"--env {VARIABLE}" in found.message
    assert found.location == Location(str(file), 2, len(code) + 1)


def test_optional_variable_that_is_not_allowed_has_its_default(write: Write) -> None:
    """With a warning only if it is set."""
    file = write(
        f'<link name="$(optenv {VARIABLE} arm one)"/>\n'
        f'<link name="$(optenv NO_SUCH_VARIABLE other)"/>\n'
        f'<link name="a$(optenv {VARIABLE})"/>'
    )

    expansion = _expand(file)

    names = [link.get("name") for link in ET.fromstring(expansion.text).iter("link")]
    assert names == ["arm one", "other", "a"]
    (found,) = expansion.diagnostics
    assert found.rule == "xacro-environment-default"
    assert f"--env {VARIABLE}" in found.message
    assert found.location == Location(str(file), 2, 1)


def test_allowed_variables_are_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    file = write(f'<link name="$(env {VARIABLE})-$(optenv ROS_DISTRO none)"/>')

    expansion = expand(str(file), {}, {}, environment=(VARIABLE,))

    assert '<link name="hunter2-jazzy"/>' in expansion.text
    assert not expansion.diagnostics
    unset = write('<link name="$(env NO_SUCH_VARIABLE)"/>')
    with pytest.raises(SourceError, match=r"'NO_SUCH_VARIABLE' is not set"):
        expand(str(unset), {}, {}, environment=("NO_SUCH_VARIABLE",))


def test_environment_of_an_expansion_is_that_of_ros_and_the_allowed_names() -> None:
    everything = {"HOME": "/home/me", "ROS_PACKAGE_PATH": "/ws", "TOKEN": "t"}

    assert allowed_environment((), everything) == {"ROS_PACKAGE_PATH": "/ws"}
    assert allowed_environment(("TOKEN", "UNSET"), everything) == {
        "ROS_PACKAGE_PATH": "/ws",
        "TOKEN": "t",
    }


@pytest.mark.parametrize("kind", ["device", "pipe", "large"])
@pytest.mark.parametrize(
    "use",
    ["<link name=\"${{xacro.load_yaml('{}')}}\"/>", '<xacro:include filename="{}"/>'],
)
def test_only_regular_files_of_limited_size_are_read(
    write: Write, tmp_path: Path, kind: str, use: str
) -> None:
    """A device has no end, and a pipe blocks."""
    part = tmp_path / "part"
    if kind == "device":
        part.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(part)
    else:
        part.touch()
        os.truncate(part, (64 << 20) + 1)
    file = write(use.format(part))

    found = _refuse(file)

    assert str(part) in found.message
    assert found.location == Location(str(file), 2, 1)


@pytest.mark.parametrize(
    "inside",
    [
        '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
        '<xacro:include filename="r.xacro"/>',
    ],
)
def test_infinite_recursion_is_an_error(write: Write, inside: str) -> None:
    assert "nested infinitely" in _refuse(write(inside)).message


# ---- Xacro in files that are not named so


@pytest.mark.parametrize(
    "inside",
    [
        '<xacro:include filename="missing.xacro"/>',
        '<xacro:include filename="$(find no_such_package)/arm.xacro"/>',
        '<xacro:gripper parent="a"/>',
        '<x:if value="${undefined}" xmlns:x="http://www.ros.org/wiki/xacro"/>',
    ],
)
def test_elements_that_cannot_be_expanded_are_ignored_with_a_warning(
    write: Write, inside: str
) -> None:
    """As by urdfdom, MuJoCo and PyBullet; they are kept as custom data."""
    file = write(f'<link name="a"/>{inside}', "r.urdf")

    parsed = parse(file)

    assert [link.name for link in parsed.robot.links] == ["a"]
    assert _rules(parsed) == ["xacro-ignored", "element-unknown"]
    assert parsed.diagnostics[0].location == Location(str(file), 2, 17)
    assert parsed.diagnostics[0].message.partition("cannot be expanded: ")[2]


@pytest.mark.parametrize(
    "inside",
    [
        '<link name="c"/><link name="${prefix}b"/>',
        '<link name="c"/><joint name="$(arg j)" type="fixed"/>',
        _TWO_LINKS.format('<origin xyz="0 0 ${height}"/>'),
        '<link name="a"><inertial><mass value="${m}"/></inertial></link>',
        "<xacro:arm/>",
    ],
)
def test_robots_that_depend_on_missing_definitions_are_refused(write: Write, inside: str) -> None:
    """A default would make another robot of it."""
    with pytest.raises(SourceError) as raised:
        parse(write(inside, "r.urdf"))

    rules = [found.rule for found in raised.value.diagnostics]
    assert rules == ["xacro-ignored", "xacro-unexpanded"]


def test_a_complete_file_is_expanded_as_if_it_were_named_xacro(write: Write) -> None:
    robot, expanded = parse(write(_ARM, "r.urdf")), parse(write(_ARM))

    for parsed in (robot, expanded):
        assert [link.name for link in parsed.robot.links] == ["base", "left"]
        assert parsed.robot.joints[0].origin.position == (0.0, 0.0, 1.0)
    assert _rules(robot) == ["xacro-in-urdf", *_rules(expanded)]


@pytest.mark.parametrize(
    ("text", "height"), [("$(optenv HEIGHT_OF_R 0.25)", 0.25), ("${pi}", math.pi)]
)
def test_substitutions_that_need_no_definitions_are_evaluated(
    write: Write, text: str, height: float
) -> None:
    parsed = parse(write(_TWO_LINKS.format(f'<origin xyz="0 0 {text}"/>'), "r.urdf"))

    assert parsed.robot.joints[0].origin.position[2] == height
    assert _rules(parsed) == ["xacro-in-urdf"]


@pytest.mark.parametrize(
    ("inside", "rules"),
    [
        # Resolved as ``package://`` is.
        ('<mesh filename="$(find no_package)/m.stl"/>', ["mesh-missing"]),
        ('<mesh filename="$(optenv MESH_OF_R m.stl)"/>', ["xacro-in-urdf", "mesh-missing"]),
    ],
)
def test_file_references_are_expanded_if_needed(
    write: Write, inside: str, rules: list[str]
) -> None:
    shape = f"<visual><geometry>{inside}</geometry></visual>"

    assert _rules(parse(write(f'<link name="a">{shape}</link>', "r.urdf"))) == rules


def test_unused_definitions_need_no_expansion(write: Write) -> None:
    definition = '<xacro:macro name="m"><link name="${n}"/></xacro:macro>'

    assert _rules(parse(write(f'{definition}<link name="a"/>', "r.urdf"))) == ["element-unknown"]


_MACRO = (
    '<xacro:property name="size" value="0.1"/>'
    '<xacro:macro name="arm" params="side"><link name="${side}_arm"/></xacro:macro>'
)


@pytest.mark.parametrize("name", ["r.xacro", "r.urdf"])
@pytest.mark.parametrize(
    ("inside", "defined"),
    [
        (_MACRO, "macros"),
        ('<xacro:property name="size" value="0.1"/><material name="m"/>', "properties"),
        ('<xacro:arg name="size" default="0.1"/>', "arguments"),
    ],
)
def test_file_of_definitions_is_part_of_another_file(
    write: Write, inside: str, defined: str, name: str
) -> None:
    file = write(inside, name)
    with pytest.raises(SourceError, match="file that includes it") as raised:
        parse(file)

    *_, error = raised.value.diagnostics
    message = f"part of another file: defines {defined} only"
    assert error == Diagnostic("xacro-part", message, Location(str(file), 1, 1))


@pytest.mark.parametrize("name", ["r.xacro", "r.urdf"])
@pytest.mark.parametrize("inside", ["", '<xacro:macro name="nothing"/><xacro:nothing/>'])
def test_robot_of_xacro_without_links_is_empty(write: Write, inside: str, name: str) -> None:
    with pytest.raises(SourceError) as raised:
        parse(write(inside, name))

    rules = {found.rule for found in raised.value.diagnostics}
    assert "robot-empty" in rules
    assert "xacro-part" not in rules


# ---- Files for engines


def test_engines_get_the_expansion(write: Write) -> None:
    """Otherwise they would report another robot."""
    complete = read_robot(str(write(_ARM, "r.urdf")), {}, {})
    incomplete = read_robot(str(write('<link name="a"/><xacro:gripper/>', "s.urdf")), {}, {})

    assert not isinstance(complete, SourceError)
    assert complete.expanded
    assert b'name="left"' in complete.expanded
    assert not isinstance(incomplete, SourceError)
    assert incomplete.expanded is None


def test_standalone_file_has_absolute_paths_and_the_name_of_its_source(write: Write) -> None:
    mesh = write("", "bot/meshes/a.stl")
    image = write("", "other/images/b.png")
    source = write(
        """<link name="a"><visual><geometry>
<mesh filename="../meshes/a.stl" scale="1 2 3"/></geometry><material name="m">
<texture filename="package://images/b.png"/></material></visual><visual><geometry>
<mesh filename="package://no/c.stl"/></geometry></visual></link>""",
        "bot/urdf/bot.urdf.xacro",
        "<robot>{1}</robot>",
    )

    robot = ET.fromstring(standalone_urdf(str(source), {"images": str(image.parent)}, {}))

    meshes = [mesh.get("filename") for mesh in robot.iter("mesh")]
    assert meshes == [str(mesh), "package://no/c.stl"]
    assert [texture.get("filename") for texture in robot.iter("texture")] == [str(image)]
    assert robot.get("name") == "bot"
    assert parse(source).robot.name == "bot"
