"""URDF names of prims."""

from __future__ import annotations

from collections.abc import Sequence

from pxr import Usd

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.urdf.xml.characters import FORBIDDEN


def legible_name(prim: Usd.Prim) -> str:
    """Return a prim's display name if it is not blank, otherwise its name.

    A conversion stores a URDF name that is no valid prim name as display name.
    """
    name = writable(prim.GetDisplayName())
    return name if name.strip() else str(prim.GetName())


def writable(text: str) -> str:
    """Replace characters that XML does not allow."""
    return FORBIDDEN.sub("_", text)


def unique_names(kind: str, prims: Sequence[Usd.Prim]) -> Findings[tuple[str, ...]]:
    """Return unique names of prims.

    Names are unique among siblings in USD, but in the whole robot in URDF. The first
    prim with a name keeps it.

    Args:
        kind: ``link`` or ``joint``, for diagnostics.
        prims: The prims.
    """
    proposed = [legible_name(prim) for prim in prims]
    taken = set(proposed)
    names: list[str] = []
    given: set[str] = set()
    for prim, name in zip(prims, proposed, strict=True):
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
