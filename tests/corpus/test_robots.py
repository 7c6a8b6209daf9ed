"""References and names of robots, and their selection."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.corpus import robots as r


@pytest.mark.parametrize(
    ("text", "scheme", "target"),
    [
        ("robot.urdf", "file", "robot.urdf"),
        ("./robots", "file", "./robots"),
        ("a b/robot.URDF", "file", "a b/robot.URDF"),
        ("C:\\robots\\arm.urdf", "file", "C:\\robots\\arm.urdf"),
        ("file:odd:name.xml", "file", "odd:name.xml"),
        ("dir:robots", "dir", "robots"),
        ("rd:panda_description", "rd", "panda_description"),
        ("pybullet", "pybullet", None),
        ("rd", "rd", None),
        ("erd", "erd", None),
    ],
)
def test_every_form_of_the_grammar_is_parsed(text: str, scheme: str, target: str | None) -> None:
    assert r.parse_reference(text) == r.Reference(r.Scheme(scheme), target)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("   ", "neither a file nor a corpus"),
        ("pybulet", "close to it: pybullet"),
        ("..", "neither a file nor a corpus"),
        ("RD:panda_description", "'RD' is not a source; close to it: rd"),
        ("http://example.org/r.urdf", "'http' is not a source"),
        ("dir: ", "nothing follows the colon"),
    ],
)
def test_unknown_form_is_refused_with_the_grammar(text: str, hint: str) -> None:
    with pytest.raises(r.ReferenceSyntaxError) as refusal:
        r.parse_reference(text)

    assert hint in str(refusal.value)
    assert r.GRAMMAR in str(refusal.value)


@given(st.text())
def test_any_text_is_a_reference_or_refused(text: str) -> None:
    try:
        reference = r.parse_reference(text)
    except r.ReferenceSyntaxError:
        return
    assert reference.target or reference.whole


@pytest.mark.parametrize(
    ("scheme", "target", "expected"),
    [
        ("pybullet", "kuka_iiwa/model.urdf", "pybullet--kuka_iiwa--model"),
        ("erd", "alexander_v1.lowerBodyOnly", "erd--alexander_v1.lowerBodyOnly"),
        ("dir", "arm/arm.URDF", "dir--arm--arm"),
        ("file", "../../arm.urdf.xacro", "file--arm"),
    ],
)
def test_plain_reference_gives_a_readable_name(scheme: str, target: str, expected: str) -> None:
    assert r.identifier(scheme, target) == expected


@given(st.text(max_size=400))
def test_every_name_is_a_valid_file_name(target: str) -> None:
    name = r.identifier("dir", target)

    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert len(name) <= 200


def test_names_that_are_equal_for_a_file_system_are_distinguished() -> None:
    replaced = {r.identifier("dir", name) for name in ("a b.urdf", "a?b.urdf", "aüb.urdf")}
    ids = r.distinct(["dir--Arm", "dir--arm", "dir--leg"], ["Arm", "arm", "leg"])

    assert len(replaced) == 3
    assert len({name.casefold() for name in ids}) == 3
    assert ids[2] == "dir--leg"


def _robot(name: str, **origin: object) -> r.UnavailableSource:
    return r.UnavailableSource(name, f"rd:{name}", "", r.Origin(**origin))  # type: ignore[arg-type]  # as they are named there


DOG = _robot("dog", tags=("quadruped",), maker="UNITREE Robotics", license="MIT")
ARM = _robot("arm", tags=("arm",), maker="Franka Robotics", license="Apache-2.0")
TWO = _robot("two", tags=("arm", "dual_arm"), maker="ABB")
FILE = r.UnavailableSource("file", "file:a.urdf", "")
ALL = (DOG, ARM, TWO, FILE)


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (r.Selection(), ALL),
        (r.Selection(tags=("ARM",)), (ARM, TWO)),
        (r.Selection(tags=("quadruped", "dual_arm")), (DOG, TWO)),
        (r.Selection(makers=("unitree",)), (DOG,)),
        (r.Selection(makers=("robotics",), tags=("arm",)), (ARM,)),
        (r.Selection(licenses=("mit", "apache-2.0")), (DOG, ARM)),
    ],
)
def test_values_of_one_option_are_alternatives(
    selection: r.Selection, chosen: tuple[r.UnavailableSource, ...]
) -> None:
    assert selection.apply(ALL, lambda _: None) == chosen


def test_robots_without_catalogue_data_are_excluded_and_counted() -> None:
    lines: list[str] = []

    r.Selection(licenses=("MIT",)).apply(ALL, lines.append)

    assert lines == ["robots left out, because their license is unknown: 2"]


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        (
            r.Selection(tags=("quadrupd",)),
            "no robot has the tag 'quadrupd'; close to it: quadruped",
        ),
        (r.Selection(makers=("x",)), "no robot has the maker 'x'"),
        (r.Selection(tags=("dual_arm",), licenses=("MIT",)), "no robot matches all"),
    ],
)
def test_unknown_value_is_refused(selection: r.Selection, reason: str) -> None:
    with pytest.raises(r.CorpusError, match=reason):
        selection.apply(ALL, lambda _: None)


@pytest.mark.parametrize(
    ("text", "forbidden", "expected"),
    [
        ("GPL-3.0-or-later", "copyleft", True),
        ("GPLv3", "copyleft", True),
        ("LGPL-2.1", "copyleft", True),
        ("GNU General Public License", "copyleft", True),
        ("CC-BY-SA-4.0", "copyleft", True),
        ("CC-BY-4.0", "copyleft", False),
        ("BSD-3-Clause", "copyleft", False),
        ("MIT OR GPL-3.0-only", "copyleft", False),
        ("MIT AND (GPL-3.0-only)", "copyleft", True),
        ("GPL-3.0-or-later", "gpl-3.0", True),
        ("GPL-3.0+", "GPL-3.0", True),
        ("GPL-2.0-only", "GPL-3.0", False),
        ("GPL-2.0-only", "GPL", True),
        ("LGPL-2.0-only", "GPL", False),
        ("CC-BY-NC-4.0", "CC-BY-NC", True),
    ],
)
def test_forbidden_licence(text: str, forbidden: str, expected: bool) -> None:
    assert r.is_forbidden(text, (forbidden,)) is expected


def test_robot_under_forbidden_licence_is_refused_only_if_selected() -> None:
    lines: list[str] = []
    forbidding = r.Selection(forbidden=("Apache-2.0",))

    with pytest.raises(r.CorpusError, match=r"rd:arm \(Apache-2.0\)"):
        forbidding.apply(ALL, lines.append)
    assert r.Selection(licenses=("MIT",), forbidden=("Apache-2.0",)).apply(ALL, lines.append) == (
        DOG,
    )
    r.Selection(forbidden=("GPL-3.0",)).apply(ALL, lines.append)
    assert lines[-1] == "--forbid-license: the licence of 2 of 4 is unknown"
