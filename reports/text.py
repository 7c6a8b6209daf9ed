"""Names from anywhere, made fit to be shown.

Names in a URDF are free text. What cannot be seen in one is spelled out: a mark that
turns the direction of writing would also turn the numbers of the sentence around it.
"""

from __future__ import annotations

import re

# Controls but tab and newline, lone surrogates and the non-characters of the first
# plane: all that XML 1.0 forbids, and the controls that a terminal would obey.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_DIRECTION = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "\u2421"
_REPLACEMENT = "\ufffd"
_MARKDOWN = re.compile(r"[&<>|`*_\[\]~\\@#]")


def plain(text: str) -> str:
    """Replace controls by pictures of them, and spell out marks of direction."""
    shown = _UNPRINTABLE.sub(_picture, text)
    return _DIRECTION.sub(lambda mark: f"\\u{ord(mark[0]):04x}", shown)


def one_line(text: str, limit: int) -> str:
    """Make text visible, on one line, with its middle left out beyond ``limit``."""
    line = " ".join(plain(text).split())
    if len(line) <= limit:
        return line
    tail = limit // 4
    return f"{line[: limit - tail - 1]}…{line[-tail:]}"


def markdown(text: str, limit: int) -> str:
    """Return text that Markdown shows as it is, as :func:`one_line` does.

    Entities rather than backslashes: they also hold in table cells and ``<code>``. The
    empty comment keeps a forge from notifying whoever bears a name like ``@panda``.
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
