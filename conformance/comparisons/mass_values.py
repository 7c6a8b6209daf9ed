"""Differences between two masses, two centres of mass, two inertia tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from conformance.comparison import Difference, number
from conformance.tolerance import (
    INVENTED,
    is_pointlike,
    principal_moments,
    scalar_bound,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conformance.comparison import Yardstick

# The largest harmless invention, with room for its float32 rounding.
HARMLESS = INVENTED * (1 + 1e-6)


def mass_difference(  # noqa: PLR0913  the two values, and what they belong to
    kind: str,
    name: str,
    ours: float,
    theirs: float,
    *,
    yardstick: Yardstick,
    traces: tuple[str, ...] = (),
) -> Difference:
    """Compare masses [kg], relative to the larger one.

    Where the first side has none, the difference is relative to the robot's mass, and
    an invented mass of a millionth of that is harmless.
    """
    subject = name if kind == name else f"{kind} {name}"
    bound, tolerance = scalar_bound(1.0), yardstick.tolerance.mass
    if ours == theirs:
        amount = 0.0
    elif ours == 0:
        # Relative to nothing, every mass is infinite: what counts is the robot's.
        amount = theirs / (yardstick.total_mass or 1.0)
        bound, tolerance = 0.0, HARMLESS
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


def center_difference(  # noqa: PLR0913  the two values, and what they are measured with
    kind: str,
    name: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    *,
    bound: float,
    tolerance: float,
    traces: tuple[str, ...] = (),
) -> Difference:
    """Compare centres of mass (3,) [m]."""
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


def inertia_difference(  # noqa: PLR0913  the two values, and what they are measured with
    kind: str,
    name: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    *,
    mass: float,
    bound: float,
    yardstick: Yardstick,
    pointlike: float = 0.0,
    traces: tuple[str, ...] = (),
) -> Difference:
    """Compare inertia tensors (3, 3) about the centre of mass [kg m^2].

    The difference is relative to the largest principal moment on the first side. Where
    that side has none, it is relative to ``mass`` [kg] times the robot's size squared,
    and an invented inertia of a millionth of that is harmless; so is one for the part
    of the mass that is ``pointlike`` [kg], having no inertia of its own.
    """
    tolerance = yardstick.tolerance.inertia
    scale = max(map(abs, principal_moments(ours)))
    if is_pointlike(ours, mass, yardstick.size):
        scale = 0.0
    distance = float(np.linalg.norm(ours - theirs, 2))
    words = f"is {moments_text(theirs)}, not {moments_text(ours)}"
    if scale > 0:
        amount = distance / scale
        tolerance += HARMLESS * pointlike * yardstick.size**2 / scale
        if amount > tolerance and _same_moments(ours, theirs, scale * tolerance):
            words = f"has the right moments, {moments_text(ours)}, about the wrong axes"
    else:
        # A point mass: an inertia may be invented, small against mass times size^2.
        amount = distance / (mass * yardstick.size**2)
        bound, tolerance = 0.0, HARMLESS
        if 0 < amount <= tolerance:
            words = f"is regularised: {moments_text(theirs)} for a point mass"
    return Difference(
        item=name,
        subject=f"{kind} {name}",
        amount=amount if math.isfinite(amount) else math.inf,
        bound=bound,
        tolerance=tolerance,
        expected=moments_text(ours),
        actual=moments_text(theirs),
        message=f"{kind} {name}: inertia {words}",
        traces=traces,
    )


def moments_text(tensor: NDArray[np.float64]) -> str:
    """Write the principal moments of a tensor for the reader of a report."""
    return "({:.6g}, {:.6g}, {:.6g}) kg m^2".format(*principal_moments(tensor))


def _same_moments(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], slack: float
) -> bool:
    pairs = zip(principal_moments(ours), principal_moments(theirs), strict=True)
    return all(abs(here - there) <= slack for here, there in pairs)
