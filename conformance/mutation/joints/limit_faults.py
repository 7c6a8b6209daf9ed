"""Faults in position limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from pxr import Usd

from urdf_usd.conformance.mutation.fault import Fault, Scale, Seed
from urdf_usd.conformance.mutation.good_asset import GoodAsset, JointSite
from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.conformance.tolerance.bounds import Tolerance

_LIMITS = ("limits.lower", "limits.upper")
_NAMES = ("physics:lowerLimit", "physics:upperLimit")
_LIMIT = Tolerance().limit
# Largest limit for faults [rad or m]: the rounding of larger ones is too large.
_FAR = 100.0

Pair = tuple[float | None, float | None]


def _limited(
    asset: GoodAsset, *types: JointType
) -> Iterator[tuple[JointSite, tuple[float, float]]]:
    """Yield joints of some types with finite limits, as authored."""
    for site in asset.joints_of(*types):
        lower, upper = (site.value(name) for name in _NAMES)
        if lower is None or upper is None:
            continue
        unit = math.degrees(1.0) if site.angular else 1.0
        if max(abs(lower), abs(upper)) < _FAR * unit:
            yield site, (lower, upper)


def _author(path: str, limits: Pair, stage: Usd.Stage, _: float) -> None:
    prim = stage.GetPrimAtPath(path)
    for name, limit in zip(_NAMES, limits, strict=True):
        if limit is None:
            prim.GetAttribute(name).Block()
        else:
            prim.GetAttribute(name).Set(limit)


def _changed(
    change: Callable[[float, float], Pair],
    types: Iterable[JointType],
    asset: GoodAsset,
) -> Iterator[Seed]:
    """Change the limits of joints; where the numbers stay the same it is equivalent."""
    for site, (lower, upper) in _limited(asset, *types):
        bad = change(lower, upper)
        unit = math.degrees(1.0) if site.angular else 1.0
        same = all(
            there is not None and abs(here - there) <= 2 * _LIMIT * unit
            for here, there in zip((lower, upper), bad, strict=True)
        )
        yield Seed(site.subject, partial(_author, site.path, bad), equivalent=same)


def _shifts(side: int, motion: str, asset: GoodAsset) -> Iterator[Seed]:
    types = JointType.REVOLUTE if motion == "angular" else JointType.PRISMATIC
    for site, limits in _limited(asset, types):
        yield Seed(site.subject, partial(_shift, site, limits, side))


def _shift(
    site: JointSite,
    limits: tuple[float, float],
    side: int,
    stage: Usd.Stage,
    size: float,
) -> None:
    unit = math.degrees(1.0) if site.angular else 1.0
    bad = list(limits)
    bad[side] += size * max(unit, abs(limits[side]))
    _author(site.path, (bad[0], bad[1]), stage, size)


def _bounded(asset: GoodAsset) -> Iterator[Seed]:
    """Limit continuous joints to a full turn."""
    for site in asset.joints_of(JointType.CONTINUOUS):
        if site.angular:
            yield Seed(site.subject, partial(_author, site.path, (-180.0, 180.0)))


def _fault(
    identifier: str,
    title: str,
    change: Callable[[float, float], Pair],
    *types: JointType,
) -> Fault:
    both = (JointType.REVOLUTE, JointType.PRISMATIC)
    return Fault(f"limit.{identifier}", title, _LIMITS, partial(_changed, change, types or both))


def _sized(identifier: str, title: str, side: int, motion: str) -> Fault:
    return Fault(
        f"limit.{identifier}",
        title,
        (_LIMITS[side],),
        partial(_shifts, side, motion),
        Scale(f"{motion} limit", "1", _LIMIT),
    )


LIMIT_FAULTS = (
    _fault(
        "radians",
        "limits left in radians",
        lambda lower, upper: (math.radians(lower), math.radians(upper)),
        JointType.REVOLUTE,
    ),
    _fault(
        "degrees",
        "limits converted to degrees twice",
        lambda lower, upper: (math.degrees(lower), math.degrees(upper)),
    ),
    _fault("lower-dropped", "lower limit dropped", lambda _, upper: (None, upper)),
    _fault("upper-dropped", "upper limit dropped", lambda lower, _: (lower, None)),
    _fault("swapped", "lower and upper limit swapped", lambda lower, upper: (upper, lower)),
    _fault("negated", "limits mirrored", lambda lower, upper: (-upper, -lower)),
    _fault("scaled", "limits halved", lambda lower, upper: (lower / 2, upper / 2)),
    _fault("zero", "limits zero", lambda *_: (0.0, 0.0)),
    _fault("lower-infinite", "lower limit infinite", lambda _, upper: (-math.inf, upper)),
    _fault("upper-infinite", "upper limit infinite", lambda lower, _: (lower, math.inf)),
    Fault(
        "limit.invented",
        "continuous joint limited to a turn",
        ("limits.upper", "structure.types"),
        _bounded,
    ),
    _sized("lower-shifted", "lower limit shifted", 0, "angular"),
    _sized("upper-shifted", "upper limit shifted", 1, "angular"),
    _sized("lower-slid", "lower limit of a slide shifted", 0, "linear"),
    _sized("upper-slid", "upper limit of a slide shifted", 1, "linear"),
)
