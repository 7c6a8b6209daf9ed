"""Mass, centre of mass and inertia per link and rigid group, and the mass of the robot.

A rigid group is links that fixed joints connect.

URDF allows links without mass, USD does not allow bodies without: a link whose mass is
part of another body of its rigid group in the USD is compared as part of the group. An
invented mass or inertia of up to a millionth of the robot's is graded *close*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from msgspec import structs

from urdf_usd.conformance.checks.check import Check, equality
from urdf_usd.conformance.checks.joint_motion import joint_errors
from urdf_usd.conformance.checks.mass_values import (
    HARMLESS,
    center_difference,
    inertia_difference,
    mass_difference,
    moments_text,
    norms,
)
from urdf_usd.conformance.checks.structure import flag_differences
from urdf_usd.conformance.observation.robot import (
    Base,
    MassProperties,
    Observation,
    Quantity,
    Vec6,
)
from urdf_usd.conformance.tolerance.bounds import (
    center_bound,
    inertia_bound,
)
from urdf_usd.conformance.tolerance.comparison import Compared, Comparison, ToleranceModel
from urdf_usd.conformance.tolerance.rigid_groups import (
    GroupMass,
    differing_links,
    masses_of,
    tensor_of,
    unread_masses,
)
from urdf_usd.conformance.tolerance.rigid_groups import group_masses as lumped_masses
from urdf_usd.reports.records.record import Difference, Grade

_CARRIED = "the masses of all links are part of other bodies of their rigid groups"
_NO_MASS = "no link has mass"
_NO_GROUP = "no fixed joint connects links with mass"
# Observations of one robot, each used by several checks.
_CACHE_SIZE = 16


def stated(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Check that the mass of every rigid body is authored."""
    del expected
    named = {link for group in model.groups for link in group}
    bodies = [
        link.name
        for link in actual.links
        if link.name in named and (link.mass or link.name in actual.invented)
    ]
    return Compared(
        flag_differences(
            "link",
            bodies,
            actual.invented,
            "link {}: rigid body without an authored mass above zero",
            ("authored", "not authored"),
        ),
        note=None if bodies else _NO_MASS,
    )


