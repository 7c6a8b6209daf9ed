"""What is read from the small files in ``reading.txt`` and ``xacro.txt``: robots, and diagnostics.

See :mod:`tests.stored_cases`; options are JSON.
"""

from __future__ import annotations

import json
import locale
import os
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pybullet_data
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from msgspec import Struct, structs

from tests.stored_cases import OPTIONS, Case, check_outcomes, write_files
from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.urdf.xacro import expand

_OBLIQUE = Path(__file__).parents[2] / "data/urdf/oblique.urdf"
_BULLET = Path(pybullet_data.getDataPath())
# Xacro files must not read the first.
_VARIABLES = {"ROBOT_TEST_VARIABLE": "hunter2", "ROS_DISTRO": "jazzy"}


def _shown(value: object) -> str:
    """Return a value without fields that have their defaults, and without locations."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if not isinstance(value, Struct):
        return repr(value)
    fields = [
        f"{field.name}={_shown(content)}"
        for field in structs.fields(value)
        if field.name != "location" and (content := getattr(value, field.name)) != field.default
    ]
    return f"{type(value).__name__}({', '.join(fields)})"


def _outcome(case: Case, folder: Path) -> str:
    file = write_files(case, folder)
    options: dict[str, Any] = {"packages": {}, "arguments": {}}
    options |= json.loads(case.get(OPTIONS, "{}"))
    options["packages"] = {name: str(folder / path) for name, path in options["packages"].items()}
    lines: list[object] = []
    if file.suffix == ".xacro":
        try:
            expansion = expand(str(file), **options)
        except SourceError:
            pass  # reported below
        else:
            lines += ["expansion:", expansion.text, *map(str, expansion.origins)]
            lines += [f"reads {path}" for path in expansion.files]
    diagnostics: tuple[Diagnostic, ...]
    try:
        parsed = parse(file, **options)
    except SourceError as error:
        diagnostics = error.diagnostics
    else:
        robot, diagnostics = parsed.robot, parsed.diagnostics
        lines += [structs.replace(robot, links=(), joints=()), *robot.links, *robot.joints]
    found = [*map(str, diagnostics), *(x if isinstance(x, str) else _shown(x) for x in lines)]
    return "\n".join(found).replace(f"{folder}{os.sep}", "")


@pytest.mark.parametrize("stored", ["reading", "xacro"])
def test_small_files_are_read_as_stored(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _VARIABLES.items():
        monkeypatch.setenv(name, value)
    check_outcomes(Path(__file__).with_name(f"{stored}.txt"), _outcome, tmp_path)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *((name, "file-missing") for name in ("missing.urdf", "empty.urdf/no.urdf", "\0")),
        *((name, "file-unreadable") for name in (".", "/dev/null")),
        ("empty.urdf", "file-empty"),
        ("text.urdf", "xml-syntax"),
        ("sparse.urdf", "file-size"),
    ],
)
def test_file_that_is_not_urdf_is_one_diagnostic(tmp_path: Path, name: str, rule: str) -> None:
    (tmp_path / "empty.urdf").touch()
    (tmp_path / "text.urdf").write_text("a robot", encoding="utf-8")
    with (tmp_path / "sparse.urdf").open("wb") as sparse:
        sparse.truncate(1 << 40)

    with pytest.raises(SourceError) as caught:
        parse(tmp_path / name)

    (found,) = caught.value.diagnostics
    assert (found.rule, str(found.location)) == (rule, f"{tmp_path / name}:1:1")


def _joint(name: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/>'
        f'<child link="{child}"/>{inside}</joint>'
    )


def test_tree_below_a_root_option_is_read_alone(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    links = "".join(f'<link name="{name}"/>' for name in "abcde")
    loop = _joint("i", "d", "e") + _joint("k", "e", "d")
    follower = _joint("j", "b", "c", '<mimic joint="i"/>')
    text = f'<robot name="r">{links}{loop}{_joint("h", "a", "b")}{follower}</robot>'
    file.write_text(text, encoding="utf-8")

    parsed = parse(file, root="b")

    assert [link.name for link in parsed.robot.links] == ["b", "c"]
    assert [joint.name for joint in parsed.robot.joints] == ["j"]
    assert [d.rule for d in parsed.diagnostics] == ["mimic-target-missing"]
    for root, rule in (("z", "root-unknown"), ("d", "tree-loop")):
        with pytest.raises(SourceError, match=rf"\[{rule}\]"):
            parse(file, root=root)


def _read(folder: Path, inside: str) -> Parsed:
    file = folder / "robot.urdf"
    file.write_text(f'<robot name="r"{inside}</robot>', encoding="utf-8")
    return parse(file)


def test_robots_that_differ_only_in_custom_data_are_equal(tmp_path: Path) -> None:
    one = _read(tmp_path, '><link name="a"/>').robot
    two = _read(tmp_path, ' x="1"><link name="a"><y/></link>').robot

    assert one == two
    assert bool(two.custom)
    assert not one.custom


def test_locale_with_decimal_comma_has_no_effect(tmp_path: Path) -> None:
    previous = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        break
    try:
        inertial = '<inertial><mass value="1.5"/></inertial>'
        link = _read(tmp_path, f'><link name="a">{inertial}</link>').robot.links[0]
    finally:
        locale.setlocale(locale.LC_NUMERIC, previous)

    assert link.mass == 1.5


def test_reported_path_is_the_given_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_OBLIQUE.parent)

    location = parse(_OBLIQUE.name).robot.links[0].location

    assert str(location) == "oblique.urdf:5:3"


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("biped/biped2d_pybullet.urdf", {"xml-declaration": 1}),
        ("differential/diff_ring.urdf", {"xml-declaration": 1}),
        ("humanoid/humanoid.urdf", {"xml-outside": 1}),
        ("husky/husky.urdf", {"xacro-in-urdf": 1, "number-invalid": 0}),
        ("quadruped/microtaur/microtaur.urdf", {"vector-length": 8}),
        ("bicycle/bike.urdf", {"number-punctuation": 2}),
        ("spherical_joint_limit.urdf", {"joint-type-extension": 1}),
        ("plane_implicit.urdf", {"geometry-unknown": 1}),
    ],
)
def test_known_faults_are_read_with_warnings(name: str, rules: dict[str, int]) -> None:
    # PyBullet accepts them without a warning.
    found = [d.rule for d in parse(_BULLET / name).diagnostics]

    assert {rule: found.count(rule) for rule in rules} == rules


def test_every_robot_of_pybullet_data_is_read_or_refused_with_a_reason() -> None:
    for file in _BULLET.rglob("*.urdf"):
        if "random_urdfs" in file.parts:
            continue
        try:
            assert parse(file).robot.links
        except SourceError as error:
            errors = [d.rule for d in error.diagnostics if d.severity == "error"]
            assert (file.name, errors) == ("torus_deform.urdf", ["robot-deformable"])


# Laws of reading: order, spacing, arbitrary text


def _robot_or_diagnostics(content: bytes) -> Robot | tuple[Diagnostic, ...]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "r.urdf")
        file.write_bytes(content)
        try:
            return parse(file).robot
        except SourceError as error:
            assert error.diagnostics
            assert all(diagnostic.location for diagnostic in error.diagnostics)
            return error.diagnostics


def _markup() -> etree._Element:
    parser = etree.XMLParser(remove_comments=True, remove_blank_text=True)
    return etree.parse(_OBLIQUE, parser).getroot()


def _shuffled(element: etree._Element, random: Random) -> etree._Element:
    """Copy an element with attributes, children and spacing in random order."""
    attributes, children = list(element.items()), list(element)
    random.shuffle(attributes)
    random.shuffle(children)
    copy = etree.Element(element.tag, dict(attributes))
    for child in children:
        if random.random() < 0.3:
            copy.append(etree.Comment(' <link name="not"/> '))
        copy.append(_shuffled(child, random))
        copy[-1].tail = random.choice(["", "\n", "\t \r\n"])
    return copy


@given(st.randoms(use_true_random=False))
def test_order_and_spacing_do_not_matter(random: Random) -> None:
    found = _robot_or_diagnostics(etree.tostring(_shuffled(_markup(), random)))
    expected = parse(_OBLIQUE).robot

    assert isinstance(found, Robot)
    assert found.name == expected.name
    assert {*found.links} == {*expected.links}
    assert {*found.joints} == {*expected.joints}


@given(
    st.sampled_from(["xyz", "rpy", "value", "ixx", "lower", "effort", "size", "rgba"]),
    st.text(max_size=12),
)
def test_any_attribute_text_gives_a_robot_or_diagnostics(attribute: str, value: str) -> None:
    root = _markup()
    kept = "".join(c for c in value if c in "\t\n\r" or " " <= c <= "\ud7ff")
    for element in root.iter():
        if element.get(attribute) is not None:
            element.set(attribute, kept)

    found = _robot_or_diagnostics(etree.tostring(root))

    assert isinstance(found, tuple) or len(found.links) == 4


@given(st.data())
def test_any_damage_gives_a_robot_or_diagnostics(data: st.DataObject) -> None:
    content = _OBLIQUE.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(start + 40, len(content))))

    _robot_or_diagnostics(content[:start] + data.draw(st.binary(max_size=8)) + content[end:])
