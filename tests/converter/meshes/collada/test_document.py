"""Parsing of XML with long lists, compared with ElementTree."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from urdf_usd.converter.meshes.collada.document import parse_document
from urdf_usd.converter.meshes.collada.number_lists import (
    read_floats,
    read_integers,
    text_of,
)
from urdf_usd.converter.meshes.polygon_mesh import MeshError

_LONG = " ".join(str(number / 7.0) for number in range(400))
_WHOLE = " ".join(map(str, range(900)))
_BODIES = {
    "lists": f"<float_array id='a'>{_LONG}</float_array><p>{_WHOLE}</p>",
    "a short list": "<p>1 2 3</p>",
    "line ends": f"<p>{_LONG.replace(' ', chr(10))}</p>",
    "a comment inside": f"<p>{_LONG}<!-- {_LONG} -->{_WHOLE}</p>",
    "a list in a comment": f"<!-- <p>{_LONG}</p> --><p>{_WHOLE}</p>",
    "a list in a section": f"<vcount><![CDATA[<p>{_LONG}<]]></vcount>",
    "a reference": f"<p>{_LONG}&#32;{_LONG}</p>",
    "letters": f"<p>{_LONG} \u00e9</p><float_array>{_LONG}</float_array>",
    "an end of a tag in an attribute": f"<p a='x>{_LONG}'>{_LONG}</p>",
    "elements inside": f"<p>{_LONG}<h>{_WHOLE}</h>{_LONG}</p>",
    "other elements": f"<param>{_LONG}</param><Name_array>{_WHOLE}</Name_array>",
    "an entity": f"<p>&long; {_LONG}</p>",
    "prefixes": f"<c:p xmlns:c='http://example.org/c'>{_LONG}</c:p>",
}
_ENTITY = f"<!DOCTYPE COLLADA [<!ENTITY long '{_WHOLE}'>]>"


def _texts(root: ET.Element) -> list[tuple[str, str | None]]:
    return [(each.tag.rpartition("}")[2], each.text) for each in root.iter()]


_CONTROLS = [chr(code) for code in range(32) if chr(code) not in "\t\n\r"]


@pytest.mark.parametrize("control", _CONTROLS)
def test_control_characters_in_a_list_are_refused(control: str) -> None:
    """As malformed XML, or as no numbers."""
    text = f"{_WHOLE} {_WHOLE.replace(' 7 ', f' 7{control} ')}"

    with pytest.raises((MeshError, ValueError)):
        read_integers(text_of(parse_document(f"<p>{text}</p>".encode())))
    with pytest.raises((MeshError, ValueError)):
        read_floats(text_of(parse_document(f"<p>{text}</p>".encode())))


@pytest.mark.parametrize("body", _BODIES.values(), ids=_BODIES)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_texts_are_those_of_the_document(body: str, encoding: str) -> None:
    """Those after the end of an element are not read."""
    doctype = _ENTITY if "&long;" in body else ""
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>{doctype}'
        f'<COLLADA xmlns="http://example.org">{body}</COLLADA>'
    )
    data = text.encode(encoding)

    assert _texts(parse_document(data)) == _texts(ET.fromstring(data))


@pytest.mark.parametrize(
    "body",
    [
        f"<p>{_LONG}</q>",
        f"<p>{_LONG}",
        f"<p>\n{_LONG}</p>\n<p\0>{_LONG}</p>",
        f"<p>{_LONG}\v1</p>",
        f"<p>{_LONG}]]></p>",
        f"<p>{_LONG}</p><p>&lost;</p>",
    ],
)
def test_faults_are_those_of_the_whole_document(body: str) -> None:
    """With line and column."""
    data = f"<COLLADA>{body}</COLLADA>".encode()
    with pytest.raises(ET.ParseError) as expected:
        ET.fromstring(data)

    with pytest.raises(MeshError) as raised:
        parse_document(data)

    assert str(raised.value) == f"it is not well-formed XML: {expected.value}"


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
    declared = f"<!DOCTYPE COLLADA {doctype}><COLLADA><p>1</p>"

    with pytest.raises(MeshError, match=r"it is not well-formed XML: .*entity"):
        parse_document(f"{declared}<p>&other;</p></COLLADA>".encode())
    root = parse_document(f"{declared}</COLLADA>".encode())
    assert _texts(root) == [("COLLADA", None), ("p", "1")]


def test_unknown_encoding_is_refused() -> None:
    """As malformed XML."""
    with pytest.raises(MeshError, match=r"it is not well-formed XML: .*encoding"):
        parse_document(b"<?xml version='1.0' encoding='fax'?><COLLADA/>")
