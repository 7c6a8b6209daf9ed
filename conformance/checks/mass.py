"""Mass, centre of mass and inertia per link and rigid group, and the mass of the robot.

A rigid group is links that fixed joints connect. URDF allows links without mass, USD does not allow
bodies without: a link whose mass is part of another body of its rigid group is compared as part of
the group. A defaulted mass or tiny inertia of up to a millionth of the robot's is graded *close*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.checks import check
from urdf_usd.conformance.checks.kinematics import joint_errors
from urdf_usd.conformance.observation.robot import Base, MassProperties, Observation, Quantity
from urdf_usd.conformance.tolerance import (
    DEFAULTED,
    GroupMass,
    ToleranceModel,
    center_bound,
    group_masses,
    harmless_moment,
    inertia_bound,
    is_pointlike,
    length,
    masses_of,
    principal_moments,
    scalar_bound,
    tensor_of,
)
from urdf_usd.reports.records.record import Difference, Grade
from urdf_usd.reports.text import value_text

Array = NDArray[np.float64]
_Mass: TypeAlias = MassProperties | None

MOMENT = "kg m^2"
# Largest harmless defaulted mass or inertia, with margin for its float32 rounding.
_HARMLESS = DEFAULTED * (1 + 1e-6)


@check.check("mass.stated", "authored masses", Quantity.MASS, usd_alone=True)
def _stated(sides: check.Sides) -> check.Differences:
    """Every rigid body has an authored mass: consumers compute or assume others."""
    actual, named = sides.actual, {link for group in sides.model.groups for link in group}
    bodies = [
        link.name
        for link in actual.links
        if link.name in named and (link.mass or link.name in actual.defaulted)
    ]
    message = "link {}: rigid body without an authored mass above zero"
    return check.flags("link", bodies, actual.defaulted, message, ("authored", "not authored"))


@check.check("mass.link.mass", "mass per link", Quantity.MASS, "1", reads="physics:mass")
def _link_masses(sides: check.Sides) -> check.Differences:
    """Effective mass of every link, relative to that of the URDF."""
    for name, *pair in _links(sides):
        masses = [own.mass if own else 0.0 for own in pair]
        yield _mass_difference("link", name, masses[0], masses[1], sides.model)


@check.check(
    "mass.link.center", "centre of mass per link", Quantity.MASS, "m", reads="physics:centerOfMass"
)
def _link_centers(sides: check.Sides) -> check.Differences:
    """Centre of mass in the link frame, of links with mass."""
    for name, one, two in _massive(sides):
        bound = center_bound(one.center)
        yield _center_difference(f"link {name}", one.center, two.center, bound, sides)


@check.check(
    "mass.link.inertia",
    "inertia per link",
    Quantity.MASS,
    "1",
    reads="physics:diagonalInertia physics:principalAxes",
)
def _link_inertias(sides: check.Sides) -> check.Differences:
    """Inertia tensor about the centre of mass in the link frame, relative to its largest moment."""
    for name, one, two in _massive(sides):
        if one.inertia is None:
            continue
        tensor, subject = tensor_of(one.inertia), f"link {name}"
        if two.inertia is None:
            values, amounts = (principal_moments(tensor), "not stated"), (math.nan, 0.0, 0.0)
            text = f"{sides.actual.engine} states no inertia"
            yield check.difference(subject, text, values, MOMENT, amounts)
            continue
        found, bound = tensor_of(two.inertia), inertia_bound(tensor)
        yield _inertia_difference(subject, tensor, found, one.mass, bound, sides)


@check.check(
    "mass.link.agreement",
    "consistent inertia per link",
    Quantity.MASS,
    "1",
    usd_alone=True,
    reads="newton:inertia",
)
def _agreement(sides: check.Sides) -> check.Differences:
    """An inertia authored both in the mass schema and in newton:inertia is the same in both."""
    links = {link.name for link in sides.expected.links}
    for restated in sides.actual.restated:
        if restated.link not in links:
            continue
        first, second = tensor_of(restated.first), tensor_of(restated.second)
        subject, attribute = f"link {restated.link}", restated.attribute
        if not np.isfinite(second).all():
            values, amounts = (principal_moments(first), "not finite"), (math.inf, 0.0, 0.0)
            yield check.difference(subject, f"{attribute} is not finite", values, MOMENT, amounts)
            continue
        mass, bound = sides.model.total_mass or 1.0, inertia_bound(first)
        made = _inertia_difference(subject, first, second, mass, bound, sides)
        yield structs.replace(made, message=f"{made.message}, in {attribute}")


@check.check("mass.group.mass", "mass per rigid group", Quantity.MASS, "1")
def _group_masses(sides: check.Sides) -> check.Differences:
    """Total mass of links that fixed joints connect."""
    masses = masses_of(sides.expected), masses_of(sides.actual)
    for group in _welded(sides.model):
        if unread_masses(group, sides):
            yield _unstated_group(group[0], sides.actual.engine)
            continue
        mass, other = (sum(own.mass for name in group if (own := of.get(name))) for of in masses)
        traces = differing_links(group, sides, "mass")
        yield _mass_difference("group", group[0], mass, other, sides.model, traces)


@check.check("mass.group.center", "centre of mass per rigid group", Quantity.MASS, "m")
def _group_centers(sides: check.Sides) -> check.Differences:
    """Centre of mass of links that fixed joints connect, in the frame of the group's first link."""

    def measure(subject: str, one: GroupMass, two: GroupMass) -> Difference:
        centers = one.center.tolist(), two.center.tolist()
        return _center_difference(subject, *centers, one.center_bound, sides)

    return _of_groups(measure, sides, "mass", "center")


