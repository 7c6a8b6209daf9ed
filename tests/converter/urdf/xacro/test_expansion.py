"""Expansion of xacro: language, locations, and limits."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.xacro import expansion
from urdf_usd.converter.urdf.xacro.expansion import Limits, expand

Write: TypeAlias = Callable[[str, str], Path]

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file of the given name below a folder."""

    def write_text(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write_text


def _expand(
    file: Path,
    arguments: Mapping[str, str] | None = None,
    packages: Mapping[str, str] | None = None,
) -> str:
    return expand(str(file), packages or {}, arguments or {}).text


def _refuse(file: Path, arguments: Mapping[str, str] | None = None) -> Diagnostic:
    with pytest.raises(SourceError) as caught:
        expand(str(file), {}, arguments or {})
    (found,) = (d for d in caught.value.diagnostics if d.severity == "error")
    assert found.rule in {"xacro-error", "xacro-file-missing"}
    return found


def test_language_of_xacro_is_expanded(write: Write) -> None:
    """Macros, properties, conditions and arguments, as ROS documents them."""
    file = write(
        "r.xacro",
        f"""{HEAD}
<xacro:arg name="side" default="left"/>
<xacro:property name="length" value="${{0.2 * 3}}"/>
<xacro:macro name="arm" params="side mirror:=1 *origin">
  <link name="${{side}}_arm"><visual><xacro:insert_block name="origin"/>
    <geometry><box size="${{length * mirror}} 1 ${{sin(pi / 2)}}"/></geometry>
  </visual></link>
</xacro:macro>
<xacro:arm side="$(arg side)" mirror="-2"><origin xyz="0 0 1"/></xacro:arm>
<xacro:if value="${{length &gt; 1}}"><link name="long"/></xacro:if>
<xacro:unless value="$(eval side == 'left')"><link name="right"/></xacro:unless>
</robot>""",
    )

    left, right = _expand(file), _expand(file, {"side": "right"})

    assert '<link name="left_arm">' in left
    assert '<box size="-1.2000000000000002 1 1.0"/>' in left
    assert '<origin xyz="0 0 1"/>' in left
    assert "long" not in left
    assert '<link name="right"/>' not in left
    assert '<link name="right_arm">' in right
    assert '<link name="right"/>' in right


def test_includes_are_relative_to_the_including_file(write: Write) -> None:
    """Not to the working folder."""
    write("parts/deep/c.xacro", f'{HEAD}<link name="c"/></robot>')
    write("parts/b.xacro", f'{HEAD}<xacro:include filename="deep/c.xacro"/></robot>')
    file = write("r.xacro", f'{HEAD}<xacro:include filename="parts/b.xacro"/></robot>')

    assert '<link name="c"/>' in _expand(file)


@pytest.mark.parametrize("named", [True, False])
def test_packages_are_found_by_name_and_in_parents(write: Write, *, named: bool) -> None:
    """Named packages have priority over the folders above the file."""
    write("parts/package.xml", "<package><name>parts</name></package>")
    shared = write("parts/c.xacro", f'{HEAD}<link name="c"/></robot>')
    include = '<xacro:include filename="$(find parts)/c.xacro"/>'
    file = write("bot/urdf/r.xacro", f"{HEAD}{include}</robot>")
    packages = {"parts": str(shared.parent)} if named else {}

    assert '<link name="c"/>' in _expand(file, packages=packages)


def test_missing_package_becomes_a_reference(write: Write) -> None:
    """It may be needed as text only, for example in parameters of a controller."""
    text = f'{HEAD}<link name="a" note="$(find no_such)/x.yaml"/></robot>'
    file = write("r.xacro", f"\n{text}")

    expansion = expand(str(file), {}, {})

    assert 'note="package://no_such/x.yaml"' in expansion.text
    place = Location(str(file), 2, text.index("<link") + 1)
    assert expansion.diagnostics == (
        Diagnostic("package-missing", "package 'no_such' is not found", place),
    )


@pytest.mark.parametrize(
    "use",
    [
        '<xacro:include filename="$(find no_such)/x.xacro"/>',
        "<link name=\"${xacro.load_yaml('$(find no_such)/x.yaml')['a']}\"/>",
    ],
)
def test_missing_package_of_a_required_file_is_named(write: Write, use: str) -> None:
    """The remedy is to name its folder."""
    file = write("r.xacro", f"{HEAD}\n{use}</robot>")

    found = _refuse(file)

    assert "package://no_such/x." in found.message
    assert found.message.endswith("is needed, and the package is not found")
    assert found.location == Location(str(file), 2, 1)


def test_elements_keep_locations_through_macros_and_includes(
    write: Write,
) -> None:
    """Diagnostics have the line that has to be changed."""
    write(
        "m.xacro",
        f"""{HEAD}
<xacro:macro name="arm" params="n">

  <link name="${{n}}"><inertial><mass value="1,"/></inertial></link>
</xacro:macro></robot>""",
    )
    file = write(
        "r.xacro",
        f"""{HEAD}
<xacro:include filename="m.xacro"/>
  <link name="a"/>
<xacro:arm n="b"/></robot>""",
    )
    included = str(file.with_name("m.xacro"))

    expansion = expand(str(file), {}, {})

    assert expansion.origins == (
        Location(str(file), 1, 1),
        Location(str(file), 3, 3),
        Location(included, 4, 3),
        Location(included, 4, 21),
        Location(included, 4, 31),
    )


def test_locations_of_the_reader_are_in_xacro_files(write: Write) -> None:
    """Of its diagnostics, and of links and joints."""
    write(
        "m.xacro",
        f"""{HEAD}<xacro:macro name="arm" params="n"><link name="${{n}}"/>
<joint name="j" type="continuous"><parent link="a"/><child link="${{n}}"/>
  <axis xyz="0 0 1,"/></joint></xacro:macro></robot>""",
    )
    file = write(
        "r.xacro",
        f'{HEAD}\n<xacro:include filename="m.xacro"/><xacro:arm n="b"/>\n<link name="a"/></robot>',
    )
    included = str(file.with_name("m.xacro"))

    parsed = parse(file)

    assert [link.location for link in parsed.robot.links] == [
        Location(included, 1, 96),
        Location(str(file), 3, 1),
    ]
    assert [(d.rule, d.location) for d in parsed.diagnostics] == [
        ("number-punctuation", Location(included, 3, 3))
    ]


def test_elements_of_one_macro_are_distinguished(write: Write) -> None:
    """Custom data of one is not that of the others."""
    macro = (
        '<xacro:macro name="part" params="n rgba"><link name="${n}"><visual><geometry>'
        '<sphere radius="1"/></geometry><material name=""><color rgba="${rgba}"/>'
        "</material></visual></link></xacro:macro>"
    )
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    file = write(
        "r.xacro",
        f'{HEAD}{macro}<xacro:part n="a" rgba="1 0 0 1"/>'
        f'<xacro:part n="b" rgba="0 1 0 1"/>{joint}</robot>',
    )

    links = parse(file).robot.links

    colours = [v.material and v.material.rgba for link in links for v in link.visuals]
    assert colours == [(1, 0, 0, 1), (0, 1, 0, 1)]
    assert links[0].location != links[1].location
    assert str(links[0].location) == str(links[1].location)


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
    """Of the element, or of the character that is not XML."""
    file = write("r.xacro", f"{HEAD}\n{inside}</robot>")

    found = _refuse(file)

    assert message in found.message
    assert found.location == Location(str(file), 2, column)


def test_error_in_an_included_file_names_that_file(write: Write) -> None:
    """Also if it is not XML."""
    broken = write("b.xacro", f"{HEAD}\n\n  <link></robot>")
    file = write("r.xacro", f'{HEAD}<xacro:include filename="b.xacro"/></robot>')

    found = _refuse(file)

    assert found.location
    assert found.location.file == str(broken)
    assert found.location.line == 3


def test_xacro_warnings_are_reported_once(write: Write) -> None:
    """With the location of the element that is expanded."""
    file = write(
        "r.xacro",
        f'{HEAD}\n<xacro:property name="pi" value="3"/>'
        '<link name="${range(2)[1]}"/><link name="a${range(2)[0]}"/></robot>',
    )

    found = expand(str(file), {}, {}).diagnostics

    assert [(d.rule, d.message) for d in found] == [
        ("xacro-warning", "redefining global symbol: pi"),
        (
            "xacro-warning",
            "Using range() directly is deprecated. Use python.range() instead.",
        ),
    ]
    assert [d.location and d.location.line for d in found] == [2, 2]


def test_files_of_other_folders_are_reported(write: Write) -> None:
    """Included files and YAML files; files of the robot's package are not."""
    outside = write("secret/m.xacro", f'{HEAD}<link name="m"/></robot>')
    secret = write("secret/s.yaml", "key: hunter2")
    write("ws/other/package.xml", "<package><name>other</name></package>")
    write("ws/other/o.xacro", f'{HEAD}<link name="o"/></robot>')
    write("ws/bot/package.xml", "<package><name>bot</name></package>")
    write("ws/bot/own.yaml", "key: own")
    file = write(
        "ws/bot/urdf/r.xacro",
        f"""{HEAD}
<xacro:include filename="{outside}"/>
<link name="${{xacro.load_yaml('{secret}')['key']}}"/>
<link name="${{xacro.load_yaml('../own.yaml')['key']}}"/>
<xacro:include filename="$(find other)/o.xacro"/></robot>""",
    )

    found = expand(str(file), {}, {}).diagnostics

    assert [(d.rule, d.location and d.location.line) for d in found] == [
        ("file-outside", 2),
        ("file-outside", 3),
    ]
    assert str(outside) in found[0].message


def test_unused_argument_is_reported(write: Write) -> None:
    """Its name is probably misspelt."""
    declared = '<xacro:arg name="hand" default="true"/>'
    file = write("r.xacro", f'{HEAD}{declared}<link name="$(arg who)"/></robot>')

    found = expand(str(file), {}, {"hnad": "false", "hand": "1", "who": "x"})

    assert [(d.rule, d.message) for d in found.diagnostics] == [
        ("xacro-argument-unused", "argument 'hnad' is not used by r.xacro")
    ]


def test_expansion_is_not_repeated(write: Write) -> None:
    """Escaped expressions are kept, as in ROS."""
    file = write("r.xacro", f'{HEAD}<link name="a"/><plugin v="$${{x}} $$(arg y)"/></robot>')

    assert '<plugin v="${x} $(arg y)"/>' in _expand(file)


def test_declared_encoding_is_used(write: Write) -> None:
    """Independent of the locale."""
    file = write("r.xacro", "")
    text = f'<?xml version="1.0" encoding="latin-1"?>{HEAD}<link name="Größe"/></robot>'
    file.write_bytes(text.encode("latin-1"))

    assert '<link name="Größe"/>' in _expand(file)


def test_robot_is_named_after_its_xacro_file(write: Write) -> None:
    """Without both suffixes."""
    file = write("bot.urdf.xacro", '<robot><link name="a"/></robot>')

    assert parse(file).robot.name == "bot"


def test_expansion_is_deterministic(write: Write) -> None:
    """Also if it depends on the order of a set."""
    names = "${str(python.set(['a', 'b', 'c', 'd', 'e', 'f']))}"
    file = write("r.xacro", f'{HEAD}<link name="{names}"/></robot>')

    assert _expand(file) == _expand(file)


def test_expansion_leaves_no_files(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither next to the file nor in the folder for temporary files."""
    file = write("bot/r.xacro", f'{HEAD}<link name="a"/></robot>')
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))

    _expand(file)

    assert list(file.parent.iterdir()) == [file]
    assert not list((tmp_path / "temporary").iterdir())


def test_module_next_to_the_robot_is_not_imported(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A downloaded folder may contain ``json.py``."""
    file = write("r.xacro", f'{HEAD}<link name="a"/></robot>')
    for name in ("json", "xacro", "yaml"):
        write(f"{name}.py", "raise SystemExit('run')")
    monkeypatch.chdir(file.parent)

    assert '<link name="a"/>' in _expand(Path("r.xacro"))


@pytest.mark.parametrize(
    "expression",
    [
        "${[c for c in ().__class__.__base__.__subclasses__()]}",
        "${[x.__class__ for x in [1]]}",
        "${(lambda: ().__class__)()}",
        "${(x for x in [1]).gi_frame.f_back.f_globals}",
        "$(eval open('/etc/passwd'))",
        "$(eval ${code})",
        "$(eval ().__class__)",
    ],
)
def test_expressions_cannot_access_the_interpreter(
    write: Write, tmp_path: Path, expression: str
) -> None:
    """Including lambdas and ``$(eval)``, which xacro itself permits."""
    target = tmp_path / "written"
    code = f"\"open('{target}', 'w').write('x')\""
    properties = f"<xacro:property name='code' value='{code}'/>"
    file = write("r.xacro", f'{HEAD}{properties}<link name="{expression}"/></robot>')

    _refuse(file)

    assert not target.exists()


def test_entities_are_refused_in_every_file(write: Write) -> None:
    """With the location of the declaration."""
    bomb = write(
        "bomb.xacro",
        f'<!DOCTYPE r [<!ENTITY a "aa">\n<!ENTITY b "&a;&a;">]>\n{HEAD}<link name="&b;"/></robot>',
    )
    file = write("r.xacro", f'{HEAD}<xacro:include filename="bomb.xacro"/></robot>')

    found = _refuse(file)

    assert found.message == "entity 'a' is declared"
    assert found.location
    assert (found.location.file, found.location.line) == (str(bomb), 1)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
            "nested infinitely",
        ),
        ('<xacro:include filename="r.xacro"/>', "nested infinitely"),
        ("<link name=\"${'a' * 10 ** 11}\"/>", "needs too much memory"),
    ],
    ids=["recursion", "inclusion", "memory"],
)
def test_unbounded_expansions_are_stopped(write: Write, inside: str, message: str) -> None:
    """By limits of depth and memory."""
    file = write("r.xacro", f"{HEAD}{inside}</robot>")

    assert message in _refuse(file).message


