"""Reading JSON that nobody vouches for: values of the expected type, or an error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from urdf_usd.converter.meshes.polygon_mesh import MeshError

Object: TypeAlias = Mapping[str, object]

EMPTY: Object = {}
_LARGEST_INTEGER = 2**53


def inner(parent: Object, key: str) -> Object:
    """Return the object at a key; an empty one if there is none.

    Raises:
        MeshError: Something else is there.
    """
    value = parent.get(key, EMPTY)
    if not isinstance(value, Mapping):
        raise MeshError(f"its {key!r} is not an object")
    return value


def items(parent: Object, key: str) -> Sequence[object]:
    """Return the list at a key; an empty one if there is none.

    Raises:
        MeshError: Something else is there.
    """
    value = parent.get(key, ())
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise MeshError(f"its {key!r} is not a list")
    return value


def member(parent: Object, key: str, index: int | None) -> Object:
    """Return the object at a place in the list at a key.

    Raises:
        MeshError: There is none.
    """
    listed = items(parent, key)
    if index is None or not 0 <= index < len(listed):
        raise MeshError(f"it refers to {key} {index}, of {len(listed)}")
    value = listed[index]
    if not isinstance(value, Mapping):
        raise MeshError(f"{key} {index} is not an object")
    return value


def integer(parent: Object, key: str, default: int | None = None) -> int | None:
    """Return the integer at a key.

    Raises:
        MeshError: Something else is there.
    """
    value = parent.get(key, default)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MeshError(f"its {key!r} is not an integer")
    if abs(value) > _LARGEST_INTEGER:
        raise MeshError(f"its {key!r} is too large")
    return value


def count(parent: Object, key: str, default: int = 0) -> int:
    """Return the integer at a key, which may not be negative.

    Raises:
        MeshError: Something else is there.
    """
    value = integer(parent, key, default)
    if value is None or value < 0:
        raise MeshError(f"its {key!r} is negative")
    return value


def number(parent: Object, key: str, default: float) -> float:
    """Return the finite number at a key.

    Raises:
        MeshError: Something else is there.
    """
    return _number(parent.get(key, default), key)


def numbers(parent: Object, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Return the numbers at a key, as many as by default.

    Raises:
        MeshError: Something else is there.
    """
    values = tuple(_number(value, key) for value in items(parent, key))
    if key not in parent:
        return default
    if len(values) != len(default):
        raise MeshError(f"its {key!r} has not {len(default)} numbers")
    return values


def text(parent: Object, key: str) -> str:
    """Return the text at a key, if there is any, fit for a message or a name."""
    value = parent.get(key, "")
    return _printable(value) if isinstance(value, str) else ""


def _number(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MeshError(f"its {key!r} is not a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise MeshError(f"its {key!r} is not finite")
    return result


def _printable(value: str) -> str:
    """Replace halves of characters, which JSON can write and no text can hold."""
    return value.encode("utf-8", "replace").decode()
