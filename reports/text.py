"""Sanitising of names for display.

Names in a URDF are free text. Control characters are replaced by visible ones, and so
are bidirectional marks, which would reorder the text around the name.
"""

from __future__ import annotations

import re

import msgspec

# Controls except tab and newline, lone surrogates and the non-characters of the first
# plane: everything that XML 1.0 forbids, and terminal control codes.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "\u2421"
_REPLACEMENT = "\ufffd"
_FORMATS = re.compile(r"\bU(?:RDF|SD)\b")
_MARKDOWN = re.compile(r"[&<>|`*_\[\]~\\@#]")


def of_formats(text: str, formats: tuple[str, str] | msgspec.UnsetType) -> str:
    """Name the formats of a record in a text that says URDF for its source, and USD."""
    if formats is msgspec.UNSET:
        return text
    names = dict(zip(("URDF", "USD"), map(str.upper, formats), strict=True))
    return _FORMATS.sub(lambda found: names[found[0]], text)


def plain(text: str) -> str:
    """Replace controls by their symbols, and bidirectional marks by their code."""
    # Most texts are, which is seen in a fifth of the time.
    if text.isprintable():
        return text
    shown = _UNPRINTABLE.sub(_picture, text)
    return _DIRECTION.sub(lambda mark: f"\\u{ord(mark[0]):04x}", shown)


def one_line(text: str, limit: int) -> str:
    """Return sanitised text on one line, shortened in the middle to ``limit``."""
    line = " ".join(plain(text).split())
    if len(line) <= limit:
        return line
    tail = limit // 4
    return f"{line[: limit - tail - 1]}…{line[-tail:]}"


def path_line(text: str, limit: int) -> str:
    """Return sanitised text on one line; of a long path, the last parts are shown."""
    line = one_line(text, len(text))
    if len(line) <= limit:
        return line
    end = line[1 - limit :]
    return f"…{end[max(end.find('/'), 0) :]}"


def markdown(text: str, limit: int) -> str:
    """Escape text for Markdown, after :func:`one_line`.

    Entities rather than backslashes, because they also work in table cells and
    ``<code>``. The empty comment keeps code hosts from notifying a user ``@panda``.
    """
    return _MARKDOWN.sub(_entity, one_line(text, limit))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < ord(" "):
        return chr(_CONTROL_PICTURES + code)
    return _DELETE_PICTURE if match[0] == "\x7f" else _REPLACEMENT


def _entity(match: re.Match[str]) -> str:
    entity = f"&#{ord(match[0])};"
    return f"{entity}<!-- -->" if match[0] == "@" else entity
