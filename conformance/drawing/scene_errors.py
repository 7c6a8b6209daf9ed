"""Pose differences of links between observations, for the robot's page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import Frames
from urdf_usd.reports.records.scene import Agreement, LinkErrors

Array = NDArray[np.float64]

# Significant digits in the page.
_DIGITS = 3
# Numbers that are displayed alike have at least this ratio.
_SHOWN_ALIKE = 0.98


def link_errors(first: Frames, second: Frames, labels: Sequence[str]) -> LinkErrors | None:
    """Compute the pose differences of shared links in every configuration, by label.

    Returns:
        The differences; None without a shared link or configuration.
    """
    links, ours, theirs = _common(first, second)
    if not links:
        return None
    positions = _distances(first, ours, second, theirs)
    rotations = angles(first.rotations[:, ours], second.rotations[:, theirs])
    return LinkErrors(
        links=links,
        configurations=tuple(labels[: len(positions)]),
        positions=_rounded(positions),
        rotations=_rounded(rotations),
    )


def agreements(frames: Mapping[str, Frames]) -> tuple[Agreement, ...]:
    """Compute the largest distance of link frames for each pair of engines."""
    pairs = []
    for (name, first), (other, second) in combinations(frames.items(), 2):
        links, ours, theirs = _common(first, second)
        if links:
            worst, index = _worst(_distances(first, ours, second, theirs).reshape(-1))
            link = None if index is None else links[index % len(links)]
            pairs.append(Agreement(engines=(name, other), position=worst, link=link))
    return tuple(pairs)


def _distances(first: Frames, ours: list[int], second: Frames, theirs: list[int]) -> Array:
    """Return (K, L) distances between links [m]."""
    apart = first.positions[:, ours] - second.positions[:, theirs]
    distances: Array = np.linalg.norm(apart, axis=2)
    return distances


def _worst(values: Array) -> tuple[float, int | None]:
    """Return the largest number as displayed, and the first index displayed alike."""
    finite = np.where(np.isfinite(values), values, 0.0)
    largest = finite.max(initial=0.0)
    if not largest:
        return 0.0, None
    shown = _shown(largest)
    close = np.flatnonzero(finite >= _SHOWN_ALIKE * largest).tolist()
    return shown, next(index for index in close if _shown(values[index]) == shown)


def angles(first: Array, second: Array) -> Array:
    """Return the angles [rad] of the turns between (..., 3, 3) rotation matrices.

    From the distance of the matrices, 2 sqrt(2) sin(angle / 2), which unlike the trace
    keeps the digits of small angles.
    """
    distance = np.linalg.norm(first - second, axis=(-2, -1))
    turns: Array = 2.0 * np.arcsin(np.minimum(distance / math.sqrt(8.0), 1.0))
    return turns


def _common(first: Frames, second: Frames) -> tuple[tuple[str, ...], list[int], list[int]]:
    """Return the shared links and their indices; none if the configurations differ."""
    names = [name for name in first.links if name in set(second.links)]
    if len(first.positions) != len(second.positions):
        names = []
    mine, other = ([frames.links.index(name) for name in names] for frames in (first, second))
    return tuple(names), mine, other


def _rounded(values: Array) -> tuple[tuple[float | None, ...], ...]:
    return tuple(
        tuple(_shown(value) if math.isfinite(value) else None for value in row)
        for row in values.tolist()
    )


def _shown(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
