"""Rules about mass, centre of mass and inertia."""

from __future__ import annotations

from collections.abc import Iterator

from urdf_usd.converter.extents import LinkExtent
from urdf_usd.converter.lint.finding import Breach, Breaches
from urdf_usd.converter.lint.inertials import (
    NEGLIGIBLE,
    gyration,
    is_far_outside,
    is_inertia_too_large,
    is_inertia_too_small,
    is_positive,
    is_too_dense,
    is_too_light,
    principal_moments,
)
from urdf_usd.converter.lint.subject import MeasuredRobot, UrdfDocument
from urdf_usd.converter.robot.mass_properties import is_negligible
from urdf_usd.converter.robot.model import Inertial, Link, Vec3
from urdf_usd.converter.urdf import grammar as g

# Tolerance of A + B >= C for rounded moments.
_TRIANGLE_SLACK = 1e-4


def moving_without_mass(measured: MeasuredRobot) -> Breaches:
    """Moving groups of links, connected by fixed joints, without mass."""
    for group in _massless_moving_groups(measured):
        others = f" and links fixed to it ({len(group)} links)" if group[1:] else ""
        message = f"link {group[0]!r}{others} moves and has no mass"
        yield Breach(message, measured.tree.link[group[0]].location)


def colliders_without_mass(measured: MeasuredRobot) -> Breaches:
    """Links with collision shapes and without inertial."""
    reported = {name for group in _massless_moving_groups(measured) for name in group}
    for link in measured.robot.links:
        if link.collisions and link.inertial is None and link.name not in reported:
            message = f"link {link.name!r} has a collision shape and no <inertial>"
            yield Breach(message, link.location)


def negligible_mass(measured: MeasuredRobot) -> Breaches:
    """Masses that SDFormat ignores."""
    for link, inertial in _massive(measured):
        if inertial.mass < NEGLIGIBLE:
            message = f"link {link.name!r} has a mass of {inertial.mass:g} kg"
            yield Breach(message, inertial.location)


def zero_inertia(document: UrdfDocument) -> Breaches:
    """Links with mass and zero inertia."""
    for link in document.links:
        inertial = link.first(g.INERTIAL)
        mass = inertial.first(g.MASS) if inertial else None
        inertia = inertial.first(g.INERTIA) if inertial else None
        if not (mass and inertia and mass[g.MASS_VALUE] >= NEGLIGIBLE):
            continue
        if not any(inertia[attribute] for attribute in g.INERTIA.attributes):
            kilograms = f"{mass[g.MASS_VALUE]:g} kg"
            message = f"link {link[g.NAME]!r} has {kilograms} and zero inertia"
            yield Breach(message, inertia.location)


def inertia_of_rounding(measured: MeasuredRobot) -> Breaches:
    """Tensors that are treated as zero by a conversion."""
    for link, inertial in _massive(measured):
        if any(inertial.inertia) and _is_rounding(inertial, measured):
            moments = _listed(principal_moments(inertial))
            message = (
                f"link {link.name!r} has {inertial.mass:g} kg and principal moments "
                f"{moments}, which are rounded zeros"
            )
            yield Breach(message, inertial.location)


def inertia_not_positive(measured: MeasuredRobot) -> Breaches:
    """Tensors with a principal moment that is not positive, except zero tensors."""
    for link, inertial in _massive(measured):
        moments = principal_moments(inertial)
        if not (is_positive(moments) or _is_rounding(inertial, measured)):
            message = f"link {link.name!r} has principal moments {_listed(moments)}"
            yield Breach(message, inertial.location)


def inertia_breaks_triangle(measured: MeasuredRobot) -> Breaches:
    """Positive tensors that violate A + B >= C by more than rounding."""
    for link, inertial in _massive(measured):
        a, b, c = moments = principal_moments(inertial)
        breaks = is_positive(moments) and a + b < c * (1.0 - _TRIANGLE_SLACK)
        if breaks and not _is_rounding(inertial, measured):
            message = (
                f"link {link.name!r} has principal moments {_listed(moments)}: "
                f"{a:.4g} + {b:.4g} < {c:.4g}"
            )
            yield Breach(message, inertial.location)


