"""The grammar of references."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.corpus.references import GRAMMAR, Reference, Scheme, parse_reference
from urdf_usd.corpus.robots import ReferenceSyntaxError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("robot.urdf", Reference(Scheme.FILE, "robot.urdf")),
        ("./robots", Reference(Scheme.FILE, "./robots")),
        ("a b/robot.URDF", Reference(Scheme.FILE, "a b/robot.URDF")),
        ("C:\\robots\\arm.urdf", Reference(Scheme.FILE, "C:\\robots\\arm.urdf")),
        ("file:arm.xml", Reference(Scheme.FILE, "arm.xml")),
        ("file:odd:name.urdf", Reference(Scheme.FILE, "odd:name.urdf")),
        ("dir:robots", Reference(Scheme.FOLDER, "robots")),
        ("rd:panda_description", Reference(Scheme.DESCRIPTIONS, "panda_description")),
        ("pybullet:a1/a1.urdf", Reference(Scheme.PYBULLET, "a1/a1.urdf")),
        ("erd:panda", Reference(Scheme.EXAMPLES, "panda")),
        ("pybullet", Reference(Scheme.PYBULLET, None)),
        ("rd", Reference(Scheme.DESCRIPTIONS, None)),
        ("erd", Reference(Scheme.EXAMPLES, None)),
    ],
)
def test_every_form_of_the_grammar_is_parsed(text: str, expected: Reference) -> None:
    """A file, a source with a name, a folder, or a whole source."""
    assert parse_reference(text) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("pybulet", "did you mean 'pybullet'?"),
        ("robots", "neither a file nor a corpus"),
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


@given(
    st.sampled_from(Scheme),
    st.text(min_size=1).filter(str.strip),
)
def test_text_of_a_reference_is_parsed_back(scheme: Scheme, target: str) -> None:
    reference = Reference(scheme, target)

    assert parse_reference(str(reference)) == reference
