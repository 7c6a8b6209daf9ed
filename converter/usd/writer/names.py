"""Valid and unique prim names for URDF names."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
# Longer names are valid, but unreadable in tree views.
_LONGEST = 200


def legal_name(name: str) -> str:
    """Return an ASCII identifier for a name.

    ASCII, because many DCC tools do not support the UTF-8 identifiers of newer USD. The
    original name is kept as ``displayName``.
    """
    legal = _ILLEGAL.sub("_", name)[:_LONGEST]
    if not legal or legal[0].isdigit():
        legal = f"_{legal}"
    return legal


def sibling_names(names: Iterable[str], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return unique names for all children of a prim.

    Valid names are kept; the others get a number if necessary. Only the numbers of
    equal names depend on their order.

    Args:
        names: Names in order; repeats are allowed.
        taken: Names of existing siblings.

    Returns:
        One name per input, in order, all different.
    """
    given = tuple(names)
    used = set(taken)
    result: dict[int, str] = {}
    # Last number by stem, to continue the search there.
    numbers: dict[str, int] = {}
    for index, name in enumerate(given):
        if legal_name(name) == name and name not in used:
            result[index] = name
            used.add(name)
    left = [(name, index) for index, name in enumerate(given) if index not in result]
    for name, index in sorted(left):
        stem = candidate = legal_name(name)
        number = numbers.get(stem, 0)
        while candidate in used:
            number += 1
            candidate = f"{stem}_{number}"
        numbers[stem] = number
        result[index] = candidate
        used.add(candidate)
    return tuple(result[index] for index in range(len(given)))
