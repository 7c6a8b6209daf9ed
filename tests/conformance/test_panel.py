"""Who is asked about a robot."""

from __future__ import annotations

import pytest

from urdf_usd.conformance.confinement import Completed
from urdf_usd.conformance.isolation import Isolation
from urdf_usd.conformance.panel import convene
from urdf_usd.conformance.registry import MissingWitnessError
from urdf_usd.conformance.tasks import InstalledWitness
from urdf_usd.conformance.witness import Available, Side, Unavailable

_HERE = Available("1.0")
_ABSENT = Unavailable("it is not installed", "install it")
_INSTALLED = (
    InstalledWitness("drake", Side.URDF, _ABSENT),
    InstalledWitness("mujoco", Side.URDF, _HERE),
    InstalledWitness("newton-usd", Side.USD, _HERE),
    InstalledWitness("spec", Side.URDF, _HERE),
    InstalledWitness("usdphysics", Side.USD, _HERE),
)


class _Listing(Isolation):
    """Answers who is installed, without a child process."""

    def __init__(self, found: tuple[InstalledWitness, ...]) -> None:
        self.found = found

    def call(self, *_: object, **__: object) -> Completed[object]:  # type: ignore[override]  # whatever is asked
        return Completed(self.found)


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(witness.name for witness in _INSTALLED)
    monkeypatch.setattr("urdf_usd.conformance.registry.names", lambda: names)


def _chosen(*wanted: str) -> list[str]:
    return [w.name for w in convene(_Listing(_INSTALLED), wanted)]


def test_optional_engine_that_is_absent_is_not_missed() -> None:
    """Records say nothing of it."""
    assert _chosen() == ["mujoco", "newton-usd", "spec", "usdphysics"]


def test_engine_that_was_asked_for_is_missed() -> None:
    """The record says why it is silent."""
    assert _chosen("drake") == ["drake", "spec", "usdphysics"]


def test_verdict_needs_its_two_readers() -> None:
    """Without them nothing can be said."""
    without = (*_INSTALLED[:-1], InstalledWitness("usdphysics", Side.USD, _ABSENT))

    with pytest.raises(
        MissingWitnessError, match="usdphysics cannot work here: it is not"
    ):
        convene(_Listing(without))
