"""Mimic couplings that lead to other mimic couplings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from urdf_usd.conformance.observation.robot import MimicObservation


@dataclass(frozen=True, slots=True)
class HeadCoupling:
    """How a joint follows the one at the head of its chain.

    Attributes:
        leader: Name of the joint at the head, which follows none.
        multiplier: Of its position.
        offset: Added to that [rad or m].
        steps: Number of couplings in the chain.
        terms: Sum of the magnitudes that the offset is made of.
    """

    leader: str
    multiplier: float
    offset: float
    steps: int
    terms: float


def head_coupling(
    name: str, coupling_of: Callable[[str], MimicObservation | None]
) -> HeadCoupling | None:
    """Follow the chain of a joint to its head.

    Args:
        name: The joint.
        coupling_of: Coupling of the joint of a name; None if it follows none.

    Returns:
        None if it follows none. A chain that is a loop is followed once around.
    """
    leader, multiplier, offset, terms = name, 1.0, 0.0, 0.0
    seen: set[str] = set()
    while leader not in seen and (mimic := coupling_of(leader)):
        seen.add(leader)
        offset += multiplier * mimic.offset
        terms += abs(multiplier * mimic.offset)
        multiplier *= mimic.multiplier
        leader = mimic.leader
    steps = len(seen)
    return HeadCoupling(leader, multiplier, offset, steps, terms) if steps else None
