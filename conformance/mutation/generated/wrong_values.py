"""Wrong values of the types of attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from pxr import Gf, Sdf, Vt

_TURN = Gf.Quatd(math.cos(0.2), math.sin(0.2) * Gf.Vec3d(2, -3, 6) / 7)


def wrong_values(value: object, allowed: Iterable[str]) -> dict[str, object]:
    """Return values of the same type that differ from a value, by title.

    Args:
        value: The right value, of a type of attributes.
        allowed: Allowed tokens, where a schema lists them.
    """
    return {title: wrong for title, wrong in _variants(value, allowed) if not is_same(value, wrong)}


def _variants(value: object, allowed: Iterable[str]) -> Iterator[tuple[str, object]]:
    match value:
        case bool():
            yield "flipped", not value
        case int() | float():
            yield from _number_variants(value)
        case str():
            for token in allowed:
                yield f"is {token}", token
            yield "misspelt", f"{value}_"
            yield "empty", ""
        case Sdf.AssetPath():
            yield "to nothing", Sdf.AssetPath("./missing.bin")
        case Gf.Quath() | Gf.Quatf() | Gf.Quatd():
            kind = type(value)
            right = Gf.Quatd(value)
            yield "turned", kind((right if right.GetLength() else Gf.Quatd(1)) * _TURN)
            yield "conjugated", kind(right.GetConjugate())
            yield "zero", kind(0)
            yield "not a number", kind(math.nan)
        case _ if hasattr(value, "dimension"):
            yield from _vector_variants(value)
        case _ if type(value).__name__.endswith("Array"):
            yield from _array_variants(value)


def _number_variants(value: float) -> Iterator[tuple[str, object]]:
    kind = type(value)
    if value == 0 or not math.isfinite(value):
        yield "one", kind(1)
        yield "minus one", kind(-1)
    else:
        yield "doubled", kind(2 * value)
        yield "negated", kind(-value)
    yield "zero", kind(0)
    if kind is float:
        yield "not a number", math.nan
        yield "infinite", math.inf
        yield "negatively infinite", -math.inf


def _vector_variants(value: Gf.Vec3f) -> Iterator[tuple[str, object]]:
    kind = type(value)
    right = np.array(value, np.float64)
    right = np.where(np.isfinite(right), right, 0.0)
    size = float(np.linalg.norm(right)) or 1.0
    moved = size * np.arange(1, len(right) + 1) / len(right)
    for title, wrong in (
        ("moved", right + moved),
        ("negated", -right),
        ("permuted", np.roll(right, 1)),
        ("zero", np.zeros_like(right)),
        ("not a number", np.where(np.arange(len(right)), right, math.nan)),
        ("infinite", np.where(np.arange(len(right)), right, math.inf)),
    ):
        yield title, kind(*wrong.tolist())


def _array_variants(value: Vt.DoubleArray) -> Iterator[tuple[str, object]]:
    kind = type(value)
    elements = list(value)
    yield "emptied", kind()
    yield "shortened", kind(elements[:-1])
    yield "reversed", kind(elements[::-1])
    if not elements:
        yield "one element", kind(1)
    elif isinstance(elements[0], int | float):
        for title, factor in (("doubled", 2), ("negated", -1), ("zero", 0)):
            yield title, kind([factor * element for element in elements])


def is_same(one: object, other: object) -> bool:
    """Whether two values have the same type and are equal; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return bool(one == other)
