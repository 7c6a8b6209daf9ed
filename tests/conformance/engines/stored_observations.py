"""Observations as lines of text, compared with stored ones up to the rounding of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from msgspec import Struct

from urdf_usd.conformance.observation.robot import Observation

# What says nothing about a file, or is a consequence of other fields.
_LEFT_OUT = {"engine", "states", "dynamics", "precision", "support"}
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|\binf\b|\bnan\b)")


def describe(value: object, digits: int = 9) -> str:
    """Return a value in one line, without fields that have their defaults."""
    match value:
        case Struct():
            fields = ", ".join(f"{name}={text}" for name, text in [*_fields(value, digits)][::-1])
            return f"{type(value).__name__}({fields})"
        case bool() | str():
            return str(value)
        case int() | float():
            return f"{value:.{digits}g}"
        case frozenset():
            return describe(sorted(value), digits)
        case np.ndarray():
            return describe(value.tolist(), digits)
        case tuple() | list():
            return f"[{', '.join(describe(part, digits) for part in value)}]"
    return str(value)


def _fields(struct: Struct, digits: int) -> Iterator[tuple[str, str]]:
    names, defaults = struct.__struct_fields__, struct.__struct_defaults__
    for name, default in zip_longest(reversed(names), reversed(defaults)):
        value: Any = getattr(struct, name)
        is_empty = value is None or (isinstance(value, tuple | str) and not value)
        if not (name in _LEFT_OUT or is_empty or value is default):
            yield name, describe(value, digits)


def observation_lines(observation: Observation, digits: int = 9) -> Iterator[str]:
    for name in observation.__struct_fields__:
        value = getattr(observation, name)
        if isinstance(value, tuple) and name != "up":
            yield from (f"{name}: {describe(part, digits)}" for part in value)
        elif value is not None and name not in _LEFT_OUT:
            yield f"{name}: {describe(value, digits)}"


def assert_as_stored(
    computed: Sequence[str], stored: Sequence[str], rtol: float = 2e-6, atol: float = 2e-9
) -> None:
    actual, expected = "\n".join(computed), "\n".join(stored)

    assert _NUMBER.sub("#", actual) == _NUMBER.sub("#", expected), actual
    found, wanted = (np.array(_NUMBER.findall(text), float) for text in (actual, expected))
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
