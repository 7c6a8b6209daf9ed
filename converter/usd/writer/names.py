"""Legal, unique prim names for URDF names, all children of a parent in one pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pxr import Usd

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
# Longer names are legal, and unreadable in every tree view.
_LONGEST = 200


def legal_name(name: str) -> str:
    """Return the ASCII identifier nearest to a name.

    ASCII, because many DCC tools still refuse what newer USD accepts. The name itself
    is kept as ``displayName``.
    """
    legal = _ILLEGAL.sub("_", name)[:_LONGEST]
    if not legal or legal[0].isdigit():
        legal = f"_{legal}"
    return legal


def show_name(prim: Usd.Prim, name: str) -> None:
    """Keep a name as ``displayName`` where the prim could not be called so."""
    if prim.GetName() != name:
        prim.SetDisplayName(name)


def sibling_names(names: Iterable[str], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Name all children of one parent.

    Names that are legal as they stand keep their spelling, and the others take what is
    left, with a number if need be. Whatever the order, a name gets the same; only
    repeats of one name are numbered as they come.

    Args:
        names: Names in order; repeats are allowed.
        taken: Names that siblings have already.

    Returns:
        One name per input, in order, all different.
    """
    wanted = tuple(names)
    used = set(taken)
    result: dict[int, str] = {}
    # What is taken stays taken, so the search goes on where it ended for a stem.
    numbers: dict[str, int] = {}
    for index, name in enumerate(wanted):
        if legal_name(name) == name and name not in used:
            result[index] = name
            used.add(name)
    left = [(name, index) for index, name in enumerate(wanted) if index not in result]
    for name, index in sorted(left):
        stem = candidate = legal_name(name)
        number = numbers.get(stem, 0)
        while candidate in used:
            number += 1
            candidate = f"{stem}_{number}"
        numbers[stem] = number
        result[index] = candidate
        used.add(candidate)
    return tuple(result[index] for index in range(len(wanted)))
