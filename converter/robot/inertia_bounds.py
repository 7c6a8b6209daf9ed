"""Which inertia a body can have, and what it receives where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.converter.robot.principal_axes import principal_inertia
from urdf_usd.converter.robot.rigid import turned_inertia

if TYPE_CHECKING:
    from urdf_usd.converter.robot.model import Vec3, Vec6

# Inertia invented for a point mass m on a robot of size L, as a part of m L^2.
INVENTED_INERTIA = 5e-7
# Less than this part of m L^2 is the rounding of a tool that meant zero: it would be
# the inertia of a body thirty million times smaller than the robot.
NEGLIGIBLE_INERTIA = 1e-15
# What a thin rod receives about its own axis, as a part of its largest moment: a
# fiftieth of what engineering tolerance allows. Newton raises less than a millionth.
INVENTED_MOMENT = 2e-6
# Less than this part of the largest moment is rounding, of either sign.
_ROUNDING = 1e-12
# The smallest positive float32 rounds this up to itself, and anything less to zero.
SMALLEST = 2.0**-150
# Moments of a valid tensor satisfy A + B >= C; text rounds each of them.
_TRIANGLE_SLACK = 1e-4


def usable_inertia(
    inertia: Vec6, mass: float, size: float
) -> tuple[Vec6, tuple[tuple[str, str], ...]]:
    """Give a body inertia about every axis.

    Zero would mean "compute it" to some readers of USD, and stop others. What no body
    can have is kept.

    Args:
        inertia: (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass [kg m^2].
        mass: [kg].
        size: Of the robot [m].

    Returns:
        The inertia, and what is said of it: rules, each with the rest of a sentence
        about the link.
    """
    moments, quat_wxyz = principal_inertia(inertia)
    largest = max(abs(moment) for moment in moments)
    if is_negligible(largest, mass, size):
        moment = INVENTED_INERTIA * mass * (size * size)
        text = f"has {mass:.6g} kg and no inertia; it received {moment:.3g} kg m^2"
        return (moment, 0, 0, moment, 0, moment), (("inertia-regularised", text),)
    found: tuple[tuple[str, str], ...] = ()
    none = max(SMALLEST, _ROUNDING * largest)
    if abs(min(moments)) <= none:
        floor = max(INVENTED_MOMENT * largest, 2 * SMALLEST)
        a, b, c = (moment if moment > none else floor for moment in moments)
        moments = a, b, c
        inertia = turned_inertia((a, 0.0, 0.0, b, 0.0, c), quat_wxyz)
        text = f"has no inertia about an axis; it received {floor:.3g} kg m^2 there"
        found = (("inertia-regularised", text),)
    if problem := _implausible(moments):
        text = f"has principal moments {problem}"
        found = (*found, ("inertia-implausible", text))
    return inertia, found


def is_negligible(moment: float, mass: float, size: float) -> bool:
    """Say whether the largest moment of a body is the rounding of zero.

    Args:
        moment: Its size [kg m^2].
        mass: [kg].
        size: Of the robot [m].
    """
    return moment <= max(SMALLEST, NEGLIGIBLE_INERTIA * mass * (size * size))


def _implausible(moments: Vec3) -> str | None:
    a, b, c = sorted(moments)
    text = ", ".join(f"{moment:.4g}" for moment in (a, b, c))
    if a <= 0:
        return f"{text}, which are not all positive"
    if a + b < c * (1 - _TRIANGLE_SLACK):
        return f"{text}, which break A + B >= C"
    return None
