"""Types of the values of an observation, which engines of other packages may confuse.

A comparison would fail later, for all engines of the robot, and name none of them.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable, Iterator
from enum import Enum
from numbers import Real
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import Observation

_UNIONS = (Union, types.UnionType)


def require_types(observation: Observation) -> None:
    """Check the types of all values; lists count as tuples, integers as floats.

    Raises:
        TypeError: A value has another type; the message says where.
    """
    for wrong in _wrong(observation, Observation, "observation"):
        raise TypeError(wrong)


def _wrong(value: object, hint: Any, place: str) -> Iterator[str]:  # noqa: ANN401  # a type hint
    """Yield where a value does not have its type."""
    origin, arguments = get_origin(hint), get_args(hint)
    # From Python 3.12 on, numpy's NDArray is an alias whose origin is the alias itself.
    origin = get_origin(origin.__value__) if hasattr(origin, "__value__") else origin
    if origin in _UNIONS:
        found = [list(_wrong(value, one, place)) for one in arguments]
        if all(found):
            yield found[0][0]
    elif origin is np.ndarray:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
            yield _message(value, "an array of numbers", place)
    elif origin in {tuple, frozenset}:
        yield from _wrong_items(value, origin, arguments, place)
    elif not _is(value, hint):
        yield _message(value, hint.__name__, place)
    elif issubclass(hint, Struct):
        for name, inner in _hints(hint).items():
            yield from _wrong(getattr(value, name), inner, f"{place}.{name}")


def _wrong_items(value: object, kind: type, hints: tuple[Any, ...], place: str) -> Iterator[str]:
    accepted = (tuple, list) if kind is tuple else (frozenset, set)
    if not isinstance(value, accepted):
        yield _message(value, kind.__name__, place)
        return
    items: Iterable[object] = value
    count = len(value)
    if kind is frozenset or hints[1:] == (...,):
        hints = (hints[0],) * count
    if len(hints) != count:
        yield f"{place} has {count} items instead of {len(hints)}"
        return
    for index, (item, hint) in enumerate(zip(items, hints, strict=True)):
        yield from _wrong(item, hint, f"{place}[{index}]")


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if issubclass(kind, str) and issubclass(kind, Enum):
        return isinstance(value, str) and value in set(kind)
    return isinstance(value, kind)


def _message(value: object, expected: str, place: str) -> str:
    return f"{place} is {type(value).__name__} instead of {expected}"


@functools.cache
def _hints(kind: type[Struct]) -> dict[str, Any]:
    """Return the types of a struct's fields, also those imported for types only."""
    names = {**vars(sys.modules[kind.__module__]), "np": np, "NDArray": NDArray}
    hints = get_type_hints(kind, globalns=names)
    return {name: hints[name] for name in kind.__struct_fields__}
