"""Engines that a resumed run does not load."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import (
    Available,
    Crashed,
    Side,
    Unavailable,
)
from urdf_usd.conformance.execution import stored_engines
from urdf_usd.conformance.execution.stored_engines import read_engines, store_engines
from urdf_usd.conformance.execution.tasks import InstalledEngine

_ENGINES = (
    InstalledEngine("openusd", Side.USD, Available("usd-core 26.11")),
    InstalledEngine("reference", Side.URDF, Available("1.0")),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with engines."""
    path = tmp_path / "engines.json"
    store_engines(path, ("openusd",), _ENGINES)
    return path


def test_engines_are_those_that_were_stored(file: Path) -> None:
    """With their sides and versions."""
    assert read_engines(file, ("openusd",)) == _ENGINES


def test_engines_of_another_selection_are_loaded(file: Path) -> None:
    """Also if all are requested."""
    assert read_engines(file, ("mujoco",)) is None
    assert read_engines(file, ()) is None


def test_engines_of_other_versions_are_loaded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of packages, of our code, or of libraries that belong to no package."""
    monkeypatch.setattr(stored_engines, "all_versions", lambda: {"usd-core": "27.2"})
    assert read_engines(file, ("openusd",)) is None
    monkeypatch.undo()
    monkeypatch.setattr(stored_engines, "_library_files", list)
    assert read_engines(file, ("openusd",)) is None


def test_damaged_file_is_not_used(file: Path) -> None:
    """Nor one that is not there."""
    file.write_bytes(file.read_bytes()[:-5])
    assert read_engines(file, ("openusd",)) is None
    file.unlink()
    assert read_engines(file, ("openusd",)) is None


@pytest.mark.parametrize(
    "other",
    [
        InstalledEngine("mujoco", None, Crashed("it cannot be loaded")),
        InstalledEngine("drake", Side.URDF, Unavailable("no", "pip install drake")),
    ],
)
def test_engines_that_are_not_available_are_loaded_each_time(
    file: Path, other: InstalledEngine
) -> None:
    """They may be available the next time; what was stored is removed."""
    store_engines(file, ("openusd",), (*_ENGINES, other))

    assert not file.exists()


def test_engines_of_other_packages_are_loaded_each_time(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The versions of what they use are not known here."""
    monkeypatch.setattr(registry, "target", lambda name: f"other.engines:{name}")

    store_engines(file, ("openusd",), _ENGINES)

    assert not file.exists()
