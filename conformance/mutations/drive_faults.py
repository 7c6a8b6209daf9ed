"""Faults in effort, velocity, damping and friction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.mutations.fault import Fault, Scale, Seed
from conformance.tolerance import Tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.mutations.specimen import JointSite, Specimen

_FORCE = Tolerance().force


@dataclass(frozen=True, slots=True)
class _Value:
    """One value of a joint, and everywhere it may be authored.

    Attributes:
        name: As the checks call it.
        check: Check that answers for it.
        schemas: Attributes of schemas.
        custom: Attribute without a schema.
    """

    name: str
    check: str
    schemas: tuple[str, ...]
    custom: str

    def authored(self, site: JointSite) -> dict[str, float]:
        """Return all that a joint says about it."""
        names = (*self.schemas, self.custom)
        found = {name: site.value(name) for name in names}
        return {name: float(value) for name, value in found.items() if value}


_EFFORT = _Value(
    "effort",
    "limits.effort",
    ("drive:angular:physics:maxForce", "drive:linear:physics:maxForce"),
    "urdf:limit:effort",
)
_VELOCITY = _Value(
    "velocity", "limits.velocity", ("newton:velocityLimit",), "urdf:limit:velocity"
)
_DAMPING = _Value(
    "damping", "dynamics.damping", ("newton:damping",), "urdf:dynamics:damping"
)
_FRICTION = _Value(
    "friction", "dynamics.friction", ("newton:friction",), "urdf:dynamics:friction"
)
_VALUES = (_EFFORT, _VELOCITY, _DAMPING, _FRICTION)


def _stating(
    specimen: Specimen, value: _Value
) -> Iterator[tuple[JointSite, list[str]]]:
    """Joints with one axis that state a value other than zero, and where they do."""
    for site in specimen.joints:
        if len(site.positions) == 1:
            continue
        if names := list(value.authored(site)):
            yield site, names


def _dropped(value: _Value, specimen: Specimen) -> Iterator[Seed]:
    for site, names in _stating(specimen, value):
        yield Seed(site.subject, partial(_block, site.path, names))


def _without_schema(value: _Value, specimen: Specimen) -> Iterator[Seed]:
    """Leave what only the author of the file can read."""
    for site, names in _stating(specimen, value):
        if schemas := [name for name in names if name != value.custom]:
            yield Seed(site.subject, partial(_block, site.path, schemas))


def _block(path: str, names: list[str], stage: Any, _: float) -> None:  # noqa: ANN401
    for name in names:
        stage.GetPrimAtPath(path).GetAttribute(name).Block()


def _scaled(value: _Value, factor: float | None, specimen: Specimen) -> Iterator[Seed]:
    """Scale what simulators read; by one plus the size if there is no factor."""
    for site, names in _stating(specimen, value):
        schemas = [name for name in names if name != value.custom] or [value.custom]
        yield Seed(site.subject, partial(_scale, site, schemas, factor))


def _scale(
    site: JointSite,
    names: list[str],
    factor: float | None,
    stage: Any,  # noqa: ANN401  pxr is untyped
    size: float,
) -> None:
    for name in names:
        attribute = stage.GetPrimAtPath(site.path).GetAttribute(name)
        attribute.Set(site.value(name) * (1 + size if factor is None else factor))


def _radians(value: _Value, factor: float, specimen: Specimen) -> Iterator[Seed]:
    angular = {site.subject for site in specimen.joints if site.angular}
    return (
        seed for seed in _scaled(value, factor, specimen) if seed.subject in angular
    )


def _faults(value: _Value) -> Iterator[Fault]:
    name, aims = value.name, (value.check,)
    yield Fault(
        f"drive.{name}-dropped", f"{name} dropped", aims, partial(_dropped, value)
    )
    yield Fault(
        f"drive.{name}-scaled",
        f"{name} scaled",
        aims,
        partial(_scaled, value, None),
        Scale(name, "1", _FORCE),
    )
    yield Fault(
        f"drive.{name}-doubled", f"{name} doubled", aims, partial(_scaled, value, 2.0)
    )


def _unschematic(value: _Value) -> Fault:
    return Fault(
        f"drive.{value.name}-unschematic",
        f"{value.name} in a custom attribute alone",
        (value.check,),
        partial(_without_schema, value),
    )


DRIVE_FAULTS = (
    *(fault for value in _VALUES for fault in _faults(value)),
    *(_unschematic(value) for value in (_VELOCITY, _DAMPING, _FRICTION)),
    Fault(
        "drive.velocity-radians",
        "velocity left in radians",
        (_VELOCITY.check,),
        partial(_radians, _VELOCITY, math.radians(1.0)),
    ),
    Fault(
        "drive.damping-radians",
        "damping left per radian",
        (_DAMPING.check,),
        partial(_radians, _DAMPING, math.degrees(1.0)),
    ),
)
