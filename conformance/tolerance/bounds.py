"""Bounds of rounding to float32, and the engineering tolerance.

Rounding to nearest changes a number x by at most u |x| with u = 2^-24. Every bound below is the
worst case of that rounding of stored numbers, propagated to the compared quantity: a difference
above one has another cause. A unit quaternion moves by at most 2^-24 as a vector, and a rotation
turns by twice the angle of its quaternion: 2^-23 rad per stored quaternion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import Frames, Vec3

RELATIVE = 2.0**-24
SMALLEST = 2.0**-149
QUATERNION = 2.0**-23  # [rad]
# Arithmetic of engines in double precision, over a whole robot: far above its rounding
# (1e-16 of a few metres) and far below that of stored numbers.
ARITHMETIC = 1e-12
# Rounded operations per stored number: an engine chains three transforms per joint,
# some ten products and sums each, for two stored rotations and one position. It
# matters for engines in single precision alone.
ROUNDINGS = 16
# A joint stores the rotations of its frame in the parent and in the child.
PER_JOINT = 2 * QUATERNION
# Largest mass and inertia that may be defaulted where the URDF has none and the USD
# needs one, relative to the robot's mass, and to mass times the square of its size.
DEFAULTED = 1e-6
# Inertia that may be defaulted for any point mass [kg m^2], within that part of the
# robot's mass times the square of its size. Newton does not simulate less than 1e-10.
_DEFAULTED_MOMENT = 2.5e-10
# Inertia below this part of mass times the square of the robot's size is rounding, and
# counts as zero.
NEGLIGIBLE_INERTIA = 1e-15


class Tolerance(Struct, frozen=True):
    """Engineering tolerance: differences that are irrelevant to a simulation."""

    position: float = 1e-5  # of frames and centres of mass [m]
    rotation: float = 1e-5  # of frames [rad]
    mass: float = 1e-4  # relative
    inertia: float = 1e-4  # relative to the body's own largest principal moment
    limit: float = 1e-5  # of joint limits, relative to the limit or to 1 rad or 1 m
    force: float = 1e-4  # of effort, velocity, damping and friction, relative
    motion: float = 1e-4  # of equations of motion, relative to the robot's scale
    shape: float = 1e-4  # of extents, area and volume, relative to the shape's own
    color: float = 1e-3  # of linear colour components and opacity, in [0, 1]


class FrameBound(Struct, frozen=True):
    """Bound of rounding of the pose of one link, over all configurations [m, rad]."""

    position: float
    rotation: float


def scalar_bound(value: float) -> float:
    """Bound the rounding of a stored number, also in degrees; absolute for tiny numbers."""
    return (RELATIVE + ARITHMETIC) * abs(value) + SMALLEST


def center_bound(center: Vec3) -> float:
    """Bound the rounding of a stored point [m]: u times its distance."""
    return RELATIVE * math.hypot(*center) + ARITHMETIC


def principal_moments(tensor: NDArray[np.float64]) -> Vec3:
    """Return the eigenvalues of a symmetric tensor (3, 3), ascending; NaN if it is not finite."""
    if not np.isfinite(tensor).all():
        return math.nan, math.nan, math.nan
    a, b, c = np.linalg.eigvalsh(tensor).tolist()
    return a, b, c


def largest_moment(tensor: NDArray[np.float64]) -> float:
    """Return the spectral norm of a symmetric tensor (3, 3)."""
    return max(map(abs, principal_moments(tensor)))


def inertia_bound(tensor: NDArray[np.float64]) -> float:
    """Bound the rounding of a stored inertia, relative to its largest moment.

    Three moments, each u relative, and one quaternion. Turning a tensor by a small angle changes
    it by the commutator [rotation, I - c 1], whose spectral norm is at most angle * (largest -
    smallest moment).
    """
    smallest, _, highest = principal_moments(tensor)
    largest = max(abs(smallest), abs(highest))
    if not largest:
        return ARITHMETIC
    return RELATIVE + QUATERNION * (highest - smallest) / largest + ARITHMETIC


def is_pointlike(tensor: NDArray[np.float64], mass: float, size: float) -> bool:
    """Whether the inertia [kg m^2] of a mass [kg] is zero within rounding, for a robot's size."""
    return largest_moment(tensor) <= NEGLIGIBLE_INERTIA * mass * (size * size)


def harmless_moment(mass: float, size: float, total: float) -> float:
    """Return the largest inertia [kg m^2] that may be defaulted for a point mass [kg]."""
    least = min(_DEFAULTED_MOMENT, DEFAULTED * total * size**2)
    return max(DEFAULTED * mass * size**2, least)


def frame_bounds(frames: Frames, parents: Mapping[str, str]) -> dict[str, FrameBound]:
    """Bound the rounding of link poses along the chain from the root.

    Each joint of the chain stores localPos0, localRot0 and localRot1. The position has an error
    of u times its length. An angular error displaces the links below by the angle times their
    distance: from the joint's origin in the parent for localRot0, from the child for localRot1,
    at the configuration where it is largest.
    """
    column = {name: index for index, name in enumerate(frames.links)}
    chains: dict[str, list[str]] = {}
    behind: dict[str, list[int]] = {}
    for name in frames.links:
        chain, link = chains.setdefault(name, []), name
        while link in parents:
            chain.append(link)
            behind.setdefault(link, []).append(column[name])
            link = parents[link]
    positions, rotations = frames.positions, frames.rotations
    shifts = np.zeros(positions.shape[:2])
    # From the leaves to the root, so that every link sums over its own chain.
    for child in sorted(behind, key=lambda name: len(chains[name]), reverse=True):
        start, end, moved = column[parents[child]], column[child], behind[child]
        local = rotations[0, start].T @ (positions[0, end] - positions[0, start])
        anchor = positions[:, start] + rotations[:, start] @ local
        shifts[:, moved] += RELATIVE * length(local)
        for pivot in (anchor, positions[:, end]):
            arms = positions[:, moved] - pivot[:, None]
            shifts[:, moved] += QUATERNION * np.linalg.norm(arms, axis=2)
    largest = shifts.max(axis=0).tolist()
    return {
        name: FrameBound(largest[column[name]] + ARITHMETIC, len(chain) * PER_JOINT + ARITHMETIC)
        for name, chain in chains.items()
    }


def length(vector: NDArray[np.float64]) -> float:
    """Return the length of a vector; numpy's norm takes ten times as long for one."""
    return math.sqrt(vector.dot(vector))


def largest(amounts: Iterable[float]) -> float:
    """Return the largest of several differences; inf if one is not finite."""
    found = tuple(amounts)
    return max(found) if all(map(math.isfinite, found)) else math.inf
