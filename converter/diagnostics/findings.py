"""Results that are reached while diagnostics are found.

A step of reading is a generator: it yields what it finds and returns its result, so
``value = yield from step(...)`` passes findings on without a collector that everybody
holds.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from urdf_usd.converter.diagnostics import SourceError

if TYPE_CHECKING:
    from urdf_usd.converter.diagnostics import Diagnostic

T = TypeVar("T")
Findings: TypeAlias = Generator["Diagnostic", None, T]


def gather(steps: Iterable[Findings[T]]) -> Findings[tuple[T, ...]]:
    """Run steps one after the other."""
    results: list[T] = []
    for step in steps:
        result = yield from step
        results.append(result)
    return tuple(results)


def count(step: Findings[T], most: int) -> Findings[tuple[int, T | None]]:
    """Pass a step on, and count what it finds.

    Args:
        step: The step.
        most: How much it may find; it is not continued after that.

    Returns:
        The number of findings, and the step's result; None if it was not continued.
    """
    for found in range(most):
        try:
            diagnostic = next(step)
        except StopIteration as stop:
            return found, stop.value
        yield diagnostic
    return most, None


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
