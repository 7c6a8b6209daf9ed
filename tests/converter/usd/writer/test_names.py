"""Valid, unique prim names."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf, Usd

from urdf_usd.converter.usd.writer.specs import define, legal_name, show_spec_name, sibling_names


def test_legal_names_are_kept_and_others_become_ascii() -> None:
    assert sibling_names(["a-b", "a_b", "a b"]) == ("a_b_2", "a_b", "a_b_1")
    assert sibling_names(["1", "", "äΩ", "tcp"]) == ("_1", "_", "__", "tcp")
    assert sibling_names(["visual", "visual"], ["visual"]) == ("visual_1", "visual_2")


@given(st.lists(st.text()), st.lists(st.text()))
def test_sibling_names_are_valid_and_unique(names: list[str], taken: list[str]) -> None:
    result = sibling_names(names, taken)

    assert len(result) == len(names)
    assert all(Sdf.Path.IsValidIdentifier(name) for name in result)
    assert all(name.isascii() for name in result)
    assert len({*result, *taken}) == len(result) + len(set(taken))


@given(st.lists(st.text(), unique=True), st.randoms())
def test_name_does_not_depend_on_the_order(names: list[str], chance: Random) -> None:
    """Reordering a file renames no prim."""
    shuffled = chance.sample(names, len(names))

    first = dict(zip(names, sibling_names(names), strict=True))
    second = dict(zip(shuffled, sibling_names(shuffled), strict=True))

    assert first == second
    for name in names:
        if legal_name(name) == name:
            assert first[name] == name


# What XML 1.0 allows, which is what URDF can have.
_XML = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs"]) | st.sampled_from("\t\n\r"),
    min_size=1,
).filter(lambda text: not set(text) & {"\ufffe", "\uffff"})


@given(_XML)
def test_original_name_is_the_display_name(name: str) -> None:
    layer = Sdf.Layer.CreateAnonymous(".usda")
    path = Sdf.Path.absoluteRootPath.AppendChild(legal_name(name))
    show_spec_name(define(layer, path, "Xform"), name)

    stage = Usd.Stage.Open(layer)
    prim = stage.GetPrimAtPath(path)
    assert (prim.GetDisplayName() or prim.GetName()) == name
    again = Sdf.Layer.CreateAnonymous(".usda")
    again.ImportFromString(layer.ExportToString())
    spec = again.GetPrimAtPath(path)
    assert (spec.GetInfo("displayName") or spec.name) == name