def test_expansion_to_too_many_elements_is_refused(write: Write) -> None:
    """Nested macros multiply elements."""
    doubling = "".join(
        f'<xacro:macro name="m{i}"><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>'
        for i in range(7)
    )
    last = '<xacro:macro name="m7"><link/></xacro:macro>'
    file = write("r.xacro", f"{HEAD}{doubling}{last}<xacro:m0/></robot>")

    assert len(expand(str(file), {}, {}, Limits(elements=129)).origins) == 129
    with pytest.raises(SourceError, match="expansion has more than 128 elements"):
        expand(str(file), {}, {}, Limits(elements=128))


def test_endless_expansion_is_stopped(write: Write) -> None:
    """After the time limit."""
    file = write("r.xacro", f'{HEAD}<link name="${{9 ** 9 ** 9}}"/></robot>')

    with pytest.raises(SourceError, match=r"xacro has not ended after 0\.5 s"):
        expand(str(file), {}, {}, Limits(time=0.5))


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("open({here!r}).read()", True),
        ("import json.tool", True),
        ("open({there!r}, 'w')", False),
        ("open({there!r}, 'ab')", False),
        ("os.open({there!r}, os.O_CREAT | os.O_WRONLY)", False),
        ("os.remove({here!r})", False),
        ("os.rename({here!r}, {there!r})", False),
        ("os.mkdir({there!r})", False),
        ("os.system('true')", False),
        ("os.fork()", False),
        ("import subprocess; subprocess.run(['true'])", False),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", False),
        ("import ctypes; ctypes.CDLL(None)", False),
    ],
)
def test_expansion_process_may_only_read_files(
    tmp_path: Path, statement: str, *, allowed: bool
) -> None:
    """Also if an expression accesses the interpreter."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.touch()
    program = Path(expansion.__file__).with_name("xacro_process.py")
    text = (
        f"import os, runpy; names = runpy.run_path({str(program)!r})\n"
        "names['confine'](2 << 30)\ntry:\n"
        f" {statement.format(here=str(here), there=str(there))}; print('done')\n"
        "except Exception as error:\n print(type(error).__name__)"
    )

    process = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, check=True, text=True
    )

    assert process.stdout.strip() == ("done" if allowed else "RefusalError")
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_time_limit_includes_the_search_for_packages(write: Write) -> None:
    """It applies to the whole expansion."""
    names = "".join(f'<link name="$(find p{index})"/>' for index in range(10_000))
    file = write("r.xacro", f"{HEAD}{names}</robot>")

    with pytest.raises(SourceError, match="xacro has not ended after 1 s"):
        expand(str(file), {}, {}, Limits(time=1.0))
