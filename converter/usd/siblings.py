"""Many prims at once.

For every prim that is defined, OpenUSD composes the children of its parent again: of
ten thousand siblings, one after the other, it does nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Sdf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pxr import Usd


def define_together(stage: Usd.Stage, prims: Iterable[tuple[Sdf.Path, str]]) -> None:
    """Define prims in the stage's edit target, in one change.

    Args:
        stage: The stage.
        prims: Path and type of each, parents before children. What is above the first
            one is defined as well; so must be what is above the others.
    """
    target = stage.GetEditTarget()
    wanted = tuple(prims)
    if not wanted:
        return
    for path, type_name in wanted[:1]:
        stage.DefinePrim(path, type_name)
    with Sdf.ChangeBlock():
        for path, type_name in wanted[1:]:
            spec = Sdf.CreatePrimInLayer(target.GetLayer(), target.MapToSpecPath(path))
            spec.specifier = Sdf.SpecifierDef
            spec.typeName = type_name
