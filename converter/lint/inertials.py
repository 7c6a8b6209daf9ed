"""Plausibility of mass and inertia for the extent of a link.

The bounds are not exceeded by real parts of any material.
"""

from __future__ import annotations

import math
from functools import lru_cache

from urdf_usd.converter.extents import Bounds, LinkExtent
from urdf_usd.converter.robot.mass_properties import principal_inertia
from urdf_usd.converter.robot.model import Inertial, Vec3

# SDFormat ignores links with less [kg].
NEGLIGIBLE = 1e-6
# Osmium, the densest material, has 22 590 kg/m^3. Four times that leaves room for
# shapes that are simpler and smaller than the part.
_DENSEST = 100_000.0
# Air at sea level has 1.2 kg/m^3. A twelfth of that leaves room for hoops and frames,
# whose convex hull is mostly empty.
_LIGHTEST = 0.1
# The radius of gyration of a body inside its shapes is below their largest distance
# from the centre of mass. Three times that allows for parts without shapes.
_GYRATION_OVER_REACH = 3.0
# A lead ball in the middle of a box of a hundred times its size.
_GYRATION_UNDER_REACH = 0.01
# Distance of the centre of mass from the bounding box, as a fraction of its diagonal.
_OUTSIDE = 1.0
_TINY_LENGTH = 0.01
_ZERO_MOMENT = 1e-9


@lru_cache(maxsize=1024)
def principal_moments(inertial: Inertial) -> Vec3:
    """Return the principal moments in ascending order [kg m^2].

    Cached, as several rules check them.
    """
    moments, _ = principal_inertia(inertial.inertia)
    a, b, c = sorted(moments)
    return a, b, c


def is_positive(moments: Vec3) -> bool:
    """Return whether ascending principal moments are positive."""
    return moments[0] > _ZERO_MOMENT * moments[2]


def gyration(inertial: Inertial) -> float | None:
    """Return the largest radius of gyration [m]; None for invalid inertia."""
    moments = principal_moments(inertial)
    return math.sqrt(moments[2] / inertial.mass) if is_positive(moments) else None


def is_inertia_too_large(radius: float, reach: float) -> bool:
    """Return whether the inertia requires mass far outside the shapes."""
    return radius > _GYRATION_OVER_REACH * reach


def is_inertia_too_small(radius: float, reach: float) -> bool:
    """Return whether the inertia is that of a point mass."""
    return radius < _GYRATION_UNDER_REACH * reach


def is_too_dense(mass: float, volume: float) -> bool:
    """Return whether the density is above that of all materials."""
    return volume > 0.0 and mass / volume > _DENSEST


def is_too_light(mass: float, volume: float) -> bool:
    """Return whether the density is below that of air."""
    return mass < _LIGHTEST * volume


def is_far_outside(center: Vec3, bounds: Bounds) -> bool:
    """Return whether a centre of mass is far outside the shapes."""
    return bounds.distance(center) > max(_OUTSIDE * bounds.diagonal, _TINY_LENGTH)


def is_inertia_plausible(inertial: Inertial, least: LinkExtent, most: LinkExtent) -> bool:
    """Return whether an inertia is plausible for all extents between two.

    Args:
        inertial: Mass and inertia of a link.
        least: Extent of solids within its shapes.
        most: Extent of solids around its shapes.
    """
    radius = gyration(inertial)
    return radius is None or not (
        is_inertia_too_large(radius, least.reach) or is_inertia_too_small(radius, most.reach)
    )


def is_mass_plausible(inertial: Inertial, least: LinkExtent, most: LinkExtent) -> bool:
    """Return whether density and centre of mass are plausible for all extents between.

    Args:
        inertial: Mass and centre of mass of a link.
        least: Extent of solids within its shapes.
        most: Extent of solids around its shapes.
    """
    return least.hull_volume > 0.0 and not (
        is_too_dense(inertial.mass, least.hull_volume)
        or is_too_light(inertial.mass, most.hull_volume)
        or is_far_outside(inertial.origin.position, least.bounds)
    )
