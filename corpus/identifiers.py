"""Identifiers of robots: readable, stable, and valid as file names."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Room for a suffix such as ".json.part" within the 255 bytes of common file systems.
_LONGEST = 160
_DIGITS = 8


def identifier(scheme: str, target: str) -> str:
    """Return the identifier of a robot: ``pybullet--kuka_iiwa--model``.

    If characters are replaced, a hash of the target is appended to keep it unique.

    Args:
        scheme: First part of the name.
        target: Path with ``/``; leading ``..`` and the suffixes ``.urdf``, ``.xacro``
            and ``.urdf.xacro`` are dropped.
    """
    path = PurePosixPath(target)
    for suffix in (".xacro", ".urdf"):
        if path.suffix.lower() == suffix:
            path = path.with_suffix("")
    parts = [part for part in path.parts if part not in {"/", ".", ".."}]
    plain = "--".join([scheme, *parts])
    safe = _UNSAFE.sub("_", plain)
    if safe == plain and len(safe) <= _LONGEST:
        return safe
    return f"{safe[:_LONGEST]}-{_digest(target)}"


def distinct(ids: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """Append a hash to identifiers that are equal.

    Identifiers that differ only in case count as equal, because some file systems
    ignore case.

    Args:
        ids: Identifiers.
        keys: A unique text for each of them, which is hashed.
    """
    counts = Counter(name.casefold() for name in ids)
    return tuple(
        name if counts[name.casefold()] == 1 else f"{name}-{_digest(key)}"
        for name, key in zip(ids, keys, strict=True)
    )


def _digest(text: str) -> str:

    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
