"""Text that is not well-formed: what is read from it, and what is said."""

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
    """Tags and attributes without anything else."""
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
def test_what_leaves_one_reading_is_read_and_said(
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
def test_what_could_mean_several_things_is_refused(text: str) -> None:
    """A quote, a bracket or an end that is missing may stand in many places."""
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
def test_declarations_are_refused_in_malformed_text_too(text: str) -> None:
    """Even where nothing would come of them."""
    with pytest.raises(SourceError) as caught:
        drain(recover(text, "r.urdf"))

    assert caught.value.diagnostics[-1].rule == "xml-entity"


def test_a_plain_document_type_is_skipped() -> None:
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
        # One end tag too many, or too few, elsewhere changes nothing in here.
        "<robot></visual>{}</robot>",
        '<robot><link name="b"><visual></link>{}</robot>',
        '<robot><link name="b">{}</robot>',
        "<robot>{}",
    ],
)
def test_what_is_well_nested_keeps_its_tree(text: str) -> None:
    """Whatever the elements are called: URDF has no material inside a collision."""
    root, _ = _recover(text.format(_MATERIAL_IN_COLLISION))
    (expected,) = _recover(f"<robot>{_MATERIAL_IN_COLLISION}</robot>")[0].children

    assert any(_outline(child) == _outline(expected) for child in root.children)
    assert "(link name='a'(collision(material(color)))(visual(link))" in _outline(root)


@pytest.mark.parametrize(
    ("inside", "outline"),
    [
        # An element that cannot hold what comes next ends before it, ...
        ("<link name='a'><visual><origin><geometry/></visual></link>", "origin)(geom"),
        ("<link name='a'><visual><geometry/><visual/></link>", "(geometry))(visual)"),
        ("<link name='a'><inertial><mass value='1'><inertia/></inertial></link>", ")("),
        # ... and so does one of which nothing is known before a part of a robot.
        ("<link name='b'/><gazebo><x/><link name='a'/>", "(gazebo(x))(link name='a')"),
        # The end tag that comes too early is the one that is dropped.
        ("<link name='a'></robot><visual/></link>", "(link name='a'(visual))"),
        ("<link name='a'><visual></link></visual></link>", "(link name='a'(visual))"),
        # A name that begins no element is a misspelt one.
        ("<gazebo><x/></gazebbo><link name='a'/>", "(gazebo(x))(link name='a')"),
        ("<link name='a'></Link><link name='b'/>", "(link name='a')(link name='b')"),
    ],
)
def test_tags_that_do_not_match_cost_as_little_as_possible(
    inside: str, outline: str
) -> None:
    """One tag is added or dropped, and nothing is told to be lost."""
    root, found = _recover(f"<robot>{inside}</robot>")

    assert outline in _outline(root)
    assert [rule for rule, _, _ in found] == ["xml-nesting"]


def test_parts_that_no_longer_count_are_named_where_they_are() -> None:
    """Here the start tag of a link is missing, and with it its name."""
    text = (
        '<robot>\n<link name="a"/>\n<visual/>\n'
        '<inertial><mass value="2.5"/></inertial>\n</link>\n</robot>'
    )

    _, found = drain(recover(text, "r.urdf"))

    places = [(d.location.line, d.location.column) for d in found if d.location]
    assert places == [(5, 1), (3, 1), (4, 1)]
    nowhere = "lies in <robot> of line 1 now, where it does not count; left out"
    assert [d.message for d in found[1:]] == [
        f"<visual> {nowhere}",
        f"<inertial> of 2.5 kg {nowhere}",
    ]


def test_parts_outside_the_robot_are_named_with_their_lines() -> None:
    """Also those of another robot."""
    text = (
        '<robot><link name="a"/></robot>\n<link name="b"/>\n<x/>\n'
        '<robot>\n<joint name="j" type="fixed"/></robot>'
    )

    _, (found,) = drain(recover(text, "r.urdf"))

    assert found.rule == "xml-outside"
    assert "link 'b' in line 2, joint 'j' in line 5" in found.message


def test_a_mention_of_a_joint_is_no_joint_that_is_lost() -> None:
    """Transmissions have joints by name."""
    text = '<robot><link name="a"><joint name="j"/></visual></link></robot>'

    _, found = _recover(text)

    assert len(found) == 1


def test_what_is_repeated_in_long_text_is_read_in_one_go() -> None:
    """A quarter of a million characters that each could begin a tag or a name."""
    for text in (
        "</" + "a" * 250_000 + "<r/>",
        "<r" + " " * 250_000 + "<",
        "<" + " " * 250_000 + "a",
        "<r>" + "<!DOCTYPE r> " * 20_000,
        "<robot>" + '<link name="a"><visual>' * 300 + "</robot>",
    ):
        with suppress(SourceError):
            drain(recover(text, "r.urdf"))


def test_a_link_ends_the_link_that_was_not_closed() -> None:
    """The language has no links within links; what was open ends where it begins."""
    root, found = _recover(
        '<robot><link name="a"><visual>\n<link name="b"/></robot>',
    )

    assert _outline(root) == "(robot(link name='a'(visual))(link name='b'))"
    assert found == [("xml-nesting", 1, 23), ("xml-nesting", 1, 8)]


def test_elements_of_other_tools_may_hold_links() -> None:
    """A transmission has joints inside."""
    root, _ = _recover(
        '<robot>\0<transmission><joint name="j"/></transmission></robot>'
    )

    assert _outline(root) == "(robot(transmission(joint name='j')))"


def test_too_deep_is_too_deep_in_malformed_text_too() -> None:
    """The bound is that of well-formed text."""
    with pytest.raises(SourceError, match="nested"):
        drain(recover("<a>" * (DEEPEST + 1), "r.urdf"))


def test_what_is_full_of_faults_is_refused() -> None:
    """Rather than listed to the end."""
    with pytest.raises(SourceError) as caught:
        drain(recover(f"<r>{'</a>' * 5000}</r>", "r.urdf"))

    assert len(caught.value.diagnostics) == 1001
    assert caught.value.diagnostics[-1].rule == "xml-syntax"


def test_text_is_kept_piece_by_piece() -> None:
    """References are resolved, and children separate pieces."""
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
def test_what_is_well_formed_is_recovered_as_it_is_parsed(inside: str) -> None:
    """Expat is the judge: tags, attributes, text and positions, without a remark."""
    text = f"<robot xmlns:a='u'>{inside}</robot>"
    try:
        root, found = drain(parse_markup(text.encode(), "r.urdf"))
    except SourceError:
        return
    if found:
        return

    again, element_notes = drain(recover(text, "r.urdf"))

    assert again == root
    assert element_notes == ()


@given(st.lists(_PIECES, max_size=20).map("".join) | st.text())
def test_no_text_makes_recovery_fail_otherwise(text: str) -> None:
    """It returns an element or refuses."""
    with suppress(SourceError):
        root, _ = drain(recover(text, "r.urdf"))
        assert root.tag
