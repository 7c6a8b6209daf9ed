"""Selection of engines for a robot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from urdf_usd.conformance.engines.protocol import Available, Side, Unavailable
from urdf_usd.conformance.engines.registry import MissingEngineError
from urdf_usd.conformance.execution.engine_set import load_engines, select_engines
from urdf_usd.conformance.execution.tasks import InstalledEngine
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed

_HERE = Available("1.0")
_ABSENT = Unavailable("it is not installed", "install it")
_INSTALLED = (
    InstalledEngine("drake", Side.URDF, _ABSENT),
    InstalledEngine("mujoco", Side.URDF, _HERE),
    InstalledEngine("newton-usd", Side.USD, _HERE),
    InstalledEngine("reference", Side.URDF, _HERE),
    InstalledEngine("openusd", Side.USD, _HERE),
)


class _Listing(WorkerPool):
    """Lists installed engines without a child process."""

    def __init__(self, found: tuple[InstalledEngine, ...]) -> None:
        self.memory = None
        self.found = found

    def call(self, *_: object, **__: object) -> Completed[object]:  # type: ignore[override]  # for any function
        return Completed(self.found)


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(engine.name for engine in _INSTALLED)
    monkeypatch.setattr("urdf_usd.conformance.engines.registry.names", lambda: names)


def _chosen(*requested: str) -> list[str]:
    return [w.name for w in select_engines(_Listing(_INSTALLED), requested)]


def test_absent_optional_engine_is_not_recorded() -> None:
    """It was not requested."""
    assert _chosen() == ["mujoco", "newton-usd", "reference", "openusd"]


def test_absent_requested_engine_is_recorded() -> None:
    """The record has the reason."""
    assert _chosen("drake") == ["drake", "reference", "openusd"]


def test_verdict_requires_reference_and_openusd() -> None:
    """Without both, there is no verdict."""
    without = (*_INSTALLED[:-1], InstalledEngine("openusd", Side.USD, _ABSENT))

    with pytest.raises(MissingEngineError, match="openusd is not usable: it is not"):
        select_engines(_Listing(without))


class _Loading(RobotWorkers):
    """Loads engines without a child process.

    Attributes:
        loaded: Names of the engines, by purpose of the worker; None for a step.
    """

    def __init__(self, found: tuple[InstalledEngine, ...]) -> None:
        self.memory = None
        self.loaded: dict[str | None, str] = {}
        self._found = {engine.name: engine for engine in found}

    def request(  # type: ignore[override]  # for any function
        self, purpose: str | None, _: object, name: str, **__: object
    ) -> Callable[[], Completed[InstalledEngine]]:
        self.loaded[purpose] = name
        return lambda: Completed(self._found[name])


def test_each_engine_of_a_check_is_loaded_in_its_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reference is a step; nothing is loaded without its library."""
    present = tuple(e.name for e in _INSTALLED if e.name != "drake")
    monkeypatch.setattr("urdf_usd.conformance.engines.registry.present", lambda: present)
    workers = _Loading(_INSTALLED)

    engines = load_engines(workers)()

    assert [engine.name for engine in engines] == list(present)
    assert workers.loaded.pop(None) == "reference"
    assert set(workers.loaded) == set(workers.loaded.values()) == {*present} - {"reference"}


def test_requested_engine_of_a_check_is_loaded_also_if_absent() -> None:
    """The record has the reason."""
    engines = load_engines(_Loading(_INSTALLED), ["drake"])()

    assert [engine.name for engine in engines] == ["drake", "openusd", "reference"]


def test_check_requires_reference_and_openusd() -> None:
    """As a run does."""
    without = (*_INSTALLED[:-1], InstalledEngine("openusd", Side.USD, _ABSENT))

    with pytest.raises(MissingEngineError, match="openusd is not usable: it is not"):
        load_engines(_Loading(without), ["mujoco"])()
