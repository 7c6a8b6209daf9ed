"""Names of prims, and rounding to float32 compared with numpy."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pxr import Sdf, Usd

from urdf_usd.converter.usd.writer.specs import (
    NO_LIMIT,
    SCOPE_PROPERTIES,
    define,
    is_positive_float32,
    legal_name,
    limit_to_float32,
    moments_to_float32,
    show_spec_name,
    sibling_names,
    to_float32,
)


def test_properties_of_scopes_are_those_of_the_schema() -> None:
    """Names of custom data on a Scope must differ."""
    scope = Usd.SchemaRegistry().FindConcretePrimDefinition("Scope")

    assert set(scope.GetPropertyNames()) == SCOPE_PROPERTIES


def test_legal_names_are_kept_and_others_become_ascii() -> None:
    assert sibling_names(["a-b", "a_b", "a b"]) == ("a_b_2", "a_b", "a_b_1")
    assert sibling_names(["1", "", "äΩ", "tcp"]) == ("_1", "_", "__", "tcp")
    assert sibling_names(["visual", "visual"], ["visual"]) == ("visual_1", "visual_2")


@given(st.lists(st.text()), st.lists(st.text()))
def test_sibling_names_are_valid_and_unique(names: list[str], taken: list[str]) -> None:
    result = sibling_names(names, taken)

    assert len(result) == len(names)
    assert all(name.isascii() and Sdf.Path.IsValidIdentifier(name) for name in result)
    assert len({*result, *taken}) == len(result) + len(set(taken))


@given(st.lists(st.text(), unique=True), st.randoms())
def test_name_does_not_depend_on_the_order(names: list[str], chance: Random) -> None:
    """Reordering a file renames no prim."""
    shuffled = chance.sample(names, len(names))

    first = dict(zip(names, sibling_names(names), strict=True))

    assert first == dict(zip(shuffled, sibling_names(shuffled), strict=True))
    assert all(first[name] == name for name in names if legal_name(name) == name)


# What XML 1.0 allows, which is what URDF can have.
_XML = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs"]) | st.sampled_from("\t\n\r"),
    min_size=1,
).filter(lambda text: not set(text) & {"\ufffe", "\uffff"})


@given(_XML)
def test_original_name_is_the_display_name(name: str) -> None:
    layer, again = (Sdf.Layer.CreateAnonymous(".usda") for _ in range(2))
    path = Sdf.Path.absoluteRootPath.AppendChild(legal_name(name))
    show_spec_name(define(layer, path, "Xform"), name)
    again.ImportFromString(layer.ExportToString())

    stage = Usd.Stage.Open(layer)
    prim = stage.GetPrimAtPath(path)
    assert (prim.GetDisplayName() or prim.GetName()) == name
    spec = again.GetPrimAtPath(path)
    assert (spec.GetInfo("displayName") or spec.name) == name


_LARGEST = float(np.finfo(np.float32).max)
_SIZES = st.floats(1e-6, 1e3)


@given(st.floats(-_LARGEST, _LARGEST))
def test_numbers_are_rounded_like_numpy(value: float) -> None:
    assert to_float32(value, "x") == float(np.float32(value))
    if abs(value) < NO_LIMIT:
        assert limit_to_float32(value) == float(np.float32(value))
    assert is_positive_float32(value) == (np.float32(value) > 0)


def test_range_of_float32_is_that_of_numpy() -> None:
    half_of_smallest = float(np.finfo(np.float32).smallest_subnormal) / 2

    assert float(np.float32(1e37)) == NO_LIMIT
    assert is_positive_float32(_LARGEST)
    assert not any(map(is_positive_float32, (1e300, -1e300, half_of_smallest)))


@given(_SIZES, _SIZES, st.permutations(range(3)))
def test_rounded_moments_of_a_plate_satisfy_the_triangle_inequality(
    a: float, b: float, order: list[int]
) -> None:
    """Perpendicular axis theorem: the moments of a plate satisfy A + B = C."""
    x, y, z = ((a, b, a + b)[index] for index in order)

    rounded = moments_to_float32((x, y, z), "x")

    low, middle, high = sorted(rounded)
    assert low + middle > high
    np.testing.assert_allclose(rounded, (x, y, z), rtol=2.0**-22)
    assert all(float(np.float32(value)) == value for value in rounded)
