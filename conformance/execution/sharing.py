"""Records in memory: what all of them say, such as titles of checks, is held once.

Two thirds of what a record takes are texts that other records have as well. A run keeps
the records of all its robots until its reports are written.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from urdf_usd.conformance.records.record import RobotRecord


def with_shared_texts(record: RobotRecord) -> RobotRecord:
    """Return an equal record whose texts are those of other records if these are."""
    shared = _shared(record)
    assert isinstance(shared, type(record))  # noqa: S101  structs remain what they are
    return shared


def _shared(value: Any) -> Any:  # noqa: ANN401  # whatever records hold
    match value:
        case Enum():
            return value
        case str():
            return sys.intern(value)
        case tuple():
            return tuple(map(_shared, value))
        case dict():
            return {_shared(key): _shared(item) for key, item in value.items()}
        case msgspec.Struct():
            fields = value.__struct_fields__
            return type(value)(**{n: _shared(getattr(value, n)) for n in fields})
        case _:
            return value
