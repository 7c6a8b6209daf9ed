"""Simulators whose schemas the joints of an asset use, and whether they have drives.

An asset that speaks a simulator's language is held to it: what that simulator could be
told and is not is lost on it, whatever ``urdf:`` attributes say. An asset that speaks
none is for anybody, and ``urdf:`` is the only word there is. Drives are like a
language: an asset without any has joints that nothing moves, and no place for what
bounds a motor.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from urdf_usd.conformance.engines.openusd.stage import Physics


class Language(StrEnum):
    """A simulator with schemas of its own for joints, or the drives of OpenUSD."""

    DRIVES = "drives"
    NEWTON = "newton"
    PHYSX = "physx"


# How names of schemas and properties begin, in small letters.
_BEGINNINGS = {
    Language.DRIVES: ("drive:", "physicsdriveapi:"),
    Language.NEWTON: ("newton",),
    Language.PHYSX: ("physx",),
}


def spoken_languages(physics: Physics) -> frozenset[Language]:
    """Return the languages in which any joint says anything."""
    found = set()
    for path in physics.joints:
        prim = physics.stage.GetPrimAtPath(path)
        names = {*applied_schemas(prim), *prim.GetAuthoredPropertyNames()}
        found |= {
            language
            for language, beginnings in _BEGINNINGS.items()
            if any(name.lower().startswith(beginnings) for name in names)
        }
    return frozenset(found)


def applied_schemas(prim: Any) -> tuple[str, ...]:  # noqa: ANN401  pxr is untyped
    """Return the API schemas that a prim has, whether or not OpenUSD knows them.

    OpenUSD's own answer leaves out schemas that are not registered, as those of PhysX,
    or that were registered after a stage was opened in the same process.
    """
    return tuple(prim.GetPrimTypeInfo().GetAppliedAPISchemas())
