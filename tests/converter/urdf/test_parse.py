"""Whole files: errors, one diagnostic per fault, and notes."""

from __future__ import annotations

import locale
from collections.abc import Callable
from pathlib import Path

import pytest

from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.robot.model import Pose
from urdf_usd.converter.urdf.parse import Parsed, parse

Read = Callable[[str], Parsed]
Refuse = Callable[[str], tuple[Diagnostic, ...]]


def _brief(diagnostics: tuple[Diagnostic, ...]) -> list[tuple[str, int, int]]:
    """Return rule, line and column of each diagnostic."""
    return [(d.rule, d.location.line, d.location.column) for d in diagnostics if d.location]


def _fixed(name: str, parent: str, child: str) -> str:
    return (
        f'<joint name="{name}" type="fixed">'
        f'<parent link="{parent}"/><child link="{child}"/></joint>'
    )


_LINKS = '<link name="a"/><link name="b"/>'
_BOX = '<collision><geometry><box size="1 2 3"/></geometry></collision>'
_LINK_C = '<link name="c"/>'


@pytest.mark.parametrize(
    ("inside", "rule", "line", "column"),
    [
        ("", "robot-empty", 1, 1),
        (f"{_LINKS}", "tree-roots", 2, 17),
        (f"{_LINKS}\n{_fixed('j', 'a', 'a')}", "tree-loop", 3, 1),
        (
            f"{_LINKS}\n{_fixed('j', 'a', 'b')}\n {_fixed('k', 'b', 'a')}",
            "tree-loop",
            4,
            2,
        ),
        (
            f"{_LINKS}{_LINK_C}\n{_fixed('j', 'a', 'c')}\n{_fixed('k', 'b', 'c')}",
            "tree-parents",
            4,
            1,
        ),
        (f'<link name="a"/>\n  <link name="a">{_BOX}</link>', "name-duplicate", 3, 3),
        (
            f'{_LINKS}<link name="c"/>{_fixed("j", "a", "b")}\n{_fixed("j", "b", "c")}',
            "name-duplicate",
            3,
            1,
        ),
        (
            f"{_LINKS}\n{_fixed('j', 'a', 'b').replace('fixed', 'screw')}",
            "joint-type",
            3,
            1,
        ),
        ("<link/>", "attribute-missing", 2, 1),
        ('<link name=""/>', "attribute-missing", 2, 1),
        (
            f'{_LINKS}<joint name="j" type="fixed"><parent link="a"/></joint>',
            "element-missing",
            2,
            33,
        ),
        (
            f'{_LINKS}<joint name="j"><parent link="a"/><child link="b"/></joint>',
            "attribute-missing",
            2,
            33,
        ),
    ],
)
def test_every_fault_is_one_diagnostic_with_location(
    refuse: Refuse, inside: str, rule: str, line: int, column: int
) -> None:
    """Columns are counted by hand."""
    found = refuse(f'<robot name="r">\n{inside}</robot>')

    assert _brief(found) == [(rule, line, column)]


def test_independent_faults_are_all_reported(refuse: Refuse) -> None:
    """In the order of the file."""
    found = refuse(
        f'<robot name="r">{_LINKS}\n{_fixed("j", "a", "z")}\n'
        f"{_fixed('k', 'a', 'b').replace('fixed', 'screw')}\n"
        '<link name="b"><inertial><mass value="-1"/></inertial></link></robot>'
    )

    rules = [rule for rule, _, _ in _brief(found)]
    errors = [rule for rule in rules if rule != "inertia-missing"]
    assert errors == ["joint-dangling", "joint-type", "name-duplicate", "mass-negative"]


@pytest.mark.parametrize("name", ["missing.urdf", ".", "empty.urdf", "text.urdf"])
def test_file_that_is_not_urdf_is_one_diagnostic(tmp_path: Path, name: str) -> None:
    """With the path as given, line and column."""
    (tmp_path / "empty.urdf").touch()
    (tmp_path / "text.urdf").write_text("a robot", encoding="utf-8")
    path = tmp_path / name

    with pytest.raises(SourceError) as caught:
        parse(path)

    (found,) = caught.value.diagnostics
    assert str(found.location) == f"{path}:1:1"


@pytest.mark.parametrize("root", ["sdf", "mujoco", "Robot"])
def test_other_root_element_is_refused(refuse: Refuse, root: str) -> None:
    """Only <robot> is URDF."""
    assert _brief(refuse(f"\n<{root}/>")) == [("root-element", 2, 1)]


def test_robot_without_name_is_named_after_its_file(read: Read) -> None:
    """Also if the name is empty."""
    for root in ("<robot>", '<robot name="">'):
        parsed = read(f'{root}<link name="a"/></robot>')

        assert parsed.robot.name == "robot"
        assert [d.rule for d in parsed.diagnostics] == ["robot-unnamed"]


