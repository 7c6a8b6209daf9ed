"""XML and number lists of COLLADA in every notation."""

from __future__ import annotations

import math
from pathlib import Path
from struct import pack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.meshes.collada import read_dae, read_floats
from urdf_usd.converter.meshes.mesh import MeshError
from urdf_usd.converter.meshes.read import decode_mesh

# Signs, points and exponents in places that JSON does not allow, or without digits.
WORDS = st.one_of(
    st.floats().map(repr),
    st.floats(-1e3, 1e3).map(lambda number: f"{number:.6f}"),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(
        r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
    st.sampled_from(["-0", "0", "-0.0", "INF", "-inf", "nan", "1e400", "5e-324", "007"]),
)
SPACES = st.text(" \t\n\r", min_size=1, max_size=3)
POSITIONS = " ".join(f"{number}e-3" for number in range(3 * 400))
INDICES = " ".join(map(str, range(3 * 133)))


def document(positions: str = POSITIONS, indices: str = INDICES, doctype: str = "") -> bytes:
    """Write triangles over many points."""
    return f"""{doctype}<COLLADA xmlns="http://example.org"><library_geometries><geometry><mesh>
<source id="p"><float_array>{positions}</float_array><technique_common><accessor stride="3"><param
/><param/><param/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION"
source="#p"/></vertices><triangles><input semantic="VERTEX" source="#v" offset="0"/><p>{indices}</p>
</triangles></mesh></geometry></library_geometries></COLLADA>""".encode()


@given(st.lists(WORDS, max_size=8), st.lists(SPACES, min_size=8, max_size=8))
def test_decimals_equal_those_of_python(words: list[str], spaces: list[str]) -> None:
    """Bit for bit, including the sign of zero; all NaNs are equal."""
    text = "".join(space + word for space, word in zip(spaces, words, strict=False))

    numbers = read_floats(text.encode()).tolist()

    for number, exact in zip(numbers, map(float, words), strict=True):
        assert pack("d", number) == pack("d", exact) or (math.isnan(number) and math.isnan(exact))


@pytest.mark.parametrize(
    "text", ["1, 2", "1 [2] 3", "1 true", '1 "2"', "1 {} 2", "0x10", "1 2]", "1 x"]
)
def test_text_other_than_numbers_is_refused(text: str) -> None:
    """Including words that JSON allows."""
    with pytest.raises(ValueError, match=r"."):
        read_floats(text.encode())
    with pytest.raises(MeshError, match="no numbers"):
        read_dae(document(positions=f"{POSITIONS} {text}"))
    with pytest.raises(MeshError, match="indices are broken"):
        read_dae(document(indices=f"{INDICES} {text}"))


@pytest.mark.parametrize(
    ("positions", "indices"),
    [
        (POSITIONS.replace(" ", "\n  "), INDICES),
        (POSITIONS.replace(" 5e-3 ", "<!-- 7 7 --> 5e-3 "), INDICES),
        (POSITIONS.replace(" 5e-3 ", "&#32;5e-3 "), INDICES),
        (f"<![CDATA[{POSITIONS}]]>", INDICES.replace(" 7 ", " +7 ")),
        (POSITIONS, "&all;"),
    ],
)
def test_lists_may_have_any_xml_notation(positions: str, indices: str) -> None:
    doctype = f"<!DOCTYPE COLLADA [<!ENTITY all '{INDICES}'>]>"

    mesh = read_dae(document(positions, indices, doctype))

    expected = np.arange(len(mesh.points) * 3).reshape(-1, 3) / 1000
    np.testing.assert_array_equal(mesh.points, expected.astype(np.float32))
    assert mesh.face_indices.tolist() == list(range(3 * 133))


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ("</q>", "mismatched tag: line 2, column"),
        ("1\v2", r"invalid token.: line 2"),
        ("1]]>2", r"invalid token.: line 2"),
        ("&lost;", "undefined entity"),
        ("<p", "invalid token"),
    ],
)
def test_malformed_xml_is_refused_with_its_location(positions: str, message: str) -> None:
    with pytest.raises(MeshError, match=f"it is not well-formed XML: .*{message}"):
        read_dae(document(positions))


@pytest.mark.parametrize(
    "doctype",
    [
        "[<!ENTITY other SYSTEM 'other.xml'>]",
        "SYSTEM 'other.dtd'",
        "PUBLIC 'other' 'other.dtd' [<!ENTITY % more SYSTEM 'more.dtd'> %more;]",
    ],
)
def test_entities_of_other_files_are_refused(doctype: str) -> None:
    """Their declarations are not read, or their contents."""
    declared = f"<!DOCTYPE COLLADA {doctype}>"

    with pytest.raises(MeshError, match=r"it is not well-formed XML: .*entity"):
        read_dae(document("&other;", doctype=declared))
    assert len(decode_mesh(document(doctype=declared), Path("a.dae")).face_counts) == 133
