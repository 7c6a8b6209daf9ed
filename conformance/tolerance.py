"""The tolerance model of a robot: rigid groups, scale of its motion, bounds of all comparisons.

Rounding to float32 changes a number x by at most u |x| with u = 2^-24. Bounds are the worst case of
that rounding of stored numbers, propagated to the compared quantity: a difference above one has
another cause. A unit quaternion moves by at most 2^-24 as a vector, and a rotation turns by twice
the angle of its quaternion: 2^-23 rad per stored quaternion.

Scale of equations of motion, and bounds of the effect of rounding on them: with v_g,i the velocity
of the centre of mass of rigid group g per unit of velocity i, and w_g,i its angular velocity,
M_ij = sum over g of m v_i . v_j + w_i . I w_j, and the bias forces are
f_i = sum over g of m v_i . (a - g) + w_i . (I dw/dt + w x I w). Both are evaluated with lengths and
moments in place of vectors and tensors, and once more with each of them enlarged by its rounding:
the increase bounds the effect of rounding, as all terms are products.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from urdf_usd.conformance.observation import robot as obs

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
Array = NDArray[np.float64]
Groups: TypeAlias = Sequence[Sequence[str]]

_GRAVITY = 9.81
_EXTENT = 0.1  # least size of a body with defaulted inertia [m]
# A robot of less has no size from which a harmless inertia follows [m].
_NANOMETRE = 1e-9


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


def center_bound(center: obs.Vec3) -> float:
    """Bound the rounding of a stored point [m]: u times its distance."""
    return RELATIVE * math.hypot(*center) + ARITHMETIC


def principal_moments(tensor: NDArray[np.float64]) -> obs.Vec3:
    """Return the eigenvalues of a symmetric tensor (3, 3), ascending; NaN if it is not finite."""
    if not np.isfinite(tensor).all():
        return math.nan, math.nan, math.nan
    a, b, c = np.linalg.eigvalsh(tensor).tolist()
    return a, b, c


def largest_moment(tensor: NDArray[np.float64]) -> float:
    """Return the spectral norm of a symmetric tensor (3, 3)."""
    return max(map(abs, principal_moments(tensor)))


def inertia_bound(tensor: NDArray[np.float64]) -> float:
    """Bound the rounding of a stored inertia, relative to its largest moment."""
    # Three moments, each u relative, and one quaternion. Turning a tensor by a small angle changes
    # it by the commutator [rotation, I - c 1], whose spectral norm is at most angle * (largest -
    # smallest moment).
    smallest, _, highest = principal_moments(tensor)
    largest = max(abs(smallest), abs(highest))
    if not largest:
        return ARITHMETIC
    return RELATIVE + QUATERNION * (highest - smallest) / largest + ARITHMETIC


def is_pointlike(moment: float, mass: float, size: float) -> bool:
    """Whether the largest moment [kg m^2] of a mass [kg] is zero within rounding, by robot size."""
    return moment <= NEGLIGIBLE_INERTIA * mass * (size * size)


def harmless_moment(mass: float, size: float, total: float) -> float:
    """Return the largest inertia [kg m^2] that may be defaulted for a point mass [kg]."""
    least = min(_DEFAULTED_MOMENT, DEFAULTED * total * size**2)
    return max(DEFAULTED * mass * size**2, least)


def frame_bounds(frames: obs.Frames, parents: Mapping[str, str]) -> dict[str, FrameBound]:
    """Bound the rounding of link poses along the chain from the root."""
    # Each joint of the chain stores localPos0, localRot0 and localRot1. The position has an error
    # of u times its length. An angular error displaces the links below by the angle times their
    # distance: from the joint's origin in the parent for localRot0, from the child for localRot1,
    # at the configuration where it is largest.
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
    return math.sqrt(vector.dot(vector))


def largest(amounts: Iterable[float]) -> float:
    """Return the largest of several differences; inf if one is not finite."""
    found = tuple(amounts)
    return max(found) if all(map(math.isfinite, found)) else math.inf


class _LinkMass(Struct, frozen=True, eq=False):
    """Mass of one link of a group, in the frame of the group's head, its first link."""

    mass: float  # [kg]
    center: Array  # (3,) centre of mass [m]
    tensor: Array  # (3, 3) inertia about the centre of mass [kg m^2]
    moment: float  # the largest [kg m^2]
    origin: Array  # (3,) origin of the link [m]
    depth: int  # number of fixed joints between the head and the link


