"""How far apart readings put the links of a robot, for its page."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from conformance.scene import Agreement, LinkErrors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from conformance.observation import Frames

    Array = NDArray[np.float64]

# Enough to be shown; a page is no record.
_DIGITS = 3


def link_errors(
    first: Frames, second: Frames, labels: Sequence[str]
) -> LinkErrors | None:
    """Measure every link that both readings have, in every configuration.

    Args:
        first: Link frames of one reading.
        second: Those of the other, at the same configurations.
        labels: What each configuration is.

    Returns:
        The errors; None where the two have no link or configuration in common.
    """
    links, ours, theirs = _common(first, second)
    if not links or len(first.positions) != len(second.positions):
        return None
    positions = np.linalg.norm(
        first.positions[:, ours] - second.positions[:, theirs], axis=2
    )
    rotations = angles(first.rotations[:, ours], second.rotations[:, theirs])
    return LinkErrors(
        links=links,
        configurations=tuple(labels[: len(positions)]),
        positions=_rounded(positions),
        rotations=_rounded(rotations),
    )


def agreements(frames: Mapping[str, Frames]) -> tuple[Agreement, ...]:
    """Compare every two witnesses by the largest distance between their link frames.

    Args:
        frames: Link frames by witness, all at the same configurations.
    """
    found = []
    for (one, first), (other, second) in combinations(frames.items(), 2):
        errors = link_errors(first, second, ("",) * len(first.positions))
        if errors is None:
            continue
        worst, link = 0.0, None
        for row in errors.positions:
            for name, value in zip(errors.links, row, strict=True):
                if value is not None and value > worst:
                    worst, link = value, name
        found.append(Agreement(witnesses=(one, other), position=worst, link=link))
    return tuple(found)


def angles(first: Array, second: Array) -> Array:
    """Return the angles [rad] of the turns between (..., 3, 3) rotation matrices.

    From the distance of the matrices, 2 sqrt(2) sin(angle / 2), which unlike the trace
    keeps the digits of small angles.
    """
    distance = np.linalg.norm(first - second, axis=(-2, -1))
    turns: Array = 2.0 * np.arcsin(np.minimum(distance / math.sqrt(8.0), 1.0))
    return turns


def _common(
    first: Frames, second: Frames
) -> tuple[tuple[str, ...], list[int], list[int]]:
    places = {name: index for index, name in enumerate(second.links)}
    pairs = [
        (name, index, places[name])
        for index, name in enumerate(first.links)
        if name in places
    ]
    names = tuple(name for name, _, _ in pairs)
    return names, [one for _, one, _ in pairs], [other for _, _, other in pairs]


def _rounded(values: Array) -> tuple[tuple[float | None, ...], ...]:
    return tuple(
        tuple(
            float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
            for value in row
        )
        for row in values.tolist()
    )
