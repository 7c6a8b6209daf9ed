"""Replacement of fields of dataclasses by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast

_Value = TypeVar("_Value")


def replaced(value: _Value, **fields: object) -> _Value:
    """Return a dataclass with other values of some fields.

    Like :func:`dataclasses.replace`, for fields that are not known statically.
    """
    return cast("_Value", replace(cast("Any", value), **fields))
