"""Scale of equations of motion, and bounds of the effect of rounding on them.

With v_g,i the velocity of the centre of mass of rigid group g per unit of velocity i, and
w_g,i its angular velocity, M_ij = sum over g of m v_i . v_j + w_i . I w_j, and the bias
forces are f_i = sum over g of m v_i . (a - g) + w_i . (I dw/dt + w x I w). Both are evaluated
with lengths and moments in place of vectors and tensors, and once more with each of them
enlarged by its rounding: the increase bounds the effect of rounding, as all terms are products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    TRANSLATIONS,
    JointType,
    Observation,
    Vec3,
)
from urdf_usd.conformance.tolerance.bounds import (
    ARITHMETIC,
    DEFAULTED,
    RELATIVE,
    FrameBound,
    largest_moment,
    length,
)
from urdf_usd.conformance.tolerance.rigid_groups import GroupMass, group_masses

Array = NDArray[np.float64]

_GRAVITY = 9.81
_EXTENT = 0.1  # least size of a body with defaulted inertia [m]


class MotionScale(Struct, frozen=True, eq=False):
    """Scale of a robot's equations of motion, over all its configurations."""

    joints: tuple[str, ...]  # (n) joint of each degree of freedom, as the reference orders them
    inertia: Array  # (n) square root of the largest inertia that each one has
    inertia_bound: Array  # (n, n) bound of the effect of rounding on M
    inertia_defaulted: Array  # (n, n) bound of the effect of harmless defaulted inertia on M
    bias: Array  # (n) largest force for any direction of gravity and velocities
    bias_bound: Array  # (n) bound of the effect of rounding on b
    bias_defaulted: Array  # (n) bound of the effect of harmless defaulted inertia on b


class _Motion(Struct, frozen=True, eq=False):
    """Motion of G rigid groups per unit of n velocities, at K configurations."""

    speed: Array  # (K, G, n) of the centres of mass
    spin: Array  # (G, n) angular speed
    velocities: Array  # (K, n) magnitudes

    def inertia(self, mass: Array, moment: Array) -> Array:
        """Return (K, n, n) inertias of groups with (G) masses and moments."""
        linear = np.swapaxes(self.speed, 1, 2) @ (mass[:, None] * self.speed)
        total: Array = linear + (self.spin.T * moment) @ self.spin
        return total

    def forces(self, mass: Array, moment: Array) -> Array:
        """Return (K, n) bounds of forces, regardless of signs.

        The velocity of a centre per unit of velocity is turned by the axes before it, and so
        is its arm: |dv_i/dt| <= 2 spin |v_i|.
        """
        spin = self.velocities @ self.spin.T
        travel = np.einsum("kgn,kn->kg", self.speed, self.velocities)
        linear = self.speed * (mass * (_GRAVITY + 2 * spin * travel))[:, :, None]
        angular = self.spin * (moment * spin**2)[:, :, None]
        total: Array = (linear + angular).sum(axis=1)
        return total


def motion_scale(
    expected: Observation,
    groups: Sequence[Sequence[str]],
    bounds: Mapping[str, FrameBound],
    size: float,
) -> MotionScale | None:
    """Compute the scale of a robot's equations of motion.

    Args:
        expected: The reference observation.
        groups: Rigid groups, the first link of each first.
        bounds: Rounding of link poses.
        size: Of the robot [m].

    Returns:
        None if equations of motion, masses or frames are not known.
    """
    dynamics = expected.dynamics
    masses = [mass for mass in group_masses(expected, groups, expected.joints) if mass is not None]
    if dynamics is None or expected.frames is None or len(masses) < len(groups):
        return None
    exact, rounded, kinds = _group_motions(expected, [g[0] for g in groups], masses, bounds)
    mass = np.array([own.mass for own in masses])
    moment = np.array([largest_moment(own.tensor) for own in masses])
    turns = np.array([bounds[group[0]].rotation for group in groups])
    # Each mass is stored, and so is their sum.
    rounded_mass = mass * (1 + 2 * RELATIVE)
    rounded_moment = moment * (1 + np.array([own.inertia_bound for own in masses]) + 2 * turns)
    # Masses and moments that may be defaulted: of massless groups and points.
    total = sum(own.mass for own in masses) or 1.0
    bare = np.array([0.0 if own.mass else DEFAULTED * total for own in masses])
    points = np.array([own.harmless_moment(size, total) for own in masses])
    defaulted = bare, bare * max(size, _EXTENT) ** 2 + points

    def increase(nominal: Array, enlarged: Array) -> Array:
        bound: Array = (enlarged - nominal).max(axis=0) + ARITHMETIC * nominal.max(axis=0)
        return bound

    def shared(values: Array) -> Array:
        # Single axes of a joint depend on the arbitrary orientation of its frame.
        largest: dict[tuple[str, bool], float] = {}
        for kind, value in zip(kinds, values.tolist(), strict=True):
            largest[kind] = max(largest.get(kind, 0.0), value)
        return np.array([largest[kind] for kind in kinds])

    inertias, forces = exact.inertia(mass, moment), exact.forces(mass, moment)
    inertia_defaulted = exact.inertia(*defaulted).max(axis=0)
    bias_defaulted = exact.forces(*defaulted).max(axis=0)
    stated = np.einsum("kii->ki", dynamics.inertia).max(axis=0)
    bias = shared(forces.max(axis=0) + bias_defaulted)
    # Sums of forces that cancel, where no force is possible.
    cancelled = ARITHMETIC * bias_defaulted.max(initial=0.0) * max(size, _EXTENT)
    return MotionScale(
        joints=dynamics.joints,
        inertia=np.sqrt(shared(np.maximum(stated, 0.0) + np.diagonal(inertia_defaulted))),
        inertia_bound=increase(inertias, rounded.inertia(rounded_mass, rounded_moment)),
        inertia_defaulted=inertia_defaulted,
        bias=bias,
        bias_bound=increase(forces, rounded.forces(rounded_mass, rounded_moment))
        + np.where(bias > 0.0, 0.0, cancelled),
        bias_defaulted=bias_defaulted,
    )


