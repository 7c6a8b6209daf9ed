"""Bytes to elements: what is read from the texts in ``xml.txt``, see :mod:`tests.stored_cases`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stored_cases import Case, check_outcomes, write_files
from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.urdf.xml import Element, parse_markup


def _read(data: bytes) -> tuple[Element | None, tuple[Diagnostic, ...]]:
    notes: list[Diagnostic] = []
    try:
        return parse_markup(data, "r.urdf", notes), tuple(notes)
    except SourceError as error:
        return None, error.diagnostics


def _outline(element: Element) -> str:
    """Return tags, attributes and text with locations."""
    place = f"{element.location.line}:{element.location.column}"
    attributes = "".join(f" {name}={value!r}" for name, value in element.attributes)
    text = f" {element.text!r}" if element.text else ""
    inside = "".join(map(_outline, element.children))
    return f"({place} {element.tag}{attributes}{text}{inside})"


def _outcome(case: Case, folder: Path) -> str:
    # Sentences of expat vary with its version.
    root, found = _read(write_files(case, folder).read_bytes())
    lines = [
        str(one).partition(": error: ")[0] + " xml-syntax" if one.rule == "xml-syntax" else str(one)
        for one in found
    ]
    return "\n".join([*lines, *([_outline(root)] if root else [])])


def test_texts_are_read_as_stored(tmp_path: Path) -> None:
    check_outcomes(Path(__file__).with_name("xml.txt"), _outcome, tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"<robot>" + b"<a>" * 5000 + b"</a>" * 5000 + b"</robot>",
        b"<robot>" + b"<" * 100_000 + b"</robot>",
        b"<robot" + b" a='1'" * 5000 + b"/>",
    ],
)
def test_very_deep_or_binary_text_is_refused(data: bytes) -> None:
    root, found = _read(data)

    assert root is None
    assert [one.rule for one in found] == ["xml-syntax"]


_PIECES = ["<r>", "</r>", "<a b='1'>", "<a/>", "</a>", "&", "<", ">", '"', "<!--", "-->", "]]>"]


@given(st.lists(st.sampled_from([*_PIECES, "<?xml ?>", "\0", " x='", "\n", "<![CDATA["])))
def test_any_text_is_read_or_refused(pieces: list[str]) -> None:
    text = "".join(pieces)

    for one in _read(text.encode())[1]:
        assert one.location
        assert one.location.line <= text.count("\n") + 1
