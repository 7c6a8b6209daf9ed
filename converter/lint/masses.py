"""Mass, centre of mass and inertia, against physics and against the shapes.

The bounds are those that no real part passes, so that a finding is a mistake or an
invented number, whatever the part is made of.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from converter.lint.finding import Remark
from converter.spatial import inertia_tensor, principal_inertia
from converter.urdf import grammar as g

if TYPE_CHECKING:
    from collections.abc import Iterator

    from converter.extents import LinkExtent
    from converter.lint.finding import Remarks
    from converter.lint.subject import Document, Specimen
    from converter.model import Inertial, Link, Vec3

# SDFormat drops links with less [kg].
_NEGLIGIBLE = 1e-6
# Osmium, the densest material, has 22 590 kg/m^3. Four times that leaves room for
# shapes that are simpler and smaller than the part.
_DENSEST = 100_000.0
# Air at sea level has 1.2 kg/m^3. A twelfth of that leaves room for hoops and frames,
# whose convex hull is mostly empty.
_LIGHTEST = 0.1
# A body inside its shapes has a radius of gyration below their largest distance from
# the centre of mass. Three times that leaves room for parts that are not drawn.
_GYRATION_OVER_REACH = 3.0
# A lead ball in the middle of a box of a hundred times its size.
_GYRATION_UNDER_REACH = 0.01
# How far the centre of mass may lie outside the box, as a part of its diagonal.
_OUTSIDE = 1.0
_TINY_LENGTH = 0.01
# Moments of a valid tensor satisfy A + B >= C; text rounds each of them.
_TRIANGLE_SLACK = 1e-4
_ZERO_MOMENT = 1e-9


def moving_without_mass(specimen: Specimen) -> Remarks:
    """Welded groups behind a joint that moves, without any mass."""
    for group in _massless_moving_groups(specimen):
        others = f" and what is welded to it ({len(group)} links)" if group[1:] else ""
        message = f"link {group[0]!r}{others} moves and has no mass"
        yield Remark(message, specimen.tree.link[group[0]].location)


def colliders_without_mass(specimen: Specimen) -> Remarks:
    """Links that collide and have no inertial; an explicit zero is a statement."""
    said = {name for group in _massless_moving_groups(specimen) for name in group}
    for link in specimen.robot.links:
        if link.collisions and link.inertial is None and link.name not in said:
            message = f"link {link.name!r} has a collision shape and no <inertial>"
            yield Remark(message, link.location)


def negligible_mass(specimen: Specimen) -> Remarks:
    """Masses that SDFormat takes for none."""
    for link, inertial in _massive(specimen):
        if inertial.mass < _NEGLIGIBLE:
            message = f"link {link.name!r} has a mass of {inertial.mass:g} kg"
            yield Remark(message, inertial.location)


def zero_inertia(document: Document) -> Remarks:
    """Point masses, but for those that are negligible."""
    for link in document.links:
        inertial = link.first(g.INERTIAL)
        mass = inertial.first(g.MASS) if inertial else None
        inertia = inertial.first(g.INERTIA) if inertial else None
        if not (mass and inertia and mass[g.MASS_VALUE] >= _NEGLIGIBLE):
            continue
        if not any(inertia[attribute] for attribute in g.INERTIA.attributes):
            kilograms = f"{mass[g.MASS_VALUE]:g} kg"
            message = f"link {link[g.NAME]!r} has {kilograms} and zero inertia"
            yield Remark(message, inertia.location)


def inertia_not_positive(specimen: Specimen) -> Remarks:
    """Tensors with a principal moment that is zero or negative, but not all zero."""
    for link, inertial in _massive(specimen):
        moments = _moments(inertial)
        if any(inertial.inertia) and not _is_positive(moments):
            message = f"link {link.name!r} has principal moments {_listed(moments)}"
            yield Remark(message, inertial.location)


def inertia_breaks_triangle(specimen: Specimen) -> Remarks:
    """Positive tensors that break A + B >= C by more than rounding."""
    for link, inertial in _massive(specimen):
        a, b, c = moments = _moments(inertial)
        if _is_positive(moments) and a + b < c * (1.0 - _TRIANGLE_SLACK):
            message = (
                f"link {link.name!r} has principal moments {_listed(moments)}: "
                f"{a:.4g} + {b:.4g} < {c:.4g}"
            )
            yield Remark(message, inertial.location)


def inertia_too_large(specimen: Specimen) -> Remarks:
    """Inertia beyond what the mass could have anywhere within the shapes."""
    for link, inertial, extent in _measured(specimen):
        gyration = _gyration(inertial)
        if gyration and gyration > _GYRATION_OVER_REACH * extent.reach:
            message = (
                f"the inertia of link {link.name!r} is that of {inertial.mass:g} kg "
                f"{_metres(gyration)} from the centre of mass; "
                f"its shapes reach {_metres(extent.reach)}"
            )
            yield Remark(message, inertial.location)


def inertia_too_small(specimen: Specimen) -> Remarks:
    """Inertia of a point, for a link with an extent."""
    for link, inertial, extent in _measured(specimen):
        gyration = _gyration(inertial)
        if gyration and gyration < _GYRATION_UNDER_REACH * extent.reach:
            message = (
                f"the inertia of link {link.name!r} is that of {inertial.mass:g} kg "
                f"within {_metres(gyration)} of the centre of mass; "
                f"its shapes reach {_metres(extent.reach)}"
            )
            yield Remark(message, inertial.location)


def density_too_high(specimen: Specimen) -> Remarks:
    """More mass than the convex hull of all shapes can hold."""
    for link, inertial, extent in _measured(specimen):
        density = inertial.mass / extent.hull_volume if extent.hull_volume else 0.0
        if density > _DENSEST:
            yield Remark(_density(link, inertial, extent), inertial.location)


def density_too_low(specimen: Specimen) -> Remarks:
    """Less mass than the air in the convex hull of all shapes."""
    for link, inertial, extent in _measured(specimen):
        if inertial.mass < _LIGHTEST * extent.hull_volume:
            yield Remark(_density(link, inertial, extent), inertial.location)


def center_outside(specimen: Specimen) -> Remarks:
    """Centres of mass far outside the box around all shapes."""
    for link, inertial, extent in _measured(specimen):
        distance = extent.bounds.distance(inertial.origin.position)
        if distance > max(_OUTSIDE * extent.bounds.diagonal, _TINY_LENGTH):
            message = (
                f"the centre of mass of link {link.name!r} lies {_metres(distance)} "
                f"outside its shapes, which are {_metres(extent.bounds.diagonal)} large"
            )
            yield Remark(message, inertial.location)


def _massless_moving_groups(specimen: Specimen) -> Iterator[tuple[str, ...]]:
    # What is welded to the root moves only if the robot as a whole does.
    for group in specimen.groups[1:]:
        if not any(specimen.tree.link[name].mass for name in group):
            yield group


def _massive(specimen: Specimen) -> Iterator[tuple[Link, Inertial]]:
    for link in specimen.robot.links:
        if link.inertial and link.mass > 0.0:
            yield link, link.inertial


def _measured(specimen: Specimen) -> Iterator[tuple[Link, Inertial, LinkExtent]]:
    for link, inertial in _massive(specimen):
        extent = specimen.extents.get(link.name)
        if extent and inertial.mass >= _NEGLIGIBLE:
            yield link, inertial, extent


def _moments(inertial: Inertial) -> Vec3:
    moments, _ = principal_inertia(inertia_tensor(inertial.inertia))
    a, b, c = sorted(moments)
    return a, b, c


def _is_positive(moments: Vec3) -> bool:
    return moments[0] > _ZERO_MOMENT * moments[2]


def _gyration(inertial: Inertial) -> float | None:
    """Largest radius of gyration [m]; None if no body has this inertia."""
    moments = _moments(inertial)
    return math.sqrt(moments[2] / inertial.mass) if _is_positive(moments) else None


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
