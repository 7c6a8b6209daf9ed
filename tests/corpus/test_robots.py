"""The grammar of references, and names of robots as file names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.corpus.robots import (
    GRAMMAR,
    Reference,
    ReferenceSyntaxError,
    Scheme,
    distinct,
    identifier,
    parse_reference,
)


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
    assert parse_reference(text) == Reference(Scheme(scheme), target)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("   ", "empty"),
        ("pybulet", "did you mean 'pybullet'?"),
        ("..", "neither a file nor a corpus"),
        ("robot_descriptions:panda", "'robot_descriptions' is not a source"),
        ("RD:panda_description", "did you mean 'rd'?"),
        ("http://example.org/r.urdf", "'http' is not a source"),
        ("rd:", "write 'rd' for all of it"),
        ("dir: ", "nothing follows the colon"),
    ],
)
def test_unknown_form_is_refused_with_the_grammar(text: str, hint: str) -> None:
    with pytest.raises(ReferenceSyntaxError) as refusal:
        parse_reference(text)

    assert hint in str(refusal.value)
    assert GRAMMAR in str(refusal.value)


@given(st.text())
def test_any_text_is_a_reference_or_refused(text: str) -> None:
    try:
        reference = parse_reference(text)
    except ReferenceSyntaxError:
        return
    assert reference.target or reference.whole


@given(st.sampled_from(Scheme), st.text(min_size=1).filter(str.strip))
def test_text_of_a_reference_is_parsed_back(scheme: Scheme, target: str) -> None:
    reference = Reference(scheme, target)

    assert parse_reference(str(reference)) == reference


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
    assert identifier(scheme, target) == expected


@given(st.text(max_size=400))
def test_every_name_is_a_valid_file_name(target: str) -> None:
    name = identifier("dir", target)

    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert len(name) <= 200


def test_names_that_are_equal_for_a_file_system_are_distinguished() -> None:
    replaced = {identifier("dir", name) for name in ("a b.urdf", "a?b.urdf", "aüb.urdf")}
    ids = distinct(["dir--Arm", "dir--arm", "dir--leg"], ["Arm", "arm", "leg"])

    assert len(replaced) == 3
    assert len({name.casefold() for name in ids}) == 3
    assert ids[2] == "dir--leg"
