"""Mass, centre of mass and inertia per link, and the mass of the robot.

URDF allows links without mass, USD does not allow bodies without: a link whose mass is
part of another body of its rigid group in the USD is compared as part of the group. An
invented mass or inertia of up to a millionth of the robot's is graded *close*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from msgspec import structs

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
    Restatement,
    Vec6,
)
from urdf_usd.conformance.tolerance.bounds import center_bound, inertia_bound
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Description,
    Difference,
    ToleranceModel,
)
from urdf_usd.conformance.tolerance.rigid_groups import (
    differing_links,
    masses_of,
    tensor_of,
    unread_masses,
)

_CARRIED = "the masses of all links are part of other bodies of their rigid groups"
_NO_MASS = "no link has mass"


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
            differences.append(_not_finite(restated))
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
        differences.append(
            structs.replace(difference, describe=partial(_naming_attribute, difference, restated))
        )
    note = None if differences else "no inertia is authored twice"
    return Compared(tuple(differences), note=note)


def _naming_attribute(difference: Difference, restated: Restatement) -> Description:
    description = difference.describe()
    return structs.replace(description, message=f"{description.message}, in {restated.attribute}")


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


def _not_finite(restated: Restatement) -> Difference:
    return Difference(
        item=restated.link,
        subject=f"link {restated.link}",
        amount=math.inf,
        describe=lambda: Description(
            f"link {restated.link}: {restated.attribute} is not finite",
            expected=moments_text(tensor_of(restated.first)),
            actual="not finite",
        ),
    )


def _unstated(name: str, inertia: Vec6, engine: str) -> Difference:
    return Difference(
        item=name,
        subject=f"link {name}",
        amount=math.nan,
        describe=lambda: Description(
            f"link {name}: {engine} states no inertia",
            expected=moments_text(tensor_of(inertia)),
            actual="not stated",
        ),
    )