def inertia_too_large(measured: MeasuredRobot) -> Breaches:
    """Inertia that requires mass far outside the shapes."""
    for link, inertial, extent in _measured(measured):
        radius = gyration(inertial)
        if radius and is_inertia_too_large(radius, extent.reach):
            message = (
                f"inertia of link {link.name!r} too large for {inertial.mass:g} kg: "
                f"radius of gyration {_metres(radius)}, "
                f"geometry extends {_metres(extent.reach)}"
            )
            yield Breach(message, inertial.location)


def inertia_too_small(measured: MeasuredRobot) -> Breaches:
    """Inertia of a point mass, for a link with an extent."""
    for link, inertial, extent in _measured(measured):
        radius = gyration(inertial)
        if (
            radius
            and is_inertia_too_small(radius, extent.reach)
            and not _is_rounding(inertial, measured)
        ):
            message = (
                f"inertia of link {link.name!r} too small for {inertial.mass:g} kg: "
                f"radius of gyration {_metres(radius)}, "
                f"geometry extends {_metres(extent.reach)}"
            )
            yield Breach(message, inertial.location)


def density_too_high(measured: MeasuredRobot) -> Breaches:
    """Density of the convex hull above that of all materials."""
    for link, inertial, extent in _measured(measured):
        if is_too_dense(inertial.mass, extent.hull_volume):
            yield Breach(_density(link, inertial, extent), inertial.location)


def density_too_low(measured: MeasuredRobot) -> Breaches:
    """Density of the convex hull below that of air."""
    for link, inertial, extent in _measured(measured):
        if is_too_light(inertial.mass, extent.hull_volume):
            yield Breach(_density(link, inertial, extent), inertial.location)


def center_outside(measured: MeasuredRobot) -> Breaches:
    """Centres of mass far outside the box around all shapes."""
    for link, inertial, extent in _measured(measured):
        center = inertial.origin.position
        if is_far_outside(center, extent.bounds):
            distance = extent.bounds.distance(center)
            message = (
                f"the centre of mass of link {link.name!r} lies {_metres(distance)} "
                f"outside its shapes, which are {_metres(extent.bounds.diagonal)} large"
            )
            yield Breach(message, inertial.location)


def _massless_moving_groups(measured: MeasuredRobot) -> Iterator[tuple[str, ...]]:
    # The group of the root does not move relative to the base.
    for group in measured.groups[1:]:
        if not any(measured.tree.link[name].mass for name in group):
            yield group


def _massive(measured: MeasuredRobot) -> Iterator[tuple[Link, Inertial]]:
    for link in measured.robot.links:
        if link.inertial and link.mass > 0.0:
            yield link, link.inertial


def _is_rounding(inertial: Inertial, measured: MeasuredRobot) -> bool:
    largest = max(map(abs, principal_moments(inertial)))
    return is_negligible(largest, inertial.mass, measured.size)


def _measured(measured: MeasuredRobot) -> Iterator[tuple[Link, Inertial, LinkExtent]]:
    for link, inertial in _massive(measured):
        extent = measured.extents.get(link.name)
        if extent and inertial.mass >= NEGLIGIBLE:
            yield link, inertial, extent


def _listed(moments: Vec3) -> str:
    return ", ".join(f"{moment:.4g}" for moment in moments)


def _metres(length: float) -> str:
    return f"{length:.3g} m"


def _density(link: Link, inertial: Inertial, extent: LinkExtent) -> str:
    density = inertial.mass / extent.hull_volume
    return (
        f"link {link.name!r} has {inertial.mass:g} kg in {extent.hull_volume:.3g} m^3: "
        f"{density:.3g} kg/m^3"
    )
