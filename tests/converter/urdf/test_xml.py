"""Bytes to elements."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.urdf.xml import (
    MOST_REPAIRS,
    Element,
    parse_markup,
)


def _elements(data: bytes) -> tuple[Element, tuple[Diagnostic, ...]]:
    notes: list[Diagnostic] = []
    return parse_markup(data, "r.urdf", notes), tuple(notes)


def _refusal(data: bytes) -> Diagnostic:
    with pytest.raises(SourceError) as caught:
        _elements(data)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    assert diagnostic.location is not None
    return diagnostic.location.line, diagnostic.location.column


def test_elements_have_line_and_column() -> None:
    # Counted by hand; comments, umlauts and tabs are one column per character.
    text = '<?xml version="1.0"?>\n<!-- é --><robot>\n\t<link\n name="ä"/><b/></robot>'

    root, found = _elements(text.encode())

    assert not found
    places = [(e.tag, e.location.line, e.location.column) for e in (root, *root.children)]
    assert places == [("robot", 2, 11), ("link", 3, 2), ("b", 4, 12)]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_line_end_is_counted_once(newline: str) -> None:
    root, _ = _elements(newline.join(["<robot>", "", "<a/>", "</robot>"]).encode())

    assert root.children[0].location.line == 3


def test_unknown_xml_version_is_read_as_1_0_with_a_warning() -> None:
    # PyBullet's exporter writes version 0.0; the diagnostic has its location.
    root, found = _elements(b'<?xml version="0.0" ?><robot/>')

    assert root.location.column == 23
    assert [(d.rule, _place(d)) for d in found] == [("xml-version", (1, 1))]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "gb18030"])
def test_encodings_are_detected(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="Bär"/>'

    root, found = _elements(text.encode(encoding))

    assert root.get("name") == "Bär"
    assert not found


def test_document_type_without_entities_is_accepted() -> None:
    assert _elements(b"<!DOCTYPE robot><robot/>")[1] == ()


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"<robot>" + b"<a>" * 5000 + b"</a>" * 5000 + b"</robot>", (1, 605)),
        (b"no element", (1, 1)),
        (b"\x00\x01\x02", (1, 1)),
        (b"<robot>\n<link", (2, 1)),
        (b"<robot>\n <!-- \xc3\xa9 ->", (2, 2)),
        (b"<robot><link name='a></robot>", (1, 22)),
    ],
)
def test_malformed_text_is_refused_with_its_location(data: bytes, place: tuple[int, int]) -> None:
    found = _refusal(data)

    assert (found.rule, _place(found)) == ("xml-syntax", place)


@pytest.mark.parametrize(
    ("data", "place", "name"),
    [
        (b'<?xml version="1.0" encoding="klingon"?><robot name="B"/>', (1, 1), "B"),
        (b'<?xml version="1.0" encoding="utf-16"?><robot name="B"/>', (1, 1), "B"),
        (
            b'<?xml version="1.0" encoding="ascii"?>\n<robot name="B\xe9"/>',
            (2, 15),
            "Bé",
        ),
        (b'<robot\n name="B\xe9"/>', (2, 9), "Bé"),
    ],
)
def test_wrong_encoding_is_reported_and_replaced(
    data: bytes, place: tuple[int, int], name: str
) -> None:
    # By UTF-8 if the bytes are valid, else by Latin-1, in which all bytes are.
    root, found = _elements(data)

    assert [(d.rule, _place(d)) for d in found] == [("xml-encoding", place)]
    assert root.get("name") == name


@pytest.mark.parametrize(
    ("head", "bad", "name"),
    [
        (b"", b"\xe9", "B\u00e4r"),
        (b'<?xml version="1.0" encoding="ascii"?>', "\u00e9".encode(), "B\u00e4r"),
        (b'<?xml version="1.0" encoding="gb2312"?>', b"\xff", "\u673a"),
    ],
)
def test_comment_in_another_encoding_does_not_change_names(
    head: bytes, bad: bytes, name: str
) -> None:
    encoding = "gb2312" if b"gb2312" in head else "utf-8"
    written = f'<robot name="{name}"/>'.encode(encoding)

    root, found = _elements(head + b"<!-- " + bad + b" -->" + written)

    assert root.get("name") == name
    assert [d.rule for d in found] == ["xml-encoding"]


@pytest.mark.parametrize("data", [b"", b" \n\t", codecs.BOM_UTF8])
def test_blank_files_are_reported_as_empty(data: bytes) -> None:
    found = _refusal(data)

    assert (found.rule, _place(found)) == ("file-empty", (1, 1))


_BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    "text",
    [
        f'<!DOCTYPE r [<!ENTITY l0 "ha">{_BOMB}]><robot>&l9;</robot>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot>&x;</robot>',
        '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://localhost/p">%p;]><robot>&x;</robot>',
        '<!DOCTYPE r SYSTEM "http://localhost/r.dtd"><robot>&x;</robot>',
        '<!DOCTYPE r PUBLIC "-//X" "r.dtd"><robot>&x;</robot>',
        # Malformed, and no entity is used.
        " <?xml version='1.0'?><!DOCTYPE r [<!ENTITY a 'b'>]><r/>",
        "<!DOCTYPE r SYSTEM 'file:///etc/passwd'><r>",
        "<!DOCTYPE r [<!ENTITY a 'b'>]><r>&c;",
    ],
)
def test_entities_are_refused_before_expansion(text: str) -> None:
    assert _refusal(text.encode()).rule == "xml-entity"


def test_undeclared_prefixes_are_accepted() -> None:
    # Old ROS files have some; each is reported once.
    root, found = _elements(b'<robot><s:camera x:a="1"/><s:b/></robot>')

    assert [child.tag for child in root.children] == ["s:camera", "s:b"]
    assert [(d.rule, d.message.split("'")[1]) for d in found] == [
        ("xml-prefix", "s"),
        ("xml-prefix", "x"),
    ]


def test_default_namespace_does_not_change_tags() -> None:
    root, _ = _elements(b'<robot xmlns="http://www.ros.org"><link/></robot>')

    assert [root.tag, root.children[0].tag] == ["robot", "link"]


def test_binary_file_is_not_repaired() -> None:
    assert _refusal(b"<robot>" + b"<" * 100_000 + b"</robot>").rule == "xml-syntax"
    assert _refusal(b"<robot>" + b"& " * MOST_REPAIRS + b"</robot>").rule == "xml-syntax"


def test_merge_conflict_is_refused_and_named() -> None:
    sides = b'<<<<<<< HEAD\n<link name="a"/>\n=======\n<link name="b"/>\n>>>>>>> b\n'

    found = _refusal(b'<robot name="r">\n' + sides + b"</robot>")

    assert (found.rule, found.location and found.location.line) == ("xml-syntax", 2)
    assert found.message == "a merge conflict is not resolved"


def _outline(element: Element) -> str:
    """Return tags and attributes without locations."""
    attributes = "".join(f" {name}={value!r}" for name, value in element.attributes)
    inside = "".join(map(_outline, element.children))
    return f"({element.tag}{attributes}{inside})"


@pytest.mark.parametrize(
    ("text", "outline", "rule", "place"),
    [
        ("\n\n<?xml version='1.0'?><r/>", "(r)", "xml-declaration", (3, 1)),
        ("<?xml encoding='utf-8'?><r/>", "(r)", "xml-declaration", (1, 1)),
        ("<!-- a -->\r\n<?xml version='1.0'?><r/>", "(r)", "xml-declaration", (2, 1)),
        ("<r/>\n\0", "(r)", "xml-outside", (2, 1)),
        ("<r/>\n<r/>", "(r)", "xml-outside", (2, 1)),
        ("<r>\n<a/></r>\n <!-- a --> <b/> <c>d</c>", "(r(a))", "xml-outside", (3, 13)),
        ("<r a='1' a='2'/>", "(r a='1')", "attribute-repeated", (1, 10)),
        ("<r>a ]]> b</r>", "(r)", "xml-character", (1, 6)),
        ("<r><!-- \1 --></r>", "(r)", "xml-character", (1, 9)),
        ("<r><![CDATA[\1]]></r>", "(r)", "xml-character", (1, 13)),
        ("<r a='x < y'/>", "(r a='x < y')", "xml-character", (1, 6)),
        ("<r a='\1'/>", "(r a='\ufffd')", "xml-character", (1, 7)),
        ("<r a='b & c'/>", "(r a='b & c')", "xml-reference", (1, 9)),
        ("<r a='&b;&lt;'/>", "(r a='&b;<')", "xml-reference", (1, 7)),
        ("<r><!-- a -- b --></r>", "(r)", "xml-comment", (1, 4)),
        ("<r><x:a/></r>", "(r(x:a))", "xml-prefix", (1, 4)),
    ],
)
def test_faults_that_move_no_element_are_repaired_and_reported(
    text: str, outline: str, rule: str, place: tuple[int, int]
) -> None:
    # Columns are counted by hand; those of elements are not changed.
    root, found = _elements(text.encode())

    assert _outline(root) == outline
    assert [(d.rule, _place(d)) for d in found] == [(rule, place)]
    tag = f"<{root.tag}"
    line = text.replace("\r\n", "\n").split("\n")[root.location.line - 1]
    assert line.startswith(tag, root.location.column - 1)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("<r>\n <a><b></a><c/></r>", (2, 10)),
        ("<r><a>\n</b></a><c/></r>", (2, 3)),
        ("<r><a/>\n", (2, 1)),
        ("<r></r><a/></r>", (1, 8)),
        ("<r a=1/>", (1, 6)),
        ("<r a b='2'/>", (1, 6)),
        ("<r a='1'b='2'/>", (1, 9)),
        ("<r , a='1'/>", (1, 4)),
        ("<r>< a b='1'/></r>", (1, 5)),
        ("<r><a></a b='1'></r>", (1, 11)),
        ("<r><a xyz='0 0 0 rpy='1 2 3'/></r>", (1, 23)),
        ("<r><a b='& c'/><d></r>", (1, 21)),
        ("</a><?xml version='1.0'?><b><robot/>", (1, 2)),
    ],
)
def test_other_faults_are_refused_with_their_place(text: str, place: tuple[int, int]) -> None:
    found = _refusal(text.encode())

    assert (found.rule, _place(found)) == ("xml-syntax", place)


_PIECES = ["<r>", "</r>", "<a b='1'>", "<a/>", "</a>", "&", "<", ">", '"', "<!--", "-->", "]]>"]


@given(st.lists(st.sampled_from([*_PIECES, "<?xml ?>", "\0", " x='", "\n", "<![CDATA["])))
def test_any_text_is_read_or_refused(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        _, found = _elements(text.encode())
    except SourceError as error:
        found = error.diagnostics

    assert all(_place(one)[0] <= text.count("\n") + 1 for one in found)