@check.check("mass.group.inertia", "inertia per rigid group", Quantity.MASS, "1")
def _group_inertias(sides: check.Sides) -> check.Differences:
    """Inertia of links that fixed joints connect, relative to the largest principal moment."""

    def measure(subject: str, one: GroupMass, two: GroupMass) -> Difference:
        harmless = one.harmless_moment(sides.model.size, sides.model.total_mass)
        values = one.tensor, two.tensor, one.mass, one.inertia_bound
        return _inertia_difference(subject, *values, sides, harmless)

    return _of_groups(measure, sides, "mass", "center", "inertia")


@check.check("mass.total", "mass of the robot", Quantity.MASS, "1")
def _total(sides: check.Sides) -> check.Differences:
    """Sum over all links, relative."""
    masses, found = masses_of(sides.expected), masses_of(sides.actual)
    # Massless links of a fixed base may have a harmless mass in the USD: the base has to be a body,
    # and its mass has no effect on any joint.
    base = [group for group in sides.model.groups if sides.expected.root in group]
    defaulted = {
        name: own.mass
        for group in (base if sides.actual.base is Base.FIXED else ())
        for name in group
        if (own := found.get(name)) and not _carries(masses.get(name))
    }
    if math.fsum(defaulted.values()) > _HARMLESS * (sides.model.total_mass or 1.0):
        defaulted = {}
    # Links of which one side does not read the mass are left out.
    unread = {*unread_masses(tuple(masses), sides)}
    mass = math.fsum(own.mass for name, own in masses.items() if own and name not in unread)
    left_out = unread | defaulted.keys()
    other = math.fsum(own.mass for name, own in found.items() if own and name not in left_out)
    links = [name for name in dict.fromkeys([*masses, *found]) if name not in left_out]
    traces = differing_links(links, sides, "mass")
    yield _mass_difference("robot", "robot", mass, other, sides.model, traces)


def unread_masses(links: Iterable[str], sides: check.Sides) -> tuple[str, ...]:
    """Name the links whose mass one side has, and the other does not read."""
    unread: set[str] = set()
    both = sides.expected, sides.actual
    for side, other in (both, both[::-1]):
        masses = masses_of(side)
        unread |= {name for name in other.unread_masses if _carries(masses.get(name))}
    return tuple(name for name in links if name in unread)


def differing_links(links: Sequence[str], sides: check.Sides, *aspects: str) -> tuple[str, ...]:
    """Name the links whose own mass properties differ in an aspect: mass, center or inertia."""
    expected, actual = masses_of(sides.expected), masses_of(sides.actual)
    tolerance = sides.tolerance

    def differs(link: str, aspect: str) -> bool:
        one, two = expected.get(link), actual.get(link)
        masses = one.mass if one else 0.0, two.mass if two else 0.0
        if aspect == "mass":
            return abs(masses[0] - masses[1]) > tolerance.mass * masses[0]
        if one is None or two is None or not all(masses):
            return False
        if aspect == "center":
            return math.dist(one.center, two.center) > tolerance.position
        if one.inertia is None or two.inertia is None:
            return one.inertia is not two.inertia
        scale = max(map(abs, one.inertia))
        return math.dist(one.inertia, two.inertia) > tolerance.inertia * scale

    return tuple(link for link in links if any(differs(link, aspect) for aspect in aspects))


def _carries(own: _Mass) -> bool:
    return own is not None and own.mass > 0


def _links(sides: check.Sides) -> Iterator[tuple[str, _Mass, _Mass]]:
    """Pair links whose own mass both sides state, unless one side adds it to another link."""
    masses, found = masses_of(sides.expected), masses_of(sides.actual)
    known = found.keys() - set(unread_masses(masses, sides))
    harmless = _HARMLESS * (sides.model.total_mass or 1.0)
    for group in sides.model.groups:
        pairs = [(n, masses[n], found[n]) for n in group if n in masses and n in known]
        moved = any(
            _carries(one) != _carries(two)
            and (_carries(one) or (two.mass if two else 0.0) > harmless)
            for _, one, two in pairs
        )
        if not moved or sum(_carries(one) or _carries(two) for _, one, two in pairs) <= 1:
            yield from pairs


def _massive(sides: check.Sides) -> Iterator[tuple[str, MassProperties, MassProperties]]:
    for name, one, two in _links(sides):
        if one and two and one.mass > 0 and two.mass > 0:
            yield name, one, two


