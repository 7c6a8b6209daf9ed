"""The engines of a former run in the same folder, which a resumed run need not load.

To load engines takes as long as to read the robots of a corpus. A resumed run in which
no robot has changed has no other use for them than their versions.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import Available, Side
from urdf_usd.conformance.execution.fingerprint import all_versions
from urdf_usd.conformance.execution.tasks import InstalledEngine
from urdf_usd.reports.records.results import write_atomically

_OURS = "urdf_usd."
# Libraries of the engines that are always installed.
_LIBRARIES = ("mujoco", "numpy", "pxr", "pybullet")


class _Engine(Struct, frozen=True):
    """An engine that was available: its name, the kind of file, and its version."""

    name: str
    side: Side
    version: str


class _Stored(Struct, frozen=True):
    """Engines, with the hash of what they depend on."""

    environment: str
    engines: tuple[_Engine, ...]


def read_engines(file: Path, requested: Sequence[str]) -> tuple[InstalledEngine, ...] | None:
    """Return the engines that a run would select.

    Args:
        file: What :func:`store_engines` wrote.
        requested: Names of engines; empty for all.

    Returns:
        None if they may have changed since, and are to be loaded.
    """
    try:
        stored = msgspec.json.decode(file.read_bytes(), type=_Stored)
    except (OSError, msgspec.DecodeError):
        return None
    if stored.environment != _environment(requested):
        return None
    return tuple(
        InstalledEngine(one.name, one.side, Available(one.version)) for one in stored.engines
    )


def store_engines(file: Path, requested: Sequence[str], engines: Sequence[InstalledEngine]) -> None:
    """Store engines, or remove what is stored if they are to be loaded each time.

    Those of other packages are, since their libraries are not known here, and those
    that crash when they are loaded.

    Args:
        file: Where.
        requested: As in :func:`read_engines`.
        engines: Those that were selected.
    """
    kept = tuple(
        _Engine(one.name, one.side, one.availability.version)
        for one in engines
        if isinstance(one.availability, Available) and one.side is not None
    )
    known = all(registry.target(name).startswith(_OURS) for name in registry.names())
    if known and len(kept) == len(engines):
        stored = _Stored(_environment(requested), kept)
        write_atomically(file, msgspec.json.encode(stored))
    else:
        file.unlink(missing_ok=True)


def _environment(requested: Sequence[str]) -> str:
    """Return the hash of what decides which engines are selected, and their versions.

    These are the names, the versions of all requirements, our code, and the files of
    libraries: an OpenUSD that was built here may have no version of a package.
    """
    parts = sorted(requested), registry.names(), all_versions(), _library_files()
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def _library_files() -> list[tuple[str, int, int]]:
    found = []
    for name in _LIBRARIES:
        spec = find_spec(name)
        with contextlib.suppress(OSError):
            if spec is not None and spec.origin is not None:
                state = Path(spec.origin).stat()
                found.append((spec.origin, state.st_mtime_ns, state.st_size))
    return found
