"""Opens assets with whatever OpenUSD is installed, and tells all that it says of them.

A program that needs nothing but that library, so that any build of it can run this; a
simulator too, with the argument ``newton``. It reads a path per line and answers with a
line of JSON: a list of sentences, empty if the asset opens without a word.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Answer until there is no more to read."""
    newton = "newton" in sys.argv[1:]
    # Simulators tell of their progress; answers go where nobody else writes.
    with os.fdopen(os.dup(1), "w") as answers, open(os.devnull, "w") as nowhere:  # noqa: PTH123  a program that needs nothing
        os.dup2(nowhere.fileno(), 1)
        if newton:
            # What it says of this machine is not about assets.
            with _overheard([]):
                import warp  # noqa: PLC0415  of the interpreter that runs this

                warp.init()
        for line in sys.stdin:
            answers.write(json.dumps(told(line.rstrip("\n"), newton=newton)) + "\n")
            answers.flush()


def told(path: str, *, newton: bool = False) -> list[str]:
    """Open an asset, resolve all that it names, and flatten it; return what was said.

    Args:
        path: Root layer, or package.
        newton: Have Newton build a model of it as well.
    """
    said: list[str] = []
    with _overheard(said), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            said += _opened(path)
            if newton:
                _build(path)
        # Errors of OpenUSD are RuntimeErrors; Newton has none of its own.
        except (LookupError, RuntimeError, TypeError, ValueError) as error:
            said.append(f"{type(error).__name__}: {error}")
    return said + [str(one.message) for one in warned]


def _opened(path: str) -> Iterator[str]:
    from pxr import Sdf, Usd, UsdUtils  # noqa: PLC0415  it may say something itself

    stage = Usd.Stage.Open(path, Usd.Stage.LoadAll)
    yield from (str(error) for error in stage.GetCompositionErrors())
    if not stage.GetDefaultPrim():
        yield "no default prim"
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        for attribute in prim.GetAttributes():
            value = attribute.Get()
            if isinstance(value, Sdf.AssetPath) and value.path:
                found = value.resolvedPath
                yield from () if found else (f"{attribute.GetPath()}: not resolved",)
    _, _, lost = UsdUtils.ComputeAllDependencies(path)
    yield from (f"not resolved: {one}" for one in lost)
    if not stage.Flatten().ExportToString():
        yield "it flattens to nothing"


def _build(path: str) -> None:
    # Of the interpreter that runs this, which may not have it.
    import newton  # noqa: PLC0415

    builder: Any = newton.ModelBuilder()
    builder.add_usd(path)


@contextmanager
def _overheard(said: list[str]) -> Iterator[None]:
    """Take what C++ and Python write to stderr as said."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as heard:
        os.dup2(heard.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            heard.seek(0)
            said += heard.read().decode(errors="replace").splitlines()


if __name__ == "__main__":
    main()