class GroupMass(Struct, frozen=True, eq=False, dict=True):
    """Mass of a whole group, in the frame of its head."""

    mass: float  # [kg]
    center: Array  # (3,) [m]; the head's origin if there is no mass
    tensor: Array  # (3, 3) inertia about the centre of mass [kg m^2]
    parts: tuple[_LinkMass, ...]  # masses of its links

    @cached_property
    def center_bound(self) -> float:
        """Bound of the rounding of the centre of mass [m]."""
        # Each centre, mass and the sum add u times the distance, each fixed joint that and two
        # quaternions.
        reach = (length(end) for part in self.parts for end in (part.center, part.origin))
        welds = max((part.depth for part in self.parts), default=0)
        factor = 3 * RELATIVE + welds * (RELATIVE + PER_JOINT)
        return factor * max(reach, default=0.0) + ARITHMETIC

    @cached_property
    def inertia_bound(self) -> float:
        """Bound of the rounding of the inertia, relative to its largest moment."""
        # In m |d|^2, the mass adds u and d twice the error of a centre. The tensor of a part adds
        # its storage and the rotations of its fixed joints, and the sum its storage.
        largest = largest_moment(self.tensor)
        if not largest:
            return ARITHMETIC
        arm_error = 2 * self.center_bound
        absolute = inertia_bound(self.tensor) * largest
        for part in self.parts:
            angle = QUATERNION + part.depth * PER_JOINT
            absolute += (RELATIVE + 2 * angle) * part.moment
            arm = length(part.center - self.center)
            absolute += part.mass * (RELATIVE * arm**2 + 2 * arm * arm_error)
        return absolute / largest + ARITHMETIC

    def harmless_moment(self, size: float, total: float) -> float:
        """Return the inertia that may be defaulted for its point masses [kg m^2]."""
        return sum(
            harmless_moment(part.mass, size, total)
            for part in self.parts
            if is_pointlike(part.moment, part.mass, size)
        )


def rigid_groups(
    links: Sequence[str], joints: Sequence[obs.JointObservation]
) -> tuple[tuple[str, ...], ...]:
    """Partition links into groups connected by fixed joints; the head comes first."""
    parent_joint = {joint.child: joint for joint in joints}
    groups: dict[str, list[str]] = {}
    for name in links:
        head = name
        while (joint := parent_joint.get(head)) and joint.type is obs.JointType.FIXED:
            head = joint.parent
        groups.setdefault(head, []).append(name)
    return tuple((head, *(n for n in members if n != head)) for head, members in groups.items())


def masses_of(observation: obs.Observation) -> dict[str, obs.MassProperties | None]:
    return {link.name: link.mass for link in observation.links}


def tensor_of(values: obs.Vec6) -> Array:
    ixx, ixy, ixz, iyy, iyz, izz = values
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def group_masses(
    observation: obs.Observation, groups: Groups, joints: Sequence[obs.JointObservation]
) -> tuple[GroupMass | None, ...]:
    """Combine the masses of each group; None if a required mass or frame is not known."""
    frames, masses = observation.frames, masses_of(observation)
    if frames is None:
        return (None,) * len(groups)
    parent = {joint.child: joint.parent for joint in joints}
    column = {name: index for index, name in enumerate(frames.links)}
    positions, rotations = frames.positions[0], frames.rotations[0]

    def combined(group: Sequence[str]) -> GroupMass | None:
        head, parts = group[0], []
        for name in group:
            own = masses.get(name)
            if own is None or not own.mass:
                continue
            if own.inertia is None or name not in column or head not in column:
                return None
            turn = rotations[column[head]].T
            origin = turn @ (positions[column[name]] - positions[column[head]])
            rotation = turn @ rotations[column[name]]
            center = origin + rotation @ np.asarray(own.center)
            tensor = rotation @ tensor_of(own.inertia) @ rotation.T
            depth, link = 0, name
            while link != head and link in parent:
                link, depth = parent[link], depth + 1
            parts.append(_LinkMass(own.mass, center, tensor, largest_moment(tensor), origin, depth))
        mass = sum(part.mass for part in parts)
        center, tensor = np.zeros(3), np.zeros((3, 3))
        if mass:
            center = sum((part.mass * part.center for part in parts), center) / mass
        for part in parts:
            arm = part.center - center
            tensor += part.tensor + part.mass * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm))
        return GroupMass(mass, center, tensor, tuple(parts))

    return tuple(map(combined, groups))


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
    speed: Array  # (K, G, n) of the centres of mass
    spin: Array  # (G, n) angular speed
    velocities: Array  # (K, n) magnitudes

    def inertia(self, mass: Array, moment: Array) -> Array:
        """Return (K, n, n) inertias of groups with (G) masses and moments."""
        linear = np.swapaxes(self.speed, 1, 2) @ (mass[:, None] * self.speed)
        total: Array = linear + (self.spin.T * moment) @ self.spin
        return total

    def forces(self, mass: Array, moment: Array) -> Array:
        """Return (K, n) bounds of forces, regardless of signs: |dv_i/dt| <= 2 spin |v_i|."""
        spin = self.velocities @ self.spin.T
        travel = np.einsum("kgn,kn->kg", self.speed, self.velocities)
        linear = self.speed * (mass * (_GRAVITY + 2 * spin * travel))[:, :, None]
        angular = self.spin * (moment * spin**2)[:, :, None]
        total: Array = (linear + angular).sum(axis=1)
        return total


