"""Mass, centre of mass and inertia of rigid groups: links joined by fixed joints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import structs

from urdf_usd.conformance.checks.joint_motion import joint_errors
from urdf_usd.conformance.checks.mass_values import (
    center_difference,
    inertia_difference,
    mass_difference,
    norms,
)
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.tolerance.bounds import harmless_moment, is_pointlike
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Description,
    Difference,
    ToleranceModel,
)
from urdf_usd.conformance.tolerance.rigid_groups import (
    GroupMass,
    differing_links,
    group_center_bound,
    group_inertia_bound,
    group_masses,
    masses_of,
    unread_masses,
)
from urdf_usd.reports.records.record import Grade

_NO_GROUP = "no fixed joint connects links with mass"
# Observations of one robot, each used by several checks.
_CACHE_SIZE = 16


def masses(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare masses of rigid groups of several links, relative to their own."""
    ours, theirs = masses_of(expected), masses_of(actual)
    differences = []
    for group in _welded(model):
        if unread_masses(group, expected, actual):
            differences.append(_unstated(group[0], actual.engine))
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


def centers(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare centres of mass of rigid groups, in the frame of their first link [m]."""
    differences = [
        _unstated(group[0], actual.engine)
        if theirs is None
        else center_difference(
            "group",
            group[0],
            ours.center,
            theirs.center,
            bound=group_center_bound(ours.parts),
            tolerance=model.tolerance.position,
        )
        for group, ours, theirs in _pairs(expected, actual, model)
    ]
    return _traced(differences, ("mass", "center"), expected, actual, model)


def inertias(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare inertias of rigid groups, relative to their largest moment."""
    differences = [
        _unstated(group[0], actual.engine)
        if theirs is None
        else inertia_difference(
            "group",
            group[0],
            ours.tensor,
            theirs.tensor,
            apart=norms([ours.tensor - theirs.tensor])[0],
            mass=ours.mass,
            bound=group_inertia_bound(ours.parts, ours.center, ours.tensor),
            model=model,
            invented=sum(
                harmless_moment(part.mass, model.size, model.total_mass)
                for part in ours.parts
                if is_pointlike(part.tensor, part.mass, model.size)
            ),
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
    sides = _group_masses(expected, model), _group_masses(actual, model)
    for group, ours, theirs in zip(_welded(model), *sides, strict=True):
        if not ours or not ours.mass:
            continue
        if unread_masses(group, expected, actual):
            yield group, ours, None
        elif theirs is None or theirs.mass > 0:
            yield group, ours, theirs


@lru_cache(maxsize=_CACHE_SIZE)
def _group_masses(reading: Observation, model: ToleranceModel) -> tuple[GroupMass | None, ...]:
    return group_masses(reading, _welded(model), tuple(model.joint_to.values()))


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


def _unstated(head: str, engine: str) -> Difference:
    return Difference(
        item=head,
        subject=f"group {head}",
        amount=math.nan,
        describe=lambda: Description(
            f"group {head}: {engine} does not state mass and frame of all links",
            actual="not stated",
        ),
    )
