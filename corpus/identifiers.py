"""Names for robots that are readable, stable, and safe as file names."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Room for a suffix such as ".json.part" within the 255 bytes of common file systems.
_LONGEST = 160
_DIGITS = 8


def identifier(scheme: str, target: str) -> str:
    """Name a robot after its reference: ``pybullet--kuka_iiwa--model``.

    Where characters had to be replaced, a hash of the target keeps two robots apart.

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
    """Tell equal identifiers apart by a hash of what they were made from.

    Identifiers that differ only in case count as equal: some file systems cannot keep
    them apart.

    Args:
        ids: Identifiers.
        keys: For each of them a text that no other has.
    """
    counts = Counter(name.casefold() for name in ids)
    return tuple(
        name if counts[name.casefold()] == 1 else f"{name}-{_digest(key)}"
        for name, key in zip(ids, keys, strict=True)
    )


def _digest(text: str) -> str:
    import hashlib  # noqa: PLC0415  OpenSSL takes its time to load

    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
