"""Mass, centre of mass and inertia: per link, per rigid group, and of the robot.

URDF allows links without mass, USD no bodies without: where the USD counts a link's
mass in another body of its group, the group decides. Where mass or inertia had to be
invented, up to a millionth of the robot's is harmless and graded *close*.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from conformance.comparison import Compared, Difference, number
from conformance.groups import lump, tensor_of, weld_depths
from conformance.tolerance import (
    INVENTED,
    center_bound,
    inertia_bound,
    lump_center_bound,
    lump_inertia_bound,
    scalar_bound,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from conformance.comparison import Comparison, Yardstick
    from conformance.groups import Lump
    from conformance.observation import MassProperties, Observation, Vec6

# Room for the float32 rounding of an invented value that sits at the limit.
_HARMLESS = INVENTED * (1 + 1e-6)
_ZERO = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_CARRIED = "all links are counted in other bodies of their rigid groups"
_NO_MASS = "no link has mass"
_NO_GROUP = "no links with mass are welded"


def stated(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Check that no mass had to be made up by the reader."""
    del expected
    named = {link for group in yardstick.groups for link in group}
    bodies = [
        link.name
        for link in actual.links
        if link.name in named and (link.mass or link.name in actual.invented)
    ]
    return Compared(
        tuple(
            Difference(
                item=name,
                subject=f"link {name}",
                amount=math.inf if name in actual.invented else 0.0,
                expected="stated",
                actual="invented" if name in actual.invented else "stated",
                message=f"link {name} is a body without a mass: readers invent one",
            )
            for name in bodies
        ),
        note=None if bodies else _NO_MASS,
    )