def _group_motions(
    expected: Observation,
    heads: Sequence[str],
    masses: Sequence[GroupMass],
    bounds: Mapping[str, FrameBound],
) -> tuple[_Motion, _Motion, list[tuple[str, bool]]]:
    """Compute motions, the same enlarged by rounding, and joint and kind of each velocity."""
    frames, dynamics = expected.frames, expected.dynamics
    if frames is None or dynamics is None:
        raise ValueError("frames or equations of motion are not known")
    velocities = np.abs(dynamics.velocities)
    count = len(velocities)
    positions, rotations = frames.positions[:count], frames.rotations[:count]
    column = {name: index for index, name in enumerate(frames.links)}
    parent = {joint.child: joint.parent for joint in expected.joints}
    centers = np.zeros((count, len(heads), 3))
    center_errors = np.zeros(len(heads))
    carried: dict[str | None, list[int]] = {}
    for row, (head, own) in enumerate(zip(heads, masses, strict=True)):
        at, bound = column[head], bounds[head]
        centers[:, row] = positions[:, at] + rotations[:, at] @ own.center
        center_errors[row] = bound.position + bound.rotation * length(own.center) + own.center_bound
        link: str | None = head
        while link is not None:
            carried.setdefault(link, []).append(row)
            link = parent.get(link)

    joint_named = {joint.name: joint for joint in expected.joints}
    speed, speed_error = np.zeros((2, count, len(heads), len(dynamics.joints)))
    spin, spin_error = np.zeros((2, len(heads), len(dynamics.joints)))
    kinds: list[tuple[str, bool]] = []
    for name, width in Counter(dynamics.joints).items():
        link, joint_type, axis = expected.root, JointType.FLOATING, None
        bound = FrameBound(0.0, 0.0)
        if name != ROOT_MOTION:
            joint = joint_named[name]
            link, joint_type, axis = joint.child, joint.type, joint.axis
            bound = bounds[link]
        rows, translations = carried.get(link, []), TRANSLATIONS.get(joint_type, 0)
        directions = rotations[:, column[link]] @ _directions(joint_type, axis)
        arms = centers[:, rows] - positions[:, None, column[link]]
        reach = np.linalg.norm(arms, axis=2)
        for step, direction in enumerate(np.moveaxis(directions, 2, 0)[:width]):
            index = len(kinds)
            kinds.append((name, step < translations))
            if step < translations:
                speed[:, rows, index] = np.linalg.norm(direction, axis=1)[:, None]
                speed_error[:, rows, index] = bound.rotation
                continue
            turned = np.cross(direction[:, None], arms)
            speed[:, rows, index] = np.linalg.norm(turned, axis=2)
            speed_error[:, rows, index] = (
                bound.rotation * reach + center_errors[rows] + bound.position
            )
            spin[rows, index] = 1.0
            spin_error[rows, index] = bound.rotation
    rounded = _Motion(speed + speed_error, spin + spin_error, velocities)
    return _Motion(speed, spin, velocities), rounded, kinds


def _directions(joint_type: JointType, axis: Vec3 | None) -> Array:
    """Return the (3, d) directions of a joint's freedoms, in the frame of its child.

    Only their lengths matter here, so those of the joint frame are taken as unit vectors of
    the child frame.
    """
    own = np.array([axis or (0.0, 0.0, 0.0)])
    match joint_type:
        case JointType.PLANAR:
            return np.hstack([np.eye(3) - own.T @ own, own.T])
        case JointType.FLOATING:
            return np.hstack([np.eye(3), np.eye(3)])
        case JointType.SPHERICAL:
            return np.eye(3)
        case _:
            return own.T
