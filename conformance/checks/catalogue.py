"""All checks, in the order of reports. Each is a row of the table of its group."""

from __future__ import annotations

from msgspec import structs

from urdf_usd.conformance.checks.appearance import VISUAL
from urdf_usd.conformance.checks.check import Check
from urdf_usd.conformance.checks.dynamics import DYNAMICS
from urdf_usd.conformance.checks.kinematics import KINEMATICS
from urdf_usd.conformance.checks.limits import LIMITS_CHECKS
from urdf_usd.conformance.checks.mass import MASS
from urdf_usd.conformance.checks.shapes import COLLISION_CHECKS
from urdf_usd.conformance.checks.simulation import SIMULATION
from urdf_usd.conformance.checks.structure import STRUCTURE
from urdf_usd.conformance.observation.robot import Quantity

CHECKS = (
    *STRUCTURE.checks,
    *KINEMATICS.checks,
    *MASS.checks,
    *LIMITS_CHECKS,
    *DYNAMICS.checks,
    *COLLISION_CHECKS,
    *VISUAL.checks,
)

# Made only if there is a simulation settings file.
SIMULATION_CHECKS = tuple(SIMULATION.checks)


def _after_round_trip(check: Check) -> Check:
    return structs.replace(
        check,
        id=f"round-trip.{check.id}",
        title=f"{check.title} after USD → URDF round trip",
        clause="The same engine reads the URDF and the URDF written from the USD, so "
        f"that its own deviations cancel. {check.clause}",
        direct=check.id,
    )


# Not compared after a round trip: no URDF engine states the base, and the URDF that is
# written from the USD has no shapes.
_WITHOUT_ROUND_TRIP = frozenset({Quantity.BASE, Quantity.COLLISION, Quantity.VISUAL})
ROUND_TRIP_CHECKS = tuple(
    _after_round_trip(check)
    for check in CHECKS
    if not check.usd_alone and check.quantity not in _WITHOUT_ROUND_TRIP
)
