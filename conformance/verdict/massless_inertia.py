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

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    VELOCITIES,
    Dynamics,
    JointObservation,
    JointType,
    LinkObservation,
    Observation,
)
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of

Array = NDArray[np.float64]

# Displacement rates that come before the angular velocity of a joint.
_SLIDES = {JointType.PRISMATIC: 1, JointType.PLANAR: 3, JointType.FLOATING: 3}
_ROOT_SLIDES = 3
# Of an entry's own scale: engines in double precision, over chains of some length.
_EQUAL = 1e-6
_KEPT = 8


def massless_inertia(link: LinkObservation) -> bool:
    """Whether a link has inertia, but no mass."""
    return link.mass is not None and not link.mass.mass and any(link.mass.inertia or ())


def counts_massless(spec: Observation, stated: Observation, check: str) -> bool:
    """Whether an observation equals the reference plus the inertia of massless links.

    Args:
        spec: The reference observation.
        stated: Another observation of the same robot.
        check: ``dynamics.inertia_matrix``, ``dynamics.bias``, or one that depends on
            both.
    """
    ours, theirs = spec.dynamics, stated.dynamics
    found = _predicted(spec)
    if ours is None or theirs is None or found is None:
        return False
    here, there = _shared(ours.joints, theirs.joints)
    count = min(len(found[0]), len(theirs.inertia))
    inertia = found[0][:count][:, here][:, :, here]
    said = theirs.inertia[:count][:, there][:, :, there]
    own = np.sqrt(np.einsum("kii->ki", np.abs(inertia)))
    same = np.abs(said - inertia) <= _EQUAL * own[:, :, None] * own[:, None, :]
    if check == "dynamics.bias":
        bias, forces = found[1][:count][:, here], theirs.bias[:count][:, there]
        largest = np.abs(found[1]).max(initial=0.0)
        return bool(same.all() and (np.abs(forces - bias) <= _EQUAL * largest).all())
    return bool(same.all())


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the indices of shared velocities in each."""
    first, second = _places(ours), _places(theirs)
    keys = [key for key in first if key in second]
    return [first[key] for key in keys], [second[key] for key in keys]


def _places(names: Sequence[str]) -> dict[tuple[str, int], int]:
    """Index velocities by joint, and number within the joint."""
    seen: Counter[str] = Counter()
    places = {}
    for index, name in enumerate(names):
        places[name, seen[name]] = index
        seen[name] += 1
    return places


@lru_cache(maxsize=_KEPT)
def _predicted(spec: Observation) -> tuple[Array, Array] | None:
    """Return (K, n, n) inertia and (K, n) bias; None if there is nothing to add."""
    massless = [link for link in spec.links if massless_inertia(link)]
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
    places = _places(dynamics.joints)
    rates = np.zeros((count, 3, size))
    velocity, acceleration = np.zeros((count, 3)), np.zeros((count, 3))
    for row in range(3):
        place = places.get((ROOT_MOTION, _ROOT_SLIDES + row))
        if place is not None:
            rates[:, row, place] = 1.0
            velocity[:, row] = dynamics.velocities[:, place]
    for joint in chain:
        slides = _SLIDES.get(joint.type, 0)
        axes = _axes(joint, rotations_of(joint.child)[:count])
        own = np.zeros((count, 3))
        for number in range(slides, VELOCITIES[joint.type]):
            place = places.get((joint.name, number))
            if place is not None:
                axis = axes[:, :, number - slides]
                rates[:, :, place] = axis
                own += axis * dynamics.velocities[:, place, None]
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
