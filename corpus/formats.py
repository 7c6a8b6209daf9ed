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
    return Format.MJCF if root_element(path) == "mujoco" else Format.URDF


def root_element(path: Path) -> str | None:
    """Return the name of the first element of an XML file; None if there is none."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError):
        return None
    if not content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        return None
    found = _ELEMENT.search(_BEFORE.sub(b"", content))
    return found[1].decode() if found else None
