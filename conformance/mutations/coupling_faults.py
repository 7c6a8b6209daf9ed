"""Faults in mimic couplings."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.mutations.fault import Fault, Scale, Seed
from conformance.tolerance import RELATIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.mutations.specimen import JointSite, Specimen

_AIMS = ("structure.mimic",)
_SCHEMA = "NewtonMimicAPI"
_LEADER = "newton:mimicJoint"
_OFFSET = "newton:mimicCoef0"
_MULTIPLIER = "newton:mimicCoef1"
_CUSTOM = ("urdf:mimic:joint", "urdf:mimic:multiplier", "urdf:mimic:offset")
# An offset below this [rad] says little about its unit.
_OFFSET_SHOWS = 1e-3


def _coupled(specimen: Specimen) -> Iterator[JointSite]:
    return (site for site in specimen.joints if site.prim.HasAPI(_SCHEMA))


def _dropped(specimen: Specimen) -> Iterator[Seed]:
    for site in specimen.joints:
        if site.stated.mimic:
            yield Seed(site.subject, partial(_drop, site.path))


def _drop(path: str, stage: Any, _: float) -> None:  # noqa: ANN401  pxr is untyped
    prim = stage.GetPrimAtPath(path)
    prim.RemoveAppliedSchema(_SCHEMA)
    prim.GetRelationship(_LEADER).SetTargets([])
    for name in (_OFFSET, _MULTIPLIER, *_CUSTOM):
        if attribute := prim.GetAttribute(name):
            attribute.Block()


def _without_schema(specimen: Specimen) -> Iterator[Seed]:
    """Leave what only the author of the file can read."""
    for site in _coupled(specimen):
        yield Seed(site.subject, partial(_remove_schema, site.path))


def _remove_schema(path: str, stage: Any, _: float) -> None:  # noqa: ANN401
    stage.GetPrimAtPath(path).RemoveAppliedSchema(_SCHEMA)


def _disabled(specimen: Specimen) -> Iterator[Seed]:
    for site in _coupled(specimen):
        yield Seed(site.subject, partial(_disable, site.path))


def _disable(path: str, stage: Any, _: float) -> None:  # noqa: ANN401
    stage.GetPrimAtPath(path).GetAttribute("newton:mimicEnabled").Set(False)


def _led_by_another(specimen: Specimen) -> Iterator[Seed]:
    """Couple followers to another joint of the leader's type."""
    for site in _coupled(specimen):
        leader = site.stated.mimic.leader if site.stated.mimic else None
        others = [
            other.path
            for other in specimen.joints
            if other.name not in {leader, site.name}
            and other.prim.GetTypeName() == site.prim.GetTypeName()
        ]
        if others:
            yield Seed(site.subject, partial(_lead, site.path, others[0]))


def _lead(path: str, leader: str, stage: Any, _: float) -> None:  # noqa: ANN401
    stage.GetPrimAtPath(path).GetRelationship(_LEADER).SetTargets([leader])


def _changed(
    attribute: str,
    change: Callable[[JointSite, float, float], float],
    moot: Callable[[JointSite, float], bool],
    specimen: Specimen,
) -> Iterator[Seed]:
    for site in _coupled(specimen):
        good = site.value(attribute)
        if good is not None:
            apply = partial(_change, site, attribute, partial(change, site, good))
            yield Seed(site.subject, apply, moot=moot(site, good))


def _change(
    site: JointSite,
    attribute: str,
    change: Callable[[float], float],
    stage: Any,  # noqa: ANN401  pxr is untyped
    size: float,
) -> None:
    stage.GetPrimAtPath(site.path).GetAttribute(attribute).Set(change(size))


def _never(*_: object) -> bool:
    return False


def _unit(site: JointSite) -> float:
    return math.degrees(1.0) if site.angular else 1.0


def _same_in_radians(site: JointSite, offset: float) -> bool:
    return not site.angular or abs(math.radians(offset)) < _OFFSET_SHOWS


COUPLING_FAULTS = (
    Fault("mimic.dropped", "mimic coupling dropped", _AIMS, _dropped),
    Fault(
        "mimic.unschematic",
        "mimic coupling in custom attributes alone",
        _AIMS,
        _without_schema,
    ),
    Fault("mimic.disabled", "mimic coupling disabled", _AIMS, _disabled),
    Fault("mimic.leader", "mimic leader exchanged", _AIMS, _led_by_another),
    Fault(
        "mimic.multiplier-negated",
        "mimic multiplier negated",
        _AIMS,
        partial(_changed, _MULTIPLIER, lambda _, good, __: -good, _never),
    ),
    Fault(
        "mimic.offset-radians",
        "mimic offset left in radians",
        _AIMS,
        partial(
            _changed, _OFFSET, lambda _, good, __: math.radians(good), _same_in_radians
        ),
    ),
    Fault(
        "mimic.multiplier-scaled",
        "mimic multiplier scaled",
        _AIMS,
        partial(_changed, _MULTIPLIER, lambda _, good, size: good * (1 + size), _never),
        # Couplings are compared to float32, where one step is up to two roundings.
        Scale("mimic multiplier", "1", 4 * RELATIVE),
    ),
    Fault(
        "mimic.offset-shifted",
        "mimic offset shifted",
        _AIMS,
        partial(
            _changed,
            _OFFSET,
            lambda site, good, size: good + size * _unit(site),
            _never,
        ),
        Scale("mimic offset", "rad or m", 1e-5),
    ),
)
