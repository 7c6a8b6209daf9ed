"""Witnesses whose engines need not be installed: tests of them are skipped without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from urdf_usd.conformance.witness import Unavailable
from urdf_usd.conformance.witnesses.drake_witness import DrakeWitness
from urdf_usd.conformance.witnesses.newton_usd_witness import NewtonUsdWitness
from urdf_usd.conformance.witnesses.newton_witness import NewtonWitness
from urdf_usd.conformance.witnesses.pinocchio_witness import PinocchioWitness

if TYPE_CHECKING:
    from collections.abc import Callable

    from urdf_usd.conformance.witness import Witness

WITNESSES: dict[str, Callable[[], Witness]] = {
    "drake": DrakeWitness,
    "newton": NewtonWitness,
    "newton-usd": NewtonUsdWitness,
    "pinocchio": PinocchioWitness,
}


def installed(witness: Witness) -> Witness:
    """Return a witness that can be asked; skip the test if it cannot."""
    match witness.availability():
        case Unavailable(reason, remedy):
            pytest.skip(f"{reason}; {remedy}")
    return witness
