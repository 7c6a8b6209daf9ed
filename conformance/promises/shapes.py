"""Mass properties and colliders that a robot description file states.

The options of a command state the same, and override it.
"""

from __future__ import annotations

import tomllib

from urdf_usd.converter.options import (
    DEFAULT_DENSITY,
    DEFAULT_TOLERANCE,
    ColliderRule,
    ColliderRules,
    ColliderTolerance,
    InertiaOption,
)


def read_shape_options(
    text: str,
) -> tuple[InertiaOption, float, ColliderRules]:
    """Return what a description file states about mass properties and colliders.

    Args:
        text: Of the description file, which the converter has accepted.

    Returns:
        Treatment of missing mass properties; density of links without mass [kg/m^3];
        rules for colliders.
    """
    document = tomllib.loads(text)
    inertia = document.get("inertia")
    option, density = InertiaOption.KEEP, DEFAULT_DENSITY
    if inertia is not None:
        option = InertiaOption(inertia.get("missing", "geometry"))
        density = float(inertia.get("density", density))
    colliders = document.get("colliders", {})
    texts = [f"{name}={kind}" for name, kind in colliders.get("links", {}).items()]
    if "default" in colliders:
        texts.insert(0, colliders["default"])
    tolerance = DEFAULT_TOLERANCE
    if "tolerance" in colliders:
        tolerance = ColliderTolerance.parse(str(colliders["tolerance"]))
    rules = tuple(ColliderRule.parse(text) for text in texts)
    return option, density, ColliderRules(rules, tolerance)
