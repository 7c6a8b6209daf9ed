"""Equations of motion that include the inertia of links without mass.

The ``<inertia>`` of a link without mass has no effect by the specification, as the link
has no centre of mass. An engine that includes the tensor adds its rotational inertia to
the joint-space inertia and to the velocity forces.
With w = J u the angular velocity of such a link, J (3, n), and I its tensor along the
axes of the root link, these are, after Featherstone, "Rigid Body Dynamics Algorithms",
section 2.14,

    M' = M + J^T I J        b' = b + J^T (I a + w x I w)

where a is the angular acceleration of the link while u' is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    TRANSLATIONS,
    VELOCITIES,
    Dynamics,
    JointObservation,
    JointType,
    LinkObservation,
    Observation,
    velocity_indices,
)
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of

Array = NDArray[np.float64]

# Of an entry's own scale: engines in double precision, over chains of some length.
_EQUAL = 1e-6
# Of the largest scale: rounding along the normal of a planar joint, which has no scale.
_ROUND_OFF = 1e-14
_CACHE_SIZE = 8


def massless_inertia(link: LinkObservation) -> bool:
    """Whether a link has inertia, but no mass."""
    return link.mass is not None and not link.mass.mass and any(link.mass.inertia or ())


def counts_massless(spec: Observation, stated: Observation, check: str) -> bool:
    """Whether an observation equals the reference plus the inertia of massless links.

    Links of which the other observation states no mass are left out: an engine that
    rejects their inertia replaces it.

    Args:
        spec: The reference observation.
        stated: Another observation of the same robot.
        check: ``dynamics.inertia_matrix``, ``dynamics.bias``, or one that depends on
            both.
    """
    ours, theirs = spec.dynamics, stated.dynamics
    read = frozenset(link.name for link in stated.links if link.mass is not None)
    predicted = _predicted(spec, read)
    if ours is None or theirs is None or predicted is None:
        return False
    first, second = velocity_indices(ours.joints), velocity_indices(theirs.joints)
    shared = [key for key in first if key in second]
    here, there = [first[key] for key in shared], [second[key] for key in shared]
    count = min(len(predicted[0]), len(theirs.inertia))
    inertia = predicted[0][:count][:, here][:, :, here]
    actual = theirs.inertia[:count][:, there][:, :, there]
    own = np.sqrt(np.einsum("kii->ki", np.abs(inertia)))
    scale = own[:, :, None] * own[:, None, :]
    allowed = _EQUAL * scale + _ROUND_OFF * scale.max(initial=0.0)
    same = np.abs(actual - inertia) <= allowed
    if check == "dynamics.bias":
        bias, forces = predicted[1][:count][:, here], theirs.bias[:count][:, there]
        largest = np.abs(predicted[1]).max(initial=0.0)
        return bool(same.all() and (np.abs(forces - bias) <= _EQUAL * largest).all())
    return bool(same.all())


@lru_cache(maxsize=_CACHE_SIZE)
def _predicted(spec: Observation, read: frozenset[str]) -> tuple[Array, Array] | None:
    """Return (K, n, n) inertia and (K, n) bias; None if there is nothing to add.

    Args:
        spec: The reference observation.
        read: Links whose inertia is added, if they have no mass.
    """
    massless = [link for link in spec.links if link.name in read and massless_inertia(link)]
    if not massless or spec.dynamics is None or spec.frames is None:
        return None
    dynamics, frames = spec.dynamics, spec.frames
    column = {name: index for index, name in enumerate(frames.links)}
    joint_to = {joint.child: joint for joint in spec.joints}
    inertia, bias = dynamics.inertia.copy(), dynamics.bias.copy()
    for link in massless:
        if link.name not in column or link.mass is None or link.mass.inertia is None:
            return None
        chain: list[JointObservation] = []
        name = link.name
        while joint := joint_to.get(name):
            chain.insert(0, joint)
            name = joint.parent
        axes = frames.rotations[: len(inertia), column[link.name]]
        turned = axes @ tensor_of(link.mass.inertia) @ np.swapaxes(axes, -1, -2)
        rates, velocity, acceleration = _turning(
            dynamics, chain, lambda name: frames.rotations[:, column[name]]
        )
        momentum = np.einsum("kij,kj->ki", turned, velocity)
        torque = np.einsum("kij,kj->ki", turned, acceleration)
        torque += np.cross(velocity, momentum)
        across = np.swapaxes(rates, -1, -2)
        inertia += across @ turned @ rates
        bias += np.einsum("kni,ki->kn", across, torque)
    return inertia, bias


def _turning(
    dynamics: Dynamics,
    chain: Sequence[JointObservation],
    rotations_of: Callable[[str], Array],
) -> tuple[Array, Array, Array]:
    """Compute the angular motion of the end of a chain, along the root link's axes.

    Returns:
        (K, 3, n) angular velocity per velocity of a joint, (K, 3) angular velocity,
        (K, 3) angular acceleration while the velocities do not change.
    """
    count, size = dynamics.velocities.shape
    indices = velocity_indices(dynamics.joints)
    rates = np.zeros((count, 3, size))
    velocity, acceleration = np.zeros((count, 3)), np.zeros((count, 3))
    for row in range(3):
        index = indices.get((ROOT_MOTION, TRANSLATIONS[JointType.FLOATING] + row))
        if index is not None:
            rates[:, row, index] = 1.0
            velocity[:, row] = dynamics.velocities[:, index]
    for joint in chain:
        translations = TRANSLATIONS.get(joint.type, 0)
        axes = _axes(joint, rotations_of(joint.child)[:count])
        own = np.zeros((count, 3))
        for number in range(translations, VELOCITIES[joint.type]):
            index = indices.get((joint.name, number))
            if index is not None:
                axis = axes[:, :, number - translations]
                rates[:, :, index] = axis
                own += axis * dynamics.velocities[:, index, None]
        acceleration += np.cross(velocity, own)
        velocity += own
    return rates, velocity, acceleration


def _axes(joint: JointObservation, rotations: Array) -> Array:
    """Return (K, 3, a) axes about which a joint turns its child."""
    if joint.type in {JointType.FLOATING, JointType.SPHERICAL}:
        return rotations
    axis: Array = np.array(joint.axis or (1.0, 0.0, 0.0)).reshape(3, 1)
    axes: Array = rotations @ axis
    return axes
