"""Tests of the sanitising of names."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.reports.text import markdown, one_line, path_line, plain


def test_controls_are_replaced_by_their_symbols() -> None:
    assert plain("a\x00b\x1bc\x7f") == "a␀b␛c␡"


def test_lone_surrogates_are_replaced() -> None:
    """Names from a file system may contain them."""
    assert plain("\ud800\ufffe") == "\ufffd\ufffd"


def test_bidirectional_marks_are_replaced_by_their_code() -> None:
    """An override would reorder the numbers after it."""
    assert plain("gripper\u202egpj") == "gripper\\u202egpj"


def test_long_line_is_shortened_in_the_middle() -> None:
    line = one_line("a" * 9_000 + "\n" + "b" * 1_000, 40)
    assert line == "a" * 29 + "…" + "b" * 10


def test_long_path_is_shortened_at_its_start() -> None:
    assert path_line("a" * 40, 40) == "a" * 40
    assert path_line("a" * 41 + "\nb.urdf", 40) == "…" + "a" * 32 + " b.urdf"
    assert path_line("file:" + "a" * 40 + "/urdf/b.urdf", 40) == "…/urdf/b.urdf"


@given(st.text(st.characters(), max_size=200))
def test_plain_text_can_be_encoded_and_has_no_controls(text: str) -> None:
    shown = plain(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)
    assert shown.encode().decode() == shown


@given(st.text(max_size=100))
def test_markdown_renders_as_the_original_text(text: str) -> None:
    shown = markdown(text, 1_000)
    assert not re.search(r"[|`*_<>\[\]]", shown.replace("<!-- -->", ""))
    assert html.unescape(shown.replace("<!-- -->", "")) == one_line(text, 1_000)
