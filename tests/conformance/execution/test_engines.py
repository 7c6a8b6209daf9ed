"""Selection of engines for a robot."""

from __future__ import annotations

import pytest

from urdf_usd.conformance.engines.protocol import Available, MissingEngineError, Side, Unavailable
from urdf_usd.conformance.execution.job import InstalledEngine, select_engines
from urdf_usd.conformance.execution.worker import Workers
from urdf_usd.conformance.options import Limits

_HERE = Available("1.0")
_ABSENT = Unavailable("it is not installed", "install it")
_INSTALLED = (
    InstalledEngine("drake", Side.URDF, _ABSENT),
    InstalledEngine("mujoco", Side.URDF, _HERE),
    InstalledEngine("newton-usd", Side.USD, _HERE),
    InstalledEngine("reference", Side.URDF, _HERE),
    InstalledEngine("openusd", Side.USD, _HERE),
)


class _Listing(Workers):
    """Lists installed engines without a child process."""

    def __init__(self, found: tuple[InstalledEngine, ...]) -> None:
        self.limits = Limits()
        self.found = found

    def call(self, *_: object, **__: object) -> object:  # type: ignore[override]  # for any
        return [*self.found]


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(engine.name for engine in _INSTALLED)
    monkeypatch.setattr("urdf_usd.conformance.engines.protocol.names", lambda: names)


def _chosen(*requested: str) -> list[str]:
    return [w.name for w in select_engines(_Listing(_INSTALLED), requested)]


def test_absent_optional_engine_is_not_recorded() -> None:
    assert _chosen() == ["mujoco", "newton-usd", "reference", "openusd"]


def test_absent_requested_engine_is_recorded() -> None:
    assert _chosen("drake") == ["drake", "reference", "openusd"]


def test_verdict_requires_reference_and_openusd() -> None:
    without = (*_INSTALLED[:-1], InstalledEngine("openusd", Side.USD, _ABSENT))

    with pytest.raises(MissingEngineError, match="openusd is not usable: it is not"):
        select_engines(_Listing(without))
