"""A process that opens assets with the installed OpenUSD, and reports all of its messages.

The program needs only that library, so that any build of it can be used. Requests have the root
layer, ``usd``, and whether Newton opens it as well, ``newton``; answers ``issues``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from pxr import Sdf, Usd, UsdUtils

from urdf_usd.conformance.engines.process import answer_requests

_NOWHERE = os.open(os.devnull, os.O_WRONLY)


def _open(request: dict[str, Any]) -> dict[str, Any]:
    """Open an asset, resolve its paths and flatten it."""
    # Simulators print progress there; messages go to stderr.
    os.dup2(_NOWHERE, 1)
    issues = list(_opened(request["usd"]))
    if request["newton"]:
        # Of the interpreter that runs this, which may not have it.
        import newton

        newton.ModelBuilder().add_usd(request["usd"])
    return {"issues": issues}


def _opened(path: str) -> Iterator[str]:
    stage = Usd.Stage.Open(path, Usd.Stage.LoadAll)
    yield from (str(error) for error in stage.GetCompositionErrors())
    if not stage.GetDefaultPrim():
        yield "no default prim"
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        for attribute in prim.GetAttributes():
            value = attribute.Get()
            if isinstance(value, Sdf.AssetPath) and value.path and not value.resolvedPath:
                yield f"{attribute.GetPath()}: not resolved"
    _, _, lost = UsdUtils.ComputeAllDependencies(path)
    yield from (f"not resolved: {one}" for one in lost)
    if not stage.Flatten().ExportToString():
        yield "it flattens to nothing"


def _configure() -> None:
    warnings.simplefilter("always")
    if find_spec("warp"):
        # Messages about the machine are not about assets.
        import warp

        warp.init()


if __name__ == "__main__":
    answer_requests(_open, _configure)
