"""Recovery of malformed XML: resulting elements and diagnostics."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.diagnostics.findings import drain
from urdf_usd.converter.urdf.xml.elements import DEEPEST, Element
from urdf_usd.converter.urdf.xml.recovery import recover
from urdf_usd.converter.urdf.xml.source import parse_markup


def _recover(text: str) -> tuple[Element, list[tuple[str, int, int]]]:
    root, found = drain(recover(text, "r.urdf"))
    return root, _brief(found)


def _brief(found: tuple[Diagnostic, ...]) -> list[tuple[str, int, int]]:
    return [(d.rule, d.location.line, d.location.column) for d in found if d.location]


def _outline(element: Element) -> str:
    """Return tags and attributes without locations."""
    attributes = "".join(f" {name}={value!r}" for name, value in element.attributes)
    inside = "".join(map(_outline, element.children))
    return f"({element.tag}{attributes}{inside})"


@pytest.mark.parametrize(
    ("text", "outline", "rule", "line", "column"),
    [
        ("\n\n<?xml version='1.0'?><r/>", "(r)", "xml-declaration", 3, 1),
        ("<r/>\n\0", "(r)", "xml-outside", 2, 1),
        ("<r/>\n<r/>", "(r)", "xml-outside", 2, 1),
        ("junk <robot/>", "(robot)", "xml-outside", 1, 1),
        ("<gazebo/>\n<robot/>", "(robot)", "xml-outside", 1, 1),
        ("<r>\n <a><b></a><c/></r>", "(r(a(b))(c))", "xml-nesting", 2, 5),
        ("<r><a>\n</b></a><c/></r>", "(r(a)(c))", "xml-nesting", 2, 1),
        ("<r><a/>\n", "(r(a))", "xml-nesting", 1, 1),
        ("<r a='1' a='2'/>", "(r a='1')", "attribute-repeated", 1, 10),
        ("<r a=1/>", "(r a='1')", "xml-attribute", 1, 6),
        ("<r a b='2'/>", "(r b='2')", "xml-attribute", 1, 4),
        ("<r a='1'b='2'/>", "(r a='1' b='2')", "xml-attribute", 1, 9),
        ("<r , a='1'/>", "(r a='1')", "xml-attribute", 1, 4),
        ("<r a='1', b='2'/>", "(r a='1' b='2')", "xml-attribute", 1, 9),
        ("<r a=0 -1 2 b='2'/>", "(r a='0 -1 2' b='2')", "xml-attribute", 1, 6),
        ("<r 2d='1' b='2'/>", "(r b='2')", "xml-attribute", 1, 4),
        ("<r><a></a b='1'></r>", "(r(a))", "xml-attribute", 1, 7),
        ("<r>< a b='1'/></r>", "(r(a b='1'))", "xml-character", 1, 4),
        ("<r>< a></a></r>", "(r(a))", "xml-character", 1, 4),
        ("<r><a></ a></r>", "(r(a))", "xml-character", 1, 7),
        ("<r>a < b></r>", "(r)", "xml-character", 1, 6),
        ("<r>a ]]> b</r>", "(r)", "xml-character", 1, 4),
        ("<r><!-- \1 --></r>", "(r)", "xml-character", 1, 4),
        ("<r><![CDATA[\1]]></r>", "(r)", "xml-character", 1, 4),
        ("<r><? a?></r>", "(r)", "xml-character", 1, 4),
        ("<?xml encoding='utf-8'?><r/>", "(r)", "xml-declaration", 1, 1),
        ("<r><!DOCTYPE r></r>", "(r)", "xml-declaration", 1, 4),
        ("<r a='x < y'/>", "(r a='x < y')", "xml-character", 1, 6),
        ("<r a='\1'/>", "(r a='\ufffd')", "xml-character", 1, 6),
        ("<r>a < b</r>", "(r)", "xml-character", 1, 6),
        ("<r a='b & c'/>", "(r a='b & c')", "xml-reference", 1, 6),
        ("<r a='&b;&lt;'/>", "(r a='&b;<')", "xml-reference", 1, 6),
        ("<r a='&#0;&#x41;&#66;'/>", "(r a='&#0;AB')", "xml-reference", 1, 6),
        ("<r><!-- a -- b --></r>", "(r)", "xml-comment", 1, 4),
        ("<r><x:a/></r>", "(r(x:a))", "xml-prefix", 1, 4),
    ],
)
def test_unambiguous_faults_are_repaired_and_reported(
    text: str, outline: str, rule: str, line: int, column: int
) -> None:
    """Columns are counted by hand."""
    root, found = _recover(text)

    assert _outline(root) == outline
    assert found[0] == (rule, line, column)
    assert len(found) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<r><a></r",
        "<r><a>",
        "<r a='1",
        "<r><a b='1><c d='2'/></r>",
        "<r><a xyz='0 0 0 rpy='1 2 3'/></r>",
        "<r><a b='1, c='x', d='2'/></r>",
        "<r><a <b/></r>",
        "<r><!-- <a/></r>",
        "<r><![CDATA[ <a/></r>",
        "<?xml <r/>",
        "no tags",
    ],
)
def test_ambiguous_faults_are_refused(text: str) -> None:
    """A missing quote, bracket or end tag may belong in many places."""
    with pytest.raises(SourceError) as caught:
        drain(recover(text, "r.urdf"))

    assert caught.value.diagnostics[-1].rule == "xml-syntax"


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE r [<!ENTITY a 'b'>]><r>",
        "<!DOCTYPE r SYSTEM 'file:///etc/passwd'><r>",
        "<r><!ENTITY a 'b'></r>",
        "<!DOCTYPE r",
    ],
)
def test_entity_declarations_are_refused_in_malformed_text(text: str) -> None:
    """Even if no entity is used."""
    with pytest.raises(SourceError) as caught:
        drain(recover(text, "r.urdf"))

    assert caught.value.diagnostics[-1].rule == "xml-entity"


def test_document_type_without_entities_is_skipped() -> None:
    """As in well-formed text."""
    root, found = _recover("<!DOCTYPE r><r/>")

    assert (_outline(root), found) == ("(r)", [])


_MATERIAL_IN_COLLISION = (
    '<link name="a"><collision><material><color/></material></collision>'
    '<visual><link/></visual><inertial><mass value="3"/></inertial></link>'
)


@pytest.mark.parametrize(
    "text",
    [
        '<!-- c -->\n<?xml version="1.0"?><robot>{}</robot>',
        "<!-- a -- b --><robot>{}</robot>",
        "<robot>{}<!-- a -- b --></robot>",
        "<robot a='&'>{}</robot>",
        "<robot>{}</robot>\0",
        # One surplus or missing end tag elsewhere changes nothing inside.
        "<robot></visual>{}</robot>",
        '<robot><link name="b"><visual></link>{}</robot>',
        '<robot><link name="b">{}</robot>',
        "<robot>{}",
    ],
)
def test_well_nested_elements_keep_their_tree(text: str) -> None:
    """For any tags: URDF has no material inside a collision."""
    root, _ = _recover(text.format(_MATERIAL_IN_COLLISION))
    (expected,) = _recover(f"<robot>{_MATERIAL_IN_COLLISION}</robot>")[0].children

    assert any(_outline(child) == _outline(expected) for child in root.children)
    assert "(link name='a'(collision(material(color)))(visual(link))" in _outline(root)


@pytest.mark.parametrize(
    ("inside", "outline"),
    [
        # An element that cannot contain the next one ends before it, ...
        ("<link name='a'><visual><origin><geometry/></visual></link>", "origin)(geom"),
        ("<link name='a'><visual><geometry/><visual/></link>", "(geometry))(visual)"),
        ("<link name='a'><inertial><mass value='1'><inertia/></inertial></link>", ")("),
        # ... and so does an unknown element before an element of the robot.
        ("<link name='b'/><gazebo><x/><link name='a'/>", "(gazebo(x))(link name='a')"),
        # An early end tag is dropped.
        ("<link name='a'></robot><visual/></link>", "(link name='a'(visual))"),
        ("<link name='a'><visual></link></visual></link>", "(link name='a'(visual))"),
        # An end tag without a start tag of its name is misspelt.
        ("<gazebo><x/></gazebbo><link name='a'/>", "(gazebo(x))(link name='a')"),
        ("<link name='a'></Link><link name='b'/>", "(link name='a')(link name='b')"),
    ],
)
def test_mismatched_tags_are_repaired_by_the_fewest_changes(inside: str, outline: str) -> None:
    """One tag is added or dropped, and no element is reported as lost."""
    root, found = _recover(f"<robot>{inside}</robot>")

    assert outline in _outline(root)
    assert [rule for rule, _, _ in found] == ["xml-nesting"]


def test_lost_elements_are_reported_with_their_location() -> None:
    """The start tag of a link is missing, and with it its name."""
    text = (
        '<robot>\n<link name="a"/>\n<visual/>\n'
        '<inertial><mass value="2.5"/></inertial>\n</link>\n</robot>'
    )

    _, found = drain(recover(text, "r.urdf"))

    places = [(d.location.line, d.location.column) for d in found if d.location]
    assert places == [(5, 1), (3, 1), (4, 1)]
    nowhere = "is in <robot> of line 1 after the repair, which is invalid; left out"
    assert [d.message for d in found[1:]] == [
        f"<visual> {nowhere}",
        f"<inertial> of 2.5 kg {nowhere}",
    ]


def test_elements_outside_the_robot_are_reported_with_their_lines() -> None:
    """Also those of another robot."""
    text = (
        '<robot><link name="a"/></robot>\n<link name="b"/>\n<x/>\n'
        '<robot>\n<joint name="j" type="fixed"/></robot>'
    )

    _, (found,) = drain(recover(text, "r.urdf"))

    assert found.rule == "xml-outside"
    assert "link 'b' in line 2, joint 'j' in line 5" in found.message


def test_lost_reference_to_a_joint_is_not_a_lost_joint() -> None:
    """Transmissions refer to joints by name."""
    text = '<robot><link name="a"><joint name="j"/></visual></link></robot>'

    _, found = _recover(text)

    assert len(found) == 1


def test_repeated_faults_in_long_text_take_linear_time() -> None:
    """250,000 characters, each of which could begin a tag or a name."""
    for text in (
        "</" + "a" * 250_000 + "<r/>",
        "<r" + " " * 250_000 + "<",
        "<" + " " * 250_000 + "a",
        "<r>" + "<!DOCTYPE r> " * 20_000,
        "<robot>" + '<link name="a"><visual>' * 300 + "</robot>",
    ):
        with suppress(SourceError):
            drain(recover(text, "r.urdf"))


def test_unclosed_link_ends_at_the_next_link() -> None:
    """URDF has no links inside links."""
    root, found = _recover(
        '<robot><link name="a"><visual>\n<link name="b"/></robot>',
    )

    assert _outline(root) == "(robot(link name='a'(visual))(link name='b'))"
    assert found == [("xml-nesting", 1, 23), ("xml-nesting", 1, 8)]


def test_elements_of_other_tools_may_contain_links() -> None:
    """A transmission contains joints."""
    root, _ = _recover('<robot>\0<transmission><joint name="j"/></transmission></robot>')

    assert _outline(root) == "(robot(transmission(joint name='j')))"


def test_nesting_limit_applies_to_malformed_text() -> None:
    """It equals the limit for well-formed text."""
    with pytest.raises(SourceError, match="nested"):
        drain(recover("<a>" * (DEEPEST + 1), "r.urdf"))


def test_text_with_too_many_faults_is_refused() -> None:
    """The first ones are reported."""
    with pytest.raises(SourceError) as caught:
        drain(recover(f"<r>{'</a>' * 5000}</r>", "r.urdf"))

    assert len(caught.value.diagnostics) == 1001
    assert caught.value.diagnostics[-1].rule == "xml-syntax"


def test_text_nodes_are_kept() -> None:
    """References are resolved, and children separate text nodes."""
    root, _ = _recover("<r> a &amp; b <c/><![CDATA[<d>]]>\n</r>\0")

    assert root.text == "a & b\n<d>"


_PIECES = st.sampled_from(
    [
        *("<a>", "</a>", "<b x='1'/>", '<b x="&lt;&#65;">', "</b>", "text", " ", "\n"),
        *("\r", "\r\n", "<!-- c -->", "<?p?>", "é", "<a:b y = 'z\n\tw'>", "</a:b>"),
        *(
            "<b x='&#10;\t'/>",
            "&amp;",
            "<![CDATA[<c>]]>",
            "&",
            "<",
            ">",
            "'",
            '"',
            "=",
            "\0",
        ),
        "<!DOCTYPE a>",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_well_formed_text_is_recovered_as_expat_parses_it(inside: str) -> None:
    """Tags, attributes, text and locations, without diagnostics."""
    text = f"<robot xmlns:a='u'>{inside}</robot>"
    try:
        found: list[Diagnostic] = []
        root = parse_markup(text.encode(), "r.urdf", found)
    except SourceError:
        return
    if found:
        return

    again, element_notes = drain(recover(text, "r.urdf"))

    assert again == root
    assert element_notes == ()


@given(st.lists(_PIECES, max_size=20).map("".join) | st.text())
def test_recovery_of_any_text_returns_or_refuses(text: str) -> None:
    """No other exception is raised."""
    with suppress(SourceError):
        root, _ = drain(recover(text, "r.urdf"))
        assert root.tag
