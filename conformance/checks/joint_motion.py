"""Motion of each joint on two sides, and a description of the errors.

The motion of a joint is the pose of its child relative to the nearest link above it that both
sides state, over all configurations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    Frames,
    JointObservation,
    JointType,
    Observation,
)
from urdf_usd.conformance.tolerance.bounds import ARITHMETIC, QUATERNION, RELATIVE, ROUNDINGS
from urdf_usd.conformance.tolerance.comparison import ToleranceModel

# A joint is in error if it differs by more than four times the rounding of the numbers that are
# stored for it.
_MARGIN = 4.0
# Rounding of an identity rotation in single precision [m, 1].
_UNTURNED = 1e-5


class Poses(Struct, frozen=True, eq=False):
    """Poses of a link, or of J links, over K configurations."""

    position: NDArray[np.float64]  # (K, 3) or (K, J, 3) origins [m]
    rotation: NDArray[np.float64]  # (K, 3, 3) or (K, J, 3, 3)

    def of(self, index: int) -> Poses:
        """Poses of one of several links."""
        return Poses(self.position[:, index], self.rotation[:, index])

    def relative_to(self, parents: Poses) -> Poses:
        """The same poses in the frames of other links."""
        inverse = np.swapaxes(parents.rotation, -2, -1)
        offset = (self.position - parents.position)[..., None]
        return Poses((inverse @ offset)[..., 0], inverse @ self.rotation)

    @property
    def from_zero(self) -> Poses:
        """The motion of one link in its own frame at zero."""
        zero = self.rotation[0].T
        return Poses((self.position - self.position[0]) @ zero.T, zero @ self.rotation)


def distances(expected: Poses, actual: Poses) -> NDArray[np.float64]:
    """Return (K) or (K, J) distances of origins [m]."""
    lengths: NDArray[np.float64] = np.linalg.norm(expected.position - actual.position, axis=-1)
    return lengths


def turns(expected: Poses, actual: Poses) -> NDArray[np.float64]:
    """Return (K) or (K, J) angles between rotations [rad], exact for tiny ones.

    |A - B| (Frobenius) = 2 sqrt(2) sin(angle / 2); an arc cosine of the trace would lose
    everything below 1e-8.
    """
    distance = np.linalg.norm(expected.rotation - actual.rotation, axis=(-2, -1))
    halves: NDArray[np.float64] = np.arcsin(np.minimum(distance / math.sqrt(8), 1.0))
    return 2 * halves


def shared_links(expected: Frames, actual: Frames, model: ToleranceModel) -> tuple[str, ...]:
    """Links of the URDF whose frames both sides state."""
    stated = set(actual.links) & set(model.bounds)
    return tuple(name for name in expected.links if name in stated)


def motions_of(frames: Frames, links: Sequence[str]) -> Poses:
    """Poses of the given links, all of which are in the frames."""
    column = {name: index for index, name in enumerate(frames.links)}
    columns = [column[name] for name in links]
    return Poses(frames.positions.take(columns, axis=1), frames.rotations.take(columns, axis=1))


def _motions(
    joint: JointObservation, expected: Observation, actual: Observation
) -> tuple[Poses, Poses] | None:
    """Return the poses of a joint's child relative to its parent, if both sides state them."""
    sides = []
    for frames in (expected.frames, actual.frames):
        if frames is None or not {joint.parent, joint.child} <= set(frames.links):
            return None
        both = motions_of(frames, [joint.parent, joint.child])
        sides.append(both.of(1).relative_to(both.of(0)))
    return sides[0], sides[1]


def travel_factor(
    joint: JointObservation, expected: Observation, actual: Observation
) -> float | None:
    """Ratio of the travel of a prismatic joint, actual to expected."""
    motions = _motions(joint, expected, actual)
    return None if motions is None else _travel(*(side.from_zero for side in motions))


def _travel(expected: Poses, actual: Poses) -> float:
    travel = expected.position
    if not np.any(travel):
        return 1.0
    return float(np.sum(travel * actual.position) / np.sum(travel * travel))


