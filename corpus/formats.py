"""The format of a robot description, by the root element of the file."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

# What may come before the root element.
_BEFORE = re.compile(rb"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_ELEMENT = re.compile(rb"<\s*(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")


class Format(StrEnum):
    """A format of robot descriptions; a xacro file is URDF."""

    URDF = "urdf"
    MJCF = "mjcf"


def robot_format(path: Path) -> Format:
    """Return MJCF if the root element is ``mujoco``, else URDF, also if there is no such file.

    A URDF with an element ``<mujoco>`` inside is URDF.
    """
    return Format.MJCF if _root(_markup(path)) == "mujoco" else Format.URDF


def has_bodies(path: Path) -> bool:
    """Whether a file is MJCF and has bodies itself, not only in files that it includes."""
    content = _markup(path)
    return _root(content) == "mujoco" and b"<body" in content and b"<worldbody" in content


def _markup(path: Path) -> bytes:
    """Return the content of an XML file without what may come before elements."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError):
        return b""
    is_markup = content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    return _BEFORE.sub(b"", content) if is_markup else b""


def _root(content: bytes) -> str | None:
    found = _ELEMENT.search(content)
    return found[1].decode() if found else None