def motion_scale(
    expected: obs.Observation, groups: Groups, bounds: Mapping[str, FrameBound], size: float
) -> MotionScale | None:
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
    expected: obs.Observation,
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
        link, joint_type, axis = expected.root, obs.JointType.FLOATING, None
        bound = FrameBound(0.0, 0.0)
        if name != obs.ROOT_MOTION:
            joint = joint_named[name]
            link, joint_type, axis = joint.child, joint.type, joint.axis
            bound = bounds[link]
        rows, translations = carried.get(link, []), obs.TRANSLATIONS[joint_type]
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
            error = bound.rotation * reach + center_errors[rows] + bound.position
            speed_error[:, rows, index] = error
            spin[rows, index] = 1.0
            spin_error[rows, index] = bound.rotation
    rounded = _Motion(speed + speed_error, spin + spin_error, velocities)
    return _Motion(speed, spin, velocities), rounded, kinds


def _directions(joint_type: obs.JointType, axis: obs.Vec3 | None) -> Array:
    """Return the (3, d) directions of a joint's freedoms, of which only lengths matter here."""
    own = np.array([axis or (0.0, 0.0, 0.0)])
    match joint_type:
        case obs.JointType.PLANAR:
            return np.hstack([np.eye(3) - own.T @ own, own.T])
        case obs.JointType.FLOATING:
            return np.hstack([np.eye(3), np.eye(3)])
        case obs.JointType.SPHERICAL:
            return np.eye(3)
        case _:
            return own.T


class ToleranceModel(Struct, frozen=True, eq=False):
    tolerance: Tolerance  # engineering tolerance
    joint_to: Mapping[str, obs.JointObservation]  # joint by child link
    groups: tuple[tuple[str, ...], ...]  # rigid groups, the first link of each first
    bounds: Mapping[str, FrameBound]  # bounds of the rounding of link poses
    total_mass: float  # [kg]
    # largest distance of a link or centre of mass from the root at zero [m]; 1 if all are within a
    # nanometre
    size: float
    # scale and bounds of the equations of motion, if they are stated
    motion: MotionScale | None = None
    # per joint, the spread of perturbed rollouts at each state
    spread: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def chain(self, link: str) -> tuple[obs.JointObservation, ...]:
        """Joints from the root to a link."""
        path = []
        while joint := self.joint_to.get(link):
            path.append(joint)
            link = joint.parent
        return tuple(reversed(path))


def derive_tolerance_model(expected: obs.Observation, tolerance: Tolerance) -> ToleranceModel:
    frames = expected.frames
    if frames is None:
        raise ValueError(f"engine {expected.engine!r} states no frames")
    joint_to = {joint.child: joint for joint in expected.joints}
    groups = rigid_groups([link.name for link in expected.links], expected.joints)
    bounds = frame_bounds(frames, {child: joint.parent for child, joint in joint_to.items()})
    ends = []
    for link in expected.links:
        index = frames.links.index(link.name)
        center = frames.rotations[0, index] @ (link.mass.center if link.mass else (0.0, 0.0, 0.0))
        ends += [frames.positions[0, index], frames.positions[0, index] + center]
    largest = max(math.hypot(*end) for end in ends)
    size = largest if largest > _NANOMETRE else 1.0
    return ToleranceModel(
        tolerance=tolerance,
        joint_to=joint_to,
        groups=groups,
        bounds=bounds,
        total_mass=sum(link.mass.mass for link in expected.links if link.mass),
        size=size,
        motion=motion_scale(expected, groups, bounds, size),
        spread=rollout_spread(expected.rollout, {joint.name: joint for joint in expected.joints}),
    )


def rollout_spread(
    rollout: obs.Rollout | None, joints: Mapping[str, obs.JointObservation]
) -> dict[str, tuple[float, ...]]:
    """Return the largest distance of perturbed rollouts, per joint and state that all reach."""
    if rollout is None or not rollout.perturbed:
        return {}
    together = list(zip(rollout.states, *rollout.perturbed, strict=False))
    return {
        name: tuple(
            max(distance(own, other, (index, index), joints[name].type) for other in others)
            for own, *others in together
        )
        for index, name in enumerate(rollout.joints)
    }


def distance(
    first: obs.RolloutState, second: obs.RolloutState, at: tuple[int, int], kind: obs.JointType
) -> float:
    """Return the distance of two states of a joint at an index in each: the largest of any kind."""
    count = obs.TRANSLATIONS[kind]
    p, q = first.positions[at[0]], second.positions[at[1]]
    u, v = first.velocities[at[0]], second.velocities[at[1]]
    angle = math.dist(p[count:], q[count:])
    if kind in {obs.JointType.FLOATING, obs.JointType.SPHERICAL}:
        # Quaternions of either sign; |p - q| = 2 sin(angle / 4).
        chord = min(angle, math.dist(p[count:], [-value for value in q[count:]]))
        angle = 4 * math.asin(min(chord / 2, 1.0))
    speeds = math.dist(u[:count], v[:count]), math.dist(u[count:], v[count:])
    return largest((math.dist(p[:count], q[:count]), angle, *speeds))
