"""Differences of two masses, two centres of mass, two inertia tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.tolerance.bounds import (
    INVENTED,
    harmless_moment,
    is_pointlike,
    largest_moment,
    length,
    principal_moments,
    scalar_bound,
)
from urdf_usd.conformance.tolerance.comparison import ToleranceModel, number, relative_difference
from urdf_usd.reports.records.record import Difference

# Largest harmless invented mass or inertia, with margin for its float32 rounding.
HARMLESS = INVENTED * (1 + 1e-6)


def mass_difference(
    kind: str,
    name: str,
    ours: float,
    theirs: float,
    *,
    model: ToleranceModel,
    traces: tuple[str, ...] = (),
) -> Difference:
    """Compare masses [kg], relative to that of the first side.

    If the first side has none, the difference is relative to the robot's mass, with a
    tolerance of a millionth of that.
    """
    subject = name if kind == name else f"{kind} {name}"
    bound, tolerance = scalar_bound(1.0), model.tolerance.mass
    if ours == 0 and theirs != 0:
        amount = theirs / (model.total_mass or 1.0)
        bound, tolerance = 0.0, HARMLESS
    else:
        amount = relative_difference(ours, theirs)

    expected, actual = number(ours, "kg"), number(theirs, "kg")
    text = f"is {actual}, not {expected}"
    if ours == 0 and amount <= tolerance:
        text = f"is regularised: {actual}, massless {kind} in the URDF"
    return Difference(
        item=name,
        subject=subject,
        message=f"{subject}: mass {text}",
        expected=expected,
        actual=actual,
        amount=amount,
        bound=bound,
        tolerance=tolerance,
        traces=traces,
    )


def center_difference(
    kind: str,
    name: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    *,
    bound: float,
    tolerance: float,
) -> Difference:
    """Compare centres of mass (3,) [m]."""
    amount = length(ours - theirs)

    expected, actual = _point(ours), _point(theirs)
    return Difference(
        item=name,
        subject=f"{kind} {name}",
        message=f"{kind} {name}: centre of mass differs by {amount:.3g} m: "
        f"{actual}, not {expected}",
        expected=expected,
        actual=actual,
        amount=amount if math.isfinite(amount) else math.inf,
        bound=bound,
        tolerance=tolerance,
    )


def _point(values: NDArray[np.float64]) -> str:
    return f"({', '.join(f'{value:.6g}' for value in values)}) m"


def norms(differences: Sequence[NDArray[np.float64]]) -> list[float]:
    """Return the spectral norms of matrices (3, 3); inf for those not finite."""
    stacked = np.reshape(differences, (-1, 3, 3))
    finite = np.isfinite(stacked).all(axis=(1, 2))
    largest = np.full(len(stacked), np.inf)
    # One batched SVD; numpy's norm takes twice as long.
    largest[finite] = np.linalg.svd(stacked[finite], compute_uv=False)[:, 0]
    singular_values: list[float] = largest.tolist()
    return singular_values


def inertia_difference(
    kind: str,
    name: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    *,
    apart: float,
    mass: float,
    bound: float,
    model: ToleranceModel,
    invented: float = 0.0,
) -> Difference:
    """Compare inertia tensors (3, 3) about the centre of mass [kg m^2].

    The difference ``apart`` is the spectral norm from :func:`norms`, taken relative to
    the largest principal moment on the first side. If that is zero, it is relative to
    a million times the inertia that may be invented for ``mass`` [kg], with a tolerance
    of a millionth of that. The tolerance is widened by the inertia that may be
    ``invented`` [kg m^2] for the parts without inertia of their own.
    """
    tolerance = model.tolerance.inertia
    scale = largest_moment(ours)
    if is_pointlike(ours, mass, model.size):
        scale = 0.0
    if scale > 0:
        amount = apart / scale
        tolerance += HARMLESS / INVENTED * invented / scale
    else:
        # A point mass: a small inertia may be invented.
        allowed = harmless_moment(mass, model.size, model.total_mass)
        amount = INVENTED * apart / allowed
        bound, tolerance = 0.0, HARMLESS

    expected, actual = moments_text(ours), moments_text(theirs)
    text = f"is {actual}, not {expected}"
    if amount > tolerance and _same_moments(ours, theirs, scale * tolerance):
        text = f"has the right principal moments, {expected}, but wrong axes"
    elif scale == 0 and amount <= tolerance:
        text = f"is regularised: {actual}, point mass in the URDF"
    return Difference(
        item=name,
        subject=f"{kind} {name}",
        message=f"{kind} {name}: inertia {text}",
        expected=expected,
        actual=actual,
        amount=amount if math.isfinite(amount) else math.inf,
        bound=bound,
        tolerance=tolerance,
    )


def moments_text(tensor: NDArray[np.float64]) -> str:
    """Format the principal moments of a tensor."""
    return "({:.6g}, {:.6g}, {:.6g}) kg m^2".format(*principal_moments(tensor))


def _same_moments(ours: NDArray[np.float64], theirs: NDArray[np.float64], slack: float) -> bool:
    pairs = zip(principal_moments(ours), principal_moments(theirs), strict=True)
    return all(abs(here - there) <= slack for here, there in pairs)
