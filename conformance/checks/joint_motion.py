"""Motion of each joint on two sides, and a description of the errors.

The motion of a joint is the pose of its child relative to the nearest link above it
that both sides state, over all configurations.
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
from urdf_usd.conformance.tolerance.bounds import (
    ARITHMETIC,
    QUATERNION,
    RELATIVE,
    ROUNDINGS,
)
from urdf_usd.conformance.tolerance.comparison import ToleranceModel

# A joint is in error if it differs by more than four times the rounding of the numbers
# that are stored for it.
_MARGIN = 4.0
# Rounding of an identity rotation in single precision [m, 1].
_UNTURNED = 1e-5
# Pairs of observations of one robot, which several checks compare.
_CACHE_SIZE = 32


class Poses(Struct, frozen=True, eq=False):
    """Poses of a link, or of J links, over K configurations.

    Attributes:
        position: (K, 3) or (K, J, 3) origins [m].
        rotation: (K, 3, 3) or (K, J, 3, 3).
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]

    def of(self, index: int) -> Poses:
        """Poses of one of several links."""
        return Poses(self.position[:, index], self.rotation[:, index])


def distances(ours: Poses, theirs: Poses) -> NDArray[np.float64]:
    """Return (K) or (K, J) distances of origins [m]."""
    lengths: NDArray[np.float64] = np.linalg.norm(ours.position - theirs.position, axis=-1)
    return lengths


def turns(ours: Poses, theirs: Poses) -> NDArray[np.float64]:
    """Return (K) or (K, J) angles between rotations [rad], exact for tiny ones.

    |A - B| (Frobenius) = 2 sqrt(2) sin(angle / 2); an arc cosine of the trace would
    lose everything below 1e-8.
    """
    distance = np.linalg.norm(ours.rotation - theirs.rotation, axis=(-2, -1))
    halves: NDArray[np.float64] = np.arcsin(np.minimum(distance / math.sqrt(8), 1.0))
    return 2 * halves


def shared_links(ours: Frames, theirs: Frames, model: ToleranceModel) -> tuple[str, ...]:
    """Links of the URDF whose frames both sides state."""
    stated = set(theirs.links) & set(model.bounds)
    return tuple(name for name in ours.links if name in stated)


def motions_of(frames: Frames, links: Sequence[str]) -> Poses:
    """Poses of the given links, all of which are in the frames."""
    column = {name: index for index, name in enumerate(frames.links)}
    columns = [column[name] for name in links]
    return Poses(frames.positions.take(columns, axis=1), frames.rotations.take(columns, axis=1))


def travel_factor(joint: JointObservation, ours: Observation, theirs: Observation) -> float | None:
    """Ratio of the travel of a prismatic joint, other side to first side."""
    here, there = _motion(joint, ours), _motion(joint, theirs)
    if here is None or there is None:
        return None
    return _travel(_from_zero(here).position, _from_zero(there).position)


def is_displaced_along_axis(
    joint: JointObservation, ours: Observation, theirs: Observation
) -> bool:
    """Whether a joint that no configuration moves is elsewhere along its axis.

    That is how the travel of a joint differs which a coupling holds at a constant
    position. Frames of the first configuration are compared.
    """
    here, there = _motion(joint, ours), _motion(joint, theirs)
    if joint.axis is None or here is None or there is None:
        return False
    if np.ptp(here.position, axis=0).max() > _UNTURNED:
        return False
    shift = there.position[0] - here.position[0]
    across = np.cross(here.rotation[0] @ joint.axis, shift)
    turn = np.abs(there.rotation[0] - here.rotation[0]).max()
    return bool(max(np.linalg.norm(across), turn) <= _UNTURNED)


def is_unturned(joint: JointObservation, ours: Observation, theirs: Observation) -> bool:
    """Whether the other side has the same joint origin, but no rotation.

    Frames of the first configuration are compared, in which joints are at zero.
    """
    here, there = _motion(joint, ours), _motion(joint, theirs)
    if here is None or there is None:
        return False
    shift = np.linalg.norm(here.position[0] - there.position[0])
    turn = np.abs(there.rotation[0] - np.eye(3)).max()
    return bool(max(shift, turn) <= _UNTURNED)


def _motion(joint: JointObservation, reading: Observation) -> Poses | None:
    """Return the poses of a joint's child relative to its parent, if stated."""
    frames = reading.frames
    if frames is None or not {joint.parent, joint.child} <= set(frames.links):
        return None
    parent, child = (motions_of(frames, [name]) for name in (joint.parent, joint.child))
    return _relative(parent, child).of(0)


