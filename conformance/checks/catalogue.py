"""All checks, in the order of reports: by group, then in the order of their definitions."""

from __future__ import annotations

from msgspec import structs

from urdf_usd.conformance.checks import (  # noqa: F401  they define the checks
    appearance,
    dynamics,
    kinematics,
    mass,
    shapes,
    simulation,
    structure,
)
from urdf_usd.conformance.checks.check import DEFINED
from urdf_usd.conformance.observation.robot import Quantity

_GROUPS = ("structure", "kinematics", "mass", "limits", "dynamics", "collision", "visual")
CHECKS = tuple(check for group in _GROUPS for check in DEFINED if check.group == group)

# Made only if there is a simulation settings file.
SIMULATION_CHECKS = tuple(check for check in DEFINED if check.group == "simulation")


# Not compared after a round trip: no URDF engine states the base, and the URDF that is
# written from the USD has no shapes.
_WITHOUT_ROUND_TRIP = frozenset({Quantity.BASE, Quantity.COLLISION, Quantity.VISUAL})
ROUND_TRIP_CHECKS = tuple(
    structs.replace(
        check,
        id=f"round-trip.{check.id}",
        title=f"{check.title} after USD → URDF round trip",
        clause="The same engine reads the URDF and the URDF written from the USD, so "
        f"that its own deviations cancel. {check.clause}",
        direct=check.id,
    )
    for check in CHECKS
    if not check.usd_alone and check.quantity not in _WITHOUT_ROUND_TRIP
)