def link_masses(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare masses of links, relative to their own."""
    differences = []
    for name, ours, theirs in _links(expected, actual, yardstick):
        here = ours.mass if ours else 0.0
        there = theirs.mass if theirs else 0.0
        differences.append(_mass("link", name, here, there, yardstick=yardstick))
    note = None if differences else _CARRIED
    return Compared(tuple(differences), note=note)


def link_centers(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare centres of mass in the link frame [m]."""
    return Compared(
        tuple(
            _center(
                "link",
                name,
                np.asarray(ours.center),
                np.asarray(theirs.center),
                bound=center_bound(ours.center),
                tolerance=yardstick.tolerance.position,
            )
            for name, ours, theirs in _massive(expected, actual, yardstick)
        ),
        note=_NO_MASS if not yardstick.total_mass else None,
    )


def link_inertias(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare inertia tensors about the centre of mass, relative to the largest moment.

    A witness that states no tensor for one link leaves that link open.
    """
    differences = []
    for name, ours, theirs in _massive(expected, actual, yardstick):
        if ours.inertia is None:
            continue
        if theirs.inertia is None:
            differences.append(_unstated(name, ours.inertia, actual.witness))
            continue
        tensor = tensor_of(ours.inertia)
        differences.append(
            _inertia(
                "link",
                name,
                tensor,
                tensor_of(theirs.inertia),
                mass=ours.mass,
                bound=inertia_bound(tensor),
                yardstick=yardstick,
            )
        )
    note = _NO_MASS if not yardstick.total_mass else None
    return Compared(tuple(differences), note=note)


def group_masses(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare masses of rigid groups of several links, relative to their own."""
    ours, theirs = _masses(expected), _masses(actual)
    differences = []
    for group in _welded(yardstick):
        here, there = (
            sum(stated.mass for name in group if (stated := side.get(name)))
            for side in (ours, theirs)
        )
        differences.append(
            _mass(
                "group",
                group[0],
                here,
                there,
                yardstick=yardstick,
                traces=_departing(group, expected, actual, yardstick),
            )
        )
    return Compared(tuple(differences), note=None if differences else _NO_GROUP)


def group_centers(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare centres of mass of rigid groups, in the frame of their head [m]."""
    lumps = list(_lumps(expected, actual, yardstick))
    return Compared(
        tuple(
            _center(
                "group",
                group[0],
                ours.center,
                theirs.center,
                bound=lump_center_bound(ours.parts),
                tolerance=yardstick.tolerance.position,
                traces=_departing(group, expected, actual, yardstick),
            )
            for group, ours, theirs in lumps
        ),
        note=None if lumps else _NO_GROUP,
    )


def group_inertias(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare inertias of rigid groups, relative to their largest moment."""
    lumps = list(_lumps(expected, actual, yardstick))
    return Compared(
        tuple(
            _inertia(
                "group",
                group[0],
                ours.tensor,
                theirs.tensor,
                mass=ours.mass,
                bound=lump_inertia_bound(ours.parts, ours.center, ours.tensor),
                yardstick=yardstick,
                traces=_departing(group, expected, actual, yardstick),
            )
            for group, ours, theirs in lumps
        ),
        note=None if lumps else _NO_GROUP,
    )


def total(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare the mass of the robot, relative."""
    ours, theirs = _masses(expected), _masses(actual)
    here, there = (
        math.fsum(stated.mass for stated in side.values() if stated)
        for side in (ours, theirs)
    )
    links = tuple(dict.fromkeys([*ours, *theirs]))
    traces = _departing(links, expected, actual, yardstick)
    return Compared(
        (_mass("robot", "robot", here, there, yardstick=yardstick, traces=traces),)
    )


def _departing(
    links: tuple[str, ...],
    expected: Observation,
    actual: Observation,
    yardstick: Yardstick,
) -> tuple[str, ...]:
    """Name the links whose own mass properties make a sum depart."""
    ours, theirs = _masses(expected), _masses(actual)
    slack = yardstick.tolerance
    found = []
    for name in links:
        here, there = ours.get(name), theirs.get(name)
        if not _carries(here) and not _carries(there):
            continue
        if here is None or there is None or not here.mass:
            found.append(name)
            continue
        tensors = [tensor_of(side.inertia or _ZERO) for side in (here, there)]
        scale = float(np.abs(tensors[0]).max())
        if (
            abs(here.mass - there.mass) > slack.mass * here.mass
            or math.dist(here.center, there.center) > slack.position
            or float(np.abs(tensors[0] - tensors[1]).max()) > slack.inertia * scale
        ):
            found.append(name)
    return tuple(found)


def _masses(observation: Observation) -> dict[str, MassProperties | None]:
    return {link.name: link.mass for link in observation.links}


def _carries(properties: MassProperties | None) -> bool:
    return properties is not None and properties.mass > 0


def _links(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Iterator[tuple[str, MassProperties | None, MassProperties | None]]:
    """Pair links whose own mass both sides state.

    A group of several links in which one side counts a massive link elsewhere is left
    to the comparison of groups.
    """
    ours, theirs = _masses(expected), _masses(actual)
    for group in yardstick.groups:
        shared = [name for name in group if name in ours and name in theirs]
        moved = any(
            _carries(ours[name]) != _carries(theirs[name])
            and (_carries(ours[name]) or not _harmless(theirs[name], yardstick))
            for name in shared
        )
        several = sum(_carries(ours[name]) or _carries(theirs[name]) for name in shared)
        if moved and several > 1:
            continue
        yield from ((name, ours[name], theirs[name]) for name in shared)


def _harmless(properties: MassProperties | None, yardstick: Yardstick) -> bool:
    mass = properties.mass if properties else 0.0
    return mass <= _HARMLESS * (yardstick.total_mass or 1.0)


def _massive(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Iterator[tuple[str, MassProperties, MassProperties]]:
    for name, ours, theirs in _links(expected, actual, yardstick):
        if ours and theirs and ours.mass > 0 and theirs.mass > 0:
            yield name, ours, theirs


def _welded(yardstick: Yardstick) -> Iterator[tuple[str, ...]]:
    return (group for group in yardstick.groups if len(group) > 1)


def _lumps(
    expected: Observation, actual: Observation, yardstick: Yardstick
) -> Iterator[tuple[tuple[str, ...], Lump, Lump]]:
    """Take the mass of each group together, each side with its own frames."""
    sides: list[tuple[Mapping[str, MassProperties | None], Observation]] = [
        (_masses(side), side) for side in (expected, actual)
    ]
    joints = tuple(yardstick.joint_to.values())
    for group in _welded(yardstick):
        depths = weld_depths(group, joints)
        ours, theirs = (
            lump(masses, depths, side.frames) if side.frames else None
            for masses, side in sides
        )
        if ours and theirs and ours.mass > 0 and theirs.mass > 0:
            yield group, ours, theirs


def _mass(  # noqa: PLR0913  the two values, and what they belong to
    kind: str,
    name: str,
    ours: float,
    theirs: float,
    *,
    yardstick: Yardstick,
    traces: tuple[str, ...] = (),
) -> Difference:
    subject = name if kind == name else f"{kind} {name}"
    bound, tolerance = scalar_bound(1.0), yardstick.tolerance.mass
    if ours == theirs:
        amount = 0.0
    elif ours == 0:
        # Relative to nothing, every mass is infinite: what counts is the robot's.
        amount = theirs / (yardstick.total_mass or 1.0)
        bound, tolerance = 0.0, _HARMLESS
    else:
        amount = abs(ours - theirs) / max(abs(ours), abs(theirs))
    words = f"is {number(theirs, 'kg')}, not {number(ours, 'kg')}"
    if ours == 0 and amount <= tolerance:
        words = f"is regularised: {number(theirs, 'kg')} for a massless {kind}"
    return Difference(
        item=name,
        subject=subject,
        amount=amount,
        bound=bound,
        tolerance=tolerance,
        expected=number(ours, "kg"),
        actual=number(theirs, "kg"),
        message=f"{subject}: mass {words}",
        traces=traces,
    )


def _center(  # noqa: PLR0913  the two values, and what they are measured with
    kind: str,
    name: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    *,
    bound: float,
    tolerance: float,
    traces: tuple[str, ...] = (),
) -> Difference:
    amount = float(np.linalg.norm(ours - theirs))
    return Difference(
        item=name,
        subject=f"{kind} {name}",
        amount=amount if math.isfinite(amount) else math.inf,
        bound=bound,
        tolerance=tolerance,
        expected=_point(ours),
        actual=_point(theirs),
        message=(
            f"{kind} {name}: centre of mass is {amount:.3g} m off: "
            f"{_point(theirs)}, not {_point(ours)}"
        ),
        traces=traces,
    )


def _point(values: NDArray[np.float64]) -> str:
    return f"({', '.join(f'{value:.6g}' for value in values)}) m"


def _unstated(name: str, inertia: Vec6, witness: str) -> Difference:
    return Difference(
        item=name,
        subject=f"link {name}",
        amount=math.nan,
        expected=_moments(tensor_of(inertia)),
        actual="not stated",
        message=f"link {name}: {witness} states no inertia",
    )


def _inertia(  # noqa: PLR0913  the two values, and what they are measured with
    kind: str,
    name: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    *,
    mass: float,
    bound: float,
    yardstick: Yardstick,
    traces: tuple[str, ...] = (),
) -> Difference:
    tolerance = yardstick.tolerance.inertia
    scale = float(np.abs(np.linalg.eigvalsh(ours)).max())
    distance = float(np.linalg.norm(ours - theirs, 2))
    words = f"is {_moments(theirs)}, not {_moments(ours)}"
    if scale > 0:
        amount = distance / scale
        if amount > tolerance and _same_moments(ours, theirs, scale * tolerance):
            words = f"has the right moments, {_moments(ours)}, about the wrong axes"
    else:
        # A point mass: an inertia may be invented, small against mass times size^2.
        amount = distance / (mass * yardstick.size**2)
        bound, tolerance = 0.0, _HARMLESS
        if 0 < amount <= tolerance:
            words = f"is regularised: {_moments(theirs)} for a point mass"
    return Difference(
        item=name,
        subject=f"{kind} {name}",
        amount=amount if math.isfinite(amount) else math.inf,
        bound=bound,
        tolerance=tolerance,
        expected=_moments(ours),
        actual=_moments(theirs),
        message=f"{kind} {name}: inertia {words}",
        traces=traces,
    )


def _moments(tensor: NDArray[np.float64]) -> str:
    moments = np.linalg.eigvalsh(tensor)
    return f"({', '.join(f'{moment:.6g}' for moment in moments)}) kg m^2"


def _same_moments(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], slack: float
) -> bool:
    moments = np.linalg.eigvalsh(ours) - np.linalg.eigvalsh(theirs)
    return bool(np.abs(moments).max() <= slack)
