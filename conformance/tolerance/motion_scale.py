"""Scale of equations of motion, and bounds of the effect of rounding on them.

With v_g,i the velocity of the centre of mass of rigid group g per unit of velocity i,
and w_g,i its angular velocity, M_ij = sum over g of m v_i . v_j + w_i . I w_j. So an
error of every mass, centre, tensor, joint axis and joint frame is carried into M to
first order by products of the lengths |v| and |w|, and into the bias forces likewise:
f_i = sum over g of m v_i . (a - g) + w_i . (I dw/dt + w x I w), in which velocity
products bound the accelerations. Lengths are added without signs: worst cases, like
all bounds here. First order suffices: second-order terms are 1e-7 of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    TRANSLATIONS,
    VELOCITIES,
    Dynamics,
    Frames,
    JointObservation,
    JointType,
    Observation,
)
from urdf_usd.conformance.tolerance.bounds import (
    ARITHMETIC,
    INVENTED,
    RELATIVE,
    FrameBound,
    harmless_moment,
    is_pointlike,
    length,
)
from urdf_usd.conformance.tolerance.rigid_groups import (
    GroupMass,
    group_center_bound,
    group_inertia_bound,
    group_masses,
)

Array = NDArray[np.float64]

_GRAVITY = 9.81
# Least size of a body with invented inertia [m].
_EXTENT = 0.1


class MotionScale(Struct, frozen=True, eq=False):
    """Scale of a robot's equations of motion, over all its configurations.

    Attributes:
        joints: (n) joint of each degree of freedom, as the specification orders them.
        inertia: (n) square root of the largest inertia that each one has.
        inertia_bound: (n, n) bound of the effect of rounding on M.
        inertia_invented: (n, n) bound of the effect of harmless invented inertia on M.
        bias: (n) largest force for any direction of gravity and velocities.
        bias_bound: (n) bound of the effect of rounding on b.
        bias_invented: (n) bound of the effect of harmless invented inertia on b.
    """

    joints: tuple[str, ...]
    inertia: Array
    inertia_bound: Array
    inertia_invented: Array
    bias: Array
    bias_bound: Array
    bias_invented: Array


class _Axis(Struct, frozen=True, eq=False):
    """One degree of freedom.

    Attributes:
        direction: (K, 3) of translation or rotation.
        point: (K, 3) point of a rotation axis; None for a translation.
        link: The link that it moves, with all links below.
        turn_error: Rounding of its direction [rad].
        shift_error: Rounding of its place [m].
    """

    direction: Array
    point: Array | None
    link: str
    turn_error: float
    shift_error: float


class _GroupJacobians(Struct, frozen=True, eq=False):
    """Motion of G rigid groups per unit of n velocities.

    Attributes:
        linear: (K, G, n) speed of the centre of mass.
        linear_error: (K, G, n) rounding of that velocity, as a vector.
        angular: (G, n) angular speed.
        angular_error: (G, n) rounding of the angular velocity, as a vector.
    """

    linear: Array
    linear_error: Array
    angular: Array
    angular_error: Array


class _Weights(Struct, frozen=True, eq=False):
    """Mass properties of G rigid groups.

    Attributes:
        mass: (G) [kg].
        mass_error: (G) their rounding.
        moment: (G) largest principal moment [kg m^2].
        tensor_error: (G) rounding of the tensor, rotations included.
    """

    mass: Array
    mass_error: Array
    moment: Array
    tensor_error: Array


def motion_scale(
    spec: Observation,
    groups: Sequence[Sequence[str]],
    bounds: Mapping[str, FrameBound],
    size: float,
) -> MotionScale | None:
    """Compute the scale of a robot's equations of motion.

    Args:
        spec: The reference observation.
        groups: Rigid groups, the first link of each first.
        bounds: Rounding of link poses.
        size: Of the robot [m].

    Returns:
        None if equations of motion, masses or frames are not stated.
    """
    frames, dynamics = spec.frames, spec.dynamics
    if frames is None or dynamics is None:
        return None
    count = len(dynamics.velocities)
    frames = structs.replace(
        frames, positions=frames.positions[:count], rotations=frames.rotations[:count]
    )
    bodies = {}
    for group, group_mass in zip(groups, group_masses(spec, groups, spec.joints), strict=True):
        if group_mass is None:
            return None
        bodies[group[0]] = group_mass
    axes = _axes(spec, dynamics, frames, bounds)
    parent = {joint.child: joint.parent for joint in spec.joints}
    jacobians = _group_jacobians(axes, bodies, frames, bounds, parent)
    real = _weights(bodies, bounds)
    invented = _invented(tuple(bodies.values()), size)
    inertia = np.einsum("kii->ki", dynamics.inertia).max(axis=0)
    allowed = _products(jacobians, invented)
    speeds = np.abs(dynamics.velocities)
    allowed_bias = _forces(jacobians, invented, speeds)
    own = _shared(axes, np.maximum(inertia, 0.0) + np.diagonal(allowed))
    bias = _shared(axes, _forces(jacobians, real, speeds) + allowed_bias)
    # Sums of forces that cancel, where no force is possible.
    rounding = ARITHMETIC * allowed_bias.max(initial=0.0) * max(size, _EXTENT)
    return MotionScale(
        joints=dynamics.joints,
        inertia=np.sqrt(own),
        inertia_bound=_product_errors(jacobians, real),
        inertia_invented=allowed,
        bias=bias,
        bias_bound=_force_errors(jacobians, real, speeds) + np.where(bias > 0.0, 0.0, rounding),
        bias_invented=allowed_bias,
    )


def _shared(axes: Sequence[_Axis], values: Array) -> Array:
    """Return the largest of the (n) values over the axes of one kind of each joint.

    Single ones depend on the arbitrary orientation of the frame.
    """
    keys = [(axis.link, axis.point is None) for axis in axes]
    largest: dict[tuple[str, bool], float] = {}
    for key, value in zip(keys, values, strict=True):
        largest[key] = max(largest.get(key, 0.0), float(value))
    return np.array([largest[key] for key in keys])


def _axes(
    spec: Observation,
    dynamics: Dynamics,
    frames: Frames,
    bounds: Mapping[str, FrameBound],
) -> list[_Axis]:
    """Return the degrees of freedom in the order of the equations."""
    joint_named = {joint.name: joint for joint in spec.joints}
    count = len(frames.positions)
    still = np.zeros((count, 3))
    axes: list[_Axis] = []
    for name in dict.fromkeys(dynamics.joints):
        if name == ROOT_MOTION:
            units = [np.tile(row, (count, 1)) for row in np.eye(3)]
            axes += [_Axis(unit, None, spec.root, 0.0, 0.0) for unit in units]
            axes += [_Axis(unit, still, spec.root, 0.0, 0.0) for unit in units]
            continue
        joint = joint_named[name]
        column = frames.links.index(joint.child)
        bound = bounds[joint.child]
        point = frames.positions[:, column]
        directions = frames.rotations[:, column] @ _directions(joint)
        translations = TRANSLATIONS.get(joint.type, 0)
        axes += [
            _Axis(
                directions[:, :, index],
                None if index < translations else point,
                joint.child,
                bound.rotation,
                bound.position,
            )
            for index in range(VELOCITIES[joint.type])
        ]
    return axes


def _directions(joint: JointObservation) -> Array:
    """Return the (3, d) directions of a joint's freedoms, in the frame of its child.

    Only their lengths matter here, so those of the joint frame are taken as unit
    vectors of the child frame.
    """
    axis = np.array([joint.axis or (0.0, 0.0, 0.0)])
    match joint.type:
        case JointType.PLANAR:
            return np.hstack([np.eye(3) - axis.T @ axis, axis.T])
        case JointType.FLOATING:
            return np.hstack([np.eye(3), np.eye(3)])
        case JointType.SPHERICAL:
            return np.eye(3)
        case _:
            return axis.T


def _group_jacobians(
    axes: Sequence[_Axis],
    bodies: Mapping[str, GroupMass],
    frames: Frames,
    bounds: Mapping[str, FrameBound],
    parent: Mapping[str, str],
) -> _GroupJacobians:
    """Compute the Jacobians of rigid groups.

    Args:
        axes: The degrees of freedom.
        bodies: Mass properties of groups, by head.
        frames: Placement of the links.
        bounds: Rounding of link poses.
        parent: Parent link by child link.
    """
    count, shape = len(frames.positions), (len(bodies), len(axes))
    linear, linear_error = np.zeros((2, count, *shape))
    angular, angular_error = np.zeros((2, *shape))
    column = {name: index for index, name in enumerate(frames.links)}
    places = np.zeros((count, len(bodies), 3))
    errors = np.zeros(len(bodies))
    carried: dict[str, list[int]] = {}
    for row, (head, own) in enumerate(bodies.items()):
        at = column[head]
        places[:, row] = frames.positions[:, at] + frames.rotations[:, at] @ own.center
        errors[row] = bounds[head].position + bounds[head].rotation * length(own.center)
        errors[row] += group_center_bound(own.parts)
        carrier: str | None = head
        while carrier is not None:
            carried.setdefault(carrier, []).append(row)
            carrier = parent.get(carrier)
    for index, axis in enumerate(axes):
        rows = carried.get(axis.link, [])
        if axis.point is None:
            speeds = np.linalg.norm(axis.direction, axis=1)
            linear[:, rows, index] = speeds[:, None]
            linear_error[:, rows, index] = axis.turn_error
            continue
        arms = places[:, rows] - axis.point[:, None]
        turned = np.cross(axis.direction[:, None], arms)
        linear[:, rows, index] = np.linalg.norm(turned, axis=2)
        linear_error[:, rows, index] = (
            axis.turn_error * np.linalg.norm(arms, axis=2) + errors[rows] + axis.shift_error
        )
        angular[rows, index] = 1.0
        angular_error[rows, index] = axis.turn_error
    return _GroupJacobians(linear, linear_error, angular, angular_error)


def _weights(bodies: Mapping[str, GroupMass], bounds: Mapping[str, FrameBound]) -> _Weights:
    mass = np.array([own.mass for own in bodies.values()])
    tensors = np.array([own.tensor for own in bodies.values()])
    moment = np.linalg.norm(tensors, 2, axis=(1, 2))
    storage = np.array(
        [
            group_inertia_bound(own.parts, own.center, own.tensor) + 2 * bounds[head].rotation
            for head, own in bodies.items()
        ]
    )
    # Each mass is stored, and so is their sum.
    return _Weights(mass, 2 * RELATIVE * mass, moment, storage * moment)


def _invented(bodies: Sequence[GroupMass], size: float) -> _Weights:
    """Return the allowed invented mass and inertia, of massless groups and points."""
    total = sum(own.mass for own in bodies) or 1.0
    bare = np.array([own.mass == 0 for own in bodies])
    points = np.array(
        [
            sum(
                harmless_moment(part.mass, size, total)
                for part in own.parts
                if is_pointlike(part.tensor, part.mass, size)
            )
            for own in bodies
        ]
    )
    mass = np.where(bare, INVENTED * total, 0.0)
    moment = mass * max(size, _EXTENT) ** 2 + points
    none = np.zeros(len(bodies))
    return _Weights(mass, none, moment, none)


def _products(jacobians: _GroupJacobians, weights: _Weights) -> Array:
    """Return the largest (n, n) inertias that the weights can have."""
    turning = (jacobians.angular.T * weights.moment) @ jacobians.angular
    return _weighted(jacobians.linear, weights.mass, jacobians.linear) + turning


def _product_errors(jacobians: _GroupJacobians, weights: _Weights) -> Array:
    linear, error = jacobians.linear, jacobians.linear_error
    once = _weighted(error, weights.mass, linear)
    twice = _weighted(error, weights.mass, error)
    result = _weighted(linear, weights.mass_error, linear) + once + once.T + twice
    turning = (jacobians.angular_error.T * weights.moment) @ jacobians.angular
    tensor = (jacobians.angular.T * weights.tensor_error) @ jacobians.angular
    exact = ARITHMETIC * _products(jacobians, weights)
    total: Array = result + turning + turning.T + tensor + exact
    return total


def _weighted(first: Array, weights: Array, second: Array) -> Array:
    """Return the largest sum over groups, (n, n), over all configurations."""
    products = np.swapaxes(first, 1, 2) @ (weights[:, None] * second)
    largest: Array = products.max(axis=0)
    return largest


def _forces(jacobians: _GroupJacobians, weights: _Weights, speeds: Array) -> Array:
    """Return the largest (n) forces, regardless of signs.

    Args:
        jacobians: Motion per unit of velocity.
        weights: Mass properties.
        speeds: (K, n) magnitudes of the velocities.
    """
    pull, spin = _rates(jacobians, speeds)
    linear = jacobians.linear * (weights.mass * (_GRAVITY + pull))[:, :, None]
    angular = jacobians.angular * (weights.moment * spin**2)[:, :, None]
    largest: Array = (linear + angular).sum(axis=1).max(axis=0)
    return largest


def _force_errors(jacobians: _GroupJacobians, weights: _Weights, speeds: Array) -> Array:
    pull, spin = _rates(jacobians, speeds)
    travel = np.einsum("kgn,kn->kg", jacobians.linear_error, speeds)
    turning = float(jacobians.angular_error.max(initial=0.0))
    pull_error = 2 * spin * travel + 2 * turning * pull
    held = (weights.mass * (_GRAVITY + pull))[:, :, None]
    mass = (weights.mass_error * (_GRAVITY + pull) + weights.mass * pull_error)[:, :, None]
    tensor = ((weights.tensor_error + 4 * turning * weights.moment) * spin**2)[:, :, None]
    errors = jacobians.linear * mass + jacobians.linear_error * held + jacobians.angular * tensor
    largest: Array = errors.sum(axis=1).max(axis=0)
    return largest + ARITHMETIC * _forces(jacobians, weights, speeds)


def _rates(jacobians: _GroupJacobians, speeds: Array) -> tuple[Array, Array]:
    """Bound (K, G) accelerations by velocity products, and angular speeds.

    The velocity of a centre per unit of velocity changes with its axis and with its
    arm: each is turned by the axes before it, so |dv_i/dt| <= 2 spin |v_i|.
    """
    spin = speeds @ jacobians.angular.T
    travel = np.einsum("kgn,kn->kg", jacobians.linear, speeds)
    return 2 * spin * travel, spin
