"""URDF names of prims: what users called them, made fit for a URDF."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pxr import Usd

    from urdf_usd.converter.diagnostics.findings import Findings

# XML 1.0 has no way to write these.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legible_name(prim: Usd.Prim) -> str:
    """Return a prim's display name where it has one that XML can hold, else its name.

    A conversion keeps the URDF's name there wherever the prim could not have it.
    """
    name = writable(prim.GetDisplayName())
    return name if name.strip() else str(prim.GetName())


def writable(text: str) -> str:
    """Replace the characters that XML has no way to write."""
    return _UNWRITABLE.sub("_", text)


def unique_names(kind: str, prims: Sequence[Usd.Prim]) -> Findings[tuple[str, ...]]:
    """Name prims such that no two names are the same.

    The first prim of a name keeps it. A name may repeat where the tree of prims tells
    them apart; URDF has one list.

    Args:
        kind: What they are, for the reader of a diagnostic.
        prims: The prims.
    """
    wanted = [legible_name(prim) for prim in prims]
    taken = set(wanted)
    names: list[str] = []
    given: set[str] = set()
    for prim, name in zip(prims, wanted, strict=True):
        fresh, number = name, 1
        while fresh in given or (number > 1 and fresh in taken):
            number += 1
            fresh = f"{name}_{number}"
        given.add(fresh)
        names.append(fresh)
        if fresh != (prim.GetDisplayName() or prim.GetName()):
            message = f"{kind} {prim.GetPath()} is called {fresh!r}: {name!r} is taken"
            if fresh == name:
                message = f"{kind} {prim.GetPath()} is called {fresh!r}"
            yield Diagnostic("stage-name-changed", message)
    return tuple(names)
