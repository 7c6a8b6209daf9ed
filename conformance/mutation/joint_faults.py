"""Faults in the frames and axes of joints."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.mutation.fault import Fault, Scale, Seed
from urdf_usd.conformance.mutation.motion import (
    Hold,
    author_hold,
    hold_of,
    shifted,
    turned,
)
from urdf_usd.conformance.tolerance.bounds import Tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pxr import Usd

    from urdf_usd.conformance.mutation.specimen import Specimen

_TOLERANCE = Tolerance()
_POSE = ("kinematics.position", "kinematics.rotation")
# An oblique direction, along no axis of any robot.
_OBLIQUE = np.array([2.0, -3.0, 6.0]) / 7.0
# Below this travel [rad] a tilted axis moves links by less than its tilt.
_WIDE = 1.2


def _about(axis: int, angle: float) -> Rotation:
    return Rotation.from_rotvec(angle * np.eye(3)[axis])


def _reversed(hold: Hold) -> Hold:
    flip = _about((hold.axis + 1) % 3, np.pi)
    return turned(turned(hold, 0, flip), 1, flip)


def _other_token(hold: Hold) -> Hold:
    return replace(hold, axis=(hold.axis + 1) % 3)


def _conjugated(side: int, hold: Hold) -> Hold:
    turns = list(hold.turns)
    turns[side] = turns[side].inv()
    return replace(hold, turns=tuple(turns))


def _reordered(hold: Hold) -> Hold:
    """Read a quaternion xyzw as wxyz."""
    return replace(
        hold,
        turns=tuple(
            Rotation.from_quat(turn.as_quat(), scalar_first=True) for turn in hold.turns
        ),
    )


def _without_position(hold: Hold) -> Hold:
    return replace(hold, positions=(np.zeros(3), hold.positions[1]))


def _without_turn(hold: Hold) -> Hold:
    return replace(hold, turns=(Rotation.identity(), hold.turns[1]))


def _swapped(hold: Hold) -> Hold:
    """Exchange the bodies and leave the frames."""
    return replace(hold, swapped=True)


def _turned_about(hold: Hold) -> Hold:
    """Exchange the bodies with their frames."""
    return replace(
        hold,
        positions=(hold.positions[1], hold.positions[0]),
        turns=(hold.turns[1], hold.turns[0]),
        swapped=True,
    )


def _seeds(specimen: Specimen, change: Callable[[Hold], Hold]) -> Iterator[Seed]:
    """Change every joint; those whose child stays where it was are equivalent."""
    for site in specimen.joints:
        good = hold_of(site)
        bad = change(good)
        yield Seed(
            site.subject,
            partial(_author, site.path, bad),
            equivalent=not good.displaces(bad, site.positions),
        )


def _author(path: str, hold: Hold, stage: Usd.Stage, _: float) -> None:
    author_hold(stage.GetPrimAtPath(path), hold)


def _moving(specimen: Specimen, change: Callable[[Hold], Hold]) -> Iterator[Seed]:
    """Change joints that have an axis; the token says nothing on others."""
    paths = {
        f"joint {site.name}"
        for site in specimen.joints
        if hold_of(site).motion != "none"
    }
    return (seed for seed in _seeds(specimen, change) if seed.subject in paths)


def _sized(specimen: Specimen, change: Callable[[Hold, float], Hold]) -> Iterator[Seed]:
    for site in specimen.joints:
        apply = partial(_author_sized, site.path, hold_of(site), change)
        yield Seed(site.subject, apply)


def _author_sized(
    path: str,
    hold: Hold,
    change: Callable[[Hold, float], Hold],
    stage: Usd.Stage,
    size: float,
) -> None:
    author_hold(stage.GetPrimAtPath(path), change(hold, size))


def _tilts(specimen: Specimen) -> Iterator[Seed]:
    """Tilt the axes of joints that turn far enough to show it in full."""
    for site in specimen.joints:
        hold = hold_of(site)
        if hold.motion == "angular" and np.abs(site.positions).max() > _WIDE:
            yield Seed(site.subject, partial(_author_sized, site.path, hold, _tilted))


def _tilted(hold: Hold, size: float) -> Hold:
    tilt = _about((hold.axis + 1) % 3, size)
    return turned(turned(hold, 0, tilt), 1, tilt)


def _shift(side: int, hold: Hold, size: float) -> Hold:
    return shifted(hold, side, size * _OBLIQUE)


def _turn(side: int, hold: Hold, size: float) -> Hold:
    return turned(hold, side, Rotation.from_rotvec(size * _OBLIQUE))


def _frame(
    identifier: str,
    title: str,
    change: Callable[[Hold], Hold],
    seeds: Callable[[Specimen, Callable[[Hold], Hold]], Iterator[Seed]] = _seeds,
) -> Fault:
    return Fault(f"joint.{identifier}", title, _POSE, lambda s: seeds(s, change))


def _small(
    identifier: str, title: str, change: Callable[[Hold, float], Hold], unit: str
) -> Fault:
    quantity, tolerance = {
        "m": ("position of a joint frame", _TOLERANCE.position),
        "rad": ("rotation of a joint frame", _TOLERANCE.rotation),
    }[unit]
    return Fault(
        f"joint.{identifier}",
        title,
        _POSE,
        lambda specimen: _sized(specimen, change),
        Scale(quantity, unit, tolerance),
    )


JOINT_FAULTS = (
    _frame("axis-negated", "axis negated", _reversed, _moving),
    _frame("axis-token", "axis token swapped", _other_token, _moving),
    _frame("rot0-conjugated", "localRot0 conjugated", partial(_conjugated, 0)),
    _frame("rot1-conjugated", "localRot1 conjugated", partial(_conjugated, 1)),
    _frame("quaternion-order", "quaternions written xyzw", _reordered),
    _frame("pos0-dropped", "localPos0 dropped", _without_position),
    _frame("rot0-dropped", "localRot0 dropped", _without_turn),
    _frame("bodies-swapped", "parent and child swapped", _swapped),
    _frame("reversed", "parent and child swapped with frames", _turned_about),
    _small("pos0-shifted", "localPos0 shifted", partial(_shift, 0), "m"),
    _small("pos1-shifted", "localPos1 shifted", partial(_shift, 1), "m"),
    _small("rot0-turned", "localRot0 turned", partial(_turn, 0), "rad"),
    _small("rot1-turned", "localRot1 turned", partial(_turn, 1), "rad"),
    Fault(
        "joint.axis-tilted",
        "axis tilted",
        _POSE,
        _tilts,
        Scale("direction of an axis", "rad", _TOLERANCE.rotation),
    ),
)
