"""What a result follows from, as one hash: the same hash, the same result.

It covers what was read (every file by its content), what was chosen, who was asked, the
versions of everything that took part, and our own code. It covers no path, time or
machine, so results can be told to be the same wherever they were made.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from urdf_usd import conformance, converter, corpus
from urdf_usd.conformance.records.environment import environment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from urdf_usd.conformance.execution.tasks import InstalledEngine
    from urdf_usd.conformance.execution.workers.limits import Limits
    from urdf_usd.conformance.records.record import SourceRecord
    from urdf_usd.converter import ConvertOptions


def fingerprint(
    source: SourceRecord,
    options: ConvertOptions,
    engines: Iterable[InstalledEngine],
    limits: Limits | None = None,
    made_by: tuple[str, ...] = (),
) -> str:
    """Return the hash of all that a result follows from.

    Args:
        source: What is read.
        options: How it is converted. Folders of packages count by what was found there.
        engines: Who is asked.
        limits: What a result follows from as well if something broke.
        made_by: The converter, its version, and how it is asked.
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
    """Map everything that takes part in results, with our own code, to its version."""
    return {**environment(), "code": code_hash()}


@functools.cache
def code_hash() -> str:
    """Return the hash of our own code, as far as it makes results."""
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