def link_masses(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare masses of links, relative to their own."""
    differences = []
    for name, ours, theirs in _links(expected, actual, model):
        here = ours.mass if ours else 0.0
        there = theirs.mass if theirs else 0.0
        differences.append(mass_difference("link", name, here, there, model=model))
    note = None if differences else _CARRIED
    return Compared(tuple(differences), note=note)


def link_centers(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare centres of mass in the link frame [m]."""
    return Compared(
        tuple(
            center_difference(
                "link",
                name,
                np.asarray(ours.center),
                np.asarray(theirs.center),
                bound=center_bound(ours.center),
                tolerance=model.tolerance.position,
            )
            for name, ours, theirs in _massive(expected, actual, model)
        ),
        note=_NO_MASS if not model.total_mass else None,
    )


def link_inertias(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare inertia tensors about the centre of mass, relative to the largest moment.

    Where the second side states no tensor for a link, that link is not comparable.
    """
    massive = tuple(_massive(expected, actual, model))
    pairs = {
        name: (tensor_of(ours.inertia), tensor_of(theirs.inertia))
        for name, ours, theirs in massive
        if ours.inertia and theirs.inertia
    }
    apart = norms([ours - theirs for ours, theirs in pairs.values()])
    norm_of = dict(zip(pairs, apart, strict=True))
    differences = []
    for name, ours, _ in massive:
        if name in pairs:
            tensor, other = pairs[name]
            differences.append(
                inertia_difference(
                    "link",
                    name,
                    tensor,
                    other,
                    apart=norm_of[name],
                    mass=ours.mass,
                    bound=inertia_bound(tensor),
                    model=model,
                )
            )
        elif ours.inertia:
            differences.append(_unstated(name, ours.inertia, actual.engine))
    note = _NO_MASS if not model.total_mass else None
    return Compared(tuple(differences), note=note)


def agreement(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare the two inertias of links for which the second side states two."""
    named = {link.name for link in expected.links}
    differences = []
    for restated in actual.restated:
        if restated.link not in named:
            continue
        first, second = tensor_of(restated.first), tensor_of(restated.second)
        if not np.isfinite(second).all():
            subject = f"link {restated.link}"
            message = f"{subject}: {restated.attribute} is not finite"
            sides = moments_text(first), "not finite"
            differences.append(equality(subject, False, message, *sides))
            continue
        difference = inertia_difference(
            "link",
            restated.link,
            first,
            second,
            apart=norms([first - second])[0],
            mass=model.total_mass or 1.0,
            bound=inertia_bound(first),
            model=model,
        )
        message = f"{difference.message}, in {restated.attribute}"
        differences.append(structs.replace(difference, message=message))
    note = None if differences else "no inertia is authored twice"
    return Compared(tuple(differences), note=note)


def total(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare the mass of the robot, relative.

    Links of which one side does not read the mass are left out.
    """
    ours, theirs = masses_of(expected), masses_of(actual)
    theirs |= dict.fromkeys(_harmless_base_masses(expected, actual, model))
    unread = unread_masses(tuple(ours), expected, actual)
    ours |= dict.fromkeys(unread)
    theirs |= dict.fromkeys(unread)
    here, there = (
        math.fsum(stated.mass for stated in side.values() if stated) for side in (ours, theirs)
    )
    links = tuple(dict.fromkeys([*ours, *theirs]))
    traces = differing_links(links, ours, theirs, model.tolerance, ("mass",))
    return Compared(
        (
            mass_difference(
                "robot",
                "robot",
                here,
                there,
                model=model,
                traces=traces,
            ),
        )
    )


def _harmless_base_masses(
    expected: Observation, actual: Observation, model: ToleranceModel
) -> tuple[str, ...]:
    """Return the massless links of a fixed base that have a harmless mass in the USD.

    The base has to be a body, and its mass has no effect on any joint.
    """
    if actual.base is not Base.FIXED:
        return ()
    ours, theirs = masses_of(expected), masses_of(actual)
    base_masses = {
        name: stated.mass
        for group in model.groups
        if expected.root in group
        for name in group
        if (stated := theirs.get(name)) and not _carries(ours.get(name))
    }
    harmless = math.fsum(base_masses.values()) <= HARMLESS * (model.total_mass or 1.0)
    return tuple(base_masses) if harmless else ()


def _carries(properties: MassProperties | None) -> bool:
    return properties is not None and properties.mass > 0


def _links(
    expected: Observation, actual: Observation, model: ToleranceModel
) -> Iterator[tuple[str, MassProperties | None, MassProperties | None]]:
    """Pair links whose own mass both sides state.

    A group of several links in which one side adds the mass of a link to another is
    left to the comparison of groups.
    """
    ours, theirs = masses_of(expected), masses_of(actual)
    stated = theirs.keys() - set(unread_masses(ours, expected, actual))
    for group in model.groups:
        shared = [name for name in group if name in ours and name in stated]
        moved = any(
            _carries(ours[name]) != _carries(theirs[name])
            and (_carries(ours[name]) or not _harmless(theirs[name], model))
            for name in shared
        )
        several = sum(_carries(ours[name]) or _carries(theirs[name]) for name in shared)
        if moved and several > 1:
            continue
        yield from ((name, ours[name], theirs[name]) for name in shared)


def _harmless(properties: MassProperties | None, model: ToleranceModel) -> bool:
    mass = properties.mass if properties else 0.0
    return mass <= HARMLESS * (model.total_mass or 1.0)


def _massive(
    expected: Observation, actual: Observation, model: ToleranceModel
) -> Iterator[tuple[str, MassProperties, MassProperties]]:
    for name, ours, theirs in _links(expected, actual, model):
        if ours and theirs and ours.mass > 0 and theirs.mass > 0:
            yield name, ours, theirs


def _unstated(name: str, inertia: Vec6, engine: str) -> Difference:
    return Difference(
        item=name,
        subject=f"link {name}",
        amount=math.nan,
        message=f"link {name}: {engine} states no inertia",
        expected=moments_text(tensor_of(inertia)),
        actual="not stated",
    )


def group_masses(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare masses of rigid groups of several links, relative to their own."""
    ours, theirs = masses_of(expected), masses_of(actual)
    differences = []
    for group in _welded(model):
        if unread_masses(group, expected, actual):
            differences.append(_unstated_group(group[0], actual.engine))
            continue
        here, there = (
            sum(stated.mass for name in group if (stated := side.get(name)))
            for side in (ours, theirs)
        )
        differences.append(
            mass_difference(
                "group",
                group[0],
                here,
                there,
                model=model,
                traces=differing_links(group, ours, theirs, model.tolerance, ("mass",)),
            )
        )
    return Compared(tuple(differences), note=None if differences else _NO_GROUP)


def group_centers(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare centres of mass of rigid groups, in the frame of their first link [m]."""
    differences = [
        _unstated_group(group[0], actual.engine)
        if theirs is None
        else center_difference(
            "group",
            group[0],
            ours.center,
            theirs.center,
            bound=ours.center_bound,
            tolerance=model.tolerance.position,
        )
        for group, ours, theirs in _pairs(expected, actual, model)
    ]
    return _traced(differences, ("mass", "center"), expected, actual, model)


def group_inertias(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare inertias of rigid groups, relative to their largest moment."""
    differences = [
        _unstated_group(group[0], actual.engine)
        if theirs is None
        else inertia_difference(
            "group",
            group[0],
            ours.tensor,
            theirs.tensor,
            apart=norms([ours.tensor - theirs.tensor])[0],
            mass=ours.mass,
            bound=ours.inertia_bound,
            model=model,
            invented=ours.harmless_moment(model.size, model.total_mass),
        )
        for group, ours, theirs in _pairs(expected, actual, model)
    ]
    aspects = "mass", "center", "inertia"
    return _traced(differences, aspects, expected, actual, model)


def _welded(model: ToleranceModel) -> tuple[tuple[str, ...], ...]:
    return tuple(group for group in model.groups if len(group) > 1)


def _pairs(
    expected: Observation, actual: Observation, model: ToleranceModel
) -> Iterator[tuple[tuple[str, ...], GroupMass, GroupMass | None]]:
    """Pair the mass properties of each group, each side with its own frames.

    The second side is None if it lacks a mass or a frame. A group without mass on one
    side is left out; its mass is another check.
    """
    sides = _masses_of_groups(expected, model), _masses_of_groups(actual, model)
    for group, ours, theirs in zip(_welded(model), *sides, strict=True):
        if not ours or not ours.mass:
            continue
        if unread_masses(group, expected, actual):
            yield group, ours, None
        elif theirs is None or theirs.mass > 0:
            yield group, ours, theirs


@lru_cache(maxsize=_CACHE_SIZE)
def _masses_of_groups(reading: Observation, model: ToleranceModel) -> tuple[GroupMass | None, ...]:
    return lumped_masses(reading, _welded(model), tuple(model.joint_to.values()))


def _traced(
    differences: Sequence[Difference],
    aspects: tuple[str, ...],
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Compared:
    """Trace failing groups to the links and fixed joints that cause the difference."""
    if not differences:
        return Compared((), note=_NO_GROUP)
    if all(difference.grade is not Grade.FAILS for difference in differences):
        return Compared(tuple(differences))
    ours, theirs = masses_of(expected), masses_of(actual)
    faults = joint_errors(expected, actual, model)
    group_of = {group[0]: group for group in _welded(model)}
    results = []
    for difference in differences:
        group = group_of[difference.item]
        links = differing_links(group, ours, theirs, model.tolerance, aspects)
        fixed_joints = [model.joint_to[child].name for child in group[1:]]
        traces = links + tuple(name for name in fixed_joints if name in faults)
        results.append(structs.replace(difference, traces=traces))
    return Compared(tuple(results))


def _unstated_group(head: str, engine: str) -> Difference:
    return Difference(
        item=head,
        subject=f"group {head}",
        amount=math.nan,
        message=f"group {head}: {engine} does not state mass and frame of all links",
        actual="not stated",
    )


MASS_CHECKS = (
    Check(
        "mass.stated",
        "authored masses",
        "",
        Quantity.MASS,
        stated,
        "Every rigid body has an authored mass. Otherwise a consumer computes one from the "
        "colliders, or assumes 1 kg.",
        usd_alone=True,
    ),
    Check(
        "mass.link.mass",
        "mass per link",
        "1",
        Quantity.MASS,
        link_masses,
        "Effective mass of every link, relative to that of the URDF. A link that is part of "
        "another body of its rigid group in the USD is compared as part of the group.",
    ),
    Check(
        "mass.link.center",
        "centre of mass per link",
        "m",
        Quantity.MASS,
        link_centers,
        "Centre of mass in the link frame, of links with mass.",
    ),
    Check(
        "mass.link.inertia",
        "inertia per link",
        "1",
        Quantity.MASS,
        link_inertias,
        "Inertia tensor about the centre of mass in the link frame, relative to the link's "
        "largest principal moment. Tensors are compared, as principal axes and their order are "
        "not unique.",
    ),
    Check(
        "mass.link.agreement",
        "consistent inertia per link",
        "1",
        Quantity.MASS,
        agreement,
        "An inertia that is authored both in the mass schema and in newton:inertia has the same "
        "value in both, relative to the largest moment: simulators differ in which one they read.",
        usd_alone=True,
    ),
    Check(
        "mass.group.mass",
        "mass per rigid group",
        "1",
        Quantity.MASS,
        group_masses,
        "Total mass of links that fixed joints connect.",
    ),
    Check(
        "mass.group.center",
        "centre of mass per rigid group",
        "m",
        Quantity.MASS,
        group_centers,
        "Centre of mass of links that fixed joints connect, in the frame of the group's first "
        "link.",
    ),
    Check(
        "mass.group.inertia",
        "inertia per rigid group",
        "1",
        Quantity.MASS,
        group_inertias,
        "Inertia of links that fixed joints connect about their common centre of mass, relative "
        "to the largest principal moment.",
    ),
    Check(
        "mass.total",
        "mass of the robot",
        "1",
        Quantity.MASS,
        total,
        "Sum over all links, relative.",
    ),
)
