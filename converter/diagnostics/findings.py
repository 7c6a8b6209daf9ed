"""Generators that yield diagnostics and return a result.

``value = yield from step(...)`` runs a step and passes its diagnostics on, without a
shared list of diagnostics.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeAlias, TypeVar

from urdf_usd.converter.diagnostics import ConversionError, Diagnostic

T = TypeVar("T")
Findings: TypeAlias = Generator["Diagnostic", None, T]


def gather(steps: Iterable[Findings[T]]) -> Findings[tuple[T, ...]]:
    """Run steps in order and return their results."""
    results: list[T] = []
    for step in steps:
        result = yield from step
        results.append(result)
    return tuple(results)


def count(step: Findings[T], most: int) -> Findings[tuple[int, T | None]]:
    """Run a step and count its diagnostics.

    Args:
        step: The step.
        most: Number of diagnostics after which the step is abandoned.

    Returns:
        The number of diagnostics, and the step's result; None if it was abandoned.
    """
    for found in range(most):
        try:
            diagnostic = next(step)
        except StopIteration as stop:
            return found, stop.value
        yield diagnostic
    return most, None


def drain(step: Findings[T]) -> tuple[T, tuple[Diagnostic, ...]]:
    """Run a step, and return its result and its diagnostics.

    Raises:
        ConversionError: Raised by the step; the diagnostics before it are added.
    """
    found: list[Diagnostic] = []
    try:
        while True:
            found.append(next(step))
    except StopIteration as stop:
        return stop.value, tuple(found)
    except ConversionError as error:
        raise type(error)((*found, *error.diagnostics)) from error