def is_displaced_along_axis(
    joint: JointObservation, expected: Observation, actual: Observation
) -> bool:
    """Whether a joint that no configuration moves is elsewhere along its axis.

    That is how the travel of a joint differs which a coupling holds at a constant position.
    Frames of the first configuration are compared.
    """
    motions = _motions(joint, expected, actual)
    if joint.axis is None or motions is None:
        return False
    one, two = motions
    if np.ptp(one.position, axis=0).max() > _UNTURNED:
        return False
    across = np.cross(one.rotation[0] @ joint.axis, two.position[0] - one.position[0])
    turn = np.abs(two.rotation[0] - one.rotation[0]).max()
    return bool(max(np.linalg.norm(across), turn) <= _UNTURNED)


def is_unturned(joint: JointObservation, expected: Observation, actual: Observation) -> bool:
    """Whether the actual side has the same joint origin, but no rotation.

    Frames of the first configuration are compared, in which joints are at zero.
    """
    motions = _motions(joint, expected, actual)
    if motions is None:
        return False
    shift = np.linalg.norm(motions[0].position[0] - motions[1].position[0])
    turn = np.abs(motions[1].rotation[0] - np.eye(3)).max()
    return bool(max(shift, turn) <= _UNTURNED)


# Pairs of observations of one robot, which several checks compare.
@lru_cache(maxsize=32)
def joint_errors(
    expected: Observation, actual: Observation, model: ToleranceModel
) -> Mapping[str, str]:
    """Describe the error of each joint whose own motion differs."""
    if expected.frames is None or actual.frames is None:
        return {}
    shared = set(shared_links(expected.frames, actual.frames, model))
    joints, above = [], []
    for link, joint in model.joint_to.items():
        chain = [step.parent for step in model.chain(link)]
        start = next((name for name in reversed(chain) if name in shared), None)
        if link in shared and start is not None:
            joints.append(joint)
            above.append(start)
    if not joints:
        return {}
    below = [joint.child for joint in joints]
    ends = motions_of(expected.frames, below)
    one = ends.relative_to(motions_of(expected.frames, above))
    two = motions_of(actual.frames, below).relative_to(motions_of(actual.frames, above))
    # Both link frames are stated in the root's frame, so that the difference of two large
    # positions has their rounding. Both may be offsets from one body, so that the difference of
    # two stored positions has theirs.
    rounding = ROUNDINGS * max(expected.precision, actual.precision)
    reach = np.linalg.norm(one.position, axis=-1).max(axis=0)
    far = np.linalg.norm(ends.position, axis=-1).max(axis=0)
    shift = _MARGIN * (RELATIVE + 2 * QUATERNION) * reach + (_MARGIN * RELATIVE + rounding) * far
    shift += ARITHMETIC
    turn = _MARGIN * 2 * QUATERNION + rounding + ARITHMETIC
    same = (distances(one, two).max(axis=0) <= shift) & (turns(one, two).max(axis=0) <= turn)
    errors = {
        joints[i].name: _error(joints[i], one.of(i), two.of(i), float(shift[i]), turn)
        for i in np.flatnonzero(~same).tolist()
    }
    return {name: error for name, error in errors.items() if error}


def _error(
    joint: JointObservation, expected: Poses, actual: Poses, shift: float, turn: float
) -> str:
    """Describe the error of one joint, beyond the rounding of its shift [m] and turn [rad]."""
    parts = []
    if (shifted := float(distances(expected, actual)[0])) > shift:
        parts.append(f"frame at zero shifted by {shifted:.3g} m")
    if (turned := float(turns(expected, actual)[0])) > turn:
        parts.append(f"frame at zero rotated by {turned:.3g} rad")

    def same(one: Poses, two: Poses) -> bool:
        return bool(distances(one, two).max() <= shift and turns(one, two).max() <= turn)

    one, two = expected.from_zero, actual.from_zero
    still = Poses(np.zeros_like(one.position), np.tile(np.eye(3), (len(one.rotation), 1, 1)))
    slides = joint.type is JointType.PRISMATIC
    # With one coordinate, the inverse motion is the motion about the reversed axis.
    inverse = one.rotation if slides else np.swapaxes(one.rotation, 1, 2)
    factor = _travel(one, two)
    if same(one, two):
        pass
    elif same(two, still):
        parts.append("does not move")
    elif same(one, still):
        parts.append("moves, but should be fixed")
    elif same(two, Poses(-one.position, inverse)):
        parts.append("axis is reversed")
    elif slides and same(two, Poses(factor * one.position, one.rotation)):
        parts.append(f"travels {factor:.4g} times as far")
    else:
        parts.append("axis or type of motion differs")
    return " and ".join(parts)