@lru_cache(maxsize=_CACHE_SIZE)
def joint_errors(
    expected: Observation, actual: Observation, model: ToleranceModel
) -> Mapping[str, str]:
    """Describe the error of each joint whose own motion differs."""
    ours, theirs = expected.frames, actual.frames
    if ours is None or theirs is None:
        return {}
    precision = max(expected.precision, actual.precision)
    shared = set(shared_links(ours, theirs, model))
    joints, above, below = [], [], []
    for link, joint in model.joint_to.items():
        if link not in shared:
            continue
        chain = [step.parent for step in model.chain(link)]
        start = next((name for name in reversed(chain) if name in shared), None)
        if start is not None:
            joints.append(joint)
            above.append(start)
            below.append(link)
    if not joints:
        return {}
    ends = motions_of(ours, below)
    here = _relative(motions_of(ours, above), ends)
    there = _relative(motions_of(theirs, above), motions_of(theirs, below))
    shift, turn = _slack(here, ends, precision)
    same = (distances(here, there).max(axis=0) <= shift) & (turns(here, there).max(axis=0) <= turn)
    errors = {
        joints[i].name: _fault(joints[i], here.of(i), there.of(i), (float(shift[i]), turn))
        for i in np.flatnonzero(~same).tolist()
    }
    return {name: error for name, error in errors.items() if error}


def _relative(parents: Poses, children: Poses) -> Poses:
    inverse = np.swapaxes(parents.rotation, -2, -1)
    offset = (children.position - parents.position)[..., None]
    return Poses((inverse @ offset)[..., 0], inverse @ children.rotation)


def _slack(relative: Poses, in_root: Poses, precision: float) -> tuple[NDArray[np.float64], float]:
    """Bound the effect of rounding on the motions of J joints: (J) [m], [rad].

    Both link frames are stated in the root's frame, so that the difference of two large
    positions has their rounding. Both may be offsets from one body, so that the
    difference of two stored positions has theirs.
    """
    reach = np.linalg.norm(relative.position, axis=-1).max(axis=0)
    distance = np.linalg.norm(in_root.position, axis=-1).max(axis=0)
    return (
        _MARGIN * (RELATIVE + 2 * QUATERNION) * reach
        + _MARGIN * RELATIVE * distance
        + ROUNDINGS * precision * distance
        + ARITHMETIC,
        _MARGIN * 2 * QUATERNION + ROUNDINGS * precision + ARITHMETIC,
    )


def _fault(
    joint: JointObservation,
    here: Poses,
    there: Poses,
    slack: tuple[float, float],
) -> str:
    parts = []
    shift = float(distances(here, there)[0])
    turn = float(turns(here, there)[0])
    if shift > slack[0]:
        parts.append(f"frame at zero shifted by {shift:.3g} m")
    if turn > slack[1]:
        parts.append(f"frame at zero rotated by {turn:.3g} rad")
    ours, theirs = _from_zero(here), _from_zero(there)
    if not _same(ours, theirs, slack):
        parts.append(_motion_fault(joint, ours, theirs, slack))
    return " and ".join(parts)


def _same(here: Poses, there: Poses, slack: tuple[float, float]) -> bool:
    shift, turn = distances(here, there).max(), turns(here, there).max()
    return bool(shift <= slack[0] and turn <= slack[1])


def _from_zero(motion: Poses) -> Poses:
    """Express a motion in the child's own frame at zero."""
    zero = motion.rotation[0].T
    return Poses((motion.position - motion.position[0]) @ zero.T, zero @ motion.rotation)


def _motion_fault(
    joint: JointObservation,
    ours: Poses,
    theirs: Poses,
    slack: tuple[float, float],
) -> str:
    still = Poses(np.zeros_like(ours.position), np.tile(np.eye(3), (len(ours.rotation), 1, 1)))
    if _same(theirs, still, slack):
        return "does not move"
    if _same(ours, still, slack):
        return "moves, but should be fixed"
    # With one coordinate, the inverse motion is the motion about the reversed axis.
    if joint.type is not JointType.PRISMATIC:
        backwards = Poses(-ours.position, np.swapaxes(ours.rotation, 1, 2))
    else:
        backwards = Poses(-ours.position, ours.rotation)
    if _same(theirs, backwards, slack):
        return "axis is reversed"
    if joint.type is JointType.PRISMATIC:
        factor = _travel(ours.position, theirs.position)
        scaled = Poses(factor * ours.position, ours.rotation)
        if _same(theirs, scaled, slack):
            return f"travels {factor:.4g} times as far"
    return "axis or type of motion differs"


def _travel(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    return float(np.sum(ours * theirs) / np.sum(ours * ours)) if np.any(ours) else 1.0
