"""Faults in the frames and axes of joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from msgspec import structs
from pxr import Usd
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.mutation.fault import OBLIQUE, Fault, Scale, Seed, on_prim
from urdf_usd.conformance.mutation.good_asset import GoodAsset
from urdf_usd.conformance.mutation.joints.joint_frames import (
    JointFrames,
    read_frames,
    shifted,
    turned,
    write_frames,
)
from urdf_usd.conformance.tolerance.bounds import Tolerance

_TOLERANCE = Tolerance()
_POSE = ("kinematics.position", "kinematics.rotation")
# Below this travel [rad] a tilted axis moves links by less than its tilt.
_WIDE = 1.2


def _about(axis: int, angle: float) -> Rotation:
    return Rotation.from_rotvec(angle * np.eye(3)[axis])


def _reversed(frames: JointFrames) -> JointFrames:
    flip = _about((frames.axis + 1) % 3, np.pi)
    return turned(turned(frames, 0, flip), 1, flip)


def _other_token(frames: JointFrames) -> JointFrames:
    return structs.replace(frames, axis=(frames.axis + 1) % 3)


def _conjugated(side: int, frames: JointFrames) -> JointFrames:
    turns = list(frames.turns)
    turns[side] = turns[side].inv()
    return structs.replace(frames, turns=tuple(turns))


def _reordered(frames: JointFrames) -> JointFrames:
    """Read a quaternion xyzw as wxyz."""
    return structs.replace(
        frames,
        turns=tuple(Rotation.from_quat(turn.as_quat(), scalar_first=True) for turn in frames.turns),
    )


def _without_position(frames: JointFrames) -> JointFrames:
    return structs.replace(frames, positions=(np.zeros(3), frames.positions[1]))


def _without_turn(frames: JointFrames) -> JointFrames:
    return structs.replace(frames, turns=(Rotation.identity(), frames.turns[1]))


def _swapped(frames: JointFrames) -> JointFrames:
    """Exchange the bodies and leave the frames."""
    return structs.replace(frames, swapped=True)


def _turned_about(frames: JointFrames) -> JointFrames:
    """Exchange the bodies with their frames."""
    return structs.replace(
        frames,
        positions=(frames.positions[1], frames.positions[0]),
        turns=(frames.turns[1], frames.turns[0]),
        swapped=True,
    )


def _exchanged(asset: GoodAsset) -> Iterator[Seed]:
    """Exchange the bodies with their frames, so that joints move as before."""
    for site in asset.joints:
        good = read_frames(site)
        bad = _turned_about(good)
        if good.motion != "none":
            bad = _reversed(bad)
        sides = (site.prim.GetRelationship(f"physics:body{n}") for n in (0, 1))
        # Without a target, a side is the world.
        if all(side.GetTargets() for side in sides):
            edit = on_prim(site.path, partial(write_frames, frames=bad))
            yield Seed(site.subject, edit)


def _seeds(asset: GoodAsset, change: Callable[[JointFrames], JointFrames]) -> Iterator[Seed]:
    """Change every joint; those whose child stays where it was are equivalent."""
    for site in asset.joints:
        good = read_frames(site)
        bad = change(good)
        yield Seed(
            site.subject,
            on_prim(site.path, partial(write_frames, frames=bad)),
            equivalent=not good.displaces(bad, site.positions),
        )


def _moving(asset: GoodAsset, change: Callable[[JointFrames], JointFrames]) -> Iterator[Seed]:
    """Change joints that have an axis."""
    paths = {f"joint {site.name}" for site in asset.joints if read_frames(site).motion != "none"}
    return (seed for seed in _seeds(asset, change) if seed.subject in paths)


def _sized(asset: GoodAsset, change: Callable[[JointFrames, float], JointFrames]) -> Iterator[Seed]:
    for site in asset.joints:
        apply = partial(_author_sized, site.path, read_frames(site), change)
        yield Seed(site.subject, apply)


def _author_sized(
    path: str,
    frames: JointFrames,
    change: Callable[[JointFrames, float], JointFrames],
    stage: Usd.Stage,
    size: float,
) -> None:
    write_frames(stage.GetPrimAtPath(path), change(frames, size))


def _tilts(asset: GoodAsset) -> Iterator[Seed]:
    """Tilt the axes of joints that turn far enough to show it in full."""
    for site in asset.joints:
        frames = read_frames(site)
        if frames.motion == "angular" and np.abs(site.positions).max() > _WIDE:
            yield Seed(site.subject, partial(_author_sized, site.path, frames, _tilted))


def _tilted(frames: JointFrames, size: float) -> JointFrames:
    tilt = _about((frames.axis + 1) % 3, size)
    return turned(turned(frames, 0, tilt), 1, tilt)


def _shift(side: int, frames: JointFrames, size: float) -> JointFrames:
    return shifted(frames, side, size * OBLIQUE)


def _turn(side: int, frames: JointFrames, size: float) -> JointFrames:
    return turned(frames, side, Rotation.from_rotvec(size * OBLIQUE))


def _frame(
    identifier: str,
    title: str,
    change: Callable[[JointFrames], JointFrames],
    seeds: Callable[[GoodAsset, Callable[[JointFrames], JointFrames]], Iterator[Seed]] = _seeds,
) -> Fault:
    return Fault(
        f"joint.{identifier}",
        title,
        _POSE,
        lambda s: seeds(s, change),
        simulated=True,
    )


def _small(
    identifier: str,
    title: str,
    change: Callable[[JointFrames, float], JointFrames],
    unit: str,
) -> Fault:
    quantity, tolerance = {
        "m": ("position of a joint frame", _TOLERANCE.position),
        "rad": ("rotation of a joint frame", _TOLERANCE.rotation),
    }[unit]
    return Fault(
        f"joint.{identifier}",
        title,
        _POSE,
        lambda asset: _sized(asset, change),
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
    # A fixed joint is exchanged below.
    _frame("reversed", "parent and child swapped with frames", _turned_about, _moving),
    Fault(
        "joint.exchanged",
        "parent and child swapped, with the same motion",
        ("dynamics.joints",),
        _exchanged,
        simulated=True,
    ),
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