def _welded(model: ToleranceModel) -> tuple[tuple[str, ...], ...]:
    return tuple(group for group in model.groups if len(group) > 1)


def _of_groups(
    measure: Callable[[str, GroupMass, GroupMass], Difference], sides: check.Sides, *aspects: str
) -> check.Differences:
    """Compare each group with mass by a measure; failures are traced to links and fixed joints."""
    model = sides.model
    both = (_masses_of_groups(side, model) for side in (sides.expected, sides.actual))
    for group, one, two in zip(_welded(model), *both, strict=True):
        if not one or not one.mass:
            continue
        if two is None or unread_masses(group, sides):
            yield _unstated_group(group[0], sides.actual.engine)
        elif two.mass > 0:
            made = measure(f"group {group[0]}", one, two)
            if made.grade is Grade.FAILS:
                wrong = joint_errors(sides)
                joints = (model.joint_to[one].name for one in group[1:] if one in model.joint_to)
                traces = (
                    *differing_links(group, sides, *aspects),
                    *(name for name in joints if name in wrong),
                )
                made = structs.replace(made, traces=traces)
            yield made


# Observations of one robot, each used by several checks.
@lru_cache(maxsize=16)
def _masses_of_groups(side: Observation, model: ToleranceModel) -> tuple[GroupMass | None, ...]:
    return group_masses(side, _welded(model), tuple(model.joint_to.values()))


def _unstated_group(head: str, engine: str) -> Difference:
    text, values = f"{engine} does not state mass and frame of all links", (None, "not stated")
    return check.difference(f"group {head}", text, values, "", (math.nan, 0.0, 0.0))


def _mass_difference(
    kind: str,
    name: str,
    expected: float,
    actual: float,
    model: ToleranceModel,
    traces: tuple[str, ...] = (),
) -> Difference:
    """Compare masses [kg], relative to the expected one, or to the robot's if that is zero."""
    subject = name if kind == name else f"{kind} {name}"
    bound, tolerance = scalar_bound(1.0), model.tolerance.mass
    amount = check.relative_difference(expected, actual)
    values = check.stated(expected), check.stated(actual)
    if expected == 0 and actual != 0:
        amount = actual / (model.total_mass or 1.0)
        bound, tolerance = 0.0, _HARMLESS
    text = check.is_not("mass", values, "kg")
    if expected == 0 and amount <= tolerance:
        text = f"mass is defaulted: {value_text(values[1], 'kg')}, massless {kind} in the URDF"
    amounts = amount, bound, tolerance
    return check.difference(subject, text, values, "kg", amounts, item=name, traces=traces)


def _center_difference(
    subject: str,
    expected: Sequence[float],
    actual: Sequence[float],
    bound: float,
    sides: check.Sides,
) -> Difference:
    """Compare centres of mass (3,) [m]."""
    amount = length(np.subtract(expected, actual))
    values = [tuple(expected), tuple(actual)]
    texts = [value_text(one, "m") for one in values]
    text = f"centre of mass differs by {amount:.3g} m: {texts[1]}, not {texts[0]}"
    amounts = amount if math.isfinite(amount) else math.inf, bound, sides.tolerance.position
    return check.difference(subject, text, values, "m", amounts)


def _inertia_difference(
    subject: str,
    expected: Array,
    actual: Array,
    mass: float,
    bound: float,
    sides: check.Sides,
    defaulted: float = 0.0,
) -> Difference:
    """Compare tensors (3, 3) about the centre of mass [kg m^2], by the spectral norm.

    It is relative to the largest expected moment; if that is zero, to a million times the inertia
    that may be defaulted for ``mass`` [kg]. ``defaulted`` [kg m^2] widens the tolerance.
    """
    model, apart = sides.model, expected - actual
    norm = float(np.linalg.norm(apart, 2)) if np.isfinite(apart).all() else math.inf
    tolerance = model.tolerance.inertia
    moments = principal_moments(expected), principal_moments(actual)
    largest = max(map(abs, moments[0]))
    scale = 0.0 if is_pointlike(largest, mass, model.size) else largest
    if scale > 0:
        amount = norm / scale
        tolerance += _HARMLESS / DEFAULTED * defaulted / scale
    else:
        # A point mass: a small inertia may be defaulted.
        amount = DEFAULTED * norm / harmless_moment(mass, model.size, model.total_mass)
        bound, tolerance = 0.0, _HARMLESS
    text, pairs = check.is_not("inertia", moments, MOMENT), zip(*moments, strict=True)
    if amount > tolerance and all(abs(one - two) <= scale * tolerance for one, two in pairs):
        right = value_text(moments[0], MOMENT)
        text = f"inertia has the right principal moments, {right}, but wrong axes"
    elif scale == 0 and amount <= tolerance:
        text = f"inertia is defaulted: {value_text(moments[1], MOMENT)}, point mass in the URDF"
    amounts = amount if math.isfinite(amount) else math.inf, bound, tolerance
    return check.difference(subject, text, moments, MOMENT, amounts)
