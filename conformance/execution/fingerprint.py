"""A hash of everything that determines a result: equal hash, equal result.

It covers the files by their contents, the options, the engines, the versions of all
libraries, and our own code. It covers no path, time or machine, so results can be
compared wherever they were made.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from urdf_usd import conformance, converter, corpus
from urdf_usd.conformance.execution.workers.limits import Limits
from urdf_usd.conformance.records.environment import environment
from urdf_usd.conformance.records.record import SourceRecord

if TYPE_CHECKING:
    from urdf_usd.conformance.execution.tasks import InstalledEngine
    from urdf_usd.converter import ConvertOptions


def fingerprint(
    source: SourceRecord,
    options: ConvertOptions,
    engines: Iterable[InstalledEngine],
    limits: Limits | None = None,
    made_by: tuple[str, ...] = (),
) -> str:
    """Return the hash of everything that determines a result.

    Args:
        source: The files.
        options: Of the conversion, without folders of packages.
        engines: The engines and their versions.
        limits: If something crashed; else None.
        made_by: Name, version and command of the converter.
    """
    packages = tuple(name for name, _ in options.packages)
    parts = (
        msgspec.to_builtins(source),
        _plain(dataclasses.replace(options, packages=())),
        packages,
        tuple(_plain(engine) for engine in engines),
        None if limits is None else _plain(limits),
        made_by,
        present_versions(),
    )
    text = msgspec.json.encode(parts, order="sorted")
    return hashlib.sha256(text).hexdigest()


def present_versions() -> dict[str, str]:
    """Return the version of each library, and the hash of our own code."""
    return {**environment(), "code": code_hash()}


@functools.cache
def code_hash() -> str:
    """Return the hash of those of our packages that determine results."""
    total = hashlib.sha256()
    for package in (converter, conformance, corpus):
        (folder,) = map(Path, package.__path__)
        for file in sorted(folder.rglob("*.py")):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            place = file.relative_to(folder.parent).as_posix()
            total.update(f"{place} {content}\n".encode())
    return total.hexdigest()


def _plain(value: object) -> object:
    """Return a value of dataclasses and enumerations as one that JSON can express."""
    match value:
        case Enum():
            return value.value
        case tuple():
            return [_plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value):
            return {
                field.name: _plain(getattr(value, field.name))
                for field in dataclasses.fields(value)
            }
        case _:
            return value
