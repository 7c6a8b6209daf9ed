"""Results that are reached while diagnostics are found.

A step of reading is a generator: it yields what it finds and returns its result, so
``value = yield from step(...)`` passes findings on without a collector that everybody
holds.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from converter.diagnostics import SourceError

if TYPE_CHECKING:
    from converter.diagnostics import Diagnostic

T = TypeVar("T")
Findings: TypeAlias = Generator["Diagnostic", None, T]


def gather(steps: Iterable[Findings[T]]) -> Findings[tuple[T, ...]]:
    """Run steps one after the other."""
    results: list[T] = []
    for step in steps:
        result = yield from step
        results.append(result)
    return tuple(results)


def count(step: Findings[T]) -> Findings[tuple[int, T]]:
    """Pass a step on, and count what it finds."""
    found = 0
    try:
        while True:
            diagnostic = next(step)
            found += 1
            yield diagnostic
    except StopIteration as stop:
        return found, stop.value


def drain(step: Findings[T]) -> tuple[T, tuple[Diagnostic, ...]]:
    """Run a step to its end.

    Raises:
        SourceError: The step raised it; what was found before is added.
    """
    found: list[Diagnostic] = []
    try:
        while True:
            found.append(next(step))
    except StopIteration as stop:
        return stop.value, tuple(found)
    except SourceError as error:
        raise SourceError((*found, *error.diagnostics)) from error
