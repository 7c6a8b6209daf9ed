"""Tests of names made fit to be shown."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.reports.text import markdown, one_line, plain


def test_controls_become_pictures_of_themselves() -> None:
    """The Unicode block of control pictures mirrors the controls."""
    assert plain("a\x00b\x1bc\x7f") == "a␀b␛c␡"


def test_what_utf8_cannot_encode_becomes_a_replacement() -> None:
    """Names from a file system may hold lone surrogates."""
    assert plain("\ud800\ufffe") == "\ufffd\ufffd"


def test_marks_of_direction_are_spelled_out() -> None:
    """A right-to-left override would turn the numbers after it around."""
    assert plain("gripper\u202egpj") == "gripper\\u202egpj"


def test_a_long_line_keeps_its_beginning_and_its_end() -> None:
    """The end of a name often tells it apart from its siblings."""
    line = one_line("a" * 9_000 + "\n" + "b" * 1_000, 40)
    assert line == "a" * 29 + "…" + "b" * 10


@given(st.text(st.characters(), max_size=200))
def test_plain_text_can_be_encoded_and_holds_no_control(text: str) -> None:
    """Holds for every string that Python can hold."""
    shown = plain(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)
    assert shown.encode().decode() == shown


@given(st.text(max_size=100))
def test_markdown_means_the_text_itself(text: str) -> None:
    """Once entities are resolved, what was written is what is read."""
    shown = markdown(text, 1_000)
    assert not re.search(r"[|`*_<>\[\]]", shown.replace("<!-- -->", ""))
    assert html.unescape(shown.replace("<!-- -->", "")) == one_line(text, 1_000)