def test_unknown_elements_are_noted_once_per_name(read: Read) -> None:
    """With a count, without their content."""
    parsed = read(
        '<robot name="r" xmlns:x="http://x"><gazebo><link name="z"/></gazebo>\n'
        '<link name="a" kind="1" x:k="2"><gazebo/></link><gazebo/></robot>'
    )

    assert [(str(d.severity), d.message) for d in parsed.diagnostics] == [
        ("note", "<gazebo> is not URDF; kept as custom data (3 times)"),
        ("note", "kind of <link> is not URDF; kept as custom data (once)"),
        ("note", "x:k of <link> is not URDF; kept as custom data (once)"),
    ]


def _origin(read: Read, version: str, attributes: str) -> tuple[Pose, list[str]]:
    parsed = read(
        f'<robot name="r" {version}>{_LINKS}<joint name="j" type="fixed">'
        f'<origin {attributes}/><parent link="a"/><child link="b"/></joint></robot>'
    )
    rules = [diagnostic.rule for diagnostic in parsed.diagnostics]
    return parsed.robot.joints[0].origin, rules


@pytest.mark.parametrize("version", ["1.1", "1.2", "1.17"])
def test_quaternion_is_read_from_version_1_1(read: Read, version: str) -> None:
    """It is normalised, in the order (w, x, y, z)."""
    pose, rules = _origin(read, f'version="{version}"', 'xyz="1 2 3" quat_xyzw="2 -4 4 8"')

    assert pose == Pose((1.0, 2.0, 3.0), (0.8, 0.2, -0.4, 0.4))
    assert rules == []


@pytest.mark.parametrize(
    ("version", "attributes", "rules"),
    [
        ("", 'quat_xyzw="2 -4 4 8"', ["attribute-version"]),
        ('version="1.0"', 'quat_xyzw="2 -4 4 8"', ["attribute-version"]),
        ('version="1.1"', 'quat_xyzw="0 0 0 0"', ["number-invalid"]),
        ('version="1.1"', 'quat_xyzw="0 0 0 1 1"', ["vector-length"]),
        ('version="1.1"', 'rpy="0 0 0" quat_xyzw="0 0 0 -2"', ["rotation-repeated"]),
        ("", 'rpy=""', ["number-invalid"]),
    ],
)
def test_ignored_orientation_is_reported(
    read: Read, version: str, attributes: str, rules: list[str]
) -> None:
    """No rotation is applied, as in most engines."""
    assert _origin(read, version, attributes) == (Pose(), rules)


@pytest.mark.parametrize("quat", ["1 0 0 0", "0 0 0.001 1", "0 0 0 0"])
def test_two_different_rotations_are_an_error(read: Read, quat: str) -> None:
    """Engines would use one or the other; urdfdom refuses both."""
    with pytest.raises(SourceError) as raised:
        _origin(read, 'version="1.1"', f'rpy="0 0 0" quat_xyzw="{quat}"')

    assert [d.rule for d in raised.value.diagnostics] == ["rotation-conflict"]


def test_quaternion_is_ignored_before_version_1_1(read: Read) -> None:
    """It is not an element of URDF 1.0."""
    _, rules = _origin(read, "", 'rpy="0 0 0" quat_xyzw="1 0 0 0"')

    assert rules == ["attribute-version"]


@pytest.mark.parametrize("version", ["2.0", "one", ""])
def test_unknown_version_is_read_with_a_warning(read: Read, version: str) -> None:
    """The file is read as URDF 1.2."""
    _, rules = _origin(read, f'version="{version}"', "")

    assert rules == ["urdf-version"]


def test_packages_are_used_to_find_meshes(tmp_path: Path) -> None:
    """A missing mesh is found once its package is named."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/m.stl").touch()
    file = tmp_path / "r.urdf"
    file.write_text(
        '<robot name="r"><link name="a"><visual><geometry>'
        '<mesh filename="package://p/m.stl"/></geometry></visual></link></robot>',
        encoding="utf-8",
    )

    assert [d.rule for d in parse(file).diagnostics] == ["mesh-missing"]
    assert not parse(file, packages={"p": str(tmp_path / "elsewhere")}).diagnostics


def test_locale_with_decimal_comma_has_no_effect(read: Read) -> None:
    """Graphical programs set it for the whole process."""
    previous = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        break
    try:
        pose, _ = _origin(read, "", 'xyz="0.5 1.5 -2.5"')
    finally:
        locale.setlocale(locale.LC_NUMERIC, previous)

    assert pose.position == (0.5, 1.5, -2.5)
