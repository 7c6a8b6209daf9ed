"""Prim names are legal, unique and as near to the URDF's as can be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf

from converter.usd.names import legal_name, sibling_names


def test_names_that_are_legal_keep_their_spelling_wherever_they_stand() -> None:
    """The mangled neighbour takes the number, not the name that was right."""
    assert sibling_names(["a-b", "a_b", "a b"]) == ("a_b_1", "a_b", "a_b_2")


def test_digits_and_other_scripts_become_legal() -> None:
    """ASCII, for DCC tools that accept no more."""
    assert sibling_names(["1", "", "äΩ", "tcp"]) == ("_1", "_", "__", "tcp")


def test_names_that_are_taken_are_left_alone() -> None:
    """Children that exist already keep their names."""
    assert sibling_names(["visual", "visual"], ["visual"]) == ("visual_1", "visual_2")


@given(st.lists(st.text()), st.lists(st.text()))
def test_all_siblings_are_legal_and_different(
    names: list[str], taken: list[str]
) -> None:
    """OpenUSD itself is the judge of what is legal."""
    result = sibling_names(names, taken)

    assert len(result) == len(names)
    assert all(Sdf.Path.IsValidIdentifier(name) for name in result)
    assert len({*result, *taken}) == len(result) + len(set(taken))


@given(st.lists(st.text(), unique=True))
def test_a_legal_name_does_not_depend_on_the_order(names: list[str]) -> None:
    """Reordering a file renames no prim that had its own name."""
    shuffled = names[::-1]

    first = dict(zip(names, sibling_names(names), strict=True))
    second = dict(zip(shuffled, sibling_names(shuffled), strict=True))

    for name in names:
        if legal_name(name) == name:
            assert first[name] == second[name] == name
