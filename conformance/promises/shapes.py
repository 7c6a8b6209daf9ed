"""Mass properties and colliders that a robot description file states.

The options of a command state the same, and override it.
"""

from __future__ import annotations

import tomllib

from msgspec import Struct


class ShapePromise(Struct, frozen=True):
    """What a description file states, in the terms of the command line.

    Attributes:
        inertia: As ``--inertia``; None if it is not stated.
        density: Of links without mass [kg/m^3]; None if it is not stated.
        colliders: As ``--colliders``, in order.
        tolerance: As ``--collider-tolerance``; None if it is not stated.
    """

    inertia: str | None = None
    density: float | None = None
    colliders: tuple[str, ...] = ()
    tolerance: str | None = None


def read_shape_promise(text: str) -> ShapePromise:
    """Read a description file, which the converter has accepted."""
    document = tomllib.loads(text)
    inertia = document.get("inertia")
    colliders = document.get("colliders", {})
    rules = [f"{name}={kind}" for name, kind in colliders.get("links", {}).items()]
    if "default" in colliders:
        rules.insert(0, colliders["default"])
    tolerance = colliders.get("tolerance")
    density = None if inertia is None else inertia.get("density")
    return ShapePromise(
        inertia=None if inertia is None else inertia.get("missing", "geometry"),
        density=None if density is None else float(density),
        colliders=tuple(rules),
        tolerance=None if tolerance is None else str(tolerance),
    )
